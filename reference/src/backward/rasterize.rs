//! Backward rasterization: the vector-Jacobian product of [`crate::rasterize`].
//!
//! Per pixel, from the last contributor to the tile's first entry: the transmittance in front of
//! a Gaussian is recovered by T = T / (1 - alpha) from the final one, the colour behind it is kept
//! as a running blend (see [`crate::pair::blend_vjp`]), and each pair adds 6 + D numbers to its
//! Gaussian.
//!
//! Determinism: a tile adds up each Gaussian's contributions in a fixed order (eight interleaved
//! columns of pixels, row by row, then a fixed tree), and the tiles' sums are added in the order of
//! the tiles. No bit depends on the number of threads.

use crate::convention::{ClampGradient, Convention, Mean2dUnits, OffDiagonal};
use crate::pair::{alpha_vjp, blend_vjp, v_minus_transmittance};
use crate::rasterize::{Alpha, Constants, Entry, ROW, alpha_at, sample_columns};
use crate::reach::{Reach, reaches};
use crate::scalar::{LaneJob, Lanes, Scalar, Walk};
use crate::view::{LossView, RasterView};
use rayon::prelude::*;

/// Gradients of the stage's inputs, summed over the image.
#[derive(Clone, Debug, PartialEq)]
pub struct SplatGradients<S> {
    /// `[N,2]` per pixel.
    pub v_means2d: Vec<[S; 2]>,
    /// `[N,3]` with the full off-diagonal.
    pub v_conics: Vec<[S; 3]>,
    /// `[N]`.
    pub v_opacities: Vec<S>,
    /// `[N,D]`.
    pub v_colors: Vec<S>,
    /// `[D]`.
    pub v_background: Vec<S>,
}

impl<S: Scalar> SplatGradients<S> {
    /// The same gradients in the units in which the convention's own renderer reports them, for
    /// comparing stage by stage: the mean's in normalized device coordinates (times half the
    /// image's size), half of the conic's off-diagonal.
    #[must_use]
    pub fn reported_by(mut self, convention: &Convention, [width, height]: [u32; 2]) -> Self {
        if convention.mean2d_units == Mean2dUnits::Ndc {
            let half = [width, height].map(|pixels| S::from_f64(0.5 * f64::from(pixels)));
            for [x, y] in &mut self.v_means2d {
                (*x, *y) = (*x * half[0], *y * half[1]);
            }
        }
        if convention.conic_off_diagonal == OffDiagonal::Half {
            let half = S::from_f64(0.5);
            self.v_conics.iter_mut().for_each(|conic| conic[1] = conic[1] * half);
        }
        self
    }
}

/// Numbers per pair besides the colour's D.
pub(crate) const GEOMETRY: usize = 6;

/// Differentiates the rasterization of the whole image.
#[must_use]
pub fn rasterize<S: Walk>(view: &RasterView<'_, S>, loss: &LossView<'_, S>) -> SplatGradients<S> {
    let stride = GEOMETRY + view.splats.channels;
    let tiles = view.lists.tile_offsets.len() - 1;
    let reaches = reaches(view);
    let partial: Vec<Vec<S>> = (0..tiles)
        .into_par_iter()
        .map(|tile| S::with_lanes(TileJob { view, loss, reaches: &reaches, tile }))
        .collect();
    let mut gradients = gather(view, stride, &partial);
    gradients.v_background = background(view, loss);
    gradients
}

/// Adds up the tiles' sums, each Gaussian's in the order of the tiles.
fn gather<S: Scalar>(
    view: &RasterView<'_, S>,
    stride: usize,
    partial: &[Vec<S>],
) -> SplatGradients<S> {
    let (n, channels, zero) = (view.splats.means2d.len(), view.splats.channels, S::from_f64(0.0));
    let mut out = SplatGradients {
        v_means2d: vec![[zero; 2]; n],
        v_conics: vec![[zero; 3]; n],
        v_opacities: vec![zero; n],
        v_colors: vec![zero; n * channels],
        v_background: Vec::new(),
    };
    for (tile, sums) in partial.iter().enumerate() {
        let ids = &view.lists.flatten_ids[view.lists.range(tile)];
        for (&id, sum) in ids.iter().zip(sums.chunks_exact(stride)) {
            let id = id as usize;
            let [m, c] = [&mut out.v_means2d[id][..], &mut out.v_conics[id][..]];
            let rest = &mut out.v_colors[id * channels..(id + 1) * channels];
            let opacity = std::slice::from_mut(&mut out.v_opacities[id]);
            let slots = m.iter_mut().chain(c).chain(opacity).chain(rest);
            for (slot, &value) in slots.zip(sum) {
                *slot = *slot + value;
            }
        }
    }
    out
}

/// dL/dbackground = sum over pixels of T dL/dC.
fn background<S: Scalar>(view: &RasterView<'_, S>, loss: &LossView<'_, S>) -> Vec<S> {
    let channels = view.splats.channels;
    let mut sums = vec![S::from_f64(0.0); channels];
    for (&t, v) in loss.transmittance.iter().zip(loss.v_render_colors.chunks_exact(channels)) {
        for (sum, &v) in sums.iter_mut().zip(v) {
            *sum = *sum + t * v;
        }
    }
    sums
}

/// A tile's pixels on the way back, each array `[side,side]` or `[D,side,side]`; zero outside the image.
struct TileState<S> {
    side: usize,
    /// First and last rows' worth of `last`: position + 1 of the last contributor, 0 for none.
    last: Vec<S>,
    transmittance: Vec<S>,
    /// See [`v_minus_transmittance`], times the final transmittance.
    through: Vec<S>,
    final_transmittance: Vec<S>,
    behind: Vec<S>,
    v_pixel: Vec<S>,
    /// Entries to walk: the largest `last`.
    entries: usize,
}

impl<S: Scalar> TileState<S> {
    fn new(view: &RasterView<'_, S>, loss: &LossView<'_, S>, tile: usize) -> Self {
        let [x0, y0, w, h] = view.tile_rect(tile);
        let side = view.lists.tile_size as usize;
        let (area, channels, zero) = (side * side, view.splats.channels, S::from_f64(0.0));
        let start = view.lists.range(tile).start;
        let mut state = Self {
            side,
            last: vec![zero; area],
            transmittance: vec![S::from_f64(1.0); area],
            through: vec![zero; area],
            final_transmittance: vec![zero; area],
            behind: vec![zero; channels * area],
            v_pixel: vec![zero; channels * area],
            entries: 0,
        };
        for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
            let (pixel, at) = ((y0 + y) * view.width as usize + x0 + x, y * side + x);
            let Ok(last) = usize::try_from(loss.last_ids[pixel]) else { continue };
            let depth = last + 1 - start;
            state.entries = state.entries.max(depth);
            state.last[at] = S::from_f64(depth as f64);
            state.transmittance[at] = loss.transmittance[pixel];
            state.final_transmittance[at] = loss.transmittance[pixel];
            let v = &loss.v_render_colors[pixel * channels..(pixel + 1) * channels];
            state.through[at] =
                v_minus_transmittance(view.background, v, loss.v_render_alphas[pixel]);
            for (d, &v) in v.iter().enumerate() {
                state.v_pixel[d * area + at] = v;
            }
        }
        state
    }
}

/// Numbers reused from pair to pair: `[D]` each.
struct Scratch<L> {
    color: Vec<L>,
    v_pixel: Vec<L>,
    behind: Vec<L>,
    v_color: Vec<L>,
}

impl<L: Lanes> Scratch<L> {
    #[inline(always)]
    fn new(zero: L, channels: usize) -> Self {
        let zeros = || vec![zero; channels];
        Self { color: zeros(), v_pixel: zeros(), behind: zeros(), v_color: zeros() }
    }

    #[inline(always)]
    fn set_color(&mut self, color: &[L::Elem]) {
        for (slot, &color) in self.color.iter_mut().zip(color) {
            *slot = slot.splat(color);
        }
    }
}

/// One tile's walk back to front; gives `[entries, 6 + D]`.
struct TileJob<'a, S> {
    view: &'a RasterView<'a, S>,
    loss: &'a LossView<'a, S>,
    reaches: &'a [Reach],
    tile: usize,
}

impl<S: Scalar> LaneJob<S> for TileJob<'_, S> {
    type Output = Vec<S>;

    #[inline(always)]
    fn run<L: Lanes<Elem = S>>(self, lanes: L) -> Vec<S> {
        let Self { view, loss, reaches, tile } = self;
        let mut state = TileState::new(view, loss, tile);
        let (channels, rect, side) = (view.splats.channels, view.tile_rect(tile), state.side);
        let stride = GEOMETRY + channels;
        let zero = S::from_f64(0.0);
        let constants = Constants::new(view.convention, lanes);
        let mut scratch = Scratch::new(constants.zero, channels);
        let columns = sample_columns(view, rect, side);
        let range = view.lists.range(tile);
        let mut sums = vec![zero; range.len() * stride];
        let mut rows = vec![[zero; ROW]; stride];
        for depth in (0..state.entries).rev() {
            let id = view.lists.flatten_ids[range.start + depth] as usize;
            let entry = Entry::new(view, reaches, id, rect);
            scratch.set_color(view.splats.color(id));
            rows.fill([zero; ROW]);
            let mark = lanes.like(depth as f64);
            let mut touched = false;
            for row in entry.rows.clone() {
                let y = lanes.like(view.sample(rect[1] + row));
                for column in (entry.first_column(L::LANES)..entry.columns.end).step_by(L::LANES) {
                    let at = row * side + column;
                    let sample = [lanes.load(&columns[column..]), y];
                    let pair = Row { sample, at, mark };
                    touched |=
                        pair.unblend(view, &entry, &constants, &mut state, &mut scratch, &mut rows);
                }
            }
            if touched {
                for (sum, row) in sums[depth * stride..].iter_mut().zip(&rows) {
                    *sum = add_row(row);
                }
            }
        }
        sums
    }
}

/// The fixed tree that adds up the eight interleaved columns.
#[inline(always)]
fn add_row<S: Scalar>(r: &[S; ROW]) -> S {
    ((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7]))
}

/// One row of pixels: sample points, place in the tile, and the Gaussian's depth in the list.
struct Row<L> {
    sample: [L; 2],
    at: usize,
    mark: L,
}

impl<L: Lanes> Row<L> {
    /// Differentiates one Gaussian's blending into the row; returns whether any pixel contributed.
    #[inline(always)]
    fn unblend(
        self,
        view: &RasterView<'_, L::Elem>,
        entry: &Entry<L::Elem>,
        constants: &Constants<L>,
        state: &mut TileState<L::Elem>,
        scratch: &mut Scratch<L>,
        rows: &mut [[L::Elem; ROW]],
    ) -> bool {
        let Self { sample: [x, y], at, mark } = self;
        let Alpha { offset, gauss, alpha, visible } = alpha_at(entry, constants, x, y);
        let active = x.and(visible, mark.lt(x.load(&state.last[at..])));
        if !x.any(active) {
            return false;
        }
        let (zero, area) = (constants.zero, state.side * state.side);
        let one_minus = constants.one - alpha;
        let t_before = x.load(&state.transmittance[at..]);
        let t = t_before / one_minus;
        for (d, (v, behind)) in scratch.v_pixel.iter_mut().zip(&mut scratch.behind).enumerate() {
            *v = x.load(&state.v_pixel[d * area + at..]);
            *behind = x.load(&state.behind[d * area + at..]);
        }
        let Scratch { color, v_pixel, behind, v_color } = scratch;
        let blended = blend_vjp(alpha, t, color, v_pixel, behind, v_color);
        let t_final = x.load(&state.final_transmittance[at..]);
        let v_alpha = blended + (t_final / one_minus) * x.load(&state.through[at..]);
        let opacity = x.splat(entry.opacity);
        let conic = entry.conic.map(
            #[inline(always)]
            |c| x.splat(c),
        );
        let pair = alpha_vjp(conic, offset, opacity, gauss, v_alpha);
        let flows = match view.convention.alpha_clamp_gradient {
            ClampGradient::PassThrough => active,
            ClampGradient::Zero => x.and(active, x.not(constants.alpha_max.lt(opacity * gauss))),
        };
        let lane = at % ROW;
        for (row, value) in rows.iter_mut().zip(pair.to_array()) {
            (x.load(&row[lane..]) + value.or_else(flows, zero)).store(&mut row[lane..]);
        }
        for (row, &value) in rows[GEOMETRY..].iter_mut().zip(v_color.iter()) {
            (x.load(&row[lane..]) + value.or_else(active, zero)).store(&mut row[lane..]);
        }
        t.or_else(active, t_before).store(&mut state.transmittance[at..]);
        for (d, &behind) in behind.iter().enumerate() {
            let slot = &mut state.behind[d * area + at..];
            behind.or_else(active, x.load(slot)).store(slot);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rasterize;
    use crate::render::project_scene;
    use crate::synthetic::frustum;

    #[test]
    fn each_convention_reports_in_its_own_units() {
        let one = || SplatGradients {
            v_means2d: vec![[1.0, 1.0]],
            v_conics: vec![[1.0; 3]],
            v_opacities: vec![1.0],
            v_colors: vec![1.0; 3],
            v_background: vec![1.0; 3],
        };
        let inria = one().reported_by(&Convention::inria(), [8, 6]);
        assert_eq!(inria.v_means2d, [[4.0, 3.0]], "device coordinates are half the image long");
        assert_eq!(inria.v_conics, [[1.0, 0.5, 1.0]], "half of the off-diagonal");
        let gsplat = one().reported_by(&Convention::gsplat(), [8, 6]);
        assert_eq!(gsplat, one(), "gsplat's units are this project's");
    }

    #[test]
    fn vector_rows_give_the_bits_of_single_pixels() {
        let scene = frustum(600, 75, 50, 5).map(f64::from);
        for convention in [Convention::inria(), Convention::gsplat()] {
            let projected = project_scene(&scene, 0, &convention).expect("few pairs");
            let view = projected.view(&scene, 0, &convention);
            let raster = rasterize::rasterize::<f64>(&view);
            let loss = scene.camera_slices(0).loss(&raster);
            let reaches = reaches(&view);
            for tile in 0..view.lists.tile_offsets.len() - 1 {
                let job = || TileJob { view: &view, loss: &loss, reaches: &reaches, tile };
                let bits = |sums: Vec<f64>| sums.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                assert!(
                    bits(f64::with_lanes(job())) == bits(job().run(0.0)),
                    "tile {tile} depends on the width of a row"
                );
            }
        }
    }
}
