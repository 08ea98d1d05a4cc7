//! What the rasterization stages read: projected Gaussians, tile lists, image size.

use crate::arithmetic::Scalar;
use crate::splat::convention::Convention;

/// Projected Gaussians as the rasterization stage reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Splats<S> {
    /// `[N,2]` pixels.
    pub means2d: Vec<[S; 2]>,
    /// `[N,3]` upper triangle of the inverse 2D covariance, 1/pixels^2.
    pub conics: Vec<[S; 3]>,
    /// `[N]`.
    pub opacities: Vec<S>,
    /// Number of channels D.
    pub channels: usize,
    /// `[N,D]`.
    pub colors: Vec<S>,
}

impl<S: Copy> Splats<S> {
    /// The colour of Gaussian `id`, `[D]`.
    #[must_use]
    #[inline]
    pub fn color(&self, id: usize) -> &[S] {
        &self.colors[id * self.channels..(id + 1) * self.channels]
    }

    /// The same numbers over another scalar.
    pub fn map<R>(&self, mut f: impl FnMut(S) -> R) -> Splats<R> {
        Splats {
            means2d: self.means2d.iter().map(|v| v.map(&mut f)).collect(),
            conics: self.conics.iter().map(|v| v.map(&mut f)).collect(),
            opacities: self.opacities.iter().map(|&v| f(v)).collect(),
            channels: self.channels,
            colors: self.colors.iter().map(|&v| f(v)).collect(),
        }
    }
}

impl<S: Scalar> Splats<S> {
    /// `n` Gaussians of zeros.
    pub(crate) fn zeros(n: usize, channels: usize) -> Self {
        let zero = S::from_f64(0.0);
        Self {
            means2d: vec![[zero; 2]; n],
            conics: vec![[zero; 3]; n],
            opacities: vec![zero; n],
            channels,
            colors: vec![zero; n * channels],
        }
    }
}

/// Which Gaussians each tile lists, front to back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileLists {
    /// Tiles in x and y.
    pub tiles: [u32; 2],
    /// Width and height of a tile, pixels.
    pub tile_size: [u32; 2],
    /// `[T+1]`: tile t owns `flatten_ids[tile_offsets[t]..tile_offsets[t+1]]`.
    pub tile_offsets: Vec<u32>,
    /// `[M]` indices of Gaussians.
    pub flatten_ids: Vec<u32>,
}

impl TileLists {
    /// Positions in `flatten_ids` that tile `t` owns.
    #[must_use]
    #[inline]
    pub fn range(&self, t: usize) -> std::ops::Range<usize> {
        self.tile_offsets[t] as usize..self.tile_offsets[t + 1] as usize
    }
}

/// All inputs of forward rasterization.
#[derive(Clone, Copy, Debug)]
pub struct RasterView<'a, S> {
    /// Image width W, pixels.
    pub width: u32,
    /// Image height H, pixels.
    pub height: u32,
    /// The renderer's convention.
    pub convention: &'a Convention,
    /// The Gaussians.
    pub splats: &'a Splats<S>,
    /// The tiles' lists.
    pub lists: &'a TileLists,
    /// `[D]`.
    pub background: &'a [S],
}

/// Further inputs of backward rasterization.
#[derive(Clone, Copy, Debug)]
pub struct LossView<'a, S> {
    /// `[H,W]` transmittance after the last contributor.
    pub transmittance: &'a [S],
    /// `[H,W]` position in `flatten_ids` of the last contributor, -1 for none.
    pub last_ids: &'a [i32],
    /// `[H,W,D]` gradient of the loss with respect to `render_colors`.
    pub v_render_colors: &'a [S],
    /// `[H,W]` gradient of the loss with respect to `render_alphas`.
    pub v_render_alphas: &'a [S],
}

impl<S: Scalar> RasterView<'_, S> {
    /// The tile's first pixel and its size, cut off at the image's border: `(x0, y0, w, h)`.
    #[must_use]
    pub(crate) fn tile_rect(&self, tile: usize) -> [usize; 4] {
        let [across_tile, down_tile] = self.lists.tile_size.map(|side| side as usize);
        let across = self.lists.tiles[0] as usize;
        let (x0, y0) = ((tile % across) * across_tile, (tile / across) * down_tile);
        let (width, height) = (self.width as usize, self.height as usize);
        [x0, y0, across_tile.min(width - x0), down_tile.min(height - y0)]
    }

    /// Sample point of pixel column or row `i`, pixels.
    #[inline(always)]
    pub(crate) fn sample(&self, i: usize) -> f64 {
        i as f64 + self.convention.pixel_center
    }
}
