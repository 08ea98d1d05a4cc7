//! Sums by key as a workload: how their cases are drawn and read.

use super::case::Case;
use super::generators::{ALL, find};
use super::space;
use crate::case_space::Axis;
use crate::io::InputError;
use crate::workload::named::EXTENSIONS;
use crate::workload::{AnyCase, CaseFile, CaseTree, Draw, Generator, SOME_TURNS, Workload};
use proptest::strategy::Just;
use splatcheck_gpu::stages::scatter::NAME;
use std::path::Path;
use std::sync::Arc;

/// Sums by key.
#[derive(Clone, Copy, Debug)]
pub struct Scatter;

impl Workload for Scatter {
    fn name(&self) -> &'static str {
        NAME
    }

    fn generators(&self) -> Vec<&'static Generator> {
        ALL.iter().map(|row| &row.generator).collect()
    }

    /// Its cases are made smaller by what they are ([`super::minimize`]), not by how they were drawn.
    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree> {
        let case: AnyCase =
            Arc::new(find(generator.name)?.draw_for(draw.lane_width, draw.turn, seed, index));
        Some(Box::new(Just(case)))
    }

    /// The generators take turns.
    fn random(&self, seed: u64, index: u64) -> CaseTree {
        let count = ALL.len() as u64;
        let row = &ALL[usize::try_from(index % count).unwrap_or(0)];
        let case: AnyCase = Arc::new(row.draw(index / count, seed, index));
        Box::new(Just(case))
    }

    fn of_each_kind(&self, seed: u64) -> Vec<AnyCase> {
        let all = ALL.iter().flat_map(|row| {
            (0..row.kinds.max(SOME_TURNS))
                .map(move |turn| Arc::new(row.draw(turn, seed, turn)) as AnyCase)
        });
        all.collect()
    }

    fn axes(&self) -> Vec<Axis> {
        space::axes()
    }

    fn extensions(&self) -> &'static [&'static str] {
        &EXTENSIONS
    }

    fn read(&self, file: &Path) -> Result<CaseFile, InputError> {
        Case::read(file).map(CaseFile::from)
    }
}
