//! Which way each decision of the stages falls on a scene: every comparison of a number with a limit,
//! and on which side of it the scene has Gaussians or pairs.
//!
//! A kernel that decides one of them wrongly is told from a right one only by a scene that has the
//! side in question, so this is what a collection of scenes is measured by. Numbers are those of the
//! `f32` instance, which a device computes as well, up to its roundings.

use crate::arithmetic::{Arith, Tristate, ln};
use crate::splat::bin::{cut, discriminant, first_and_end, half_size};
use crate::splat::convention::{
    ClampGradient, Convention, Extent, FovClampGradient, NearRule, StopRule,
};
use crate::splat::pair::sigma;
use crate::splat::project::{
    CameraParams, Projection, camera_mean, culled_by_depth, direction, project_one,
};
use crate::splat::render::Projected;
use crate::splat::scene::{Colors, Gaussians, Scene};
use crate::splat::sh;
use crate::splat::view::RasterView;
use std::collections::BTreeSet;
use std::fmt;

/// Where a number lies with respect to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Smaller.
    Below,
    /// Equal, as `f32`.
    At,
    /// Larger.
    Above,
}

impl Side {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Below, Self::At, Self::Above];

    /// The word in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::At => "at",
            Self::Above => "above",
        }
    }

    /// Of two numbers; `None` where one is NaN.
    fn of(number: f32, limit: f32) -> Option<Self> {
        number.partial_cmp(&limit).map(|order| match order {
            std::cmp::Ordering::Less => Self::Below,
            std::cmp::Ordering::Equal => Self::At,
            std::cmp::Ordering::Greater => Self::Above,
        })
    }
}

/// A comparison of a stage. Where the convention has two rules for what follows from it, each is a
/// decision of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// `project`: the depth with the near plane.
    Near(NearRule),
    /// `project`: the depth with the far plane, where there is one.
    Far,
    /// `project`: x/z (0) or y/z (1) with the lower limit of the Jacobian.
    SlopeLow(usize, FovClampGradient),
    /// `project`: the same with the upper limit.
    SlopeHigh(usize, FovClampGradient),
    /// `project`: the determinant of the blurred 2D covariance with 0.
    Determinant,
    /// `project`: the determinant before the blur with 0, antialiased: at or below it the opacity is 0.
    SharpDeterminant,
    /// `project`: a channel of the colour from spherical harmonics with 0, before it is cut there.
    Color(usize),
    /// Binning with a square extent: the discriminant with the floor under its root.
    RootFloor,
    /// Binning with an extent per axis: the opacity with `alpha_min`.
    Opacity,
    /// Binning with an extent per axis: where alpha falls to `alpha_min` with the largest extent.
    MaxSigmas,
    /// Binning: a Gaussian's first tile in x (0) or y (1) with the image's first.
    FirstTile(usize),
    /// Binning: the tile after its last with the one after the image's last.
    EndTile(usize),
    /// `rasterize`: the exponent with 0.
    Power,
    /// `rasterize`: opacity times exp(power) with the clamp of alpha.
    AlphaMax(ClampGradient),
    /// `rasterize`: alpha with the least that counts.
    AlphaMin,
    /// `rasterize`: the transmittance with the least before the pixel stops.
    Transmittance(StopRule),
}

impl Decision {
    /// All of them, in the order of the stages.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let gradients = [FovClampGradient::Constant, FovClampGradient::Included];
        let slopes = [0, 1].into_iter().flat_map(|axis| {
            gradients.into_iter().flat_map(move |gradient| {
                [Self::SlopeLow(axis, gradient), Self::SlopeHigh(axis, gradient)]
            })
        });
        let mut all =
            vec![Self::Near(NearRule::LessOrEqual), Self::Near(NearRule::Less), Self::Far];
        all.extend(slopes);
        all.extend([Self::Determinant, Self::SharpDeterminant]);
        all.extend((0..3).map(Self::Color));
        all.extend([Self::RootFloor, Self::Opacity, Self::MaxSigmas]);
        all.extend(
            [0, 1].into_iter().flat_map(|axis| [Self::FirstTile(axis), Self::EndTile(axis)]),
        );
        all.extend([
            Self::Power,
            Self::AlphaMax(ClampGradient::PassThrough),
            // Gradients with the clamped alpha and stops after blending are those of other people's
            // kernels alone.
            Self::AlphaMax(ClampGradient::Zero),
            Self::AlphaMin,
            Self::Transmittance(StopRule::Less),
            Self::Transmittance(StopRule::LessOrEqual),
        ]);
        all
    }

    /// The sides that a kernel may treat differently. Where the outcome is the same function on both
    /// sides of the limit, or equality is left to roundings, equality is no side of its own.
    #[must_use]
    pub fn sides(self) -> &'static [Side] {
        match self {
            Self::Near(_)
            | Self::Far
            | Self::Opacity
            | Self::Power
            | Self::AlphaMax(_)
            | Self::AlphaMin
            | Self::Transmittance(_) => &Side::ALL,
            Self::SlopeLow(..)
            | Self::SlopeHigh(..)
            | Self::Determinant
            | Self::SharpDeterminant
            | Self::Color(_)
            | Self::RootFloor
            | Self::MaxSigmas
            | Self::FirstTile(_)
            | Self::EndTile(_) => &[Side::Below, Side::Above],
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axis = |axis: usize| ["x", "y"][axis];
        let follows = |gradient| match gradient {
            FovClampGradient::Constant => "its gradient 0",
            FovClampGradient::Included => "its gradient kept",
        };
        match *self {
            Self::Near(NearRule::LessOrEqual) => write!(f, "depth, near plane, z <= near culled"),
            Self::Near(NearRule::Less) => write!(f, "depth, near plane, z < near culled"),
            Self::Far => write!(f, "depth, far plane"),
            Self::SlopeLow(i, gradient) => {
                write!(f, "{}/z, lower limit of the Jacobian, {}", axis(i), follows(gradient))
            }
            Self::SlopeHigh(i, gradient) => {
                write!(f, "{}/z, upper limit of the Jacobian, {}", axis(i), follows(gradient))
            }
            Self::Determinant => write!(f, "determinant, 0"),
            Self::SharpDeterminant => write!(f, "determinant without blur, 0, antialiased"),
            Self::Color(channel) => write!(f, "colour {}, 0", ["red", "green", "blue"][channel]),
            Self::RootFloor => write!(f, "discriminant, floor of the square extent"),
            Self::Opacity => write!(f, "opacity, alpha_min, extent per axis"),
            Self::MaxSigmas => write!(f, "sigmas to alpha_min, largest extent per axis"),
            Self::FirstTile(i) => write!(f, "first tile in {}, first of the image", axis(i)),
            Self::EndTile(i) => write!(f, "end of the tiles in {}, end of the image", axis(i)),
            Self::Power => write!(f, "exponent, 0"),
            Self::AlphaMax(ClampGradient::PassThrough) => {
                write!(f, "alpha, alpha_max, gradient passed through")
            }
            Self::AlphaMax(ClampGradient::Zero) => write!(f, "alpha, alpha_max, gradient 0"),
            Self::AlphaMax(ClampGradient::Clamped) => {
                write!(f, "alpha, alpha_max, gradient with the clamped alpha")
            }
            Self::AlphaMin => write!(f, "alpha, alpha_min"),
            Self::Transmittance(StopRule::Less) => {
                write!(f, "transmittance, minimum, stops below it")
            }
            Self::Transmittance(StopRule::LessOrEqual) => {
                write!(f, "transmittance, minimum, stops at it")
            }
            Self::Transmittance(StopRule::LessAfterBlending) => {
                write!(f, "transmittance, minimum, stops below it after blending")
            }
            Self::Transmittance(StopRule::LessOrEqualAfterBlending) => {
                write!(f, "transmittance, minimum, stops at it after blending")
            }
        }
    }
}

/// The sides on which a scene has something.
pub type Met = BTreeSet<(Decision, Side)>;

/// The decisions on one camera's view of a scene, projected under the convention with its constants
/// [rounded to f32](Convention::rounded_to_f32).
#[must_use]
pub fn decisions(
    scene: &Scene<f32>,
    camera: usize,
    convention: &Convention,
    projected: &Projected<f32>,
) -> Met {
    let lens = CameraParams::new(&scene.cameras[camera], [scene.width, scene.height], convention);
    let mut of = Of { met: Met::new(), convention };
    let tiles = projected.lists.tiles;
    (0..scene.gaussians.len()).for_each(|id| of.gaussian(&scene.gaussians, id, &lens, tiles));
    Walk::new(&projected.view(scene, camera, convention)).record(&mut of.met);
    of.met
}

/// What Gaussians decide on their own.
struct Of<'a> {
    met: Met,
    convention: &'a Convention,
}

#[expect(clippy::cast_possible_truncation, reason = "constants that are f32 already")]
fn single(x: f64) -> f32 {
    x as f32
}

impl Of<'_> {
    fn add(&mut self, decision: Decision, number: f32, limit: f32) {
        self.met.extend(Side::of(number, limit).map(|side| (decision, side)));
    }

    fn gaussian(
        &mut self,
        gaussians: &Gaussians<f32>,
        id: usize,
        lens: &CameraParams<f32>,
        tiles: [u32; 2],
    ) {
        let mean = camera_mean(gaussians, id, lens);
        let convention = self.convention;
        self.add(Decision::Near(convention.near_rule), mean[2], single(convention.near));
        if convention.far.is_finite() {
            self.add(Decision::Far, mean[2], single(convention.far));
        }
        let Some(p) = project_one(gaussians, id, lens, convention) else {
            // Culled by its depth, or without area: which, says the depth.
            if culled_by_depth(mean[2], convention) == Tristate::Never {
                self.met.insert((Decision::Determinant, Side::Below));
            }
            return;
        };
        self.projection(&p, lens);
        self.color(gaussians, id, lens);
        self.binning(&p, tiles);
    }

    fn projection(&mut self, p: &Projection<f32>, lens: &CameraParams<f32>) {
        let gradient = self.convention.fov_clamp_gradient;
        for axis in [0, 1] {
            let slope = p.camera_mean[axis] / p.depth;
            let [low, high] = lens.limits[axis];
            self.add(Decision::SlopeLow(axis, gradient), slope, low);
            self.add(Decision::SlopeHigh(axis, gradient), slope, high);
        }
        self.add(Decision::Determinant, p.dets[1], 0.0);
        if self.convention.antialiased {
            // At 0 the factor is 0 as it is below.
            let side = if p.dets[0] > 0.0 { Side::Above } else { Side::Below };
            self.met.insert((Decision::SharpDeterminant, side));
        }
    }

    fn color(&mut self, gaussians: &Gaussians<f32>, id: usize, lens: &CameraParams<f32>) {
        let Colors::Harmonics { values, .. } = &gaussians.colors else { return };
        let stride = gaussians.colors.stride();
        let (d, _) = direction(gaussians, id, lens.eye());
        let unclamped = sh::unclamped(&values[id * stride..(id + 1) * stride], d);
        for (channel, color) in unclamped.into_iter().enumerate() {
            self.add(Decision::Color(channel), color, 0.0);
        }
    }

    fn binning(&mut self, p: &Projection<f32>, tiles: [u32; 2]) {
        let convention = self.convention;
        match convention.extent {
            Extent::Square { root_floor, .. } => {
                self.add(Decision::RootFloor, discriminant(p.covariance), single(root_floor));
            }
            Extent::PerAxis { max_sigmas } => {
                self.add(Decision::Opacity, p.opacity, single(convention.alpha_min));
                self.add(Decision::MaxSigmas, cut(p.opacity, convention), single(max_sigmas));
            }
        }
        let half = half_size(p, convention);
        for axis in [0, 1] {
            let [first, end] = first_and_end(p.mean2d[axis], half[axis].ceil(), convention, axis);
            self.add(Decision::FirstTile(axis), first, 0.0);
            self.add(Decision::EndTile(axis), end, tiles[axis] as f32);
        }
    }
}

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
struct Walk<'a> {
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
    fn new(view: &'a RasterView<'a, f32>) -> Self {
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
        let (tiles, [across, down]) = (view.lists.tiles[0], view.lists.tile_size);
        for y in 0..view.height {
            for x in 0..view.width {
                let _ = walk.pixel([x, y], (y / down * tiles + x / across) as usize);
            }
        }
        walk
    }

    /// Walks a tile's list for one of its pixels; the transmittance that is left.
    fn pixel(&mut self, pixel: [u32; 2], tile: usize) -> f32 {
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
            let (rule, equal) = (convention.stop_rule, convention.stop_rule.stops_when_equal());
            let deciding = rule.deciding(t, next);
            self.transmittance.add(deciding, least);
            if deciding < least || equal && deciding == least {
                return t;
            }
            t = next;
        }
        t
    }

    /// What was met.
    fn record(&self, met: &mut Met) {
        let convention = self.view.convention;
        self.power.record(Decision::Power, met);
        self.alpha_max.record(Decision::AlphaMax(convention.alpha_clamp_gradient), met);
        self.alpha_min.record(Decision::AlphaMin, met);
        self.transmittance.record(Decision::Transmittance(convention.stop_rule), met);
    }
}

#[cfg(test)]
mod tests;
