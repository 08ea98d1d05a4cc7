//! The oracle's numbers of a whole case.
//!
//! A generic function is compiled anew by every crate that calls it, so commands call these: the oracle in all its
//! arithmetics is compiled once, here.

use super::case::Case;
use super::files::result_file::{Number, Radii, write_result};
use splatcheck_judge::io::InputError;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::under;
use splatcheck_reference::arithmetic::{Bounded, EvaluationOrders, Scalar, Vectorized};
use splatcheck_reference::splat::bounds::{Compiled, Undecided, pipeline};
use splatcheck_reference::splat::rasterize::{Raster, rasterize};
use splatcheck_reference::splat::render::{
    Gradients, Projected, Stage, project_scene, render_backward_with,
};
use splatcheck_reference::splat::{Scene, TooManyPairs};
use std::path::Path;

/// Images and gradients of all cameras.
#[derive(Debug)]
pub struct Computed<S> {
    scene: Scene<S>,
    /// Them.
    pub gradients: Gradients<S>,
    /// The projected Gaussians with their gradients, camera by camera, where they were asked for.
    pub stages: Vec<Stage<S>>,
}

/// In f32, as a kernel computes.
///
/// # Errors
/// [`TooManyPairs`].
pub fn in_f32(case: &Case, stages: bool) -> Result<Computed<f32>, TooManyPairs> {
    computed(case, stages)
}

/// In f64. The constants of the convention are the real numbers that it names (0.3, not the f32 next to it).
///
/// # Errors
/// [`TooManyPairs`].
pub fn in_f64(case: &Case, stages: bool) -> Result<Computed<f64>, TooManyPairs> {
    computed(case, stages)
}

fn computed<S: Vectorized>(case: &Case, stages: bool) -> Result<Computed<S>, TooManyPairs> {
    let mut kept = Vec::new();
    let keep = |stage| {
        if stages {
            kept.push(stage);
        }
    };
    let scene = case.scene.map(<S as Scalar>::from_f32);
    let gradients = render_backward_with(&scene, &case.convention, keep)?;
    Ok(Computed { scene, gradients, stages: kept })
}

impl Computed<f64> {
    /// How far a program in f32 may lie from each number, and what was followed both ways.
    ///
    /// # Errors
    /// [`TooManyPairs`].
    pub fn bounds(
        &self,
        case: &Case,
        arithmetic: Arithmetic,
    ) -> Result<(Radii<f64>, Undecided), TooManyPairs> {
        under!(arithmetic, bounds_under(case, self))
    }
}

fn bounds_under<M: Compiled>(
    case: &Case,
    computed: &Computed<f64>,
) -> Result<(Radii<f64>, Undecided), TooManyPairs> {
    let scene = case.scene.map(Bounded::<M>::from_f32);
    let bounds = pipeline(&scene, &case.convention, EvaluationOrders::STANDARD)?;
    let radii = Radii {
        model: M::TABLE.name,
        gradients: bounds.radii_about(&computed.gradients),
        stages: bounds.stage_radii_about(&computed.stages),
    };
    Ok((radii, bounds.undecided))
}

impl<S: Number> Computed<S> {
    /// Writes all of it, and the bounds if there are any.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(
        self,
        file: &Path,
        case: &Case,
        radii: Option<Radii<S>>,
    ) -> Result<(), InputError> {
        let Self { scene, gradients, stages } = self;
        write_result(file, &scene, &case.convention, gradients, &stages, radii)
    }
}

/// What a camera sees, in f64.
#[derive(Debug)]
pub struct Seen<'a> {
    case: &'a Case,
    camera: usize,
    scene: Scene<f64>,
    /// The Gaussians on the image, and the tiles' lists.
    pub projected: Projected<f64>,
}

impl<'a> Seen<'a> {
    /// What a camera of a case sees.
    ///
    /// # Errors
    /// [`TooManyPairs`].
    pub fn new(case: &'a Case, camera: usize) -> Result<Self, TooManyPairs> {
        let scene = case.scene.map(f64::from);
        let projected = project_scene(&scene, camera, &case.convention)?;
        Ok(Self { case, camera, scene, projected })
    }

    /// The image.
    #[must_use]
    pub fn image(&self) -> Raster<f64> {
        rasterize(&self.projected.view(&self.scene, self.camera, &self.case.convention))
    }
}
