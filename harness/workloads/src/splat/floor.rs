//! What the backward stage has to compute and to move at least, and how long a device needs.
//!
//! The floor is that of the method, a walk over tiles' lists, not of a kernel: each number below is
//! what remains if nothing is done twice and every read is found in a cache after the first.

use splatcheck_gpu::Peak;
use splatcheck_gpu::stages::splat::values;

use super::stage::RasterStage;
use splatcheck_judge::traffic::Counts;

/// Operations on f32 of a pair that is evaluated: offset (2), sigma (9: four products for a dx^2 and
/// c dy^2, their sum, its half, two for b dx dy, the sum), exp (1, whatever it costs), opacity (1).
/// Comparisons, signs and the choice of the smaller alpha count nothing.
const EVALUATED: u64 = 2 + 9 + 1 + 1;

/// Operations of a pair that contributes, the channels apart: 1 - alpha, the transmittance's
/// division and alpha T (3); the last part of alpha's gradient, a division, product and sum (3); the
/// gradients of mean and conic (v = opacity exp(-sigma) dL/dalpha, 1; twice two products, a sum and
/// a product with v, 8; dx^2, dx dy, dy^2 and a product of each with v or v/2, 7) and of the opacity
/// (1); adding the six to their sums (6).
const CONTRIBUTING: u64 = 3 + 3 + 1 + 8 + 7 + 1 + 6;

/// Operations of a contributing pair and channel: the colour's gradient (1), its part of alpha's
/// gradient (4: difference, two products, sum), what is seen behind (3), adding up (1).
const CHANNEL: u64 = 1 + 4 + 3 + 1;

/// Bytes of an f32, u32 or i32.
const WORD: u64 = 4;

/// What one backward stage works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Channels D.
    pub channels: u32,
    /// Pixels of the image.
    pub pixels: u64,
    /// Tiles.
    pub tiles: u64,
    /// Entries of the tiles' lists up to the last contributor of the tile's pixels.
    pub entries: u64,
    /// Pairs (pixel, Gaussian) up to the pixel's last contributor.
    pub evaluated: u64,
    /// Pairs that contribute.
    pub contributing: u64,
    /// Gaussians among the entries.
    pub read: u64,
    /// Gaussians that get a gradient.
    pub touched: u64,
}

impl Work {
    /// Counts what there is to do in a stage whose contributions were counted.
    #[must_use]
    pub fn new(stage: &RasterStage, counts: &Counts) -> Self {
        let raster = &stage.inputs.raster;
        let tiles = raster.tile_offsets.len().saturating_sub(1);
        let mut walks = vec![0_u64; tiles];
        let mut evaluated = 0;
        for (pixel, &last) in stage.inputs.last_ids.iter().enumerate() {
            let Ok(last) = u32::try_from(last) else { continue };
            let tile = raster.tile_of(pixel);
            let depth = u64::from(last + 1 - raster.tile_offsets[tile]);
            walks[tile] = walks[tile].max(depth);
            evaluated += depth;
        }
        let mut read = vec![false; raster.len()];
        for (&begin, &depth) in raster.tile_offsets.iter().zip(&walks) {
            let list = raster.flatten_ids[begin as usize..].iter();
            list.zip(0..depth).for_each(|(&gaussian, _)| read[gaussian as usize] = true);
        }
        Self {
            channels: raster.channels,
            pixels: raster.pixels() as u64,
            tiles: tiles as u64,
            entries: walks.iter().sum(),
            evaluated,
            contributing: counts.contributing(),
            read: read.into_iter().filter(|&read| read).count() as u64,
            touched: counts.touched(),
        }
    }

    /// Operations on f32; a fused multiply-add is two.
    #[must_use]
    pub fn flops(&self) -> u64 {
        let contributing = CONTRIBUTING + CHANNEL * u64::from(self.channels);
        self.evaluated * EVALUATED + self.contributing * contributing
    }

    /// Bytes between memory and caches: each list entry, each Gaussian of the lists, each pixel's
    /// transmittance, last contributor and gradients (3 + D) read once; each touched Gaussian's
    /// gradient read and written once.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let row = u64::from(values(self.channels));
        let pixel = 3 + u64::from(self.channels);
        WORD * (self.tiles
            + 1
            + self.entries
            + self.read * row
            + self.pixels * pixel
            + 2 * self.touched * row)
    }

    /// The least time on a device.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a floor for people")]
    pub fn floor(&self, peak: &Peak) -> Floor {
        Floor {
            arithmetic_ms: 1e3 * self.flops() as f64 / peak.flops_per_second,
            memory_ms: 1e3 * self.bytes() as f64 / peak.bytes_per_second,
        }
    }
}

/// The least time that a device needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// For the operations at the arithmetic peak, milliseconds.
    pub arithmetic_ms: f64,
    /// For the bytes at the memory's peak, milliseconds.
    pub memory_ms: f64,
}

impl Floor {
    /// Both may overlap: the larger.
    #[must_use]
    pub fn milliseconds(&self) -> f64 {
        self.arithmetic_ms.max(self.memory_ms)
    }
}

#[cfg(test)]
mod tests;
