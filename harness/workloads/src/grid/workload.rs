//! Grid encodings as a workload: how their cases are drawn and read.

use super::case::Points;
use super::case_file::{AnyCaseFile, read_any};
use super::fields::NAME;
use super::generators::{ALL, is_quick};
use super::growth::TableGrowth;
use super::growth::generator::TABLES;
use super::space;
use splatcheck_gpu::Stage;
use splatcheck_judge::case_space::Axis;
use splatcheck_judge::io::InputError;
use splatcheck_judge::workload::named::{self, EXTENSIONS, Numbers as _};
use splatcheck_judge::workload::{
    AnyCase, BuiltIn, CaseFile, CaseTree, Constant, Draw, Generator, Workload, rows,
};
use std::path::Path;

/// Grid encodings.
#[derive(Clone, Copy, Debug)]
pub struct Grids;

impl Workload for Grids {
    fn name(&self) -> &'static str {
        NAME
    }

    fn generators(&self) -> Vec<&'static Generator> {
        ALL.iter().map(|row| &row.generator).chain([&TABLES[0].generator]).collect()
    }

    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree> {
        let points = rows::draw(ALL, generator, draw, seed, index);
        points.or_else(|| rows::draw(TABLES, generator, draw, seed, index))
    }

    /// Every fifth case is a level table. Of the others the first generator has every other one, and the
    /// rest take turns, but for those whose cases take long.
    fn random(&self, seed: u64, index: u64) -> CaseTree {
        if index % 5 == 4 {
            return TABLES[0].tree(index / 5, seed, index);
        }
        let place = index - index / 5;
        let others: Vec<_> = ALL.iter().filter(|row| is_quick(row)).skip(1).collect();
        let (turn, count) = (place / 2, others.len() as u64);
        let (row, turn) = if place.is_multiple_of(2) {
            (&ALL[0], turn)
        } else {
            (others[usize::try_from(turn % count).unwrap_or(0)], turn / count)
        };
        row.tree(turn, seed, index)
    }

    fn of_each_kind(&self, seed: u64) -> Vec<AnyCase> {
        let points = ALL.iter().filter(|row| is_quick(row)).flat_map(|row| row.of_each_kind(seed));
        points.chain(TABLES[0].of_each_kind(seed)).collect()
    }

    fn axes(&self) -> Vec<Axis> {
        space::axes()
    }

    fn constants(&self) -> Vec<Constant> {
        Points::constants()
    }

    fn fitted(&self, case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> Option<AnyCase> {
        named::fitted::<Points>(case, stage, built_in)
            .or_else(|| named::fitted::<TableGrowth>(case, stage, built_in))
    }

    fn is_for(&self, case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> bool {
        named::is_for::<Points>(case, stage, built_in)
            || named::is_for::<TableGrowth>(case, stage, built_in)
    }

    fn extensions(&self) -> &'static [&'static str] {
        &EXTENSIONS
    }

    fn read(&self, file: &Path) -> Result<CaseFile, InputError> {
        Ok(match read_any(file)? {
            AnyCaseFile::Points(case, notes) => (*case, notes).into(),
            AnyCaseFile::Growth(case, notes) => (case, notes).into(),
        })
    }
}
