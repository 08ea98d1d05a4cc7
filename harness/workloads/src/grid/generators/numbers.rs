//! Entries and gradients that are hard to multiply and add.

use super::plan::{Plan, any, at, inside};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Interpolation};

/// The smallest normal f32.
const LEAST: f32 = f32::MIN_POSITIVE;

type Number = fn(usize, &mut CaseRng) -> f32;

/// Entries, and gradients by the point.
const NUMBERS: [(Number, Number); 7] = [
    // Small and subnormal entries.
    (|_, rng| LEAST * rng.value(), any),
    // Small and subnormal gradients.
    (any, |_, rng| LEAST * rng.value()),
    // Products of large and small.
    (|_, rng| 1e30 * rng.value(), |_, rng| 1e-30 * rng.value()),
    // Large and small entries beside each other.
    (|entry, rng| if entry.is_multiple_of(2) { 1e36 } else { 1e-38 } * rng.value(), |_, _| 1e-4),
    // All but one point are without a gradient.
    (any, |point, _| if point == 13 { 1.0 } else { 0.0 }),
    // Gradients that cancel but for little.
    (any, |point, rng| if point.is_multiple_of(2) { 1e6 } else { -1e6 + rng.value() }),
    // Equal entries: no slope, and features that are the entries.
    (|_, _| 0.625, any),
];

/// Kinds of cases.
pub(super) const KINDS: u64 = 2 * NUMBERS.len() as u64;

/// A few points a cell.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    let (entry, gradient) = at(&NUMBERS, turn);
    let rounds = turn / NUMBERS.len() as u64;
    let interpolation = at(&[Interpolation::Linear, Interpolation::Smoothstep], rounds);
    let encoding = Encoding { interpolation, ..Encoding::default() };
    let positions = inside(48 * 2, rng);
    let plan = Plan::new(encoding, [2, 2], &[(2.5, 4, 16), (9.0, 10, 40)], positions);
    Plan { entry, gradient, ..plan }
}
