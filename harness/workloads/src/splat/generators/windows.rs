//! Windows cut from trained scenes: the statistics of what people train.

use super::drawn_for::Draw;
use crate::splat::case::{Case, only};
use crate::splat::files::loss::loss_gradient;
use crate::splat::files::ply::Invalid;
use crate::splat::files::{cameras, ply};
use proptest::prelude::*;
use splatcheck_judge::io::source_tree;
use splatcheck_reference::splat::convention::{Convention, FieldOfViewClamp};
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{Camera, Gaussians, Scene};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The scenes: small cuts at real density.
const SCENES: [&str; 3] = ["guitar-crop-5000", "skull-crop-5000", "playbot-crop-5000"];
/// Names the folder of trained scenes where it is not beside the workspace.
const FOLDER: &str = "SPLATCHECK_DATA";

/// What windows are made from, as reports say that it is missing.
pub(super) const NEEDS: &str = "folder of trained scenes (SPLATCHECK_DATA names one)";

/// A trained scene in memory.
struct Trained {
    gaussians: Gaussians<f32>,
    views: Vec<cameras::NamedCamera>,
}

/// The folder of trained scenes, if one is named or this program lies in a source tree.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os(FOLDER).map(PathBuf::from);
    named.or_else(|| Some(source_tree::root()?.join("../shared/data")))
}

/// All of [`SCENES`], read once; `None` where one of them is not there.
fn trained() -> Option<&'static [Trained]> {
    static READ: OnceLock<Option<Vec<Trained>>> = OnceLock::new();
    let read = |name: &&str| {
        let folder = folder()?;
        Some(Trained {
            gaussians: ply::read_ply(&folder.join(format!("{name}.ply")), Invalid::Refused)
                .ok()?
                .gaussians,
            views: cameras::read_cameras(&folder.join(format!("{name}.cameras.json"))).ok()?,
        })
    };
    READ.get_or_init(|| SCENES.iter().map(read).collect()).as_deref()
}

/// A window of up to 48 pixels a side somewhere in a view of a trained scene, with the Gaussians that
/// are listed there; `None` where the scenes are absent.
pub(super) fn window(draw: Draw) -> Option<BoxedStrategy<Case>> {
    let scenes = trained()?;
    let side = || prop::sample::select(vec![16u32, 17, 31, 32, 48]);
    let share = || 0.2f32..0.8;
    let scene = 0..scenes.len();
    let strategy =
        (scene, any::<prop::sample::Index>(), [share(), share()], [side(), side()], any::<u64>());
    Some(
        strategy
            .prop_map(move |(scene, view, place, size, seed)| {
                let scene = &scenes[scene];
                let view = view.get(&scene.views);
                cut(scene, view, place, size, seed, &Convention::of(draw.profile))
            })
            .boxed(),
    )
}

/// Cuts a window of `size` pixels at the share `place` of the view.
fn cut(
    trained: &Trained,
    view: &cameras::NamedCamera,
    place: [f32; 2],
    [width, height]: [u32; 2],
    seed: u64,
    convention: &Convention,
) -> Case {
    let begin = |side: u32, place: f32| (f64::from(side) * f64::from(place)).floor();
    let camera = Camera {
        cx: view.camera.cx - begin(view.width, place[0]),
        cy: view.camera.cy - begin(view.height, place[1]),
        ..view.camera
    };
    let mut convention = *convention;
    if let FieldOfViewClamp::AboutAxis { factor } = &mut convention.fov_clamp {
        // The window has the whole view's field of view: it is part of the projection.
        let widths = f64::from(view.width) / f64::from(width);
        *factor *= widths.max(f64::from(view.height) / f64::from(height));
    }
    let channels = trained.gaussians.colors.channels();
    let (v_render_colors, v_render_alphas) = loss_gradient(seed, width, height, channels, 1.0);
    let mut scene = Scene {
        width,
        height,
        gaussians: trained.gaussians.clone(),
        cameras: vec![round(camera)],
        backgrounds: vec![0.0; channels],
        v_render_colors,
        v_render_alphas,
    };
    // Too many pairs to number would need more Gaussians than the scenes have.
    if let Ok(projected) = project_scene(&scene, 0, &convention.rounded_to_f32()) {
        let mut listed = projected.lists.flatten_ids;
        listed.sort_unstable();
        listed.dedup();
        let listed: Vec<usize> = listed.iter().map(|&id| id as usize).collect();
        scene.gaussians = only(&scene.gaussians, &listed);
    }
    Case::unnamed(convention, scene)
}

/// Principal points are f32 in files.
fn round(camera: Camera<f32>) -> Camera<f32> {
    let [cx, cy] = [camera.cx, camera.cy].map(|c| f64::from(super::sheet::single(c)));
    Camera { cx, cy, ..camera }
}
