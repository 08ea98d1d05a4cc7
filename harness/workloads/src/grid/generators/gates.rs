//! Features behind a mask.

use super::plan::{Plan, any, at, inside};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Interpolation, Lattice, Outside};

/// Entries of the table and of the mask.
const NUMBERS: [fn(usize, &mut CaseRng) -> f32; 4] = [
    any,
    // Shut gates beside open ones, behind which features are 0, 1 or their interpolation.
    |entry, _| if entry.is_multiple_of(2) { 1.0 } else { 0.0 },
    // Shut but for rounding.
    |_, rng| f32::MIN_POSITIVE * rng.value(),
    // Large features through small gates.
    |entry, rng| if entry.is_multiple_of(3) { 1e15 } else { 1e-15 } * rng.value(),
];

/// Cells of the mask's axes that points lie in: all in one, in two in turn, and anywhere.
const CELLS: [fn(usize, &mut CaseRng) -> f32; 3] = [
    |_, _| 0.0,
    |point, _| if point.is_multiple_of(2) { 0.0 } else { 0.75 },
    |_, rng| 0.375 + 0.375 * rng.value(),
];

/// Scale, vertices of an axis and entries of the levels, of which a case has the first.
const LEVELS: [(f32, u32, u32); 16] = [
    (7.5, 9, 81),
    (11.3, 13, 61),
    (5.25, 7, 49),
    (6.25, 8, 37),
    (8.25, 10, 64),
    (9.25, 11, 61),
    (10.25, 12, 53),
    (12.25, 14, 32),
    (13.25, 15, 81),
    (14.25, 16, 61),
    (15.25, 17, 49),
    (16.25, 18, 37),
    (17.25, 19, 64),
    (18.25, 20, 61),
    (19.25, 21, 53),
    (20.25, 22, 32),
];

/// Kinds of cases between the vertices of a mask.
const BETWEEN: u64 = 5 * (NUMBERS.len() * CELLS.len()) as u64;

/// Kinds of cases.
pub(super) const KINDS: u64 = BETWEEN + 1;

/// Points between the vertices of a mask with four cells an axis, on levels that are finer.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    if turn % KINDS == BETWEEN {
        return of_three_blocks(rng);
    }
    let encoding = Encoding {
        lattice: at(&[Lattice::Cubic, Lattice::Cubic, Lattice::Simplex], turn / 2),
        interpolation: at(Interpolation::ALL, turn),
        outside: at(Outside::ALL, turn / 3),
        ..Encoding::default()
    };
    let cell = at(&CELLS, turn / NUMBERS.len() as u64);
    let d = at(&[3_usize, 2, 1, 3, 4], turn);
    let [features, points] = [at(&[2, 1, 8, 4], turn), at(&[40, 70, 33], turn)];
    let mut positions = Vec::new();
    for point in 0..points {
        let first = cell(point, rng);
        // Within an eighth of the cell's beginning; one point of each warp lies outside.
        let outside = if point % 32 == 5 { -2.0 } else { 0.0 };
        positions.extend((0..d).map(|_| outside + first + 0.0625 * (1.0 + rng.value())));
    }
    // As many entries as 5^d vertices ask for, where these are few.
    let mask = (4.0, 5, at(&[5, 25, 125, 256], d as u64 - 1));
    let levels = &LEVELS[..at(&[2, 1, 3, 16], turn / 5)];
    let plan = Plan::new(encoding, [d, features], levels, positions);
    Plan { entry: at(&NUMBERS, turn), mask: Some(mask), ..plan }
}

/// A single level of one feature, of more points than two blocks have.
fn of_three_blocks(rng: &mut CaseRng) -> Plan {
    let positions = inside(513, rng);
    let plan = Plan::new(Encoding::default(), [1, 1], &[(7.5, 9, 11)], positions);
    Plan { mask: Some((2.0, 3, 5)), ..plan }
}
