//! Random numbers that generators draw cases from: the same for the same two numbers on every machine.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Random numbers.
pub struct CaseRng(TestRng);

impl CaseRng {
    /// The numbers of a campaign's seed and a case's index.
    #[must_use]
    pub fn new(seed: u64, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &key))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        self.0.next_u32() % end
    }

    /// One of two, equally likely.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// A multiple of 2^-15 from -1 to 1, but not 0.
    pub fn value(&mut self) -> f32 {
        let steps = u16::try_from(self.below(1 << 15) + 1).unwrap_or(1);
        let magnitude = f32::from(steps) / 32_768.0;
        if self.coin() { -magnitude } else { magnitude }
    }

    /// `count` [values](Self::value).
    pub fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.value()).collect()
    }

    /// In another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let bound = u32::try_from(end + 1).unwrap_or(u32::MAX);
            items.swap(end, self.below(bound) as usize);
        }
    }
}
