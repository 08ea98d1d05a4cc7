//! Forward rasterization: blends each tile's Gaussians front to back.
//!
//! Per pixel, with transmittance T = 1 and colour C = 0 at the start, for each listed Gaussian in
//! order: sigma from the conic; skipped if -sigma > 0; alpha = `min(alpha_max`, opacity exp(-sigma));
//! skipped if alpha < `alpha_min`; next T = T (1 - alpha); if that is below the convention's minimum
//! the pixel stops and the Gaussian is not blended; else C += color alpha T. The image is
//! C + T background, its opacity 1 - T. (Kerbl et al. 2023, equation (3) and appendix C.)
//!
//! The loop over Gaussians is the outer one and the loop over the tile's pixels the inner one:
//! a Gaussian's numbers are then read once a tile, and pixels beyond its reach are left out.

use crate::convention::{Convention, StopRule};
use crate::pair::sigma;
use crate::reach::{Reach, reach, span};
use crate::scalar::{Lanes, Scalar};
use crate::view::RasterView;
use rayon::prelude::*;

/// The image.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster<S> {
    /// [H,W,D], background included.
    pub render_colors: Vec<S>,
    /// [H,W]: 1 - transmittance.
    pub render_alphas: Vec<S>,
    /// [H,W]: transmittance after the last contributor.
    pub transmittance: Vec<S>,
    /// [H,W]: position in `flatten_ids` of the last contributor, -1 for none.
    pub last_ids: Vec<i32>,
}

/// Widest row of pixels that is processed together: row starts are multiples of it.
pub(crate) const ROW: usize = 8;

/// One listed Gaussian, ready for the walk over a tile.
pub(crate) struct Entry<S> {
    pub(crate) id: usize,
    pub(crate) mean2d: [S; 2],
    pub(crate) conic: [S; 3],
    pub(crate) opacity: S,
    /// Pixel rows and columns of the tile that may be reached, relative to the tile.
    pub(crate) rows: std::ops::Range<usize>,
    pub(crate) columns: std::ops::Range<usize>,
}

impl<S: Scalar> Entry<S> {
    /// Gaussian `id` over the tile with rectangle `[x0, y0, w, h]`.
    #[inline(always)]
    pub(crate) fn new(view: &RasterView<'_, S>, id: usize, [x0, y0, w, h]: [usize; 4]) -> Self {
        let splats = view.splats;
        let (mean2d, conic) = (splats.means2d[id], splats.conics[id]);
        let opacity = splats.opacities[id];
        let center = view.convention.pixel_center;
        let (columns, rows) = match reach(conic, opacity, view.convention.alpha_min) {
            Reach::Nowhere => (0..0, 0..0),
            Reach::Anywhere => (0..w, 0..h),
            Reach::Within(half_x, half_y) => {
                let x = span(mean2d[0].value(), half_x, center, x0, x0 + w);
                let y = span(mean2d[1].value(), half_y, center, y0, y0 + h);
                (x.start - x0..x.end - x0, y.start - y0..y.end - y0)
            }
        };
        Self { id, mean2d, conic, opacity, rows, columns }
    }

    /// First column, aligned down to a multiple of the number of lanes.
    #[inline(always)]
    pub(crate) fn first_column(&self, lanes: usize) -> usize {
        self.columns.start - self.columns.start % lanes
    }
}

/// alpha of one row of pixels: the clamped opacity, what it was made of, and where it counts.
pub(crate) struct Alpha<L: Lanes> {
    pub(crate) offset: [L; 2],
    pub(crate) gauss: L,
    pub(crate) alpha: L,
    pub(crate) visible: L::Mask,
}

/// Evaluates an entry at pixels whose sample points are (`x` .., `y`).
#[inline(always)]
pub(crate) fn alpha_at<L: Lanes>(
    entry: &Entry<L::Elem>,
    constants: &Constants<L>,
    x: L,
    y: L,
) -> Alpha<L> {
    let offset = [L::splat(entry.mean2d[0]) - x, L::splat(entry.mean2d[1]) - y];
    let power = -sigma(entry.conic.map(L::splat), offset[0], offset[1]);
    let gauss = power.exp();
    let alpha = constants.alpha_max.min(L::splat(entry.opacity) * gauss);
    let above = L::lt(constants.zero, power);
    let below = L::lt(alpha, constants.alpha_min);
    Alpha { offset, gauss, alpha, visible: L::and(L::not(above), L::not(below)) }
}

/// The convention's constants in every lane.
pub(crate) struct Constants<L> {
    pub(crate) zero: L,
    pub(crate) one: L,
    pub(crate) alpha_max: L,
    pub(crate) alpha_min: L,
    transmittance_min: L,
    stop_rule: StopRule,
}

impl<L: Lanes> Constants<L> {
    pub(crate) fn new(convention: &Convention) -> Self {
        let constant = |c| L::splat(L::Elem::from_f64(c));
        Self {
            zero: constant(0.0),
            one: constant(1.0),
            alpha_max: constant(convention.alpha_max),
            alpha_min: constant(convention.alpha_min),
            transmittance_min: constant(convention.transmittance_min),
            stop_rule: convention.stop_rule,
        }
    }

    #[inline(always)]
    fn stops(&self, next: L) -> L::Mask {
        match self.stop_rule {
            StopRule::Less => L::lt(next, self.transmittance_min),
            StopRule::LessOrEqual => L::not(L::lt(self.transmittance_min, next)),
        }
    }
}

/// The state of a tile's pixels, each array [side,side] ([D,side,side] for `colors`).
struct TileState<S> {
    side: usize,
    transmittance: Vec<S>,
    /// 1 where a pixel has stopped or lies outside the image, else 0.
    stopped: Vec<S>,
    colors: Vec<S>,
    last: Vec<i32>,
}

impl<S: Scalar> TileState<S> {
    fn new(side: usize, [_, _, w, h]: [usize; 4], channels: usize) -> Self {
        let (zero, one) = (S::from_f64(0.0), S::from_f64(1.0));
        let inside = |i: usize| i % side < w && i / side < h;
        Self {
            side,
            transmittance: vec![one; side * side],
            stopped: (0..side * side).map(|i| if inside(i) { zero } else { one }).collect(),
            colors: vec![zero; channels * side * side],
            last: vec![-1; side * side],
        }
    }
}

/// Rasterizes the whole image; tiles run in parallel and do not depend on each other.
#[must_use]
pub fn rasterize<L: Lanes>(view: &RasterView<'_, L::Elem>) -> Raster<L::Elem> {
    let (width, channels) = (view.width as usize, view.splats.channels);
    let pixels = width * view.height as usize;
    let zero = L::Elem::from_f64(0.0);
    let mut raster = Raster {
        render_colors: vec![zero; pixels * channels],
        render_alphas: vec![zero; pixels],
        transmittance: vec![zero; pixels],
        last_ids: vec![-1; pixels],
    };
    let [across, _] = view.lists.tiles;
    let rows = width * view.lists.tile_size as usize;
    raster
        .render_colors
        .par_chunks_mut(rows * channels)
        .zip(raster.render_alphas.par_chunks_mut(rows))
        .zip(raster.transmittance.par_chunks_mut(rows))
        .zip(raster.last_ids.par_chunks_mut(rows))
        .enumerate()
        .for_each(|(row, (((colors, alphas), transmittance), last))| {
            for column in 0..across as usize {
                let tile = row * across as usize + column;
                let rect = view.tile_rect(tile);
                let state = rasterize_tile::<L>(view, tile, rect);
                let mut strip = Strip { width, colors, alphas, transmittance, last };
                strip.write(&state, rect, view.background);
            }
        });
    raster
}

/// One row of tiles of the output image.
struct Strip<'a, S> {
    width: usize,
    colors: &'a mut [S],
    alphas: &'a mut [S],
    transmittance: &'a mut [S],
    last: &'a mut [i32],
}

impl<S: Scalar> Strip<'_, S> {
    /// Copies a tile's pixels into the image and puts them over the background.
    fn write(&mut self, tile: &TileState<S>, [x0, _, w, h]: [usize; 4], background: &[S]) {
        let (one, side, channels) = (S::from_f64(1.0), tile.side, background.len());
        for y in 0..h {
            for x in 0..w {
                let (from, to) = (y * side + x, y * self.width + x0 + x);
                let t = tile.transmittance[from];
                self.alphas[to] = one - t;
                self.transmittance[to] = t;
                self.last[to] = tile.last[from];
                for (d, &background) in background.iter().enumerate() {
                    self.colors[to * channels + d] =
                        tile.colors[d * side * side + from] + t * background;
                }
            }
        }
    }
}

/// Walks one tile's list front to back.
#[inline(always)]
fn rasterize_tile<L: Lanes>(
    view: &RasterView<'_, L::Elem>,
    tile: usize,
    rect: [usize; 4],
) -> TileState<L::Elem> {
    let side = view.lists.tile_size as usize;
    let mut state = TileState::new(side, rect, view.splats.channels);
    let constants = Constants::<L>::new(view.convention);
    let columns: Vec<L::Elem> = (0..side.next_multiple_of(ROW))
        .map(|i| L::Elem::from_f64(view.sample(rect[0] + i)))
        .collect();
    let mut alive = rect[2] * rect[3];
    for position in view.lists.range(tile) {
        if alive == 0 {
            break;
        }
        let entry = Entry::new(view, view.lists.flatten_ids[position] as usize, rect);
        for row in entry.rows.clone() {
            let y = L::splat(L::Elem::from_f64(view.sample(rect[1] + row)));
            for column in (entry.first_column(L::LANES)..entry.columns.end).step_by(L::LANES) {
                let x = L::load(&columns[column..]);
                let at = row * side + column;
                alive -= blend::<L>(view, &entry, &constants, [x, y], &mut state, at, position);
            }
        }
    }
    state
}

/// Blends one Gaussian into one row of pixels; returns how many of them it stopped.
#[inline(always)]
fn blend<L: Lanes>(
    view: &RasterView<'_, L::Elem>,
    entry: &Entry<L::Elem>,
    constants: &Constants<L>,
    [x, y]: [L; 2],
    state: &mut TileState<L::Elem>,
    at: usize,
    position: usize,
) -> usize {
    let Alpha { alpha, visible, .. } = alpha_at(entry, constants, x, y);
    let stopped = L::load(&state.stopped[at..]);
    let live = L::and(visible, L::lt(stopped, constants.one));
    if !L::any(live) {
        return 0;
    }
    let t = L::load(&state.transmittance[at..]);
    let next = t * (constants.one - alpha);
    let stops = L::and(live, constants.stops(next));
    let takes = L::and(live, L::not(stops));
    let weight = L::select(takes, alpha * t, constants.zero);
    let area = state.side * state.side;
    for (d, &color) in view.splats.color(entry.id).iter().enumerate() {
        let slot = &mut state.colors[d * area + at..];
        (L::load(slot) + L::splat(color) * weight).store(slot);
    }
    L::select(takes, next, t).store(&mut state.transmittance[at..]);
    L::select(stops, constants.one, stopped).store(&mut state.stopped[at..]);
    let mut count = 0;
    for lane in 0..L::LANES {
        count += usize::from(L::test(stops, lane));
        if L::test(takes, lane) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                reason = "lists hold fewer than 2^31 pairs"
            )]
            let id = position as i32;
            state.last[at + lane] = id;
        }
    }
    count
}
