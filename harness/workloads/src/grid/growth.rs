//! A case of the stage `levels`: the few numbers that a level table follows from.
//!
//! No point and no entry belongs to it, so that tables may be as large as integers of 32 bits count.

mod expectation;
pub mod file;
pub mod generator;
#[cfg(test)]
mod tests;
pub(super) mod traits;

use super::case::place;
use expectation::expect;
use splatcheck_gpu::stages::grid::LEVELS;
use splatcheck_gpu::{Data, Stage, TensorError, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::judge::{Arithmetic, Expectation};
use splatcheck_judge::under;
use splatcheck_judge::workload::named::{self, Named};
use splatcheck_judge::workload::{Job, Oracle};
use splatcheck_reference::grid::{DenseStride, EntriesRule, Growth, ScaleRule};
use std::fmt::Display;

/// A case of the stage.
pub type LevelTableCase = Named<TableGrowth>;

/// The numbers that a level table follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct TableGrowth {
    /// d and F.
    pub sizes: [u32; 2],
    /// The vertices of an axis for which entries are counted.
    pub dense_stride: DenseStride,
    /// `N_min`, b, L, T and the rules.
    pub growth: Growth,
}

impl TableGrowth {
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

    /// The same with other numbers.
    fn with(&self, growth: Growth, dimensions: u32) -> Self {
        Self { growth, sizes: [dimensions, self.sizes[1]], ..self.clone() }
    }
}

impl named::Numbers for TableGrowth {
    fn views_of(&self, stage: Stage) -> usize {
        usize::from(stage == LEVELS)
    }

    fn jobs_of(&self, _view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, String> {
        if !wanted(LEVELS) {
            return Ok(Vec::new());
        }
        let inputs = self.tensors().map_err(|error| error.to_string())?;
        // The oracle takes numbers as they are, which no engine has looked at yet.
        LEVELS.check_inputs(&inputs).map_err(|error| error.to_string())?;
        let job = Job::new(LEVELS, inputs, 1, Box::new(OfCase { case: self.clone() }));
        Ok(vec![job.map_err(|error| error.to_string())?])
    }

    fn traits(&self, _view: usize) -> Traits {
        traits::traits(self)
    }

    fn describe(&self, _view: usize) -> String {
        let Growth { coarsest, ratio, levels, most_entries, .. } = self.growth;
        let [d, features] = self.sizes;
        format!(
            "{levels} levels of {d} dimensions and {features} features, from {coarsest} vertices an axis by \
             {ratio}, of at most {most_entries} entries"
        )
    }

    /// Fewer levels, fewer dimensions.
    fn smaller(&self, fails: &mut dyn FnMut(&Self) -> bool) -> Self {
        let mut best = self.clone();
        let fewer = |levels| self.with(Growth { levels, ..self.growth }, self.sizes[0]);
        if let Some(found) = (1..self.growth.levels).map(fewer).find(|numbers| fails(numbers)) {
            best = found;
        }
        let lower = (1..self.sizes[0]).map(|d| best.with(best.growth, d));
        lower.into_iter().find(|numbers| fails(numbers)).unwrap_or(best)
    }

    /// That a table of 32-bit integers follows from the numbers.
    fn validate(&self) -> Result<(), Problem> {
        let refused = |error: &dyn Display| {
            let advice = "give numbers of which a level table follows";
            Problem::new("the growth", quoted(&error.to_string()), advice)
        };
        let inputs = self.tensors().map_err(|error| refused(&error))?;
        LEVELS.check_inputs(&inputs).map(drop).map_err(|error| refused(&error))
    }
}

/// The oracle of the stage.
#[derive(Debug)]
struct OfCase {
    case: TableGrowth,
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
