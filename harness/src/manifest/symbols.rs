//! The names that expressions of a manifest may use, and their values for one case.

use std::collections::BTreeMap;

use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_gpu::{TensorError, Tensors};

use super::expression::ExpressionError;

/// Whole numbers that every case has.
pub(super) const SIZES: [&str; 12] = [
    "W",
    "H",
    "N",
    "D",
    "T",
    "M",
    "tiles_x",
    "tiles_y",
    "tile_size",
    "cameras",
    "stop_when_equal",
    "clamp_stops_gradient",
];

/// Constants of a case's convention, as f32.
pub(super) const CONSTANTS: [&str; 4] =
    ["alpha_max", "alpha_min", "transmittance_min", "pixel_center"];

/// What the names stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Symbols {
    /// Image width W, pixels.
    pub width: usize,
    /// Image height H, pixels.
    pub height: usize,
    /// Gaussians N.
    pub gaussians: usize,
    /// Channels D.
    pub channels: usize,
    /// Tiles T.
    pub tiles: usize,
    /// (tile, Gaussian) pairs M.
    pub pairs: usize,
    pub(super) integers: BTreeMap<String, i64>,
    pub(super) constants: BTreeMap<&'static str, f32>,
}

impl Symbols {
    /// Only the manifest's own sizes: there is no case.
    #[must_use]
    pub fn without_a_case(sizes: &BTreeMap<String, i64>) -> Self {
        Self { integers: sizes.clone(), ..Self::default() }
    }

    /// Those of a case, and the manifest's own sizes.
    ///
    /// # Errors
    /// [`TensorError`] for an array that is not there.
    pub fn of(inputs: &Tensors, sizes: &BTreeMap<String, i64>) -> Result<Self, TensorError> {
        let number = |name: &str| inputs.u32(name).map(|value| value[0]);
        let side = |name: &str| inputs.get(name).map(|tensor| tensor.shape().to_vec());
        let (width, height) = (number("width")? as usize, number("height")? as usize);
        let means = side("means2d")?;
        let colors = side("colors")?;
        let tile = TILE_SIZE as usize;
        let mut symbols = Self {
            width,
            height,
            gaussians: means.first().copied().unwrap_or(0),
            channels: colors.get(1).copied().unwrap_or(0),
            tiles: inputs.u32("tile_offsets")?.len().saturating_sub(1),
            pairs: inputs.u32("flatten_ids")?.len(),
            integers: sizes.clone(),
            constants: BTreeMap::new(),
        };
        let values = [
            ("W", width),
            ("H", height),
            ("N", symbols.gaussians),
            ("D", symbols.channels),
            ("T", symbols.tiles),
            ("M", symbols.pairs),
            ("tiles_x", width.div_ceil(tile)),
            ("tiles_y", height.div_ceil(tile)),
            ("tile_size", tile),
            // A view is a launch of its own.
            ("cameras", 1),
            ("stop_when_equal", number("stop_when_equal")? as usize),
            ("clamp_stops_gradient", number("clamp_stops_gradient")? as usize),
        ];
        for (name, value) in values {
            symbols.integers.insert(name.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
        }
        for name in CONSTANTS {
            symbols.constants.insert(name, inputs.f32(name)?[0]);
        }
        Ok(symbols)
    }

    /// A whole number by its name.
    ///
    /// # Errors
    /// [`ExpressionError::Unknown`].
    pub fn integer(&self, name: &str) -> Result<i64, ExpressionError> {
        self.integers.get(name).copied().ok_or_else(|| self.unknown(name))
    }

    /// A number by its name.
    ///
    /// # Errors
    /// [`ExpressionError::Unknown`].
    pub fn float(&self, name: &str) -> Result<f64, ExpressionError> {
        #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
        let whole = |value: i64| value as f64;
        match self.constants.get(name) {
            Some(&value) => Ok(f64::from(value)),
            None => self.integer(name).map(whole),
        }
    }

    /// The largest size: how much work there is, roughly.
    #[must_use]
    pub fn largest(&self) -> i64 {
        self.integers.values().copied().max().unwrap_or(0)
    }

    fn unknown(&self, name: &str) -> ExpressionError {
        let known: Vec<&str> = self.integers.keys().map(String::as_str).collect();
        let known = if known.is_empty() {
            "none without a case: name one, or give the sizes in [sizes]".to_owned()
        } else {
            known.join(", ")
        };
        ExpressionError::Unknown { name: name.to_owned(), known }
    }
}
