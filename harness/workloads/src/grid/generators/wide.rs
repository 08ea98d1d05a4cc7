//! Numbers that neither 8 nor 16 bits hold: points, vertices, entries, levels times features, and the list of
//! one entry.

use super::plan::{Plan, at, inside};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Hash, Interpolation, Lattice, RightCorner, Skew,
};

/// What 16 bits count.
const SIXTEEN_BITS: usize = 1 << 16;
/// 257 blocks of points.
const POINTS: usize = SIXTEEN_BITS + 257;
/// Vertices of an axis; 16 bits take them for four.
const VERTICES: u32 = (1 << 16) + 4;
/// The scale of a level with so many.
const SCALE: f32 = 65_539.0;

/// Kinds of cases.
pub(super) const KINDS: u64 = 22;

/// The mask of a line.
const MASK: Option<(f32, u32, u32)> = Some((2.0, 3, 5));

/// The gradient of the last points, most of which 16 bits do not count. The others have none: beside 65,536
/// terms the bound of a sum would hide a few.
fn of_the_last(point: usize, rng: &mut CaseRng) -> f32 {
    if point < SIXTEEN_BITS - 8 { 0.0 } else { rng.value() }
}

/// One kind a turn.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    match turn % KINDS {
        0 => Plan {
            gradient: of_the_last,
            ..Plan::new(Encoding::default(), [1, 1], &[(2.5, 4, 5)], inside(POINTS, rng))
        },
        // All are at one vertex: its list has one more than 16 bits count.
        1 => {
            let encoding =
                Encoding { interpolation: Interpolation::Nearest, ..Encoding::default() };
            let positions = vec![0.5; SIXTEEN_BITS + 1];
            let plan = Plan::new(encoding, [1, 1], &[(2.0, 3, 3)], positions);
            Plan { gradient: of_the_last, ..plan }
        }
        // More levels than 8 bits count, and 33 x 300 x 8 features.
        2 => many_levels(rng),
        // More than 65,536 entries behind each other, and more than 65,536 of one level.
        3 | 4 => many_entries([2, at(&[8, 1], turn)], rng),
        // Each of so many vertices has its entry.
        5 => {
            let levels = [(SCALE, VERTICES + 1, VERTICES + 8)];
            Plan::new(Encoding::default(), [1, 1], &levels, inside(64, rng))
        }
        // More than 65,536 numbers of positions.
        6 => {
            let positions = inside(16_500 * 4, rng);
            Plan::new(Encoding::default(), [4, 1], &[(2.5, 4, 61)], positions)
        }
        // Dense, but for those who see the last 16 bits of the number of entries.
        7 => Plan::new(Encoding::default(), [2, 1], &[(255.0, 256, 66_000)], inside(2 * 64, rng)),
        // 16 bits take the entries for none, as do 8; so they do the quotients.
        8 | 9 => {
            let d = at(&[4, 2], turn);
            Plan::new(Encoding::default(), [d, 1], &[(1.0, 1, 1 << 16)], inside(d * 40, rng))
        }
        // Gates of more points than 16 bits count, and of more levels than 8 bits do.
        14 => Plan {
            mask: MASK,
            ..Plan::new(Encoding::default(), [1, 1], &[(2.5, 4, 5)], inside(POINTS, rng))
        },
        15 => Plan { mask: MASK, ..many_levels(rng) },
        // As 8 and 9, with the quotient by an odd number of axes.
        16 => Plan::new(Encoding::default(), [3, 1], &[(1.0, 1, 1 << 16)], inside(3 * 40, rng)),
        // As 3 and 4, on each of four axes.
        17 => many_entries([4, 1], rng),
        // Two warps on one row beyond 65,535, under two of the thresholds.
        18 | 19 => {
            let levels = [(SCALE, VERTICES + 1, VERTICES + 8)];
            let encoding =
                Encoding { interpolation: Interpolation::Nearest, ..Encoding::default() };
            Plan::new(encoding, [1, 1], &levels, vec![1.0; 64])
        }
        // A short list of points that 16 bits do not count.
        20 => {
            let encoding =
                Encoding { interpolation: Interpolation::Nearest, ..Encoding::default() };
            let positions = [vec![0.0; SIXTEEN_BITS], vec![1.0; 3]].concat();
            Plan::new(encoding, [1, 1], &[(2.0, 3, 3)], positions)
        }
        // A dense level of more than 2^19 entries, the last of which points are beside.
        21 => {
            let positions = (0..2 * 64).map(|_| 0.9375 + 0.0625 * rng.value()).collect();
            Plan::new(Encoding::default(), [2, 1], &[(724.0, 725, 525_632)], positions)
        }
        kind => few_entries(kind, rng),
    }
}

/// 300 levels of 8 features.
fn many_levels(rng: &mut CaseRng) -> Plan {
    let levels: Vec<_> = (0..300_u16).map(|l| (2.5 + f32::from(l), 4, 3)).collect();
    let encoding = Encoding { crowded: Crowded::Tiled, ..Encoding::default() };
    Plan::new(encoding, [1, 8], &levels, inside(33, rng))
}

/// More than 65,536 entries of one level, each of which a point may be beside.
fn many_entries([d, features]: [usize; 2], rng: &mut CaseRng) -> Plan {
    let encoding =
        Encoding { dense_stride: DenseStride::Never, hash: Hash::Prime, ..Encoding::default() };
    let levels = [(SCALE, VERTICES, 70_000), (11.3, 13, 257)];
    Plan::new(encoding, [d, features], &levels, inside(d * 64, rng))
}

/// Many vertices share a few entries.
fn few_entries(kind: u64, rng: &mut CaseRng) -> Plan {
    let tiled = kind % 2 == 1;
    let simplex = kind > 11;
    let encoding = Encoding {
        lattice: if simplex { Lattice::Simplex } else { Lattice::Cubic },
        skew: if simplex && tiled { Skew::Simplex } else { Skew::None },
        hash: at(&[Hash::Prime, Hash::Rolling], kind / 2),
        crowded: if tiled { Crowded::Tiled } else { Crowded::Hash },
        right_corner: if tiled && !simplex { RightCorner::Ceil } else { RightCorner::FloorPlusOne },
        ..Encoding::default()
    };
    let d = at(&[2, 4, 3, 2], kind);
    let levels = [(SCALE, VERTICES, 509), (300.0, 301, 499)];
    Plan::new(encoding, [d, 1], &levels, inside(d * 40, rng))
}
