//! The element of an array that is furthest from its exact value.

use splatcheck_emulator::{Exact, FloatType};

/// The element of an array that is furthest from its exact value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Furthest {
    /// Which.
    pub index: usize,
    /// How far it is off: infinite where it is no number.
    pub error: f64,
    /// The largest magnitude in the array.
    pub largest: f64,
    /// Bits of the significand of the array's type.
    pub bits: u32,
}

impl Furthest {
    /// `None` where no exact value is known.
    pub(super) fn of(floats: &[f32], exact: &[Exact], of: FloatType) -> Option<Self> {
        let known = |exact: &&Exact| exact.value.is_finite() && exact.uncertainty.is_finite();
        let sizes = exact.iter().filter(known).map(|exact| exact.value.abs());
        let largest = sizes.fold(0.0, f64::max);
        let error = |(float, exact): (&f32, &Exact)| match float.is_finite() {
            true => (f64::from(*float) - exact.value).abs(),
            false => f64::INFINITY,
        };
        let both = floats.iter().zip(exact).enumerate().filter(|(_, (_, exact))| known(exact));
        let errors = both.map(|(index, both)| (index, error(both)));
        let (index, error) = errors.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let bits = match of {
            FloatType::F32 => 24,
            FloatType::F16 => 11,
            FloatType::Bf16 => 8,
        };
        Some(Self { index, error, largest, bits })
    }

    /// The error as a part of the largest magnitude.
    #[must_use]
    pub fn part(self) -> f64 {
        part(self.error, self.largest)
    }

    /// How many bits of the largest magnitude are right: none to all of its type's.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 24")]
    pub fn right_bits(self) -> u32 {
        (-self.part().log2()).clamp(0.0, f64::from(self.bits)) as u32
    }
}

/// A distance as a part of a bound; nothing of nothing is nothing.
pub(super) fn part(distance: f64, bound: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / bound }
}
