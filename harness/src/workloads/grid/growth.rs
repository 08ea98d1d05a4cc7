//! A case of the stage `levels`: the few numbers that a level table follows from.
//!
//! No point and no entry belongs to it, so that tables may be as large as integers of 32 bits count.

mod expectation;
pub mod file;
pub mod generator;
#[cfg(test)]
mod tests;
pub mod text;
pub(super) mod traits;

use super::case::place;
use crate::case_space::Traits;
use crate::io::InputError;
use crate::io::error::{Problem, quoted};
use crate::judge::{Arithmetic, Expectation, under};
use crate::workload::{AnyCase, CaseError, CaseId, Job, Notes, Oracle};
use expectation::expect;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::grid::LEVELS;
use splatcheck_gpu::{Data, Stage, TensorError, Tensors};
use splatcheck_reference::grid::{DenseStride, EntriesRule, Growth, ScaleRule};
use std::any::Any;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// The numbers that a level table follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthCase {
    /// Short name, unique in its campaign.
    pub name: String,
    /// Where it was drawn; `None` for a case that was read.
    pub id: Option<CaseId>,
    /// One line: what the case is there to catch.
    pub purpose: String,
    /// The hazards that it aims at.
    pub hazards: Vec<Hazard>,
    /// d and F.
    pub sizes: [u32; 2],
    /// The vertices of an axis for which entries are counted.
    pub dense_stride: DenseStride,
    /// `N_min`, b, L, T and the rules.
    pub growth: Growth,
}

impl GrowthCase {
    /// Entries of a level with so many vertices on an axis.
    fn entries(&self, vertices: u32) -> i64 {
        let sizes = self.sizes.map(|size| size as usize);
        self.growth.entries(self.dense_stride, sizes, vertices).into()
    }

    /// What a device gets.
    ///
    /// # Errors
    /// [`TensorError`]; not for numbers by themselves.
    pub fn tensors(&self) -> Result<Tensors, TensorError> {
        let Growth { coarsest, ratio, levels, most_entries, scale_rule, entries_rule } =
            self.growth;
        let mut all = Tensors::new();
        for (name, number) in [
            ("levels", u32::from(levels)),
            ("dimensions", self.sizes[0]),
            ("features", self.sizes[1]),
            (DenseStride::FIELD, place(DenseStride::ALL, &self.dense_stride)),
            (ScaleRule::FIELD, place(ScaleRule::ALL, &scale_rule)),
            (EntriesRule::FIELD, place(EntriesRule::ALL, &entries_rule)),
            ("coarsest", coarsest),
            ("most_entries", most_entries),
        ] {
            all.scalar(name, number);
        }
        all.array("ratio", &[], Data::F32(vec![ratio]))?;
        Ok(all)
    }

    /// That a table of 32-bit integers follows from the numbers.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn validate(&self) -> Result<(), Problem> {
        let refused = |error: &dyn Display| {
            let advice = "give numbers of which a level table follows";
            Problem::new("the growth", quoted(&error.to_string()), advice)
        };
        let inputs = self.tensors().map_err(|error| refused(&error))?;
        LEVELS.check_inputs(&inputs).map(drop).map_err(|error| refused(&error))
    }

    /// The same with other numbers.
    fn with(&self, growth: Growth, dimensions: u32) -> Self {
        Self { growth, sizes: [dimensions, self.sizes[1]], ..self.clone() }
    }
}

/// Shrinks a case for as long as it `fails`: fewer levels, fewer dimensions.
fn smaller(case: &GrowthCase, fails: &mut dyn FnMut(&GrowthCase) -> bool) -> GrowthCase {
    let mut best = case.clone();
    let fewer = |levels| case.with(Growth { levels, ..case.growth }, case.sizes[0]);
    if let Some(found) = (1..case.growth.levels).map(fewer).find(|case| fails(case)) {
        best = found;
    }
    let lower = (1..case.sizes[0]).map(|d| best.with(best.growth, d)).find(|case| fails(case));
    lower.unwrap_or(best)
}

impl crate::workload::Case for GrowthCase {
    fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> Option<&CaseId> {
        self.id.as_ref()
    }

    fn hazards(&self) -> &[Hazard] {
        &self.hazards
    }

    fn views(&self) -> usize {
        1
    }

    fn jobs_of(&self, _view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        if wanted(LEVELS) { Ok(vec![job(self)?]) } else { Ok(Vec::new()) }
    }

    fn traits(&self, _view: usize) -> Result<Traits, CaseError> {
        Ok(traits::traits(self))
    }

    fn views_of(&self, stage: Stage) -> usize {
        usize::from(stage == LEVELS)
    }

    fn describe(&self, _stage: Stage, _view: usize) -> String {
        let Growth { coarsest, ratio, levels, most_entries, .. } = self.growth;
        let [d, features] = self.sizes;
        format!(
            "{levels} levels of {d} dimensions and {features} features, from {coarsest} vertices an axis by \
             {ratio}, of at most {most_entries} entries"
        )
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        Arc::new(Self { name, id, ..self.clone() })
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        Arc::new(smaller(&self, &mut |case| fails(&(Arc::new(case.clone()) as AnyCase))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        file::write_case(path, self, notes)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn job(case: &GrowthCase) -> Result<Job, CaseError> {
    let failed =
        |error: &dyn Display| CaseError { case: case.name.clone(), problem: error.to_string() };
    let inputs = case.tensors().map_err(|error| failed(&error))?;
    // The oracle takes numbers as they are, which no engine has looked at yet.
    LEVELS.check_inputs(&inputs).map_err(|error| failed(&error))?;
    let oracle = Box::new(OfCase { case: case.clone() });
    Job::new(LEVELS, inputs, 1, oracle).map_err(|error| failed(&error))
}

/// The oracle of the stage.
#[derive(Debug)]
struct OfCase {
    case: GrowthCase,
}

impl Oracle for OfCase {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        let case = &self.case;
        // That exp(0) is 1 was measured says nothing of exp2(0).
        let arithmetic = match arithmetic {
            Arithmetic::WgslExpZero => Arithmetic::Wgsl,
            Arithmetic::Wgsl | Arithmetic::Cuda | Arithmetic::CudaFast | Arithmetic::Ieee => {
                arithmetic
            }
        };
        under!(arithmetic, expect(case))
    }
}
