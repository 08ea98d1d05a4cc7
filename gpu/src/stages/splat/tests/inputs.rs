//! Inputs for tests that need some, whatever they hold.

use crate::stages::splat::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectInputs,
};

/// Looks along z from the origin, focal length 4 pixels.
pub(crate) fn camera() -> Camera {
    Camera {
        viewmat: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        focal: [4.0; 2],
        principal: [8.0, 9.0],
        low: [-2.0; 2],
        high: [2.0; 2],
    }
}

/// Neither blur nor antialiasing nor any epsilon.
pub(crate) fn constants() -> ProjectConstants {
    ProjectConstants {
        near_inclusive: false,
        clamp_has_gradient: true,
        antialiased: false,
        eps2d: 0.0,
        near: 0.25,
        far: f32::INFINITY,
        inverse_eps: 0.0,
        w_eps: 0.0,
    }
}

/// `n` Gaussians of three channels before `c` cameras.
pub(crate) fn gaussians(n: usize, c: usize) -> ProjectInputs {
    ProjectInputs {
        means: vec![[0.0, 0.0, 2.0]; n],
        quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
        scales: vec![[1.0; 3]; n],
        opacities: vec![0.5; n],
        colors: ProjectColors::Direct { channels: 3, values: vec![0.25; 3 * n] },
        cameras: vec![camera(); c],
        constants: constants(),
    }
}

/// [`gaussians`] with gradients of 1.
pub(crate) fn with_gradients(n: usize, c: usize) -> ProjectBackwardInputs {
    let project = gaussians(n, c);
    ProjectBackwardInputs {
        v_means2d: vec![[1.0; 2]; n * c],
        v_conics: vec![[1.0; 3]; n * c],
        v_opacities: vec![1.0; n * c],
        v_colors: vec![1.0; 3 * n * c],
        project,
    }
}
