//! What shapes do not say of the inputs of a splat stage, checked before anything reaches a device.
//!
//! Values are not judged (NaN, infinities and degenerate conics are legitimate test inputs); only
//! what would make a kernel read or write outside an array, or mean something else than the
//! caller thinks.

use super::shared::{CHECKPOINT_EVERY, MAX_CHANNELS, tile_of};
use crate::error::EngineError;
use crate::stage::Sizes;
use crate::tensor::Tensors;

/// Harmonics per channel that the kernels know: degrees 0 to 3; 0 where there are none.
const COEFFICIENTS: [usize; 5] = [0, 1, 4, 9, 16];

fn fail<T>(message: String) -> Result<T, EngineError> {
    Err(EngineError::Input(message))
}

/// Checks the inputs of `rasterize`.
pub(super) fn forward(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    let [width, height] = ["W", "H"].map(|side| sizes.get(side));
    if width == 0 || height == 0 {
        return fail(format!("the image is {width}x{height}: both sides must be at least 1"));
    }
    let tile_size = tile_size(inputs)?;
    if tile_size.contains(&0) {
        let [across, down] = tile_size;
        return fail(format!("a tile is {across}x{down}: both sides must be at least 1"));
    }
    channels(sizes)?;
    lists(inputs, sizes)
}

/// Width and height of a tile.
fn tile_size(inputs: &Tensors) -> Result<[usize; 2], EngineError> {
    Ok([inputs.u32("tile_size")?[0] as usize, inputs.u32("tile_height")?[0] as usize])
}

/// Tiles of the image in x and y.
fn tiles(inputs: &Tensors, sizes: &Sizes) -> Result<[usize; 2], EngineError> {
    let [across, down] = tile_size(inputs)?;
    Ok([sizes.get("W").div_ceil(across), sizes.get("H").div_ceil(down)])
}

fn channels(sizes: &Sizes) -> Result<(), EngineError> {
    let channels = sizes.get("D");
    if (1..=MAX_CHANNELS as usize).contains(&channels) {
        return Ok(());
    }
    fail(format!("channels is {channels}, expected 1..={MAX_CHANNELS}"))
}

fn lists(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    let offsets = inputs.u32("tile_offsets")?;
    let ids = inputs.u32("flatten_ids")?;
    let [tiles_x, tiles_y] = tiles(inputs, sizes)?;
    let (tiles, found) = (tiles_x * tiles_y, sizes.get("T"));
    if found != tiles {
        return fail(format!(
            "tile_offsets has {} entries, expected {} = tiles + 1",
            found + 1,
            tiles + 1
        ));
    }
    if offsets[0] != 0 {
        return fail(format!("tile_offsets[0] is {}, expected 0", offsets[0]));
    }
    if let Some(t) = (0..tiles).find(|&t| offsets[t] > offsets[t + 1]) {
        let (a, b) = (offsets[t], offsets[t + 1]);
        return fail(format!("tile_offsets[{t}] is {a}, above the next, {b}: must not decrease"));
    }
    let (end, m) = (offsets[tiles], ids.len());
    if end as usize != m {
        return fail(format!(
            "tile_offsets ends at {end}, expected {m}, the entries of flatten_ids"
        ));
    }
    if i32::try_from(m).is_err() {
        return fail(format!("flatten_ids has {m} entries, more than last_ids (i32) can name"));
    }
    let n = sizes.get("N");
    match ids.iter().position(|&id| id as usize >= n) {
        Some(at) => {
            fail(format!("flatten_ids[{at}] is {}, but there are only {n} Gaussians", ids[at]))
        }
        None => Ok(()),
    }
}

/// Checks the inputs of `rasterize_backward`.
pub(super) fn backward(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    forward(inputs, sizes)?;
    let offsets = inputs.u32("tile_offsets")?;
    let (tile_size, width) = (tile_size(inputs)?, sizes.get("W"));
    for (pixel, &last) in inputs.i32("last_ids")?.iter().enumerate() {
        let tile = tile_of(pixel, width, tile_size);
        let (begin, end) = (offsets[tile], offsets[tile + 1]);
        let in_list = u32::try_from(last).is_ok_and(|l| (begin..end).contains(&l));
        if last != -1 && !in_list {
            let (x, y) = (pixel % width, pixel / width);
            return fail(format!(
                "last_ids of pixel ({x}, {y}) is {last}, outside its tile's list {begin}..{end} \
                 and not -1"
            ));
        }
    }
    Ok(())
}

/// Checks the inputs of `rasterize_backward` from checkpoints: each tile has one for each begun
/// `CHECKPOINT_EVERY` entries of its list.
pub(super) fn checkpoints(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    backward(inputs, sizes)?;
    let [lists, checkpoints] = [inputs.u32("tile_offsets")?, inputs.u32("checkpoint_offsets")?];
    let mut expected = 0;
    for (tile, &found) in checkpoints.iter().enumerate() {
        if found != expected {
            return fail(format!("checkpoint_offsets[{tile}] is {found}, expected {expected}"));
        }
        let list = lists.get(tile + 1).map_or(0, |end| end - lists[tile]);
        expected += list.div_ceil(CHECKPOINT_EVERY);
    }
    let [across, down] = tile_size(inputs)?;
    let (pixels, of_tile) = (sizes.get("P"), across * down);
    if pixels != of_tile {
        return fail(format!("a checkpoint has {pixels} pixels, expected the {of_tile} of a tile"));
    }
    let found = sizes.get("S");
    if found == expected as usize {
        return Ok(());
    }
    fail(format!(
        "there are {found} checkpoints, expected {expected}, where checkpoint_offsets ends"
    ))
}

/// Checks the inputs of either projection stage.
pub(super) fn projection(_inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    let coefficients = sizes.get("K");
    if !COEFFICIENTS.contains(&coefficients) {
        return fail(format!("coefficients is {coefficients}, expected 1, 4, 9 or 16"));
    }
    channels(sizes)?;
    if coefficients > 0 && sizes.get("D") != 3 {
        return fail(format!("colors has {} channels, harmonics have 3", sizes.get("D")));
    }
    if sizes.get("C") == 0 {
        return fail("there is no camera, expected at least one".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
