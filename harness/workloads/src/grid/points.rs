//! Points as trainers hand them to a grid encoding: samples along the rays of a camera through a trained
//! scene, the pixels of an image, or a uniform batch.

#![expect(
    clippy::cast_possible_truncation,
    reason = "numbers of cells of a cube and of points in memory, and positions, which are in f32"
)]

use splatcheck_reference::splat::synthetic::Random;
use splatcheck_reference::splat::{Camera, Gaussians};
use thiserror::Error;

/// Cells of an axis of the grid that says where a scene is occupied (Müller et al. 2022, appendix E.2).
const CELLS: usize = 128;
/// A ray's step in a cube of side 1: its diagonal in 1,024 steps (the same, appendix E.1).
const STEPS: f64 = 1024.0;
/// Share of the Gaussians, at either end of an axis, that lie outside of the cube: a trained scene has
/// some far away.
const OUTLIERS: f64 = 0.01;
/// Rays without a sample after which there is no hope of more.
const VAIN: u32 = 100_000;

/// In which order the lanes get the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were drawn: the samples of a ray one after another.
    Drawn,
    /// Along a Morton curve of 1,024 cells an axis.
    Morton,
    /// In random order.
    Shuffled,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Drawn, Self::Morton, Self::Shuffled];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drawn => "as drawn",
            Self::Morton => "Morton",
            Self::Shuffled => "shuffled",
        }
    }
}

/// Why a scene gives no points.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PointsError {
    /// There is nothing to occupy a cell.
    #[error("the scene has no Gaussian with finite numbers, so that no cell of it is occupied")]
    Empty,
    /// The scene has no extent, or more than numbers can hold.
    #[error("the scene's Gaussians lie in one point or too far apart for a cube around them")]
    Extent,
    /// The cameras look elsewhere.
    #[error(
        "{found} of {wanted} points: {VAIN} rays one after another met no occupied cell; choose a camera \
         that sees the scene"
    )]
    Unseen {
        /// Points that were found.
        found: usize,
        /// Points that were asked for.
        wanted: usize,
    },
}

/// A camera and its image's width and height in pixels.
pub type View = (Camera<f32>, [u32; 2]);

/// The cube around a scene and its occupied cells.
struct Occupancy {
    /// The cube's corner with the least coordinates.
    corner: [f64; 3],
    side: f64,
    /// `[128,128,128]`
    occupied: Vec<bool>,
}

impl Occupancy {
    fn new(gaussians: &Gaussians<f32>) -> Result<Self, PointsError> {
        let finite = |&g: &usize| {
            let numbers = gaussians.means[g].iter().chain(&gaussians.scales[g]);
            numbers.copied().all(f32::is_finite)
        };
        let there: Vec<usize> = (0..gaussians.means.len()).filter(finite).collect();
        if there.is_empty() {
            return Err(PointsError::Empty);
        }
        let ends = [0, 1, 2].map(|axis| {
            let mut all: Vec<f64> =
                there.iter().map(|&g| f64::from(gaussians.means[g][axis])).collect();
            all.sort_by(f64::total_cmp);
            let left_out = (all.len() as f64 * OUTLIERS) as usize;
            [all[left_out], all[all.len() - 1 - left_out]]
        });
        let side = ends.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        if !(side.is_finite() && side > 0.0) {
            return Err(PointsError::Extent);
        }
        let corner = ends.map(|[low, high]| f64::midpoint(low, high) - 0.5 * side);
        let mut cube = Self { corner, side, occupied: vec![false; CELLS.pow(3)] };
        for &g in &there {
            let largest = gaussians.scales[g].iter().copied().fold(0.0, f32::max);
            cube.occupy(gaussians.means[g].map(f64::from), f64::from(largest));
        }
        Ok(cube)
    }

    /// A point of the scene in the cube of side 1.
    fn unit(&self, point: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| (point[axis] - self.corner[axis]) / self.side)
    }

    /// Marks the cells within a Gaussian's largest deviation of its mean.
    fn occupy(&mut self, mean: [f64; 3], deviation: f64) {
        let center = self.unit(mean);
        let reach = deviation / self.side;
        let ends = center.map(|x| {
            let cell = |x: f64| (x * CELLS as f64).floor().clamp(0.0, CELLS as f64 - 1.0) as usize;
            let inside = x + reach >= 0.0 && x - reach < 1.0;
            inside.then(|| cell(x - reach)..=cell(x + reach))
        });
        let [Some(xs), Some(ys), Some(zs)] = ends else { return };
        for z in zs {
            for y in ys.clone() {
                for x in xs.clone() {
                    self.occupied[(z * CELLS + y) * CELLS + x] = true;
                }
            }
        }
    }

    fn is_occupied(&self, point: [f64; 3]) -> bool {
        let mut place = 0;
        for &x in point.iter().rev() {
            if !(0.0..1.0).contains(&x) {
                return false;
            }
            place = place * CELLS + (x * CELLS as f64) as usize;
        }
        self.occupied[place]
    }

    /// Where a ray through the cube of side 1 enters and leaves it.
    fn crossing(origin: [f64; 3], direction: [f64; 3]) -> [f64; 2] {
        let mut ends = [0.0_f64, f64::INFINITY];
        for (o, d) in origin.into_iter().zip(direction) {
            let [a, b] = [-o / d, (1.0 - o) / d];
            if a.is_nan() || b.is_nan() {
                continue;
            }
            ends = [ends[0].max(a.min(b)), ends[1].min(a.max(b))];
        }
        ends
    }
}

/// The ray of a point of an image, in world axes: where it begins and its direction, of length 1.
fn ray(camera: &Camera<f32>, [x, y]: [f64; 2]) -> [[f64; 3]; 2] {
    let seen = [(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy, 1.0];
    let view = camera.viewmat.map(|row| row.map(f64::from));
    let turned = |v: [f64; 3]| [0, 1, 2].map(|j| (0..3).map(|i| view[i][j] * v[i]).sum::<f64>());
    let length = seen.iter().map(|x| x * x).sum::<f64>().sqrt();
    [turned([0, 1, 2].map(|i| -view[i][3])), turned(seen).map(|x| x / length)]
}

/// `count` points `[N,3]` in the unit cube: samples at equal steps along rays through random pixels, view by
/// view in turn, where they lie in occupied cells of the scene.
///
/// # Errors
/// [`PointsError`].
pub fn along_rays(
    gaussians: &Gaussians<f32>,
    views: &[View],
    count: usize,
    seed: u64,
) -> Result<Vec<[f32; 3]>, PointsError> {
    let cube = Occupancy::new(gaussians)?;
    let (mut points, mut random, mut vain) = (Vec::with_capacity(count), Random(seed), 0);
    let mut turn = (0..views.len()).cycle();
    while points.len() < count {
        let Some(view) = turn.next().filter(|_| vain < VAIN) else {
            return Err(PointsError::Unseen { found: points.len(), wanted: count });
        };
        let (camera, size) = &views[view];
        let pixel = size.map(|pixels| (f64::from(random.unit()) * f64::from(pixels)).floor() + 0.5);
        let [origin, direction] = ray(camera, pixel);
        let origin = cube.unit(origin);
        let [enters, leaves] = Occupancy::crossing(origin, direction);
        let before = points.len();
        let step = 3_f64.sqrt() / STEPS;
        let mut t = enters + step * f64::from(random.unit());
        while t < leaves && points.len() < count {
            let point = [0, 1, 2].map(|axis| origin[axis] + t * direction[axis]);
            if cube.is_occupied(point) {
                points.push(point.map(|x| x as f32));
            }
            t += step;
        }
        vain = if points.len() == before { vain + 1 } else { 0 };
    }
    Ok(points)
}

/// The centres of `count` pixels of an image from its first row on, in the unit square: its longer side is
/// 1. All pixels where it has fewer.
#[must_use]
pub fn pixels([width, height]: [u32; 2], count: usize) -> Vec<[f32; 2]> {
    let side = f64::from(width.max(height).max(1));
    let centers = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    centers.take(count).map(|at| at.map(|i| ((f64::from(i) + 0.5) / side) as f32)).collect()
}

/// `count` points drawn uniformly from the unit cube.
#[must_use]
pub fn uniform<const D: usize>(count: usize, seed: u64) -> Vec<[f32; D]> {
    let mut random = Random(seed);
    (0..count).map(|_| std::array::from_fn(|_| random.unit())).collect()
}

/// The same points in another order.
#[must_use]
pub fn in_order<const D: usize>(
    mut points: Vec<[f32; D]>,
    order: Order,
    seed: u64,
) -> Vec<[f32; D]> {
    match order {
        Order::Drawn => {}
        Order::Morton => points.sort_by_cached_key(morton),
        Order::Shuffled => {
            let mut random = Random(seed);
            for i in (1..points.len()).rev() {
                let j = (u128::from(random.bits()) * (i as u128 + 1)) >> 64;
                points.swap(i, j as usize);
            }
        }
    }
    points
}

/// The bits of a point's cell on every axis, the lowest of all axes first.
fn morton<const D: usize>(point: &[f32; D]) -> u64 {
    const BITS: usize = 10;
    let cells = point.map(|x| (x * (1 << BITS) as f32) as u64);
    let bits = (0..BITS).rev().flat_map(|bit| cells.iter().rev().map(move |cell| cell >> bit & 1));
    bits.fold(0, |code, bit| code << 1 | bit)
}

#[cfg(test)]
mod tests;
