//! The projection stages on the device.

use super::driver::failed;
use super::geometry::{self, Geometry};
use super::{CudaEngine, config};
use crate::artifact;
use crate::engine::{EngineError, POISON};
use crate::projection::{
    ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs, ProjectParams,
};
use crate::reduction::BackwardConfig;
use crate::stages::values;
use bytemuck::{cast_slice, pod_collect_to_vec};
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, PushKernelArg};

// SAFETY: `ProjectParams` is repr(C) and plain data, and its layout is tested against the kernels.
unsafe impl DeviceRepr for ProjectParams {}

/// An array that a kernel writes.
struct Output {
    what: &'static str,
    /// Entries of 4 bytes.
    words: usize,
    /// What it holds before.
    fill: u32,
}

fn output(what: &'static str, words: usize) -> Output {
    Output { what, words, fill: POISON }
}

/// The inputs of both stages and their order in the kernels' parameters.
fn project_arrays(inputs: &ProjectInputs) -> [(&'static str, &[f32]); 6] {
    [
        ("cameras", cast_slice(&inputs.cameras)),
        ("means", inputs.means.as_flattened()),
        ("quats", inputs.quats.as_flattened()),
        ("scales", inputs.scales.as_flattened()),
        ("opacities", &inputs.opacities),
        ("colors", inputs.colors.values()),
    ]
}

/// What project.cu writes, in the order of its parameters.
fn project_outputs(inputs: &ProjectInputs) -> [Output; 4] {
    let rows = inputs.projections();
    [
        output("the rows of Gaussians", rows * values(inputs.colors.channels()) as usize),
        output("covars2d", 3 * rows),
        output("depths", rows),
        output("visible", rows),
    ]
}

/// What `project_backward.cu` writes, in the order of its parameters. It adds to the last.
fn backward_outputs(inputs: &ProjectInputs) -> [Output; 6] {
    let n = inputs.len();
    [
        output("v_means", 3 * n),
        output("v_quats", 4 * n),
        output("v_scales", 3 * n),
        output("v_opacities", n),
        output("v_colors", inputs.colors.values().len()),
        Output { what: "v_viewmats", words: 16 * inputs.cameras.len(), fill: 0 },
    ]
}

/// One launch of either kernel.
struct Job<'a> {
    stage: &'static str,
    kernel: CudaFunction,
    geometry: Geometry,
    params: ProjectParams,
    arrays: Vec<(&'static str, &'a [f32])>,
}

impl CudaEngine {
    /// Runs a kernel whose parameters are the settings, the arrays and the outputs.
    fn run_project<const K: usize>(
        &self,
        job: &Job<'_>,
        outputs: &[Output; K],
    ) -> Result<[Vec<u32>; K], EngineError> {
        let mut arrays = Vec::with_capacity(job.arrays.len());
        for (what, values) in &job.arrays {
            arrays.push(self.upload(what, values)?);
        }
        let mut written: Vec<CudaSlice<u32>> = Vec::with_capacity(K);
        for output in outputs {
            written.push(self.upload(output.what, &vec![output.fill; output.words])?);
        }
        let mut launch = self.stream.launch_builder(&job.kernel);
        launch.arg(&job.params);
        for array in &arrays {
            launch.arg(array);
        }
        for array in &mut written {
            launch.arg(array);
        }
        // SAFETY: the arguments are those of the kernel, which a test counts; `crate::check` has
        // seen that the arrays agree, and the outputs have the sizes that follow from the inputs.
        unsafe { launch.launch(config(job.geometry)) }
            .map_err(failed(&format!("launching {}", job.stage)))?;
        let mut results = [const { Vec::new() }; K];
        for ((result, array), output) in results.iter_mut().zip(&written).zip(outputs) {
            *result = self.download(output.what, array)?;
            // An empty array has one element on the device.
            result.truncate(output.words);
        }
        Ok(results)
    }

    pub(super) fn project_one(
        &mut self,
        inputs: &ProjectInputs,
    ) -> Result<ProjectOutputs, EngineError> {
        let job = Job {
            stage: "project",
            geometry: geometry::cameras(inputs)?,
            kernel: self.kernel("project", None, None)?,
            params: ProjectParams::new(inputs, 0),
            arrays: project_arrays(inputs).to_vec(),
        };
        let found = self.run_project(&job, &project_outputs(inputs))?;
        let [rows, covariances, depths, visible] = found;
        let (covars2d, depths) = (collected(&covariances), collected(&depths));
        let channels = inputs.colors.channels();
        Ok(ProjectOutputs::new(cast_slice(&rows), channels, covars2d, depths, visible))
    }

    pub(super) fn project_backward_one(
        &mut self,
        inputs: &ProjectBackwardInputs,
        setting: BackwardConfig,
    ) -> Result<ProjectGradients, EngineError> {
        let project = &inputs.project;
        let reduction = artifact::spelled(setting.reduction);
        let rows = inputs.rows();
        let mut arrays = project_arrays(project).to_vec();
        arrays.push(("the rows of gradients", &rows));
        let job = Job {
            stage: "project_backward",
            geometry: geometry::gaussians(project),
            kernel: self.kernel("project_backward", Some(reduction), None)?,
            params: ProjectParams::new(project, setting.threshold),
            arrays,
        };
        let found = self.run_project(&job, &backward_outputs(project))?;
        let [means, quats, scales, opacities, colors, viewmats] = found;
        Ok(ProjectGradients {
            v_means: collected(&means),
            v_quats: collected(&quats),
            v_scales: collected(&scales),
            v_opacities: collected(&opacities),
            v_colors: collected(&colors),
            v_viewmats: collected(&viewmats),
        })
    }
}

fn collected<T: bytemuck::Pod>(words: &[u32]) -> Vec<T> {
    pod_collect_to_vec(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Architecture, Artifact};
    use crate::projection::tests::inputs::gaussians;
    use crate::reduction::Reduction;

    fn parameters(stage: &'static str, reduction: Option<Reduction>) -> usize {
        let artifact = Artifact {
            stage,
            reduction: reduction.map(artifact::spelled),
            channels: None,
            architecture: Architecture::Compute75,
            fast_math: false,
        };
        let ptx = artifact.ptx().unwrap_or_else(|e| panic!("{e}"));
        let from = ptx.find(".visible .entry").expect("it has an entry point");
        let to = from + ptx[from..].find(')').expect("its parameters end");
        ptx[from..to].matches(".param ").count()
    }

    #[test]
    fn a_launch_has_as_many_arguments_as_the_kernel_has_parameters() {
        let inputs = gaussians(3, 2);
        let given = 1 + project_arrays(&inputs).len();
        let forward = given + project_outputs(&inputs).len();
        assert_eq!(parameters("project", None), forward, "project");
        let backward = given + 1 + backward_outputs(&inputs).len();
        for reduction in Reduction::OF_PROJECT_BACKWARD {
            assert_eq!(parameters("project_backward", Some(reduction)), backward, "{reduction}");
        }
    }

    #[test]
    fn outputs_have_the_shapes_of_the_stage() {
        let inputs = gaussians(3, 2);
        let words = project_outputs(&inputs).map(|o| o.words);
        assert_eq!(words, [6 * 9, 6 * 3, 6, 6], "[C,N,6+D], [C,N,3], [C,N], [C,N]");
        let outputs = backward_outputs(&inputs);
        let words = outputs.each_ref().map(|o| o.words);
        assert_eq!(words, [9, 12, 9, 3, 9, 32], "[N,3], [N,4], [N,3], [N], [N,D], [C,4,4]");
        let zeroed: Vec<_> = outputs.iter().filter(|o| o.fill == 0).map(|o| o.what).collect();
        assert_eq!(zeroed, ["v_viewmats"], "all others are written over poison");
    }
}
