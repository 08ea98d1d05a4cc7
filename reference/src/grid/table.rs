//! The level table, and how a level's vertices become entries of the table of features.

use super::encoding::{
    Crowded, DenseStride, Encoding, Hash, Interpolation, Lattice, RightCorner, Skew,
};
use super::levels::{ComputedScales, Growth, resolution, scale};
use crate::arithmetic::Model;
use std::array::from_fn;
use std::borrow::Cow;
use std::fmt;

/// The factors of [`Hash::Prime`] by axis.
const PRIMES: [u32; MOST_DIMENSIONS] = [1, 2_654_435_761, 805_459_861, 3_674_653_429];
/// The factor of [`Hash::Rolling`].
const ROLLING: u32 = 2_531_011;
/// The most dimensions that positions have.
pub const MOST_DIMENSIONS: usize = 4;

/// The most features that an entry has.
pub(super) const MOST_FEATURES: usize = 8;

/// A level as its table gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// What positions are multiplied by: cells in the unit interval.
    pub scale: f32,
    /// How far from it a kernel's own scale may lie: 0 where the scale is an input.
    pub scale_radius: f64,
    /// Vertices of an axis, r.
    pub resolution: u32,
    /// Its first entry in the table.
    pub offset: u32,
    /// Its number of entries, n.
    pub entries: u32,
    /// Whether every vertex between 0 and the stride has an entry of its own.
    pub dense: bool,
    layout: Layout,
}

/// How a vertex becomes a number, before that is taken modulo the level's entries: each coordinate times the
/// factor of its axis, joined; all in 32-bit unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    factors: [u32; MOST_DIMENSIONS],
    joined: Joined,
}

/// How the products of the axes become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    Sum,
    Xor,
}

/// A level table and fields that contradict themselves or each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: {rule}")]
pub struct GridError {
    /// The field as case files name it.
    pub field: String,
    /// Its value.
    pub value: String,
    /// The rule that it breaks.
    pub rule: String,
}

impl GridError {
    fn new(field: impl Into<String>, value: impl fmt::Display, rule: impl Into<String>) -> Self {
        Self { field: field.into(), value: value.to_string(), rule: rule.into() }
    }
}

impl Level {
    /// The entry of the whole table that a vertex has; coordinates below 0 are taken as unsigned.
    #[inline(always)]
    #[must_use]
    pub fn entry<const D: usize>(&self, vertex: [u32; D]) -> u32 {
        let mut entry = [0];
        self.entries(|_| from_fn::<_, D, _>(|j| self.product(j, vertex[j])), &mut entry);
        entry[0]
    }

    /// A coordinate times the factor of its axis.
    #[inline(always)]
    pub(super) fn product(&self, axis: usize, coordinate: u32) -> u32 {
        coordinate.wrapping_mul(self.layout.factors[axis])
    }

    /// [`Self::entry`] of many vertices, by their numbers, from the products of their coordinates.
    #[inline(always)]
    pub(super) fn entries<const D: usize>(
        &self,
        products: impl Fn(usize) -> [u32; D],
        entries: &mut [u32],
    ) {
        let numbered = entries.iter_mut().enumerate();
        let entry = |number| self.offset + self.within(number);
        match self.layout.joined {
            Joined::Sum => numbered.for_each(|(i, to)| {
                *to = entry(products(i).into_iter().fold(0, u32::wrapping_add));
            }),
            Joined::Xor => numbered.for_each(|(i, to)| {
                *to = entry(products(i).into_iter().fold(0, |hash, product| hash ^ product));
            }),
        }
    }

    /// `number` modulo the entries, which of a dense level's vertices is itself, without the division.
    #[inline(always)]
    fn within(&self, number: u32) -> u32 {
        if number < self.entries {
            number
        } else if self.entries.is_power_of_two() {
            number & (self.entries - 1)
        } else {
            number % self.entries
        }
    }
}

/// `first`, `first ratio`, `first ratio^2` and so on, in 32 bits.
fn powers(first: u32, ratio: u32) -> [u32; MOST_DIMENSIONS] {
    let mut next = first;
    from_fn(|_| {
        let power = next;
        next = power.wrapping_mul(ratio);
        power
    })
}

/// A level's layout, and whether it is dense, which is decided in integers that do not overflow.
fn layout(encoding: &Encoding, dimensions: usize, resolution: u32, entries: u32) -> (Layout, bool) {
    let stride = match encoding.dense_stride {
        DenseStride::Resolution => Some(u64::from(resolution)),
        DenseStride::ResolutionPlusOne => Some(u64::from(resolution) + 1),
        DenseStride::Never => None,
    };
    // A product that no 64-bit integer holds is above every number of entries.
    let vertices = |stride: u64| (0..dimensions).try_fold(1, |all: u64, _| all.checked_mul(stride));
    let dense = stride.and_then(vertices).is_some_and(|all| all <= entries.into());
    let counted = dense || encoding.crowded == Crowded::Tiled;
    let layout = match (stride.filter(|_| counted), encoding.hash) {
        #[expect(clippy::cast_possible_truncation, reason = "tiled levels count in 32 bits")]
        (Some(stride), _) => Layout { factors: powers(1, stride as u32), joined: Joined::Sum },
        (None, Hash::Prime) => Layout { factors: PRIMES, joined: Joined::Xor },
        (None, Hash::Rolling) => {
            // (..(v_0 R + v_1) R + ..) R: axis j is multiplied d - j times.
            let mut factors = powers(ROLLING, ROLLING);
            factors[..dimensions].reverse();
            Layout { factors, joined: Joined::Sum }
        }
    };
    (layout, dense)
}

/// A grid encoding: its fields and its levels, which fit each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    encoding: Encoding,
    dimensions: usize,
    features: usize,
    levels: Vec<Level>,
    /// What kernels compute the scales from, where these are no inputs.
    computed: Option<ComputedScales>,
}

impl Grid {
    /// An encoding of positions with so many `dimensions` by entries of so many `features`.
    ///
    /// `scales` `[L]` and `resolutions` `[L]` belong to a level each, as do `offsets` `[L+1]` with the
    /// end of the last: level l has the entries from `offsets[l]` to `offsets[l + 1]`.
    ///
    /// # Errors
    /// [`GridError`] names the field, its value and the rule it breaks.
    pub fn new(
        encoding: Encoding,
        [dimensions, features]: [usize; 2],
        scales: &[f32],
        resolutions: &[u32],
        offsets: &[u32],
    ) -> Result<Self, GridError> {
        check(&encoding)?;
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            let rule = format!("give 1 to {MOST_DIMENSIONS}");
            return Err(GridError::new("the dimensions of positions", dimensions, rule));
        }
        if ![1, 2, 4, MOST_FEATURES].contains(&features) {
            let field = "the features of an entry of table";
            return Err(GridError::new(field, features, "give 1, 2, 4 or 8"));
        }
        let levels = scales.len();
        let ends = offsets.len().saturating_sub(1);
        for (field, length) in [("resolutions", resolutions.len()), ("offsets", ends)] {
            if length != levels || levels == 0 {
                let rule = format!("scales has {levels}, at least 1 is needed");
                let field = format!("the number of levels of {field}");
                return Err(GridError::new(field, length, rule));
            }
        }
        if offsets[0] != 0 {
            let rule = "the first level begins with entry 0";
            return Err(GridError::new("offsets[0]", offsets[0], rule));
        }
        let level = |level: usize| {
            let (scale, resolution) = (scales[level], resolutions[level]);
            let [offset, end] = [offsets[level], offsets[level + 1]];
            if !(scale.is_finite() && scale >= 0.0) {
                let rule = "must be finite and not negative";
                return Err(GridError::new(format!("scales[{level}]"), scale, rule));
            }
            if resolution == 0 {
                return Err(GridError::new(format!("resolutions[{level}]"), 0, "give 1 or more"));
            }
            if end <= offset {
                let rule = format!("must be above {offset}, where the level begins");
                return Err(GridError::new(format!("offsets[{}]", level + 1), end, rule));
            }
            let entries = end - offset;
            let (layout, dense) = layout(&encoding, dimensions, resolution, entries);
            let scale_radius = 0.0;
            Ok(Level { scale, scale_radius, resolution, offset, entries, dense, layout })
        };
        let levels = (0..levels).map(level).collect::<Result<_, _>>()?;
        Ok(Self { encoding, dimensions, features, levels, computed: None })
    }

    /// The same of kernels that compute scales and resolutions themselves: those here are the nearest to what
    /// the mathematics says.
    ///
    /// # Errors
    /// [`GridError`], as [`Grid::new`]; a negative `log2_per_level_scale` is a scale that no level has.
    pub fn computed(
        encoding: Encoding,
        sizes: [usize; 2],
        computed: ComputedScales,
        offsets: &[u32],
    ) -> Result<Self, GridError> {
        let levels = 0..offsets.len().saturating_sub(1);
        let (scales, resolutions): (Vec<f32>, Vec<u32>) =
            levels.map(|level| computed.level(level)).unzip();
        let grid = Self::new(encoding, sizes, &scales, &resolutions, offsets)?;
        Ok(Self { computed: Some(computed), ..grid })
    }

    /// What kernels compute the scales from; `None` where these are inputs.
    #[must_use]
    pub fn computed_scales(&self) -> Option<ComputedScales> {
        self.computed
    }

    /// The grid with the radii that kernels' own scales have under a model; infinite where roundings decide a
    /// resolution.
    pub(super) fn under<M: Model>(&self) -> Cow<'_, Self> {
        let Some(computed) = self.computed else { return Cow::Borrowed(self) };
        let mut grid = self.clone();
        for (number, level) in grid.levels.iter_mut().enumerate() {
            level.scale_radius = match computed.is_open::<M>(number) {
                true => f64::INFINITY,
                false => computed.bounded::<M>(number).radius_about(level.scale.into()),
            };
        }
        Cow::Owned(grid)
    }

    /// The fields.
    #[must_use]
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// d, numbers of a position.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// F, numbers of an entry.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// The levels, at least one.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// E, entries of all levels.
    #[must_use]
    pub fn entries(&self) -> usize {
        let ends = self.levels.last().map(|level| level.offset as usize + level.entries as usize);
        ends.unwrap_or_default()
    }
}

/// That the fields go together.
fn check(encoding: &Encoding) -> Result<(), GridError> {
    let contradiction = |field: &str, value: &str, reason: &str| {
        Err(GridError::new(field, format!("'{value}'"), reason))
    };
    let simplex = encoding.lattice == Lattice::Simplex;
    if simplex && encoding.interpolation != Interpolation::Linear {
        let reason = "a simplex lattice is interpolated linearly, give 'linear'";
        return contradiction(Interpolation::FIELD, encoding.interpolation.name(), reason);
    }
    if simplex && encoding.right_corner != RightCorner::FloorPlusOne {
        let reason = "a simplex has its vertices from floor + 1, give 'floor-plus-one'";
        return contradiction(RightCorner::FIELD, encoding.right_corner.name(), reason);
    }
    if !simplex && encoding.skew != Skew::None {
        let reason = "only simplices are skewed, give lattice 'simplex'";
        return contradiction(Skew::FIELD, encoding.skew.name(), reason);
    }
    if encoding.crowded == Crowded::Tiled && encoding.dense_stride == DenseStride::Never {
        let reason = "tiled levels count vertices by a stride, which 'never' has none of";
        return contradiction(Crowded::FIELD, encoding.crowded.name(), reason);
    }
    Ok(())
}

impl Grid {
    /// The encoding with the level table that the mathematics makes: the scales are the f32 nearest to
    /// it, a level has the entries that [`Growth::entries`] says.
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
            let entries = growth.entries(encoding.dense_stride, sizes, vertices);
            // Beyond 2^32 entries the next level would begin where this one does, and is refused.
            offsets.push(offsets[offsets.len() - 1].saturating_add(entries));
        }
        Self::new(encoding, sizes, &scales, &resolutions, &offsets)
    }
}
