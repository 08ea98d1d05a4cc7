//! An image whose background is blended by another weight than what every pixel lets through.

use super::outputs::ULP;
use crate::splat::stage::RasterStage;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Bound, Expectation, OutputBound};

/// A weight: in words, and of the transmittance.
type Weight = (&'static str, fn(f64) -> f64);

/// Weights of the background in place of the transmittance T. As functions of T they have slopes of at
/// most 2 on 0 to 1.
const WEIGHTS: [Weight; 3] = [
    ("the background is added whole, where the transmittance T weighs it", |_| 1.0),
    ("the background is weighed by the opacity 1 - T, where the transmittance T weighs it", |t| {
        1.0 - t
    }),
    ("the background is weighed by T twice", |t| t * t),
];
const STEEPEST: f64 = 2.0;

/// Roundings of the weight, the product and the sum in f32.
const ROUNDINGS: f64 = 4.0;

/// What `rasterize` returns whose right numbers `predict` gives.
pub(super) fn hypotheses<'a>(
    stage: &'a RasterStage,
    predict: impl Fn() -> Expectation + Copy + 'a,
) -> impl Iterator<Item = Hypothesis<'a>> {
    let background = &stage.inputs.raster.background;
    WEIGHTS.into_iter().map(move |(words, weight)| {
        Hypothesis::new(words, move || weighed(predict(), background, weight))
    })
}

/// The image with the background by another weight; `None` without an image.
fn weighed(
    mut right: Expectation,
    background: &[f32],
    weight: fn(f64) -> f64,
) -> Option<Expectation> {
    let through = bounds_of(&right, "render_transmittance")?.to_vec();
    let lost = ROUNDINGS * right.model.basic_ulp * ULP;
    let rows = right.rows.iter_mut().flat_map(|rows| &mut rows.outputs);
    let image = rows.into_iter().find(|output| output.name == "render_colors")?;
    let OutputBound::Interval(colors) = &mut image.bound else { return None };
    let pixels = colors.chunks_exact_mut(background.len().max(1)).zip(through);
    for (pixel, (t, radius)) in pixels {
        for (color, &of_channel) in pixel.iter_mut().zip(background) {
            let of_channel = f64::from(of_channel);
            let more = (weight(t) - t) * of_channel;
            // Right numbers and weights err by their own bounds, the sum by its roundings.
            let of_weight = (STEEPEST + 1.0) * radius * of_channel.abs();
            let sizes = color.0.abs() + 2.0 * of_channel.abs();
            *color = (color.0 + more, color.1 + of_weight + lost * sizes);
        }
    }
    Some(right)
}

fn bounds_of<'e>(of: &'e Expectation, name: &str) -> Option<&'e [Bound]> {
    match &of.outputs().find(|output| output.name == name)?.bound {
        OutputBound::Interval(bounds) => Some(bounds),
        OutputBound::Sum(_) | OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => None,
    }
}
