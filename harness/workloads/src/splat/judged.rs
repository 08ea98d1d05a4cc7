//! A splat case as the harness judges it: its jobs, its size in words, how it is made smaller and
//! written.

use super::case::Case;
use super::chained;
use super::files::{case_file, overrides};
use super::formulated::kernels_lack;
use super::jobs::{project_jobs, raster_jobs};
use super::minimize::reduce;
use super::space;
use super::stage::{FORMULATED, JudgedAs, ProjectStage, RasterStage, STANDARD};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{NAME, PROJECT, PROJECT_BACKWARD, RASTERIZE};
use splatcheck_gpu::{RasterOutputs, Stage, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::InputError;
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{AnyCase, CaseError, CaseId, Job, Notes};
use splatcheck_reference::arithmetic::EvaluationOrders;
use splatcheck_reference::splat::convention::{ClampGradient, Convention};
use splatcheck_reference::splat::scene::Scene;
use std::any::Any;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// Whether a run of a stage takes all cameras of a case at once.
#[must_use]
pub fn takes_all_cameras(stage: Stage) -> bool {
    stage == PROJECT || stage == PROJECT_BACKWARD
}

fn failed(case: &Case, error: &dyn Display) -> CaseError {
    CaseError { case: case.name.clone(), problem: error.to_string() }
}

impl Case {
    /// Of the wanted stages: the rasterization of one camera, its backward stages, judged so, which go on
    /// from the program's `own` image where there is one, and with the first camera the projection by all.
    pub(super) fn jobs_as(
        &self,
        view: usize,
        (judged, own): (JudgedAs, Option<&RasterOutputs>),
        wanted: &dyn Fn(Stage) -> bool,
    ) -> Result<Vec<Job>, CaseError> {
        let failed = |error: &dyn Display| failed(self, error);
        let raster = RasterStage::new(self, view).map_err(|error| failed(&error))?;
        let mut raster = raster.rounded(judged.rounded);
        if let Some(own) = own {
            raster = raster.after(own);
        }
        let mut jobs = raster_jobs(raster, judged, wanted).map_err(|error| failed(&error))?;
        if view == 0 && (wanted(PROJECT) || wanted(PROJECT_BACKWARD)) {
            let mut project = ProjectStage::new(self).map_err(|error| failed(&error))?;
            if judged.foreign {
                project.spellings = EvaluationOrders::STANDARD;
            }
            jobs.extend(project_jobs(project, wanted).map_err(|error| failed(&error))?);
        }
        Ok(jobs)
    }
}

impl splatcheck_judge::workload::Case for Case {
    fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> Option<&CaseId> {
        self.id.as_ref()
    }

    fn hazards(&self) -> &[Hazard] {
        &self.hazards
    }

    fn views(&self) -> usize {
        self.scene.cameras.len()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        let mut backward = [STANDARD].into_iter().chain(FORMULATED).map(|(stage, _)| stage);
        // The image does not depend on the clamp's gradient.
        let of_image = Convention { alpha_clamp_gradient: ClampGradient::Zero, ..self.convention };
        let image = kernels_lack(&of_image).is_some() && wanted(RASTERIZE);
        if let Some(why) = kernels_lack(&self.convention)
            && (image || backward.any(wanted))
        {
            return Err(failed(self, &why));
        }
        self.jobs_as(view, (JudgedAs::default(), None), wanted)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        space::traits(self, view).map_err(|error| failed(self, &error))
    }

    fn views_of(&self, stage: Stage) -> usize {
        match stage {
            _ if stage.workload != NAME => 0,
            _ if takes_all_cameras(stage) => 1,
            _ => self.scene.cameras.len(),
        }
    }

    fn describe(&self, stage: Stage, view: usize) -> String {
        let Scene { width, height, cameras, gaussians, .. } = &self.scene;
        let camera = if takes_all_cameras(stage) {
            count(cameras.len(), "camera")
        } else {
            format!("camera {view}")
        };
        let rules = rules(&self.convention);
        let gaussians = count(gaussians.len(), "Gaussian");
        format!("{gaussians}, {width}x{height} pixels, {camera}, {rules}")
    }

    fn forward_of(&self, stage: Stage) -> Option<Stage> {
        chained::forward_of(stage)
    }

    fn after(&self, view: usize, outputs: &Tensors) -> Option<AnyCase> {
        chained::after(self, view, outputs)
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        Arc::new(Self { name, id, ..self.clone() })
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        Arc::new(reduce(&self, &mut |case| fails(&(Arc::new(case.clone()) as AnyCase))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        case_file::write_case(path, self, notes)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The convention in force: its profile, and the fields that are not the profile's.
pub(super) fn rules(convention: &Convention) -> String {
    let changed = overrides::differing(convention).into_iter();
    let changed: String = changed.map(|(key, value)| format!(", {key} {value}")).collect();
    format!("convention {}{changed}", convention.profile.name())
}
