//! Floats as they lie in memory: of 32 bits, or of 16 in one of two formats.

use half::{bf16, f16};
use splatcheck_emulator::FloatType;
use splatcheck_reference::arithmetic::HalfFormat;

/// How an array of floats lies in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The type of its numbers.
    pub float: FloatType,
    /// How often a number of an output that is a sum is rounded to the type at most; `None` for as often as it has
    /// terms.
    pub depth: Option<u32>,
}

impl Stored {
    /// Bytes of a number.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.float.bytes()
    }

    /// Its format, where numbers have 16 bits.
    #[must_use]
    pub fn half(self) -> Option<HalfFormat> {
        format(self.float)
    }
}

/// The format of a type of 16 bits.
#[must_use]
pub fn format(float: FloatType) -> Option<HalfFormat> {
    match float {
        FloatType::F32 => None,
        FloatType::F16 => Some(HalfFormat::F16),
        FloatType::Bf16 => Some(HalfFormat::BF16),
    }
}

/// The type of floats of that name in files: `f32`, `f16` or `bf16`.
#[must_use]
pub fn named(name: &str) -> Option<FloatType> {
    [FloatType::F32, FloatType::F16, FloatType::Bf16].into_iter().find(|float| word(*float) == name)
}

/// Its name in files.
#[must_use]
pub fn word(float: FloatType) -> &'static str {
    match float {
        FloatType::F32 => "f32",
        FloatType::F16 => "f16",
        FloatType::Bf16 => "bf16",
    }
}

/// The nearest number of a type, ties to even; infinite beyond its largest.
#[must_use]
pub fn rounded(float: FloatType, x: f32) -> f32 {
    match float {
        FloatType::F32 => x,
        FloatType::F16 => f16::from_f32(x).to_f32(),
        FloatType::Bf16 => bf16::from_f32(x).to_f32(),
    }
}

/// The same, but a number beyond the largest becomes that; infinity stays.
#[must_use]
pub fn rounded_finite(float: FloatType, x: f32) -> f32 {
    let largest = match float {
        FloatType::F32 => f32::MAX,
        FloatType::F16 => f16::MAX.to_f32(),
        FloatType::Bf16 => bf16::MAX.to_f32(),
    };
    let nearest = rounded(float, x);
    if x.is_finite() { nearest.clamp(-largest, largest) } else { nearest }
}

/// The bytes of numbers that a type holds, little endian.
#[must_use]
pub fn bytes_of(float: FloatType, all: &[f32]) -> Vec<u8> {
    match float {
        FloatType::F32 => all.iter().flat_map(|x| x.to_le_bytes()).collect(),
        FloatType::F16 => all.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect(),
        FloatType::Bf16 => all.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect(),
    }
}

/// The numbers of such bytes.
#[must_use]
pub fn numbers_of(float: FloatType, bytes: &[u8]) -> Vec<f32> {
    let two = || bytes.as_chunks::<2>().0.iter().copied();
    match float {
        FloatType::F32 => {
            bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
        }
        FloatType::F16 => two().map(|two| f16::from_le_bytes(two).to_f32()).collect(),
        FloatType::Bf16 => two().map(|two| bf16::from_le_bytes(two).to_f32()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_stay_finite() {
        for (float, x, nearest, finite) in [
            (FloatType::F16, 1.0 + 2f32.powi(-11), 1.0, 1.0),
            (FloatType::F16, -70_000.0, f32::NEG_INFINITY, -65_504.0),
            (FloatType::F16, 2f32.powi(-25), 0.0, 0.0),
            (FloatType::Bf16, 1.0 + 3.0 * 2f32.powi(-9), 1.0 + 2f32.powi(-7), 1.0 + 2f32.powi(-7)),
            (FloatType::Bf16, f32::MAX, f32::INFINITY, bf16::MAX.to_f32()),
            (FloatType::F16, f32::INFINITY, f32::INFINITY, f32::INFINITY),
            (FloatType::F32, 0.1, 0.1, 0.1),
        ] {
            assert_eq!(rounded(float, x).to_bits(), nearest.to_bits(), "{float:?} {x}");
            assert_eq!(rounded_finite(float, x).to_bits(), finite.to_bits(), "{float:?} {x}");
            let bytes = bytes_of(float, &[finite]);
            assert_eq!(bytes.len(), float.bytes(), "{float:?}");
            assert_eq!(numbers_of(float, &bytes)[0].to_bits(), finite.to_bits(), "{float:?}");
        }
        assert!(rounded_finite(FloatType::F16, f32::NAN).is_nan(), "no number stays none");
    }
}
