//! The element of an array that is furthest from its exact value.

use splatcheck_emulator::Exact;

/// Bits of the significand of an f32.
const BITS: f64 = 24.0;

/// The element of an array that is furthest from its exact value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Furthest {
    /// Which.
    pub index: usize,
    /// How far it is off.
    pub error: f64,
    /// The largest magnitude in the array.
    pub largest: f64,
}

impl Furthest {
    pub(super) fn of(floats: &[f32], exact: &[Exact]) -> Self {
        let known = |exact: &&Exact| exact.value.is_finite() && exact.uncertainty.is_finite();
        let sizes = exact.iter().filter(known).map(|exact| exact.value.abs());
        let largest = sizes.fold(0.0, f64::max);
        let both = floats.iter().zip(exact).enumerate();
        let errors = both
            .filter(|(_, (float, exact))| float.is_finite() && known(exact))
            .map(|(index, (float, exact))| (index, (f64::from(*float) - exact.value).abs()));
        let worst = errors.max_by(|(_, one), (_, other)| one.total_cmp(other));
        let (index, error) = worst.unwrap_or_default();
        Self { index, error, largest }
    }

    /// The error as a part of the largest magnitude.
    #[must_use]
    pub fn part(self) -> f64 {
        part(self.error, self.largest)
    }

    /// How many bits of the largest magnitude are right, 0 to 24.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 24")]
    pub fn right_bits(self) -> u32 {
        (-self.part().log2()).clamp(0.0, BITS) as u32
    }
}

/// A distance as a part of a bound; nothing of nothing is nothing.
pub(super) fn part(distance: f64, bound: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / bound }
}
