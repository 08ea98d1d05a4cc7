//! The gradients of points as public programs spell them, in f32: whatever the order in which they multiply, and
//! whether terms or sums of terms, they lie inside the bounds; and so do those of entries. Formulas only; counted as the module of bounds does.

use super::*;
use crate::arithmetic::{Bounded, Ieee, Scalar};
use crate::grid::cell::Cell;

/// What the terms of one point on one level by one axis are made from.
struct Terms {
    scale: f32,
    /// S'(t) of the axis.
    smooth: f32,
    /// For each corner on the left of the axis, the weights of the other axes' sides.
    sides: Vec<Vec<f32>>,
    /// `[corners, F]`: entry to the right less entry to the left.
    differences: Vec<Vec<f32>>,
    /// `[corners, F, 2]`: the entries themselves, left and right.
    entries: Vec<Vec<[f32; 2]>>,
    v: Vec<f32>,
}

/// A way to write the gradient of a point by an axis, from the terms of its levels.
type Spelling = (&'static str, fn(&[Terms]) -> f32);

fn product(first: f32, others: &[f32]) -> f32 {
    others.iter().fold(first, |product, x| product * x)
}

impl Terms {
    /// dy/dx of each feature: sum of scale sides difference S'.
    fn stored(&self) -> Vec<f32> {
        let of = |f: usize| {
            let corners = self.sides.iter().zip(&self.differences);
            corners
                .fold(0.0, |sum, (sides, d)| sum + product(self.scale, sides) * d[f] * self.smooth)
        };
        (0..self.v.len()).map(of).collect()
    }
}

/// With d for differences of entries, and the sums over levels l, corners c and features f.
const SPELLINGS: [Spelling; 6] = [
    // tiny-cuda-nn and torch-ngp: the forward pass keeps dy/dx, the backward pass multiplies it by v.
    ("sum over l, f of v (sum over c of scale sides d S')", |levels| {
        levels.iter().fold(0.0, |sum, level| {
            let stored = level.stored();
            level.v.iter().zip(&stored).fold(sum, |sum, (v, y)| sum + v * y)
        })
    }),
    // Differentiated automatically from pos = scale x: scale and S' come last.
    ("sum over l of scale (S' (sum over c of sides (sum over f of v d)))", |levels| {
        levels.iter().fold(0.0, |sum, level| {
            let corners = level.sides.iter().zip(&level.differences);
            let slope = corners.fold(0.0, |sum, (sides, d)| {
                let by_v = level.v.iter().zip(d).fold(0.0, |sum, (v, d)| sum + v * d);
                sum + product(1.0, sides) * by_v
            });
            sum + level.scale * (level.smooth * slope)
        })
    }),
    ("sum over l, c, f of ((v sides) d) S' scale", |levels| {
        of_terms(levels, |level, sides, d, v| product(v, sides) * d * level.smooth * level.scale)
    }),
    ("sum over l, c, f of (d sides) (v (S' scale))", |levels| {
        of_terms(levels, |level, sides, d, v| {
            product(d, sides) * (v * (level.smooth * level.scale))
        })
    }),
    ("the oracle's: sum over l, c, f of (scale S' sides) (v d)", |levels| {
        of_terms(levels, |level, sides, d, v| product(level.scale * level.smooth, sides) * (v * d))
    }),
    // nerfstudio interpolates axis by axis and differentiates that automatically: entries are multiplied before
    // they are subtracted, so that what cancels in a difference has been rounded.
    ("sum over l of scale (S' (sum over c, f of v sides right less that of left))", |levels| {
        levels.iter().fold(0.0, |sum, level| {
            let side = |right: usize| {
                let corners = level.sides.iter().zip(&level.entries);
                corners.fold(0.0, |sum, (sides, entries)| {
                    let of_corner = |sum: f32, (&v, entry): (&f32, &[f32; 2])| {
                        sum + product(v, sides) * entry[right]
                    };
                    level.v.iter().zip(entries).fold(sum, of_corner)
                })
            };
            sum + level.scale * (level.smooth * (side(1) - side(0)))
        })
    }),
];

fn of_terms(levels: &[Terms], term: impl Fn(&Terms, &[f32], f32, f32) -> f32) -> f32 {
    let mut sum = 0.0;
    for level in levels {
        for (sides, differences) in level.sides.iter().zip(&level.differences) {
            for (&d, &v) in differences.iter().zip(&level.v) {
                sum += term(level, sides, d, v);
            }
        }
    }
    sum
}

/// The terms of a point by an axis, all of them rounded as an f32 program does; of cubes.
fn terms<const D: usize>(case: &Case, point: usize, axis: usize) -> Vec<Terms> {
    let (grid, width) = (&case.grid, case.grid.features());
    let (encoding, levels) = (grid.encoding(), grid.levels());
    let position: [f32; D] = case.positions[point * D..][..D].try_into().expect("d numbers");
    let of = |(l, level): (usize, &Level)| {
        let cell = Cell::<f32, D>::of(position, level, encoding).expect("it has a cell");
        let sides = cell.fractions().map(|t| match encoding.interpolation {
            Interpolation::Smoothstep => [1.0 - t * t * (3.0 - 2.0 * t), t * t * (3.0 - 2.0 * t)],
            Interpolation::Linear | Interpolation::Nearest => [1.0 - t, t],
        });
        let t = cell.fractions()[axis];
        let left = (0..1 << D).filter(|corner| corner >> axis & 1 == 0);
        let left: Vec<usize> = left.collect();
        let others = |corner: &usize| -> Vec<f32> {
            (0..D).filter(|&j| j != axis).map(|j| sides[j][corner >> j & 1]).collect()
        };
        let entries = |&corner: &usize| -> Vec<[f32; 2]> {
            let rows = [corner, corner | 1 << axis]
                .map(|corner| level.entry(cell.vertex(corner, encoding)) as usize * width);
            (0..width).map(|f| rows.map(|row| case.table[row + f])).collect()
        };
        let entries: Vec<_> = left.iter().map(entries).collect();
        let differences = entries
            .iter()
            .map(|of_corner| of_corner.iter().map(|[left, right]| right - left).collect());
        Terms {
            scale: level.scale,
            smooth: match encoding.interpolation {
                Interpolation::Smoothstep => 6.0 * t * (1.0 - t),
                Interpolation::Linear | Interpolation::Nearest => 1.0,
            },
            sides: left.iter().map(others).collect(),
            differences: differences.collect(),
            entries,
            v: case.v_features[(point * levels.len() + l) * width..][..width].to_vec(),
        }
    };
    levels.iter().enumerate().map(of).collect()
}

/// Numbers of few bits, whose products are exact in some orders and in others not: a drawn number is one
/// of 1/4, 1/2 and 3/4 or has all its bits, and so a table's small integer.
fn few_bits(case: &mut Case, random: &mut Random) {
    for x in &mut case.positions {
        if random.bits().is_multiple_of(2) {
            *x = (*x * 4.0).round() / 4.0;
        }
    }
    for x in case.table.iter_mut().chain(&mut case.v_features) {
        match random.bits() % 3 {
            0 => *x = (*x * 8.0).round(),
            1 => *x = (*x * 4096.0).round() / 4096.0,
            _ => {}
        }
    }
}

/// Error over bound of every gradient of a point by every spelling, with the numbers of the terms.
fn each(mut visit: impl FnMut(&'static str, f64), spellings: &[Spelling]) {
    for seed in 0..600 {
        let interpolation = [Interpolation::Linear, Interpolation::Smoothstep][seed % 2];
        let position_offset = [PositionOffset::Zero, PositionOffset::Half][seed / 2 % 2];
        let encoding = Encoding { interpolation, position_offset, ..Encoding::default() };
        let sizes = [1 + seed / 4 % 3, [1, 2, 4][seed / 12 % 3]];
        let mut case = Case::new(encoding, sizes, 6, seed);
        // Also of one level alone, whose sums have few terms.
        if seed % 3 > 0 {
            let grid = Grid::new(encoding, sizes, &[[3.0, 4.0][seed % 3 - 1]], &[5], &[0, 40]);
            case.grid = grid.expect("it fits");
            case.table.truncate(40 * sizes[1]);
            case.v_features.truncate(6 * sizes[1]);
        }
        few_bits(&mut case, &mut Random(seed as u64 ^ 0xb175));
        let Case { grid, positions, table, v_features } = &case;
        let bounds = bounds::backward_input::<Ieee>(grid, positions, table, v_features);
        for (at, bound) in bounds.elements.iter().enumerate() {
            let (point, axis) = (at / sizes[0], at % sizes[0]);
            let levels = match sizes[0] {
                1 => terms::<1>(&case, point, axis),
                2 => terms::<2>(&case, point, axis),
                _ => terms::<3>(&case, point, axis),
            };
            for (name, spelling) in spellings {
                let error = (f64::from(spelling(&levels)) - bound.value()).abs();
                visit(name, if error == 0.0 { 0.0 } else { error / bound.radius() });
            }
        }
    }
}

#[test]
fn programs_that_multiply_differences_in_any_order_lie_inside_the_bounds() {
    let mut worst = std::collections::BTreeMap::<_, f64>::new();
    let inside = |name: &'static str, ratio: f64| {
        let most = worst.entry(name).or_default();
        *most = most.max(ratio);
    };
    each(inside, &SPELLINGS);
    assert_eq!(worst.len(), SPELLINGS.len(), "each was evaluated");
    for (name, ratio) in worst {
        println!("{ratio:.3} of the bound: {name}");
        assert!(ratio <= 1.0, "{name}: outside by {ratio}");
        assert!(ratio > 0.1, "{name}: a bound far above errors says little");
    }
}

/// Along one axis after another, a + t (b - a).
fn along_axes(mut corners: Vec<f32>, sides: &[f32]) -> f32 {
    for t in sides {
        corners = corners.chunks_exact(2).map(|pair| pair[0] + t * (pair[1] - pair[0])).collect();
    }
    corners[0]
}

/// Features, and the slopes by each axis of a program that interpolates the other axes so on both sides: in cells
/// whose largest entry has the smallest weight too.
#[test]
fn programs_that_go_along_axes_lie_inside_the_bounds() {
    let (mut worst, mut without) = ([0.0_f64; 2], [0.0_f64; 2]);
    for seed in 0..400 {
        let interpolation = [Interpolation::Linear, Interpolation::Smoothstep][seed % 2];
        let encoding = Encoding { interpolation, ..Encoding::default() };
        let mut case = Case::new(encoding, [3, 1], 6, seed);
        let grid = Grid::new(encoding, [3, 1], &[3.0], &[5], &[0, 40]).expect("it fits");
        (case.grid, case.v_features) = (grid, case.v_features[..6].to_vec());
        case.table.truncate(40);
        case.table.iter_mut().step_by(5).for_each(|x| *x *= 1000.0);
        few_bits(&mut case, &mut Random(seed as u64 ^ 0xb175));
        let Case { grid, positions, table, v_features } = &case;
        let features = bounds::forward::<Ieee>(grid, positions, table);
        let slopes = bounds::backward_input::<Ieee>(grid, positions, table, v_features);
        let level = &grid.levels()[0];
        for (point, position) in positions.as_chunks::<3>().0.iter().enumerate() {
            let cell = Cell::<f32, 3>::of(*position, level, &encoding).expect("it has a cell");
            let smooth = |t: f32| match seed % 4 {
                1 => t * t * (3.0 - 2.0 * t),
                _ => 3.0 * t * t - 2.0 * t * t * t,
            };
            let sides = cell.fractions().map(|t| match interpolation {
                Interpolation::Smoothstep => smooth(t),
                Interpolation::Linear | Interpolation::Nearest => t,
            });
            let entry = |corner: usize| table[level.entry(cell.vertex(corner, &encoding)) as usize];
            let value = along_axes((0..8).map(entry).collect(), &sides);
            let mut seen = |which: usize, value: f32, bound: Bounded<Ieee>, weighted: f64| {
                let error = (f64::from(value) - bound.value()).abs();
                let ratio = |radius: f64| if error == 0.0 { 0.0 } else { error / radius };
                worst[which] = worst[which].max(ratio(bound.radius()));
                without[which] = without[which].max(ratio(weighted));
            };
            let of_weights = |corner: usize| {
                let weight = (0..3).map(|axis| match corner >> axis & 1 {
                    0 => 1.0 - f64::from(sides[axis]),
                    _ => f64::from(sides[axis]),
                });
                weight.product::<f64>() * f64::from(entry(corner).abs())
            };
            let u = f64::from(f32::EPSILON) / 2.0;
            let weighted = 12.0 * u * (0..8).map(of_weights).sum::<f64>();
            seen(0, value, features.elements[point], weighted);
            for axis in 0..3 {
                let others: Vec<_> = (0..3).filter(|&j| j != axis).map(|j| sides[j]).collect();
                let of = |right: usize| {
                    let corners = (0..8).filter(|corner| corner >> axis & 1 == right);
                    along_axes(corners.map(entry).collect(), &others)
                };
                let t = cell.fractions()[axis];
                let slope = match interpolation {
                    Interpolation::Smoothstep if seed % 4 == 1 => 6.0 * t * (1.0 - t),
                    Interpolation::Smoothstep => 6.0 * t - 6.0 * t * t,
                    Interpolation::Linear | Interpolation::Nearest => 1.0,
                };
                let value = v_features[point] * (level.scale * (slope * (of(1) - of(0))));
                let bound = slopes.elements[3 * point + axis];
                seen(1, value, bound, bound.radius());
            }
        }
    }
    println!("features {:.3} and slopes {:.3} of their bounds", worst[0], worst[1]);
    println!("features {:.3} of 12 roundings of weighted entries", without[0]);
    assert!(worst.iter().all(|ratio| (0.1..=1.0).contains(ratio)), "{worst:?}");
    assert!(without[0] > 1.0, "it would lie inside a bound by weights too: {without:?}");
}

/// A way to write what comes to a corner: v, the t of each axis, and the corner, of which bit j is the side of axis j.
type OfCorner = (&'static str, fn(f32, &[f32], usize) -> f32);

/// What is left of v after one axis after another, from the last to the first.
fn through_axes(v: f32, sides: &[f32], corner: usize, step: impl Fn(f32, f32, bool) -> f32) -> f32 {
    let axes = sides.iter().enumerate().rev();
    axes.fold(v, |g, (axis, &t)| step(g, t, corner >> axis & 1 == 1))
}

/// For the gradients of entries.
const OF_CORNERS: [OfCorner; 5] = [
    ("the oracle's: v (o_x o_y o_z)", |v, sides, corner| {
        let factor = |(axis, t): (usize, &f32)| if corner >> axis & 1 == 1 { *t } else { 1.0 - t };
        sides.iter().enumerate().map(factor).product::<f32>() * v
    }),
    ("((v o_z) o_y) o_x", |v, sides, corner| {
        through_axes(v, sides, corner, |g, t, right| g * if right { t } else { 1.0 - t })
    }),
    // a + t (b - a), differentiated automatically.
    ("g - g t to the left, g t to the right", |v, sides, corner| {
        through_axes(v, sides, corner, |g, t, right| if right { g * t } else { g - g * t })
    }),
    ("the same with one rounding", |v, sides, corner| {
        through_axes(v, sides, corner, |g, t, right| if right { g * t } else { (-g).mul_add(t, g) })
    }),
    // b - (1 - t) (b - a).
    ("g (1 - t) to the left, g - g (1 - t) to the right", |v, sides, corner| {
        through_axes(v, sides, corner, |g, t, right| {
            let left = g * (1.0 - t);
            if right { g - left } else { left }
        })
    }),
];

/// The entries' gradients by all spellings, and by one that takes each entry for its neighbour's.
#[test]
fn programs_that_go_back_along_axes_lie_inside_the_bounds_of_entries() {
    let (mut worst, mut wrong) = ([0.0_f64; OF_CORNERS.len()], 0.0_f64);
    for seed in 0..400 {
        let interpolation = [Interpolation::Linear, Interpolation::Smoothstep][seed % 2];
        let encoding = Encoding { interpolation, ..Encoding::default() };
        let mut case = Case::new(encoding, [3, 1], 6, seed);
        let grid = Grid::new(encoding, [3, 1], &[4.0], &[5], &[0, 40]).expect("it fits");
        (case.grid, case.v_features) = (grid, case.v_features[..6].to_vec());
        case.table.truncate(40);
        // Fractions that are exact: of four bits, with 0 among them.
        if seed % 4 < 2 {
            case.positions.iter_mut().for_each(|x| *x = (*x * 64.0).round() / 64.0);
        } else {
            few_bits(&mut case, &mut Random(seed as u64 ^ 0xb175));
        }
        let Case { grid, positions, v_features, .. } = &case;
        let bounds = bounds::backward::<Ieee>(grid, positions, v_features);
        let tolerances = bounds.tolerances(&<Ieee as crate::arithmetic::Model>::TABLE);
        let level = &grid.levels()[0];
        let mut found = vec![[0.0_f32; OF_CORNERS.len()]; bounds.elements.len()];
        let mut neighbours = vec![0.0_f32; bounds.elements.len()];
        for (&position, &v) in positions.as_chunks::<3>().0.iter().zip(v_features) {
            let cell = Cell::<f32, 3>::of(position, level, &encoding).expect("it has a cell");
            let sides = cell.fractions().map(|t| match interpolation {
                Interpolation::Smoothstep => t * t * (3.0 - 2.0 * t),
                Interpolation::Linear | Interpolation::Nearest => t,
            });
            for corner in 0..8 {
                let entry = level.entry(cell.vertex(corner, &encoding)) as usize;
                for (sum, (_, spelling)) in found[entry].iter_mut().zip(&OF_CORNERS) {
                    *sum += spelling(v, &sides, corner);
                }
                let other = level.entry(cell.vertex(corner ^ 1, &encoding)) as usize;
                neighbours[other] += OF_CORNERS[0].1(v, &sides, corner);
            }
        }
        for (entry, (bound, tolerance)) in bounds.elements.iter().zip(tolerances).enumerate() {
            let ratio = |value: f32| {
                let error = (f64::from(value) - bound.value).abs();
                if error == 0.0 { 0.0 } else { error / tolerance }
            };
            for (worst, &value) in worst.iter_mut().zip(&found[entry]) {
                *worst = worst.max(ratio(value));
            }
            wrong = wrong.max(ratio(neighbours[entry]).min(1e9));
        }
    }
    for (worst, (name, _)) in worst.iter().zip(&OF_CORNERS) {
        println!("{worst:.3} of the bound: {name}");
        assert!((0.1..=1.0).contains(worst), "{name}: {worst}");
    }
    assert!(wrong > 1e3, "a neighbour's entry is far outside: {wrong}");
}
