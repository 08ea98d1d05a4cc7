//! Bounds of the projection stages by themselves: their inputs are exact.
//!
//! Culling that roundings leave open is accepted either way. Forward that is for the caller to
//! judge, who has the kernel's decision ([`Projections::visible`]); backward, where only sums come
//! out, a Gaussian that may be culled may also contribute nothing.
//!
//! What is added up, over cameras for a Gaussian and over Gaussians for a camera, is returned as
//! [`ElementBound`]s, as for the rasterization: the order of summation is the kernel's.

use super::undecided::Undecided;
use crate::arithmetic::sum::ElementBound;
use crate::arithmetic::{Bounded, Model, Scalar, Tristate};
use crate::splat::backward::project::{Row, row};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::convention::Convention;
use crate::splat::project::on_image::{Border, OnImage, of_projections};
use crate::splat::project::{
    CameraParams, Projection, Projections, direction, project_all, project_one,
};
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::sh;
use rayon::prelude::*;

/// Numbers per Gaussian besides the colour's: mean 3, quaternion 4, scale 3, opacity 1.
const GEOMETRY: usize = 11;
/// Numbers of a camera's gradient: the upper three rows of `[4,4]`.
const CAMERA: usize = 12;
/// Gaussians that one thread differentiates together.
const PART: usize = 256;

/// What a conforming kernel may return for one camera's projection.
#[derive(Clone, Debug)]
pub struct ProjectionBounds<M> {
    /// The stage's numbers with their radii. Where `visible` is undecided, all of a Gaussian's
    /// numbers may be zero instead.
    pub projections: Projections<Bounded<M>>,
    /// Comparisons that were followed both ways.
    pub undecided: Undecided,
}

/// What [`super::project()`] gives.
pub(super) fn of_camera<M: Model>(
    gaussians: &Gaussians<Bounded<M>>,
    lens: &CameraParams<Bounded<M>>,
    convention: &Convention,
) -> ProjectionBounds<M> {
    let all = project_all(gaussians, lens, convention);
    ProjectionBounds {
        undecided: undecided_projections(gaussians, lens, &all, convention),
        projections: Projections::new(gaussians, lens, &all),
    }
}

/// What [`super::project_on_image`] gives.
pub(super) fn of_camera_on_image<M: Model>(
    gaussians: &Gaussians<Bounded<M>>,
    lens: &CameraParams<Bounded<M>>,
    convention: &Convention,
    border: Option<Border>,
) -> (OnImage<Bounded<M>>, Undecided) {
    let all = project_all(gaussians, lens, convention);
    let mut undecided = undecided_projections(gaussians, lens, &all, convention);
    let on_image = of_projections(gaussians, lens, &all, (convention, border));
    // Whether a Gaussian is kept is decided once.
    let open = on_image.kept.iter().filter(|&&kept| kept == Tristate::Undecided);
    undecided.culling = open.count() as u64;
    (on_image, undecided)
}

/// Bounds of the gradients of the projection by all cameras, before the order of summation is
/// accounted for.
#[derive(Clone, Debug)]
pub struct ProjectionGradientBounds {
    /// Numbers per Gaussian: 11 + D, or 11 + 3 K.
    pub stride: usize,
    /// `[N, stride]`: mean, quaternion, scale, opacity, colours as they were given.
    pub elements: Vec<ElementBound>,
    /// `[C,12]`: the upper three rows of each camera's matrix.
    pub viewmats: Vec<ElementBound>,
    /// `[C,N]`: whether the camera sees the Gaussian. One that it sees or may see adds a term to both
    /// sums; one of which roundings decide may have a determinant of 0, and then no finite bound.
    pub seen: Vec<Tristate>,
    /// Comparisons that were followed both ways.
    pub undecided: Undecided,
}

impl ProjectionGradientBounds {
    /// Number of cameras that contribute to Gaussian `g`.
    #[must_use]
    pub fn cameras_of(&self, g: usize) -> u64 {
        let gaussians = self.elements.len() / self.stride;
        let cameras = self.seen.iter().skip(g).step_by(gaussians);
        cameras.filter(|&&seen| seen != Tristate::Never).count() as u64
    }

    /// Whether roundings decide for some camera that it sees Gaussian `g`.
    #[must_use]
    pub fn is_open(&self, g: usize) -> bool {
        let gaussians = self.elements.len() / self.stride;
        self.seen.iter().skip(g).step_by(gaussians).any(|&seen| seen == Tristate::Undecided)
    }
}

/// What [`super::project_backward`] gives.
pub(super) fn of_gradients<M: Model>(
    gaussians: &Gaussians<Bounded<M>>,
    lenses: &[CameraParams<Bounded<M>>],
    gradients: &[SplatGradients<Bounded<M>>],
    convention: &Convention,
) -> ProjectionGradientBounds {
    let (n, stride) = (gaussians.len(), GEOMETRY + gaussians.colors.stride());
    let mut out = ProjectionGradientBounds {
        stride,
        elements: vec![ElementBound::default(); n * stride],
        viewmats: Vec::with_capacity(lenses.len() * CAMERA),
        seen: Vec::with_capacity(lenses.len() * n),
        undecided: Undecided::default(),
    };
    for (lens, gradients) in lenses.iter().zip(gradients) {
        let camera = OneCamera { gaussians, lens, gradients, convention };
        let parts: Vec<Part> = out
            .elements
            .par_chunks_mut(PART * stride)
            .enumerate()
            .map(|(part, elements)| camera.part(part * PART, elements, stride))
            .collect();
        let mut sums = [ElementBound::default(); CAMERA];
        for part in parts {
            sums.iter_mut().zip(&part.sums).for_each(|(sum, part)| sum.add_sum(part));
            out.seen.extend(part.seen);
            out.undecided.add(&part.undecided);
        }
        let terms =
            out.seen.iter().rev().take(n).filter(|&&seen| seen != Tristate::Never).count() as u64;
        sums.iter_mut().for_each(|sum| sum.finish(terms));
        out.viewmats.extend(sums);
    }
    let cameras = lenses.len() as u64;
    out.elements.iter_mut().for_each(|element| element.finish(cameras));
    out
}

/// One camera's part of the sums.
struct OneCamera<'a, M> {
    gaussians: &'a Gaussians<Bounded<M>>,
    lens: &'a CameraParams<Bounded<M>>,
    gradients: &'a SplatGradients<Bounded<M>>,
    convention: &'a Convention,
}

/// What the Gaussians of a part add to their camera.
struct Part {
    sums: [ElementBound; CAMERA],
    seen: Vec<Tristate>,
    undecided: Undecided,
}

impl<M: Model> OneCamera<'_, M> {
    /// Adds the gradients of the Gaussians from `first` on to their `elements`.
    fn part(&self, first: usize, elements: &mut [ElementBound], stride: usize) -> Part {
        let zero = Bounded::from_f64(0.0);
        let mut part = Part {
            sums: [ElementBound::default(); CAMERA],
            seen: Vec::new(),
            undecided: Undecided::default(),
        };
        let mut v_color = vec![zero; stride - GEOMETRY];
        for (id, elements) in (first..).zip(elements.chunks_exact_mut(stride)) {
            let p = project_one(self.gaussians, id, self.lens, self.convention);
            part.seen.push(p.as_ref().map_or(Tristate::Never, |p| p.seen));
            let Some(p) = p else { continue };
            let one = (id, &p);
            count(&mut part.undecided, self.gaussians, one, self.lens, self.convention);
            let row =
                row(self.gaussians, one, self.lens, self.gradients, &mut v_color, self.convention);
            let term = |x: Bounded<M>| if p.seen == Tristate::Always { x } else { x.or(zero) };
            let values = numbers(&row).into_iter().chain(v_color.iter().copied());
            elements.iter_mut().zip(values).for_each(|(sum, x)| sum.add(term(x)));
            part.sums.iter_mut().zip(camera(&row)).for_each(|(sum, x)| sum.add(term(x)));
        }
        part
    }
}

/// A Gaussian's gradients in the order of [`ProjectionGradientBounds::elements`].
fn numbers<M: Model>(row: &Row<Bounded<M>>) -> [Bounded<M>; GEOMETRY] {
    let ([mx, my, mz], [qw, qx, qy, qz], [sx, sy, sz]) = (row.mean, row.quat, row.scale);
    [mx, my, mz, qw, qx, qy, qz, sx, sy, sz, row.opacity]
}

/// Its part of the camera's gradient, row by row.
fn camera<M: Model>(row: &Row<Bounded<M>>) -> [Bounded<M>; CAMERA] {
    std::array::from_fn(|i| match i % 4 {
        3 => row.translation[i / 4],
        k => row.rotation[i / 4][k],
    })
}

/// Counts the undecided comparisons of one camera's projection.
pub(super) fn undecided_projections<M: Model>(
    gaussians: &Gaussians<Bounded<M>>,
    lens: &CameraParams<Bounded<M>>,
    projections: &[Option<Projection<Bounded<M>>>],
    convention: &Convention,
) -> Undecided {
    let mut undecided = Undecided::default();
    for (id, p) in projections.iter().enumerate() {
        let Some(p) = p else { continue };
        count(&mut undecided, gaussians, (id, p), lens, convention);
    }
    undecided
}

/// Counts those of one Gaussian.
fn count<M: Model>(
    undecided: &mut Undecided,
    gaussians: &Gaussians<Bounded<M>>,
    (id, p): (usize, &Projection<Bounded<M>>),
    lens: &CameraParams<Bounded<M>>,
    convention: &Convention,
) {
    let zero = Bounded::from_f64(0.0);
    let open = |truths: &[Tristate]| {
        truths.iter().filter(|&&truth| truth == Tristate::Undecided).count() as u64
    };
    undecided.culling += open(&[p.seen]);
    undecided.jacobian_limit += open(&p.limited);
    if convention.antialiased {
        undecided.compensation += open(&[zero.less(p.dets[0] / p.dets[1])]);
    }
    if let Colors::Harmonics { .. } = gaussians.colors {
        let stride = gaussians.colors.stride();
        let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
        let (d, _) = direction(gaussians, id, lens.eye());
        undecided.color_clamp += open(&sh::unclamped(values, d).map(|c| zero.less(c)));
    }
}
