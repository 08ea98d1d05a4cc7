//! Exact scenes of harmonics: every Gaussian lies on the axis of a camera, where the basis is
//! constants and zeros, and one coefficient of each channel is not zero. Six cameras look along the
//! six axes and none sees what another does, so that no two constants are ever added.

use super::inputs::constants;
use super::oracle::basis_along;
use super::scene::{turned, world};
use crate::stages::splat::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectInputs,
};

/// Copies of the six Gaussians; one of them has a gradient by its colour.
const COPIES: usize = 7;

/// Looks along each axis, and away from it.
fn cameras() -> Vec<Camera> {
    let mut all = Vec::new();
    for axis in 0..3 {
        for sign in [1.0, -1.0] {
            let unit = |k: usize, x: f32| std::array::from_fn(|i| if i == k { x } else { 0.0 });
            let rows = [unit((axis + 1) % 3, 1.0), unit((axis + 2) % 3, sign), unit(axis, sign)];
            all.push(turned(rows, [1.0, -1.0, 0.5]));
        }
    }
    all
}

/// A coefficient for which its function and 1/2 add up exactly: to a colour in (0, 1/4] or, where
/// `clamped`, to a negative one.
fn coefficient(basis: f64, clamped: bool) -> f32 {
    if basis == 0.0 {
        return 1.0;
    }
    let mut factor = -basis.signum();
    let wanted = if clamped { 0.5..1.0 } else { 0.25..0.5 };
    while (factor * basis).abs() >= wanted.end {
        factor /= 2.0;
    }
    while (factor * basis).abs() < wanted.start {
        factor *= 2.0;
    }
    crate::exact::single(factor)
}

/// The scene in which the coefficient `k` of `coefficients` is not zero.
fn scene(coefficients: u32, k: usize) -> ProjectBackwardInputs {
    let cameras = cameras();
    let n = COPIES * cameras.len();
    let mut means = Vec::with_capacity(n);
    let mut values = vec![0.0; 3 * n * coefficients as usize];
    for id in 0..n {
        let camera = &cameras[id % cameras.len()];
        means.push(world(camera, [0.0, 0.0, 4.0]));
        let [x, y, z, _] = camera.viewmat[2].map(f64::from);
        let basis = basis_along([x, y, z])[k];
        let at = 3 * (id * coefficients as usize + k);
        let given = [false, true, false].map(|clamped| coefficient(basis, clamped));
        values[at..at + 3].copy_from_slice(&given);
    }
    let rows = n * cameras.len();
    let mut v_colors = vec![0.0; 3 * rows];
    for (index, _) in cameras.iter().enumerate() {
        let id = index + cameras.len() * (k % COPIES);
        let at = 3 * (index * n + id);
        // Products with coefficients of one size add up to a power of two.
        v_colors[at..at + 3].copy_from_slice(&[1.0, 2.0, 1.0]);
    }
    let project = ProjectInputs {
        means,
        quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
        scales: vec![[1.0, 2.0, 0.5]; n],
        opacities: vec![0.5; n],
        colors: ProjectColors::Harmonics { coefficients, values },
        cameras,
        // Beyond what the other cameras see.
        constants: ProjectConstants { near: 2.0, ..constants() },
    };
    ProjectBackwardInputs {
        project,
        v_means2d: vec![[0.0; 2]; rows],
        v_conics: vec![[0.0; 3]; rows],
        v_opacities: vec![1.0; rows],
        v_colors,
    }
}

/// A scene for every coefficient of every degree.
pub(super) fn scenes() -> Vec<ProjectBackwardInputs> {
    [1, 4, 9, 16].into_iter().flat_map(|k| (0..k).map(move |i| scene(k, i as usize))).collect()
}
