//! What the pairs of pixels and Gaussians decide, front to back, with the expressions of
//! [`rasterize`](crate::splat::rasterize).

use super::{Decision, Met, Side, single};
use crate::arithmetic::{Arith, ln};
use crate::splat::convention::StopRule;
use crate::splat::pair::sigma;
use crate::splat::view::RasterView;

/// The sides of one decision that some pair was on: a bit each, since there are many pairs.
#[derive(Clone, Copy, Default)]
struct Sides(u8);

impl Sides {
    #[inline]
    fn add(&mut self, number: f32, limit: f32) {
        self.0 |= u8::from(number < limit)
            | u8::from(number == limit) << 1
            | u8::from(number > limit) << 2;
    }

    fn record(self, decision: Decision, met: &mut Met) {
        let there = Side::ALL.into_iter().filter(|&side| self.0 >> side as u8 & 1 == 1);
        met.extend(there.map(|side| (decision, side)));
    }
}

/// One walk over all pixels.
pub(super) struct Walk<'a> {
    view: &'a RasterView<'a, f32>,
    /// Per Gaussian: beyond this sigma alpha is below the least that counts, whatever the roundings.
    reach: Vec<f32>,
    power: Sides,
    alpha_max: Sides,
    alpha_min: Sides,
    transmittance: Sides,
}

impl<'a> Walk<'a> {
    /// Walks.
    pub(super) fn new(view: &'a RasterView<'a, f32>) -> Self {
        let reach = |&opacity: &f32| {
            // exp(-sigma) opacity < alpha_min / e from here on, which no rounding makes up for.
            let sigmas = ln(f64::from(opacity) / view.convention.alpha_min) + 1.0;
            if sigmas.is_finite() { single(sigmas.max(0.0)) } else { f32::INFINITY }
        };
        let none = Sides::default();
        let mut walk = Self {
            view,
            reach: view.splats.opacities.iter().map(reach).collect(),
            power: none,
            alpha_max: none,
            alpha_min: none,
            transmittance: none,
        };
        let (tiles, side) = (view.lists.tiles[0], view.lists.tile_size);
        for y in 0..view.height {
            for x in 0..view.width {
                let _ = walk.pixel([x, y], (y / side * tiles + x / side) as usize);
            }
        }
        walk
    }

    /// Walks a tile's list for one of its pixels; the transmittance that is left.
    pub(super) fn pixel(&mut self, pixel: [u32; 2], tile: usize) -> f32 {
        let convention = self.view.convention;
        let [alpha_max, alpha_min, least] =
            [convention.alpha_max, convention.alpha_min, convention.transmittance_min].map(single);
        let sample = pixel.map(|at| single(f64::from(at) + convention.pixel_center));
        let splats = self.view.splats;
        let mut t = 1.0f32;
        for &id in &self.view.lists.flatten_ids[self.view.lists.range(tile)] {
            let id = id as usize;
            let [mx, my] = splats.means2d[id];
            let sigma = sigma(splats.conics[id], mx - sample[0], my - sample[1]);
            self.power.add(-sigma, 0.0);
            if sigma < 0.0 {
                continue;
            }
            if sigma > self.reach[id] {
                self.alpha_max.add(0.0, alpha_max);
                self.alpha_min.add(0.0, alpha_min);
                continue;
            }
            let raw = splats.opacities[id] * Arith::exp(-sigma);
            self.alpha_max.add(raw, alpha_max);
            let alpha = raw.min(alpha_max);
            self.alpha_min.add(alpha, alpha_min);
            if alpha < alpha_min {
                continue;
            }
            let next = t * (1.0 - alpha);
            self.transmittance.add(next, least);
            let stops = match convention.stop_rule {
                StopRule::Less => next < least,
                StopRule::LessOrEqual => next <= least,
            };
            if stops {
                return t;
            }
            t = next;
        }
        t
    }

    /// What was met.
    pub(super) fn record(&self, met: &mut Met) {
        let convention = self.view.convention;
        self.power.record(Decision::Power, met);
        self.alpha_max.record(Decision::AlphaMax(convention.alpha_clamp_gradient), met);
        self.alpha_min.record(Decision::AlphaMin, met);
        self.transmittance.record(Decision::Transmittance(convention.stop_rule), met);
    }
}
