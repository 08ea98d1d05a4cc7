//! Generators of [`Named`] cases, as rows of a table.
//!
//! A case is a function of the generator, its turn and two numbers (seed, index) alone, the same on every
//! machine. The turn chooses the kind of case, so that none is left to chance. Such cases are made smaller by
//! what they are, not by how they were drawn.

use super::named::{InFiles, Named};
use super::{AnyCase, CaseId, CaseTree, Draw, Frequency, Generator, Promise, SOME_TURNS};
use crate::case_rng::CaseRng;
use proptest::strategy::Just;
use splatcheck_gpu::hazard::Hazard;
use std::sync::Arc;

/// Lanes of CUDA's warps.
const LANE_WIDTH: u32 = 32;

/// A row of the table: a generator and how it draws.
#[derive(Debug)]
pub struct Row<N> {
    /// The generator.
    pub generator: Generator,
    /// How many kinds of cases it has: so many turns meet all of them, at a warp size of 4 where it matters.
    pub kinds: u64,
    /// By the turn and the warp size that is aimed at.
    pub numbers: fn(u64, u32, &mut CaseRng) -> N,
}

/// A row that has a turn as often as the others, and of whose cases everything is promised.
pub const fn often<N>(
    name: &'static str,
    hazards: &'static [Hazard],
    purpose: &'static str,
    kinds: u64,
    numbers: fn(u64, u32, &mut CaseRng) -> N,
) -> Row<N> {
    let (promise, turns) = (Promise::Every, Frequency::Often);
    let generator = Generator { name, hazards, purpose, promise, turns, needs: &[] };
    Row { generator, kinds, numbers }
}

impl<N: InFiles> Row<N> {
    /// The case of these two numbers, named `NAME-seed-index`, of the kind whose turn it is, for CUDA's
    /// warps.
    #[must_use]
    pub fn draw(&self, turn: u64, seed: u64, index: u64) -> Named<N> {
        self.draw_for(LANE_WIDTH, turn, seed, index)
    }

    /// The same for warps of another width.
    #[must_use]
    pub fn draw_for(&self, lane_width: u32, turn: u64, seed: u64, index: u64) -> Named<N> {
        let Generator { name, purpose, hazards, .. } = self.generator;
        let id = CaseId { workload: N::WORKLOAD, generator: name, seed, index };
        Named {
            name: id.to_string(),
            id: Some(id),
            purpose: purpose.to_owned(),
            hazards: hazards.to_vec(),
            numbers: (self.numbers)(turn, lane_width, &mut CaseRng::new(seed, index)),
        }
    }

    /// [`Self::draw`] as a case that is not made smaller by how it was drawn.
    pub fn tree(&self, turn: u64, seed: u64, index: u64) -> CaseTree {
        Box::new(Just(Arc::new(self.draw(turn, seed, index)) as AnyCase))
    }

    /// A case of each kind, or of so many turns where there are fewer kinds.
    pub fn of_each_kind(&self, seed: u64) -> impl Iterator<Item = AnyCase> + '_ {
        let turns = 0..self.kinds.max(SOME_TURNS);
        turns.map(move |turn| Arc::new(self.draw(turn, seed, turn)) as AnyCase)
    }
}

/// Rows of `from` numbers as rows of `to`: those that are too many are left out, and those that are missing are
/// copies. Copy number k is 2^-k times the first, so that no two numbers are alike and no sum grows beyond what
/// a generator promises.
pub fn recounted(all: &[f32], from: usize, to: usize) -> Vec<f32> {
    let copy = |number: usize| (0..number).fold(1.0_f32, |factor, _| factor * 0.5);
    let number = |row: &[f32], at: usize| row[at % from] * copy(at / from);
    all.chunks_exact(from.max(1)).flat_map(|row| (0..to).map(move |at| number(row, at))).collect()
}

/// The row of that generator.
pub fn find<N>(rows: &'static [Row<N>], name: &str) -> Option<&'static Row<N>> {
    rows.iter().find(|row| row.generator.name == name)
}

/// A case of one of the rows; `None` where the generator is none of these.
pub fn draw<N: InFiles>(
    rows: &'static [Row<N>],
    generator: &Generator,
    draw: Draw,
    seed: u64,
    index: u64,
) -> Option<CaseTree> {
    let row = find(rows, generator.name)?;
    let case: AnyCase = Arc::new(row.draw_for(draw.lane_width, draw.turn, seed, index));
    Some(Box::new(Just(case)))
}
