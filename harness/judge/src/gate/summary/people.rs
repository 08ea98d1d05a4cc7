//! A summary as people may see it, and whether its parts say the same.

use super::{EngineSummary, RowSummary, Summary};
use crate::io::Problem;
use crate::words::{self, MOST_SHOWN};
use serde_json::Value;

impl Summary {
    /// The same for people: every text in it as [`shown`](crate::words::shown) has it.
    ///
    /// # Panics
    /// Never: what is written is read again.
    #[must_use]
    pub fn shown(&self) -> Self {
        let mut value = serde_json::to_value(self).expect("it is made of plain data");
        show(&mut value);
        let mut same: Self = serde_json::from_value(value).expect("texts are texts");
        // What JSON has not.
        for (engine, own) in same.engines.iter_mut().zip(&self.engines) {
            for (finding, own) in engine.findings.iter_mut().zip(&own.findings) {
                finding.places.clone_from(&own.places);
            }
        }
        same
    }

    /// That its parts say the same, as those of a run do: whoever reads the first line is not to be told of an
    /// agreement that the rest denies.
    ///
    /// # Errors
    /// The part that denies it.
    pub fn check(&self) -> Result<(), Problem> {
        let agrees = self.pass || self.verdict == "agree";
        let advice =
            "a run whose parts deny each other was changed, or is of another version: make it anew";
        let field =
            format!("the verdict '{}', pass: {}", words::shown(&self.verdict, 80), self.pass);
        let denied = |what: &str| Err(Problem::new(field.clone(), what, advice));
        let findings = || self.engines.iter().flat_map(|engine| &engine.findings);
        if agrees && findings().any(|finding| finding.known.is_none()) {
            return denied("beside findings");
        }
        if agrees && self.misuse().next().is_some() {
            return denied("beside misuse");
        }
        if self.pass && !self.reasons.is_empty() {
            return denied("beside reasons to fail");
        }
        let disagrees = |row: &RowSummary| row.runs.get("disagree").is_some_and(|&runs| runs > 0);
        let unsaid = |engine: &EngineSummary| {
            engine.findings.is_empty() && engine.rows.iter().any(disagrees)
        };
        if agrees && self.engines.iter().any(unsaid) {
            return denied("beside runs that disagree");
        }
        Ok(())
    }
}

/// Every text of a value for people; keys too, which a file may have named.
fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = words::shown(text, MOST_SHOWN),
        Value::Array(items) => items.iter_mut().for_each(show),
        Value::Object(map) => {
            let shown = |(key, mut value): (String, Value)| {
                show(&mut value);
                (words::shown(&key, MOST_SHOWN), value)
            };
            *map = std::mem::take(map).into_iter().map(shown).collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
