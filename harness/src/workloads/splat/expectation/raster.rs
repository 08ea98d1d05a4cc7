//! The rasterization stages' outputs against what a conforming kernel may return.

use super::{Arithmetic, Bound};
use crate::tolerance::Summation;
use crate::verdict::{Difference, Tally};
use crate::workloads::splat::stage::Stage;
use splatcheck_gpu::{BackwardConfig, RasterGradients, RasterOutputs};
use splatcheck_reference::arithmetic::{
    ArithmeticModel, Cuda, CudaFast, Model, Scalar, Wgsl, WgslExpZero,
};
use splatcheck_reference::splat::bounds::{GradientBounds, RasterBounds};
use std::collections::BTreeMap;

/// What a conforming kernel may return for one stage input, under one arithmetic model.
#[derive(Clone, Debug)]
pub struct Expectation {
    model: ArithmeticModel,
    width: usize,
    channels: usize,
    render_colors: Vec<Bound>,
    render_alphas: Vec<Bound>,
    render_transmittance: Vec<Bound>,
    last_ids: Vec<i32>,
    other_last_ids: BTreeMap<usize, Vec<i32>>,
    forward_undecided: u64,
    gradients: GradientBounds,
}

impl Expectation {
    /// Computes the bounds of both directions.
    #[must_use]
    pub fn new(stage: &Stage, arithmetic: Arithmetic) -> Self {
        match arithmetic {
            Arithmetic::Wgsl => Self::under::<Wgsl>(stage),
            Arithmetic::WgslExpZero => Self::under::<WgslExpZero>(stage),
            Arithmetic::Cuda => Self::under::<Cuda>(stage),
            Arithmetic::CudaFast => Self::under::<CudaFast>(stage),
        }
    }

    fn under<M: Model>(stage: &Stage) -> Self {
        let RasterBounds {
            render_colors,
            render_alphas,
            transmittance,
            last_ids,
            other_last_ids,
            undecided,
        } = stage.forward_bounds::<M>();
        let [render_colors, render_alphas, render_transmittance] =
            [render_colors, render_alphas, transmittance]
                .map(|bounds| bounds.iter().map(|b| (b.value(), b.radius())).collect());
        Self {
            model: M::TABLE,
            width: stage.inputs.raster.width as usize,
            channels: stage.inputs.raster.channels as usize,
            render_colors,
            render_alphas,
            render_transmittance,
            last_ids,
            other_last_ids,
            forward_undecided: undecided,
            gradients: stage.backward_bounds::<M>(),
        }
    }

    /// Judges the forward stage.
    #[must_use]
    pub fn judge_forward(&self, outputs: &RasterOutputs) -> Tally {
        let mut tally = Tally { undecided: self.forward_undecided, ..Tally::default() };
        let channels = self.channels;
        self.image_output(
            &mut tally,
            "render_colors",
            &self.render_colors,
            &outputs.render_colors,
            channels,
        );
        self.image_output(
            &mut tally,
            "render_alphas",
            &self.render_alphas,
            &outputs.render_alphas,
            1,
        );
        let transmittance = &outputs.render_transmittance;
        self.image_output(
            &mut tally,
            "render_transmittance",
            &self.render_transmittance,
            transmittance,
            1,
        );
        for (pixel, (&id, &expected)) in outputs.last_ids.iter().zip(&self.last_ids).enumerate() {
            let others = self.other_last_ids.get(&pixel);
            let allowed = id == expected || others.is_some_and(|ids| ids.contains(&id));
            let (value, oracle) = (f64::from(id), f64::from(expected));
            let difference = || Difference {
                output: "last_ids".into(),
                element: vec![pixel / self.width, pixel % self.width],
                value,
                oracle,
                bound: 0.0,
                sum: None,
            };
            tally.compare(0.0, difference, if allowed { oracle } else { value }, oracle, 0.0);
        }
        tally
    }

    fn image_output(
        &self,
        tally: &mut Tally,
        output: &'static str,
        bounds: &[Bound],
        values: &[f32],
        channels: usize,
    ) {
        for (i, (&(oracle, bound), &value)) in bounds.iter().zip(values).enumerate() {
            let value = f64::from(value);
            let pixel = i / channels;
            let difference = || Difference {
                output: output.into(),
                element: vec![pixel / self.width, pixel % self.width, i % channels],
                value,
                oracle,
                bound,
                sum: None,
            };
            tally.compare(0.0, difference, value, oracle, bound);
        }
    }

    /// Judges the backward stage under one setting.
    #[must_use]
    pub fn judge_backward(
        &self,
        outputs: &RasterGradients,
        config: BackwardConfig,
        lane_width: u32,
    ) -> Tally {
        let bounds = &self.gradients;
        let mut tally = Tally { undecided: bounds.undecided, ..Tally::default() };
        for g in 0..outputs.v_opacities.len() {
            let sum = Summation::new(bounds.tile_counts(g), config, lane_width);
            let colors = &outputs.v_colors[g * self.channels..(g + 1) * self.channels];
            let opacity = std::slice::from_ref(&outputs.v_opacities[g]);
            let named: [(&'static str, &[f32]); 4] = [
                ("v_means2d", &outputs.v_means2d[g]),
                ("v_conics", &outputs.v_conics[g]),
                ("v_opacities", opacity),
                ("v_colors", colors),
            ];
            let mut elements = bounds.elements[g * bounds.stride..].iter();
            for (output, values) in named {
                for (k, (&value, element)) in values.iter().zip(&mut elements).enumerate() {
                    let (value, oracle) = (f64::from(value), element.value);
                    let bound = sum.tolerance(element, &self.model);
                    let difference = || Difference {
                        output: output.into(),
                        element: if output == "v_opacities" { vec![g] } else { vec![g, k] },
                        value,
                        oracle,
                        bound,
                        sum: Some((sum.terms, element.magnitude)),
                    };
                    tally.compare(element.magnitude, difference, value, oracle, bound);
                }
            }
        }
        tally
    }
}
