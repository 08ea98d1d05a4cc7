//! What the warps of the backward stage see, computed on the CPU from the stage's inputs.
//!
//! The kernels walk a tile's list up to the largest last contributor of the tile's pixels, from there
//! or from the front as the formulation says; at every position all warps of the tile look at the same
//! Gaussian, and some of their lanes contribute. A *step* is one warp at one position; as a
//! [`ScatterStep`] its lanes have one destination, the Gaussian, and its tile is a workgroup.
//!
//! Threads are mapped to pixels as in `pair.cuh` and `pair.wgsl`: thread t of a tile is the pixel
//! (t mod 16, t / 16), and warps are runs of threads. Where a lane has P pixels, lane t has those of
//! the threads P t to P t + P - 1, and contributes where one of them does. Whether a pair contributes
//! is decided by the kernels' own expressions in f32, without contraction and with the oracle's exp: comparisons that
//! rounding leaves open may be decided otherwise on a device.

use splatcheck_gpu::reduction::{LaneHas, WORKGROUP_SIZE};
use splatcheck_gpu::stages::splat::{RASTERIZE_BACKWARD, TILE_SIZE, values};
use splatcheck_gpu::{BackwardInputs, EngineError, RasterInputs, Reduction, TensorError};
use splatcheck_reference::arithmetic::Arith;
use splatcheck_reference::splat::formulation::WalkOrder;
use splatcheck_reference::splat::pair::sigma;

use crate::splat::stage::RasterStage;
use splatcheck_judge::scatter_step::{
    Destination, Lanes, Scatter, ScatterStep, all_lanes, check_lane_width,
};

/// Threads of a tile.
const THREADS: usize = WORKGROUP_SIZE as usize;
/// Threads of a word of [`Threads`].
const BITS: u32 = u64::BITS;
const WORDS: usize = THREADS / BITS as usize;

/// A set of a tile's threads. Words of 64 bits are gone through faster than those of [`Lanes`].
type Threads = [u64; WORDS];

/// One warp at one position of its tile's list. The sets of lanes are disjoint; a
/// lane in none of them skips the pair because its power is above 0 or its alpha below `alpha_min`, at
/// all of its pixels that the walk has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Pixels that each lane has.
    pub per_lane: u32,
    /// The tile, row-major.
    pub tile: u32,
    /// The warp in the tile.
    pub warp: u32,
    /// Position in `flatten_ids`.
    pub position: u32,
    /// Steps that this warp's tile walked before this one: 0 where its walk begins.
    pub walked: u32,
    /// Positions that the tile's walk has.
    pub length: u32,
    /// The Gaussian.
    pub gaussian: u32,
    /// Lanes that contribute.
    pub contributing: Lanes,
    /// Lanes whose pixels stopped in front of this position (or have no contributor).
    pub stopped: Lanes,
    /// Lanes whose pixels lie outside the image, and those that the tile has no thread for.
    pub outside: Lanes,
}

/// Calls `f` with every step of the standard formulation whose lanes have one pixel: tile by tile, each
/// back to front, at each position warp by warp.
#[cfg(test)]
pub(crate) fn for_each_step(
    stage: &RasterStage,
    lane_width: u32,
    mut f: impl FnMut(&Step),
) -> Result<(), EngineError> {
    let contributions =
        Contributions { per_lane: vec![1], ..Contributions::new(stage, lane_width)? };
    (0..contributions.tiles()).for_each(|tile| contributions.tile(tile, &mut f));
    Ok(())
}

/// A stage's steps, tile by tile: tiles do not depend on each other and may be asked for in parallel.
#[derive(Debug)]
pub struct Contributions<'a> {
    inputs: &'a BackwardInputs,
    walk: WalkOrder,
    lane_width: u32,
    /// See [`Scatter::per_lane`], in ascending order.
    per_lane: Vec<u32>,
    /// Per Gaussian: the largest sigma with which it may contribute.
    reach: Vec<f32>,
}

impl<'a> Contributions<'a> {
    /// Prepares the walk of the standard formulation, back to front, for warps of `lane_width` lanes.
    ///
    /// # Errors
    /// [`EngineError::Input`] for a stage that contradicts itself or has other tiles than 16 x 16, and for a warp
    /// size that is no power of two up to [`BITS`](splatcheck_judge::scatter_step::MOST_LANES).
    pub fn new(stage: &'a RasterStage, lane_width: u32) -> Result<Self, EngineError> {
        let inputs = &stage.inputs;
        let tensors = inputs.tensors().map_err(TensorError::from)?;
        RASTERIZE_BACKWARD.check_inputs(&tensors)?;
        // Threads have pixels as in our kernels.
        RASTERIZE_BACKWARD.check_built_in(&tensors)?;
        check_lane_width(lane_width)?;
        let raster = &inputs.raster;
        let least = f64::from(raster.constants.alpha_min);
        let reach = raster.opacities.iter().map(|&o| reach(f64::from(o), least)).collect();
        let mut per_lane: Vec<_> =
            RASTERIZE_BACKWARD.reductions().map(|reduction| reduction.row().per_lane).collect();
        per_lane.sort_unstable();
        per_lane.dedup();
        Ok(Self { inputs, walk: WalkOrder::Back, lane_width, per_lane, reach })
    }

    /// The same pairs in the order of another walk.
    #[must_use]
    pub fn walking(self, walk: WalkOrder) -> Self {
        Self { walk, ..self }
    }

    /// Number of tiles.
    #[must_use]
    pub fn tiles(&self) -> u32 {
        let [x, y] = self.inputs.raster.tiles();
        x * y
    }

    /// Calls `f` with every step of one tile: in the order of the walk, at each position warp by warp,
    /// for every number of pixels that a lane may have. All warps of the tile are there at all positions,
    /// also those whose lanes have all stopped.
    ///
    /// # Panics
    /// For a tile that the stage does not have.
    pub fn tile(&self, tile: u32, mut f: impl FnMut(&Step)) {
        let raster = &self.inputs.raster;
        let pixels = Pixels::new(self.inputs, tile);
        let begin = raster.tile_offsets[tile as usize];
        let length = pixels.walk_end.saturating_sub(begin);
        for walked in 0..length {
            let position = match self.walk {
                WalkOrder::Back => pixels.walk_end - 1 - walked,
                WalkOrder::Front => begin + walked,
            };
            let gaussian = raster.flatten_ids[position as usize];
            let reached = pixels.reached(position);
            let visible = self.visible(&pixels, &reached, gaussian as usize);
            for &per_lane in &self.per_lane {
                let [visible, reached, inside] =
                    [&visible, &reached, &pixels.inside].map(|set| lanes_with(set, per_lane));
                for warp in 0..self.warps(per_lane) {
                    let [contributing, reached, inside] =
                        [&visible, &reached, &inside].map(|set| self.lanes(set, warp));
                    let all = all_lanes(self.lane_width);
                    let (stopped, outside) = (inside & !reached, all & !inside);
                    f(&Step {
                        per_lane,
                        tile,
                        warp,
                        position,
                        walked,
                        length,
                        gaussian,
                        contributing,
                        stopped,
                        outside,
                    });
                }
            }
        }
    }

    /// Warps of a tile.
    fn warps(&self, per_lane: u32) -> u32 {
        (WORKGROUP_SIZE / per_lane).div_ceil(self.lane_width)
    }

    /// The threads of one warp.
    fn lanes(&self, threads: &Threads, warp: u32) -> Lanes {
        let first = warp * self.lane_width;
        let word = (first / BITS) as usize;
        if self.lane_width <= BITS {
            let lanes = threads[word] >> (first % BITS) & u64::MAX >> (BITS - self.lane_width);
            return Lanes::from(lanes);
        }
        Lanes::from(threads[word]) | Lanes::from(threads[word + 1]) << BITS
    }

    /// The threads among `reached` to whose pixels the Gaussian contributes.
    fn visible(&self, pixels: &Pixels, reached: &Threads, gaussian: usize) -> Threads {
        let RasterInputs { means2d, conics, opacities, constants, .. } = &self.inputs.raster;
        let ([mx, my], conic) = (means2d[gaussian], conics[gaussian]);
        let (opacity, reach) = (opacities[gaussian], self.reach[gaussian]);
        let mut sigmas = [0.0_f32; THREADS];
        for ((slot, x), y) in sigmas.iter_mut().zip(&pixels.x).zip(&pixels.y) {
            *slot = sigma(conic, mx - x, my - y);
        }
        let near = threads(|t| !(sigmas[t] > reach));
        std::array::from_fn(|word| {
            let (mut rest, mut visible) = (near[word] & reached[word], 0);
            while rest != 0 {
                let bit = rest & rest.wrapping_neg();
                let power = -sigmas[word * BITS as usize + rest.trailing_zeros() as usize];
                let unclamped = opacity * Arith::exp(power);
                let clamped = constants.alpha_max < unclamped;
                let alpha = if clamped { constants.alpha_max } else { unclamped };
                visible |= if power <= 0.0 && alpha >= constants.alpha_min { bit } else { 0 };
                rest ^= bit;
            }
            visible
        })
    }
}

impl Scatter for Contributions<'_> {
    fn lane_width(&self) -> u32 {
        self.lane_width
    }

    fn rows(&self) -> usize {
        self.inputs.raster.len()
    }

    fn values(&self) -> u32 {
        values(self.inputs.raster.channels)
    }

    fn workgroups(&self) -> u32 {
        self.tiles()
    }

    fn per_lane(&self) -> Vec<u32> {
        self.per_lane.clone()
    }

    /// The end of a tile's walk is found by an atomic maximum for each warp where it begins there, but
    /// by the kernels that have a lane for each Gaussian, which end as no others do.
    fn shared_of_kernel(&self, reduction: Reduction) -> u64 {
        let row = reduction.row();
        let warps = u64::from(self.tiles()) * u64::from(self.warps(row.per_lane));
        match self.walk {
            WalkOrder::Back if row.lane_has == LaneHas::Contributors => warps,
            WalkOrder::Back | WalkOrder::Front => 0,
        }
    }

    fn workgroup(&self, tile: u32, visit: &mut dyn FnMut(&ScatterStep<'_>)) {
        self.tile(tile, |step| {
            let Step { gaussian: row, walked: slot, contributing: lanes, .. } = *step;
            let destination = [Destination { row, slot, lanes }];
            visit(&ScatterStep {
                per_lane: step.per_lane,
                warp: step.warp,
                place: step.walked,
                length: step.length,
                stopped: step.stopped,
                destinations: if lanes == 0 { &[] } else { &destination },
            });
        });
    }
}

/// The largest sigma with opacity exp(-sigma) >= `alpha_min`. The product that decides is that of
/// an exp within 2 units roundoff and one more rounding; 8 of them cover that and this function's
/// own roundings, so that nothing is left out. What is kept needlessly is evaluated exactly.
fn reach(opacity: f64, alpha_min: f64) -> f32 {
    if !(alpha_min > 0.0) {
        return f32::INFINITY;
    }
    let widened = (opacity / alpha_min).ln() + 8.0 * f64::from(f32::EPSILON);
    #[expect(clippy::cast_possible_truncation, reason = "rounded to nearest, then up")]
    let nearest = widened as f32;
    nearest.next_up()
}

/// The threads for which `is` holds.
fn threads(is: impl Fn(usize) -> bool) -> Threads {
    let mut all = Threads::default();
    for (word, bits) in all.iter_mut().enumerate() {
        for bit in 0..BITS as usize {
            *bits |= u64::from(is(word * BITS as usize + bit)) << bit;
        }
    }
    all
}

/// The lanes that have a thread's pixel of `threads`, where each has so many of them.
fn lanes_with(threads: &Threads, per_lane: u32) -> Threads {
    if per_lane == 1 {
        return *threads;
    }
    let mut lanes = Threads::default();
    for (word, &bits) in (0..).zip(threads) {
        let mut rest = bits;
        while rest != 0 {
            let lane = (word * BITS + rest.trailing_zeros()) / per_lane;
            lanes[(lane / BITS) as usize] |= 1 << (lane % BITS);
            rest &= rest - 1;
        }
    }
    lanes
}

/// The pixels of a tile's threads.
struct Pixels {
    /// Sample points, pixels.
    x: [f32; THREADS],
    y: [f32; THREADS],
    /// One more than the position of the last contributor; 0 for none and outside the image.
    end: [u32; THREADS],
    inside: Threads,
    /// The largest `end`.
    walk_end: u32,
}

impl Pixels {
    fn new(inputs: &BackwardInputs, tile: u32) -> Self {
        let RasterInputs { width, height, constants, .. } = inputs.raster;
        let across = inputs.raster.tiles()[0];
        let [first_x, first_y] = [tile % across * TILE_SIZE, tile / across * TILE_SIZE];
        let (mut x, mut y) = ([0.0; THREADS], [0.0; THREADS]);
        let mut end = [0; THREADS];
        let mut inside = [false; THREADS];
        for (thread, t) in (0..WORKGROUP_SIZE).zip(0..) {
            let [px, py] = [first_x + thread % TILE_SIZE, first_y + thread / TILE_SIZE];
            (x[t], y[t]) = (px as f32 + constants.pixel_center, py as f32 + constants.pixel_center);
            inside[t] = px < width && py < height;
            if inside[t] {
                let last = inputs.last_ids[py as usize * width as usize + px as usize];
                end[t] = last.wrapping_add(1).cast_unsigned();
            }
        }
        let walk_end = end.iter().copied().max().unwrap_or(0);
        Self { x, y, end, inside: threads(|t| inside[t]), walk_end }
    }

    /// The threads whose pixels' walks reach this position.
    fn reached(&self, position: u32) -> Threads {
        threads(|t| position < self.end[t])
    }
}

#[cfg(test)]
mod tests;
