//! A case of the stage `levels` as text, `corpora/grid/NAME.toml`:
//!
//! ```toml
//! workload = "grid"
//! purpose = "the last scale is 2047 exactly"   # one line
//! hazards = `["mask-width"]`             # optional
//! profile = "torch-ngp"                        # optional: whose rules hold, tiny-cuda-nn's where absent,
//! entries_rule = "round-then-cap"              # and these: dense_stride, scale_rule, entries_rule
//! dimensions = 3
//! features = 2
//!
//! `[growth]`
//! coarsest = 16                                # N_min
//! ratio = 2.0                                  # b
//! levels = 8                                   # L
//! most_entries = 524288                        # T
//! ```

use super::GrowthCase;
use crate::io::error::Problem;
use crate::io::toml_node::Table;
use crate::workload::WORKLOAD_KEY;
use crate::workloads::grid::fields::TableRules;
use crate::workloads::grid::head::head;
use splatcheck_reference::grid::{DenseStride, EntriesRule, Growth, Profile, ScaleRule};

/// The table that only such a case has.
pub const GROWTH: &str = "growth";
const KEYS: [&str; 10] = [
    WORKLOAD_KEY,
    "purpose",
    "hazards",
    "dimensions",
    "features",
    GROWTH,
    Profile::FIELD,
    DenseStride::FIELD,
    ScaleRule::FIELD,
    EntriesRule::FIELD,
];
const GROWTH_KEYS: [&str; 4] = ["coarsest", "ratio", "levels", "most_entries"];

/// The case of a document that has a table [`GROWTH`]; `name` becomes the case's.
pub(in crate::workloads::grid) fn parse(
    top: &Table<'_>,
    name: &str,
) -> Result<GrowthCase, Problem> {
    top.allow(&[&KEYS])?;
    let (purpose, hazards) = head(top)?;
    let text = |field: &str| top.get(field).map(|node| node.string()).transpose();
    let located = |problem, field: &str| match top.get(field) {
        Some(node) => node.located(problem),
        None => problem,
    };
    let TableRules { dense_stride, scale_rule, entries_rule } = TableRules::read(&text, located)?;
    let node = top.need(GROWTH)?;
    let growth = node.table()?;
    growth.allow(&[&GROWTH_KEYS])?;
    let case = GrowthCase {
        name: name.to_owned(),
        id: None,
        purpose,
        hazards,
        sizes: [top.need("dimensions")?.whole()?, top.need("features")?.whole()?],
        dense_stride,
        growth: Growth {
            coarsest: growth.need("coarsest")?.whole()?,
            ratio: growth.need("ratio")?.number()?,
            levels: growth.need("levels")?.whole()?,
            most_entries: growth.need("most_entries")?.whole()?,
            scale_rule,
            entries_rule,
        },
    };
    case.validate().map_err(|problem| node.located(problem))?;
    Ok(case)
}
