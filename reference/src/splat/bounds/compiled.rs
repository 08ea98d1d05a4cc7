//! The bounds of every model, compiled in this crate.
//!
//! A generic function is compiled in each crate that calls it, and a walk over vector registers takes minutes. These
//! methods are not generic, so whoever calls them takes what is compiled here.

use super::backward::{GradientBounds, in_terms};
use super::forward_lanes::{RasterBounds, in_tiles};
use super::pipeline::{PipelineBounds, of_scene};
use super::project::{
    ProjectionBounds, ProjectionGradientBounds, of_camera, of_camera_on_image, of_gradients,
};
use super::undecided::Undecided;
use crate::arithmetic::{
    Bounded, Cuda, CudaFast, EvaluationOrders, ExtraRoundings, Ieee, Model, Wgsl, WgslExpZero,
};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::bin::TooManyPairs;
use crate::splat::convention::Convention;
use crate::splat::formulated::BackwardView;
use crate::splat::project::CameraParams;
use crate::splat::project::on_image::{Border, OnImage};
use crate::splat::scene::{Gaussians, Scene};
use crate::splat::view::{LossView, RasterView};

/// A model of which the bounds are compiled in this crate.
pub trait Compiled: Model {
    /// [`forward_rounded`]
    fn forward(view: &RasterView<'_, Bounded<Self>>, extra: ExtraRoundings) -> RasterBounds<Self>;

    /// [`backward_as`]
    fn backward(
        view: &RasterView<'_, Bounded<Self>>,
        inputs: &BackwardView<'_, Bounded<Self>>,
    ) -> GradientBounds;

    /// [`project()`]
    fn project(
        gaussians: &Gaussians<Bounded<Self>>,
        lens: &CameraParams<Bounded<Self>>,
        convention: &Convention,
    ) -> ProjectionBounds<Self>;

    /// [`project_on_image`]
    fn project_on_image(
        gaussians: &Gaussians<Bounded<Self>>,
        lens: &CameraParams<Bounded<Self>>,
        convention: &Convention,
        border: Option<Border>,
    ) -> (OnImage<Bounded<Self>>, Undecided);

    /// [`project_backward`]
    fn project_backward(
        gaussians: &Gaussians<Bounded<Self>>,
        lenses: &[CameraParams<Bounded<Self>>],
        gradients: &[SplatGradients<Bounded<Self>>],
        convention: &Convention,
    ) -> ProjectionGradientBounds;

    /// [`pipeline()`]
    ///
    /// # Errors
    /// As there.
    fn pipeline(
        scene: &Scene<Bounded<Self>>,
        convention: &Convention,
        spellings: EvaluationOrders,
    ) -> Result<PipelineBounds<Self>, TooManyPairs>;
}

macro_rules! compiled {
    ($($model:ty)*) => {$(
        impl Compiled for $model {
            fn forward(
                view: &RasterView<'_, Bounded<Self>>,
                extra: ExtraRoundings,
            ) -> RasterBounds<Self> {
                in_tiles(view, extra)
            }

            fn backward(
                view: &RasterView<'_, Bounded<Self>>,
                inputs: &BackwardView<'_, Bounded<Self>>,
            ) -> GradientBounds {
                in_terms(view, inputs)
            }

            fn project(
                gaussians: &Gaussians<Bounded<Self>>,
                lens: &CameraParams<Bounded<Self>>,
                convention: &Convention,
            ) -> ProjectionBounds<Self> {
                of_camera(gaussians, lens, convention)
            }

            fn project_on_image(
                gaussians: &Gaussians<Bounded<Self>>,
                lens: &CameraParams<Bounded<Self>>,
                convention: &Convention,
                border: Option<Border>,
            ) -> (OnImage<Bounded<Self>>, Undecided) {
                of_camera_on_image(gaussians, lens, convention, border)
            }

            fn project_backward(
                gaussians: &Gaussians<Bounded<Self>>,
                lenses: &[CameraParams<Bounded<Self>>],
                gradients: &[SplatGradients<Bounded<Self>>],
                convention: &Convention,
            ) -> ProjectionGradientBounds {
                of_gradients(gaussians, lenses, gradients, convention)
            }

            fn pipeline(
                scene: &Scene<Bounded<Self>>,
                convention: &Convention,
                spellings: EvaluationOrders,
            ) -> Result<PipelineBounds<Self>, TooManyPairs> {
                of_scene(scene, convention, spellings)
            }
        }
    )*};
}

compiled!(Ieee Cuda CudaFast Wgsl WgslExpZero);

/// Bounds of the whole image.
#[must_use]
pub fn forward<M: Compiled>(view: &RasterView<'_, Bounded<M>>) -> RasterBounds<M> {
    forward_rounded(view, ExtraRoundings::NONE)
}

/// Bounds of the whole image for a program that rounds each term so often besides on its way into the
/// power, alpha, the transmittance and the weight of a colour.
#[must_use]
pub fn forward_rounded<M: Compiled>(
    view: &RasterView<'_, Bounded<M>>,
    extra: ExtraRoundings,
) -> RasterBounds<M> {
    M::forward(view, extra)
}

/// Bounds of the whole image, in the standard formulation.
#[must_use]
pub fn backward<M: Compiled>(
    view: &RasterView<'_, Bounded<M>>,
    loss: &LossView<'_, Bounded<M>>,
) -> GradientBounds {
    backward_as(view, &BackwardView::standard(*loss))
}

/// Bounds of the whole image, in the formulation of `inputs`: how far an f32 evaluation of that
/// expression may lie from its value (see [`crate::splat::formulated`]).
///
/// A walk from the front decides the stop again, so an undecided one is followed both ways; the
/// pixel's value is what f64 decides, from the inputs that the formulation reads.
#[must_use]
pub fn backward_as<M: Compiled>(
    view: &RasterView<'_, Bounded<M>>,
    inputs: &BackwardView<'_, Bounded<M>>,
) -> GradientBounds {
    M::backward(view, inputs)
}

/// Bounds of one camera's projection.
#[must_use]
pub fn project<M: Compiled>(
    gaussians: &Gaussians<Bounded<M>>,
    lens: &CameraParams<Bounded<M>>,
    convention: &Convention,
) -> ProjectionBounds<M> {
    M::project(gaussians, lens, convention)
}

/// Bounds of one camera's projection by a program that is given the size of the image, and how many of its
/// comparisons were followed both ways. Where a Gaussian is not kept nothing is said of its numbers.
#[must_use]
pub fn project_on_image<M: Compiled>(
    gaussians: &Gaussians<Bounded<M>>,
    lens: &CameraParams<Bounded<M>>,
    convention: &Convention,
    border: Option<Border>,
) -> (OnImage<Bounded<M>>, Undecided) {
    M::project_on_image(gaussians, lens, convention, border)
}

/// Bounds of the backward stage; `gradients` holds those of each camera's outputs.
#[must_use]
pub fn project_backward<M: Compiled>(
    gaussians: &Gaussians<Bounded<M>>,
    lenses: &[CameraParams<Bounded<M>>],
    gradients: &[SplatGradients<Bounded<M>>],
    convention: &Convention,
) -> ProjectionGradientBounds {
    M::project_backward(gaussians, lenses, gradients, convention)
}

/// Bounds of the images and gradients of a scene whose numbers are a kernel's inputs
/// ([`Scalar::from_f32`](crate::arithmetic::Scalar::from_f32)), for programs that spell the projection as `spellings` says.
///
/// # Errors
/// [`TooManyPairs`], where a pair counts if some program lists it.
pub fn pipeline<M: Compiled>(
    scene: &Scene<Bounded<M>>,
    convention: &Convention,
    spellings: EvaluationOrders,
) -> Result<PipelineBounds<M>, TooManyPairs> {
    M::pipeline(scene, convention, spellings)
}
