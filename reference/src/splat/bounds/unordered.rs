//! Several Gaussians at one pixel of which too many orders are possible to follow each: what holds
//! in every order, and whichever of the perhaps visible ones are there.
//!
//! Let t be the transmittance in front of all of them and `f_i` = 1 - `alpha_i` <= 1. In any order the
//! transmittance in front of one of them lies between t times the product of all `f_i` and t. A
//! product of n factors in any order carries n roundings, (1 - u)^n >= 1 - n u and
//! (1 + u)^n <= 1/(1 - n u) <= 1 + 2 n u while n u <= 1/2, so 1 -+ 2 n u covers them (and the f64
//! roundings, far below u, with the factor 2).
//!
//! What is seen behind one of them is blended from some of the others over what lies behind all. A
//! blend alpha c + (1 - alpha) b stays between c and b but for its roundings, so from an interval that
//! holds the background and all colours, n times widened to what any one blend within it may give,
//! nothing can escape.

use super::alpha::{BoundedAlpha, stops};
use super::backward_paths::BackwardPaths;
use super::forward_paths::Path;
use crate::arithmetic::sum::in_any_order;
use crate::arithmetic::{Bounded, Model, Scalar, Tristate, ULP};
use crate::splat::tile::Entry;
use crate::splat::view::RasterView;

/// One of the Gaussians.
pub(super) struct Member<'a, M> {
    pub(super) entry: &'a Entry<Bounded<M>>,
    pub(super) pair: BoundedAlpha<M>,
}

/// The smallest and the largest product of the factors that any order and choice may give.
struct Product {
    low: f64,
    high: f64,
    /// Number of factors.
    factors: f64,
}

impl Product {
    fn new<M: Model>(members: &[Member<'_, M>]) -> Self {
        let (mut low, mut high) = (1.0, 1.0);
        for Member { pair, .. } in members {
            let [least, most] = (Bounded::<M>::from_f64(1.0) - pair.alpha).ends();
            low *= least.clamp(0.0, 1.0);
            high *= if pair.visible == Tristate::Always { most.clamp(0.0, 1.0) } else { 1.0 };
        }
        Self { low, high, factors: members.len() as f64 }
    }

    /// 2 n u for operations of this many ulp; infinite where the formula does not hold.
    fn rounding(&self, ulps: f64) -> f64 {
        let nu = self.factors * (ulps * ULP + 4.0 * f64::EPSILON);
        if nu <= 0.25 { 2.0 * nu } else { f64::INFINITY }
    }

    /// What flushing may take from n results.
    fn flushed(&self) -> f64 {
        self.factors * 2.0 * f64::from(f32::MIN_POSITIVE)
    }
}

/// Blends all members along a path that has not stopped: the path that passes all of them, and the one
/// that stops between them, as far as each is possible. `end` is the position of the last
/// member.
pub(super) fn blend<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    path: &Path<M>,
    members: &[Member<'_, M>],
    end: i32,
) -> Vec<Path<M>> {
    let (product, [t_low, t_high]) = (Product::new(members), path.t.ends());
    let rounding = product.rounding(M::TABLE.basic_ulp);
    let low = (t_low * product.low * (1.0 - rounding) - product.flushed()).max(0.0);
    let high = (t_high * product.high * (1.0 + rounding) + product.flushed()).min(t_high);
    let along = |t, all: bool, in_front: Bounded<M>| {
        let mut path = path.clone();
        for (d, slot) in path.colors.iter_mut().enumerate() {
            let mut terms = vec![*slot];
            terms.extend(members.iter().map(|Member { entry, pair }| {
                let term = view.splats.color(entry.id)[d] * (pair.alpha * in_front);
                let certain = all && pair.visible == Tristate::Always;
                if certain { term } else { term.or(Bounded::from_f64(0.0)) }
            }));
            *slot = in_any_order(&terms);
        }
        for Member { pair, .. } in members {
            path.weights = path.weights.and(in_front, pair.alpha * in_front);
        }
        Path { t, ..path }
    };
    let in_front = Bounded::between(low, t_high);
    let behind = Bounded::between(low.min(high), high);
    let mut paths = Vec::new();
    if stops([in_front, behind], view.convention) != Tristate::Always {
        let goes_on = along(behind, true, in_front);
        paths.push(Path { last: end, other_last: Vec::new(), ..goes_on });
    }
    if stops([in_front; 2], view.convention) != Tristate::Never {
        let mut stopped = along(in_front, false, in_front);
        stopped.other_last.push(stopped.last);
        paths.push(Path { last: end, stopped: true, ..stopped });
    }
    paths
}

/// Differentiates all members along every path of a walk back; their terms in the members' order.
pub(super) fn differentiate<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    walk: &mut BackwardPaths<'_, M>,
    members: &[Member<'_, M>],
) -> Vec<Vec<Bounded<M>>> {
    let product = Product::new(members);
    let rounding = product.rounding(M::TABLE.div_ulp);
    let mut before = Vec::new();
    for path in &mut walk.paths {
        let [t_low, t_high] = path.t.ends();
        // Dividing by 1 at most leaves t, dividing by all of them gives the most.
        let low = t_low * (1.0 - rounding) - product.flushed();
        let most = t_high / product.low * (1.0 + rounding) + product.flushed();
        let behind = seen_within(view, &path.remainder, members);
        before.push((Bounded::between(low, most), behind.clone()));
        let least = t_low / product.high * (1.0 - rounding) - product.flushed();
        path.t = Bounded::between(least.min(most), most);
        path.remainder = behind;
    }
    let zero = Bounded::from_f64(0.0);
    let terms_of = |Member { entry, pair }: &Member<'_, M>| {
        for (i, (t, behind)) in before.iter().enumerate() {
            walk.differentiate(view, entry, pair, *t, &mut behind.clone(), i > 0);
        }
        let certain = pair.visible == Tristate::Always;
        walk.terms.iter().map(|&term| if certain { term } else { term.or(zero) }).collect()
    };
    members.iter().map(terms_of).collect()
}

/// Every colour that may be seen through any of the members, by channel.
fn seen_within<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    behind: &[Bounded<M>],
    members: &[Member<'_, M>],
) -> Vec<Bounded<M>> {
    let hull = |numbers: &mut dyn Iterator<Item = Bounded<M>>| {
        let start = [f64::INFINITY, f64::NEG_INFINITY];
        let [low, high] = numbers
            .map(Bounded::ends)
            .fold(start, |[low, high], [least, most]| [low.min(least), high.max(most)]);
        Bounded::between(low, high)
    };
    let channel = |(d, &behind): (usize, &Bounded<M>)| {
        let colors = members.iter().map(|m| view.splats.color(m.entry.id)[d]);
        let mut seen = hull(&mut colors.chain([behind]));
        for _ in members {
            let blends = members.iter().map(|Member { pair, .. }| {
                pair.alpha * seen + (Bounded::from_f64(1.0) - pair.alpha) * seen
            });
            seen = hull(&mut blends.chain([seen]));
        }
        seen
    };
    behind.iter().enumerate().map(channel).collect()
}
