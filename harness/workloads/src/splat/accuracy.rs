//! How accurate each formulation of the backward stage is: its bound and the error of its f32
//! evaluation, element by element.
//!
//! Both are measured in units of 2^-24 times the sum of the terms' magnitudes, which is the same for all
//! formulations: 1 is what one rounding of the whole sum may cost, and a factor of 10 is a digit.

use super::stage::{RasterStage, STANDARD};
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_reference::arithmetic::{Ieee, Model};
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::bounds::GradientBounds;

/// The unit roundoff of f32.
const UNIT: f64 = 1.0 / 16_777_216.0;
/// Below this the numbers of a sum may be subnormal, which no formulation can help.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64 / UNIT;
/// One element of the gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How many Gaussians of its tiles' lists are in front of the element's, on average.
    pub depth: f64,
    /// How far an f32 evaluation may lie from the value, sums in any order.
    pub bound: f64,
    /// How far the f32 evaluation of this program does lie from it.
    pub error: f64,
}

/// One image's elements under the formulations, one by one.
pub struct Accuracy {
    stage: RasterStage,
    depths: Vec<f64>,
    /// Of the standard formulation.
    magnitudes: Vec<f64>,
}

impl Accuracy {
    /// Prepares a stage in the standard formulation.
    #[must_use]
    pub fn new(stage: RasterStage) -> Self {
        let bounds = stage.backward_bounds::<Ieee>(STANDARD);
        let magnitudes = bounds.elements.iter().map(|element| element.magnitude).collect();
        let depths = depths(&stage);
        Self { stage, depths, magnitudes }
    }

    /// The elements that something contributes to, in a formulation.
    #[must_use]
    pub fn samples(&self, formulation: Formulation) -> Vec<Sample> {
        let bounds = self.stage.backward_bounds::<Ieee>((RASTERIZE_BACKWARD, formulation));
        let GradientBounds { stride, elements, .. } = &bounds;
        let mirror = self.stage.mirror_backward((RASTERIZE_BACKWARD, formulation));
        let mut samples = Vec::new();
        for (g, &depth) in self.depths.iter().enumerate() {
            let [x, y] = mirror.v_means2d[g];
            let [a, b, c] = mirror.v_conics[g];
            let terms = bounds.terms(g);
            // The numbers that alpha's gradient goes into. The colour's gradient has the transmittance
            // alone in common with them, and shows less.
            let values = [x, y, a, b, c, mirror.v_opacities[g]];
            for (value, at) in values.into_iter().zip(g * stride..) {
                let (element, magnitude) = (&elements[at], self.magnitudes[at]);
                if magnitude.is_nan() || magnitude <= SMALLEST {
                    continue;
                }
                let tolerance = element.tolerance(terms.saturating_sub(1), terms, &Ieee::TABLE);
                let unit = magnitude * UNIT;
                let error = (f64::from(value) - element.value).abs() / unit;
                samples.push(Sample { depth, bound: tolerance / unit, error });
            }
        }
        samples
    }
}

/// The mean number of Gaussians in front of each in the lists of its tiles.
fn depths(stage: &RasterStage) -> Vec<f64> {
    let raster = &stage.inputs.raster;
    let mut sums = vec![(0.0, 0.0); raster.len()];
    for tile in raster.tile_offsets.windows(2) {
        let list = &raster.flatten_ids[tile[0] as usize..tile[1] as usize];
        for (depth, &id) in list.iter().enumerate() {
            let (sum, count): &mut (f64, f64) = &mut sums[id as usize];
            *sum += depth as f64;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { 0.0 }).collect()
}
