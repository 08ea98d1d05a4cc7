//! The arrays that go into and come out of the rasterization stages, as every engine sees them.
//!
//! Shapes: `N` Gaussians, image `H x W`, `D` channels, `T` tiles of `tile_size x tile_size` pixels
//! in row-major order, `M` (tile, Gaussian) pairs. All arrays are row-major and contiguous.

/// When the transmittance after a Gaussian stops a pixel (that Gaussian is then not blended).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopRule {
    /// next T < minimum (3DGS, DISTWAR).
    Less,
    /// next T <= minimum (gsplat).
    LessOrEqual,
}

/// The gradient of `min(alpha_max, .)` where it clamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClampGradient {
    /// Passed through as if there were no clamp (3DGS, DISTWAR).
    PassThrough,
    /// Zero (gsplat, and the derivative).
    Zero,
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
    /// Tile side, pixels.
    pub tile_size: u32,
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
        [self.width.div_ceil(self.tile_size), self.height.div_ceil(self.tile_size)]
    }

    /// Number of pixels H W.
    #[must_use]
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The Gaussians as the kernels read them: `[N,6+D]`, rows of [`crate::stages::values`].
    #[must_use]
    pub fn rows(&self) -> Vec<f32> {
        let Self { means2d, conics, opacities, colors, channels, .. } = self;
        join_rows(means2d, conics, opacities, colors, *channels)
    }
}

/// Rows `[N,6+D]` of mean, conic, opacity and colour.
pub(crate) fn join_rows(
    means2d: &[[f32; 2]],
    conics: &[[f32; 3]],
    opacities: &[f32],
    colors: &[f32],
    channels: u32,
) -> Vec<f32> {
    let d = channels as usize;
    let mut rows = Vec::with_capacity(means2d.len() * (6 + d));
    for (k, color) in colors.chunks_exact(d).enumerate() {
        rows.extend_from_slice(&means2d[k]);
        rows.extend_from_slice(&conics[k]);
        rows.push(opacities[k]);
        rows.extend_from_slice(color);
    }
    rows
}

/// What [`split_rows`] gives: means `[N,2]`, conics `[N,3]`, opacities `[N]`, colours `[N,D]`.
type Columns = (Vec<[f32; 2]>, Vec<[f32; 3]>, Vec<f32>, Vec<f32>);

/// The inverse of [`join_rows`].
pub(crate) fn split_rows(rows: &[f32], channels: u32) -> Columns {
    let row = 6 + channels as usize;
    let n = rows.len() / row;
    let mut means = Vec::with_capacity(n);
    let mut conics = Vec::with_capacity(n);
    let mut opacities = Vec::with_capacity(n);
    let mut colors = Vec::with_capacity(n * (row - 6));
    for values in rows.chunks_exact(row) {
        means.push([values[0], values[1]]);
        conics.push([values[2], values[3], values[4]]);
        opacities.push(values[5]);
        colors.extend_from_slice(&values[6..]);
    }
    (means, conics, opacities, colors)
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
    /// Takes the kernels' rows of gradients apart: `[N,6+D]`, as [`RasterInputs::rows`].
    #[must_use]
    pub fn from_rows(rows: &[f32], channels: u32) -> Self {
        let (v_means2d, v_conics, v_opacities, v_colors) = split_rows(rows, channels);
        Self { v_means2d, v_conics, v_opacities, v_colors }
    }
}
