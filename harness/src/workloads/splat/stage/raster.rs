//! The rasterization stages of one case and camera.

use crate::workloads::splat::case::Case;
use splatcheck_gpu::{BackwardInputs, RasterConstants, RasterInputs};
use splatcheck_reference::arithmetic::{Bounded, Model, Scalar};
use splatcheck_reference::splat::backward::rasterize::{SplatGradients, rasterize_as};
use splatcheck_reference::splat::convention::{ClampGradient, Convention, StopRule};
use splatcheck_reference::splat::formulated::{BackwardView, one_minus_alpha};
use splatcheck_reference::splat::formulation::{FinalT, Formulation};
use splatcheck_reference::splat::rasterize::{Raster, rasterize};
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::view::{LossView, RasterView, Splats, TileLists};
use splatcheck_reference::splat::{TooManyPairs, bounds};

/// The stage's inputs, in the device's layout.
#[derive(Clone, Debug)]
pub struct RasterStage {
    /// The convention with its constants rounded to f32, as a kernel spells them.
    pub convention: Convention,
    /// Inputs of both directions.
    pub inputs: BackwardInputs,
    /// Which expression of the gradients the kernel has.
    formulation: Formulation,
    /// `[H,W,D]`, for formulations that read the image; empty where none was rendered.
    render_colors: Vec<f32>,
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
        },
        clamp_gradient: match c.alpha_clamp_gradient {
            ClampGradient::PassThrough => splatcheck_gpu::ClampGradient::PassThrough,
            ClampGradient::Zero => splatcheck_gpu::ClampGradient::Zero,
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
            formulation: Formulation::STANDARD,
            render_colors: forward.render_colors,
        })
    }

    /// The stage as a kernel of another formulation gets it: where the final transmittance is one
    /// minus the rendered opacity, `render_transmittance` holds the opacities.
    #[must_use]
    pub fn formulated(mut self, formulation: Formulation) -> Self {
        if formulation.final_t() != self.formulation.final_t() {
            // Each is one minus the other, as the walk forward rounds it.
            self.inputs.render_transmittance.iter_mut().for_each(|number| *number = 1.0 - *number);
        }
        Self { formulation, ..self }
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
            },
            alpha_clamp_gradient: match constants.clamp_gradient {
                splatcheck_gpu::ClampGradient::PassThrough => ClampGradient::PassThrough,
                splatcheck_gpu::ClampGradient::Zero => ClampGradient::Zero,
            },
            pixel_center: f64::from(constants.pixel_center),
            tile_size: inputs.raster.tile_size,
            ..Convention::inria()
        };
        let (formulation, render_colors) = (Formulation::STANDARD, Vec::new());
        Self { convention, inputs: inputs.clone(), formulation, render_colors }
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

    /// The backward stage in the oracle's f32 instance.
    #[must_use]
    pub fn mirror_backward(&self) -> SplatGradients<f32> {
        let stage = Converted::<f32>::new(self);
        let transmittance = self.final_transmittance(|alpha| 1.0 - alpha);
        let loss = LossView {
            transmittance: &transmittance,
            last_ids: &self.inputs.last_ids,
            v_render_colors: &self.inputs.v_render_colors,
            v_render_alphas: &self.inputs.v_render_alphas,
        };
        rasterize_as(&stage.view(self), &self.as_formulated(loss, &self.render_colors))
    }

    /// The final transmittances as the formulation has them; `of_alpha` makes one of an opacity.
    fn final_transmittance<S: Scalar>(&self, of_alpha: impl Fn(f32) -> S) -> Vec<S> {
        let numbers = self.inputs.render_transmittance.iter();
        match self.formulation.final_t() {
            FinalT::Stored => numbers.map(|&t| S::from_f32(t)).collect(),
            FinalT::OneMinusAlpha => numbers.map(|&alpha| of_alpha(alpha)).collect(),
        }
    }

    /// What the formulation reads.
    fn as_formulated<'a, S: Scalar>(
        &self,
        loss: LossView<'a, S>,
        render_colors: &'a [S],
    ) -> BackwardView<'a, S> {
        BackwardView::new(self.formulation, loss, Some(render_colors), None)
            .expect("a stage made from a case has rendered it")
    }

    /// What a kernel that conforms to the model `M` may return for the forward stage.
    #[must_use]
    pub fn forward_bounds<M: Model>(&self) -> bounds::RasterBounds<M> {
        let stage = Converted::<Bounded<M>>::new(self);
        bounds::forward(&stage.view(self))
    }

    /// What a kernel that conforms to the model `M` may return for the backward stage, before the
    /// order of summation is accounted for.
    #[must_use]
    pub fn backward_bounds<M: Model>(&self) -> bounds::GradientBounds {
        let stage = Converted::<Bounded<M>>::new(self);
        let transmittance = self.final_transmittance(one_minus_alpha::<M>);
        let [render_colors, v_render_colors, v_render_alphas] =
            [&self.render_colors, &self.inputs.v_render_colors, &self.inputs.v_render_alphas]
                .map(|values| convert(values));
        let loss = LossView {
            transmittance: &transmittance,
            last_ids: &self.inputs.last_ids,
            v_render_colors: &v_render_colors,
            v_render_alphas: &v_render_alphas,
        };
        bounds::backward_as(&stage.view(self), &self.as_formulated(loss, &render_colors))
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
