//! The projection of a program that is given the image's size, and leaves out what lies beside the image.
//!
//! With the projected mean m and the radius r, both per axis and r in whole pixels, a Gaussian is left out
//! where m + r <= 0 or m - r >= the image's side in one of them, and where no radius is above 0. This is
//! the rule of gsplat's `fully_fused_projection`. The radius is the half-size of the convention's extent,
//! rounded up. 3D Gaussian Splatting leaves out what no tile of the image lists ([`Culling::Tiles`]): a Gaussian
//! whose interval ends within the last tile but beside the image is kept, and one that reaches less than a pixel
//! into it from the left or from above is not.

use super::{CameraParams, Projection, Projections, compensation, project_all};
use crate::arithmetic::{Scalar, Tristate};
use crate::splat::bin::{first_and_end, half_size};
use crate::splat::convention::{Convention, Extent};
use crate::splat::scene::Gaussians;

/// What a Gaussian must have a part of to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Culling {
    /// The image.
    #[default]
    Pixels,
    /// The image's tiles, as they list Gaussians (`bin.rs`).
    Tiles,
}

/// Width and height of an image, pixels, and what of it a Gaussian must have a part of.
pub type Border = ([u32; 2], Culling);

/// What such a program gives for one camera.
#[derive(Clone, Debug)]
pub struct OnImage<S> {
    /// The stage's numbers, of Gaussians beside the image as well.
    pub projections: Projections<S>,
    /// `[N]` whether a Gaussian is kept: neither culled nor beside the image.
    pub kept: Vec<Tristate>,
    /// `[N,2]` the least and the greatest radius in x and y that a program may have of a Gaussian which it
    /// keeps, whole pixels; one number but for bounds.
    pub radii: Vec<[[f64; 2]; 2]>,
    /// `[N]` antialiasing's compensations, whether or not the convention multiplies opacities by them.
    pub compensations: Vec<S>,
}

/// The projection by one camera onto an image. Without a `border` nothing lies beside it.
#[must_use]
pub fn project_on_image<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    convention: &Convention,
    border: Option<Border>,
) -> OnImage<S> {
    of_projections(gaussians, lens, &project_all(gaussians, lens, convention), (convention, border))
}

pub(crate) fn of_projections<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    all: &[Option<Projection<S>>],
    (convention, border): (&Convention, Option<Border>),
) -> OnImage<S> {
    let of = |p: &Option<Projection<S>>| match p {
        None => (Tristate::Never, [[0.0; 2]; 2]),
        Some(p) => {
            let radii = half_size(p, convention).map(whole_pixels);
            (!(!p.seen | left_out(p.mean2d, radii, (convention, border))), radii)
        }
    };
    let (kept, radii) = all.iter().map(of).unzip();
    let factor = |p: &Projection<S>| compensation(p.dets, lens.spellings);
    let compensations = all.iter().map(|p| p.as_ref().map_or(S::from_f64(0.0), factor)).collect();
    OnImage { projections: Projections::new(gaussians, lens, all), kept, radii, compensations }
}

/// The least and the greatest whole number that a half-size may be rounded up to; 0 for one that is none.
fn whole_pixels<S: Scalar>(half: S) -> [f64; 2] {
    let (value, radius) = (half.value(), half.uncertainty());
    if radius == 0.0 {
        return [value.ceil().max(0.0); 2];
    }
    if !(radius < f64::INFINITY) {
        return [0.0, f64::INFINITY];
    }
    // One rounding each, at most 2^-53 of the result.
    let [low, high] = [value - radius, value + radius];
    [low - low.abs() * f64::EPSILON, high + high.abs() * f64::EPSILON].map(|x| x.ceil().max(0.0))
}

/// Whether the Gaussian has no radius, or lies beside the image.
fn left_out<S: Scalar>(
    mean: [S; 2],
    radii: [[f64; 2]; 2],
    (convention, border): (&Convention, Option<Border>),
) -> Tristate {
    let positive =
        |[low, high]: [f64; 2]| both(Tristate::known(low > 0.0), Tristate::known(high > 0.0));
    let none = !(positive(radii[0]) | positive(radii[1]));
    let Some((size, culling)) = border else { return none };
    (0..2).fold(none, |out, axis| {
        let beside = |radius| match culling {
            Culling::Pixels => beside_pixels(mean[axis], radius, size[axis]),
            Culling::Tiles => beside_tiles(mean[axis], radius, axis, (convention, size)),
        };
        // Where there is one radius a program asks once.
        let [low, high] = radii[axis];
        let of_low = beside(low);
        let of_high = if low.total_cmp(&high).is_eq() { of_low } else { beside(high) };
        // Of two radii that of the smaller one is beside wherever that of the larger one is.
        out | both(of_low, of_high)
    })
}

/// Whether an interval about a mean lies beside an image of that side.
fn beside_pixels<S: Scalar>(mean: S, radius: f64, side: u32) -> Tristate {
    let (radius, zero) = (S::from_f64(radius), S::from_f64(0.0));
    let side = S::from_f64(f64::from(side));
    !zero.less(mean + radius) | !(mean - radius).less(side)
}

/// Whether no tile of the image lists a Gaussian. With the first tile and the end of [`first_and_end`] these are the
/// tiles from floor(first) to the end, cut to the image's. With a radius of 1 or more there is one unless the end is
/// in front of the first or the first behind the last: the end of a square extent is rounded down, so that it is in
/// front where it is below 1; that per axis is rounded up, and is where it is not above 0.
fn beside_tiles<S: Scalar>(
    mean: S,
    radius: f64,
    axis: usize,
    (convention, size): (&Convention, [u32; 2]),
) -> Tristate {
    let [first, end] = first_and_end(mean, S::from_f64(radius), convention, axis);
    let in_front = match convention.extent {
        Extent::Square { .. } => end.less(S::from_f64(1.0)),
        Extent::PerAxis { .. } => !S::from_f64(0.0).less(end),
    };
    in_front | !first.less(S::from_f64(f64::from(convention.tiles(size)[axis])))
}

/// What holds at both ends of an interval; undecided where they differ.
fn both(one: Tristate, other: Tristate) -> Tristate {
    if one == other { one } else { Tristate::Undecided }
}
