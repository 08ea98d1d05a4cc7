//! The names that expressions of a manifest may use, and their values for one case.

use std::collections::BTreeMap;

use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_gpu::{TensorError, Tensors};

use super::expression::ExpressionError;
use crate::workloads::splat::level::Level;

/// Whole numbers that every case has.
pub(crate) const SIZES: [&str; 12] = [
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

/// Whole numbers that an array's dimensions are made of.
pub(crate) const SIDES: [&str; 11] =
    ["W", "H", "N", "D", "T", "M", "K", "tiles_x", "tiles_y", "tile_size", "cameras"];

/// Constants of a case's convention, as f32.
pub(crate) const CONSTANTS: [&str; 4] =
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
    /// Cameras C; 1 at level raster.
    pub cameras: usize,
    /// Harmonics K; 0 where colours are given directly.
    pub coefficients: usize,
    pub(crate) integers: BTreeMap<String, i64>,
    pub(crate) constants: BTreeMap<&'static str, f32>,
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
        let mut symbols = Self::of_counts(Self {
            width,
            height,
            gaussians: means.first().copied().unwrap_or(0),
            channels: colors.get(1).copied().unwrap_or(0),
            tiles: inputs.u32("tile_offsets")?.len().saturating_sub(1),
            pairs: inputs.u32("flatten_ids")?.len(),
            // A view is a launch of its own.
            cameras: 1,
            coefficients: 0,
            integers: sizes.clone(),
            constants: BTreeMap::new(),
        });
        for name in ["stop_when_equal", "clamp_stops_gradient"] {
            symbols.integers.insert(name.to_owned(), i64::from(number(name)?));
        }
        for name in CONSTANTS {
            symbols.constants.insert(name, inputs.f32(name)?[0]);
        }
        Ok(symbols)
    }

    /// Those of a level's sizes, without constants.
    #[must_use]
    pub fn of_sizes(sizes: &Sizes, level: Level) -> Self {
        let [width, height, gaussians, channels] =
            ["W", "H", "N", "D"].map(|symbol| sizes.get(symbol));
        let both = Self { width, height, gaussians, channels, cameras: 1, ..Self::default() };
        Self::of_counts(match level {
            Level::Raster => Self { tiles: sizes.get("T"), pairs: sizes.get("M"), ..both },
            Level::Project | Level::ProjectBackward | Level::Full => {
                Self { cameras: sizes.get("C"), coefficients: sizes.get("K"), ..both }
            }
        })
    }

    /// The same with their names.
    pub(crate) fn of_counts(mut self) -> Self {
        let tile = TILE_SIZE as usize;
        let values = [
            ("W", self.width),
            ("H", self.height),
            ("N", self.gaussians),
            ("D", self.channels),
            ("T", self.tiles),
            ("M", self.pairs),
            ("tiles_x", self.width.div_ceil(tile)),
            ("tiles_y", self.height.div_ceil(tile)),
            ("tile_size", tile),
            ("cameras", self.cameras),
            ("K", self.coefficients),
        ];
        for (name, value) in values {
            self.integers.insert(name.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
        }
        self
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
