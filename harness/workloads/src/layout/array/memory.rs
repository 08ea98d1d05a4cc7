//! How the numbers of an array lie in memory, and what bytes of it come back as.

use super::{Array, Whole};
use crate::floats;
use crate::layout::symbols::Symbols;

impl Array {
    /// Bytes of a number in memory.
    #[must_use]
    pub fn bytes_of_number(&self) -> usize {
        match self.meaning.whole {
            Whole::Word => self.meaning.stored.bytes(),
            Whole::Wide => 8,
            Whole::Byte => 1,
        }
    }

    /// Bytes of a row in memory.
    #[must_use]
    pub fn bytes_of_row(&self, symbols: &Symbols) -> usize {
        self.width(symbols) * self.bytes_of_number()
    }

    /// Its words as they lie in memory.
    #[must_use]
    pub fn to_bytes(&self, words: &[u32]) -> Vec<u8> {
        match (self.meaning.whole, self.meaning.stored.half()) {
            (Whole::Wide, _) => {
                let wide = words.iter().map(|word| i64::from(word.cast_signed()));
                wide.flat_map(i64::to_le_bytes).collect()
            }
            (Whole::Byte, _) => words.iter().map(|&word| u8::from(word != 0)).collect(),
            (Whole::Word, None) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            (Whole::Word, Some(_)) => {
                let all: Vec<f32> = words.iter().map(|&word| f32::from_bits(word)).collect();
                floats::bytes_of(self.meaning.stored.float, &all)
            }
        }
    }

    /// The words of an output from memory. A whole number of 64 bits that does not fit is the least of 32 bits: no
    /// index and no count.
    #[must_use]
    pub fn of_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        let narrow = |wide: i64| i32::try_from(wide).unwrap_or(i32::MIN).cast_unsigned();
        match self.meaning.stored.half() {
            None if self.meaning.whole == Whole::Wide => {
                bytes.as_chunks().0.iter().map(|eight| narrow(i64::from_le_bytes(*eight))).collect()
            }
            None if self.meaning.whole == Whole::Byte => {
                bytes.iter().map(|&byte| u32::from(byte)).collect()
            }
            None => bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect(),
            Some(_) => {
                let all = floats::numbers_of(self.meaning.stored.float, bytes);
                all.into_iter().map(f32::to_bits).collect()
            }
        }
    }
}
