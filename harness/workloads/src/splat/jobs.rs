//! The jobs of a case: its stages with their inputs, their oracles and their scatter steps.

use super::contributions::Contributions;
use super::diagnosis::{
    of_project, of_project_backward, of_rasterize, of_rasterize_backward, of_rasterize_with_image,
};
use super::expectation;
use super::formulated::stage_of;
use super::stage::{FORMULATED, Judged, JudgedAs, ProjectStage, RasterStage, STANDARD};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE};
use splatcheck_gpu::{EngineError, Stage, TensorError};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Arithmetic, Expectation};
use splatcheck_judge::scatter_step::Scatter;
use splatcheck_judge::workload::{FailedRun, Job, Oracle};
use splatcheck_reference::arithmetic::ExtraRoundings;
use std::any::Any;
use std::sync::Arc;

/// The wanted jobs of one camera's image: `rasterize`, and every backward stage; the one that kernels of
/// this formulation stand in for is judged in it, the others in their own.
///
/// # Errors
/// [`TensorError`] where the stage contradicts itself.
pub(super) fn raster_jobs(
    stage: RasterStage,
    JudgedAs { formulation, with_image, foreign: _, rounded: _ }: JudgedAs,
    wanted: &dyn Fn(Stage) -> bool,
) -> Result<Vec<Job>, TensorError> {
    let stage = Arc::new(stage);
    let (inputs, lanes) = (&stage.inputs, stage.inputs.raster.pixels());
    let backward = inputs.tensors()?;
    let mut jobs = Vec::new();
    if wanted(RASTERIZE) {
        // Its arrays are among those of the backward stage, and are shared with them.
        let forward = backward.clone().only(|name| RASTERIZE.reads(name));
        let extra = formulation.extra_roundings();
        let oracle = Box::new(Rasterize { stage: Arc::clone(&stage), extra });
        jobs.push(Job::new(RASTERIZE, forward, lanes, oracle)?);
    }
    let given = stage_of(formulation);
    let all = [STANDARD].into_iter().chain(FORMULATED);
    for (run, usual) in all.filter(|(run, _)| wanted(*run)) {
        let judged = (run, if run == given { formulation } else { usual });
        let with_image = with_image && run == given;
        let oracle = Box::new(RasterizeBackward { stage: Arc::clone(&stage), judged, with_image });
        jobs.push(Job::new(judged.0, stage.inputs_of(judged, &backward)?, lanes, oracle)?);
    }
    Ok(jobs)
}

/// The oracle of `rasterize`.
#[derive(Debug)]
struct Rasterize {
    stage: Arc<RasterStage>,
    /// Of a kernel that spells its intermediates otherwise.
    extra: ExtraRoundings,
}

impl Oracle for Rasterize {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::rasterize(&self.stage, self.extra, arithmetic)
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        of_rasterize(&self.stage, self.extra, run)
    }

    fn arrays(&self) -> Option<&dyn Any> {
        Some(&*self.stage)
    }

    fn expect_with(&self, other: &dyn Any, array: &str, run: Arithmetic) -> Option<Expectation> {
        let stage = self.stage.with_array_of(other.downcast_ref()?, array)?;
        Some(expectation::rasterize(&stage, self.extra, run))
    }
}

/// The oracle of `rasterize_backward` in a formulation.
#[derive(Debug)]
struct RasterizeBackward {
    stage: Arc<RasterStage>,
    judged: Judged,
    /// Whether the kernel may also return the image.
    with_image: bool,
}

impl Oracle for RasterizeBackward {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::rasterize_backward(&self.stage, self.judged, arithmetic)
    }

    fn expect_beside(&self, arithmetic: Arithmetic) -> Option<Expectation> {
        let extra = self.judged.1.extra_roundings();
        self.with_image.then(|| expectation::image(&self.stage, extra, arithmetic))
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        match self.with_image {
            true => of_rasterize_with_image(&self.stage, self.judged, run),
            false => of_rasterize_backward(&self.stage, self.judged, run),
        }
    }

    fn arrays(&self) -> Option<&dyn Any> {
        Some(&*self.stage)
    }

    fn expect_with(&self, other: &dyn Any, array: &str, run: Arithmetic) -> Option<Expectation> {
        let stage = self.stage.with_array_of(other.downcast_ref()?, array)?;
        Some(expectation::rasterize_backward(&stage, self.judged, run))
    }

    fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        let steps = Contributions::new(&self.stage, lane_width);
        let walk = self.judged.1.walk();
        Some(steps.map(|steps| Box::new(steps.walking(walk)) as Box<dyn Scatter>))
    }
}

/// The wanted jobs of a case's projection by all cameras.
///
/// # Errors
/// [`TensorError`] where the stage contradicts itself.
pub(super) fn project_jobs(
    stage: ProjectStage,
    wanted: &dyn Fn(Stage) -> bool,
) -> Result<Vec<Job>, TensorError> {
    let stage = Arc::new(stage);
    let (inputs, lanes) = (&stage.inputs, stage.inputs.project.projections());
    let mut jobs = Vec::new();
    if wanted(PROJECT) {
        let oracle = Box::new(Project(Arc::clone(&stage)));
        jobs.push(Job::new(PROJECT, inputs.project.tensors()?, lanes, oracle)?);
    }
    if wanted(PROJECT_BACKWARD) {
        let oracle = Box::new(ProjectBackward(Arc::clone(&stage)));
        jobs.push(Job::new(PROJECT_BACKWARD, inputs.tensors()?, lanes, oracle)?);
    }
    Ok(jobs)
}

/// The oracle of `project`.
#[derive(Debug)]
struct Project(Arc<ProjectStage>);

impl Oracle for Project {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::project(&self.0, arithmetic)
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        of_project(&self.0, run)
    }
}

/// The oracle of `project_backward`.
#[derive(Debug)]
struct ProjectBackward(Arc<ProjectStage>);

impl Oracle for ProjectBackward {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::project_backward(&self.0, arithmetic)
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        of_project_backward(&self.0, run)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use splatcheck_gpu::stages::splat::PROJECT_BACKWARD;
    use splatcheck_gpu::{Data, Tensors};
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::judge::{Arithmetic, OutputBound};
    use splatcheck_judge::workload::{AnyCase, FailedRun};
    use splatcheck_reference::arithmetic::ElementBound;

    use crate::splat::files::corpus::read_any_case;

    /// What a kernel with fast math may return lies outside the bounds of plain CUDA, which says so.
    #[test]
    fn another_arithmetic_is_named() {
        let file = folder("corpora/splat").expect("the source tree").join("tile-corner.toml");
        let case: AnyCase = Arc::new(read_any_case(&file, None).expect("a case"));
        let jobs = case.jobs_of(0, &|stage| stage == PROJECT_BACKWARD).expect("its jobs");
        let mut outputs = Tensors::new();
        for output in jobs[0].expectation(Arithmetic::CudaFast).outputs() {
            let OutputBound::Sum(elements) = &output.bound else { panic!("{}", output.name) };
            #[expect(clippy::cast_possible_truncation, reason = "an output in f32")]
            let within = |one: &ElementBound| {
                let edge = (one.value + 0.9 * one.radius) as f32;
                let is_within = (f64::from(edge) - one.value).abs() <= one.radius;
                if is_within { edge } else { one.value as f32 }
            };
            let values = Data::F32(elements.iter().map(within).collect());
            outputs.array(output.name, &output.shape, values).expect("whole");
        }
        let told = |arithmetic| {
            let run = FailedRun { arithmetic, setting: None, lane_width: 32 };
            jobs[0].diagnose(run, &outputs).expect("all outputs are there")
        };
        assert!(told(Arithmetic::CudaFast).is_none(), "within what is promised");
        let words = "looks like: another arithmetic: agrees under --model cuda-fast";
        for stricter in [Arithmetic::Ieee, Arithmetic::Cuda] {
            let headline = told(stricter).map(|told| told.headline).unwrap_or_default();
            assert!(headline.starts_with(words), "{stricter:?}: {headline}");
        }
    }
}
