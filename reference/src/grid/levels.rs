//! The stage `levels`: how a level table follows from a few numbers.
//!
//! Level l has the scale s = exp2(l log2 b) `N_min` - 1 and the resolution r = ceil(s) + 1 (read in
//! tiny-cuda-nn; torch-ngp on the device). Over the reals that is b^l `N_min` - 1, and ceil of it a knife
//! edge: with `N_min` 16 and b = 2 every scale is a whole number, and one ulp of exp2 makes r one
//! larger. So a table that a program has computed is judged here, and data everywhere else.

use super::table::{Grid, GridError};
use super::{DenseStride, Encoding};
use crate::arithmetic::{Arith, Bounded, Model, Scalar};
use std::f64::consts::LN_2;

/// One ulp of a normal f32 x is at most `ULP` |x|.
const ULP: f64 = 1.0 / 8_388_608.0;
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

/// The scale of a level over the reals, but for the roundings of f64.
fn scale(growth: &Growth, level: u8) -> f64 {
    let power = (0..level).fold(1.0, |power, _| power * f64::from(growth.ratio));
    power * f64::from(growth.coarsest) - 1.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn resolution(scale: f64) -> u64 {
    (scale.ceil().max(0.0) as u64).saturating_add(1)
}

/// Bounds of a level's scale as exp2(l log2 b) `N_min` - 1 in f32.
///
/// The tables of the models count exp and ln. exp2 and log2 have the same figures in the CUDA C++
/// Programming Guide's appendix and in WGSL's table, of their own argument and result; ln b / ln 2 and
/// e^(x ln 2) with exact factors therefore have the right relative errors, but for what exp's figure
/// grows by with |x|, of which |x| ln 2 is but a part. (Fast math has better ones for base 2.)
fn bounded_scale<M: Model>(growth: &Growth, level: u8) -> Bounded<M> {
    // A rounding of f64 each, of 2^-53; 2^-48 covers them.
    let scaled = |x: Bounded<M>, factor: f64| {
        let rounding = x.magnitude() * factor * f64::EPSILON;
        Bounded::<M>::new(x.value() * factor, x.radius() * factor * (1.0 + ULP * ULP) + rounding)
    };
    let log2 = scaled(Bounded::<M>::from_f32(growth.ratio).ln(), 1.0 / LN_2);
    let exponent = Bounded::from_f32(f32::from(level)) * log2;
    let power = scaled(exponent, LN_2).exp();
    let more = M::TABLE.exp_ulp_per_x * exponent.magnitude() * ULP * power.magnitude();
    let power = Bounded::<M>::new(power.value(), power.radius() + more);
    let scale_of = power * Bounded::from_f64(growth.coarsest.into()) - Bounded::from_f64(1.0);
    let exact = scale(growth, level);
    Bounded::new(exact, scale_of.radius_about(exact))
}

/// Bounds of every level's scale and resolution.
#[must_use]
pub fn levels<M: Model>(growth: &Growth) -> Vec<LevelBounds<M>> {
    let one = |level| {
        let scale = bounded_scale::<M>(growth, level);
        // The ends of what is exact are rounded outwards as well.
        let exact = scale.radius() == 0.0;
        let ends = if exact { [scale.value(); 2] } else { scale.ends() };
        let resolutions = (scale.radius() < f64::INFINITY).then(|| ends.map(resolution));
        LevelBounds { scale, resolution: resolution(scale.value()), resolutions }
    };
    (0..growth.levels).map(one).collect()
}

impl Grid {
    /// The encoding with the level table that the mathematics makes: the scales are the f32 nearest to
    /// it, a level has an entry for each of its vertices, rounded up to a multiple of 8, and at most
    /// [`Growth::most_entries`].
    ///
    /// # Errors
    /// [`GridError`], as for any table: for no level, no entry, or a ratio that is no number.
    pub fn grown(
        encoding: Encoding,
        sizes: [usize; 2],
        growth: &Growth,
    ) -> Result<Self, GridError> {
        let (mut scales, mut resolutions, mut offsets) = (Vec::new(), Vec::new(), vec![0_u32]);
        for level in 0..growth.levels {
            let exact = scale(growth, level);
            let vertices = u32::try_from(resolution(exact)).unwrap_or(u32::MAX);
            #[expect(clippy::cast_possible_truncation, reason = "a level table is in f32")]
            scales.push(exact as f32);
            resolutions.push(vertices);
            let entries = entries(&encoding, sizes[0], vertices, growth.most_entries);
            // Beyond 2^32 entries the next level would begin where this one does, and is refused.
            offsets.push(offsets[offsets.len() - 1].saturating_add(entries));
        }
        Self::new(encoding, sizes, &scales, &resolutions, &offsets)
    }
}

/// Entries of a level with so many vertices on an axis.
fn entries(encoding: &Encoding, dimensions: usize, vertices: u32, most: u32) -> u32 {
    let stride = match encoding.dense_stride {
        DenseStride::Resolution => u64::from(vertices),
        DenseStride::ResolutionPlusOne => u64::from(vertices) + 1,
        DenseStride::Never => return most,
    };
    let all = (0..dimensions).try_fold(1, |all: u64, _| all.checked_mul(stride));
    let aligned = all.and_then(|all| all.checked_next_multiple_of(ALIGNMENT));
    aligned.and_then(|all| u32::try_from(all).ok()).map_or(most, |all| all.min(most))
}
