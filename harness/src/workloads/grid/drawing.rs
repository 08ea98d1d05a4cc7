//! Grid encodings as a workload: how their cases are drawn and read.

use super::NAME;
use super::case_file::{AnyCaseFile, read_any};
use super::generators::{ALL, find};
use super::growth::generator::LEVEL_TABLES;
use super::{growth, space};
use crate::case_space::Axis;
use crate::io::InputError;
use crate::workload::named::EXTENSIONS;
use crate::workload::{AnyCase, CaseFile, CaseTree, Draw, Generator, SOME_TURNS, Workload};
use proptest::strategy::Just;
use std::path::Path;
use std::sync::Arc;

/// Grid encodings.
#[derive(Clone, Copy, Debug)]
pub struct Grids;

impl Workload for Grids {
    fn name(&self) -> &'static str {
        NAME
    }

    fn generators(&self) -> Vec<&'static Generator> {
        ALL.iter().map(|row| &row.generator).chain([&LEVEL_TABLES]).collect()
    }

    /// Its cases are made smaller by what they are ([`super::minimize`]), not by how they were drawn.
    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree> {
        if generator.name == LEVEL_TABLES.name {
            let case: AnyCase = Arc::new(growth::generator::draw(draw.turn, seed, index));
            return Some(Box::new(Just(case)));
        }
        let row = find(generator.name)?;
        let case: AnyCase = Arc::new(row.draw_for(draw.lane_width, draw.turn, seed, index));
        Some(Box::new(Just(case)))
    }

    /// Every fifth case is a level table. Of the others the first generator has every other one, and the
    /// rest take turns, but for those whose cases take long.
    fn random(&self, seed: u64, index: u64) -> CaseTree {
        if index % 5 == 4 {
            let case: AnyCase = Arc::new(growth::generator::draw(index / 5, seed, index));
            return Box::new(Just(case));
        }
        let place = index - index / 5;
        let others: Vec<_> = ALL.iter().filter(|row| row.is_quick()).skip(1).collect();
        let (turn, count) = (place / 2, others.len() as u64);
        let (row, turn) = if place.is_multiple_of(2) {
            (&ALL[0], turn)
        } else {
            (others[usize::try_from(turn % count).unwrap_or(0)], turn / count)
        };
        let case: AnyCase = Arc::new(row.draw(turn, seed, index));
        Box::new(Just(case))
    }

    fn of_each_kind(&self, seed: u64) -> Vec<AnyCase> {
        let points = ALL.iter().filter(|row| row.is_quick()).flat_map(|row| {
            (0..row.kinds.max(SOME_TURNS))
                .map(move |turn| Arc::new(row.draw(turn, seed, turn)) as AnyCase)
        });
        let tables = (0..growth::generator::KINDS)
            .map(|turn| Arc::new(growth::generator::draw(turn, seed, turn)) as AnyCase);
        points.chain(tables).collect()
    }

    fn axes(&self) -> Vec<Axis> {
        space::axes()
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
