//! How many loop steps the WGSL kernels of the splat stages make at most: what a step is says
//! [`crate::stage`]. Each bound follows its kernel's text loop by loop, from the outside in.

use super::shared::CHECKPOINT_EVERY;
use super::shared::{CAMERA_VALUES, TILE_SIZE, tiles, values};
use crate::reduction::{Reduction, Setting, WORKGROUP_SIZE};
use crate::stage::{LoopRun, over};
use crate::tensor::TensorError;

/// Places of a row before its colour: `COLOR` in `pair.wgsl`.
const COLOR: u64 = 6;

/// `rasterize.wgsl`, at the tile with the longest list of L: its batches, in each a step a place and
/// the one that ends it, at each place the channels; then the pixel's channels.
pub(super) fn rasterize(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let channels = over(run.size("D"), 0);
    let places = longest_list(run)?;
    let batches = places.div_ceil(u64::from(WORKGROUP_SIZE));
    Ok(over(batches, 1)
        .saturating_add(places.saturating_mul(channels + 1))
        .saturating_add(channels))
}

/// The longest of the tiles' lists.
fn longest_list(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let offsets = run.inputs.u32("tile_offsets")?;
    let longest = offsets.windows(2).map(|ends| u64::from(ends[1].saturating_sub(ends[0]))).max();
    Ok(longest.unwrap_or(0))
}

/// Every kernel of `rasterize_backward` that walks back to front, at the tile with the longest walk.
pub(super) fn rasterize_backward(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let walk = longest_walk(run)?;
    let channels = over(run.size("D"), 0);
    let row = u64::from(values(u32::try_from(run.size("D")).unwrap_or(u32::MAX)));
    let Some(setting) = run.setting else { return Ok(0) };
    if setting.reduction == Reduction::PerGaussian {
        return Ok(per_gaussian(run, walk, channels, row));
    }
    // What a lane does for a pixel: once in `rasterize_backward.wgsl`, in
    // `rasterize_backward_multi_pixel.wgsl` in a loop over its pixels.
    let of_lane = |pixel| match setting.reduction.row().per_lane {
        1 => pixel,
        pixels => over(u64::from(pixels), pixel),
    };
    let place = of_lane(channels + over(COLOR, 0));
    Ok(of_lane(channels).saturating_add(batches(run, setting, walk, (place, row))))
}

/// `rasterize_backward_image.wgsl`, at the tile with the longest list: the pixel's channels twice, and
/// the batches.
pub(super) fn rasterize_backward_image(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let (list, channels) = (longest_list(run)?, over(run.size("D"), 0));
    let Some(setting) = run.setting else { return Ok(0) };
    let row = u64::from(values(u32::try_from(run.size("D")).unwrap_or(u32::MAX)));
    let place = channels + over(COLOR, 0);
    Ok((2 * channels).saturating_add(batches(run, setting, list, (place, row))))
}

/// `rasterize_backward_sorted.wgsl`, at the tile with the longest walk: the pixel's channels; the sums that are
/// cleared; the rows of the pairs behind, of the tile with the longest list; the batches, in each a step a place and the one that
/// ends it, at each place the channels, the values before the colour, the tree, and the chunks of
/// values that the subgroups hand over, in each the values and the subgroups, eight at a turn.
pub(super) fn rasterize_backward_sorted(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let (walk, list, channels) = (longest_walk(run)?, longest_list(run)?, over(run.size("D"), 0));
    let row = u64::from(values(u32::try_from(run.size("D")).unwrap_or(u32::MAX)));
    let width = u64::from(run.lane_width).max(1);
    let subgroups = u64::from(WORKGROUP_SIZE).div_ceil(width);
    let behind = over(list.div_ceil(u64::from(WORKGROUP_SIZE)), over(row, 0));
    let tree = over(u64::from(width.ilog2()), over(row, 0));
    let chunk = row.min(CHUNK);
    let handed = over(row.div_ceil(chunk), over(chunk, 0) + over(subgroups.div_ceil(8), 0));
    let cleared =
        over((u64::from(WORKGROUP_SIZE) / 4 * chunk).div_ceil(u64::from(WORKGROUP_SIZE)), 0);
    let place = channels + over(COLOR, 0) + tree + handed;
    let batches = over(walk.div_ceil(u64::from(WORKGROUP_SIZE)), 1)
        .saturating_add(walk.saturating_mul(place.saturating_add(1)));
    Ok((channels + cleared).saturating_add(behind).saturating_add(batches))
}

/// Values that subgroups hand over at a time: `CHUNK` in `rasterize_backward_sorted.wgsl`.
const CHUNK: u64 = 32;

/// `reduce_by_key.wgsl`: the most rows of a Gaussian.
pub(super) fn reduce_by_key(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let offsets = run.inputs.u32("slot_offsets")?;
    let rows = offsets.windows(2).map(|ends| u64::from(ends[1].saturating_sub(ends[0]))).max();
    Ok(over(rows.unwrap_or(0), 0))
}

/// The batches of a walk over so many places, in each the sums of the reduction, a step a place and the
/// one that ends it, at each place what its lanes do (the channels, the values before the colour) and
/// the reduction.
fn batches(run: &LoopRun<'_>, setting: Setting, walk: u64, (of_lane, row): (u64, u64)) -> u64 {
    let batch = u64::from(setting.reduction.batch_size());
    let place = of_lane.saturating_add(setting.add_up_steps(run, row));
    let each_batch = setting.batch_steps(run, batch, row).saturating_add(1);
    over(walk.div_ceil(batch), each_batch)
        .saturating_add(walk.saturating_mul(place.saturating_add(1)))
}

/// `rasterize_backward_per_gaussian.wgsl`: the pixel's channels; a step a Gaussian, in sets of a
/// subgroup's width, and W - 1 more, in each the channels, the values before the colour, the row that
/// is sent, and the channels that are handed on.
fn per_gaussian(run: &LoopRun<'_>, walk: u64, channels: u64, row: u64) -> u64 {
    let width = u64::from(run.lane_width).max(1);
    let turns = walk.next_multiple_of(width).saturating_add(width - 1);
    let each = (2 * channels + over(COLOR, 0)).saturating_add(over(row, run.add()));
    channels.saturating_add(over(turns, each))
}

/// `rasterize_backward_replay.wgsl`: the pixel's channels; the sets of a subgroup, in each a step a pixel
/// and W - 1 more, in each the channels that are handed on or begin at a checkpoint, and for each
/// Gaussian of a lane the channels and the values before the colour; then the rows that are sent.
pub(super) fn rasterize_backward_replay(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let (walk, channels) = (longest_walk(run)?, over(run.size("D"), 0));
    let row = u64::from(values(u32::try_from(run.size("D")).unwrap_or(u32::MAX)));
    let (lanes, every) = (u64::from(run.lane_width).max(1), u64::from(CHECKPOINT_EVERY));
    let width = lanes.min(every);
    let held = every / width;
    let subgroups = u64::from(WORKGROUP_SIZE).div_ceil(lanes);
    let sets = walk.div_ceil(every).div_ceil(subgroups);
    let pixel = (2 * channels).saturating_add(over(held, channels + over(COLOR, 0)));
    let pixels = over(u64::from(WORKGROUP_SIZE) + width - 1, pixel);
    let sent = over(held, over(row, 0).saturating_add(over(row, run.add())));
    Ok(channels.saturating_add(over(sets, pixels.saturating_add(sent))))
}

/// The most places that a tile's pixels walk over: from the last that contributes to one of them.
fn longest_walk(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let offsets = run.inputs.u32("tile_offsets")?;
    let (across, width) = (tiles(run.sizes)[0], run.sizes.get("W"));
    let mut longest = 0;
    for (pixel, &last) in run.inputs.i32("last_ids")?.iter().enumerate() {
        let side = TILE_SIZE as usize;
        let tile = pixel / width / side * across + pixel % width / side;
        let begin = offsets.get(tile).copied().unwrap_or(0);
        longest = longest.max(i64::from(last) + 1 - i64::from(begin));
    }
    Ok(u64::try_from(longest).unwrap_or(0))
}

/// `project.wgsl`: the harmonics, and the numbers of the colour or of a row that is left out.
pub(super) fn project(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let (channels, harmonics) = (run.size("D"), run.size("K"));
    let color = over(channels, 0) + over(harmonics, 0) + over(3, 0);
    Ok(color + over(4, 0) + over(COLOR + channels, 0))
}

/// `project_backward.wgsl`: the colour's gradient is cleared; the cameras, in each the sums of the
/// reduction, the Jacobian's two rows, the channels or the harmonics (the colour, then three channels
/// of each, then three axes) and the reduction; the gradient is stored.
pub(super) fn project_backward(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let (channels, harmonics) = (run.size("D"), run.size("K"));
    let stride = if harmonics == 0 { channels } else { 3 * harmonics };
    let color = over(channels, 0) + over(harmonics, 0) + over(harmonics, over(3, 0)) + over(3, 0);
    let values = u64::from(CAMERA_VALUES);
    let reduced = run.setting.map_or(0, |setting| {
        setting.batch_steps(run, 1, values).saturating_add(setting.add_up_steps(run, values))
    });
    let camera = (over(2, 0) + color).saturating_add(reduced);
    let stored = over(3, 0) + over(4, 0);
    Ok(over(stride, 0).saturating_add(over(run.size("C"), camera)).saturating_add(stored))
}
