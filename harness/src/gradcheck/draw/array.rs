//! The numbers of one array, as its `draw` says.

use splatcheck_emulator::FloatType;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::arithmetic::{exp, ln};
use splatcheck_workloads::layout::Expression;

use super::super::dtype::{Dtype, Whole};
use super::super::manifest::Draw;
use super::{Case, CaseProblem, Values};

impl Case {
    pub(super) fn draw(
        &self,
        name: &str,
        dtype: Dtype,
        draw: Option<&Draw>,
        shape: &[usize],
        rng: &mut CaseRng,
    ) -> Result<Values, CaseProblem> {
        let count: usize = shape.iter().product();
        let place = format!("[inputs.{name}], draw");
        let ends = |ends: &[Expression; 2]| -> Result<[f64; 2], CaseProblem> {
            Ok([self.float(&place, &ends[0])?, self.float(&place, &ends[1])?])
        };
        let floats = match dtype {
            Dtype::Float(floats) => floats,
            // None of these draws is of whole numbers.
            Dtype::Whole(_) => FloatType::F32,
        };
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the array's type")]
        let drawn = |one: &mut dyn FnMut() -> f64| {
            Ok(Values::floats(floats, (0..count).map(|_| one() as f32).collect()))
        };
        let whole = |all: Vec<i64>| integers(&place, dtype, all);
        match draw {
            None => Ok(Values::floats(floats, rng.values(count))),
            Some(Draw::Uniform(both)) => {
                let [low, high] = ends(both)?;
                if !(low <= high && (high - low).is_finite()) {
                    let advice = "expected two numbers, the smaller first";
                    return Err(CaseProblem::of(&place, format!("{low} to {high}"), advice));
                }
                drawn(&mut || low + (high - low) * unit(rng))
            }
            Some(Draw::Normal(both)) => {
                let [mean, deviation] = ends(both)?;
                if !(mean.is_finite() && deviation >= 0.0 && deviation.is_finite()) {
                    let advice = "expected a mean, and a standard deviation that is not negative";
                    return Err(CaseProblem::of(&place, format!("{mean}, {deviation}"), advice));
                }
                let mut normal = || (0..12).map(|_| unit(rng)).sum::<f64>() - 6.0;
                drawn(&mut || mean + deviation * normal())
            }
            Some(Draw::LogUniform(both)) => {
                let [low, high] = ends(both)?;
                if !(low > 0.0 && high >= low && high.is_finite()) {
                    let advice = "expected two positive numbers, the smaller first";
                    return Err(CaseProblem::of(&place, format!("{low} to {high}"), advice));
                }
                let (low, high) = (ln(low), ln(high));
                drawn(&mut || exp(low + (high - low) * unit(rng)))
            }
            Some(Draw::Below(end)) => {
                let end = positive(&place, self.integer(&place, end)?)?;
                whole((0..count).map(|_| i64::from(rng.below(end))).collect())
            }
            Some(Draw::Offsets(end)) => {
                let end = self.integer(&place, end)?;
                whole(offsets(&place, count, end, rng)?)
            }
            Some(Draw::Permutation(_)) => {
                let mut all: Vec<i64> =
                    (0..count).filter_map(|at| i64::try_from(at).ok()).collect();
                rng.shuffle(&mut all);
                whole(all)
            }
            Some(Draw::Value(value)) if matches!(dtype, Dtype::Float(_)) => {
                let value = self.float(&place, value)?;
                drawn(&mut || value)
            }
            Some(Draw::Value(value)) => whole(vec![self.integer(&place, value)?; count]),
        }
    }
}

/// A number from 0 on below 1, a multiple of 2^-24.
fn unit(rng: &mut CaseRng) -> f64 {
    f64::from(rng.below(1 << 24)) / f64::from(1 << 24)
}

fn positive(place: &str, value: i64) -> Result<u32, CaseProblem> {
    let fits = u32::try_from(value).ok().filter(|&end| end > 0);
    fits.ok_or_else(|| CaseProblem::of(place, value, "expected 1 to 2^32 - 1"))
}

/// Numbers in ascending order from 0 to `end`.
fn offsets(
    place: &str,
    count: usize,
    end: i64,
    rng: &mut CaseRng,
) -> Result<Vec<i64>, CaseProblem> {
    let most =
        u32::try_from(end).map_err(|_| CaseProblem::of(place, end, "expected 0 to 2^32 - 1"))?;
    let mut all: Vec<i64> = match most.checked_add(1) {
        Some(choices) => (0..count).map(|_| i64::from(rng.below(choices))).collect(),
        None => vec![0; count],
    };
    all.sort_unstable();
    if let [first, .., last] = &mut all[..] {
        (*first, *last) = (0, end);
    }
    Ok(all)
}

/// Whole numbers in the type of an array; of one of floats, which none of these draws is of, in u32.
fn integers(place: &str, dtype: Dtype, all: Vec<i64>) -> Result<Values, CaseProblem> {
    let whole = match dtype {
        Dtype::Float(_) => Whole::U32,
        Dtype::Whole(whole) => whole,
    };
    match all.iter().find(|&&value| !whole.holds(value)) {
        None => Ok(Values::Whole(whole, all)),
        Some(value) => {
            Err(CaseProblem::of(place, value, "expected a number that the array's type can hold"))
        }
    }
}
