//! What a reproducer notes beside its case, whoever made the run.

use crate::campaign::Finding;
use crate::workload::{NOTE_PREFIX, Notes};

/// Engine, stage, view and setting of a finding.
#[must_use]
pub fn notes(finding: &Finding) -> Notes {
    let mut notes = vec![
        ("engine", finding.engine.clone()),
        ("stage", finding.stage.to_string()),
        ("camera", finding.view.to_string()),
        ("lane_width", finding.lane_width.to_string()),
    ];
    if let Some(setting) = finding.setting {
        notes.push(("reduction", setting.reduction.to_string()));
        notes.push(("threshold", setting.threshold.to_string()));
    }
    notes.into_iter().map(|(key, value)| (format!("{NOTE_PREFIX}{key}"), value)).collect()
}
