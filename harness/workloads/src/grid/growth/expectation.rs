//! What a conforming kernel may return for a level table.

use super::TableGrowth;
use splatcheck_gpu::Tensors;
use splatcheck_judge::judge::{Allowed, DerivedFrom, Expectation, Output, OutputBound, Rows, Rule};
use splatcheck_reference::arithmetic::{Model, Scalar};
use splatcheck_reference::grid::{LevelBounds, ScaleRule, levels};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Scales within their bounds and resolutions of either side of an undecided ceil; entries and offsets exactly
/// as they follow from the resolutions that the kernel has.
pub(super) fn expect<M: Model>(case: &TableGrowth) -> Expectation {
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
    let rows = Rows { count: 1, outputs, terms: None, presence: None, open: Vec::new() };
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
