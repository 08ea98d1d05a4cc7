//! The findings as SARIF 2.1.0, the form that GitHub's code scanning and editors show beside the line
//! of source.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::summary::{EngineSummary, FindingSummary, Summary};
use crate::campaign::{EngineReport, Place};

/// One thing that was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of failure it is: a word or a few.
    pub rule: String,
    /// What was wrong, where.
    pub message: String,
    /// Files with lines, the first one its own.
    pub places: Vec<(String, u32)>,
}

/// The findings of a campaign, one for each fault; one that is known is none.
#[must_use]
pub fn findings(summary: &Summary) -> Vec<Finding> {
    let new = |all: &Vec<(&EngineSummary, &FindingSummary)>| all[0].1.known.is_none();
    summary.faults().into_iter().filter(new).map(|all| of_one(&all)).collect()
}

/// The first finding of a fault, and how many others it has.
fn of_one(all: &[(&EngineSummary, &FindingSummary)]) -> Finding {
    let (engine, finding) = all[0];
    let rule = match &finding.element {
        Some(element) => format!("{} outside its bound", element.output),
        None => "no result".to_owned(),
    };
    let FindingSummary { stage, reduction, case, .. } = finding;
    let what = finding.headline();
    let again =
        finding.again().map_or_else(String::new, |again| format!("; run it again: {again}"));
    let others = match all.len() - 1 {
        0 => String::new(),
        1 => "; the same fault shows in 1 more finding".to_owned(),
        more => format!("; the same fault shows in {more} more findings"),
    };
    let message =
        format!("{}: {stage}, {reduction}: {what}; case {case}{again}{others}", engine.id);
    let mut places = Vec::new();
    for place in all.iter().flat_map(|(_, finding)| &finding.places) {
        let place = place.file.clone().map(|file| (file, place.line));
        places.extend(place.filter(|place| !places.contains(place)));
    }
    Finding { rule, message, places }
}

/// Places with the program's file where they name none.
#[must_use]
pub fn in_program(places: &[Place], program: &str) -> Vec<(String, u32)> {
    let file = |place: &Place| place.file.clone().unwrap_or_else(|| program.to_owned());
    places.iter().map(|place| (file(place), place.line)).collect()
}

/// Gives every finding a place: the program's file where it names none, its first line where a finding
/// has no place at all, as a number that is wrong.
pub fn name_program(reports: &mut [EngineReport], program: &str) {
    for finding in reports.iter_mut().flat_map(|report| &mut report.findings) {
        if finding.places.is_empty() {
            finding.places.push(Place { file: None, line: 1 });
        }
        for place in &mut finding.places {
            place.file.get_or_insert_with(|| program.to_owned());
        }
    }
}

/// The SARIF text, ended by a newline.
#[must_use]
pub fn text(findings: &[Finding]) -> String {
    let rules: BTreeSet<&str> = findings.iter().map(|finding| &*finding.rule).collect();
    let rules: Vec<Value> = rules.iter().map(|rule| json!({ "id": rule })).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "splatcheck",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(finding: &Finding) -> Value {
    let location = |(file, line): &(String, u32)| {
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line },
        } })
    };
    let mut places = finding.places.iter().map(location);
    let own: Vec<Value> = places.next().into_iter().collect();
    let others: Vec<Value> = places.collect();
    json!({
        "ruleId": finding.rule,
        "level": "error",
        "message": { "text": finding.message },
        "locations": own,
        "relatedLocations": others,
    })
}

/// A path as a URI reference: what has a meaning in one is escaped.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let escaped = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.replace('\\', "/").bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_results_at_their_lines() {
        let finding = Finding {
            rule: "race".to_owned(),
            message: "two \"writes\"".to_owned(),
            places: vec![("my kernels/k.cu".to_owned(), 7), ("k.cu".to_owned(), 9)],
        };
        let text = text(&[finding.clone(), Finding { places: Vec::new(), ..finding }]);
        let log: Value = serde_json::from_str(&text).expect("it is JSON");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"], json!([{ "id": "race" }]), "each rule once");
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20kernels/k.cu", "escaped");
        assert_eq!(place["region"]["startLine"], 7, "its line");
        let related = &run["results"][0]["relatedLocations"];
        assert_eq!(related.as_array().map(Vec::len), Some(1), "the other access");
        assert_eq!(run["results"][1]["locations"], json!([]), "no place is known");
    }
}
