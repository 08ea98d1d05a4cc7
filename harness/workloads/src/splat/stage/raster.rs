//! The rasterization stages of one case and camera.

mod spelled;

use super::formulations::{Judged, STANDARD};
use crate::splat::case::Case;
use splatcheck_gpu::stages::splat::CHECKPOINT_EVERY;
use splatcheck_gpu::tensor::Data;
use splatcheck_gpu::{
    BackwardInputs, RasterConstants, RasterInputs, RasterOutputs, TensorError, Tensors,
};
use splatcheck_reference::arithmetic::{Bounded, ExtraRoundings, Scalar};
use splatcheck_reference::splat::backward::rasterize::{SplatGradients, rasterize_as};
use splatcheck_reference::splat::bounds::Compiled;
use splatcheck_reference::splat::convention::{ClampGradient, Convention, StopRule};
use splatcheck_reference::splat::formulated::{
    BackwardView, CheckpointArrays, Omitted, checkpoints, one_minus_alpha,
};
use splatcheck_reference::splat::formulation::{FinalT, Formulation, WalkOrder};
use splatcheck_reference::splat::rasterize::{Raster, rasterize};
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::view::{LossView, RasterView, Splats, TileLists};
use splatcheck_reference::splat::{TooManyPairs, bounds};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The stage's inputs, in the device's layout.
#[derive(Clone, Debug)]
pub struct RasterStage {
    /// The convention with its constants rounded to f32, as a kernel spells them.
    pub convention: Convention,
    /// Inputs of both directions.
    pub inputs: BackwardInputs,
    /// `[H,W,D]`, for formulations that read the image; empty where none was rendered.
    render_colors: Vec<f32>,
    /// `[H,W]` as the program that is judged rendered them itself; `None` where the image is the oracle's.
    own_alphas: Option<Vec<f32>>,
    /// For kernels that begin at checkpoints; noted when one asks.
    checkpoints: OnceLock<CheckpointArrays<f32>>,
}

fn constants(c: &Convention) -> RasterConstants {
    #[expect(clippy::cast_possible_truncation, reason = "already rounded to f32")]
    let exact = |x: f64| x as f32;
    RasterConstants {
        alpha_max: exact(c.alpha_max),
        alpha_min: exact(c.alpha_min),
        transmittance_min: exact(c.transmittance_min),
        stop_rule: match c.stop_rule {
            StopRule::Less => splatcheck_gpu::StopRule::Less,
            StopRule::LessOrEqual => splatcheck_gpu::StopRule::LessOrEqual,
            StopRule::LessAfterBlending => splatcheck_gpu::StopRule::LessAfterBlending,
            StopRule::LessOrEqualAfterBlending => {
                splatcheck_gpu::StopRule::LessOrEqualAfterBlending
            }
        },
        clamp_gradient: match c.alpha_clamp_gradient {
            ClampGradient::PassThrough => splatcheck_gpu::ClampGradient::PassThrough,
            ClampGradient::Zero => splatcheck_gpu::ClampGradient::Zero,
            ClampGradient::Clamped => splatcheck_gpu::ClampGradient::Clamped,
        },
        pixel_center: exact(c.pixel_center),
    }
}

impl RasterStage {
    /// Projects, bins and rasterizes a case in f32 for its camera number `camera`.
    ///
    /// # Errors
    /// [`TooManyPairs`].
    pub fn new(case: &Case, camera: usize) -> Result<Self, TooManyPairs> {
        let convention = case.convention.rounded_to_f32();
        let projected = project_scene(&case.scene, camera, &convention)?;
        let forward = rasterize::<f32>(&projected.view(&case.scene, camera, &convention));
        let slices = case.scene.camera_slices(camera);
        let Splats { means2d, conics, opacities, channels, colors } = projected.splats;
        let TileLists { tile_size, tile_offsets, flatten_ids, .. } = projected.lists;
        let raster = RasterInputs {
            width: case.scene.width,
            height: case.scene.height,
            tile_size,
            channels: u32::try_from(channels).unwrap_or(u32::MAX),
            constants: constants(&convention),
            means2d,
            conics,
            opacities,
            colors,
            background: slices.background.to_vec(),
            tile_offsets,
            flatten_ids,
        };
        Ok(Self {
            convention,
            inputs: BackwardInputs {
                raster,
                render_transmittance: forward.transmittance,
                last_ids: forward.last_ids,
                v_render_colors: slices.v_render_colors.to_vec(),
                v_render_alphas: slices.v_render_alphas.to_vec(),
            },
            render_colors: forward.render_colors,
            own_alphas: None,
            checkpoints: OnceLock::new(),
        })
    }

    /// The stage where the program that is judged has rendered the image itself: its backward pass must
    /// decide as that did.
    #[must_use]
    pub fn after(self, own: &RasterOutputs) -> Self {
        let inputs = BackwardInputs {
            render_transmittance: own.render_transmittance.clone(),
            last_ids: own.last_ids.clone(),
            ..self.inputs
        };
        Self {
            inputs,
            render_colors: own.render_colors.clone(),
            own_alphas: Some(own.render_alphas.clone()),
            ..self
        }
    }

    /// The stage with other rendered colours `[H,W,D]`.
    pub(super) fn with_image(self, render_colors: Vec<f32>) -> Self {
        Self { render_colors, checkpoints: OnceLock::new(), ..self }
    }

    /// The rendered colours `[H,W,D]`; empty for a stage that was made of arrays.
    #[must_use]
    pub fn render_colors(&self) -> &[f32] {
        &self.render_colors
    }

    /// The rendered opacities `[H,W]`: one minus the transmittances, as the walk forward rounds it.
    fn render_alphas(&self) -> Vec<f32> {
        if let Some(own) = &self.own_alphas {
            return own.clone();
        }
        self.inputs.render_transmittance.iter().map(|t| 1.0 - t).collect()
    }

    /// What the walk forward notes for kernels that begin at checkpoints.
    fn checkpoints(&self) -> &CheckpointArrays<f32> {
        self.checkpoints.get_or_init(|| {
            let stage = Converted::<f32>::new(self);
            checkpoints(&stage.view(self), CHECKPOINT_EVERY)
        })
    }

    /// What a kernel gets that has the formulation and the interface of `judged`; `standard` are the
    /// arrays of the standard formulation. Where the final transmittance is one minus the opacity and
    /// the interface names no opacities, `render_transmittance` holds them.
    ///
    /// # Errors
    /// [`TensorError`] where an array does not fill the image.
    pub fn inputs_of(
        &self,
        (judged, formulation): Judged,
        standard: &Tensors,
    ) -> Result<Tensors, TensorError> {
        let [height, width] =
            [self.inputs.raster.height, self.inputs.raster.width].map(|side| side as usize);
        let mut all = standard.clone();
        let mut add = |name, shape: &[usize], values: &[f32]| {
            all.array(name, shape, Data::F32(values.to_vec()))
        };
        match formulation.final_t() {
            FinalT::Stored | FinalT::Recomputed => {}
            FinalT::OneMinusAlpha if judged.reads("render_alphas") => {
                add("render_alphas", &[height, width], &self.render_alphas())?;
            }
            FinalT::OneMinusAlpha => {
                add("render_transmittance", &[height, width], &self.render_alphas())?;
            }
        }
        if judged.reads("render_colors") {
            let channels = self.inputs.raster.channels as usize;
            add("render_colors", &[height, width, channels], &self.image())?;
        }
        if judged.reads("checkpoints") {
            let CheckpointArrays { first, states, .. } = self.checkpoints();
            let area = self.inputs.raster.tile_size.iter().product::<u32>() as usize;
            let row = 1 + self.inputs.raster.channels as usize;
            let shape = [states.len() / (area * row), area, row];
            all.array("checkpoint_offsets", &[first.len()], Data::U32(first.clone()))?;
            all.array("checkpoints", &shape, Data::F32(states.clone()))?;
        }
        Ok(all.only(|name| judged.reads(name)))
    }

    /// A stage from what a device gets: the convention's fields that the stage does not read are
    /// those of the Inria profile.
    #[must_use]
    pub fn from_backward_inputs(inputs: &BackwardInputs) -> Self {
        let constants = &inputs.raster.constants;
        let convention = Convention {
            alpha_max: f64::from(constants.alpha_max),
            alpha_min: f64::from(constants.alpha_min),
            transmittance_min: f64::from(constants.transmittance_min),
            stop_rule: match constants.stop_rule {
                splatcheck_gpu::StopRule::Less => StopRule::Less,
                splatcheck_gpu::StopRule::LessOrEqual => StopRule::LessOrEqual,
                splatcheck_gpu::StopRule::LessAfterBlending => StopRule::LessAfterBlending,
                splatcheck_gpu::StopRule::LessOrEqualAfterBlending => {
                    StopRule::LessOrEqualAfterBlending
                }
            },
            alpha_clamp_gradient: match constants.clamp_gradient {
                splatcheck_gpu::ClampGradient::PassThrough => ClampGradient::PassThrough,
                splatcheck_gpu::ClampGradient::Zero => ClampGradient::Zero,
                splatcheck_gpu::ClampGradient::Clamped => ClampGradient::Clamped,
            },
            pixel_center: f64::from(constants.pixel_center),
            tile_size: inputs.raster.tile_size,
            ..Convention::inria()
        };
        Self {
            convention,
            inputs: inputs.clone(),
            render_colors: Vec::new(),
            own_alphas: None,
            checkpoints: OnceLock::new(),
        }
    }

    /// As [`Self::from_backward_inputs`], for the forward stage alone: no loss, no image.
    #[must_use]
    pub fn from_inputs(raster: &RasterInputs) -> Self {
        Self::from_backward_inputs(&BackwardInputs {
            raster: raster.clone(),
            render_transmittance: Vec::new(),
            last_ids: Vec::new(),
            v_render_colors: Vec::new(),
            v_render_alphas: Vec::new(),
        })
    }

    /// The forward stage in the oracle's f32 instance.
    #[must_use]
    pub fn mirror_forward(&self) -> Raster<f32> {
        let stage = Converted::<f32>::new(self);
        rasterize::<f32>(&stage.view(self))
    }

    /// The stage `judged` in its formulation, in the oracle's f32 instance.
    #[must_use]
    pub fn mirror_backward(&self, judged: Judged) -> SplatGradients<f32> {
        let own = || self.final_transmittance(judged.1, |alpha| 1.0 - alpha);
        self.backward(judged, own, rasterize_as)
    }

    /// The stage in the oracle's f64 instance: what kernels get the same inputs for.
    #[must_use]
    pub fn oracle_backward(&self) -> SplatGradients<f64> {
        let own = || self.final_transmittance(STANDARD.1, |alpha| 1.0 - f64::from(alpha));
        self.backward(STANDARD, own, rasterize_as)
    }

    /// The final transmittances as the formulation has them; `of_alpha` makes one of an opacity.
    fn final_transmittance<S: Scalar>(
        &self,
        formulation: Formulation,
        of_alpha: impl Fn(f32) -> S,
    ) -> Vec<S> {
        match formulation.final_t() {
            FinalT::Stored | FinalT::Recomputed => convert(&self.inputs.render_transmittance),
            FinalT::OneMinusAlpha => self.render_alphas().into_iter().map(of_alpha).collect(),
        }
    }

    /// What a kernel that conforms to the model `M` may return for the forward stage if it rounds each term so
    /// often besides on its way into an intermediate.
    #[must_use]
    pub fn forward_bounds<M: Compiled>(&self, extra: ExtraRoundings) -> bounds::RasterBounds<M> {
        let stage = Converted::<Bounded<M>>::new(self);
        bounds::forward_rounded(&stage.view(self), extra)
    }

    /// What a kernel of the stage `judged` that conforms to the model `M` may return, before the order of
    /// summation is accounted for.
    #[must_use]
    pub fn backward_bounds<M: Compiled>(&self, judged: Judged) -> bounds::GradientBounds {
        self.backward_bounds_without::<M>(judged, None)
    }

    /// As [`Self::backward_bounds`], for a faulty kernel that leaves these terms out.
    #[must_use]
    pub fn backward_bounds_without<M: Compiled>(
        &self,
        judged: Judged,
        omitted: Option<&Omitted>,
    ) -> bounds::GradientBounds {
        let own = || match judged.1.final_t() {
            FinalT::Recomputed => self.recomputed::<M>(),
            FinalT::Stored | FinalT::OneMinusAlpha => {
                self.final_transmittance(judged.1, one_minus_alpha::<M>)
            }
        };
        self.backward(judged, own, |view, inputs| {
            bounds::backward_as(view, &inputs.without(omitted))
        })
    }

    /// The final transmittances that a kernel may come to by itself, about those that the oracle is given.
    ///
    /// Going back from there, the bounds of the one in front of a Gaussian hold the roundings of the factors behind it
    /// and, in the radius of this one, those of all factors. A kernel that goes on from 1 in front has those of the
    /// factors in front alone.
    fn recomputed<M: Compiled>(&self) -> Vec<Bounded<M>> {
        let forward = self.forward_bounds::<M>(ExtraRoundings::NONE).transmittance;
        let given = self.inputs.render_transmittance.iter();
        let about = |(&given, own): (&f32, Bounded<M>)| Bounded::from_f32(given).or(own);
        given.zip(forward).map(about).collect()
    }

    /// Evaluates the stage `judged` over a scalar, with these final transmittances.
    fn backward<S: Scalar, R>(
        &self,
        (judged, formulation): Judged,
        final_transmittances: impl FnOnce() -> Vec<S>,
        evaluate: impl FnOnce(&RasterView<'_, S>, &BackwardView<'_, S>) -> R,
    ) -> R {
        let stage = Converted::<S>::new(self);
        let transmittance = final_transmittances();
        let [v_render_colors, v_render_alphas] =
            [&self.inputs.v_render_colors, &self.inputs.v_render_alphas]
                .map(|values| convert(values));
        let loss = LossView {
            transmittance: &transmittance,
            last_ids: &self.inputs.last_ids,
            v_render_colors: &v_render_colors,
            v_render_alphas: &v_render_alphas,
        };
        let image = (formulation.walk() == WalkOrder::Front).then(|| convert(&self.image()));
        let noted = judged.reads("checkpoints").then(|| self.checkpoints().map(S::from_f32));
        let noted = noted.as_ref().map(CheckpointArrays::view);
        let inputs = BackwardView::new(formulation, loss, image.as_deref(), noted)
            .expect("what the formulation reads is rendered where it is not given")
            .of_one_program(self.own_alphas.is_some());
        evaluate(&stage.view(self), &inputs)
    }

    /// The rendered colours `[H,W,D]`: rendered now, where none were given.
    fn image(&self) -> Cow<'_, [f32]> {
        if self.render_colors.is_empty() {
            Cow::Owned(self.mirror_forward().render_colors)
        } else {
            Cow::Borrowed(&self.render_colors)
        }
    }
}

fn convert<S: Scalar>(values: &[f32]) -> Vec<S> {
    values.iter().map(|&x| S::from_f32(x)).collect()
}

/// The stage's inputs over the oracle's scalar.
struct Converted<S> {
    splats: Splats<S>,
    lists: TileLists,
    background: Vec<S>,
}

impl<S: Scalar> Converted<S> {
    fn new(stage: &RasterStage) -> Self {
        let raster = &stage.inputs.raster;
        Self {
            splats: Splats {
                means2d: raster.means2d.iter().map(|v| v.map(S::from_f32)).collect(),
                conics: raster.conics.iter().map(|v| v.map(S::from_f32)).collect(),
                opacities: convert(&raster.opacities),
                channels: raster.channels as usize,
                colors: convert(&raster.colors),
            },
            lists: TileLists {
                tiles: raster.tiles(),
                tile_size: raster.tile_size,
                tile_offsets: raster.tile_offsets.clone(),
                flatten_ids: raster.flatten_ids.clone(),
            },
            background: convert(&raster.background),
        }
    }

    fn view<'a>(&'a self, stage: &'a RasterStage) -> RasterView<'a, S> {
        RasterView {
            width: stage.inputs.raster.width,
            height: stage.inputs.raster.height,
            convention: &stage.convention,
            splats: &self.splats,
            lists: &self.lists,
            background: &self.background,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::generators::{Draw, find};
    use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
    use splatcheck_reference::arithmetic::{Cuda, Ieee, Model};
    use splatcheck_reference::splat::bounds::GradientBounds;
    use splatcheck_reference::splat::convention::Profile;

    /// The exact gradients of a program whose transmittance is the exact product lie within the bounds of those that
    /// recompute it, and not within those of programs that begin with what was stored.
    #[test]
    fn a_transmittance_that_is_recomputed_has_bounds_of_its_own() {
        // A list of 1025, of which the first pixels see all.
        let draw = Draw { profile: Profile::Inria, lane_width: 32, turn: 11 };
        let sizes = find("sizes").expect("a generator");
        let case = sizes.draw(draw, 1, 0).expect("no data needed").current();
        let stage = RasterStage::new(&case, 0).expect("few pairs");
        let mut exact = stage.clone();
        let forward = stage.forward_bounds::<Ieee>(ExtraRoundings::NONE).transmittance;
        #[expect(clippy::cast_possible_truncation, reason = "it is rounded to f32")]
        let rounded = forward.iter().map(|t| t.value() as f32).collect();
        exact.inputs.render_transmittance = rounded;
        let gradients = exact.oracle_backward();
        let outside = |formulation: &str| {
            let formulation = formulation.parse().expect("it exists");
            let bounds = stage.backward_bounds::<Cuda>((RASTERIZE_BACKWARD, formulation));
            let GradientBounds { stride, elements, .. } = &bounds;
            let beyond = |g: &usize| {
                let element = elements[g * stride + 5];
                let tolerance = element.tolerance(0, bounds.terms(*g), &Cuda::TABLE);
                (gradients.v_opacities[*g] - element.value).abs() > tolerance
            };
            (0..gradients.v_opacities.len()).filter(beyond).count()
        };
        assert_eq!(outside("state,final_t=recomputed"), 0, "all within");
        assert!(outside("state") > 0, "what was stored is rounded");
    }
}
