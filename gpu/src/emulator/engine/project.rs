//! The projection stages on the emulator.

use splatcheck_emulator::{Argument, Buffer, DeviceMemory};

use super::{EmulatorEngine, download, upload};
use crate::artifact;
use crate::engine::EngineError;
use crate::projection::{
    PROJECT_BLOCK, ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs,
    ProjectParams, project_blocks,
};
use crate::reduction::BackwardConfig;
use crate::stages::values;

/// The parameters that both kernels begin with.
fn arguments(memory: &mut DeviceMemory, inputs: &ProjectInputs, threshold: u32) -> Vec<Argument> {
    let params = ProjectParams::new(inputs, threshold);
    let mut arguments = vec![Argument::bytes(bytemuck::bytes_of(&params))];
    let buffers = [
        upload(memory, &inputs.cameras),
        upload(memory, &inputs.means),
        upload(memory, &inputs.quats),
        upload(memory, &inputs.scales),
        upload(memory, &inputs.opacities),
        upload(memory, inputs.colors.values()),
    ];
    arguments.extend(buffers.map(Argument::from));
    arguments
}

impl EmulatorEngine {
    pub(super) fn project_one(
        &mut self,
        inputs: &ProjectInputs,
    ) -> Result<ProjectOutputs, EngineError> {
        let mut memory = DeviceMemory::new();
        let mut arguments = arguments(&mut memory, inputs, 0);
        let (rows, channels) = (inputs.projections(), inputs.colors.channels());
        let gaussians = memory.allocate(4 * rows * values(channels) as usize);
        let covariances = memory.allocate(4 * rows * 3);
        let [depths, visible] = [4 * rows; 2].map(|bytes| memory.allocate(bytes));
        arguments.extend([gaussians, covariances, depths, visible].map(Argument::from));
        let [x, y] = project_blocks(inputs);
        let artifact = self.artifact("project", None, None);
        self.launch(artifact, [x, y, 1], PROJECT_BLOCK, arguments, &mut memory)?;
        let outputs = || {
            Ok(ProjectOutputs::new(
                &download::<f32>(&memory, "the rows of Gaussians", gaussians)?,
                channels,
                download(&memory, "covars2d", covariances)?,
                download(&memory, "depths", depths)?,
                download(&memory, "visible", visible)?,
            ))
        };
        self.noted(outputs())
    }

    pub(super) fn project_backward_one(
        &mut self,
        inputs: &ProjectBackwardInputs,
        config: BackwardConfig,
    ) -> Result<ProjectGradients, EngineError> {
        let project = &inputs.project;
        let mut memory = DeviceMemory::new();
        let mut arguments = arguments(&mut memory, project, config.threshold);
        let rows = upload(&mut memory, &inputs.rows());
        let n = project.len();
        let colors = memory.allocate(4 * project.colors.values().len());
        let [means, quats, scales, opacities]: [Buffer; 4] =
            [3, 4, 3, 1].map(|floats| memory.allocate(4 * floats * n));
        let viewmats = upload(&mut memory, &vec![[[0.0_f32; 4]; 4]; project.cameras.len()]);
        let buffers = [rows, means, quats, scales, opacities, colors, viewmats];
        arguments.extend(buffers.map(Argument::from));
        let reduction = artifact::spelled(config.reduction);
        let artifact = self.artifact("project_backward", Some(reduction), None);
        let [x, _] = project_blocks(project);
        self.launch(artifact, [x, 1, 1], PROJECT_BLOCK, arguments, &mut memory)?;
        let outputs = || {
            Ok(ProjectGradients {
                v_means: download(&memory, "v_means", means)?,
                v_quats: download(&memory, "v_quats", quats)?,
                v_scales: download(&memory, "v_scales", scales)?,
                v_opacities: download(&memory, "v_opacities", opacities)?,
                v_colors: download(&memory, "v_colors", colors)?,
                v_viewmats: download(&memory, "v_viewmats", viewmats)?,
            })
        };
        self.noted(outputs())
    }
}
