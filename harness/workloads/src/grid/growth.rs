//! A case of the stage `levels`: the few numbers that a level table follows from.
//!
//! No point and no entry belongs to it, so that tables may be as large as integers of 32 bits count.

pub mod file;
pub mod generator;
#[cfg(test)]
mod tests;

use super::case::place;
use splatcheck_gpu::stages::grid::LEVELS;
use splatcheck_gpu::{Data, Stage, TensorError, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::judge::{
    Allowed, Arithmetic, DerivedFrom, Expectation, Output, OutputBound, Rows, Rule,
};
use splatcheck_judge::under;
use splatcheck_judge::workload::named::{self, Named};
use splatcheck_judge::workload::{Job, Oracle};
use splatcheck_reference::arithmetic::{Cuda, Model, Scalar};
use splatcheck_reference::grid::{
    DenseStride, EntriesRule, Growth, LevelBounds, ScaleRule, levels,
};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

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
        traits(self)
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

pub(in crate::grid) const CEIL: &str = "resolutions of a level table";
pub(in crate::grid) const DECIDED: &str = "decided";
pub(in crate::grid) const OPEN: &str = "left open by roundings";

/// Whether roundings decide what a level table has.
fn ceil_of(case: &TableGrowth) -> &'static str {
    if levels::<Cuda>(&case.growth).iter().any(LevelBounds::is_open) { OPEN } else { DECIDED }
}

/// What a case of a level table has.
fn traits(case: &TableGrowth) -> Traits {
    Traits::from([
        (CEIL.to_owned(), ceil_of(case).to_owned()),
        (ScaleRule::FIELD.to_owned(), case.growth.scale_rule.to_string()),
        (EntriesRule::FIELD.to_owned(), case.growth.entries_rule.to_string()),
    ])
}

/// Scales within their bounds and resolutions of either side of an undecided ceil; entries and offsets exactly
/// as they follow from the resolutions that the kernel has.
fn expect<M: Model>(case: &TableGrowth) -> Expectation {
    let bounds = levels::<M>(&case.growth);
    let count = bounds.len();
    let vertices = |level: &LevelBounds<M>| u32::try_from(level.resolution).unwrap_or(u32::MAX);
    let entries: Vec<_> = bounds.iter().map(|level| case.entries(vertices(level))).collect();
    let offsets = sums(entries.iter().copied());
    let output = |name, count, bound| Output { name, shape: vec![count], bound };
    let follows =
        |oracle, rule: Arc<dyn Rule>| OutputBound::DerivedFrom(DerivedFrom { oracle, rule });
    let outputs = vec![
        output("scales", count, scales(case.growth.scale_rule, &bounds)),
        output("resolutions", count, either(&bounds, 0)),
        output("entries", count, follows(entries, Arc::new(OfResolutions(case.clone())))),
        output("offsets", count + 1, follows(offsets, Arc::new(OfEntries))),
    ];
    let undecided = bounds.iter().filter(|level| level.is_open()).count() as u64;
    let rows = Rows { count: 1, outputs, ..Rows::default() };
    Expectation { model: M::TABLE, undecided, rows: vec![rows] }
}

/// A resolution is checked to be far below.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Whole scales are one less than their resolutions; others lie within a radius.
fn scales<M: Model>(rule: ScaleRule, bounds: &[LevelBounds<M>]) -> OutputBound {
    match rule {
        ScaleRule::MinusOne => {
            let within = |level: &LevelBounds<M>| (level.scale.value(), level.scale.radius());
            OutputBound::Interval(bounds.iter().map(within).collect())
        }
        ScaleRule::Floor => either(bounds, 1),
    }
}

/// The resolutions that roundings leave open, less `less`. Of levels of which nothing is known, nothing is said.
fn either<M: Model>(bounds: &[LevelBounds<M>], less: i64) -> OutputBound {
    let oracle = bounds.iter().map(|level| whole(level.resolution) - less);
    let ranges: Option<Vec<_>> = bounds.iter().map(|level| level.resolutions).collect();
    let Some(ranges) = ranges else {
        let unknown = |r: i64| (r as f64, f64::INFINITY);
        return OutputBound::Interval(oracle.map(unknown).collect());
    };
    let open = ranges.into_iter().enumerate().filter(|(_, [low, high])| low != high);
    let all = |[low, high]: [u64; 2]| (low..=high).map(|r| whole(r) - less).collect();
    let others = open.map(|(level, range)| (level, all(range))).collect();
    let anything = BTreeSet::new();
    OutputBound::OneOf(Allowed { oracle: oracle.collect(), others, anything })
}

/// Where each of so many things begins, and where the last ends.
fn sums(counts: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut sum = 0;
    let ends = counts.map(|count| {
        sum += count;
        sum
    });
    std::iter::once(0).chain(ends).collect()
}

/// Entries are those of the kernel's own resolutions.
#[derive(Debug)]
struct OfResolutions(TableGrowth);

impl Rule for OfResolutions {
    fn of(&self, outputs: &Tensors) -> Option<Vec<i64>> {
        let own = outputs.u32("resolutions").ok()?;
        Some(own.iter().map(|&r| self.0.entries(r)).collect())
    }
}

/// Offsets are sums of the kernel's own entries.
#[derive(Debug)]
struct OfEntries;

impl Rule for OfEntries {
    fn of(&self, outputs: &Tensors) -> Option<Vec<i64>> {
        Some(sums(outputs.u32("entries").ok()?.iter().copied().map(i64::from)))
    }
}
