//! The training loop.

use std::time::Instant;

use splatcheck_gpu::EngineError;
use splatcheck_judge::interrupt;
use splatcheck_reference::splat::Scene;

use super::adam::Adam;
use super::backward::Backward;
use super::loss::{Loss, psnr};
use super::parameters::Parameters;
use super::start::extent;
use super::target::{Target, View};
use crate::splat::case::Case;
use crate::splat::stage::RasterStage;

/// What all runs have in common.
#[derive(Clone, Debug)]
pub struct Fit {
    /// What is fitted.
    pub target: Target,
    /// What a run begins with.
    pub start: Parameters,
    /// Steps of the optimizer.
    pub steps: usize,
    /// What is minimized.
    pub loss: Loss,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// After all steps.
    Done,
    /// Before a step, by Ctrl-C.
    Interrupted {
        /// The step.
        step: usize,
    },
    /// At a step whose gradients have a number that is not finite.
    NotFinite {
        /// The step.
        step: usize,
        /// The kind of parameter.
        what: &'static str,
    },
    /// At a step that the engine gave no result for, or whose image cannot be rendered.
    Failed {
        /// The step.
        step: usize,
        /// Why.
        error: EngineError,
    },
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// PSNR over all views, dB, with the step before which it is: one every turn of the views, and one
    /// after the last step.
    pub psnr: Vec<(usize, f64)>,
    /// How it ended.
    pub end: End,
    /// What it took.
    pub seconds: f64,
}

impl Curve {
    /// The largest difference from another run's PSNR at the same step, dB; `None` where no step is common.
    #[must_use]
    pub fn farthest(&self, other: &Self) -> Option<f64> {
        self.differences(other).map(|(_, difference)| difference).reduce(f64::max)
    }

    /// The differences with their steps.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (usize, f64)> + 'a {
        // The same image twice has no difference, also where its PSNR is infinite.
        let of = |((step, a), (_, b)): (&(usize, f64), &(usize, f64))| {
            (*step, if a == b { 0.0 } else { (a - b).abs() })
        };
        self.psnr.iter().zip(&other.psnr).map(of)
    }
}

impl Fit {
    /// Trains with these gradients; `done` hears of every step. Each step follows one view, in turn.
    pub fn run(&self, backward: &mut dyn Backward, done: &dyn Fn()) -> Curve {
        let start = Instant::now();
        let mut parameters = self.start.clone();
        let mut adam = Adam::new(&parameters, extent(&parameters));
        let mut curve = Vec::new();
        let mut end = End::Done;
        for step in 0..self.steps {
            if interrupt::is_asked() {
                end = End::Interrupted { step };
                break;
            }
            match self.gradients(step, &parameters, backward, &mut curve) {
                Ok(gradients) => {
                    if let Some(what) = gradients.not_finite() {
                        end = End::NotFinite { step, what };
                        break;
                    }
                    adam.step(&mut parameters, &gradients);
                }
                Err(error) => {
                    end = End::Failed { step, error };
                    break;
                }
            }
            done();
        }
        if end == End::Done {
            match self.all_views(&parameters) {
                Ok((_, psnr)) => curve.push((self.steps, psnr)),
                Err(error) => end = End::Failed { step: self.steps, error },
            }
        }
        Curve { psnr: curve, end, seconds: start.elapsed().as_secs_f64() }
    }

    /// The gradients of one step by the parameters. Where the turn of the views begins, all of them are
    /// rendered, and their PSNR goes to `curve`.
    fn gradients(
        &self,
        step: usize,
        parameters: &Parameters,
        backward: &mut dyn Backward,
        curve: &mut Vec<(usize, f64)>,
    ) -> Result<Parameters, EngineError> {
        let turn = step % self.target.views.len();
        let Rendered { mut case, mut raster } = match turn {
            0 => {
                let (first, psnr) = self.all_views(parameters)?;
                curve.push((step, psnr));
                first
            }
            other => self.rendered(&self.target.views[other], parameters)?,
        };
        let image = wide(raster.render_colors());
        let gradient = self.loss.gradient(&image, &self.target.views[turn].colors);
        #[expect(clippy::cast_possible_truncation, reason = "kernels are given f32")]
        let gradient: Vec<f32> = gradient.into_iter().map(|v| v as f32).collect();
        raster.inputs.v_render_colors.clone_from(&gradient);
        case.scene.v_render_colors = gradient;
        Ok(parameters.chain(backward.gradients(&case, &raster)?))
    }

    /// The first view, and the PSNR over all of them.
    fn all_views(&self, parameters: &Parameters) -> Result<(Rendered, f64), EngineError> {
        let mut squares = 0.0;
        let mut first = None;
        for view in &self.target.views {
            let rendered = self.rendered(view, parameters)?;
            squares += Loss::L2.value(&wide(rendered.raster.render_colors()), &view.colors);
            first.get_or_insert(rendered);
        }
        let psnr = psnr(squares / self.target.views.len() as f64);
        let none = || EngineError::Input("there is no view to fit".to_owned());
        Ok((first.ok_or_else(none)?, psnr))
    }

    /// One view.
    fn rendered(&self, view: &View, parameters: &Parameters) -> Result<Rendered, EngineError> {
        let case = self.case(view, parameters.gaussians());
        let raster = RasterStage::new(&case, 0);
        let raster = raster.map_err(|error| EngineError::TooLarge(error.to_string()))?;
        Ok(Rendered { case, raster })
    }

    /// The Gaussians before one camera, without a loss.
    fn case(&self, view: &View, gaussians: splatcheck_reference::splat::Gaussians<f32>) -> Case {
        let [width, height] = view.size;
        let pixels = width as usize * height as usize;
        Case {
            name: "training".to_owned(),
            id: None,
            purpose: "a step of a fit".to_owned(),
            hazards: Vec::new(),
            convention: self.target.convention,
            scene: Scene {
                width,
                height,
                gaussians,
                cameras: vec![view.camera],
                backgrounds: view.background.to_vec(),
                v_render_colors: vec![0.0; 3 * pixels],
                v_render_alphas: vec![0.0; pixels],
            },
        }
    }
}

/// A view as the oracle's f32 instance renders it.
struct Rendered {
    case: Case,
    raster: RasterStage,
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

#[cfg(test)]
mod tests;
