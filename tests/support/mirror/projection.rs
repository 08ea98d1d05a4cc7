//! The projection stages of the mirror.

use super::Defect;
use splatcheck_gpu::reduction::WORKGROUP_SIZE;
use splatcheck_gpu::{
    ProjectBackwardInputs, ProjectColors, ProjectGradients, ProjectInputs, ProjectOutputs,
};
use splatcheck_reference::arithmetic::Tristate;
use splatcheck_workloads::splat::stage::ProjectStage;
use std::ops::Range;

/// The forward stage.
pub(super) fn project(inputs: &ProjectInputs, defect: Defect) -> ProjectOutputs {
    let mut inputs = inputs.clone();
    scale_harmonics(&mut inputs.colors, defect);
    let cameras = ProjectStage::from_inputs(&inputs).mirror_forward();
    let visible = cameras.iter().flat_map(|camera| &camera.visible);
    ProjectOutputs {
        means2d: cameras.iter().flat_map(|c| c.splats.means2d.clone()).collect(),
        conics: cameras.iter().flat_map(|c| c.splats.conics.clone()).collect(),
        opacities: cameras.iter().flat_map(|c| c.splats.opacities.clone()).collect(),
        colors: cameras.iter().flat_map(|c| c.splats.colors.clone()).collect(),
        covars2d: cameras.iter().flat_map(|c| c.covars2d.clone()).collect(),
        depths: cameras.iter().flat_map(|c| c.depths.clone()).collect(),
        visible: visible.map(|&visible| u32::from(visible == Tristate::Always)).collect(),
    }
}

/// The backward stage.
pub(super) fn project_backward(inputs: &ProjectBackwardInputs, defect: Defect) -> ProjectGradients {
    let mut inputs = inputs.clone();
    scale_harmonics(&mut inputs.project.colors, defect);
    if defect == Defect::OtherClampGradient {
        let flag = &mut inputs.project.constants.clamp_has_gradient;
        *flag = !*flag;
    }
    let mut out = ProjectStage::from_backward_inputs(&inputs).mirror_backward();
    let (n, cameras) = (inputs.project.len(), inputs.project.cameras.len());
    match defect {
        Defect::LostGaussian(lane) => {
            let mut other = inputs.clone();
            for row in (0..n * cameras).filter(|row| row % n % WORKGROUP_SIZE as usize == lane) {
                lose(&mut other, row..row + 1);
            }
            let other = ProjectStage::from_backward_inputs(&other).mirror_backward();
            out.v_viewmats = other.v_viewmats;
        }
        Defect::LastCamera => {
            let mut other = inputs.clone();
            lose(&mut other, 0..n * (cameras - 1));
            let other = ProjectStage::from_backward_inputs(&other).mirror_backward();
            out = ProjectGradients { v_viewmats: out.v_viewmats, ..other };
        }
        Defect::FirstViewmat => out.v_viewmats[1..].fill([[0.0; 4]; 4]),
        Defect::ThreeChannels => {
            if let ProjectColors::Direct { channels, .. } = inputs.project.colors {
                for color in out.v_colors.chunks_exact_mut(channels as usize) {
                    color.iter_mut().skip(3).for_each(|v| *v = 0.0);
                }
            }
        }
        Defect::NoPhase | Defect::LowerDegree => {
            // As the harmonics were scaled, so are their gradients.
            let mut colors = match inputs.project.colors {
                ProjectColors::Direct { channels, .. } => {
                    ProjectColors::Direct { channels, values: out.v_colors }
                }
                ProjectColors::Harmonics { coefficients, .. } => {
                    ProjectColors::Harmonics { coefficients, values: out.v_colors }
                }
            };
            scale_harmonics(&mut colors, defect);
            out.v_colors = colors.values().to_vec();
        }
        _ => {}
    }
    out
}

/// Takes some rows' gradients away.
fn lose(inputs: &mut ProjectBackwardInputs, rows: Range<usize>) {
    let channels = inputs.project.colors.channels() as usize;
    inputs.v_means2d[rows.clone()].fill([0.0; 2]);
    inputs.v_conics[rows.clone()].fill([0.0; 3]);
    inputs.v_opacities[rows.clone()].fill(0.0);
    inputs.v_colors[rows.start * channels..rows.end * channels].fill(0.0);
}

/// Defects of the harmonics are factors of their coefficients.
fn scale_harmonics(colors: &mut ProjectColors, defect: Defect) {
    let ProjectColors::Harmonics { coefficients, values } = colors else { return };
    let coefficients = *coefficients as usize;
    let degree = coefficients.isqrt() - 1;
    for (i, value) in values.iter_mut().enumerate() {
        // Coefficient k is of degree floor(sqrt k).
        let of = (i / 3 % coefficients).isqrt();
        match defect {
            Defect::NoPhase if of == 1 => *value = -*value,
            Defect::LowerDegree if of == degree && degree > 0 => *value = 0.0,
            _ => {}
        }
    }
}
