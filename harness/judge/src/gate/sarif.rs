//! The findings as SARIF 2.1.0, the form that GitHub's code scanning and editors show beside the line
//! of source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use super::summary::{EngineSummary, FindingSummary, Summary};
use super::{Misuse, Provenance, Role, SourceFile, place};
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

/// The findings of a campaign, one for each fault, and the misuse that was seen where runs were only watched; one
/// that is known is none.
#[must_use]
pub fn findings(summary: &Summary) -> Vec<Finding> {
    let new = |all: &Vec<(&EngineSummary, &FindingSummary)>| all[0].1.known.is_none();
    let summary = summary.shown();
    let judged = summary.faults().into_iter().filter(new).map(|all| of_one(&all));
    judged.chain(summary.misuse().map(of_misuse)).collect()
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
    let run = place(&engine.id, stage, reduction);
    let message = format!("{run}: {what}; case {case}{again}{others}");
    let mut places = Vec::new();
    for place in all.iter().flat_map(|(_, finding)| &finding.places) {
        let place = place.file.clone().map(|file| (file, place.line));
        places.extend(place.filter(|place| !places.contains(place)));
    }
    Finding { rule, message, places }
}

fn of_misuse(misuse: &Misuse) -> Finding {
    let Misuse { engine, case, kind, what, places, .. } = misuse;
    let message = format!("{engine}, {case}: {what}");
    Finding { rule: kind.clone(), message, places: places.clone() }
}

/// Gives every finding a place: the program's file where it names none, its first line where a finding
/// has no place at all, as a number that is wrong.
pub fn name_program(reports: &mut [EngineReport], program: &str) {
    for finding in reports.iter_mut().flat_map(|report| &mut report.findings) {
        if finding.places.is_empty() {
            finding.places.push(Place { file: None, line: 1 });
        }
        for place in &mut finding.places {
            place.file = Some(place.in_program(program).0);
        }
    }
}

/// Where the paths of a report begin.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// The working folder, which relative paths are seen from.
    pub here: PathBuf,
    /// The root of the repository that holds it, where there is one.
    pub root: Option<PathBuf>,
}

impl Base {
    /// Of this process: the repository is the nearest folder above that has a `.git`.
    #[must_use]
    pub fn find() -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let root = here.ancestors().find(|folder| folder.join(".git").exists());
        Self { root: root.map(Path::to_owned), here }
    }

    /// A path as a URI reference: relative to the repository, or to the working folder where there is none,
    /// if it lies there, and absolute otherwise. A reference with `..` leads out of what a viewer shows.
    fn uri(&self, path: &str) -> String {
        let path = plain(&self.here.join(path.replace('\\', "/")));
        let root = self.root.as_ref().unwrap_or(&self.here);
        match path.strip_prefix(root) {
            Ok(below) => escaped(below),
            Err(_) => format!("file://{}", escaped(&path)),
        }
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// A path whose bytes that have a meaning in a URI are escaped.
fn escaped(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let escaped = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.to_string_lossy().bytes().map(escaped).collect()
}

/// The SARIF text, ended by a newline. `failures` say why a run is no pass; where nothing was found they are errors of
/// the run itself, so that no viewer takes a report without results for a clean one (SARIF 2.1.0, 3.20.14 and 3.20.21).
#[must_use]
pub fn text(findings: &[Finding], failures: &[String], run: &Provenance, base: &Base) -> String {
    let failures = if findings.is_empty() { failures } else { &[] };
    let rules: BTreeSet<&str> = findings.iter().map(|finding| &*finding.rule).collect();
    let rules: Vec<Value> = rules.iter().map(|rule| json!({ "id": rule })).collect();
    // A viewer refuses a result without a place. Of a program that is run it is the second of its files, if there is
    // one: the first is the interpreter then.
    let of_program = |file: &&SourceFile| matches!(file.role, Role::Program);
    let files = run.files.iter().filter(of_program);
    let program = files.take(2).last().map(|file| (file.path.clone(), 1));
    let results = findings.iter().map(|finding| result(finding, program.as_ref(), base));
    let results: Vec<Value> = results.collect();
    let version = env!("CARGO_PKG_VERSION");
    let mut log = json!({
        "tool": { "driver": { "name": "splatcheck", "version": version, "rules": rules } },
        "invocations": [invocation(run, failures)],
        "artifacts": run.files.iter().map(|file| artifact(file, base)).collect::<Vec<_>>(),
        "properties": properties(run, version),
        "results": results,
    });
    if !run.subject.is_empty() {
        // What is in front of the last slash is the category by which GitHub keeps reports apart.
        let category = run.subject.replace('/', "-");
        log["automationDetails"] = json!({ "id": format!("splatcheck/{category}/") });
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [log],
    });
    format!("{log:#}\n")
}

/// What is known of the run, by names; where several facts have one name, a line each.
fn properties(run: &Provenance, version: &str) -> Map<String, Value> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in run.facts(version) {
        all.entry(name).or_default().push(value);
    }
    all.into_iter().map(|(name, values)| (name, values.join("\n").into())).collect()
}

/// How splatcheck was called, and what it did not judge.
fn invocation(run: &Provenance, failures: &[String]) -> Value {
    let told = |level, text| json!({ "level": level, "message": { "text": text } });
    let errors = failures.iter().map(|text| told("error", text));
    let notes = run.not_judged.iter().map(|text| told("note", text));
    let mut invocation = json!({
        "executionSuccessful": failures.is_empty(),
        "arguments": run.command,
        "toolExecutionNotifications": errors.chain(notes).collect::<Vec<_>>(),
    });
    if let Some(line) = run.command_line() {
        invocation["commandLine"] = line.into();
    }
    if let Some(date) = &run.date {
        invocation["endTimeUtc"] = date.clone().into();
    }
    invocation
}

fn artifact(file: &SourceFile, base: &Base) -> Value {
    json!({
        "location": { "uri": base.uri(&file.path) },
        "description": { "text": file.role.to_string() },
        "roles": ["analysisTarget"],
        "hashes": { "sha-256": file.sha256 },
    })
}

fn result(finding: &Finding, program: Option<&(String, u32)>, base: &Base) -> Value {
    let location = |(file, line): &(String, u32)| {
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": base.uri(file) },
            "region": { "startLine": line },
        } })
    };
    let mut places = finding.places.iter().map(location);
    let own: Vec<Value> = places.next().or(program.map(location)).into_iter().collect();
    let others: Vec<Value> = places.collect();
    json!({
        "ruleId": finding.rule,
        "level": "error",
        "message": { "text": finding.message },
        "locations": own,
        "relatedLocations": others,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    #[test]
    fn findings_are_results_at_their_lines() {
        let finding = Finding {
            rule: "race".to_owned(),
            message: "two \"writes\"".to_owned(),
            places: vec![("my kernels/k.cu".to_owned(), 7), ("k.cu".to_owned(), 9)],
        };
        let file = SourceFile::new(Role::Program, "my kernels/k.ptx", b"abc");
        let run = Provenance { files: vec![file], ..Provenance::of("a of k.ptx") };
        let base = Base { here: "/repo/sub".into(), root: Some("/repo".into()) };
        let all = [finding.clone(), Finding { places: Vec::new(), ..finding }];
        let text = text(&all, &["a race".to_owned()], &run, &base);
        let log: Value = serde_json::from_str(&text).expect("it is JSON");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"], json!([{ "id": "race" }]), "each rule once");
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "sub/my%20kernels/k.cu", "escaped");
        assert_eq!(place["region"]["startLine"], 7, "its line");
        let related = &run["results"][0]["relatedLocations"];
        assert_eq!(related.as_array().map(Vec::len), Some(1), "the other access");
        let place = &run["results"][1]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "sub/my%20kernels/k.ptx", "the program's");
        assert_eq!(run["automationDetails"]["id"], "splatcheck/a of k.ptx/", "its category");
        assert_eq!(run["artifacts"][0]["location"]["uri"], "sub/my%20kernels/k.ptx", "the program");
        assert_eq!(run["properties"]["judged"], "a of k.ptx", "what was judged");
        assert_eq!(run["invocations"][0]["executionSuccessful"], true, "it was judged");
    }

    #[test]
    fn a_run_that_judged_nothing_is_no_clean_report() {
        let failures = ["nothing was judged".to_owned()];
        let text = text(&[], &failures, &Provenance::of("a of k.ptx"), &Base::default());
        let log: Value = serde_json::from_str(&text).expect("it is JSON");
        let invocation = &log["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false, "{text}");
        let told = &invocation["toolExecutionNotifications"][0];
        assert_eq!(told["level"], "error", "{text}");
        assert_eq!(told["message"]["text"], "nothing was judged", "{text}");
    }

    #[test]
    fn no_uri_leads_out_of_the_repository_by_dots() {
        let base = Base { here: "/repo/build".into(), root: Some("/repo".into()) };
        let apart = Base { here: "/tmp/x".into(), root: None };
        for (base, path, uri) in [
            (&base, "k.ptx", "build/k.ptx"),
            (&base, "../cuda/./k.cu", "cuda/k.cu"),
            (&base, "/repo/cuda/k.cu", "cuda/k.cu"),
            (&base, "../../other/k.cu", "file:///other/k.cu"),
            (&base, "/opt/100%/k.cu", "file:///opt/100%25/k.cu"),
            (&apart, "k.ptx", "k.ptx"),
            (&apart, "../k.ptx", "file:///tmp/k.ptx"),
        ] {
            assert_eq!(base.uri(path), uri, "{path} seen from {}", base.here.display());
        }
    }
}
