//! The rules that every case obeys, whichever file it came from.
//!
//! Fields are named as in case files (`means[3][0]`, `viewmats[1]`, `Ks[0] fx`). What is refused is
//! what no renderer defines: other shapes, numbers that are not finite, scales that are not
//! positive, rotations without a direction, cameras that are not rigid. Zero Gaussians are a case.

use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::scene::{Colors, Gaussians, Scene};

use super::overrides;
use crate::splat::case::Case;
use splatcheck_judge::io::error::{Problem, quoted};

/// Largest width and largest height, pixels.
pub const MAX_SIDE: u32 = 16_384;
/// Largest number of pixels of one image.
pub const MAX_PIXELS: u64 = 1 << 26;
/// Largest number of channels D.
pub const MAX_CHANNELS: usize = 32;
/// Largest C H W (D + 1), the numbers of the loss gradient: 4 GiB of f32.
pub const MAX_IMAGE_VALUES: u64 = 1 << 30;
/// Numbers K of spherical harmonics coefficients: degree 0 to 3.
pub const COEFFICIENTS: [usize; 4] = [1, 4, 9, 16];
/// Largest distance of an entry of R R^T from the identity's.
///
/// Files carry rotations with nine decimals or as f32, which moves an entry of R R^T by about 1e-7;
/// rotations multiplied up in f32 drift to about 1e-5. A scaled, sheared or transposed 4x4 is off by
/// far more than 1e-4. This decides whether an input is read, never a verdict.
pub const RIGID_TOLERANCE: f64 = 1e-4;

/// Checks a whole case.
///
/// # Errors
/// Names the first field that breaks a rule, its value and the rule.
pub fn validate(case: &Case) -> Result<(), Problem> {
    check_label("name", &case.name)?;
    if case.name.trim().is_empty() {
        return Err(Problem::new("name", quoted(&case.name), "a case needs a name"));
    }
    check_label("purpose", &case.purpose)?;
    overrides::check(&case.convention)?;
    check_scene(&case.scene)
}

fn check_label(field: &str, text: &str) -> Result<(), Problem> {
    if text.chars().any(char::is_control) {
        return Err(Problem::new(field, quoted(text), "write it as one line of text"));
    }
    Ok(())
}

fn check_scene(scene: &Scene<f32>) -> Result<(), Problem> {
    check_size(scene.width, scene.height)?;
    check_gaussians(&scene.gaussians)?;
    let (cameras, channels) = (scene.cameras.len(), scene.channels());
    check_image_values(cameras, scene.width, scene.height, channels)?;
    for (c, camera) in scene.cameras.iter().enumerate() {
        check_camera(camera, &format!("viewmats[{c}]"), &format!("Ks[{c}] "))?;
    }
    let pixels = cameras * scene.pixels();
    for (field, values, width, rows) in [
        ("backgrounds", &scene.backgrounds, channels, cameras),
        ("v_render_colors", &scene.v_render_colors, channels, pixels),
        ("v_render_alphas", &scene.v_render_alphas, 1, pixels),
    ] {
        check_count(field, values.len(), rows * width)?;
        check_finite(field, values, width)?;
    }
    Ok(())
}

/// Checks an image's size: sides of 1 to [`MAX_SIDE`], at most [`MAX_PIXELS`] pixels.
///
/// # Errors
/// Names `width`, `height` or `width x height`.
pub fn check_size(width: u32, height: u32) -> Result<(), Problem> {
    for (field, side) in [("width", width), ("height", height)] {
        if side == 0 || side > MAX_SIDE {
            let advice = format!("must be 1 to {MAX_SIDE} pixels");
            return Err(Problem::new(field, side, advice));
        }
    }
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        let advice = format!("an image has at most {MAX_PIXELS} pixels");
        return Err(Problem::new("width x height", format!("{width} x {height}"), advice));
    }
    Ok(())
}

/// Checks that all images together, C H W (D + 1) numbers, stay within [`MAX_IMAGE_VALUES`], and
/// that there is a camera at all.
pub(super) fn check_image_values(
    cameras: usize,
    width: u32,
    height: u32,
    channels: usize,
) -> Result<(), Problem> {
    if cameras == 0 {
        return Err(Problem::new("the number of cameras", 0, "a case needs at least one"));
    }
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let values = (u64::from(width) * u64::from(height))
        .saturating_mul(count(cameras))
        .saturating_mul(count(channels).saturating_add(1));
    if values > MAX_IMAGE_VALUES {
        let advice = format!("cameras x pixels x (channels + 1) is at most {MAX_IMAGE_VALUES}");
        return Err(Problem::new("the number of image values", values, advice));
    }
    Ok(())
}

/// Checks the Gaussians: counts, finite numbers, positive scales, nonzero quaternions, opacities in
/// 0..=1, D or K as the formats allow.
///
/// # Errors
/// Names the field with its index.
pub fn check_gaussians(gaussians: &Gaussians<f32>) -> Result<(), Problem> {
    let n = gaussians.len();
    check_colors(&gaussians.colors, n)?;
    check_count("quats", gaussians.quats.len(), n)?;
    check_count("scales", gaussians.scales.len(), n)?;
    check_count("opacities", gaussians.opacities.len(), n)?;
    check_finite("means", gaussians.means.as_flattened(), 3)?;
    check_finite("quats", gaussians.quats.as_flattened(), 4)?;
    for (i, quat) in gaussians.quats.iter().enumerate() {
        if quat.iter().all(|&q| q == 0.0) {
            return Err(Problem::new(
                format!("quats[{i}]"),
                "zero",
                "a rotation needs a direction",
            ));
        }
    }
    check_finite("scales", gaussians.scales.as_flattened(), 3)?;
    for (i, scale) in gaussians.scales.as_flattened().iter().enumerate() {
        if *scale <= 0.0 {
            let field = format!("scales[{}][{}]", i / 3, i % 3);
            return Err(Problem::new(
                field,
                scale,
                "must be greater than 0 (linear, no logarithm)",
            ));
        }
    }
    for (i, opacity) in gaussians.opacities.iter().enumerate() {
        if !(0.0..=1.0).contains(opacity) {
            let field = format!("opacities[{i}]");
            return Err(Problem::new(field, opacity, "must be within 0..=1 (no logit)"));
        }
    }
    Ok(())
}

fn check_colors(colors: &Colors<f32>, n: usize) -> Result<(), Problem> {
    let field = match colors {
        Colors::Direct { channels, .. } => {
            if !(1..=MAX_CHANNELS).contains(channels) {
                let advice = format!("colors [N,D] has 1 to {MAX_CHANNELS} channels");
                return Err(Problem::new("the number of channels D", channels, advice));
            }
            "colors"
        }
        Colors::Harmonics { coefficients, .. } => {
            if !COEFFICIENTS.contains(coefficients) {
                let advice = "sh [N,K,3] has 1, 4, 9 or 16 coefficients (degree 0 to 3)";
                return Err(Problem::new("the number of coefficients K", coefficients, advice));
            }
            "sh"
        }
    };
    check_count(field, colors.values().len(), n.saturating_mul(colors.stride()))?;
    check_finite(field, colors.values(), colors.stride())
}

/// Checks a camera: rigid view matrix with last row 0 0 0 1, positive finite focal lengths, finite
/// principal point, intrinsics that are f32 values. The two names are those used in the message; the
/// second is put directly before `fx` and its like.
///
/// # Errors
/// Names the entry.
pub fn check_camera(camera: &Camera<f32>, viewmat: &str, intrinsics: &str) -> Result<(), Problem> {
    let (fx, fy, cx, cy) = (camera.fx, camera.fy, camera.cx, camera.cy);
    for (name, value) in [("fx", fx), ("fy", fy), ("cx", cx), ("cy", cy)] {
        let field = format!("{intrinsics}{name}");
        if !value.is_finite() {
            return Err(Problem::new(field, value, "must be finite, in pixels"));
        }
        if value <= 0.0 && name.starts_with('f') {
            return Err(Problem::new(field, value, "a focal length must be positive, in pixels"));
        }
        if f64::from(splatcheck_judge::io::notation::round(value)) != value {
            return Err(Problem::new(field, value, "must be a value that f32 holds exactly"));
        }
    }
    let view = camera.viewmat.map(|row| row.map(f64::from));
    for (i, row) in view.iter().enumerate() {
        if let Some(j) = row.iter().position(|x| !x.is_finite()) {
            return Err(Problem::new(format!("{viewmat}[{i}][{j}]"), row[j], "must be finite"));
        }
    }
    if view[3] != [0.0, 0.0, 0.0, 1.0] {
        let value = format!("{:?}", camera.viewmat[3]);
        return Err(Problem::new(format!("{viewmat}[3]"), value, "the last row must be 0 0 0 1"));
    }
    check_rotation(&view, viewmat)
}

fn check_rotation(view: &[[f64; 4]; 4], field: &str) -> Result<(), Problem> {
    let dot = |a: &[f64; 4], b: &[f64; 4]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    for i in 0..3 {
        for j in 0..=i {
            let product = dot(&view[i], &view[j]);
            let expected = if i == j { 1.0 } else { 0.0 };
            // Negated, so that an overflow to NaN is refused too.
            if !((product - expected).abs() <= RIGID_TOLERANCE) {
                let value = format!("not a rotation: entry {i} {j} of R R^T is {product}");
                let advice = format!("must be {expected} within {RIGID_TOLERANCE} (row-major)");
                return Err(Problem::new(field, value, advice));
            }
        }
    }
    let [a, b, c, _] = view;
    let determinant = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0]);
    if determinant <= 0.0 {
        let value = format!("a reflection: det R is {determinant}");
        return Err(Problem::new(field, value, "must be a rotation with determinant 1"));
    }
    Ok(())
}

fn check_count(field: &str, found: usize, expected: usize) -> Result<(), Problem> {
    if found == expected {
        return Ok(());
    }
    let field = format!("the number of values of {field}");
    Err(Problem::new(field, found, format!("the other fields ask for {expected}")))
}

fn check_finite(field: &str, values: &[f32], width: usize) -> Result<(), Problem> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => {
            let field = if width > 1 {
                format!("{field}[{}][{}]", i / width, i % width)
            } else {
                format!("{field}[{i}]")
            };
            Err(Problem::new(field, values[i], "every number must be finite"))
        }
    }
}

#[cfg(test)]
mod tests;
