//! The arrays of the rasterization stages as records with a field each: how programs in Rust make
//! and read the [`Tensors`] of the table.

use super::shared::tile_of;
use crate::tensor::{Data, ShapeError, TensorError, Tensors};

/// When the transmittance behind a Gaussian stops a pixel, and whether that Gaussian is blended. No kernel
/// of this repository blends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopRule {
    /// next T < minimum (3DGS, DISTWAR).
    Less,
    /// next T <= minimum (gsplat).
    LessOrEqual,
    /// next T < minimum, after blending (Faster-GS).
    LessAfterBlending,
    /// next T <= minimum, after blending.
    LessOrEqualAfterBlending,
}

/// The gradient of `min(alpha_max, .)` where it clamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClampGradient {
    /// Passed through as if there were no clamp (3DGS, DISTWAR).
    PassThrough,
    /// Zero (gsplat, and the derivative).
    Zero,
    /// Goes on with the clamped alpha in place of opacity exp(power) (fastgs); no kernel of this
    /// repository has it.
    Clamped,
}

/// The constants of the rasterization stages, as an f32 program spells them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RasterConstants {
    /// Upper clamp of alpha.
    pub alpha_max: f32,
    /// A pair with alpha < `alpha_min` is skipped.
    pub alpha_min: f32,
    /// See [`StopRule`].
    pub transmittance_min: f32,
    /// Comparison used with `transmittance_min`.
    pub stop_rule: StopRule,
    /// Gradient where alpha is clamped.
    pub clamp_gradient: ClampGradient,
    /// Offset of a pixel's sample point from its integer coordinates, pixels (0 or 0.5).
    pub pixel_center: f32,
}

/// Inputs of the forward rasterization stage.
#[derive(Clone, Debug, PartialEq)]
pub struct RasterInputs {
    /// Image width W, pixels.
    pub width: u32,
    /// Image height H, pixels.
    pub height: u32,
    /// Width and height of a tile, pixels.
    pub tile_size: [u32; 2],
    /// Channels D, 1..=32.
    pub channels: u32,
    /// Constants of the convention.
    pub constants: RasterConstants,
    /// `[N,2]` pixels.
    pub means2d: Vec<[f32; 2]>,
    /// `[N,3]` upper triangle of the inverse 2D covariance, 1/pixels^2.
    pub conics: Vec<[f32; 3]>,
    /// `[N]` in 0..=1.
    pub opacities: Vec<f32>,
    /// `[N,D]`.
    pub colors: Vec<f32>,
    /// `[D]`.
    pub background: Vec<f32>,
    /// `[T+1]`: tile t owns `flatten_ids[tile_offsets[t]..tile_offsets[t+1]]`, front to back.
    pub tile_offsets: Vec<u32>,
    /// `[M]` indices of Gaussians.
    pub flatten_ids: Vec<u32>,
}

impl RasterInputs {
    /// Number of Gaussians N.
    #[must_use]
    pub fn len(&self) -> usize {
        self.means2d.len()
    }

    /// Whether there is no Gaussian.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.means2d.is_empty()
    }

    /// Number of tiles in x and y.
    #[must_use]
    pub fn tiles(&self) -> [u32; 2] {
        let [across, down] = self.tile_size;
        [self.width.div_ceil(across), self.height.div_ceil(down)]
    }

    /// The tile of a pixel of the image.
    #[must_use]
    pub fn tile_of(&self, pixel: usize) -> usize {
        tile_of(pixel, self.width as usize, self.tile_size.map(|side| side as usize))
    }

    /// Number of pixels H W.
    #[must_use]
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The stage's inputs by name.
    ///
    /// # Errors
    /// [`ShapeError`] where colours do not fill `[N,D]`.
    pub fn tensors(&self) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        let RasterConstants {
            alpha_max,
            alpha_min,
            transmittance_min,
            stop_rule,
            clamp_gradient,
            pixel_center,
        } = self.constants;
        all.scalar("width", self.width);
        all.scalar("height", self.height);
        let [across, down] = self.tile_size;
        all.scalar("tile_size", across);
        all.scalar("tile_height", down);
        all.scalar("alpha_max", alpha_max);
        all.scalar("alpha_min", alpha_min);
        all.scalar("transmittance_min", transmittance_min);
        all.scalar("pixel_center", pixel_center);
        let stop_rule: u32 = match stop_rule {
            StopRule::Less => 0,
            StopRule::LessOrEqual => 1,
            StopRule::LessAfterBlending => 2,
            StopRule::LessOrEqualAfterBlending => 3,
        };
        all.scalar("stop_when_equal", stop_rule);
        let clamp_gradient: u32 = match clamp_gradient {
            ClampGradient::PassThrough => 0,
            ClampGradient::Zero => 1,
            ClampGradient::Clamped => 2,
        };
        all.scalar("clamp_stops_gradient", clamp_gradient);
        rows(&mut all, "means2d", &self.means2d)?;
        rows(&mut all, "conics", &self.conics)?;
        floats(&mut all, "opacities", &[self.opacities.len()], &self.opacities)?;
        let [n, d] = [self.len(), self.channels as usize];
        floats(&mut all, "colors", &[n, d], &self.colors)?;
        floats(&mut all, "background", &[self.background.len()], &self.background)?;
        let (offsets, ids) = (&self.tile_offsets, &self.flatten_ids);
        all.array("tile_offsets", &[offsets.len()], Data::U32(offsets.clone()))?;
        all.array("flatten_ids", &[ids.len()], Data::U32(ids.clone()))?;
        Ok(all)
    }
}

impl RasterInputs {
    /// From the stage's inputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        let background = all.f32("background")?.to_vec();
        Ok(Self {
            width: count(all, "width")?,
            height: count(all, "height")?,
            tile_size: [count(all, "tile_size")?, count(all, "tile_height")?],
            channels: u32::try_from(background.len()).unwrap_or(u32::MAX),
            constants: RasterConstants {
                alpha_max: number(all, "alpha_max")?,
                alpha_min: number(all, "alpha_min")?,
                transmittance_min: number(all, "transmittance_min")?,
                stop_rule: match count(all, "stop_when_equal")? {
                    0 => StopRule::Less,
                    1 => StopRule::LessOrEqual,
                    2 => StopRule::LessAfterBlending,
                    3.. => StopRule::LessOrEqualAfterBlending,
                },
                clamp_gradient: match count(all, "clamp_stops_gradient")? {
                    0 => ClampGradient::PassThrough,
                    1 => ClampGradient::Zero,
                    2.. => ClampGradient::Clamped,
                },
                pixel_center: number(all, "pixel_center")?,
            },
            means2d: read_rows(all, "means2d")?,
            conics: read_rows(all, "conics")?,
            opacities: all.f32("opacities")?.to_vec(),
            colors: all.f32("colors")?.to_vec(),
            background,
            tile_offsets: all.u32("tile_offsets")?.to_vec(),
            flatten_ids: all.u32("flatten_ids")?.to_vec(),
        })
    }
}

/// The unsigned integer of that name, which stands by itself.
pub(super) fn count(all: &Tensors, name: &str) -> Result<u32, TensorError> {
    let missing = || TensorError::Missing { name: name.to_owned() };
    all.u32(name)?.first().copied().ok_or_else(missing)
}

/// The float of that name, which stands by itself.
pub(super) fn number(all: &Tensors, name: &str) -> Result<f32, TensorError> {
    let missing = || TensorError::Missing { name: name.to_owned() };
    all.f32(name)?.first().copied().ok_or_else(missing)
}

/// Adds an array of floats.
pub(super) fn floats(
    all: &mut Tensors,
    name: &'static str,
    shape: &[usize],
    values: &[f32],
) -> Result<(), ShapeError> {
    all.array(name, shape, Data::F32(values.to_vec()))
}

/// Adds an array of rows.
pub(super) fn rows<const K: usize>(
    all: &mut Tensors,
    name: &'static str,
    rows: &[[f32; K]],
) -> Result<(), ShapeError> {
    floats(all, name, &[rows.len(), K], rows.as_flattened())
}

/// The rows of an array whose last dimension is `K`.
pub(super) fn read_rows<const K: usize>(
    all: &Tensors,
    name: &str,
) -> Result<Vec<[f32; K]>, TensorError> {
    Ok(all.f32(name)?.as_chunks::<K>().0.to_vec())
}

/// Outputs of the forward rasterization stage.
#[derive(Clone, Debug, PartialEq)]
pub struct RasterOutputs {
    /// `[H,W,D]`, background included.
    pub render_colors: Vec<f32>,
    /// `[H,W]`: 1 - transmittance.
    pub render_alphas: Vec<f32>,
    /// `[H,W]`: transmittance after the last contributor.
    pub render_transmittance: Vec<f32>,
    /// `[H,W]`: position in `flatten_ids` of the pixel's last contributor, -1 for none.
    pub last_ids: Vec<i32>,
}

impl RasterOutputs {
    /// The outputs by name, of an image of that size.
    ///
    /// # Errors
    /// [`ShapeError`] where an array does not fill the image.
    pub fn tensors(&self, [height, width, channels]: [usize; 3]) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        let image = [height, width];
        floats(&mut all, "render_colors", &[height, width, channels], &self.render_colors)?;
        floats(&mut all, "render_alphas", &image, &self.render_alphas)?;
        floats(&mut all, "render_transmittance", &image, &self.render_transmittance)?;
        all.array("last_ids", &image, Data::I32(self.last_ids.clone()))?;
        Ok(all)
    }

    /// From the outputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        Ok(Self {
            render_colors: all.f32("render_colors")?.to_vec(),
            render_alphas: all.f32("render_alphas")?.to_vec(),
            render_transmittance: all.f32("render_transmittance")?.to_vec(),
            last_ids: all.i32("last_ids")?.to_vec(),
        })
    }
}

/// Inputs of the backward rasterization stage.
#[derive(Clone, Debug, PartialEq)]
pub struct BackwardInputs {
    /// What the forward stage got.
    pub raster: RasterInputs,
    /// `[H,W]`, see [`RasterOutputs`].
    pub render_transmittance: Vec<f32>,
    /// `[H,W]`, see [`RasterOutputs`].
    pub last_ids: Vec<i32>,
    /// `[H,W,D]` gradient of the loss with respect to `render_colors`.
    pub v_render_colors: Vec<f32>,
    /// `[H,W]` gradient of the loss with respect to `render_alphas`.
    pub v_render_alphas: Vec<f32>,
}

impl BackwardInputs {
    /// The stage's inputs by name.
    ///
    /// # Errors
    /// [`ShapeError`] where an array does not fill the image.
    pub fn tensors(&self) -> Result<Tensors, ShapeError> {
        let mut all = self.raster.tensors()?;
        let image = [self.raster.height as usize, self.raster.width as usize];
        let [height, width] = image;
        let colors = [height, width, self.raster.channels as usize];
        floats(&mut all, "render_transmittance", &image, &self.render_transmittance)?;
        all.array("last_ids", &image, Data::I32(self.last_ids.clone()))?;
        floats(&mut all, "v_render_colors", &colors, &self.v_render_colors)?;
        floats(&mut all, "v_render_alphas", &image, &self.v_render_alphas)?;
        Ok(all)
    }
}

impl BackwardInputs {
    /// From the stage's inputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        Ok(Self {
            raster: RasterInputs::from_tensors(all)?,
            render_transmittance: all.f32("render_transmittance")?.to_vec(),
            last_ids: all.i32("last_ids")?.to_vec(),
            v_render_colors: all.f32("v_render_colors")?.to_vec(),
            v_render_alphas: all.f32("v_render_alphas")?.to_vec(),
        })
    }
}

/// Outputs of the backward rasterization stage, in the project's canonical units.
#[derive(Clone, Debug, PartialEq)]
pub struct RasterGradients {
    /// `[N,2]` per pixel.
    pub v_means2d: Vec<[f32; 2]>,
    /// `[N,3]` with the full off-diagonal.
    pub v_conics: Vec<[f32; 3]>,
    /// `[N]`.
    pub v_opacities: Vec<f32>,
    /// `[N,D]`.
    pub v_colors: Vec<f32>,
}

impl RasterGradients {
    /// The outputs by name.
    ///
    /// # Errors
    /// [`ShapeError`] where the colours do not fill `[N,D]`.
    pub fn tensors(&self, channels: usize) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        let n = self.v_opacities.len();
        rows(&mut all, "v_means2d", &self.v_means2d)?;
        rows(&mut all, "v_conics", &self.v_conics)?;
        floats(&mut all, "v_opacities", &[n], &self.v_opacities)?;
        floats(&mut all, "v_colors", &[n, channels], &self.v_colors)?;
        Ok(all)
    }

    /// From the outputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        Ok(Self {
            v_means2d: read_rows(all, "v_means2d")?,
            v_conics: read_rows(all, "v_conics")?,
            v_opacities: all.f32("v_opacities")?.to_vec(),
            v_colors: all.f32("v_colors")?.to_vec(),
        })
    }
}
