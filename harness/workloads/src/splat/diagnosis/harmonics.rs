//! Colours that are sums of harmonics, of both projections.

use super::outputs::{scaled, with_outputs};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Expectation, OutputBound};
use std::f64::consts::PI;

/// Faults of the harmonics: what each does with a coefficient's number, given its index and how many there are, and
/// with that of its gradient.
type OfHarmonics = (&'static str, fn(usize, usize) -> f32);

const HARMONICS: [OfHarmonics; 3] = [
    ("the harmonics of the highest degree are left out", |k, all| {
        if k.isqrt() + 1 == all.isqrt() && all > 1 { 0.0 } else { 1.0 }
    }),
    (
        "the signs of the harmonics of degree 1 are those without the Condon-Shortley phase",
        |k, _| {
            if k == 1 || k == 3 { -1.0 } else { 1.0 }
        },
    ),
    (
        "the signs of the harmonics of odd order are those without the Condon-Shortley phase",
        |k, _| {
            // m = k - l^2 - l is odd where k is, as l^2 + l is even.
            if k % 2 == 1 { -1.0 } else { 1.0 }
        },
    ),
];

/// The coefficients of a stage's colours.
#[derive(Clone, Copy)]
pub(super) struct Harmonics<'a> {
    /// `[N,K,3]`.
    pub(super) values: &'a [f32],
    /// K.
    pub(super) coefficients: usize,
}

impl Harmonics<'_> {
    /// Each coefficient multiplied.
    fn multiplied(self, factor: fn(usize, usize) -> f32) -> Vec<f32> {
        let of = |(at, value): (usize, &f32)| {
            value * factor(at / 3 % self.coefficients, self.coefficients)
        };
        self.values.iter().enumerate().map(of).collect()
    }

    /// Coefficients of degree 0 so large that no colour is below 0 from any direction, and by how much each colour
    /// `[N,3]` is larger then; `None` where f32 has no such number.
    ///
    /// The squares of the harmonics of degree l add up to (2 l + 1) / (4 pi) everywhere (Unsöld's theorem), so that up
    /// to degree 3 none is larger than 0.75. Four times the sum of all magnitudes, times the harmonic of degree 0,
    /// sqrt(1 / (4 pi)) = 0.282, is more than the others can take away.
    fn raised(self) -> Option<(Vec<f32>, Vec<f64>)> {
        let mut values = self.values.to_vec();
        let mut larger = Vec::with_capacity(values.len() / self.coefficients);
        for row in values.chunks_exact_mut(3 * self.coefficients) {
            for channel in 0..3 {
                let sum: f32 = row[channel..].iter().step_by(3).map(|value| value.abs()).sum();
                let before = row[channel];
                row[channel] += 4.0 * sum;
                let by = f64::from(row[channel]) - f64::from(before);
                larger.push(by * (0.25 / PI).sqrt());
            }
        }
        larger.iter().all(|by| by.is_finite()).then_some((values, larger))
    }
}

/// What a kernel that returns colours may get wrong of them; `predict` says what is expected of other coefficients.
pub(super) fn of_colors<'a>(
    of: Option<Harmonics<'a>>,
    predict: impl Fn(Vec<f32>) -> Expectation + Copy + 'a,
) -> impl Iterator<Item = Hypothesis<'a>> {
    let signs = HARMONICS.into_iter().map(move |(words, factor)| {
        Hypothesis::new(words, move || Some(predict(of?.multiplied(factor))))
    });
    let below = Hypothesis::new(
        "colours below 0 are returned as they are, where 0 is to be returned",
        move || {
            let (values, larger) = of?.raised()?;
            let right = predict(of?.values.to_vec());
            let colors = lowered(predict(values), &larger);
            Some(with_outputs(right, colors, |name| name == "colors"))
        },
    );
    signs.chain([below])
}

/// The expectation with each camera's colours so much smaller.
fn lowered(mut of: Expectation, by: &[f64]) -> Expectation {
    for output in of.rows.iter_mut().flat_map(|rows| &mut rows.outputs) {
        if output.name == "colors"
            && let OutputBound::Interval(bounds) = &mut output.bound
        {
            let shifts = by.iter().cycle();
            bounds.iter_mut().zip(shifts).for_each(|((value, _), shift)| *value -= shift);
        }
    }
    of
}

/// What a kernel that is given the gradients of colours may get wrong of them.
pub(super) fn of_gradients<'a>(
    of: Option<Harmonics<'a>>,
    predict: impl Fn(Vec<f32>) -> Expectation + Copy + 'a,
) -> impl Iterator<Item = Hypothesis<'a>> {
    let signs = HARMONICS.into_iter().map(move |(words, factor)| {
        Hypothesis::new(words, move || {
            let coefficients = of?.coefficients;
            let by = move |place: usize| f64::from(factor(place / 3 % coefficients, coefficients));
            Some(scaled(predict(of?.multiplied(factor)), "v_colors", by, 0))
        })
    });
    // The gradients depend on the coefficients of degree 0 only by this.
    let passes = Hypothesis::new(
        "the gradient of a colour that was raised to 0 is passed on, where it ends there (what was clamped)",
        move || Some(predict(of?.raised()?.0)),
    );
    signs.chain([passes])
}
