//! One pixel, forward and back at once, of Gaussians of which nothing is exact.
//!
//! A pixel's list is that of its tile, in the order of the values' depths, as long as any program's.
//! A Gaussian that the tile may not list is followed like one that may not be visible: both ways.
//! Where the order is undecided, every order is followed as long as they are few
//! ([`super::order`]), and beyond that what holds in every order is used ([`super::unordered`]).
//!
//! The way back starts once from every end that the way forward may have. The last contributor
//! is known as a range: what lies in front of `certain` was passed by the walk forward, what lies
//! behind `last` was not reached, and what lies between is followed both ways.

use super::alpha::{BoundedAlpha, MAX_PATHS, alpha_at};
use super::backward_paths::{BackwardPaths, gradient_flows};
use super::forward_paths::{Outcome, Path, Pixel, finish};
use super::order::{Key, decided_parts, orders};
use super::undecided::Undecided;
use super::unordered::{self, Member};
use crate::arithmetic::{Bounded, ExtraRoundings, Model, Scalar, Tristate};
use crate::splat::tile::Entry;
use crate::splat::view::RasterView;
use std::ops::Range;

/// A tile's list, ready for its pixels.
pub(super) struct TileList<M> {
    pub(super) entries: Vec<Entry<Bounded<M>>>,
    pub(super) keys: Vec<Key<M>>,
    /// Whether the tile lists each entry, and what the values decide.
    pub(super) listed: Vec<(Tristate, bool)>,
    /// Entries between which the order may be undecided.
    pub(super) groups: Vec<Range<usize>>,
}

/// An entry that a pixel sees or may see.
#[derive(Clone, Copy)]
pub(super) struct Visit<M> {
    /// Its place in the tile's list.
    pub(super) slot: usize,
    pair: BoundedAlpha<M>,
}

/// Visits between which the order may be undecided.
struct Part {
    visits: Range<usize>,
    /// The orders of two or more, as places within the part; `None` where they are too many.
    orders: Option<Vec<Vec<usize>>>,
}

/// One end of the way forward.
struct End<M> {
    t: Bounded<M>,
    certain: i32,
    last: i32,
}

/// A pixel after the way forward.
pub(super) struct Forward<M> {
    pub(super) outcome: Outcome<M>,
    pub(super) visits: Vec<Visit<M>>,
    parts: Vec<Part>,
    ends: Vec<End<M>>,
}

fn position(slot: usize) -> i32 {
    i32::try_from(slot).unwrap_or(i32::MAX)
}

impl<M: Model> End<M> {
    fn of(path: &Path<M>) -> Self {
        let all = || path.other_last.iter().chain([&path.last]).copied();
        let [certain, last] = [all().min(), all().max()].map(|x| x.unwrap_or(-1));
        Self { t: path.t, certain: certain + 1, last }
    }
}

impl<M: Model> TileList<M> {
    /// Walks the pixel with this sample point to its end.
    pub(super) fn forward(
        &self,
        view: &RasterView<'_, Bounded<M>>,
        sample: [Bounded<M>; 2],
        undecided: &mut Undecided,
    ) -> Forward<M> {
        let mut pixel = Pixel::new(view.splats.channels);
        let (mut visits, mut parts) = (Vec::new(), Vec::new());
        for group in &self.groups {
            if !pixel.live() {
                break;
            }
            let first = visits.len();
            for slot in group.clone() {
                if self.entries[slot].footprint.reaches(sample) {
                    visits.extend(self.visit(view, slot, sample, undecided));
                }
            }
            for part in self.parts(&visits, first) {
                undecided.order += part.visits.len() as u64 - 1;
                self.blend(view, &mut pixel, &visits, &part);
                parts.push(part);
            }
        }
        undecided.stop += pixel.undecided_stops;
        let ends = pixel.paths.iter().map(End::of).collect();
        Forward { outcome: finish(pixel, view.background), visits, parts, ends }
    }

    /// Looks at one entry; `None` where it is skipped whatever the roundings.
    fn visit(
        &self,
        view: &RasterView<'_, Bounded<M>>,
        slot: usize,
        sample: [Bounded<M>; 2],
        undecided: &mut Undecided,
    ) -> Option<Visit<M>> {
        let entry = &self.entries[slot];
        let none = ExtraRoundings::NONE;
        let mut pair = alpha_at(view, &entry.footprint, sample, none)?;
        undecided.alpha += u64::from(pair.visible == Tristate::Undecided);
        let flows = gradient_flows(view, entry, &pair, none).0;
        undecided.alpha_clamp += u64::from(flows == Tristate::Undecided);
        let (listed, nominal) = self.listed[slot];
        if listed != Tristate::Always {
            undecided.tile += 1;
            pair.visible = Tristate::Undecided;
            pair.value_visible &= nominal;
        }
        Some(Visit { slot, pair })
    }

    /// The parts of the visits from `first` on.
    fn parts(&self, visits: &[Visit<M>], first: usize) -> Vec<Part> {
        let one = |visit: usize| Part { visits: visit..visit + 1, orders: Some(Vec::new()) };
        match visits.len() - first {
            0 => return Vec::new(),
            1 => return vec![one(first)],
            _ => {}
        }
        let keys: Vec<_> = visits[first..].iter().map(|visit| &self.keys[visit.slot]).collect();
        let parts = decided_parts(&keys).into_iter().map(|part| {
            let orders = orders(&keys[part.clone()]);
            Part { visits: first + part.start..first + part.end, orders }
        });
        parts.collect()
    }

    fn members(&self, visits: &[Visit<M>]) -> Vec<Member<'_, M>> {
        let member =
            |visit: &Visit<M>| Member { entry: &self.entries[visit.slot], pair: visit.pair };
        visits.iter().map(member).collect()
    }

    /// Blends one part along every path, in every order.
    fn blend(
        &self,
        view: &RasterView<'_, Bounded<M>>,
        pixel: &mut Pixel<M>,
        visits: &[Visit<M>],
        part: &Part,
    ) {
        let visits = &visits[part.visits.clone()];
        let step = |pixel: &mut Pixel<M>, visit: &Visit<M>| {
            let color = view.splats.color(self.entries[visit.slot].id);
            pixel.step(&visit.pair, color, position(visit.slot), view.convention);
        };
        if let [visit] = visits {
            return step(pixel, visit);
        }
        let end = position(visits.last().map_or(0, |visit| visit.slot));
        for path in std::mem::take(&mut pixel.paths) {
            if path.stopped {
                pixel.paths.push(path);
                continue;
            }
            let Some(orders) = &part.orders else {
                let all = unordered::blend(view, &path, &self.members(visits), end);
                pixel.paths.extend(all);
                continue;
            };
            for order in orders {
                let mut one = Pixel::on(vec![path.clone()]);
                order.iter().for_each(|&i| step(&mut one, &visits[i]));
                pixel.undecided_stops += one.undecided_stops;
                pixel.paths.extend(one.paths.into_iter().map(|after| settled(after, &path, end)));
            }
        }
        if pixel.paths.len() > MAX_PATHS {
            pixel.merge();
        }
    }

    /// Differentiates a pixel from every end; `terms` `[visits, 6 + D]` covers all of them.
    pub(super) fn backward(
        &self,
        view: &RasterView<'_, Bounded<M>>,
        forward: &Forward<M>,
        (v_pixel, v_alpha): (&[Bounded<M>], Bounded<M>),
        terms: &mut Vec<Bounded<M>>,
    ) {
        let (visits, zero) = (&forward.visits, Bounded::from_f64(0.0));
        terms.clear();
        for (i, end) in forward.ends.iter().enumerate() {
            let mut walk = BackwardPaths::from(view, end.t, v_pixel, v_alpha);
            let stride = walk.terms.len();
            let nothing = vec![zero; stride];
            terms.resize(visits.len() * stride, zero);
            let mut give = |visit: usize, new: &[Bounded<M>]| {
                let slots = &mut terms[visit * stride..(visit + 1) * stride];
                for (slot, &new) in slots.iter_mut().zip(new) {
                    *slot = if i == 0 { new } else { slot.or(new) };
                }
            };
            for part in forward.parts.iter().rev() {
                if let [Visit { slot, pair }] = visits[part.visits.clone()]
                    && position(slot) < end.certain
                {
                    walk.step(view, &self.entries[slot], &pair);
                    give(part.visits.start, &walk.terms);
                    continue;
                }
                // The end lies between parts: a walk that passed a part ends with or behind it.
                let mut reached = visits[part.visits.clone()].to_vec();
                if position(reached[0].slot) > end.last {
                    part.visits.clone().for_each(|visit| give(visit, &nothing));
                    continue;
                }
                for visit in reached.iter_mut().filter(|v| position(v.slot) >= end.certain) {
                    visit.pair.visible = Tristate::Undecided;
                }
                for (visit, new) in
                    part.visits.clone().zip(self.unblend(view, &mut walk, &reached, part))
                {
                    give(visit, &new);
                }
            }
        }
    }

    /// Differentiates one part along every path, in every order; the terms of each visit.
    fn unblend(
        &self,
        view: &RasterView<'_, Bounded<M>>,
        walk: &mut BackwardPaths<'_, M>,
        visits: &[Visit<M>],
        part: &Part,
    ) -> Vec<Vec<Bounded<M>>> {
        if let [visit] = visits {
            walk.step(view, &self.entries[visit.slot], &visit.pair);
            return vec![walk.terms.clone()];
        }
        let Some(orders) = &part.orders else {
            return unordered::differentiate(view, walk, &self.members(visits));
        };
        let (before, mut after) = (walk.paths.clone(), Vec::new());
        let mut terms: Vec<Vec<Bounded<M>>> = vec![Vec::new(); visits.len()];
        for order in orders {
            walk.paths.clone_from(&before);
            for &i in order.iter().rev() {
                walk.step(view, &self.entries[visits[i].slot], &visits[i].pair);
                if terms[i].is_empty() {
                    terms[i].clone_from(&walk.terms);
                } else {
                    terms[i].iter_mut().zip(&walk.terms).for_each(|(a, &b)| *a = a.or(b));
                }
            }
            after.append(&mut walk.paths);
        }
        walk.paths = after;
        if walk.paths.len() > MAX_PATHS {
            walk.merge();
        }
        terms
    }
}

/// A path behind a part with several orders, of which `before` is the path in front: a walk back may
/// meet all of the part, or, where the pixel stopped within it, any of it.
fn settled<M: Model>(mut after: Path<M>, before: &Path<M>, end: i32) -> Path<M> {
    if after.stopped {
        after.other_last.extend(before.other_last.iter().chain([&before.last]));
    } else {
        after.other_last.clear();
    }
    Path { last: end, ..after }
}
