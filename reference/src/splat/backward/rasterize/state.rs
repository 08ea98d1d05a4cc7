//! A tile's pixels on their walk back.

use crate::arithmetic::Scalar;
use crate::splat::formulated::{BackwardView, Start, light_behind};
use crate::splat::tile::{PerPixel, Pixel, Tile};
use crate::splat::view::RasterView;
use std::ops::Range;

/// A block's pixels on the way back; zero outside the image.
#[derive(Clone, Copy)]
pub(super) struct Block<S> {
    /// Depth in the tile's list at which the walk ends: that of the last contributor plus 1, 0 for
    /// none and where the pixel has stopped.
    pub(super) last: PerPixel<S>,
    pub(super) transmittance: PerPixel<S>,
    pub(super) final_transmittance: PerPixel<S>,
    /// See [`parts`](crate::splat::formulated::Ends::parts).
    pub(super) parts: [PerPixel<S>; 2],
}

/// One channel of a block's pixels.
#[derive(Clone, Copy)]
pub(super) struct Channel<S> {
    pub(super) v_pixel: PerPixel<S>,
    pub(super) remainder: PerPixel<S>,
}

/// A tile's pixels on the way back.
pub(super) struct TileState<S> {
    pub(super) blocks: Vec<Block<S>>,
    /// `[blocks, D]`
    pub(super) channels: Vec<Channel<S>>,
    /// Entries that may be walked: the largest `last`.
    pub(super) entries: usize,
}

impl<S: Scalar> TileState<S> {
    pub(super) fn new(
        view: &RasterView<'_, S>,
        inputs: &BackwardView<'_, S>,
        tile: &Tile<S>,
        list: &Range<usize>,
    ) -> Self {
        let (d, zero) = (view.splats.channels, PerPixel::all(S::from_f64(0.0)));
        let block = Block {
            last: zero,
            transmittance: PerPixel::all(S::from_f64(1.0)),
            final_transmittance: zero,
            parts: [zero; 2],
        };
        let channel = Channel { v_pixel: zero, remainder: zero };
        let mut state = Self {
            blocks: vec![block; tile.len()],
            channels: vec![channel; d * tile.len()],
            entries: 0,
        };
        let mut remainder = vec![zero[0]; d];
        for Pixel { index, block, lane, .. } in tile.pixels(view.width as usize) {
            let Some(end) = inputs.end(index, list) else { continue };
            state.entries = state.entries.max(end);
            let Start { t, ends } = inputs.start(view.background, index, &mut remainder);
            let numbers = inputs.v_pixel(index, d).iter().zip(&remainder);
            for (channel, (&v, &rest)) in state.channels[block * d..].iter_mut().zip(numbers) {
                (channel.v_pixel[lane], channel.remainder[lane]) = (v, rest);
            }
            let block = &mut state.blocks[block];
            block.last[lane] = S::from_f64(end as f64);
            block.transmittance[lane] = t;
            block.final_transmittance[lane] = ends.t_final;
            (block.parts[0][lane], block.parts[1][lane]) = (ends.parts[0], ends.parts[1]);
        }
        state
    }

    /// Puts every pixel to checkpoint `number` of the tile.
    #[cold]
    pub(super) fn resume(
        &mut self,
        view: &RasterView<'_, S>,
        inputs: &BackwardView<'_, S>,
        tile: &Tile<S>,
        [at, number]: [usize; 2],
    ) {
        let (d, size) = (view.splats.channels, view.lists.tile_size);
        let mut remainder = vec![S::from_f64(0.0); d];
        let extra = inputs.formulation().extra_roundings();
        for pixel in tile.pixels(view.width as usize) {
            let Pixel { index, block, lane, .. } = pixel;
            inputs.start(view.background, index, &mut remainder);
            let noted = inputs.noted([at, number, pixel.place(size)], size, d);
            self.blocks[block].transmittance[lane] = noted[0];
            let light = remainder.iter().zip(&noted[1..]);
            for (channel, (&all, &in_front)) in self.channels[block * d..].iter_mut().zip(light) {
                channel.remainder[lane] = light_behind(all, in_front, extra);
            }
        }
    }

    /// Whether any pixel walks on at this depth.
    pub(super) fn walks_on(&self, depth: usize) -> bool {
        self.blocks.iter().any(|block| block.last.iter().any(|last| last.value() > depth as f64))
    }
}
