//! Kernels that leave out entries of the tiles' lists: the stage without them.

use crate::splat::stage::RasterStage;

/// A tile's list as a kernel walks it.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Entries of the list.
    length: u32,
    /// Place in it, from the front.
    depth: u32,
    /// Entries up to the tile's last contributor: where the walk back begins.
    walk: u32,
}

/// Whether an entry is left out.
type Drops = Box<dyn Fn(Entry) -> bool + Send + Sync>;

/// Entries that a kernel may leave out, in words, and which they are.
pub(super) fn left_out() -> Vec<(String, Drops)> {
    let mut all: Vec<(String, Drops)> = vec![
        (
            "the last contributor of each tile is left out: the walk begins one entry too early"
                .to_owned(),
            Box::new(|entry| entry.depth + 1 == entry.walk),
        ),
        (
            "the last entry of each tile's list is left out".to_owned(),
            Box::new(|entry| entry.depth + 1 == entry.length),
        ),
        ("the first entry of each tile's list is left out".to_owned(), Box::new(|e| e.depth == 0)),
    ];
    for batch in [256, 128, 64, 32] {
        all.extend(of_batches(batch));
    }
    all
}

/// Whole batches and entries of batches.
fn of_batches(batch: u32) -> Vec<(String, Drops)> {
    let last_begins = move |length: u32| length.saturating_sub(1) / batch * batch;
    vec![
        (
            format!("the last batch of {batch} entries of each tile's list is left out"),
            Box::new(move |entry| entry.depth >= last_begins(entry.length)),
        ),
        (
            format!("the part of each tile's list that fills no batch of {batch} is left out"),
            Box::new(move |entry| entry.depth >= entry.length / batch * batch),
        ),
        (
            format!(
                "the last batch of {batch} entries of the walk back is left out, the foremost ones"
            ),
            Box::new(move |entry| {
                entry.depth < entry.walk && entry.walk - 1 - entry.depth >= last_begins(entry.walk)
            }),
        ),
        (
            format!("of the walk back the part that fills no batch of {batch} is left out"),
            Box::new(move |entry| {
                let filled = entry.walk / batch * batch;
                entry.depth < entry.walk && entry.walk - 1 - entry.depth >= filled
            }),
        ),
        (
            format!("the last entry of each full batch of {batch} of the walk back is left out"),
            Box::new(move |entry| {
                entry.depth < entry.walk && (entry.walk - 1 - entry.depth) % batch == batch - 1
            }),
        ),
        (
            format!("the last entry of each full batch of {batch} of the list is left out"),
            Box::new(move |entry| entry.depth % batch == batch - 1),
        ),
    ]
}

/// The stage without some entries, and where those that are left stood; `None` where there is no such
/// entry.
pub(super) fn without(
    stage: &RasterStage,
    drops: &dyn Fn(Entry) -> bool,
) -> Option<(RasterStage, Vec<u32>)> {
    let raster = &stage.inputs.raster;
    let walks = walk_ends(stage);
    let (mut kept, mut offsets) = (Vec::with_capacity(raster.flatten_ids.len()), vec![0]);
    // The new place of each entry, or of the next one in front that is kept.
    let mut moved = Vec::with_capacity(raster.flatten_ids.len());
    for (ends, &walk) in raster.tile_offsets.windows(2).zip(&walks) {
        let [begin, end] = [ends[0], ends[1]];
        let first = small(kept.len());
        for position in begin..end {
            let entry = Entry { length: end - begin, depth: position - begin, walk: walk - begin };
            if !drops(entry) {
                kept.push(position);
            }
            moved.push((small(kept.len()) > first).then(|| small(kept.len()) - 1));
        }
        offsets.push(small(kept.len()));
    }
    if kept.len() == raster.flatten_ids.len() {
        return None;
    }
    let mut without = stage.clone();
    for last in &mut without.inputs.last_ids {
        let new = usize::try_from(*last).ok().and_then(|last| moved.get(last).copied().flatten());
        *last = new.map_or(-1, u32::cast_signed);
    }
    let ids = kept.iter().map(|&position| raster.flatten_ids[position as usize]);
    without.inputs.raster.flatten_ids = ids.collect();
    without.inputs.raster.tile_offsets = offsets;
    Some((without, kept))
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// One more than the position of each tile's last contributor; where its list begins, for none.
fn walk_ends(stage: &RasterStage) -> Vec<u32> {
    let raster = &stage.inputs.raster;
    let mut ends: Vec<u32> = raster.tile_offsets[..raster.tile_offsets.len() - 1].to_vec();
    for (pixel, &last) in stage.inputs.last_ids.iter().enumerate() {
        let end = &mut ends[raster.tile_of(pixel)];
        *end = (*end).max(last.wrapping_add(1).cast_unsigned());
    }
    ends
}
