use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::synthetic::frustum;

use super::*;
use crate::splat::Splat;
use crate::splat::case::{Case, splat_case};
use splatcheck_judge::workload::Workload;

/// The corpus, and a scene with more Gaussians than a batch.
fn stages() -> Vec<(String, RasterStage)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora/splat");
    let corpus = Splat::default().read_corpus(&corpus).expect("the corpus is readable");
    let mut cases: Vec<_> = corpus.cases.iter().filter_map(splat_case).cloned().collect();
    cases.push(Case {
        name: "frustum".into(),
        id: None,
        purpose: "many Gaussians".into(),
        hazards: Vec::new(),
        convention: Convention::gsplat(),
        scene: frustum(900, 75, 50, 3),
    });
    let stage = |case: Case| {
        let stage = RasterStage::new(&case, 0).expect("few pairs");
        (case.name, stage)
    };
    cases.into_iter().map(stage).collect()
}

/// Pixel and position of every contribution, found without masks, culling or tiles.
fn plainly(stage: &RasterStage) -> BTreeSet<(usize, u32)> {
    let raster = &stage.inputs.raster;
    let (width, constants) = (raster.width as usize, &raster.constants);
    let mut found = BTreeSet::new();
    for pixel in 0..raster.pixels() {
        let [x, y] = [pixel % width, pixel / width];
        let tile = y / 16 * raster.tiles()[0] as usize + x / 16;
        let list = raster.tile_offsets[tile]..raster.tile_offsets[tile + 1];
        for position in list.filter(|&p| i64::from(p) <= stage.inputs.last_ids[pixel].into()) {
            let id = raster.flatten_ids[position as usize] as usize;
            let [mx, my] = raster.means2d[id];
            let sample = [x as f32, y as f32].map(|p| p + constants.pixel_center);
            let power = -sigma(raster.conics[id], mx - sample[0], my - sample[1]);
            let alpha = constants.alpha_max.min(raster.opacities[id] * Arith::exp(power));
            if power <= 0.0 && alpha >= constants.alpha_min {
                found.insert((pixel, position));
            }
        }
    }
    found
}

#[test]
fn steps_are_what_a_plain_walk_finds_at_every_lane_width() {
    for (name, stage) in stages() {
        let expected = plainly(&stage);
        let raster = &stage.inputs.raster;
        let across = raster.tiles()[0];
        for lane_width in [4, 8, 16, 32, 64, 128] {
            let mut found = BTreeSet::new();
            for_each_step(&stage, lane_width, |step| {
                let masks = [step.contributing, step.stopped, step.outside];
                let together = masks.iter().fold(0, |all, mask| all | mask);
                let separate: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
                assert_eq!(separate, together.count_ones(), "{name}: masks overlap: {step:?}");
                for lane in (0..lane_width).filter(|lane| step.contributing >> lane & 1 == 1) {
                    let thread = step.warp * lane_width + lane;
                    let x = step.tile % across * 16 + thread % 16;
                    let y = step.tile / across * 16 + thread / 16;
                    found.insert(((y * raster.width + x) as usize, step.position));
                }
            })
            .expect("the stage is valid");
            assert!(found == expected, "{name} at {lane_width} lanes: not the plain walk");
        }
    }
}

/// The places of a walk where lanes contribute, and where they have stopped or lie outside: by the
/// pixels of a lane, the tile, the position and the lane in its tile.
fn lanes_at_places(stage: &RasterStage, lane_width: u32) -> [BTreeSet<[u32; 4]>; 2] {
    let contributions = Contributions::new(stage, lane_width).expect("a valid stage");
    let mut sets = [BTreeSet::new(), BTreeSet::new()];
    (0..contributions.tiles()).for_each(|tile| {
        contributions.tile(tile, |step| {
            assert_eq!(step.stopped & step.outside, 0, "masks overlap: {step:?}");
            let masks = [step.contributing, step.stopped | step.outside];
            for (set, mask) in sets.iter_mut().zip(masks) {
                let lanes = (0..lane_width).filter(|lane| mask >> lane & 1 == 1);
                let of_tile = lanes.map(|lane| step.warp * lane_width + lane);
                // A warp of 128 lanes may have more than the tile.
                let of_tile = of_tile.filter(|lane| lane * step.per_lane < WORKGROUP_SIZE);
                set.extend(of_tile.map(|lane| [step.per_lane, tile, step.position, lane]));
            }
        });
    });
    sets
}

#[test]
fn a_lane_with_several_pixels_contributes_where_one_does_and_is_done_where_all_are() {
    for (name, stage) in stages() {
        for lane_width in [4, 64, 128] {
            let [contributing, done] = lanes_at_places(&stage, lane_width);
            let single = |set: &BTreeSet<[u32; 4]>| -> Vec<[u32; 4]> {
                set.iter().copied().filter(|[per_lane, ..]| *per_lane == 1).collect()
            };
            let (one_does, one_is) = (single(&contributing), single(&done));
            for per_lane in [2, 4] {
                let of_pixels = |&[_, tile, position, pixel]: &[u32; 4]| {
                    [per_lane, tile, position, pixel / per_lane]
                };
                let found = |set: &BTreeSet<[u32; 4]>| -> BTreeSet<[u32; 4]> {
                    set.iter().copied().filter(|lane| lane[0] == per_lane).collect()
                };
                let expected: BTreeSet<_> = one_does.iter().map(of_pixels).collect();
                assert!(found(&contributing) == expected, "{name}: {per_lane} pixels contribute");
                let mut pixels = BTreeMap::new();
                for lane in one_is.iter().map(of_pixels) {
                    *pixels.entry(lane).or_insert(0) += 1;
                }
                pixels.retain(|_, count| *count == per_lane);
                let expected: BTreeSet<_> = pixels.into_keys().collect();
                assert!(found(&done) == expected, "{name}: {per_lane} pixels are done");
            }
        }
    }
}

#[test]
fn walks_begin_at_the_last_contributor() {
    for (name, stage) in stages() {
        let mut first = BTreeMap::new();
        for_each_step(&stage, 32, |step| {
            let [batch, place] = [step.walked / 256, step.walked % 256];
            assert_eq!(256 * batch + place, step.walked, "{name}: place in the batch");
            let begin = first.entry(step.tile).or_insert(step.position);
            assert_eq!(*begin, step.position + step.walked, "{name}: not back to front");
        })
        .expect("the stage is valid");
        let last: Vec<_> = stage.inputs.last_ids.iter().filter(|&&last| last >= 0).collect();
        assert_eq!(first.is_empty(), last.is_empty(), "{name}: walks without contributors");
        let (deepest, latest) = (first.values().max(), last.into_iter().max());
        assert_eq!(deepest.copied().map(i64::from), latest.copied().map(i64::from), "{name}");
    }
}

#[test]
fn what_is_not_reached_cannot_contribute() {
    for opacity in [1.0 / 255.0, 0.004, 0.1, 0.99, 1.0_f32] {
        let least = 1.0_f32 / 255.0;
        let mut beyond = reach(f64::from(opacity), f64::from(least));
        for _ in 0..64 {
            beyond = beyond.next_up();
            let alpha = opacity * Arith::exp(-beyond);
            assert!(alpha < least, "opacity {opacity} still counts at sigma {beyond}");
        }
    }
    assert_eq!(reach(0.5, 0.0), f32::INFINITY, "without a least alpha everything counts");
}

#[test]
fn bad_input_is_an_error() {
    let (_, mut stage) = stages().pop().expect("the last one");
    for lane_width in [0, 3, 256] {
        let error = for_each_step(&stage, lane_width, |_| ()).expect_err("no warp size");
        assert!(error.to_string().contains("expected a power of two up to 128"), "{error}");
    }
    stage.inputs.last_ids.pop();
    let error = for_each_step(&stage, 32, |_| ()).expect_err("a pixel is missing");
    assert!(error.to_string().contains("last_ids has"), "unhelpful: {error}");
}
