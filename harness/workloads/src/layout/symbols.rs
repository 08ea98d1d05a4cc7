//! The names that expressions of a manifest may use, and their values for one case.

use std::collections::BTreeMap;

use splatcheck_gpu::stage::{Dim, Port, Sizes};
use splatcheck_gpu::stages::splat::{TILE_SIZE, tile_of};
use splatcheck_gpu::{Dtype, Stage, TensorError, Tensors};

use super::expression::ExpressionError;
use super::kind::KernelKind;
use crate::splat::level::Level;
use crate::splat::raw::tangent;

/// Whole numbers that every case has for a rasterization.
const OF_RASTERIZATIONS: [&str; 14] = [
    "W",
    "H",
    "N",
    "D",
    "T",
    "M",
    "tiles_x",
    "tiles_y",
    "tile_size",
    "tile_width",
    "tile_height",
    "cameras",
    "stop_when_equal",
    "clamp_stops_gradient",
];

/// Flags of the convention that a projection reads.
pub(crate) const PROJECTION_FLAGS: [&str; 3] =
    ["near_inclusive", "clamp_has_gradient", "antialiased"];

/// The field of a convention that a number of a projection says.
#[must_use]
pub fn field(name: &str) -> &str {
    match name {
        "near_inclusive" => "near_rule",
        "clamp_has_gradient" => "fov_clamp_gradient",
        other => other,
    }
}

/// Whole numbers that every case has for a projection.
const OF_PROJECTIONS: [&str; 9] = [
    "N",
    "D",
    "K",
    "degree",
    "cameras",
    "tile_size",
    "near_inclusive",
    "clamp_has_gradient",
    "antialiased",
];

/// What a projection has beside these that is given the size of the image.
const OF_IMAGES: [&str; 4] = ["W", "H", "tiles_x", "tiles_y"];

/// How many rows packed arrays have, in its backward pass.
pub(crate) const PACKED_ROWS: &str = "nnz";

/// Numbers of the only camera of a case for a projection: its focal lengths, pixels.
pub const OF_CAMERA: [&str; 2] = ["fx", "fy"];

/// Those that need the size of the image: tan(fov/2), which is W / (2 fx). A kernel multiplies it by a factor for the
/// limits of x/z and y/z, which so are no further from the exact ones than 4 u times their magnitude, and the
/// standard derivations allow as much for the Jacobian at a limit (`CameraParams::on_screen`).
pub const OF_CAMERA_AND_IMAGE: [&str; 2] = ["tan_fovx", "tan_fovy"];

/// Constants of a case's convention for a projection, as f32; the far plane may be infinite.
pub const PROJECTION_CONSTANTS: [&str; 5] = ["eps2d", "near", "far", "inverse_eps", "w_eps"];

/// Whole numbers that expressions of a kernel may use.
pub fn sizes(kind: KernelKind) -> Vec<&'static str> {
    match kind {
        KernelKind::Of(stage) => {
            let fields = numbers(stage).filter(|port| port.dtype != Dtype::F32);
            stage.symbols().into_iter().chain(fields.map(|port| port.name)).collect()
        }
        KernelKind::ProjectOnImageBackward => {
            [&OF_PROJECTIONS[..], &OF_IMAGES, &[PACKED_ROWS]].concat()
        }
        _ if kind.knows_the_image() => [&OF_PROJECTIONS[..], &OF_IMAGES].concat(),
        _ if kind.projects() => OF_PROJECTIONS.to_vec(),
        _ => OF_RASTERIZATIONS.to_vec(),
    }
}

/// Constants that expressions of a kernel may use.
pub fn constants(kind: KernelKind) -> Vec<&'static str> {
    match kind {
        KernelKind::Of(stage) => {
            let floats = numbers(stage).filter(|port| port.dtype == Dtype::F32);
            floats.map(|port| port.name).collect()
        }
        _ if kind.knows_the_image() => {
            [&PROJECTION_CONSTANTS[..], &OF_CAMERA, &OF_CAMERA_AND_IMAGE].concat()
        }
        _ if kind.projects() => [&PROJECTION_CONSTANTS[..], &OF_CAMERA].concat(),
        _ => CONSTANTS.to_vec(),
    }
}

/// What to do about a name that other kernels have and those of a kind have not.
#[must_use]
pub fn instead_of(name: &str, kind: KernelKind) -> Option<&'static str> {
    let of_image =
        OF_IMAGES.contains(&name) || OF_CAMERA_AND_IMAGE.contains(&name) || name == "projmats";
    let of_camera = of_image
        || OF_CAMERA.contains(&name)
        || PROJECTION_CONSTANTS.contains(&name)
        || ["degree", "K", "campos", "viewmats", "Ks", "radii", "clamped"].contains(&name);
    match kind {
        KernelKind::Of(_) => None,
        KernelKind::Rasterize | KernelKind::RasterizeBackward => of_camera.then_some(
            "a rasterization is given what was projected, and no camera: give null, a number, or an array of its \
             own (zeros)",
        ),
        KernelKind::Project | KernelKind::ProjectBackward if of_image => Some(
            "this stage knows no image: name stage project_on_image (or its backward), or take limits_low and \
             limits_high",
        ),
        KernelKind::Project
        | KernelKind::ProjectBackward
        | KernelKind::ProjectOnImage
        | KernelKind::ProjectOnImageBackward
        | KernelKind::Full => None,
    }
}

/// The inputs of a stage that are numbers by themselves.
fn numbers(stage: Stage) -> impl Iterator<Item = &'static Port> {
    stage.spec().inputs.iter().filter(|port| port.shape.is_empty())
}

/// Those of a projection's arrays, none of which has the size of the image.
pub const PROJECTION_SIDES: [&str; 4] = ["N", "D", "K", "cameras"];

/// Whole numbers that an array's dimensions are made of.
pub const SIDES: [&str; 13] = [
    "W",
    "H",
    "N",
    "D",
    "T",
    "M",
    "K",
    "tiles_x",
    "tiles_y",
    "tile_size",
    "tile_width",
    "tile_height",
    "cameras",
];

/// Constants of a case's convention, as f32.
pub const CONSTANTS: [&str; 4] = ["alpha_max", "alpha_min", "transmittance_min", "pixel_center"];

/// What the names stand for.
#[derive(Clone, Debug, PartialEq)]
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
    /// Width and height of a tile, pixels.
    pub tile_size: [usize; 2],
    /// Cameras C; 1 at level raster.
    pub cameras: usize,
    /// Harmonics K; 0 where colours are given directly.
    pub coefficients: usize,
    /// What the forward pass of a projection onto an image left there, camera by camera: places in `[C,N]`. Of the
    /// forward pass itself all, until it has said which. Of other kernels none.
    pub packed: Vec<usize>,
    /// Whole numbers of other workloads than splats, by their names.
    pub integers: BTreeMap<String, i64>,
    /// Their f32 numbers.
    pub constants: BTreeMap<&'static str, f32>,
}

/// Of nothing, in tiles of 16 x 16 pixels.
impl Default for Symbols {
    fn default() -> Self {
        Self {
            width: 0,
            height: 0,
            gaussians: 0,
            channels: 0,
            tiles: 0,
            pairs: 0,
            tile_size: [TILE_SIZE as usize; 2],
            cameras: 0,
            coefficients: 0,
            packed: Vec::new(),
            integers: BTreeMap::new(),
            constants: BTreeMap::new(),
        }
    }
}

impl Symbols {
    /// Those of a case for a kernel.
    ///
    /// # Errors
    /// [`TensorError`] for an array that is not there.
    pub fn of(kind: KernelKind, inputs: &Tensors) -> Result<Self, TensorError> {
        let own = Self::default();
        match kind {
            KernelKind::Project | KernelKind::ProjectBackward => own.of_projection(inputs),
            KernelKind::ProjectOnImage | KernelKind::ProjectOnImageBackward => {
                let [width, height] = ["width", "height"].map(|name| inputs.u32(name));
                let (width, height) = (width?[0] as usize, height?[0] as usize);
                let mut symbols = Self { width, height, ..own }.of_projection(inputs)?;
                if kind == KernelKind::ProjectOnImageBackward {
                    symbols.packed = there(inputs.i32("radii")?);
                    let rows = i64::try_from(symbols.packed.len()).unwrap_or(i64::MAX);
                    symbols.integers.insert(PACKED_ROWS.to_owned(), rows);
                } else {
                    symbols.packed = (0..symbols.cameras * symbols.gaussians).collect();
                }
                Ok(symbols)
            }
            KernelKind::Rasterize | KernelKind::RasterizeBackward | KernelKind::Full => {
                own.of_rasterization(inputs)
            }
            KernelKind::Of(stage) => own.of_stage(stage, inputs),
        }
    }

    /// The symbols of a stage whose arrays are its ports.
    fn of_stage(self, stage: Stage, inputs: &Tensors) -> Result<Self, TensorError> {
        let mut all = self.with_sizes(stage.sizes(inputs)?.iter());
        for port in numbers(stage) {
            match port.dtype {
                Dtype::F32 => {
                    all.constants.insert(port.name, inputs.f32(port.name)?[0]);
                }
                Dtype::I32 | Dtype::U32 => {
                    let value = i64::from(inputs.get(port.name)?.words()[0]);
                    all.integers.insert(port.name.to_owned(), value);
                }
            }
        }
        Ok(all)
    }

    /// Those of a stage whose arrays are its ports, without its numbers.
    pub fn of_named(sizes: impl IntoIterator<Item = (&'static str, usize)>) -> Self {
        Self::default().with_sizes(sizes)
    }

    /// With these sizes by their symbols.
    fn with_sizes(mut self, sizes: impl IntoIterator<Item = (&'static str, usize)>) -> Self {
        for (symbol, size) in sizes {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            self.integers.insert(symbol.to_owned(), size);
        }
        self
    }

    /// The length of a port's dimension.
    pub fn side(&self, dim: Dim) -> usize {
        let size = |symbol: &str| {
            self.integers.get(symbol).and_then(|size| usize::try_from(*size).ok()).unwrap_or(0)
        };
        match dim {
            Dim::Const(side) => side,
            Dim::Symbol(symbol) | Dim::Optional(symbol) => size(symbol),
            Dim::OneMore(symbol) => size(symbol).saturating_add(1),
        }
    }

    fn of_rasterization(self, inputs: &Tensors) -> Result<Self, TensorError> {
        let number = |name: &str| inputs.u32(name).map(|value| value[0] as usize);
        let symbols = Self::of_counts(Self {
            width: number("width")?,
            height: number("height")?,
            gaussians: side(inputs, "means2d", 0)?,
            channels: side(inputs, "colors", 1)?,
            tiles: inputs.u32("tile_offsets")?.len().saturating_sub(1),
            pairs: inputs.u32("flatten_ids")?.len(),
            tile_size: [number("tile_size")?, number("tile_height")?],
            // A view is a launch of its own.
            cameras: 1,
            ..self
        });
        symbols.with(inputs, (&["stop_when_equal", "clamp_stops_gradient"], &CONSTANTS))
    }

    fn of_projection(self, inputs: &Tensors) -> Result<Self, TensorError> {
        let coefficients = inputs.u32("coefficients")?[0] as usize;
        let symbols = Self::of_counts(Self {
            gaussians: side(inputs, "means", 0)?,
            channels: if coefficients > 0 { 3 } else { side(inputs, "colors", 1)? },
            cameras: side(inputs, "viewmats", 0)?,
            coefficients,
            ..self
        });
        let mut symbols = symbols.with(inputs, (&PROJECTION_FLAGS, &PROJECTION_CONSTANTS))?;
        // K is (degree + 1)^2.
        let degree = i64::try_from(coefficients.isqrt().saturating_sub(1)).unwrap_or(i64::MAX);
        symbols.integers.insert("degree".to_owned(), degree);
        if let [fx, fy] = *inputs.f32("focals")? {
            symbols.constants.extend(OF_CAMERA.into_iter().zip([fx, fy]));
            let tangents = [(symbols.width, fx), (symbols.height, fy)].map(|(side, focal)| {
                tangent(u32::try_from(side).unwrap_or(u32::MAX), f64::from(focal))
            });
            symbols.constants.extend(OF_CAMERA_AND_IMAGE.into_iter().zip(tangents));
        }
        Ok(symbols)
    }

    /// With flags and constants of the convention.
    fn with(
        mut self,
        inputs: &Tensors,
        (flags, constants): (&[&str], &[&'static str]),
    ) -> Result<Self, TensorError> {
        for name in flags {
            self.integers.insert((*name).to_owned(), i64::from(inputs.u32(name)?[0]));
        }
        for name in constants {
            self.constants.insert(name, inputs.f32(name)?[0]);
        }
        Ok(self)
    }

    /// The symbols of a level's sizes, without constants.
    #[must_use]
    pub fn of_sizes(sizes: &Sizes, level: Level) -> Self {
        let every = || {
            let [gaussians, channels] = ["N", "D"].map(|symbol| sizes.get(symbol));
            Self { gaussians, channels, cameras: 1, ..Self::default() }
        };
        let image = |of| {
            let [width, height] = ["W", "H"].map(|symbol| sizes.get(symbol));
            Self { width, height, ..of }
        };
        let of_cameras = |of| {
            let [cameras, coefficients] = ["C", "K"].map(|symbol| sizes.get(symbol));
            Self { cameras, coefficients, ..of }
        };
        Self::of_counts(match level {
            Level::Raster => {
                Self { tiles: sizes.get("T"), pairs: sizes.get("M"), ..image(every()) }
            }
            // No output has the image's size.
            Level::Project | Level::ProjectBackward => of_cameras(every()),
            Level::Full => of_cameras(image(every())),
            Level::Of(_) => return Self::of_named(sizes.iter()),
        })
    }

    /// The same with their names.
    pub fn of_counts(mut self) -> Self {
        let [across, down] = self.tile_size;
        let values = [
            ("W", self.width),
            ("H", self.height),
            ("N", self.gaussians),
            ("D", self.channels),
            ("T", self.tiles),
            ("M", self.pairs),
            ("tiles_x", self.width.div_ceil(across)),
            ("tiles_y", self.height.div_ceil(down)),
            ("tile_width", across),
            ("tile_height", down),
            ("cameras", self.cameras),
            ("K", self.coefficients),
        ];
        // A tile that is not square has no one side.
        let square = (across == down).then_some(("tile_size", across));
        for (name, value) in values.into_iter().chain(square) {
            self.integers.insert(name.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
        }
        self
    }

    /// The tile of a pixel of the image.
    #[must_use]
    pub fn tile_of(&self, pixel: usize) -> usize {
        tile_of(pixel, self.width, self.tile_size)
    }

    /// A whole number by its name.
    ///
    /// # Errors
    /// [`ExpressionError`]: there is none.
    pub fn integer(&self, name: &str) -> Result<i64, ExpressionError> {
        self.integers.get(name).copied().ok_or_else(|| self.unknown(name))
    }

    /// A number by its name.
    ///
    /// # Errors
    /// [`ExpressionError`]: there is none.
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
        ExpressionError::unknown(name, &known)
    }
}

/// The rows of radii `[C,N,2]` that are both above 0.
fn there(radii: &[i32]) -> Vec<usize> {
    let rows = radii.as_chunks().0.iter().enumerate();
    rows.filter(|(_, [x, y])| *x > 0 && *y > 0).map(|(row, _)| row).collect()
}

/// A dimension of an array.
fn side(inputs: &Tensors, name: &str, dimension: usize) -> Result<usize, TensorError> {
    Ok(inputs.get(name)?.shape().get(dimension).copied().unwrap_or(0))
}
