//! What the run before has left in the outputs is added to: a kernel that accumulates, and whose outputs
//! nobody clears.

use crate::judge::{Expectation, OutputBound, Rows, Terms};
use splatcheck_gpu::Tensors;

/// One ulp of a normal f32 x is at most this much of |x|.
const ULP: f64 = 1.0 / 8_388_608.0;

/// The fault in words.
pub(super) const WORDS: &str = "the previous run's values are added: what it left in the outputs is not \
                                cleared, and each result is the right one plus the one before it";

/// What a kernel returns in whose outputs those of the run before are still there; `None` where they are not as
/// many.
pub(super) fn added(right: &Expectation, before: &Tensors) -> Option<Expectation> {
    let mut added = right.clone();
    added.rows.iter_mut().try_for_each(|rows| add(rows, before, right.model.basic_ulp))?;
    Some(added)
}

/// Adds to each element what was there before: one more term, and the roundings of one more addition.
/// `None` where the numbers before are not as many.
fn add(rows: &mut Rows, before: &Tensors, ulps: f64) -> Option<()> {
    for output in &mut rows.outputs {
        let Ok(left) = before.f32(output.name) else { continue };
        let left: Vec<f64> = left.iter().copied().map(f64::from).collect();
        match &mut output.bound {
            OutputBound::Interval(bounds) => {
                for ((value, radius), left) in same(bounds, &left)? {
                    *value += left;
                    *radius += ulps * ULP * (value.abs() + *radius);
                }
            }
            OutputBound::Sum(elements) => {
                for (element, left) in same(elements, &left)? {
                    element.value += left;
                    element.magnitude += left.abs();
                }
            }
            OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => {}
        }
    }
    if let Some(terms) = &rows.terms {
        let all = terms.summations(None, 1);
        let more = (0..rows.count).map(|row| all.of(row).terms + 1).collect();
        rows.terms = Some(Terms::InAnyOrder(more));
    }
    Some(())
}

/// The elements with what was left there.
fn same<'e, T>(
    elements: &'e mut [T],
    left: &'e [f64],
) -> Option<impl Iterator<Item = (&'e mut T, f64)>> {
    let fits = elements.len() == left.len();
    fits.then(|| elements.iter_mut().zip(left.iter().copied()))
}
