//! Which lanes of a warp contribute, which is the first of them, and which have stopped.

use super::drawn_for::Draw;
use super::parts::{height, random_loss, strips};
use super::sheet::{Mark, Sheet};
use crate::splat::case::Case;
use proptest::prelude::*;
use splatcheck_gpu::reduction::{BLOCK_BATCH_SIZE, WORKGROUP_SIZE};

/// An interval of contributing lanes of one warp, and whether another lane of it has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Aim {
    /// Contributing lanes, 1..=W.
    pub lanes: u32,
    /// The first of them, 0..=W - lanes.
    pub leader: u32,
    /// Whether another lane of the warp has stopped before.
    pub stop: bool,
}

impl Aim {
    /// Every aim that a warp of `lane_width` lanes can be made to meet: all of them need
    /// leader + lanes <= W, and a stopped lane needs a lane that does not contribute.
    pub fn all(lane_width: u32) -> impl Iterator<Item = Self> {
        (1..=lane_width).flat_map(move |lanes| {
            (0..=lane_width - lanes).flat_map(move |leader| {
                let stops = if lanes < lane_width { 2 } else { 1 };
                (0..stops).map(move |stop| Self { lanes, leader, stop: stop == 1 })
            })
        })
    }

    /// Number `turn` of all aims, over and over. Frequency that follow each other are far apart in the
    /// list, so that a short run meets all kinds.
    #[must_use]
    pub fn number(turn: u64, lane_width: u32) -> Self {
        let all: Vec<_> = Self::all(lane_width).collect();
        let count = all.len() as u64;
        // A prime that divides no count (4159 for 64 lanes, 16511 for 128), so the step visits every number.
        const STEP: u64 = 7919;
        let index = turn.wrapping_mul(STEP) % count;
        usize::try_from(index).map_or(all[0], |index| all[index])
    }

    /// A lane of the warp that does not contribute, for the stop.
    fn other(self) -> u32 {
        if self.leader > 0 { self.leader - 1 } else { self.leader + self.lanes }
    }
}

/// Pixels of the lanes that are aimed at, in one pass over all aims after another.
const PIXELS: [u32; 6] = [1, 1, 1, 1, 2, 4];

/// The pixels of the lanes that this turn aims at, and the length of the batch.
fn kind(draw: Draw) -> (u32, u32) {
    let aims = Aim::all(draw.lane_width).count() as u64;
    let (pass, all) = (draw.turn / aims, PIXELS.len() as u64);
    let pixels = PIXELS[usize::try_from(pass % all).unwrap_or(0)];
    // A warp of 128 lanes with four pixels each is more than a tile.
    let pixels = if pixels * draw.lane_width > WORKGROUP_SIZE { 1 } else { pixels };
    if pixels > 1 {
        return (pixels, WORKGROUP_SIZE / pixels);
    }
    // Long lists take long: the whole batch of the other reductions is the rarer kind, for every aim
    // in another pass over all aims.
    let singles = PIXELS.iter().filter(|&&pixels| pixels == 1).count() as u64;
    let long = (draw.turn % aims + pass / all * singles + pass % all).is_multiple_of(4);
    (1, if long { WORKGROUP_SIZE } else { BLOCK_BATCH_SIZE })
}

/// The aim of this turn in the first place of a batch, in the last, and in between.
pub(super) fn lanes(draw: Draw) -> BoxedStrategy<Case> {
    let aim = Aim::number(draw.turn, draw.lane_width);
    let (pixels, batch) = kind(draw);
    let warp = 0..WORKGROUP_SIZE / pixels / draw.lane_width;
    (prop::array::uniform3(warp), height(), strips(0..4), random_loss(), any::<u64>())
        .prop_map(move |(warps, height, extra, loss, seed)| {
            let first_pixel = |warp: u32, lane| (warp * draw.lane_width + lane) * pixels;
            let [first, inner, last] = warps
                .map(|warp| Mark::strip(first_pixel(warp, aim.leader), aim.lanes * pixels, height));
            let marks = if aim.stop {
                // The last contributor of a tile opens its first batch, the list's front ends the
                // last one; what contributes nowhere else has stopped there.
                let stopped = first_pixel(warps[1], aim.other());
                let stop = (stopped..stopped + pixels).flat_map(|pixel| [Mark::opaque(pixel); 2]);
                [vec![last], stop.collect(), vec![inner, first]].concat()
            } else {
                veiled([first, inner, last], &extra, batch as usize)
            };
            let sheet = Sheet { loss, colors: (seed, 1.0), ..Sheet::new(marks) };
            sheet.into_case(draw.profile)
        })
        .boxed()
}

/// A list that is one batch and two Gaussians long, with a Gaussian over all lanes behind: no lane
/// stops before the walk has passed everything. Its last contributor therefore is that one, and what
/// comes first is the first of the second batch.
fn veiled([first, inner, last]: [Mark; 3], extra: &[Mark], batch: usize) -> Vec<Mark> {
    let mut marks = vec![last, first, last];
    marks.extend_from_slice(extra);
    marks.push(inner);
    marks.resize(batch + 1, Mark::between(0));
    marks.push(Mark::veil());
    marks
}

/// Lanes of a few warps that stop one after the other, among others that go on.
pub(super) fn finish(draw: Draw) -> BoxedStrategy<Case> {
    let width = draw.lane_width;
    let lane = (0u32..2, 0..width).prop_map(move |(warp, lane)| warp * width + lane);
    let event = prop_oneof![lane.prop_map(|lane| vec![Mark::opaque(lane); 2]), strips(1..3),];
    (prop::collection::vec(event, 4..24), random_loss())
        .prop_map(move |(events, loss)| {
            Sheet { loss, ..Sheet::new(events.concat()) }.into_case(draw.profile)
        })
        .boxed()
}

/// Lanes that do not contribute hold gradients that overflow: whatever is multiplied by a mask
/// instead of being selected becomes NaN.
pub(super) fn poison(draw: Draw) -> BoxedStrategy<Case> {
    let strip = (0..WORKGROUP_SIZE, 1..=draw.lane_width, height());
    (strip, 1usize..4, any::<u64>())
        .prop_map(move |((first, lanes, height), copies, seed)| {
            let lanes = lanes.min(WORKGROUP_SIZE - first);
            let inside = |lane: u32| (first..first + lanes).contains(&lane);
            let gradient = |lane| if inside(lane) { 1.0 } else { f32::MAX };
            let sheet = Sheet {
                loss: super::sheet::Loss::Pixels((0..WORKGROUP_SIZE).map(gradient).collect()),
                // (color - behind) T f32::MAX is infinite for colours above 1.
                colors: (seed, 1024.0),
                ..Sheet::new(vec![Mark::strip(first, lanes, height); copies])
            };
            sheet.into_case(draw.profile)
        })
        .boxed()
}
