//! Kernels that lose lanes: the oracle without their terms, step by step.
//!
//! A warp's lanes are at one Gaussian at a time, and some of them contribute. Where enough of them do
//! (the setting's threshold) the warp adds up; a fault of that addition loses lanes at these steps only.
//! A kernel that is not one of ours is taken for one that adds up at every step.

use crate::splat::contributions::{Contributions, Step};
use crate::splat::expectation::rasterize_backward_without;
use crate::splat::stage::{Judged, RasterStage};
use splatcheck_gpu::reduction::{InRegisters, LaneHas, WORKGROUP_SIZE};
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::scatter_step::Lanes;
use splatcheck_judge::workload::FailedRun;
use splatcheck_reference::splat::formulated::Omitted;
use std::rc::Rc;

/// A warp at a step.
#[derive(Clone, Copy)]
pub(super) struct Warp {
    /// In its workgroup.
    pub(super) number: u32,
    /// Lanes that contribute.
    pub(super) lanes: Lanes,
    pub(super) width: u32,
    /// Whether it adds up its lanes.
    pub(super) adds_up: bool,
}

impl Warp {
    fn lowest(self) -> Lanes {
        self.lanes & self.lanes.wrapping_neg()
    }

    fn highest(self) -> Lanes {
        self.lanes.checked_ilog2().map_or(0, |lane| 1 << lane)
    }

    /// These lanes where it adds up; else none.
    fn lost(self, lanes: Lanes) -> Lanes {
        if self.adds_up { self.lanes & lanes } else { 0 }
    }

    fn upper_half(self) -> Lanes {
        Lanes::MAX << (self.width / 2)
    }
}

/// Which of a warp's lanes are lost.
pub(super) type Lost = Box<dyn Fn(Warp) -> Lanes>;

/// Entries of a case's lists up to which its steps are kept: two or more warps at each, 80 bytes a step.
const MOST_ENTRIES: usize = 1 << 18;

/// What the rules are about, computed when a first one asks.
struct Steps<'a> {
    stage: &'a RasterStage,
    reduction: Setting,
    width: u32,
    steps: std::cell::OnceCell<Vec<Step>>,
}

impl Steps<'_> {
    /// Pixels that a lane has; a lane that has a Gaussian goes through all of them.
    fn per_lane(&self) -> u32 {
        let row = self.reduction.reduction.row();
        if row.lane_has == LaneHas::Destination { 1 } else { row.per_lane }
    }

    fn all(&self) -> &[Step] {
        self.steps.get_or_init(|| {
            let mut steps = Vec::new();
            let Ok(contributions) = Contributions::new(self.stage, self.width) else {
                return steps;
            };
            for tile in 0..contributions.tiles() {
                contributions.tile(tile, |step| {
                    if step.per_lane == self.per_lane() && step.contributing != 0 {
                        steps.push(*step);
                    }
                });
            }
            steps
        })
    }

    fn adds_up(&self, lanes: Lanes) -> bool {
        let Setting { reduction, threshold } = self.reduction;
        !reduction.has_threshold()
            || reduction.row().in_registers == InRegisters::Nothing
            || lanes.count_ones() >= threshold
    }

    /// The terms that a rule loses; `None` where it loses none.
    fn without(&self, lost: &Lost) -> Option<Omitted> {
        let raster = &self.stage.inputs.raster;
        let lengths = raster.tile_offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let mut omitted = Omitted { places: lengths.map(|length| vec![[0; 4]; length]).collect() };
        let mut any = false;
        for step in self.all() {
            let (lanes, width) = (step.contributing, self.width);
            let adds_up = self.adds_up(lanes);
            let lost = lost(Warp { number: step.warp, lanes, width, adds_up }) & lanes;
            let depth = step.position - raster.tile_offsets[step.tile as usize];
            let places = &mut omitted.places[step.tile as usize][depth as usize];
            for lane in (0..width).filter(|lane| lost >> lane & 1 == 1) {
                let first = (step.warp * width + lane) * step.per_lane;
                for place in first..(first + step.per_lane).min(WORKGROUP_SIZE) {
                    places[place as usize / 64] |= 1 << (place % 64);
                    any = true;
                }
            }
        }
        any.then_some(omitted)
    }
}

/// Faults of the addition of a warp's lanes.
pub(super) fn of_addition(width: u32) -> Vec<(String, Lost)> {
    let fault = |words: &str, lost: fn(Warp) -> Lanes| (words.to_owned(), Box::new(lost) as Lost);
    let last = width - 1;
    vec![
        (
            format!("lane {last} of each warp, the last, is left out"),
            Box::new(move |warp| warp.lanes & 1 << last),
        ),
        fault("lane 0 of each warp is left out", |warp| warp.lanes & 1),
        fault(
            "only lane 0 of each warp counts: what the other lanes have is never added to it",
            |w| w.lost(!1),
        ),
        fault(
            "only the lowest contributing lane of each warp counts: nothing is added to it",
            |w| w.lost(!w.lowest()),
        ),
        fault("the highest contributing lane of each warp is left out", |w| w.lost(w.highest())),
        fault(
            "the highest contributing lane of each warp is left out where there is another one",
            |w| w.lost(w.highest() & !w.lowest()),
        ),
        fault("the lowest contributing lane of each warp is left out", |w| w.lost(w.lowest())),
        fault(
            "the lowest contributing lane of each warp is left out where there is another one",
            |w| w.lost(w.lowest() & !w.highest()),
        ),
        fault(
            "a warp's sum is lost where its lane 0 does not contribute: lane 0 sends it, and only if it \
             has a part in it",
            |w| if w.lanes & 1 == 0 { w.lost(Lanes::MAX) } else { 0 },
        ),
        fault(
            "the lowest contributing lane of each warp is left out where that is not lane 0, as where \
             lane 0 leads without a part in it",
            |w| if w.lanes & 1 == 0 { w.lost(w.lowest()) } else { 0 },
        ),
        fault("the upper half of each warp's lanes is left out", |w| w.lost(w.upper_half())),
        fault(
            "the upper half of each warp's lanes is left out, but for the lane that sends (the lowest \
             that contributes)",
            |w| w.lost(w.upper_half() & !w.lowest()),
        ),
        fault("the lower half of each warp's lanes is left out", |w| w.lost(!w.upper_half())),
        fault("warps below the threshold send nothing", |w| if w.adds_up { 0 } else { w.lanes }),
        fault("warps from the threshold on send nothing", |w| w.lost(Lanes::MAX)),
        fault(
            "only the first warp of each tile counts",
            |w| if w.number > 0 { w.lanes } else { 0 },
        ),
    ]
}

/// Whole warps, and lanes that are neither first nor last.
fn of_numbers(width: u32, warps: u32) -> Vec<(String, Lost)> {
    let of_warp = |number: u32| {
        let last = if number + 1 == warps { ", the last," } else { "" };
        let lost = move |warp: Warp| if warp.number == number { warp.lanes } else { 0 };
        (format!("warp {number}{last} of each tile is left out"), Box::new(lost) as Lost)
    };
    let of_lane = |lane: u32| {
        let lost = move |warp: Warp| warp.lanes & 1 << lane;
        (format!("lane {lane} of each warp is left out"), Box::new(lost) as Lost)
    };
    let of_thread = |thread: u32| {
        let (number, lane) = (thread / width, thread % width);
        let lost = move |warp: Warp| {
            if warp.number == number { warp.lanes & 1 << lane } else { 0 }
        };
        let words =
            format!("thread {thread} of each tile is left out (warp {number}, lane {lane})");
        (words, Box::new(lost) as Lost)
    };
    let warps_of = (0..warps).rev().map(of_warp);
    let lanes = (1..width.saturating_sub(1)).map(of_lane);
    warps_of.chain(lanes).chain((0..warps * width).map(of_thread)).collect()
}

/// What a kernel of `rasterize_backward` may lose: by faults of the addition, and by number.
pub(super) fn hypotheses(
    stage: &RasterStage,
    judged: Judged,
    run: FailedRun,
) -> (Vec<Hypothesis<'_>>, Vec<Hypothesis<'_>>) {
    let atomic = Setting { reduction: Reduction::BASELINE, threshold: 0 };
    let (width, steps) = (run.lane_width, std::cell::OnceCell::new());
    let steps = Steps { stage, reduction: run.setting.unwrap_or(atomic), width, steps };
    let warps = (WORKGROUP_SIZE / steps.per_lane()).div_ceil(width.max(1));
    let steps = Rc::new(steps);
    let too_large = stage.inputs.raster.flatten_ids.len() > MOST_ENTRIES;
    let hypothesis = move |(words, lost): (String, Lost)| {
        let steps = Rc::clone(&steps);
        Hypothesis::new(words, move || {
            let omitted = steps.without(&lost)?;
            Some(rasterize_backward_without(stage, judged, run.arithmetic, &omitted))
        })
        .unless(too_large)
    };
    let many = of_numbers(width, warps).into_iter().map(hypothesis.clone());
    let many = many.map(Hypothesis::of_many).collect();
    (of_addition(width).into_iter().map(hypothesis).collect(), many)
}
