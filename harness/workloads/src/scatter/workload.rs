//! Sums by key as a workload: how their cases are drawn and read.

use super::case::{Case, Numbers};
use super::generators::ALL;
use super::space;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::scatter::NAME;
use splatcheck_judge::case_space::Axis;
use splatcheck_judge::io::InputError;
use splatcheck_judge::workload::named::{self, EXTENSIONS, Numbers as _};
use splatcheck_judge::workload::{
    AnyCase, BuiltIn, CaseFile, CaseTree, Constant, Draw, Generator, Workload, rows,
};
use std::path::Path;

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

    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree> {
        rows::draw(ALL, generator, draw, seed, index)
    }

    /// The generators take turns.
    fn random(&self, seed: u64, index: u64) -> CaseTree {
        let count = ALL.len() as u64;
        let row = &ALL[usize::try_from(index % count).unwrap_or(0)];
        row.tree(index / count, seed, index)
    }

    fn of_each_kind(&self, seed: u64) -> Vec<AnyCase> {
        ALL.iter().flat_map(|row| row.of_each_kind(seed)).collect()
    }

    fn axes(&self) -> Vec<Axis> {
        space::axes()
    }

    fn constants(&self) -> Vec<Constant> {
        Numbers::constants()
    }

    fn fitted(&self, case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> Option<AnyCase> {
        named::fitted::<Numbers>(case, stage, built_in)
    }

    fn is_for(&self, case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> bool {
        named::is_for::<Numbers>(case, stage, built_in)
    }

    fn extensions(&self) -> &'static [&'static str] {
        &EXTENSIONS
    }

    fn read(&self, file: &Path) -> Result<CaseFile, InputError> {
        Case::read(file).map(CaseFile::from)
    }
}
