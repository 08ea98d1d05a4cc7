//! What a case of a level table has, of the ways in which cases differ.

use super::TableGrowth;
use splatcheck_judge::case_space::Traits;
use splatcheck_reference::arithmetic::Cuda;
use splatcheck_reference::grid::{EntriesRule, LevelBounds, ScaleRule, levels};

pub(in crate::grid) const CEIL: &str = "resolutions of a level table";
pub(in crate::grid) const DECIDED: &str = "decided";
pub(in crate::grid) const OPEN: &str = "left open by roundings";

/// Whether roundings decide what a level table has.
fn ceil_of(case: &TableGrowth) -> &'static str {
    if levels::<Cuda>(&case.growth).iter().any(LevelBounds::is_open) { OPEN } else { DECIDED }
}

/// What a case of a level table has.
pub(super) fn traits(case: &TableGrowth) -> Traits {
    Traits::from([
        (CEIL.to_owned(), ceil_of(case).to_owned()),
        (ScaleRule::FIELD.to_owned(), case.growth.scale_rule.to_string()),
        (EntriesRule::FIELD.to_owned(), case.growth.entries_rule.to_string()),
    ])
}
