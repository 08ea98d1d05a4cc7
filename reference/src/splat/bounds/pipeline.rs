//! Bounds of everything at once: what any conforming f32 program may return for the images and the
//! gradients of a scene, from the inputs' own bits on.
//!
//! The stages are those of [`crate::splat::render`], and "conforming" means: each operation of the stages as
//! they are written here (or, of the projection, as the standard derivations spell them), in f32, within
//! the arithmetic model; constants of the convention rounded to
//! f32 once; sums over pixels, Gaussians and cameras in any order and grouping. Every decision on the
//! way is followed both ways where it is undecided: culling, limits, clamps, tiles, depth order,
//! visibility, stops.
//!
//! The walk forward and the walk back look at a pair with the same radius, but decide independently
//! where it is undecided: a compiler may round the same expression differently in two kernels.

use super::backward::GradientBounds;
use super::bin::Candidates;
use super::camera::viewmat;
use super::image::Image;
use super::project::undecided_projections;
use super::undecided::Undecided;
use crate::arithmetic::sum::in_any_order;
use crate::arithmetic::{Bounded, EvaluationOrders, Model, Scalar, Tristate};
use crate::splat::backward::project::{Row, row};
use crate::splat::backward::rasterize::{GEOMETRY, SplatGradients};
use crate::splat::bin::TooManyPairs;
use crate::splat::convention::Convention;
use crate::splat::project::{CameraParams, Projection, project_all, splats};
use crate::splat::rasterize::Raster;
use crate::splat::render::{Gradients, Stage};
use crate::splat::scene::{Gaussians, Scene};
use crate::splat::view::{RasterView, Splats};
use rayon::prelude::*;

/// What a conforming program may return for a scene.
#[derive(Clone, Debug)]
pub struct PipelineBounds<M> {
    /// The images and gradients, each number with its radius. `last_ids` of the images is empty.
    pub gradients: Gradients<Bounded<M>>,
    /// The projected Gaussians and their gradients, by camera; that of the background is empty.
    pub stages: Vec<Stage<Bounded<M>>>,
    /// Comparisons that were followed both ways.
    pub undecided: Undecided,
}

/// One camera's part.
struct OneCamera<M> {
    raster: Raster<Bounded<M>>,
    rows: Vec<Row<Bounded<M>>>,
    v_colors: Vec<Bounded<M>>,
    v_viewmat: [[Bounded<M>; 4]; 4],
    v_background: Vec<Bounded<M>>,
    stage: Stage<Bounded<M>>,
}

/// What [`super::pipeline()`] gives.
pub(super) fn of_scene<M: Model>(
    scene: &Scene<Bounded<M>>,
    convention: &Convention,
    spellings: EvaluationOrders,
) -> Result<PipelineBounds<M>, TooManyPairs> {
    let mut undecided = Undecided::default();
    let cameras = (0..scene.cameras.len())
        .map(|camera| one_camera(scene, (camera, spellings), convention, &mut undecided))
        .collect::<Result<Vec<_>, _>>()?;
    let n = scene.gaussians.len();
    let sum = |of: &dyn Fn(&OneCamera<M>) -> Bounded<M>| {
        in_any_order(&cameras.iter().map(of).collect::<Vec<_>>())
    };
    let row = |g: usize, of: fn(&Row<Bounded<M>>, usize) -> Bounded<M>, k: usize| {
        sum(&|camera| of(&camera.rows[g], k))
    };
    use std::array::from_fn;
    let v_means = (0..n).map(|g| from_fn(|k| row(g, |r, k| r.mean[k], k))).collect();
    let v_quats = (0..n).map(|g| from_fn(|k| row(g, |r, k| r.quat[k], k))).collect();
    let v_scales = (0..n).map(|g| from_fn(|k| row(g, |r, k| r.scale[k], k))).collect();
    let v_opacities = (0..n).map(|g| row(g, |r, _| r.opacity, 0)).collect();
    let colors = scene.gaussians.colors.values().len();
    let v_colors = (0..colors).map(|i| sum(&|camera| camera.v_colors[i])).collect();
    let mut gradients = Gradients {
        rasters: Vec::new(),
        v_means,
        v_quats,
        v_scales,
        v_opacities,
        v_colors,
        v_viewmats: Vec::new(),
        v_backgrounds: Vec::new(),
    };
    let mut stages = Vec::new();
    for camera in cameras {
        gradients.rasters.push(camera.raster);
        gradients.v_viewmats.push(camera.v_viewmat);
        gradients.v_backgrounds.extend(camera.v_background);
        stages.push(camera.stage);
    }
    Ok(PipelineBounds { gradients, stages, undecided })
}

fn one_camera<M: Model>(
    scene: &Scene<Bounded<M>>,
    (camera, spellings): (usize, EvaluationOrders),
    convention: &Convention,
    undecided: &mut Undecided,
) -> Result<OneCamera<M>, TooManyPairs> {
    let (gaussians, size) = (&scene.gaussians, [scene.width, scene.height]);
    let lens =
        CameraParams { spellings, ..CameraParams::new(&scene.cameras[camera], size, convention) };
    let projections = project_all(gaussians, &lens, convention);
    undecided.add(&undecided_projections(gaussians, &lens, &projections, convention));
    let candidates = Candidates::new(&projections, convention, size)?;
    let mut splats = splats(gaussians, &lens, &projections);
    let view = RasterView {
        width: scene.width,
        height: scene.height,
        convention,
        splats: &splats,
        lists: &candidates.lists,
        background: scene.camera_slices(camera).background,
    };
    let image = Image::new(scene, camera, &view, &candidates);
    undecided.add(&image.undecided);
    let v_splats = summed(&image.gradients, view.splats.channels);
    let (rows, v_colors) = rows(gaussians, &lens, &projections, &v_splats, convention);
    let v_viewmat = viewmat(&lens, &rows, projections.iter().flatten().count() as u64);
    culled_to_zero(&mut splats, &projections);
    Ok(OneCamera {
        raster: image.raster,
        rows,
        v_colors,
        v_viewmat,
        v_background: image.v_background,
        stage: Stage { splats, gradients: v_splats },
    })
}

/// What every Gaussian gets, and the gradients of the colours as they were given.
fn rows<M: Model>(
    gaussians: &Gaussians<Bounded<M>>,
    lens: &CameraParams<Bounded<M>>,
    projections: &[Option<Projection<Bounded<M>>>],
    splats: &SplatGradients<Bounded<M>>,
    convention: &Convention,
) -> (Vec<Row<Bounded<M>>>, Vec<Bounded<M>>) {
    let stride = gaussians.colors.stride();
    let mut v_colors = vec![Bounded::from_f64(0.0); gaussians.len() * stride];
    let rows = v_colors
        .par_chunks_mut(stride)
        .zip(projections)
        .enumerate()
        .map(|(id, (v_color, p))| match p {
            None => Row::zero(),
            Some(p) => row(gaussians, (id, p), lens, splats, v_color, convention),
        })
        .collect();
    (rows, v_colors)
}

/// A Gaussian that may be culled may also have zeros for its projection.
fn culled_to_zero<M: Model>(
    splats: &mut Splats<Bounded<M>>,
    projections: &[Option<Projection<Bounded<M>>>],
) {
    let (channels, zero) = (splats.channels, Bounded::from_f64(0.0));
    for (g, projection) in projections.iter().enumerate() {
        if projection.as_ref().is_some_and(|p| p.seen == Tristate::Undecided) {
            let numbers = splats.means2d[g].iter_mut().chain(&mut splats.conics[g]);
            let colors = &mut splats.colors[g * channels..(g + 1) * channels];
            numbers.chain([&mut splats.opacities[g]]).chain(colors).for_each(|x| *x = x.or(zero));
        }
    }
}

/// The sums over pixels as the projection's backward stage reads them.
fn summed<M: Model>(sums: &GradientBounds, channels: usize) -> SplatGradients<Bounded<M>> {
    let n = sums.elements.len() / sums.stride;
    let all: Vec<Vec<Bounded<M>>> = (0..n)
        .into_par_iter()
        .map(|g| {
            let elements = &sums.elements[g * sums.stride..(g + 1) * sums.stride];
            elements.iter().map(|element| element.in_any_order(sums.terms(g))).collect()
        })
        .collect();
    SplatGradients {
        v_means2d: all.iter().map(|x| [x[0], x[1]]).collect(),
        v_conics: all.iter().map(|x| [x[2], x[3], x[4]]).collect(),
        v_opacities: all.iter().map(|x| x[5]).collect(),
        v_colors: all.iter().flat_map(|x| x[GEOMETRY..][..channels].iter().copied()).collect(),
        v_background: Vec::new(),
    }
}
