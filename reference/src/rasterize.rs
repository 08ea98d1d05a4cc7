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

use crate::convention::{ClampGradient, Convention, StopRule};
use crate::pair::sigma;
use crate::reach::{Reach, reaches, span};
use crate::scalar::{LaneJob, Lanes, Scalar, Walk};
use crate::view::RasterView;
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
    /// Gaussian `id` over the tile with rectangle `[x0, y0, w, h]`; `reaches` holds every Gaussian's.
    #[inline(always)]
    pub(crate) fn new(
        view: &RasterView<'_, S>,
        reaches: &[Reach],
        id: usize,
        [x0, y0, w, h]: [usize; 4],
    ) -> Self {
        let splats = view.splats;
        let (mean2d, conic) = (splats.means2d[id], splats.conics[id]);
        let opacity = splats.opacities[id];
        let center = view.convention.pixel_center;
        let (columns, rows) = match reaches[id] {
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
    let offset = [x.splat(entry.mean2d[0]) - x, x.splat(entry.mean2d[1]) - y];
    let conic = entry.conic.map(
        #[inline(always)]
        |c| x.splat(c),
    );
    let power = -sigma(conic, offset[0], offset[1]);
    let gauss = power.exp();
    let raw = x.splat(entry.opacity) * gauss;
    let clamped = constants.alpha_max.min(raw);
    let alpha = match constants.clamp_gradient {
        ClampGradient::PassThrough => clamped.with_gradient_of(raw),
        ClampGradient::Zero => clamped,
    };
    let above = constants.zero.lt(power);
    let below = alpha.lt(constants.alpha_min);
    Alpha { offset, gauss, alpha, visible: x.and(x.not(above), x.not(below)) }
}

/// The convention's constants in every lane.
pub(crate) struct Constants<L> {
    pub(crate) zero: L,
    pub(crate) one: L,
    pub(crate) alpha_max: L,
    pub(crate) alpha_min: L,
    transmittance_min: L,
    stop_rule: StopRule,
    clamp_gradient: ClampGradient,
}

impl<L: Lanes> Constants<L> {
    #[inline(always)]
    pub(crate) fn new(convention: &Convention, lanes: L) -> Self {
        Self {
            zero: lanes.like(0.0),
            one: lanes.like(1.0),
            alpha_max: lanes.like(convention.alpha_max),
            alpha_min: lanes.like(convention.alpha_min),
            transmittance_min: lanes.like(convention.transmittance_min),
            stop_rule: convention.stop_rule,
            clamp_gradient: convention.alpha_clamp_gradient,
        }
    }

    #[inline(always)]
    fn stops(&self, next: L) -> L::Mask {
        match self.stop_rule {
            StopRule::Less => next.lt(self.transmittance_min),
            StopRule::LessOrEqual => next.not(self.transmittance_min.lt(next)),
        }
    }
}

/// The state of a tile's pixels, each array `[side,side]` (`[D,side,side]` for `colors`).
struct TileState<S> {
    side: usize,
    transmittance: Vec<S>,
    /// 1 where a pixel has stopped or lies outside the image, else 0.
    stopped: Vec<S>,
    colors: Vec<S>,
    /// Depth in the tile's list of the last contributor plus 1, 0 for none: exact in every scalar,
    /// since a tile lists fewer than 2^24 Gaussians.
    last: Vec<S>,
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
            last: vec![zero; side * side],
        }
    }
}

/// Rasterizes the whole image; tiles run in parallel and do not depend on each other.
#[must_use]
pub fn rasterize<S: Walk>(view: &RasterView<'_, S>) -> Raster<S> {
    let (width, channels) = (view.width as usize, view.splats.channels);
    let pixels = width * view.height as usize;
    let zero = S::from_f64(0.0);
    let mut raster = Raster {
        render_colors: vec![zero; pixels * channels],
        render_alphas: vec![zero; pixels],
        transmittance: vec![zero; pixels],
        last_ids: vec![-1; pixels],
    };
    let reaches = reaches(view);
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
                let state = S::with_lanes(TileJob { view, reaches: &reaches, tile, rect });
                let mut strip = Strip { width, colors, alphas, transmittance, last };
                strip.write(&state, rect, view.background, view.lists.range(tile).start);
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
    fn write(
        &mut self,
        tile: &TileState<S>,
        [x0, _, w, h]: [usize; 4],
        background: &[S],
        start: usize,
    ) {
        let (one, side, channels) = (S::from_f64(1.0), tile.side, background.len());
        for y in 0..h {
            for x in 0..w {
                let (from, to) = (y * side + x, y * self.width + x0 + x);
                let t = tile.transmittance[from];
                self.alphas[to] = one - t;
                self.transmittance[to] = t;
                self.last[to] = last_id(tile.last[from], start);
                for (d, &background) in background.iter().enumerate() {
                    self.colors[to * channels + d] =
                        tile.colors[d * side * side + from] + t * background;
                }
            }
        }
    }
}

/// The position in `flatten_ids` from a depth in the tile's list plus 1.
#[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^31")]
fn last_id<S: Scalar>(depth: S, start: usize) -> i32 {
    match depth.value() as i32 {
        0 => -1,
        depth => i32::try_from(start).unwrap_or(i32::MAX) + depth - 1,
    }
}

/// One tile's walk front to back.
struct TileJob<'a, S> {
    view: &'a RasterView<'a, S>,
    reaches: &'a [Reach],
    tile: usize,
    rect: [usize; 4],
}

impl<S: Scalar> LaneJob<S> for TileJob<'_, S> {
    type Output = TileState<S>;

    #[inline(always)]
    fn run<L: Lanes<Elem = S>>(self, lanes: L) -> TileState<S> {
        const { assert!(ROW.is_multiple_of(L::LANES), "rows start at multiples of the lanes") };
        let Self { view, reaches, tile, rect } = self;
        let side = view.lists.tile_size as usize;
        let mut state = TileState::new(side, rect, view.splats.channels);
        let constants = Constants::new(view.convention, lanes);
        let columns = sample_columns(view, rect, side);
        let mut alive = rect[2] * rect[3];
        for (depth, &id) in view.lists.flatten_ids[view.lists.range(tile)].iter().enumerate() {
            if alive == 0 {
                break;
            }
            let entry = Entry::new(view, reaches, id as usize, rect);
            let mark = lanes.like((depth + 1) as f64);
            for row in entry.rows.clone() {
                let y = lanes.like(view.sample(rect[1] + row));
                for column in (entry.first_column(L::LANES)..entry.columns.end).step_by(L::LANES) {
                    let sample = [lanes.load(&columns[column..]), y];
                    let at = row * side + column;
                    alive -= blend(view, &entry, &constants, sample, &mut state, at, mark);
                }
            }
        }
        state
    }
}

/// Sample points of the tile's columns, up to a whole row.
#[inline(always)]
pub(crate) fn sample_columns<S: Scalar>(
    view: &RasterView<'_, S>,
    rect: [usize; 4],
    side: usize,
) -> Vec<S> {
    (0..side.next_multiple_of(ROW)).map(|i| S::from_f64(view.sample(rect[0] + i))).collect()
}

/// Blends one Gaussian into one row of pixels; returns how many of them it stopped. `mark` is the
/// Gaussian's depth in the tile's list plus 1.
#[inline(always)]
fn blend<L: Lanes>(
    view: &RasterView<'_, L::Elem>,
    entry: &Entry<L::Elem>,
    constants: &Constants<L>,
    [x, y]: [L; 2],
    state: &mut TileState<L::Elem>,
    at: usize,
    mark: L,
) -> usize {
    let Alpha { alpha, visible, .. } = alpha_at(entry, constants, x, y);
    let stopped = x.load(&state.stopped[at..]);
    let live = x.and(visible, stopped.lt(constants.one));
    if !x.any(live) {
        return 0;
    }
    let t = x.load(&state.transmittance[at..]);
    let next = t * (constants.one - alpha);
    let stops = x.and(live, constants.stops(next));
    let takes = x.and(live, x.not(stops));
    let weight = (alpha * t).or_else(takes, constants.zero);
    let area = state.side * state.side;
    for (d, &color) in view.splats.color(entry.id).iter().enumerate() {
        let slot = &mut state.colors[d * area + at..];
        (x.load(slot) + x.splat(color) * weight).store(slot);
    }
    next.or_else(takes, t).store(&mut state.transmittance[at..]);
    mark.or_else(takes, x.load(&state.last[at..])).store(&mut state.last[at..]);
    if !x.any(stops) {
        return 0;
    }
    constants.one.or_else(stops, stopped).store(&mut state.stopped[at..]);
    let mut ones = [L::Elem::from_f64(0.0); ROW];
    constants.one.or_else(stops, constants.zero).store(&mut ones);
    ones.iter().filter(|one| one.value() > 0.0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convention::Convention;
    use crate::render::project_scene;
    use crate::synthetic::frustum;

    #[test]
    fn vector_rows_give_the_bits_of_single_pixels() {
        let scene = frustum(600, 75, 50, 5).map(f64::from);
        for convention in [Convention::inria(), Convention::gsplat()] {
            let projected = project_scene(&scene, 0, &convention).expect("few pairs");
            let view = projected.view(&scene, 0, &convention);
            let reaches = reaches(&view);
            for tile in 0..view.lists.tile_offsets.len() - 1 {
                let rect = view.tile_rect(tile);
                let job = || TileJob { view: &view, reaches: &reaches, tile, rect };
                let (wide, single) = (f64::with_lanes(job()), job().run(0.0));
                // The padding beside the image may differ, the image may not.
                let mut pixels = (0..rect[3]).flat_map(|y| (0..rect[2]).map(move |x| (x, y)));
                let same = |a: &[f64], b: &[f64], i: usize| a[i].to_bits() == b[i].to_bits();
                assert!(
                    pixels.all(|(x, y)| {
                        let i = y * wide.side + x;
                        same(&wide.transmittance, &single.transmittance, i)
                            && same(&wide.colors, &single.colors, i)
                            && same(&wide.last, &single.last, i)
                    }),
                    "tile {tile} depends on the width of a row"
                );
            }
        }
    }
}
