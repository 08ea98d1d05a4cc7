//! What a reproducer notes beside its case, whoever made the run.

use crate::campaign::Finding;
use crate::workload::{NOTE_PREFIX, Notes};

/// The key of the note, behind [`NOTE_PREFIX`], with what the kernel may have got wrong.
const DIAGNOSIS: &str = "diagnosis";

/// What was said to be wrong when a reproducer was written: of the case as it was found, which tells more
/// than the smaller one that it holds.
#[must_use]
pub fn diagnosis(notes: &Notes) -> Option<&str> {
    notes.get(&format!("{NOTE_PREFIX}{DIAGNOSIS}")).map(String::as_str)
}

/// Engine, stage, view and setting of a finding, and what may be wrong.
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
    if let Some(diagnosis) = &finding.diagnosis {
        notes.push((DIAGNOSIS, diagnosis.headline.clone()));
    }
    notes.into_iter().map(|(key, value)| (format!("{NOTE_PREFIX}{key}"), value)).collect()
}
