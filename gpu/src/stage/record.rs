//! The record of settings that a launch gets by value: 32-bit words, in the order of the table.

use super::{Sizes, StageSpec};
use crate::tensor::{TensorError, Tensors};

/// A kernel language, where records differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// A uniform buffer.
    Wgsl,
    /// A parameter of the entry point.
    Ptx,
}

/// A member of a stage's record.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name in the kernels.
    pub name: &'static str,
    /// What it holds.
    pub value: Value,
}

/// What a member of a record holds.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// The size with this symbol.
    Size(&'static str),
    /// The input of this name, a number by itself.
    Input(&'static str),
    /// The same, which may be infinite; in WGSL, whose compilers may assume that nothing is, the
    /// largest float stands for infinity.
    Unbounded(&'static str),
    /// The input of this name, and zeros up to so many words.
    Padded(&'static str, usize),
    /// The balance threshold.
    Threshold,
    /// What follows from the sizes.
    Computed(fn(&Sizes) -> usize),
    /// Words that nobody reads, as many as this.
    Unused(usize),
}

impl Value {
    /// Words that it takes.
    #[must_use]
    pub fn words(self) -> usize {
        match self {
            Self::Size(_)
            | Self::Input(_)
            | Self::Unbounded(_)
            | Self::Threshold
            | Self::Computed(_) => 1,
            Self::Padded(_, words) | Self::Unused(words) => words,
        }
    }
}

impl StageSpec {
    /// Words of the record.
    #[must_use]
    pub fn record_words(&self) -> usize {
        self.params.iter().map(|param| param.value.words()).sum()
    }

    /// The record of one launch.
    ///
    /// # Errors
    /// [`TensorError`] where an input is missing.
    pub fn record(
        &self,
        inputs: &Tensors,
        sizes: &Sizes,
        threshold: u32,
        language: Language,
    ) -> Result<Vec<u32>, TensorError> {
        let mut record = Vec::with_capacity(self.record_words());
        for param in self.params {
            let end = record.len() + param.value.words();
            match param.value {
                Value::Size(symbol) => record.push(count(sizes.get(symbol))),
                Value::Input(name) => record.extend_from_slice(inputs.get(name)?.words()),
                Value::Unbounded(name) => record.push(finite(inputs, name, language)?),
                Value::Padded(name, _) => record.extend_from_slice(inputs.get(name)?.words()),
                Value::Threshold => record.push(threshold),
                Value::Computed(from) => record.push(count(from(sizes))),
                Value::Unused(_) => {}
            }
            record.resize(end, 0);
        }
        Ok(record)
    }
}

fn finite(inputs: &Tensors, name: &str, language: Language) -> Result<u32, TensorError> {
    let value = inputs.f32(name)?.first().copied().unwrap_or(0.0);
    Ok(match language {
        Language::Wgsl => value.min(f32::MAX),
        Language::Ptx => value,
    }
    .to_bits())
}

/// Sizes are checked to be within 32 bits before a record is made.
fn count(entries: usize) -> u32 {
    u32::try_from(entries).unwrap_or(u32::MAX)
}
