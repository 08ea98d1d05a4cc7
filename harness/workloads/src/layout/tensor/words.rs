//! The words of inputs as kernels have them, from the arrays of a stage.

use std::borrow::Cow;

use splatcheck_gpu::{EngineError, ProjectInputs, Tensors};
use splatcheck_reference::arithmetic::Tristate;
use splatcheck_reference::splat::camera::Camera;

use super::Tensor;
use crate::layout::symbols::Symbols;
use crate::splat::camera_arrays::{position, projection};
use crate::splat::stage::ProjectStage;

/// The words of an input in rows, as the stage's arrays give them. `end` adds the end of the last tile's
/// list to the offsets, `none` is what stands for no contributor in `last_ids`.
///
/// # Errors
/// [`EngineError::Input`] for an array that the stage does not have.
pub(crate) fn words<'t>(
    tensor: Tensor,
    (end, none): (bool, i32),
    inputs: &'t Tensors,
    symbols: &Symbols,
) -> Result<Cow<'t, [u32]>, EngineError> {
    let plain = |name: &str| -> Result<Cow<'t, [u32]>, EngineError> {
        Ok(Cow::Borrowed(inputs.get(name)?.words()))
    };
    match tensor {
        // A formulation that is given opacities has them in the transmittances' place, unless it has both.
        Tensor::RenderAlphas if inputs.find("render_alphas").is_none() => {
            plain("render_transmittance")
        }
        Tensor::TileOffsets if !end => {
            let offsets = inputs.u32("tile_offsets")?;
            Ok(Cow::Borrowed(&offsets[..offsets.len().saturating_sub(1)]))
        }
        Tensor::Ranges => {
            let pairs = inputs.u32("tile_offsets")?.windows(2);
            Ok(Cow::Owned(pairs.flatten().copied().collect()))
        }
        Tensor::LastIds => {
            let ids = inputs.i32("last_ids")?.iter();
            Ok(Cow::Owned(ids.map(|&id| if id < 0 { none } else { id }.cast_unsigned()).collect()))
        }
        Tensor::NContrib => n_contrib(inputs, symbols).map(Cow::Owned),
        // Colours are given in one of both forms, under one name in the projection's stages.
        Tensor::Colors if symbols.coefficients > 0 => {
            Ok(Cow::Owned(vec![0; symbols.gaussians * symbols.channels]))
        }
        Tensor::Sh if inputs.find("sh").is_none() && symbols.coefficients == 0 => {
            Ok(Cow::Owned(Vec::new()))
        }
        Tensor::Sh if inputs.find("sh").is_none() => plain("colors"),
        Tensor::ShDc | Tensor::ShRest if inputs.find(tensor.name()).is_none() => {
            let all = words(Tensor::Sh, (end, none), inputs, symbols)?;
            let rows = all.chunks((3 * symbols.coefficients).max(3));
            let part = |row: &[u32]| match tensor {
                Tensor::ShDc => row[..3].to_vec(),
                _ => row[3..].to_vec(),
            };
            Ok(Cow::Owned(rows.flat_map(part).collect()))
        }
        Tensor::ColorsOrSh => plain("colors"),
        Tensor::Radius if inputs.find("radii").is_some() => {
            Ok(Cow::Owned(inputs.get("radii")?.words().iter().step_by(2).copied().collect()))
        }
        Tensor::Visible | Tensor::Radii | Tensor::Radius | Tensor::Clamped
            if inputs.find(tensor.name()).is_none() =>
        {
            of_forward(tensor, inputs).map(Cow::Owned)
        }
        Tensor::Campos if inputs.find("campos").is_none() => {
            let each = cameras(inputs, symbols)?;
            Ok(Cow::Owned(each.iter().flat_map(position).map(f32::to_bits).collect()))
        }
        Tensor::Projmats if inputs.find("projmats").is_none() => {
            let size = [symbols.width, symbols.height].map(|side| u32::try_from(side).unwrap_or(0));
            let each = cameras(inputs, symbols)?;
            let all = each.iter().flat_map(|camera| projection(camera, size));
            Ok(Cow::Owned(all.map(f32::to_bits).collect()))
        }
        Tensor::Ks if inputs.find("Ks").is_none() => intrinsics(inputs).map(Cow::Owned),
        Tensor::Viewmats => {
            let viewmats = inputs.get("viewmats")?;
            Ok(match viewmats.shape() {
                [_, 3, 4] => Cow::Owned(with_last_row(viewmats.words())),
                _ => Cow::Borrowed(viewmats.words()),
            })
        }
        Tensor::CameraIds => Ok(Cow::Owned(ids(symbols, |row, n| row / n))),
        Tensor::GaussianIds => Ok(Cow::Owned(ids(symbols, |row, n| row % n))),
        // The others are there by their names, or are outputs, which no input has.
        _ => plain(tensor.name()),
    }
}

/// A number of each packed row, from its place in `[C,N]` and N.
fn ids(symbols: &Symbols, of: impl Fn(usize, usize) -> usize) -> Vec<u32> {
    let id = |&row: &usize| u32::try_from(of(row, symbols.gaussians.max(1))).unwrap_or(u32::MAX);
    symbols.packed.iter().map(id).collect()
}

/// `v_render_alphas` without the background's part: v - background . `v_render_colors`, rounded once. A kernel that
/// knows no background is so given what host code that blends one afterwards computes.
pub(crate) fn folded(inputs: &Tensors) -> Result<Vec<u32>, EngineError> {
    let background = inputs.f32("background")?;
    let colors = inputs.f32("v_render_colors")?.chunks(background.len().max(1));
    let pixel = |(&alpha, colors): (&f32, &[f32])| {
        let part = |(&b, &v): (&f32, &f32)| f64::from(b) * f64::from(v);
        let behind: f64 = background.iter().zip(colors).map(part).sum();
        #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what a host does")]
        let rounded = (f64::from(alpha) - behind) as f32;
        rounded.to_bits()
    };
    Ok(inputs.f32("v_render_alphas")?.iter().zip(colors).map(pixel).collect())
}

/// Matrices of three rows with the last one, (0, 0, 0, 1).
fn with_last_row(words: &[u32]) -> Vec<u32> {
    let last = [0.0_f32, 0.0, 0.0, 1.0].map(f32::to_bits);
    words.chunks(12).flat_map(|rows| rows.iter().copied().chain(last)).collect()
}

/// The cameras of a projection, whose principal points are taken to be the image's middle: a kernel that is given
/// the matrix of the whole projection is run on no other cases
/// ([`CameraForms`](crate::splat::CameraForms)).
fn cameras(inputs: &Tensors, symbols: &Symbols) -> Result<Vec<Camera<f32>>, EngineError> {
    let rows = inputs.f32("viewmats")?.chunks(12).zip(inputs.f32("focals")?.chunks(2));
    #[expect(clippy::cast_precision_loss, reason = "an image's sides are far below 2^52")]
    let [cx, cy] = [symbols.width, symbols.height].map(|side| side as f64 / 2.0);
    let camera = |(view, focal): (&[f32], &[f32])| {
        let row = |i: usize| std::array::from_fn(|k| view[4 * i + k]);
        let viewmat = [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]];
        let [fx, fy] = [focal[0], focal[1]].map(f64::from);
        Camera { viewmat, fx, fy, cx, cy }
    };
    Ok(rows.map(camera).collect())
}

/// What the forward pass of a projection leaves for its backward pass, as the oracle's f32 instance has it: whether
/// a Gaussian is there, and which of its colours the maximum with 0 cut off. Where roundings decide, the
/// bounds hold either.
fn of_forward(tensor: Tensor, inputs: &Tensors) -> Result<Vec<u32>, EngineError> {
    let stage = ProjectStage::from_inputs(&ProjectInputs::from_tensors(inputs)?);
    let each = stage.mirror_forward();
    Ok(each
        .iter()
        .flat_map(|camera| match tensor {
            Tensor::Clamped => {
                let color = |color: &f32| u32::from(*color == 0.0);
                camera.splats.colors.iter().map(color).collect::<Vec<_>>()
            }
            _ => {
                let numbers = if tensor == Tensor::Radii { 2 } else { 1 };
                let seen = |seen: &Tristate| [u32::from(*seen == Tristate::Always); 2];
                camera.visible.iter().flat_map(|one| seen(one).into_iter().take(numbers)).collect()
            }
        })
        .collect())
}

/// `[C,3,3]` from focal lengths and principal points.
fn intrinsics(inputs: &Tensors) -> Result<Vec<u32>, EngineError> {
    let cameras = inputs.f32("focals")?.chunks(2).zip(inputs.f32("principals")?.chunks(2));
    let matrix = |(focal, principal): (&[f32], &[f32])| {
        [focal[0], 0.0, principal[0], 0.0, focal[1], principal[1], 0.0, 0.0, 1.0]
    };
    Ok(cameras.flat_map(matrix).map(f32::to_bits).collect())
}

/// How many entries of its tile's list a pixel has to walk, up to its last contributor.
fn n_contrib(inputs: &Tensors, symbols: &Symbols) -> Result<Vec<u32>, EngineError> {
    let offsets = inputs.u32("tile_offsets")?;
    let of = |(pixel, &last): (usize, &i32)| match u32::try_from(last) {
        Err(_) => 0,
        Ok(last) => (last + 1).saturating_sub(offsets[symbols.tile_of(pixel)]),
    };
    Ok(inputs.i32("last_ids")?.iter().enumerate().map(of).collect())
}
