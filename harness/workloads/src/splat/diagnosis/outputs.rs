//! An expectation with other numbers in some of its outputs.

use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Expectation, Output, OutputBound};
use splatcheck_reference::arithmetic::{ArithmeticModel, ElementBound};

/// One ulp of a normal f32 x is at most this much of |x|.
pub(super) const ULP: f64 = 1.0 / 8_388_608.0;

/// What holds of every element, multiplied by a factor in f32 with so many roundings.
fn times(
    bound: &mut OutputBound,
    factor: impl Fn(usize) -> f64,
    roundings: u32,
    model: &ArithmeticModel,
) {
    let lost = f64::from(roundings) * model.basic_ulp * ULP;
    match bound {
        OutputBound::Interval(bounds) => {
            for (place, (value, radius)) in bounds.iter_mut().enumerate() {
                let by = factor(place);
                *value *= by;
                *radius = *radius * by.abs() * (1.0 + lost) + value.abs() * lost;
            }
        }
        OutputBound::Sum(elements) => {
            for (place, element) in elements.iter_mut().enumerate() {
                let by = factor(place);
                // A magnitude is no smaller than the sum that may be rounded.
                let magnitude = element.magnitude * by.abs() * (1.0 + lost);
                let radius = element.radius * by.abs() * (1.0 + lost) + magnitude * lost;
                *element = ElementBound { value: element.value * by, magnitude, radius };
            }
        }
        OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => {}
    }
}

/// The expectation with one output multiplied, element by element.
pub(super) fn scaled(
    mut of: Expectation,
    name: &str,
    factor: impl Fn(usize) -> f64,
    roundings: u32,
) -> Expectation {
    let model = of.model;
    for output in of.rows.iter_mut().flat_map(|rows| &mut rows.outputs) {
        if output.name == name {
            times(&mut output.bound, &factor, roundings, &model);
        }
    }
    of
}

/// Gradients by the logarithm and the logit that are optimized, where the numbers' own are expected: of
/// Gaussians with these scales `[N,3]` and opacities `[N]`, whose right gradients `predict` gives.
pub(super) fn of_units<'a>(
    scales: &'a [[f32; 3]],
    opacities: &'a [f32],
    predict: impl Fn() -> Option<Expectation> + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let scale = |place: usize| f64::from(scales.as_flattened()[place]);
    let by_logit = |row: usize| f64::from(opacities[row]) * (1.0 - f64::from(opacities[row]));
    vec![
        Hypothesis::new(
            "v_scales is by the logarithm of the scale, where the scale's own is expected (a factor of \
             the scale)",
            move || Some(scaled(predict()?, "v_scales", scale, 1)),
        ),
        Hypothesis::new(
            "v_opacities is by the logit of the opacity, where the opacity's own is expected (a factor \
             of o (1 - o))",
            move || Some(scaled(predict()?, "v_opacities", by_logit, 4)),
        ),
    ]
}

/// The expectation with these outputs as another has them.
pub(super) fn with_outputs(
    mut of: Expectation,
    other: Expectation,
    taken: impl Fn(&str) -> bool,
) -> Expectation {
    for (rows, others) in of.rows.iter_mut().zip(other.rows) {
        if rows.outputs.iter().all(|output| taken(output.name)) {
            *rows = others;
            continue;
        }
        let pairs = rows.outputs.iter_mut().zip(others.outputs);
        for (output, other) in pairs.filter(|(output, _)| taken(output.name)) {
            let Output { bound, .. } = other;
            output.bound = bound;
        }
    }
    of
}

/// Quaternions in another order.
pub(super) const XYZW: &str =
    "quaternions are taken in the order x y z w, where they are given as w x y z";

/// The expectation with the rows of four of one output as a kernel writes them that has them in the order
/// x y z w.
pub(super) fn turned(mut of: Expectation, name: &str) -> Expectation {
    for output in of.rows.iter_mut().flat_map(|rows| &mut rows.outputs) {
        match &mut output.bound {
            _ if output.name != name => {}
            OutputBound::Interval(all) => {
                all.chunks_exact_mut(4).for_each(|row| row.rotate_left(1))
            }
            OutputBound::Sum(all) => all.chunks_exact_mut(4).for_each(|row| row.rotate_left(1)),
            OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => {}
        }
    }
    of
}
