//! The judge: a kernel's outputs against what a conforming kernel may return, for every stage of
//! every workload. Names, types and shapes are checked before an element is compared.

mod by_lane;
mod expectation;
pub mod tolerance;
pub mod under;

pub use by_lane::ByLane;
pub use expectation::{
    Allowed, Bound, DerivedFrom, Expectation, LeftOut, Output, OutputBound, RowPresence, Rows,
    Rule, Summations, Terms,
};

use crate::verdict::{Sight, Tally};
pub(crate) use expectation::Element;
use expectation::number;
use splatcheck_gpu::engine::POISON;
use splatcheck_gpu::stage::{Sizes, StageSpec};
use splatcheck_gpu::{DeviceInfo, Setting, TensorError, Tensors};
use splatcheck_reference::arithmetic::ElementBound;
#[cfg(doc)]
use splatcheck_reference::arithmetic::{Cuda, CudaFast, Ieee, Wgsl, WgslExpZero};
use std::ptr;
pub use tolerance::Summation;

/// The arithmetic that the kernels of a device are promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// See [`Wgsl`].
    Wgsl,
    /// See [`WgslExpZero`].
    WgslExpZero,
    /// See [`Cuda`].
    Cuda,
    /// See [`CudaFast`].
    CudaFast,
    /// See [`Ieee`].
    Ieee,
}

impl Arithmetic {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// All of them.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Wgsl, Self::WgslExpZero, Self::Cuda, Self::CudaFast, Self::Ieee];

    /// Its name on the command line and in ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wgsl => "wgsl",
            Self::WgslExpZero => "wgsl-exp0",
            Self::Cuda => "cuda",
            Self::CudaFast => "cuda-fast",
            Self::Ieee => "ieee",
        }
    }

    /// Those that promise less than this one, and that a program may have without its caller's knowledge, the strictest
    /// first; each with what it may do.
    #[must_use]
    pub const fn lesser(self) -> &'static [(Self, &'static str)] {
        const BY_CUDA: &str = "which approximates exp, log, sin and the like within CUDA's errors";
        const FAST: &str = "which takes subnormal numbers for zeros and approximates quotients and roots \
                            (--fast-math of ptx; XLA, which runs JAX, on a processor)";
        match self {
            Self::Ieee => &[(Self::Cuda, BY_CUDA), (Self::CudaFast, FAST)],
            Self::Cuda => &[(Self::CudaFast, FAST)],
            Self::CudaFast | Self::WgslExpZero | Self::Wgsl => &[],
        }
    }

    /// The promise of a language, and whether exp(0) is 1 there, that come to it.
    #[must_use]
    pub const fn language(self) -> (splatcheck_gpu::Arithmetic, bool) {
        match self {
            Self::Wgsl => (splatcheck_gpu::Arithmetic::Wgsl, false),
            Self::WgslExpZero => (splatcheck_gpu::Arithmetic::Wgsl, true),
            Self::Cuda => (splatcheck_gpu::Arithmetic::Cuda, true),
            Self::CudaFast => (splatcheck_gpu::Arithmetic::CudaFast, true),
            Self::Ieee => (splatcheck_gpu::Arithmetic::Ieee, true),
        }
    }

    /// What is promised of a device: CUDA's documents also promise exp(0) = 1, WGSL's do not, so
    /// that it was measured decides the knife edges at power = 0.
    #[must_use]
    pub fn of(info: &DeviceInfo) -> Self {
        match (info.arithmetic, info.exp_of_zero_is_one) {
            (splatcheck_gpu::Arithmetic::Cuda, _) => Self::Cuda,
            (splatcheck_gpu::Arithmetic::CudaFast, _) => Self::CudaFast,
            (splatcheck_gpu::Arithmetic::Ieee, _) => Self::Ieee,
            (splatcheck_gpu::Arithmetic::Wgsl, true) => Self::WgslExpZero,
            (splatcheck_gpu::Arithmetic::Wgsl, false) => Self::Wgsl,
        }
    }
}

/// Whether the outputs are those of the stage, and all are there of which anything is expected. What is
/// expected beside the stage's outputs may be there.
///
/// # Errors
/// [`TensorError`] for the first that is not.
pub fn check(
    stage: &StageSpec,
    sizes: &Sizes,
    expectation: &Expectation,
    outputs: &Tensors,
) -> Result<(), TensorError> {
    let of_stage = |name: &str| stage.outputs.iter().any(|port| port.name == name);
    let (own, beside): (Vec<_>, Vec<_>) =
        expectation.outputs().partition(|output| of_stage(output.name));
    let is_beside = |name: &str| beside.iter().any(|output| output.name == name);
    let of_stage = outputs.clone().only(|name| !is_beside(name));
    let needed = |name: &str| own.iter().any(|output| output.name == name);
    stage.check_some_outputs(sizes, &of_stage, &needed)?;
    beside.into_iter().try_for_each(|output| output.check(outputs.find(output.name)))
}

/// Judges the outputs of one run of a stage under a setting, on warps of that many lanes.
///
/// # Errors
/// [`TensorError`] for an output that is missing, is not the stage's, or has another type or shape:
/// then nothing was compared.
pub fn judge(
    stage: &StageSpec,
    sizes: &Sizes,
    expectation: &Expectation,
    outputs: &Tensors,
    run: (Option<Setting>, u32),
) -> Result<Tally, TensorError> {
    check(stage, sizes, expectation, outputs)?;
    compare(expectation, outputs, None, run)
}

/// Judges only those elements whose bits differ from another run's of the same job.
///
/// # Errors
/// As [`judge`], for either run.
pub fn judge_where_differs(
    stage: &StageSpec,
    sizes: &Sizes,
    expectation: &Expectation,
    [outputs, from]: [&Tensors; 2],
    run: (Option<Setting>, u32),
) -> Result<Tally, TensorError> {
    check(stage, sizes, expectation, outputs)?;
    check(stage, sizes, expectation, from)?;
    compare(expectation, outputs, Some(from), run)
}

/// Compares the elements of checked outputs that differ from those of `from`, or all of them.
fn compare(
    expectation: &Expectation,
    outputs: &Tensors,
    from: Option<&Tensors>,
    run: (Option<Setting>, u32),
) -> Result<Tally, TensorError> {
    let mut tally = Tally { undecided: expectation.undecided, ..Tally::default() };
    let mut seen: Vec<(&Output, Sight)> = Vec::new();
    walk(expectation, outputs, from, run, |element, meant| {
        if let Some(sight) = meant.of_nothing(element.before) {
            match seen.iter_mut().find(|(output, _)| ptr::eq(*output, element.output)) {
                Some((_, known)) => *known = sight.max(*known),
                None => seen.push((element.output, sight)),
            }
        }
        match meant {
            Acceptable::Within(bound) => element.within(bound, &mut tally),
            Acceptable::OneOf(allowed) => element.one_of(allowed, &mut tally),
            Acceptable::Sum(sum, of, bound) => element.sums_to(sum, of, bound, &mut tally),
        }
    })?;
    for (output, sight) in seen {
        tally.see(output.name.into(), sight);
    }
    Ok(tally)
}

/// What an element may be, under a setting and for what the kernel decided of its row.
pub(crate) enum Acceptable<'a> {
    /// Within a radius of a value.
    Within(Bound),
    /// One of these integers.
    OneOf(&'a Allowed),
    /// A sum of so many terms, with its bound.
    Sum(&'a ElementBound, Summation, f64),
}

impl Acceptable<'_> {
    /// What an element that was `idle` before shows of a kernel that does nothing. An integer may well be what
    /// it was.
    fn of_nothing(&self, idle: f64) -> Option<Sight> {
        let (value, bound) = match *self {
            Self::Within(bound) => bound,
            Self::Sum(sum, of, bound) if of.leaves(idle, (sum.value, bound)) => {
                return Some(Sight::Idle);
            }
            Self::Sum(sum, _, bound) => (sum.value, bound),
            Self::OneOf(_) => return None,
        };
        Some(match (value - idle).abs() {
            _ if !bound.is_finite() => Sight::Unbounded,
            0.0 if bound == 0.0 => Sight::Idle,
            added if added > bound => Sight::Clear,
            _ => Sight::Blind,
        })
    }
}

/// Calls `visit` for every element of checked outputs, or of those that differ from those of `from`.
pub(crate) fn walk<'e>(
    expectation: &'e Expectation,
    outputs: &Tensors,
    from: Option<&Tensors>,
    (setting, lane_width): (Option<Setting>, u32),
    mut visit: impl FnMut(Element<'e>, Acceptable<'e>),
) -> Result<(), TensorError> {
    for rows in &expectation.rows {
        // What a stage may leave out and did, as its checked outputs say, is not compared.
        if rows.outputs.iter().all(|output| outputs.find(output.name).is_none()) {
            continue;
        }
        let columns = rows.columns(outputs)?;
        let others = from.map(|from| rows.columns(from)).transpose()?;
        let followed: Vec<_> = rows.outputs.iter().map(|output| output.followed(outputs)).collect();
        let summations = rows.terms.as_ref().map(|terms| terms.summations(setting, lane_width));
        for row in 0..rows.count {
            let left_out = rows.presence.as_ref().and_then(|p| p.of_left_out(row, &columns));
            let open = rows.is_open(row);
            let sum = summations.as_ref().map(|summations| summations.of(row));
            for (column, (output, data)) in rows.outputs.iter().zip(&columns).enumerate() {
                let width = output.width(rows.count);
                let words = data.words();
                let same = others.as_ref().map(|others| others[column].words());
                for place in row * width..(row + 1) * width {
                    if same.is_some_and(|same| same[place] == words[place]) {
                        continue;
                    }
                    let (value, unwritten) = (number(data, place), words[place] == POISON);
                    let before = rows.terms.as_ref().map_or(0.0, |terms| terms.before(place));
                    let element = Element { output, open, place, value, before, unwritten };
                    let meant = match (&output.bound, sum) {
                        (OutputBound::Interval(bounds), _) => {
                            Acceptable::Within(left_out.unwrap_or(bounds[place]))
                        }
                        (OutputBound::OneOf(allowed), _) => Acceptable::OneOf(allowed),
                        (OutputBound::DerivedFrom(_), _) => {
                            Acceptable::Within((followed[column][place], 0.0))
                        }
                        (OutputBound::Sum(elements), sum) => {
                            let sum = sum.unwrap_or(Summation::of_one_term());
                            let bound = sum.tolerance(&elements[place], &expectation.model);
                            Acceptable::Sum(&elements[place], sum, bound)
                        }
                    };
                    visit(element, meant);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
