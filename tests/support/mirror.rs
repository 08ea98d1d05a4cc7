//! An engine without a device: the oracle's f32 instance, perhaps with a planted defect.

mod projection;

use projection::{project, project_backward};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE};
use splatcheck_gpu::{
    Arithmetic, BackwardInputs, DeviceInfo, Engine, EngineError, EngineKind, FloatAtomics,
    ProjectBackwardInputs, ProjectInputs, RasterGradients, RasterInputs, RasterOutputs, Setting,
    TensorError, Tensors, Work,
};
use splatcheck_reference::splat::backward::rasterize::SplatGradients;
use splatcheck_workloads::splat::stage::{FORMULATED, Judged, RasterStage, STANDARD};

/// A defect planted into the mirror engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// None: the oracle's f32 instance.
    None,
    /// The pixels of one lane (index in the tile) contribute nothing to gradients.
    LostLane(u32),
    /// As [`Defect::LostLane`], but only where the threshold is this.
    LostLaneAtThreshold(u32, u32),
    /// Gradients of one colour channel are zero.
    LostChannel(usize),
    /// The pixel's last contributor is off by one.
    LastContributor,
    /// The background is left out of the image.
    NoBackground,
    /// A NaN in the gradient of the first Gaussian.
    NotANumber,
    /// The gradient of the mean is in normalized device coordinates.
    DeviceCoordinates,
    /// Half of the conic's off-diagonal gradient.
    HalfOffDiagonal,
    /// The Gaussians of one lane (index in the workgroup) contribute nothing to `v_viewmats`.
    LostGaussian(usize),
    /// A Gaussian gets the last camera's gradients instead of all cameras'.
    LastCamera,
    /// Only the first camera gets a gradient.
    FirstViewmat,
    /// Gradients of direct colours beyond the third channel are zero.
    ThreeChannels,
    /// The gradient of the field-of-view clamp is the other convention's.
    OtherClampGradient,
    /// The signs of the harmonics of degree 1 are those without the Condon-Shortley phase.
    NoPhase,
    /// The harmonics of the highest degree are left out.
    LowerDegree,
    /// The backward pass compares alpha with a threshold so many ulp above that of the forward pass.
    BackwardThreshold(u32),
    /// Every request fails.
    Broken,
    /// The first request for several jobs fails, and nothing after it.
    DiesOnce,
}

/// An engine without a device: the oracle's f32 instance, perhaps with a defect. It lets the judge
/// be tested where no driver is installed.
#[derive(Debug)]
pub struct Mirror {
    info: DeviceInfo,
    defect: Defect,
    died: bool,
}

impl Mirror {
    /// A mirror with a warp size and a defect.
    #[must_use]
    pub fn new(lane_width: u32, defect: Defect) -> Self {
        Self {
            info: DeviceInfo {
                adapter: "the oracle's f32 instance".to_owned(),
                driver: "none".to_owned(),
                backend: "cpu".to_owned(),
                // It is judged as a shader is: there is no kind for what runs no kernel.
                kind: EngineKind::Wgpu,
                arithmetic: Arithmetic::Wgsl,
                lane_width,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: true,
                loop_limit: splatcheck_gpu::LoopLimit::NotMeasured,
            },
            defect,
            died: false,
        }
    }

    fn forward(&self, inputs: &RasterInputs) -> RasterOutputs {
        let mut inputs = inputs.clone();
        if self.defect == Defect::NoBackground {
            inputs.background.fill(0.0);
        }
        let raster = RasterStage::from_inputs(&inputs).mirror_forward();
        let mut last_ids = raster.last_ids;
        if self.defect == Defect::LastContributor {
            last_ids.iter_mut().filter(|id| **id > 0).for_each(|id| *id -= 1);
        }
        RasterOutputs {
            render_colors: raster.render_colors,
            render_alphas: raster.render_alphas,
            render_transmittance: raster.transmittance,
            last_ids,
        }
    }

    /// The outputs of one job and setting.
    fn outputs(
        &self,
        stage: splatcheck_gpu::Stage,
        all: &Tensors,
        setting: Option<Setting>,
    ) -> Result<Tensors, TensorError> {
        let outputs = if stage == RASTERIZE {
            let inputs = RasterInputs::from_tensors(all)?;
            let size = [inputs.height, inputs.width, inputs.channels].map(|side| side as usize);
            self.forward(&inputs).tensors(size)
        } else if let Some(&judged) = [STANDARD].iter().chain(&FORMULATED).find(|j| j.0 == stage) {
            let inputs = backward_inputs(judged, all)?;
            let channels = inputs.raster.channels as usize;
            self.backward(judged, &inputs, setting).tensors(channels)
        } else if stage == PROJECT {
            let inputs = ProjectInputs::from_tensors(all)?;
            let channels = inputs.colors.channels() as usize;
            project(&inputs, self.defect).tensors(inputs.cameras.len(), channels)
        } else if stage == PROJECT_BACKWARD {
            let inputs = ProjectBackwardInputs::from_tensors(all)?;
            project_backward(&inputs, self.defect).tensors(&inputs.project.colors)
        } else {
            panic!("the mirror has no stage {stage}")
        };
        Ok(outputs?)
    }

    fn backward(
        &self,
        judged: Judged,
        inputs: &BackwardInputs,
        setting: Option<Setting>,
    ) -> RasterGradients {
        let mut stage = RasterStage::from_backward_inputs(inputs);
        let lost = match self.defect {
            Defect::LostLane(lane) => Some(lane),
            Defect::LostLaneAtThreshold(lane, threshold)
                if setting.is_some_and(|setting| setting.threshold == threshold) =>
            {
                Some(lane)
            }
            _ => None,
        };
        if let Some(lane) = lost {
            lose_lane(&mut stage.inputs, lane);
        }
        if let Defect::BackwardThreshold(ulps) = self.defect {
            #[expect(clippy::cast_possible_truncation, reason = "already rounded to f32")]
            let alpha_min = stage.convention.alpha_min as f32;
            stage.convention.alpha_min = f64::from(f32::from_bits(alpha_min.to_bits() + ulps));
        }
        let SplatGradients { mut v_means2d, mut v_conics, v_opacities, mut v_colors, .. } =
            stage.mirror_backward(judged);
        let size = [inputs.raster.width as f32, inputs.raster.height as f32];
        match self.defect {
            Defect::LostChannel(channel) => {
                let channels = inputs.raster.channels as usize;
                v_colors.iter_mut().skip(channel).step_by(channels).for_each(|v| *v = 0.0);
            }
            Defect::NotANumber => {
                v_means2d.iter_mut().take(1).for_each(|v| v[0] = f32::NAN);
            }
            Defect::DeviceCoordinates => {
                for v in &mut v_means2d {
                    *v = [0.5 * size[0] * v[0], 0.5 * size[1] * v[1]];
                }
            }
            Defect::HalfOffDiagonal => v_conics.iter_mut().for_each(|v| v[1] *= 0.5),
            _ => {}
        }
        RasterGradients { v_means2d, v_conics, v_opacities, v_colors }
    }
}

/// Takes one lane of every tile out of the image's loss: its pixels then contribute nothing.
/// The inputs of the standard formulation, from those of another: what it does not read is rendered.
fn backward_inputs(judged: Judged, all: &Tensors) -> Result<BackwardInputs, TensorError> {
    if judged == STANDARD {
        return BackwardInputs::from_tensors(all);
    }
    let raster = RasterInputs::from_tensors(all)?;
    let forward = RasterStage::from_inputs(&raster).mirror_forward();
    Ok(BackwardInputs {
        raster,
        render_transmittance: forward.transmittance,
        last_ids: forward.last_ids,
        v_render_colors: all.f32("v_render_colors")?.to_vec(),
        v_render_alphas: all.f32("v_render_alphas")?.to_vec(),
    })
}

fn lose_lane(inputs: &mut BackwardInputs, lane: u32) {
    let (width, [across, down]) = (inputs.raster.width, inputs.raster.tile_size);
    for (pixel, last) in (0u32..).zip(&mut inputs.last_ids) {
        let (x, y) = (pixel % width, pixel / width);
        if (y % down) * across + x % across == lane {
            *last = -1;
        }
    }
}

impl Engine for Mirror {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(
        &mut self,
        stage: splatcheck_gpu::Stage,
        work: &[Work<'_>],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        if self.defect == Defect::Broken {
            return Err(EngineError::Device("planted".to_owned()));
        }
        if self.defect == Defect::DiesOnce && !self.died && work.len() > 1 {
            self.died = true;
            return Err(EngineError::Device("it died".to_owned()));
        }
        let of_job = |job: &Work<'_>| {
            let one = |&setting| Ok(self.outputs(stage, job.inputs, setting)?);
            job.settings.iter().map(one).collect()
        };
        work.iter().map(of_job).collect()
    }
}
