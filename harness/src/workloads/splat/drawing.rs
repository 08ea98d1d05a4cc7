//! Splats as a workload: how their cases are drawn and read.

use super::case::Case;
use super::files::{case_file, corpus};
use super::generators::{self, find};
use super::poison::with_nan;
use crate::io::InputError;
use crate::workload::{
    AnyCase, CaseError, CaseFile, CaseTree, Draw, Drawn, Generator, Notes, Variant, Workload,
};
use splatcheck_gpu::stages::splat::NAME;
use splatcheck_reference::splat::convention::Profile;
use std::path::Path;
use std::sync::Arc;

/// Splat rendering, its cases drawn under a profile.
#[derive(Clone, Copy, Debug)]
pub struct Splat(pub Profile);

impl Workload for Splat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn convention(&self) -> Option<&'static str> {
        Some(self.0.name())
    }

    fn under(&self, convention: &str) -> Option<Arc<dyn Workload>> {
        Some(Arc::new(Self(convention.parse().ok()?)))
    }

    fn generators(&self) -> Vec<&'static Generator> {
        generators::ALL.iter().map(|row| &row.generator).collect()
    }

    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree> {
        let Draw { lane_width, turn } = draw;
        let draw = generators::Draw { profile: self.0, lane_width, turn };
        Some(Box::new(Drawn(find(generator.name)?.draw(draw, seed, index)?)))
    }

    fn random(&self, seed: u64, index: u64) -> CaseTree {
        Box::new(Drawn(generators::draw(self.0, seed, index)))
    }

    fn variants(&self, case: &AnyCase, view: usize) -> Result<Vec<Variant>, CaseError> {
        Ok(vec![with_nan(case, view)?])
    }

    fn extensions(&self) -> &'static [&'static str] {
        &corpus::EXTENSIONS
    }

    fn read(&self, file: &Path) -> Result<CaseFile, InputError> {
        if corpus::is_text(file) {
            let case = corpus::read_corpus_case(file)?;
            return Ok(CaseFile { case: Arc::new(case), notes: Notes::new() });
        }
        let case_file::CaseFile { case, notes } = case_file::read_case(file)?;
        Ok(CaseFile { case: Arc::new(case), notes })
    }
}

/// The splat case that a campaign holds; `None` for a case of another workload.
#[must_use]
pub fn splat_case(case: &AnyCase) -> Option<&Case> {
    case.as_any().downcast_ref()
}
