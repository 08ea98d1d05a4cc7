//! Bounds of the rasterization stages: what any conforming f32 kernel may return.
//!
//! The walk is the one of [`crate::rasterize`], over [`Bounded`], pixel by pixel. A comparison that
//! is decided whatever the roundings is followed as usual. An *undecided* one is followed both
//! ways: the pixel's walk splits into paths. The first path is always the one that the f64 oracle
//! takes; every result's value is the first path's, and its radius reaches over all paths. Nothing
//! is masked out, and no budget of mismatches exists: either choice by a kernel is accepted and
//! nothing else is.
//!
//! When a pixel has split into more than [`MAX_PATHS`] paths, the paths beside the first are merged
//! into one that covers them, which keeps the cost bounded and the radius rigorous.

mod backward;
mod backward_lanes;
mod forward;
mod forward_lanes;
mod lanes;
#[cfg(test)]
mod test_views;

pub use backward::{ElementBound, GradientBounds, backward};
pub use forward::{RasterBounds, forward};

use crate::pair::sigma;
use crate::reach::Footprint;
use crate::scalar::{Arith, Bounded, Model, Scalar, Truth};
use crate::view::RasterView;

/// Paths that a pixel's walk may split into before they are merged.
pub const MAX_PATHS: usize = 8;

/// alpha of one pair, and whether the pair counts.
struct BoundedAlpha<M> {
    offset: [Bounded<M>; 2],
    gauss: Bounded<M>,
    alpha: Bounded<M>,
    visible: Truth,
    /// What the f64 oracle decides.
    value_visible: bool,
}

/// Every Gaussian's footprint; one whose inputs are not exact may reach anywhere, because the reach
/// is that of the values.
fn footprints<M: Model>(view: &RasterView<'_, Bounded<M>>) -> Vec<Footprint<Bounded<M>>> {
    let mut all = crate::reach::footprints(view);
    for footprint in &mut all {
        let inputs = footprint.conic.iter().chain(&footprint.mean2d).chain([&footprint.opacity]);
        if inputs.map(|x| x.radius()).any(|radius| radius > 0.0) {
            *footprint = footprint.anywhere();
        }
    }
    all
}

/// Evaluates a pair at a sample point; `None` where it is skipped whatever the roundings.
fn alpha_at<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    footprint: &Footprint<Bounded<M>>,
    sample: [Bounded<M>; 2],
) -> Option<BoundedAlpha<M>> {
    let offset = [footprint.mean2d[0] - sample[0], footprint.mean2d[1] - sample[1]];
    let power = -sigma(footprint.conic, offset[0], offset[1]);
    let zero = Bounded::from_f64(0.0);
    let above = zero.less(power);
    if above == Truth::Always {
        return None;
    }
    let gauss = power.exp();
    let alpha = Bounded::from_f64(view.convention.alpha_max).min(footprint.opacity * gauss);
    let alpha_min = Bounded::from_f64(view.convention.alpha_min);
    let visible = !(above | alpha.less(alpha_min));
    let value_visible = !(zero.value_less(power) || alpha.value_less(alpha_min));
    (visible != Truth::Never).then_some(BoundedAlpha {
        offset,
        gauss,
        alpha,
        visible,
        value_visible,
    })
}
