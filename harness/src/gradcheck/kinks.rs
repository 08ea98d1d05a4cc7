//! Derivatives at a kink: where equal numbers are compared, a kernel that decides the other way has another one, and
//! both are right.
//!
//! A gradient that disagrees is compared once more with all that the forward pass may have at its ties: with all of
//! them reversed, and with each comparison's alone. Only spellings of the same function count, which leave the
//! outputs as they were, but for a few that have no value there: `x == 0 ? 1 : sin(x) / x` has a branch of its own
//! because the other one is 0/0, and nobody knows its derivative.

use std::cell::Cell;

use splatcheck_emulator::{DeviceMemory, Gradient, Reversed, Schedule, Shadowing, Site, Which};

use super::forward::{Pair, swept};
use super::launch::Arrays;
use super::program::Stopped;

/// Comparisons of a program that are reversed one by one.
const ALONE: usize = 8;

/// Of each returned gradient the derivatives and how far they are uncertain.
pub(super) type Expected = Vec<Vec<(f64, f64)>>;

/// How the kernels run: the memory that they begin on, as they did before, in which order, and whether a run with
/// decisions taken the other way has had no end.
type Run<'r> = (&'r dyn Fn() -> DeviceMemory, &'r Schedule, &'r Cell<bool>);

/// What came of a run, if there is anything. One that had no end is kept in mind.
pub(super) fn unless_endless<T>(ran: Result<T, Stopped>, no_end: &Cell<bool>) -> Option<T> {
    let is_endless = matches!(ran, Err(Stopped::NoEnd(_)));
    no_end.set(no_end.get() || is_endless);
    ran.ok()
}

/// What the sweep expects of each returned gradient.
pub(super) fn expected(
    (manifest, _, _): Pair<'_>,
    arrays: &Arrays,
    gradient: &Gradient,
) -> Expected {
    let of = |of: &str| gradient.of(arrays.buffers[of]).unwrap_or_default();
    let numbers = |(name, _)| of(name).iter().map(|d| (d.value, d.uncertainty)).collect();
    manifest.returned().map(numbers).collect()
}

/// The least interval around what is expected with the ties as they were taken and reversed; nothing where reversing
/// them leaves no other spelling of the function.
pub(super) fn either_way(
    pair: Pair<'_>,
    (start, schedule, no_end): Run<'_>,
    (arrays, taken): (&Arrays, &Expected),
) -> Option<Expected> {
    let ties: Vec<Site> = arrays.memory.ties().collect();
    let mut either: Option<Expected> = None;
    for reversed in together_and_alone(&ties).map(Reversed::Ties) {
        let ran = swept(pair, start(), schedule, Some(reversed));
        let Some((other, gradient)) = unless_endless(ran, no_end) else { continue };
        if let Some(gaps) = same_outputs(pair, arrays, &other) {
            let widest = either.take().unwrap_or_else(|| taken.clone());
            either = Some(around(widest, &expected(pair, &other, &gradient), gaps));
        }
    }
    either
}

/// All comparisons at once, and each alone where they are a few.
pub(super) fn together_and_alone(sites: &[Site]) -> impl Iterator<Item = Which> {
    let alone = if (2..=ALONE).contains(&sites.len()) { sites } else { &[] };
    let all = (!sites.is_empty()).then_some(Which::All);
    all.into_iter().chain(alone.iter().copied().map(Which::At))
}

/// Of each returned gradient which elements, or what they must be, are others where comparisons that rounding leaves
/// open are decided the other way; `None` where that is not known. `arrays` are those after the backward pass.
///
/// An element that is off and stays as it is has no such comparison to excuse it.
pub(super) fn changed_by_open(
    pair: Pair<'_>,
    (start, schedule, no_end): Run<'_>,
    (arrays, taken): (&Arrays, &Expected),
) -> Option<Vec<Vec<bool>>> {
    let (manifest, program, case) = pair;
    let found = |arrays: &Arrays, name: &str| arrays.memory.exact(arrays.buffers[name]);
    let mut changed: Vec<Vec<bool>> = taken.iter().map(|all| vec![false; all.len()]).collect();
    for reversed in together_and_alone(&arrays.memory.open_comparisons()?).map(Reversed::Open) {
        let ran = swept(pair, start(), schedule, Some(reversed));
        let (mut other, gradient) = unless_endless(ran, no_end)?;
        let run = (Shadowing::Values, schedule);
        unless_endless(other.launch((program, case), &manifest.backward, run), no_end)?;
        let expected = expected(pair, &other, &gradient);
        for (at, (_, name)) in manifest.returned().enumerate() {
            let [before, after] = [arrays, &other].map(|arrays| found(arrays, name));
            for (element, changed) in changed[at].iter_mut().enumerate() {
                let is_same = before[element].value == after[element].value
                    && taken[at][element].0 == expected[at][element].0;
                *changed |= !is_same;
            }
        }
    }
    Some(changed)
}

/// Whether some elements of the outputs have no value in the second of two forward passes, the fewer of all; `None`
/// where others are not the same.
fn same_outputs((manifest, _, _): Pair<'_>, a: &Arrays, b: &Arrays) -> Option<bool> {
    let (mut all, mut gaps) = (0_usize, 0);
    for (of, _) in manifest.given() {
        let [a, b] = [a, b].map(|arrays| arrays.memory.exact(arrays.buffers[of]));
        for (a, b) in a.iter().zip(&b) {
            let is_same = (a.value - b.value).abs() <= a.uncertainty + b.uncertainty;
            let is_gap = b.value.is_nan() && !a.value.is_nan();
            if !is_same && a.value != b.value && !is_gap {
                return None;
            }
            all += 1;
            gaps += usize::from(is_gap);
        }
    }
    (2 * gaps <= all).then_some(gaps > 0)
}

/// The least intervals around two, each as its middle and half its width. One that nobody knows adds nothing, but
/// where outputs have no value (`gaps`): there nothing is known.
fn around(a: Expected, b: &Expected, gaps: bool) -> Expected {
    let hull = |((x, r), &(y, s)): ((f64, f64), &(f64, f64))| {
        if !s.is_finite() || !y.is_finite() {
            return (x, if gaps { f64::INFINITY } else { r });
        }
        let (low, high) = ((x - r).min(y - s), (x + r).max(y + s));
        // Middle and half are rounded, each by no more than 2^-53 of the larger end: both ends stay inside.
        let rounded = f64::EPSILON * low.abs().max(high.abs());
        (low.midpoint(high), (high - low) / 2.0 + rounded)
    };
    let row = |(a, b): (Vec<(f64, f64)>, &Vec<_>)| a.into_iter().zip(b).map(hull).collect();
    a.into_iter().zip(b).map(row).collect()
}
