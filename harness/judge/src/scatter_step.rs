//! What the warps of a stage that accumulates meet, step by step, whatever the workload.
//!
//! A *scatter* is a stage whose lanes add values to rows of an output. A *step* is one warp at one
//! place of its workgroup's walk: there its lanes are parted by the row that they add to, and those
//! that add nothing are left out. Splats are the case with one row: all lanes of a warp look at the
//! same Gaussian. The steps are properties of the inputs; from them follow the atomic traffic of
//! every reduction and threshold ([`crate::traffic`]) and what a case exercises of a kernel
//! ([`crate::coverage`]).

pub use splatcheck_gpu::reduction::Lanes;
use splatcheck_gpu::reduction::WORKGROUP_SIZE;
use splatcheck_gpu::{EngineError, Reduction};

/// The most lanes that a warp may have.
pub const MOST_LANES: u32 = Lanes::BITS;

/// All lanes of a warp of so many, 1 to [`MOST_LANES`].
#[must_use]
pub fn all_lanes(lane_width: u32) -> Lanes {
    Lanes::MAX >> (MOST_LANES - lane_width)
}

/// That warps may have so many lanes.
///
/// # Errors
/// [`EngineError::Input`] for a number that is no power of two up to [`MOST_LANES`].
pub fn check_lane_width(lane_width: u32) -> Result<u32, EngineError> {
    if lane_width.is_power_of_two() && lane_width <= MOST_LANES {
        return Ok(lane_width);
    }
    Err(EngineError::Input(format!(
        "warp size {lane_width}: expected a power of two up to {MOST_LANES}"
    )))
}

/// The lanes of a warp that add to one row at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The row of the output.
    pub row: u32,
    /// Where a workgroup that adds up on its own keeps this row's sum, counted over its whole walk:
    /// the pass which sends the sums has a thread for each slot.
    pub slot: u32,
    /// The lanes, at least one.
    pub lanes: Lanes,
}

/// The lanes of a warp by their rows, in the order of their lowest lanes; those whose row is none add
/// nothing.
pub fn parted(rows: &[u32], is_row: impl Fn(u32) -> bool) -> Vec<Destination> {
    let mut parts: Vec<Destination> = Vec::new();
    for (lane, &row) in rows.iter().enumerate().filter(|(_, row)| is_row(**row)) {
        match parts.iter_mut().find(|part| part.row == row) {
            Some(part) => part.lanes |= 1 << lane,
            None => parts.push(Destination { row, slot: row, lanes: 1 << lane }),
        }
    }
    parts
}

/// One warp at one place of its workgroup's walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScatterStep<'a> {
    /// Contributors that each lane has: one, unless the kernel is of a reduction whose lanes add up
    /// several before the warp adds up its lanes ([`splatcheck_gpu::reduction::Row::per_lane`]).
    pub per_lane: u32,
    /// The warp in its workgroup.
    pub warp: u32,
    /// Steps that this warp's workgroup walked before this one.
    pub place: u32,
    /// Steps of the whole walk.
    pub length: u32,
    /// Lanes that have stopped: they add nothing here and at no later place.
    pub stopped: Lanes,
    /// The lanes that add something, parted by their rows; no two parts have one row.
    pub destinations: &'a [Destination],
}

/// Shows the steps of one workgroup of a keyed stage at one place: `keys` are those of all lanes with an
/// element, in their order; lanes beyond them have stopped, and those whose key is `none` are idle.
pub fn keyed_steps(
    keys: &[u32],
    none: u32,
    [workgroup, lane_width]: [u32; 2],
    visit: &mut dyn FnMut(&ScatterStep<'_>),
) {
    let (width, first) = (lane_width as usize, workgroup as usize * WORKGROUP_SIZE as usize);
    let all = all_lanes(lane_width);
    for warp in 0..WORKGROUP_SIZE / lane_width {
        let first = (first + warp as usize * width).min(keys.len());
        let keys = &keys[first..(first + width).min(keys.len())];
        let destinations = parted(keys, |key| key != none);
        // A warp's elements are no more than its lanes.
        let lanes = u32::try_from(keys.len()).unwrap_or(lane_width);
        let there = all.checked_shr(lane_width - lanes).unwrap_or(0);
        visit(&ScatterStep {
            per_lane: 1,
            warp,
            place: 0,
            length: 1,
            stopped: all & !there,
            destinations: &destinations,
        });
    }
}

/// The steps of a stage with some inputs, workgroup by workgroup: workgroups do not depend on each
/// other and may be asked for in parallel.
pub trait Scatter: Sync {
    /// Lanes of a warp, a power of two up to [`MOST_LANES`].
    fn lane_width(&self) -> u32;

    /// Rows of the output.
    fn rows(&self) -> usize;

    /// Values of a row, which a lane adds all at a time.
    fn values(&self) -> u32;

    /// Number of workgroups.
    fn workgroups(&self) -> u32;

    /// How many contributors the lanes of the stage's kernels have, by the reduction.
    fn per_lane(&self) -> Vec<u32> {
        vec![1]
    }

    /// Whether the lanes of the stage's kernels have a destination each
    /// ([`splatcheck_gpu::stage::Reductions::Keyed`]), so that some may add up runs of neighbours.
    fn is_keyed(&self) -> bool {
        false
    }

    /// Atomics on shared memory, of one lane each, that the kernel itself issues beside what this
    /// reduction does.
    fn shared_of_kernel(&self, reduction: Reduction) -> u64;

    /// Shows every step of one workgroup: place by place, at each warp by warp, for every number of
    /// contributors that a lane may have.
    fn workgroup(&self, workgroup: u32, visit: &mut dyn FnMut(&ScatterStep<'_>));
}
