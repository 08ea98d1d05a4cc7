//! Numbers that are known by hand, identities, derivatives, and bounds that hold.

mod bounded;
mod containment;
mod derivatives;
mod gate;
mod identities;
mod known;
mod levels;
mod spelled;

use super::*;
use crate::splat::synthetic::Random;

/// Every encoding whose fields go together.
fn encodings() -> Vec<Encoding> {
    let mut all = Vec::new();
    let mut base = Encoding::default();
    for &lattice in Lattice::ALL {
        for &hash in Hash::ALL {
            for &interpolation in Interpolation::ALL {
                for &right_corner in RightCorner::ALL {
                    for &outside in Outside::ALL {
                        base = Encoding {
                            lattice,
                            hash,
                            interpolation,
                            right_corner,
                            outside,
                            ..base
                        };
                        for (&dense_stride, &crowded, &position_offset) in layouts() {
                            all.push(Encoding { dense_stride, crowded, position_offset, ..base });
                        }
                    }
                }
            }
        }
    }
    let simplices = all.iter().filter(|encoding| encoding.lattice == Lattice::Simplex);
    let skewed = simplices.map(|&encoding| Encoding { skew: Skew::Simplex, ..encoding });
    all.extend(skewed.collect::<Vec<_>>());
    all.retain(|&encoding| Grid::new(encoding, [1, 1], &[1.0], &[2], &[0, 2]).is_ok());
    all
}

/// The fields that say which entries a level's vertices have, in all combinations.
fn layouts()
-> impl Iterator<Item = (&'static DenseStride, &'static Crowded, &'static PositionOffset)> {
    DenseStride::ALL.iter().flat_map(|stride| {
        Crowded::ALL.iter().flat_map(move |crowded| {
            PositionOffset::ALL.iter().map(move |offset| (stride, crowded, offset))
        })
    })
}

/// A grid with the inputs of all its stages.
pub(super) struct Case {
    pub(super) grid: Grid,
    pub(super) positions: Vec<f32>,
    pub(super) table: Vec<f32>,
    pub(super) v_features: Vec<f32>,
}

impl Case {
    /// Levels of one cell, dense and crowded, by tables of at most 64 entries, whose number is no power
    /// of 2 everywhere; points in and around the unit cube.
    pub(super) fn new(encoding: Encoding, [d, f]: [usize; 2], points: usize, seed: usize) -> Self {
        let scales = [0.0, 1.5, 4.0, 11.3];
        let resolutions = [1, 3, 5, 13];
        let mut offsets = vec![0];
        for (&r, most) in resolutions.iter().zip([64, 64, 40, 64]) {
            let all = u32::pow(r, u32::try_from(d).expect("few"));
            offsets.push(offsets[offsets.len() - 1] + all.next_multiple_of(8).min(most));
        }
        let grid = Grid::new(encoding, [d, f], &scales, &resolutions, &offsets).expect("it fits");
        let mut random = Random(seed as u64);
        let mut draw = |count: usize, low, high| -> Vec<f32> {
            (0..count).map(|_| random.within(low, high)).collect()
        };
        Self {
            positions: draw(points * d, -0.2, 1.2),
            table: draw(grid.entries() * f, -1.0, 1.0),
            v_features: draw(points * scales.len() * f, -1.0, 1.0),
            grid,
        }
    }

    pub(super) fn points(&self) -> usize {
        self.positions.len() / self.grid.dimensions()
    }
}

/// Numbers of f32 in f64.
pub(super) fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(f64::from).collect()
}

/// The sum of products.
fn dot(a: &[f64], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, &b)| a * f64::from(b)).sum()
}

/// That numbers are equal but for roundings in f64 of terms of this size.
#[track_caller]
fn assert_near(a: &[f64], b: &[f64], size: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-12 * size, "{what}, {i}: {a:e} is not {b:e}");
    }
}
