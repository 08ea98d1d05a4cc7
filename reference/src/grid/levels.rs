//! The stage `levels`: how a level table follows from a few numbers.
//!
//! Level l has the scale s = exp2(l log2 b) `N_min` - 1, or the floor of the same without the 1
//! ([`ScaleRule`]), and the resolution r = ceil(s) + 1 (read in tiny-cuda-nn; torch-ngp on the device).
//! Over the reals that is b^l `N_min` - 1, and ceil of it a knife edge: with `N_min` 16 and b = 2 every
//! scale is a whole number, and one ulp of exp2 makes r one larger. So a table that a program has
//! computed is judged here, and data everywhere else.

use super::encoding::DenseStride;
use super::profile::{EntriesRule, ScaleRule};
use crate::arithmetic::{Arith, Bounded, Model, Scalar, ULP};
use std::f64::consts::LN_2;
/// Entries of a level are a multiple of this, unless they are as many as may be.
const ALIGNMENT: u64 = 8;

/// What a level table follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// `N_min`, vertices of an axis of the coarsest level.
    pub coarsest: u32,
    /// b, the ratio of a level's scale (plus one) to that of the level before; at least 1.
    pub ratio: f32,
    /// L.
    pub levels: u8,
    /// T, the most entries of a level.
    pub most_entries: u32,
    /// How scales grow.
    pub scale_rule: ScaleRule,
    /// How many entries a level has.
    pub entries_rule: EntriesRule,
}

impl Growth {
    /// Entries of a level with so many vertices on an axis: those of its counted vertices by
    /// [`Growth::entries_rule`], T where the stride counts none. `sizes` are d and F.
    #[must_use]
    pub fn entries(&self, stride: DenseStride, sizes: [usize; 2], vertices: u32) -> u32 {
        let most = u64::from(self.most_entries);
        let stride = match stride {
            DenseStride::Resolution => u64::from(vertices),
            DenseStride::ResolutionPlusOne => u64::from(vertices) + 1,
            DenseStride::Never => return self.most_entries,
        };
        // A product that no 64-bit integer holds is above T.
        let product = (0..sizes[0]).try_fold(1, |all: u64, _| all.checked_mul(stride));
        let all = product.map_or(most + 1, |all| all.min(most + 1));
        let entries = match self.entries_rule {
            EntriesRule::RoundThenCap => all.next_multiple_of(ALIGNMENT).min(most),
            EntriesRule::CapThenRound => all.min(most).next_multiple_of(ALIGNMENT),
            EntriesRule::RoundToFeatures => all.next_multiple_of(sizes[1].max(1) as u64).min(most),
        };
        u32::try_from(entries).unwrap_or(u32::MAX)
    }
}

/// What a program may have for one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelBounds<M> {
    /// Its scale.
    pub scale: Bounded<M>,
    /// Its resolution as the mathematics has it.
    pub resolution: u64,
    /// The smallest and the largest resolution that roundings allow: ceil is undecided where they
    /// differ. `None` where nothing is known, which no level of a sound table is.
    pub resolutions: Option<[u64; 2]>,
}

impl<M> LevelBounds<M> {
    /// Whether roundings decide the resolution.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.resolutions.is_none_or(|[low, high]| low != high)
    }
}

/// What an axis has grown to over the reals, `N_min` b^l, but for the roundings of f64.
fn grown(growth: &Growth, level: u8) -> f64 {
    let power = (0..level).fold(1.0, |power, _| power * f64::from(growth.ratio));
    power * f64::from(growth.coarsest)
}

/// The scale of a level over the reals.
pub(super) fn scale(growth: &Growth, level: u8) -> f64 {
    match growth.scale_rule {
        ScaleRule::MinusOne => grown(growth, level) - 1.0,
        ScaleRule::Floor => grown(growth, level).floor(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(super) fn resolution(scale: f64) -> u64 {
    (scale.ceil().max(0.0) as u64).saturating_add(1)
}

/// Bounds of what an axis has grown to, as exp2(l log2 b) `N_min` in f32.
///
/// The tables of the models count exp and ln. exp2 and log2 have the same figures in the CUDA C++
/// Programming Guide's appendix and in WGSL's table, of their own argument and result; ln b / ln 2 and
/// e^(x ln 2) with exact factors therefore have the right relative errors, but for what exp's figure
/// grows by with |x|, of which |x| ln 2 is but a part. (Fast math has better ones for base 2.)
fn bounded_grown<M: Model>(growth: &Growth, level: u8) -> Bounded<M> {
    let log2 = scaled(Bounded::<M>::from_f32(growth.ratio).ln(), 1.0 / LN_2);
    exp2(Bounded::from_f32(f32::from(level)) * log2) * Bounded::from_f64(growth.coarsest.into())
}

/// A number times an exact factor. Each is one rounding of f64, of 2^-53; 2^-48 covers them.
fn scaled<M: Model>(x: Bounded<M>, factor: f64) -> Bounded<M> {
    let rounding = x.magnitude() * factor * f64::EPSILON;
    Bounded::new(x.value() * factor, x.radius() * factor * (1.0 + ULP * ULP) + rounding)
}

/// exp2 in f32: see [`bounded_grown`].
fn exp2<M: Model>(exponent: Bounded<M>) -> Bounded<M> {
    let power = scaled(exponent, LN_2).exp();
    let more = M::TABLE.exp_ulp_per_x * exponent.magnitude() * ULP * power.magnitude();
    Bounded::new(power.value(), power.radius() + more)
}

/// What kernels compute their scales from that read no level table (tiny-cuda-nn, torch-ngp): level l has the
/// scale exp2(l S) H - 1 and the resolution ceil of that, plus 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputedScales {
    /// H, vertices of an axis of the coarsest level.
    pub base_resolution: u32,
    /// S, the logarithm to the base 2 of the ratio of a level's scale (plus one) to that of the level before.
    pub log2_per_level_scale: f32,
}

impl ComputedScales {
    /// Over the reals, but for the roundings of f64.
    fn exact(self, level: usize) -> f64 {
        let exponent = level as f64 * f64::from(self.log2_per_level_scale);
        // exp of f64 has an error of about 2^-53, as has the product: a scale in f32 is hardly ever another.
        <f64 as Arith>::exp(exponent * LN_2) * f64::from(self.base_resolution) - 1.0
    }

    /// The f32 nearest to a level's scale, and its resolution.
    pub(super) fn level(self, level: usize) -> (f32, u32) {
        let exact = self.exact(level);
        #[expect(clippy::cast_possible_truncation, reason = "a level table is in f32")]
        let scale = exact as f32;
        (scale, u32::try_from(resolution(exact)).unwrap_or(u32::MAX))
    }

    /// What kernels may have for a level's scale.
    pub(super) fn bounded<M: Model>(self, level: usize) -> Bounded<M> {
        let per_level = Bounded::<M>::from_f32(self.log2_per_level_scale);
        // A number of levels is exact.
        let power = exp2(Bounded::from_f64(level as f64) * per_level);
        power * Bounded::from_f64(self.base_resolution.into()) - Bounded::from_f64(1.0)
    }

    /// Whether roundings decide a level's resolution.
    #[must_use]
    pub fn is_open<M: Model>(self, level: usize) -> bool {
        let scale = self.bounded::<M>(level);
        let [low, high] = match scale.radius() == 0.0 {
            true => [scale.value(); 2],
            false => scale.ends(),
        };
        !(high < f64::INFINITY) || resolution(low) != resolution(high)
    }
}

/// Bounds of a level's scale from those of what an axis has grown to. A floor that roundings leave open has either of two whole numbers, and
/// the bound holds what lies between as well.
fn bounded_scale<M: Model>(growth: &Growth, level: u8, grown: Bounded<M>) -> Bounded<M> {
    let exact = scale(growth, level);
    let reach = match growth.scale_rule {
        ScaleRule::MinusOne => grown - Bounded::from_f64(1.0),
        ScaleRule::Floor if grown.radius() == 0.0 => Bounded::new(grown.value().floor(), 0.0),
        ScaleRule::Floor if grown.radius() < f64::INFINITY => {
            let [low, high] = grown.ends().map(f64::floor);
            Bounded::between(low, high)
        }
        ScaleRule::Floor => grown,
    };
    Bounded::new(exact, reach.radius_about(exact))
}

/// Bounds of every level's scale and resolution.
#[must_use]
pub fn levels<M: Model>(growth: &Growth) -> Vec<LevelBounds<M>> {
    let one = |level| {
        let grown = bounded_grown::<M>(growth, level);
        let scale = bounded_scale(growth, level, grown);
        // The ends of what is exact are rounded outwards as well.
        let exact = scale.radius() == 0.0;
        let ends = match growth.scale_rule {
            _ if exact => [scale.value(); 2],
            ScaleRule::MinusOne => scale.ends(),
            // The ball about the scale also holds what lies on the other side of it.
            ScaleRule::Floor => grown.ends().map(f64::floor),
        };
        let resolutions = (scale.radius() < f64::INFINITY).then(|| ends.map(resolution));
        LevelBounds { scale, resolution: resolution(scale.value()), resolutions }
    };
    (0..growth.levels).map(one).collect()
}
