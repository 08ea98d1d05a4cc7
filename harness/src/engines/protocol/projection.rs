//! The projection stages' inputs and outputs as arrays and strings.

use splatcheck_gpu::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectGradients,
    ProjectInputs, ProjectOutputs,
};

use super::wire::{Reader, WireError, Writer};

/// Numbers of a [`Camera`], in its order.
const CAMERA: usize = size_of::<Camera>() / size_of::<f32>();
/// Harmonics per channel that there are; 0 stands for colours given directly.
const COEFFICIENTS: [u32; 5] = [0, 1, 4, 9, 16];

/// The sizes that give every array of a job its shape.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    gaussians: usize,
    cameras: usize,
    channels: usize,
    /// Numbers of a Gaussian's colour as it is given.
    stride: usize,
}

impl Sizes {
    fn of(inputs: &ProjectInputs) -> Self {
        Self {
            gaussians: inputs.len(),
            cameras: inputs.cameras.len(),
            channels: inputs.colors.channels() as usize,
            stride: inputs.colors.stride() as usize,
        }
    }
}

pub(super) fn write_inputs<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    inputs: &'a ProjectInputs,
) -> Result<(), WireError> {
    let Sizes { gaussians: n, cameras, channels, stride } = Sizes::of(inputs);
    let name = |name: &str| format!("{job}/{name}");
    writer.text(&name("channels"), channels);
    writer.text(&name("coefficients"), inputs.colors.coefficients());
    let constants = &inputs.constants;
    writer.text(&name("near_inclusive"), constants.near_inclusive);
    writer.text(&name("clamp_has_gradient"), constants.clamp_has_gradient);
    writer.text(&name("antialiased"), constants.antialiased);
    writer.float(&name("eps2d"), constants.eps2d);
    writer.float(&name("near"), constants.near);
    writer.float(&name("far"), constants.far);
    writer.float(&name("inverse_eps"), constants.inverse_eps);
    writer.float(&name("w_eps"), constants.w_eps);
    writer.array(&name("means"), &[n], &inputs.means)?;
    writer.array(&name("quats"), &[n], &inputs.quats)?;
    writer.array(&name("scales"), &[n], &inputs.scales)?;
    writer.array(&name("opacities"), &[n], &inputs.opacities)?;
    writer.array(&name("colors"), &[n, stride], inputs.colors.values())?;
    let rows: &[[f32; CAMERA]] = bytemuck::cast_slice(&inputs.cameras);
    writer.array(&name("cameras"), &[cameras], rows)
}

pub(super) fn read_inputs(reader: &Reader<'_>, job: usize) -> Result<ProjectInputs, WireError> {
    let name = |name: &str| format!("{job}/{name}");
    let n = reader.first_dimension(&name("means"))?;
    let cameras = reader.first_dimension(&name("cameras"))?;
    let rows: Vec<[f32; CAMERA]> = reader.array(&name("cameras"), &[cameras])?;
    Ok(ProjectInputs {
        means: reader.array(&name("means"), &[n])?,
        quats: reader.array(&name("quats"), &[n])?,
        scales: reader.array(&name("scales"), &[n])?,
        opacities: reader.array(&name("opacities"), &[n])?,
        colors: read_colors(reader, job, n)?,
        cameras: rows.into_iter().map(bytemuck::cast).collect(),
        constants: ProjectConstants {
            near_inclusive: reader.value(&name("near_inclusive"))?,
            clamp_has_gradient: reader.value(&name("clamp_has_gradient"))?,
            antialiased: reader.value(&name("antialiased"))?,
            eps2d: reader.float(&name("eps2d"))?,
            near: reader.float(&name("near"))?,
            far: reader.float(&name("far"))?,
            inverse_eps: reader.float(&name("inverse_eps"))?,
            w_eps: reader.float(&name("w_eps"))?,
        },
    })
}

fn read_colors(reader: &Reader<'_>, job: usize, n: usize) -> Result<ProjectColors, WireError> {
    let name = |name: &str| format!("{job}/{name}");
    let channels: u32 = reader.value(&name("channels"))?;
    let coefficients: u32 = reader.value(&name("coefficients"))?;
    if !COEFFICIENTS.contains(&coefficients) {
        return Err(WireError(format!(
            "{job}: {coefficients} coefficients, expected 1, 4, 9 or 16"
        )));
    }
    let stride = if coefficients == 0 { channels } else { 3 * coefficients };
    let values = reader.array(&name("colors"), &[n, stride as usize])?;
    Ok(if coefficients == 0 {
        ProjectColors::Direct { channels, values }
    } else {
        ProjectColors::Harmonics { coefficients, values }
    })
}

pub(super) fn write_backward<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    inputs: &'a ProjectBackwardInputs,
) -> Result<(), WireError> {
    write_inputs(writer, job, &inputs.project)?;
    let Sizes { gaussians: n, cameras: c, channels: d, .. } = Sizes::of(&inputs.project);
    let name = |name: &str| format!("{job}/{name}");
    writer.array(&name("v_means2d"), &[c, n], &inputs.v_means2d)?;
    writer.array(&name("v_conics"), &[c, n], &inputs.v_conics)?;
    writer.array(&name("v_opacities"), &[c, n], &inputs.v_opacities)?;
    writer.array(&name("v_colors"), &[c, n, d], &inputs.v_colors)
}

pub(super) fn read_backward(
    reader: &Reader<'_>,
    job: usize,
) -> Result<ProjectBackwardInputs, WireError> {
    let project = read_inputs(reader, job)?;
    let Sizes { gaussians: n, cameras: c, channels: d, .. } = Sizes::of(&project);
    let name = |name: &str| format!("{job}/{name}");
    Ok(ProjectBackwardInputs {
        v_means2d: reader.array(&name("v_means2d"), &[c, n])?,
        v_conics: reader.array(&name("v_conics"), &[c, n])?,
        v_opacities: reader.array(&name("v_opacities"), &[c, n])?,
        v_colors: reader.array(&name("v_colors"), &[c, n, d])?,
        project,
    })
}

pub(super) fn write_outputs<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    inputs: &ProjectInputs,
    outputs: &'a ProjectOutputs,
) -> Result<(), WireError> {
    let Sizes { gaussians: n, cameras: c, channels: d, .. } = Sizes::of(inputs);
    let name = |name: &str| format!("{job}/{name}");
    writer.array(&name("means2d"), &[c, n], &outputs.means2d)?;
    writer.array(&name("conics"), &[c, n], &outputs.conics)?;
    writer.array(&name("opacities"), &[c, n], &outputs.opacities)?;
    writer.array(&name("colors"), &[c, n, d], &outputs.colors)?;
    writer.array(&name("covars2d"), &[c, n], &outputs.covars2d)?;
    writer.array(&name("depths"), &[c, n], &outputs.depths)?;
    writer.array(&name("visible"), &[c, n], &outputs.visible)
}

pub(super) fn read_outputs(
    reader: &Reader<'_>,
    job: usize,
    inputs: &ProjectInputs,
) -> Result<ProjectOutputs, WireError> {
    let Sizes { gaussians: n, cameras: c, channels: d, .. } = Sizes::of(inputs);
    let name = |name: &str| format!("{job}/{name}");
    Ok(ProjectOutputs {
        means2d: reader.array(&name("means2d"), &[c, n])?,
        conics: reader.array(&name("conics"), &[c, n])?,
        opacities: reader.array(&name("opacities"), &[c, n])?,
        colors: reader.array(&name("colors"), &[c, n, d])?,
        covars2d: reader.array(&name("covars2d"), &[c, n])?,
        depths: reader.array(&name("depths"), &[c, n])?,
        visible: reader.array(&name("visible"), &[c, n])?,
    })
}

/// `at` is the job and the setting.
pub(super) fn write_gradients<'a>(
    writer: &mut Writer<'a>,
    at: [usize; 2],
    inputs: &ProjectInputs,
    gradients: &'a ProjectGradients,
) -> Result<(), WireError> {
    let Sizes { gaussians: n, cameras: c, stride, .. } = Sizes::of(inputs);
    let name = |name: &str| format!("{}/{}/{name}", at[0], at[1]);
    writer.array(&name("v_means"), &[n], &gradients.v_means)?;
    writer.array(&name("v_quats"), &[n], &gradients.v_quats)?;
    writer.array(&name("v_scales"), &[n], &gradients.v_scales)?;
    writer.array(&name("v_opacities"), &[n], &gradients.v_opacities)?;
    writer.array(&name("v_colors"), &[n, stride], &gradients.v_colors)?;
    writer.array(&name("v_viewmats"), &[c, 4], gradients.v_viewmats.as_flattened())
}

/// `at` is the job and the setting.
pub(super) fn read_gradients(
    reader: &Reader<'_>,
    at: [usize; 2],
    inputs: &ProjectInputs,
) -> Result<ProjectGradients, WireError> {
    let Sizes { gaussians: n, cameras: c, stride, .. } = Sizes::of(inputs);
    let name = |name: &str| format!("{}/{}/{name}", at[0], at[1]);
    let v_viewmats: Vec<[f32; 4]> = reader.array(&name("v_viewmats"), &[c, 4])?;
    Ok(ProjectGradients {
        v_means: reader.array(&name("v_means"), &[n])?,
        v_quats: reader.array(&name("v_quats"), &[n])?,
        v_scales: reader.array(&name("v_scales"), &[n])?,
        v_opacities: reader.array(&name("v_opacities"), &[n])?,
        v_colors: reader.array(&name("v_colors"), &[n, stride])?,
        v_viewmats: v_viewmats.as_chunks().0.to_vec(),
    })
}
