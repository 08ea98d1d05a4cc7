//! Forward rasterization: blends each tile's Gaussians front to back.
//!
//! Per pixel, with transmittance T = 1 and colour C = 0 at the start, for each listed Gaussian in
//! order: sigma from the conic; skipped if -sigma > 0; alpha = `min(alpha_max`, opacity exp(-sigma));
//! skipped if alpha < `alpha_min`; next T = T (1 - alpha); if that is below the convention's minimum
//! the pixel stops and the Gaussian is not blended (by some conventions it is blended first, see
//! [`StopRule`]); else C += color alpha T. The image is C + T background, its opacity 1 - T. (Kerbl et
//! al. 2023, equation (3) and appendix C.)
//!
//! The loop over Gaussians is the outer one and the loop over the tile's pixels the inner one:
//! a Gaussian's numbers are then read once a tile, and blocks of pixels beyond its reach are left
//! out (see `tile.rs`).

use crate::arithmetic::{ExtraRoundings, LaneJob, Lanes, Scalar, Vectorized, rounded};
use crate::splat::convention::{ClampGradient, Convention, StopRule};
use crate::splat::pair::{AlongX, AlongY, one_term, sigma_along, sigma_terms_along};
use crate::splat::reach::{Footprint, footprints};
use crate::splat::tile::{BATCH, BLOCK, Entries, Entry, PerPixel, Pixel, Tile};
use crate::splat::view::RasterView;
use rayon::prelude::*;

/// The image.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster<S> {
    /// `[H,W,D]`, background included.
    pub render_colors: Vec<S>,
    /// `[H,W]`: 1 - transmittance.
    pub render_alphas: Vec<S>,
    /// `[H,W]`: transmittance after the last contributor.
    pub transmittance: Vec<S>,
    /// `[H,W]`: position in `flatten_ids` of the last contributor, -1 for none.
    pub last_ids: Vec<i32>,
}

/// One Gaussian in every lane.
pub(crate) struct Splat<L> {
    pub(crate) mean2d: [L; 2],
    pub(crate) conic: [L; 3],
    pub(crate) opacity: L,
}

impl<L: Lanes> Splat<L> {
    #[inline(always)]
    pub(crate) fn new(footprint: &Footprint<L::Elem>, lanes: L) -> Self {
        let ([x, y], [a, b, c]) = (footprint.mean2d, footprint.conic);
        Self {
            mean2d: [lanes.splat(x), lanes.splat(y)],
            conic: [lanes.splat(a), lanes.splat(b), lanes.splat(c)],
            opacity: lanes.splat(footprint.opacity),
        }
    }
}

/// alpha of some pixels: the clamped opacity, what it was made of, and where it counts.
#[derive(Clone, Copy)]
pub(crate) struct Alpha<L: Lanes> {
    /// What the power is made of.
    pub(crate) along: (AlongX<L>, AlongY<L>),
    pub(crate) gauss: L,
    pub(crate) alpha: L,
    pub(crate) visible: L::Mask,
}

/// Evaluates a Gaussian at pixels with the sample points (`x`, `y`).
#[inline(always)]
pub(crate) fn alpha_at<L: Lanes>(
    splat: &Splat<L>,
    constants: &Constants<L>,
    [x, y]: [L; 2],
) -> Alpha<L> {
    let along = (
        AlongX::new(splat.conic, splat.mean2d[0] - x),
        AlongY::new(splat.conic, splat.mean2d[1] - y),
    );
    let power = -sigma_along(&along.0, &along.1);
    let power = rounded!(power, constants.extra, sigma_terms_along(&along.0, &along.1));
    let gauss = power.exp_of_power();
    let raw = one_term(splat.opacity * gauss, constants.extra);
    let clamped = constants.alpha_max.min(raw);
    let alpha = match constants.clamp_gradient {
        ClampGradient::PassThrough => clamped.with_gradient_of(raw),
        ClampGradient::Zero => clamped,
        // d alpha = alpha d ln(raw), with alpha clamped.
        ClampGradient::Clamped => {
            let factor = (clamped / raw).with_gradient_of(constants.zero);
            clamped.with_gradient_of(raw * factor)
        }
    };
    let above = constants.zero.lt(power);
    let below = alpha.lt(constants.alpha_min);
    Alpha { along, gauss, alpha, visible: x.and(x.not(above), x.not(below)) }
}

/// The convention's constants in every lane.
pub(crate) struct Constants<L> {
    pub(crate) zero: L,
    pub(crate) one: L,
    alpha_max: L,
    alpha_min: L,
    transmittance_min: L,
    stop_rule: StopRule,
    clamp_gradient: ClampGradient,
    /// Of the power and of alpha.
    extra: ExtraRoundings,
}

impl<L: Lanes> Constants<L> {
    #[inline(always)]
    pub(crate) fn new(convention: &Convention, lanes: L) -> Self {
        Self::with_extra_roundings(convention, lanes, ExtraRoundings::NONE)
    }

    /// For a program whose power and alpha are rounded so often.
    #[inline(always)]
    pub(crate) fn with_extra_roundings(
        convention: &Convention,
        lanes: L,
        extra: ExtraRoundings,
    ) -> Self {
        Self {
            zero: lanes.like(0.0),
            one: lanes.like(1.0),
            alpha_max: lanes.like(convention.alpha_max),
            alpha_min: lanes.like(convention.alpha_min),
            transmittance_min: lanes.like(convention.transmittance_min),
            stop_rule: convention.stop_rule,
            clamp_gradient: convention.alpha_clamp_gradient,
            extra,
        }
    }

    /// Where alpha's gradient passes the clamp: of the `active` pixels, those whose opacity before
    /// the clamp is `raw`.
    #[inline(always)]
    pub(crate) fn gradient_flows(&self, active: L::Mask, raw: L) -> L::Mask {
        match self.clamp_gradient {
            ClampGradient::PassThrough | ClampGradient::Clamped => active,
            ClampGradient::Zero => raw.and(active, raw.not(self.alpha_max.lt(raw))),
        }
    }

    /// exp(power) as alpha's gradient goes on with it: alpha / opacity for the clamped alpha, where the
    /// convention says so and the opacity before the clamp, `raw`, is above it.
    #[inline(always)]
    pub(crate) fn gauss_of_gradient(&self, gauss: L, [opacity, raw]: [L; 2]) -> L {
        match self.clamp_gradient {
            ClampGradient::PassThrough | ClampGradient::Zero => gauss,
            ClampGradient::Clamped => {
                (self.alpha_max / opacity).or_else(self.alpha_max.lt(raw), gauss)
            }
        }
    }

    /// Where a pixel stops in front of a Gaussian with these transmittances in front of it and behind.
    #[inline(always)]
    pub(crate) fn stops(&self, in_front: L, behind: L) -> L::Mask {
        let t = self.stop_rule.deciding(in_front, behind);
        match self.stop_rule.stops_when_equal() {
            false => t.lt(self.transmittance_min),
            true => t.not(self.transmittance_min.lt(t)),
        }
    }
}

/// The state of a block's pixels, the colours apart.
#[derive(Clone, Copy)]
struct Block<S> {
    transmittance: PerPixel<S>,
    /// 1 where a pixel has stopped or lies outside the image, else 0.
    stopped: PerPixel<S>,
    /// Depth in the tile's list of the last contributor plus 1, 0 for none: exact in every scalar,
    /// since a tile lists fewer than 2^24 Gaussians.
    last: PerPixel<S>,
}

/// The state of a tile's pixels.
struct TileState<S> {
    blocks: Vec<Block<S>>,
    /// `[blocks, D]`
    colors: Vec<PerPixel<S>>,
}

impl<S: Scalar> TileState<S> {
    fn new(tile: &Tile<S>, channels: usize) -> Self {
        let [zero, one] = [0.0, 1.0].map(|x| PerPixel::all(S::from_f64(x)));
        let block = Block { transmittance: one, stopped: one, last: zero };
        let mut blocks = vec![block; tile.len()];
        for pixel in tile.pixels(0) {
            blocks[pixel.block].stopped[pixel.lane] = zero[0];
        }
        Self { blocks, colors: vec![zero; tile.len() * channels] }
    }
}

/// Rasterizes the whole image; tiles run in parallel and do not depend on each other.
#[must_use]
pub fn rasterize<S: Vectorized>(view: &RasterView<'_, S>) -> Raster<S> {
    let (width, channels) = (view.width as usize, view.splats.channels);
    let pixels = width * view.height as usize;
    let zero = S::from_f64(0.0);
    let mut raster = Raster {
        render_colors: vec![zero; pixels * channels],
        render_alphas: vec![zero; pixels],
        transmittance: vec![zero; pixels],
        last_ids: vec![-1; pixels],
    };
    let footprints = footprints(view);
    let [across, _] = view.lists.tiles;
    let rows = width * view.lists.tile_size[1] as usize;
    raster
        .render_colors
        .par_chunks_mut(rows * channels)
        .zip(raster.render_alphas.par_chunks_mut(rows))
        .zip(raster.transmittance.par_chunks_mut(rows))
        .zip(raster.last_ids.par_chunks_mut(rows))
        .enumerate()
        .for_each(|(row, (((colors, alphas), transmittance), last))| {
            for column in 0..across as usize {
                let number = row * across as usize + column;
                let tile = Tile::new(view, number);
                let list = view.lists.range(number);
                let ids = &view.lists.flatten_ids[list.clone()];
                let state =
                    S::with_lanes(TileJob { view, footprints: &footprints, tile: &tile, ids });
                let first = row * rows;
                let mut strip = Strip { first, colors, alphas, transmittance, last };
                strip.write(&state, tile.pixels(width), view.background, list.start);
            }
        });
    raster
}

/// One row of tiles of the output image, from the pixel `first` on.
struct Strip<'a, S> {
    first: usize,
    colors: &'a mut [S],
    alphas: &'a mut [S],
    transmittance: &'a mut [S],
    last: &'a mut [i32],
}

impl<S: Scalar> Strip<'_, S> {
    /// Copies a tile's pixels into the image and puts them over the background.
    fn write(
        &mut self,
        tile: &TileState<S>,
        pixels: impl Iterator<Item = Pixel>,
        background: &[S],
        start: usize,
    ) {
        let (one, channels) = (S::from_f64(1.0), background.len());
        for Pixel { index, block, lane, .. } in pixels {
            let (to, from) = (index - self.first, &tile.blocks[block]);
            let t = from.transmittance[lane];
            self.alphas[to] = one - t;
            self.transmittance[to] = t;
            self.last[to] = last_id(from.last[lane], start);
            let colors = &tile.colors[block * channels..(block + 1) * channels];
            let out = &mut self.colors[to * channels..(to + 1) * channels];
            for ((out, color), &background) in out.iter_mut().zip(colors).zip(background) {
                *out = color[lane] + t * background;
            }
        }
    }
}

/// The position in `flatten_ids` from a depth in the tile's list plus 1.
#[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^31")]
pub(crate) fn last_id<S: Scalar>(depth: S, start: usize) -> i32 {
    match depth.value() as i32 {
        0 => -1,
        depth => i32::try_from(start).unwrap_or(i32::MAX) + depth - 1,
    }
}

/// One tile's walk front to back.
struct TileJob<'a, S> {
    view: &'a RasterView<'a, S>,
    footprints: &'a [Footprint<S>],
    tile: &'a Tile<S>,
    ids: &'a [u32],
}

impl<S: Scalar> LaneJob<S> for TileJob<'_, S> {
    type Output = TileState<S>;

    #[inline(always)]
    fn run<L: Lanes<Elem = S>>(self, lanes: L) -> TileState<S> {
        const { assert!(BLOCK.is_multiple_of(L::LANES), "a block is a number of registers") };
        let Self { view, footprints, tile, ids } = self;
        let channels = view.splats.channels;
        let mut state = TileState::new(tile, channels);
        let constants = Constants::new(view.convention, lanes);
        let mut entries = Entries::new();
        let mut alive = tile.size[0] * tile.size[1];
        for (batch, ids) in ids.chunks(BATCH).enumerate() {
            entries.fill(tile, footprints, view.splats, ids, batch * BATCH);
            for (i, entry) in entries.list.iter().enumerate() {
                if alive == 0 {
                    return state;
                }
                let blocks = entries.blocks(entry);
                let walk = Walker { tile, constants: &constants, state: &mut state };
                // Written out, so that three channels are a number known to the compiler.
                alive -= match *entries.color(i, channels) {
                    [r, g, b] => walk.blend(blocks, &Layer::new(entry, &[r, g, b], lanes)),
                    ref color => walk.blend(blocks, &Layer::new(entry, color, lanes)),
                };
            }
        }
        state
    }
}

/// One Gaussian on its way into the tile.
struct Layer<'a, L: Lanes> {
    splat: Splat<L>,
    color: &'a [L::Elem],
    /// Depth in the tile's list plus 1.
    mark: L,
}

impl<'a, L: Lanes> Layer<'a, L> {
    #[inline(always)]
    fn new(entry: &Entry<L::Elem>, color: &'a [L::Elem], lanes: L) -> Self {
        let mark = lanes.like((entry.depth + 1) as f64);
        Self { splat: Splat::new(&entry.footprint, lanes), color, mark }
    }
}

/// What a Gaussian is blended into.
struct Walker<'a, L: Lanes> {
    tile: &'a Tile<L::Elem>,
    constants: &'a Constants<L>,
    state: &'a mut TileState<L::Elem>,
}

impl<L: Lanes> Walker<'_, L> {
    /// Blends a Gaussian into all blocks that it may reach; returns how many pixels it stopped.
    #[inline(always)]
    fn blend(self, blocks: impl Iterator<Item = usize>, layer: &Layer<'_, L>) -> usize {
        let Self { tile, constants, state } = self;
        let (channels, mut stopped) = (layer.color.len(), 0);
        for at in blocks {
            let block = &mut state.blocks[at];
            // As many as the colour has, which the compiler may know.
            let colors = &mut state.colors[at * channels..][..channels];
            let [column, row] = tile.places[at];
            let samples = [&tile.samples[0][column], &tile.samples[1][row]];
            for lane in (0..BLOCK).step_by(L::LANES) {
                stopped += blend(layer, constants, samples, block, colors, lane);
            }
        }
        stopped
    }
}

/// Blends one Gaussian into the pixels of a block from `lane` on; returns how many it stopped.
#[inline(always)]
fn blend<L: Lanes>(
    layer: &Layer<'_, L>,
    constants: &Constants<L>,
    samples: [&PerPixel<L::Elem>; 2],
    block: &mut Block<L::Elem>,
    colors: &mut [PerPixel<L::Elem>],
    lane: usize,
) -> usize {
    let mark = layer.mark;
    let stopped = mark.load(&block.stopped[lane..]);
    let running = stopped.lt(constants.one);
    if !mark.any(running) {
        return 0;
    }
    let sample = [mark.load(&samples[0][lane..]), mark.load(&samples[1][lane..])];
    let Alpha { alpha, visible, .. } = alpha_at(&layer.splat, constants, sample);
    let live = mark.and(visible, running);
    if !mark.any(live) {
        return 0;
    }
    let t = mark.load(&block.transmittance[lane..]);
    let next = t * (constants.one - alpha);
    let stops = mark.and(live, constants.stops(t, next));
    let takes = mark.and(live, mark.not(stops));
    let weight = alpha * t;
    for (slot, &color) in colors.iter_mut().zip(layer.color) {
        let before = mark.load(&slot[lane..]);
        let after = mark.splat(color).mul_add(weight, before);
        after.or_else(takes, before).store(&mut slot[lane..]);
    }
    next.or_else(takes, t).store(&mut block.transmittance[lane..]);
    mark.or_else(takes, mark.load(&block.last[lane..])).store(&mut block.last[lane..]);
    if !mark.any(stops) {
        return 0;
    }
    constants.one.or_else(stops, stopped).store(&mut block.stopped[lane..]);
    let mut ones = PerPixel::all(L::Elem::from_f64(0.0));
    constants.one.or_else(stops, constants.zero).store(&mut ones[..]);
    ones.iter().filter(|one| one.value() > 0.0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::Scene;
    use crate::splat::convention::Convention;
    use crate::splat::render::project_scene;
    use crate::splat::synthetic::frustum;

    #[test]
    fn vector_rows_give_the_bits_of_single_pixels() {
        let scene = frustum(600, 75, 50, 5);
        rows_are_pixels(&scene);
        rows_are_pixels(&scene.map(f64::from));
    }

    fn rows_are_pixels<S: Vectorized + Lanes<Elem = S>>(scene: &Scene<S>) {
        for convention in [Convention::inria(), Convention::gsplat()] {
            let projected = project_scene(scene, 0, &convention).expect("few pairs");
            let view = projected.view(scene, 0, &convention);
            let footprints = footprints(&view);
            for number in 0..view.lists.tile_offsets.len() - 1 {
                let tile = Tile::new(&view, number);
                let ids = &view.lists.flatten_ids[view.lists.range(number)];
                let job = || TileJob { view: &view, footprints: &footprints, tile: &tile, ids };
                let (wide, single) = (S::with_lanes(job()), job().run(S::from_f64(0.0)));
                // The padding beside the image may differ, the image may not.
                let bits = |number: S| number.value().to_bits();
                let pixel = |state: &TileState<S>, p: Pixel| {
                    let block = &state.blocks[p.block];
                    let colors = [0, 1, 2].map(|d| bits(state.colors[p.block * 3 + d][p.lane]));
                    (bits(block.transmittance[p.lane]), bits(block.last[p.lane]), colors)
                };
                assert!(
                    tile.pixels(0).all(|p| pixel(&wide, p) == pixel(&single, p)),
                    "tile {number} depends on the width of a row"
                );
            }
        }
    }
}
