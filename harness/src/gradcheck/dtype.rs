//! What an array is made of.

use std::fmt;

use serde::Deserialize;
use splatcheck_emulator::FloatType;
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::container::{Container, Part, RawEntry};
use splatcheck_workloads::floats;

/// What an array is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Name")]
pub enum Dtype {
    /// Floats.
    Float(FloatType),
    /// Whole numbers.
    Whole(Whole),
}

impl Default for Dtype {
    fn default() -> Self {
        Self::Float(FloatType::F32)
    }
}

/// A type of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// 32 bits with a sign.
    I32,
    /// 32 bits without one.
    U32,
    /// 64 bits with a sign: indices of `PyTorch`.
    I64,
    /// 8 bits without one: masks.
    U8,
}

/// Types as manifests name them.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Name {
    F32,
    F16,
    Bf16,
    I32,
    U32,
    I64,
    U8,
}

impl From<Name> for Dtype {
    fn from(name: Name) -> Self {
        match name {
            Name::F32 => Self::Float(FloatType::F32),
            Name::F16 => Self::Float(FloatType::F16),
            Name::Bf16 => Self::Float(FloatType::Bf16),
            Name::I32 => Self::Whole(Whole::I32),
            Name::U32 => Self::Whole(Whole::U32),
            Name::I64 => Self::Whole(Whole::I64),
            Name::U8 => Self::Whole(Whole::U8),
        }
    }
}

impl fmt::Display for Dtype {
    /// As manifests name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float(float) => floats::word(*float),
            Self::Whole(Whole::I32) => "i32",
            Self::Whole(Whole::U32) => "u32",
            Self::Whole(Whole::I64) => "i64",
            Self::Whole(Whole::U8) => "u8",
        })
    }
}

impl Dtype {
    /// Bytes of a number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Float(floats) => floats.bytes(),
            Self::Whole(whole) => whole.width(),
        }
    }
}

/// The name of a type of floats in the header of a `.safetensors`.
pub(super) fn stored_as(floats: FloatType) -> safetensors::Dtype {
    match floats {
        FloatType::F32 => safetensors::Dtype::F32,
        FloatType::F16 => safetensors::Dtype::F16,
        FloatType::Bf16 => safetensors::Dtype::BF16,
    }
}

impl Whole {
    fn width(self) -> usize {
        match self {
            Self::I32 | Self::U32 => 4,
            Self::I64 => 8,
            Self::U8 => 1,
        }
    }

    /// Whether a number is one of this type.
    pub(super) fn holds(self, number: i64) -> bool {
        match self {
            Self::I32 => i32::try_from(number).is_ok(),
            Self::U32 => u32::try_from(number).is_ok(),
            Self::I64 => true,
            Self::U8 => u8::try_from(number).is_ok(),
        }
    }

    /// Its name in the header of a `.safetensors`.
    pub(super) fn stored(self) -> safetensors::Dtype {
        match self {
            Self::I32 => safetensors::Dtype::I32,
            Self::U32 => safetensors::Dtype::U32,
            Self::I64 => safetensors::Dtype::I64,
            Self::U8 => safetensors::Dtype::U8,
        }
    }

    /// The bytes of numbers that it holds, little endian.
    pub(super) fn bytes_of(self, numbers: &[i64]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes().into_iter().take(self.width()))
            .collect()
    }

    /// The numbers of such bytes.
    pub(super) fn numbers_of(self, bytes: &[u8]) -> Vec<i64> {
        let four = || bytes.as_chunks::<4>().0.iter().copied();
        match self {
            Self::I32 => four().map(|bytes| i32::from_le_bytes(bytes).into()).collect(),
            Self::U32 => four().map(|bytes| u32::from_le_bytes(bytes).into()).collect(),
            Self::I64 => {
                bytes.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
            }
            Self::U8 => bytes.iter().map(|&byte| byte.into()).collect(),
        }
    }
}

/// Most words of an array, and of all.
pub(super) const MOST_WORDS: usize = 1 << 26;

/// What the key of a size begins with in a file's metadata.
pub(super) const SIZE: &str = "size.";

/// The numbers of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Floats, all of which their type holds.
    Floats(FloatType, Vec<f32>),
    /// Whole numbers, all of which their type holds.
    Whole(Whole, Vec<i64>),
}

impl Values {
    /// Its bytes, little endian.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Floats(float, all) => floats::bytes_of(*float, all),
            Self::Whole(whole, all) => whole.bytes_of(all),
        }
    }

    /// Floats, each the nearest that the type holds.
    pub(super) fn floats(float: FloatType, all: Vec<f32>) -> Self {
        Self::Floats(float, all.into_iter().map(|x| floats::rounded(float, x)).collect())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Floats(_, all) => all.len(),
            Self::Whole(_, all) => all.len(),
        }
    }

    /// What they are.
    pub(super) fn dtype(&self) -> Dtype {
        match self {
            Self::Floats(floats, _) => Dtype::Float(*floats),
            Self::Whole(whole, _) => Dtype::Whole(*whole),
        }
    }

    /// As an array of a file.
    pub(super) fn part(&self, name: String, shape: Vec<usize>) -> Box<dyn Part> {
        let dtype = match self {
            Self::Floats(floats, _) => stored_as(*floats),
            Self::Whole(whole, _) => whole.stored(),
        };
        Box::new(RawEntry { name, dtype, shape, bytes: self.bytes() })
    }

    /// The numbers of a file's array, which has this type and shape.
    pub(super) fn read(
        container: &Container<'_>,
        (name, dtype): (&str, Dtype),
        shape: &[usize],
    ) -> Result<Self, Problem> {
        let expected: Vec<_> = shape.iter().copied().map(Some).collect();
        Ok(match dtype {
            Dtype::Float(FloatType::F32) => {
                let all = container.need_tensor(name)?.numbers(&expected)?;
                Self::Floats(FloatType::F32, all)
            }
            Dtype::Float(float) => {
                let bytes = container.need(name, stored_as(float))?.bytes(&expected)?;
                Self::Floats(float, floats::numbers_of(float, bytes))
            }
            Dtype::Whole(whole) => {
                let bytes = container.need(name, whole.stored())?.bytes(&expected)?;
                Self::Whole(whole, whole.numbers_of(bytes))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_their_bytes() {
        for (whole, numbers) in [
            (Whole::I32, &[i64::from(i32::MIN), -1, 0, 7, i64::from(i32::MAX)][..]),
            (Whole::U32, &[0, 1 << 31, i64::from(u32::MAX)]),
            (Whole::I64, &[i64::MIN, -1, 1 << 40]),
            (Whole::U8, &[0, 1, 255]),
        ] {
            assert!(numbers.iter().all(|&number| whole.holds(number)), "{whole:?}");
            let bytes = whole.bytes_of(numbers);
            assert_eq!(bytes.len(), numbers.len() * Dtype::Whole(whole).bytes(), "{whole:?}");
            assert_eq!(whole.numbers_of(&bytes), numbers, "{whole:?}");
        }
        assert!(!Whole::U8.holds(256) && !Whole::U32.holds(-1) && !Whole::I32.holds(1 << 31));
    }
}
