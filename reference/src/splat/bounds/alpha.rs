//! alpha of a pair over bounded numbers, and when a pixel stops.

use super::pair::power;
use crate::arithmetic::{Arith, Bounded, ExtraRoundings, Model, Scalar, Tristate};
use crate::splat::convention::Convention;
use crate::splat::pair::one_term;
use crate::splat::reach::Footprint;
use crate::splat::view::RasterView;

/// Paths that a pixel's walk may split into before they are merged.
pub const MAX_PATHS: usize = 8;

/// Whether a pixel stops in front of a Gaussian with the transmittances `t` in front of it and behind.
///
/// Where it stops after blending, the T behind one Gaussian is that in front of the next, and is compared
/// there. If roundings leave that comparison open, one path stops and the other blends one more Gaussian.
pub(super) fn stops<M: Model>(t: [Bounded<M>; 2], convention: &Convention) -> Tristate {
    let ([in_front, behind], rule) = (t, convention.stop_rule);
    let (t, least) =
        (rule.deciding(in_front, behind), Bounded::from_f64(convention.transmittance_min));
    if rule.stops_when_equal() { !least.less(t) } else { t.less(least) }
}

/// The same as the f64 oracle decides it.
pub(super) fn value_stops<M: Model>(t: [Bounded<M>; 2], convention: &Convention) -> bool {
    let ([in_front, behind], rule) = (t, convention.stop_rule);
    let (t, least) =
        (rule.deciding(in_front, behind), Bounded::from_f64(convention.transmittance_min));
    if rule.stops_when_equal() { !least.value_less(t) } else { t.value_less(least) }
}

/// alpha of one pair, and whether the pair counts.
#[derive(Clone, Copy)]
pub(super) struct BoundedAlpha<M> {
    pub(super) offset: [Bounded<M>; 2],
    pub(super) gauss: Bounded<M>,
    pub(super) alpha: Bounded<M>,
    pub(super) visible: Tristate,
    /// What the f64 oracle decides.
    pub(super) value_visible: bool,
}

/// What else is known of a pair where it counts: its power is then not above 0 and its alpha not
/// below `alpha_min`. Used where the power is known (an overflow may make it NaN) but not well.
fn if_visible<M: Model>(
    pair: BoundedAlpha<M>,
    power: Bounded<M>,
    convention: &Convention,
) -> BoundedAlpha<M> {
    if !(0.5..f64::INFINITY).contains(&power.radius()) {
        return pair;
    }
    // e^-x (1 + (a + b x) ulp) is largest for x = 0 or where b x e^-x is, below b.
    let ulps = M::TABLE.exp_ulp + M::TABLE.exp_ulp_per_x + 1.0;
    let ends = [convention.alpha_min, convention.alpha_max].map(Bounded::<M>::from_f64);
    let ([least, _], [_, most]) = (ends[0].ends(), ends[1].ends());
    BoundedAlpha {
        gauss: Bounded::between(0.0, 1.0 + ulps * f64::from(f32::EPSILON)),
        alpha: Bounded::between(least, most),
        ..pair
    }
}

/// Evaluates a pair at a sample point, for a program that rounds the power and alpha so often besides;
/// `None` where it is skipped whatever the roundings.
pub(super) fn alpha_at<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    footprint: &Footprint<Bounded<M>>,
    sample: [Bounded<M>; 2],
    extra: ExtraRoundings,
) -> Option<BoundedAlpha<M>> {
    let offset = [footprint.mean2d[0] - sample[0], footprint.mean2d[1] - sample[1]];
    let power = power(footprint.conic, offset, extra);
    let zero = Bounded::from_f64(0.0);
    let above = zero.less(power);
    if above == Tristate::Always {
        return None;
    }
    let gauss = power.exp();
    let raw = one_term(footprint.opacity * gauss, extra);
    let alpha = Bounded::from_f64(view.convention.alpha_max).min(raw);
    let alpha_min = Bounded::from_f64(view.convention.alpha_min);
    let visible = !(above | alpha.less(alpha_min));
    let value_visible = !(zero.value_less(power) || alpha.value_less(alpha_min));
    let pair = BoundedAlpha { offset, gauss, alpha, visible, value_visible };
    match visible {
        Tristate::Never => None,
        Tristate::Always => Some(pair),
        Tristate::Undecided => Some(if_visible(pair, power, view.convention)),
    }
}
