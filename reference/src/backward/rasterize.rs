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

use crate::convention::ClampGradient;
use crate::pair::{alpha_vjp, blend_vjp, v_minus_transmittance};
use crate::rasterize::{Alpha, Constants, Entry, ROW, alpha_at};
use crate::scalar::{Lanes, Scalar};
use crate::view::{LossView, RasterView};
use rayon::prelude::*;

/// Gradients of the stage's inputs, summed over the image.
#[derive(Clone, Debug, PartialEq)]
pub struct SplatGradients<S> {
    /// [N,2] per pixel.
    pub v_means2d: Vec<[S; 2]>,
    /// [N,3] with the full off-diagonal.
    pub v_conics: Vec<[S; 3]>,
    /// [N].
    pub v_opacities: Vec<S>,
    /// [N,D].
    pub v_colors: Vec<S>,
    /// [D].
    pub v_background: Vec<S>,
}

/// Numbers per pair besides the colour's D.
pub(crate) const GEOMETRY: usize = 6;

/// Differentiates the rasterization of the whole image.
#[must_use]
pub fn rasterize<L: Lanes>(
    view: &RasterView<'_, L::Elem>,
    loss: &LossView<'_, L::Elem>,
) -> SplatGradients<L::Elem> {
    let stride = GEOMETRY + view.splats.channels;
    let tiles = view.lists.tile_offsets.len() - 1;
    let partial: Vec<Vec<L::Elem>> =
        (0..tiles).into_par_iter().map(|tile| rasterize_tile::<L>(view, loss, tile)).collect();
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

/// A tile's pixels on the way back, each array [side,side] or [D,side,side]; zero outside the image.
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

/// Numbers reused from pair to pair: [D] each.
struct Scratch<L> {
    color: Vec<L>,
    v_pixel: Vec<L>,
    behind: Vec<L>,
    v_color: Vec<L>,
}

/// Walks one tile's list back to front; returns [entries, 6 + D].
#[inline(always)]
fn rasterize_tile<L: Lanes>(
    view: &RasterView<'_, L::Elem>,
    loss: &LossView<'_, L::Elem>,
    tile: usize,
) -> Vec<L::Elem> {
    let mut state = TileState::new(view, loss, tile);
    let (channels, rect, side) = (view.splats.channels, view.tile_rect(tile), state.side);
    let stride = GEOMETRY + channels;
    let zero = L::Elem::from_f64(0.0);
    let constants = Constants::<L>::new(view.convention);
    let mut scratch = Scratch {
        color: vec![constants.zero; channels],
        v_pixel: vec![constants.zero; channels],
        behind: vec![constants.zero; channels],
        v_color: vec![constants.zero; channels],
    };
    let columns: Vec<L::Elem> = (0..side.next_multiple_of(ROW))
        .map(|i| L::Elem::from_f64(view.sample(rect[0] + i)))
        .collect();
    let range = view.lists.range(tile);
    let mut sums = vec![zero; range.len() * stride];
    let mut rows = vec![[zero; ROW]; stride];
    for depth in (0..state.entries).rev() {
        let entry = Entry::new(view, view.lists.flatten_ids[range.start + depth] as usize, rect);
        for (slot, &color) in scratch.color.iter_mut().zip(view.splats.color(entry.id)) {
            *slot = L::splat(color);
        }
        rows.fill([zero; ROW]);
        let mut touched = false;
        for row in entry.rows.clone() {
            let y = L::splat(L::Elem::from_f64(view.sample(rect[1] + row)));
            for column in (entry.first_column(L::LANES)..entry.columns.end).step_by(L::LANES) {
                let sample = [L::load(&columns[column..]), y];
                let at = row * side + column;
                touched |= unblend::<L>(
                    view,
                    &entry,
                    &constants,
                    sample,
                    &mut state,
                    at,
                    depth,
                    &mut scratch,
                    &mut rows,
                );
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

/// The fixed tree that adds up the eight interleaved columns.
#[inline(always)]
fn add_row<S: Scalar>(r: &[S; ROW]) -> S {
    ((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7]))
}

/// Differentiates one Gaussian's blending into one row of pixels; returns whether any contributed.
#[expect(
    clippy::too_many_arguments,
    reason = "the walk's state, split so that borrows do not clash"
)]
#[inline(always)]
fn unblend<L: Lanes>(
    view: &RasterView<'_, L::Elem>,
    entry: &Entry<L::Elem>,
    constants: &Constants<L>,
    sample: [L; 2],
    state: &mut TileState<L::Elem>,
    at: usize,
    depth: usize,
    scratch: &mut Scratch<L>,
    rows: &mut [[L::Elem; ROW]],
) -> bool {
    let Alpha { offset, gauss, alpha, visible } = alpha_at(entry, constants, sample[0], sample[1]);
    let depth = L::splat(L::Elem::from_f64(depth as f64));
    let active = L::and(visible, L::lt(depth, L::load(&state.last[at..])));
    if !L::any(active) {
        return false;
    }
    let (zero, area) = (constants.zero, state.side * state.side);
    let one_minus = constants.one - alpha;
    let t_before = L::load(&state.transmittance[at..]);
    let t = t_before / one_minus;
    for (d, (v, behind)) in scratch.v_pixel.iter_mut().zip(&mut scratch.behind).enumerate() {
        *v = L::load(&state.v_pixel[d * area + at..]);
        *behind = L::load(&state.behind[d * area + at..]);
    }
    let Scratch { color, v_pixel, behind, v_color } = scratch;
    let blended = blend_vjp(alpha, t, color, v_pixel, behind, v_color);
    let t_final = L::load(&state.final_transmittance[at..]);
    let v_alpha = blended + (t_final / one_minus) * L::load(&state.through[at..]);
    let opacity = L::splat(entry.opacity);
    let pair = alpha_vjp(entry.conic.map(L::splat), offset, opacity, gauss, v_alpha);
    let flows = match view.convention.alpha_clamp_gradient {
        ClampGradient::PassThrough => active,
        ClampGradient::Zero => L::and(active, L::not(L::lt(constants.alpha_max, opacity * gauss))),
    };
    let lane = at % ROW;
    for (row, value) in rows.iter_mut().zip(pair.to_array()) {
        (L::load(&row[lane..]) + L::select(flows, value, zero)).store(&mut row[lane..]);
    }
    for (row, &value) in rows[GEOMETRY..].iter_mut().zip(v_color.iter()) {
        (L::load(&row[lane..]) + L::select(active, value, zero)).store(&mut row[lane..]);
    }
    L::select(active, t, t_before).store(&mut state.transmittance[at..]);
    for (d, &behind) in behind.iter().enumerate() {
        let slot = &mut state.behind[d * area + at..];
        L::select(active, behind, L::load(slot)).store(slot);
    }
    true
}
