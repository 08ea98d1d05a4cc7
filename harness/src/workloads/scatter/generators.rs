//! Generators of cases: what lanes may have for keys, how many there may be of everything, and
//! numbers that are hard to add up.
//!
//! A case is a function of the generator, its turn and two numbers (seed, index) alone, the same on
//! every machine. The turn chooses the kind of case, so that none is left to chance.

mod groups;
mod numbers;
mod partitions;
mod sizes;

use super::case::{Case, Numbers};
use crate::dice::Dice;
use crate::workload::{CaseId, Generator, Promise, Turns};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::scatter::NAME;
use splatcheck_reference::scatter::NO_KEY;

/// A row of the table: a generator and how it draws.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The generator.
    pub generator: Generator,
    /// How many kinds of cases it has: so many turns meet all of them; of `groups`, at a warp size of 4.
    pub kinds: u64,
    /// By the turn and the warp size that is aimed at.
    numbers: fn(u64, u32, &mut Dice) -> Numbers,
}

/// Every generator. The order is that of a campaign's turns.
pub const ALL: &[Row] = &[
    Row {
        generator: Generator {
            name: "partitions",
            hazards: &[
                Hazard::ActiveMaskAsSet,
                Hazard::CountApartFromGroup,
                Hazard::LeaderNotLaneZero,
                Hazard::MaskByProduct,
            ],
            purpose: "every way in which the lanes of a warp may share rows, with and without idle lanes",
            promise: Promise::Every,
            turns: Turns::Often,
            needs: &[],
        },
        kinds: partitions::KINDS,
        numbers: partitions::draw,
    },
    Row {
        generator: Generator {
            name: "groups",
            hazards: &[
                Hazard::ActiveMaskAsSet,
                Hazard::CountApartFromGroup,
                Hazard::LeaderNotLaneZero,
                Hazard::MaskByProduct,
                Hazard::ThresholdEdge,
                Hazard::PartialTile,
            ],
            purpose: "every group of lanes that a warp may meet, by turn: its lanes, what is beside it, and the end",
            promise: Promise::Every,
            turns: Turns::Steering,
            needs: &[],
        },
        kinds: groups::KINDS,
        numbers: groups::draw,
    },
    Row {
        generator: Generator {
            name: "sizes",
            hazards: &[
                Hazard::ChannelCount,
                Hazard::PartialTile,
                Hazard::MissingBarrier,
                Hazard::UnwrittenOutput,
            ],
            purpose: "counts of elements and values about those of warps, workgroups and chunks",
            promise: Promise::Every,
            turns: Turns::Often,
            needs: &[],
        },
        kinds: sizes::KINDS,
        numbers: sizes::draw,
    },
    Row {
        generator: Generator {
            name: "numbers",
            hazards: &[Hazard::ReductionMissing, Hazard::ExtremeSums],
            purpose: "values that cancel, of all magnitudes, subnormal or tied; keys that are nearly equal",
            promise: Promise::Every,
            turns: Turns::Often,
            needs: &[],
        },
        kinds: numbers::KINDS,
        numbers: numbers::draw,
    },
];

/// Lanes of CUDA's warps.
const LANE_WIDTH: u32 = 32;

/// The row of that generator.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.generator.name == name)
}

impl Row {
    /// The case of these two numbers, named `NAME-seed-index`, of the kind whose turn it is, for CUDA's
    /// warps.
    #[must_use]
    pub fn draw(&self, turn: u64, seed: u64, index: u64) -> Case {
        self.draw_for(LANE_WIDTH, turn, seed, index)
    }

    /// The same for warps of another width.
    #[must_use]
    pub fn draw_for(&self, lane_width: u32, turn: u64, seed: u64, index: u64) -> Case {
        let id = CaseId { workload: NAME, generator: self.generator.name, seed, index };
        let numbers = (self.numbers)(turn, lane_width, &mut Dice::new(seed, index));
        Case::drawn(&self.generator, id, numbers)
    }
}

impl Dice {
    /// So many rows of `rows`, no two equal.
    fn rows(&mut self, count: usize, rows: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..rows).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }

    /// Elements with these keys and so many values each, for so many rows, which begin at zero or not. What
    /// idle elements hold is infinite or no number.
    fn numbers(&mut self, keys: Vec<u32>, width: usize, rows: u32) -> Numbers {
        let mut values = self.values(keys.len() * width);
        for (key, values) in keys.iter().zip(values.chunks_exact_mut(width)) {
            if *key == NO_KEY {
                values.fill(if self.coin() { f32::NAN } else { f32::INFINITY });
            }
        }
        let words = rows as usize * width;
        let initial = if self.coin() { self.values(words) } else { vec![0.0; words] };
        Numbers { keys, values, initial, width }
    }
}

#[cfg(test)]
mod tests;
