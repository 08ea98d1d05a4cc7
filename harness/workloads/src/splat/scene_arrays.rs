//! A scene's arrays by the names that presets have for them at level full, and the numbers that go with
//! them.

use splatcheck_gpu::{Data, ShapeError, Tensors};
use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::scene::{Colors, Scene};
use std::collections::BTreeMap;

use super::camera_arrays::{intrinsics, position, projection};
use super::raw::{Raw, log_scale, logit, tangent};
use crate::layout::Symbols;
use splatcheck_judge::io::notation::round;

/// Every array that a program of level full may be given. Where `raw` has tangents, projections are of
/// what a program makes of them.
///
/// # Errors
/// An array does not have as many numbers as the scene says.
pub(crate) fn scene_arrays(scene: &Scene<f32>, raw: Raw) -> Result<Tensors, ShapeError> {
    let gaussians = &scene.gaussians;
    let (n, c, d) = (gaussians.len(), scene.cameras.len(), scene.channels());
    let [h, w] = [scene.height, scene.width].map(|side| side as usize);
    let size = [scene.width, scene.height];
    let cameras: Vec<_> = scene.cameras.iter().map(|camera| raw.camera(camera, size)).collect();
    let of_cameras = |of: &dyn Fn(&Camera<f32>) -> Vec<f32>| cameras.iter().flat_map(of).collect();
    let mut all = Tensors::new();
    let mut add =
        |name, shape: &[usize], values: Vec<f32>| all.array(name, shape, Data::F32(values));
    add("means", &[n, 3], gaussians.means.as_flattened().to_vec())?;
    add("quats", &[n, 4], gaussians.quats.as_flattened().to_vec())?;
    let scales = gaussians.scales.as_flattened();
    add("scales", &[n, 3], scales.to_vec())?;
    add("log_scales", &[n, 3], scales.iter().map(|&scale| log_scale(scale)).collect())?;
    add("opacities", &[n], gaussians.opacities.clone())?;
    add("logits", &[n], gaussians.opacities.iter().map(|&o| logit(o)).collect())?;
    match &gaussians.colors {
        Colors::Direct { channels, values } => add("colors", &[n, *channels], values.clone())?,
        Colors::Harmonics { coefficients, values } => {
            let k = *coefficients;
            let rows = || values.chunks_exact(3 * k);
            add("sh", &[n, k, 3], values.clone())?;
            add("sh_dc", &[n, 1, 3], rows().flat_map(|row| row[..3].to_vec()).collect())?;
            add("sh_rest", &[n, k - 1, 3], rows().flat_map(|row| row[3..].to_vec()).collect())?;
        }
    }
    add("viewmats", &[c, 4, 4], of_cameras(&|k| k.viewmat.as_flattened().to_vec()))?;
    add("projmats", &[c, 4, 4], of_cameras(&|k| projection(k, size)))?;
    add("Ks", &[c, 3, 3], of_cameras(&intrinsics))?;
    add("campos", &[c, 3], of_cameras(&position))?;
    add("background", &[c, d], scene.backgrounds.clone())?;
    add("v_render_colors", &[c, h, w, d], scene.v_render_colors.clone())?;
    add("v_render_alphas", &[c, h, w], scene.v_render_alphas.clone())?;
    Ok(all)
}

/// The sizes of a scene, and the constants of its convention; the tangents of the field of view where it
/// has one camera.
pub(crate) fn scene_symbols(scene: &Scene<f32>, convention: &Convention) -> Symbols {
    let coefficients = match scene.gaussians.colors {
        Colors::Direct { .. } => 0,
        Colors::Harmonics { coefficients, .. } => coefficients,
    };
    let mut constants = BTreeMap::from([
        ("alpha_max", round(convention.alpha_max)),
        ("alpha_min", round(convention.alpha_min)),
        ("transmittance_min", round(convention.transmittance_min)),
        ("pixel_center", round(convention.pixel_center)),
        ("eps2d", round(convention.eps2d)),
        ("near", round(convention.near)),
        ("far", round(convention.far)),
    ]);
    if let [camera] = &scene.cameras[..] {
        constants.insert("tan_fovx", tangent(scene.width, camera.fx));
        constants.insert("tan_fovy", tangent(scene.height, camera.fy));
    }
    Symbols {
        width: scene.width as usize,
        height: scene.height as usize,
        gaussians: scene.gaussians.len(),
        channels: scene.channels(),
        cameras: scene.cameras.len(),
        coefficients,
        tile_size: convention.tile_size.map(|side| side as usize),
        constants,
        ..Symbols::default()
    }
    .of_counts()
}
