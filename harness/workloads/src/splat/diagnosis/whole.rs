//! The whole way from a scene to its images and gradients.

use super::convention;
use super::outputs::{XYZW, of_units, turned};
use crate::splat::case::Case;
use crate::splat::files::overrides::KEYS;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Expectation, OutputBound};
use splatcheck_reference::splat::backward::rasterize::SplatGradients;
use splatcheck_reference::splat::backward::{project, rasterize};
use splatcheck_reference::splat::rasterize::rasterize as render;
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::scene::{Colors, Gaussians, Scene};
use splatcheck_reference::splat::{CameraParams, TooManyPairs};

/// What may become of the path from an opacity through antialiasing's compensation to the covariance, and by which
/// factor it is wrong then.
pub(super) const COMPENSATION: [(&str, f32); 3] = [
    (
        "antialiasing's compensation is taken for a constant: the opacity's gradient does not reach the \
         covariance through it",
        0.0,
    ),
    ("the gradient through antialiasing's compensation is taken with the other sign", -1.0),
    ("the gradient through antialiasing's compensation is taken twice", 2.0),
];

/// A fault in words, and what it does to a case.
type Fault = (&'static str, fn(&mut Scene<f32>));

/// What a fault does to a case.
type Change<'a> = Box<dyn Fn(&mut Scene<f32>) + 'a>;

/// Faults of the loss and the background.
const FAULTS: [Fault; 4] = [
    ("alpha's own gradient is missing: v_render_alphas is ignored, as 3DGS does", |scene| {
        scene.v_render_alphas.fill(0.0);
    }),
    ("the gradient by the colours is missing: v_render_colors is ignored", |scene| {
        scene.v_render_colors.fill(0.0);
    }),
    ("the background is missing", |scene| scene.backgrounds.fill(0.0)),
    ("the background is taken for white (1 in each channel)", |scene| scene.backgrounds.fill(1.0)),
];

/// What a program may get wrong that does all of it. `predict` gives the oracle's numbers of a case.
pub(in crate::splat) fn of_whole<'a>(
    case: &'a Case,
    predict: impl Fn(Case) -> Option<Expectation> + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let changed = move |words: &str, change: Change<'a>| {
        Hypothesis::new(words, move || {
            let mut other = case.clone();
            change(&mut other.scene);
            predict(other)
        })
    };
    let Gaussians { scales, opacities, .. } = &case.scene.gaussians;
    let mut all = of_units(scales, opacities, move || predict(case.clone()));
    all.extend(FAULTS.into_iter().map(|(words, change)| changed(words, Box::new(change))));
    all.extend(of_cameras(case, predict));
    all.push(Hypothesis::new(
        "the path through the direction of view is missing: the colours' gradient does not reach the \
         means (nor the cameras)",
        move || {
            let Colors::Harmonics { .. } = case.scene.gaussians.colors else { return None };
            let of_colors = |v: &mut SplatGradients<f64>| v.v_opacities.fill(0.0);
            with_path(case, of_colors, 0.0, predict(case.clone())?)
        },
    ));
    if case.convention.antialiased {
        all.extend(COMPENSATION.into_iter().map(|(words, factor)| {
            let of_opacities = |v: &mut SplatGradients<f64>| v.v_colors.fill(0.0);
            Hypothesis::new(words, move || {
                with_path(case, of_opacities, f64::from(factor), predict(case.clone())?)
            })
        }));
    }
    all.extend([-0.5, 0.5].map(|by: f64| {
        let words = format!(
            "the image is {} half a pixel off: pixels are sampled at their corners instead of \
             their centres, or the other way about (the convention's field pixel_center)",
            if by < 0.0 { "shifted up and left," } else { "shifted down and right," }
        );
        let shift = move |scene: &mut Scene<f32>| {
            for camera in &mut scene.cameras {
                (camera.cx, camera.cy) = (camera.cx + by, camera.cy + by);
            }
        };
        changed(&words, Box::new(shift))
    }));
    all.push(Hypothesis::new(XYZW, move || {
        let mut other = case.clone();
        other.scene.gaussians.quats.iter_mut().for_each(|quat| quat.rotate_right(1));
        Some(turned(predict(other)?, "v_quats"))
    }));
    all.extend(convention::others(&case.convention, &KEYS).map(|changed| {
        changed.hypothesis(move |convention| predict(Case { convention, ..case.clone() }))
    }));
    all
}

/// Cameras whose gradients are left out; their images are there.
fn of_cameras<'a>(
    case: &'a Case,
    predict: impl Fn(Case) -> Option<Expectation> + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let count = case.scene.cameras.len();
    let left_out = |(camera, fault): (usize, String)| {
        let last = if camera + 1 == count { ", the last," } else { "" };
        Hypothesis::new(format!("the gradients of camera {camera}{last} are left out"), move || {
            let mut other = case.clone();
            let colors = case.scene.v_render_colors.len() / count;
            let alphas = case.scene.v_render_alphas.len() / count;
            other.scene.v_render_colors[camera * colors..(camera + 1) * colors].fill(0.0);
            other.scene.v_render_alphas[camera * alphas..(camera + 1) * alphas].fill(0.0);
            predict(other)
        })
        .as_fault(fault)
    };
    cameras_by_name(count).map(left_out).collect()
}

/// Cameras that a kernel may lose, as what they are in every case: the last one, each by its number.
/// There is none where it is the only one.
pub(super) fn cameras_by_name(count: usize) -> impl Iterator<Item = (usize, String)> {
    let last = (count > 1).then(|| (count - 1, "the last camera is left out".to_owned()));
    let cameras = if count > 1 { count } else { 0 };
    let each = (0..cameras).rev().map(|camera| (camera, format!("camera {camera} is left out")));
    last.into_iter().chain(each)
}

/// What the gradients of what is projected add to each output in f64, those of means and conics left out and the
/// others as they are `kept`: the colours' through the direction of view, the opacities' through antialiasing's
/// compensation.
fn paths(
    case: &Case,
    kept: impl Fn(&mut SplatGradients<f64>),
) -> Result<[(&'static str, Vec<f64>); 4], TooManyPairs> {
    let (scene, convention) = (case.scene.map(f64::from), &case.convention);
    let n = scene.gaussians.len();
    let [mut means, mut quats, mut scales] = [3, 4, 3].map(|width| vec![0.0; width * n]);
    let mut viewmats = Vec::new();
    let add = |sums: &mut [f64], terms: &[f64]| {
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    };
    for camera in 0..scene.cameras.len() {
        let projected = project_scene(&scene, camera, convention)?;
        let view = projected.view(&scene, camera, convention);
        let loss = scene.camera_slices(camera);
        let image = render::<f64>(&view);
        let mut gradients = rasterize::rasterize::<f64>(&view, &loss.loss(&image));
        gradients.v_means2d.fill([0.0; 2]);
        gradients.v_conics.fill([0.0; 3]);
        kept(&mut gradients);
        let size = [scene.width, scene.height];
        let lens = CameraParams::new(&scene.cameras[camera], size, convention);
        let one = project::project(&scene.gaussians, &lens, &gradients, convention);
        add(&mut means, one.v_means.as_flattened());
        add(&mut quats, one.v_quats.as_flattened());
        add(&mut scales, one.v_scales.as_flattened());
        viewmats.extend_from_slice(one.v_viewmat.as_flattened());
    }
    Ok([("v_means", means), ("v_quats", quats), ("v_scales", scales), ("v_viewmats", viewmats)])
}

/// What is expected if these paths are taken `factor` times. The radius of a sum is no smaller than that of the
/// terms of a path, nor than that of the others.
fn with_path(
    case: &Case,
    kept: impl Fn(&mut SplatGradients<f64>),
    factor: f64,
    mut of: Expectation,
) -> Option<Expectation> {
    let paths = paths(case, kept).ok()?;
    for output in of.rows.iter_mut().flat_map(|rows| &mut rows.outputs) {
        let path = paths.iter().find(|(name, _)| *name == output.name);
        if let (OutputBound::Interval(bounds), Some((_, path))) = (&mut output.bound, path) {
            for ((value, radius), path) in bounds.iter_mut().zip(path) {
                *value += (factor - 1.0) * path;
                *radius *= factor.abs().max(1.0);
            }
        }
    }
    Some(of)
}
