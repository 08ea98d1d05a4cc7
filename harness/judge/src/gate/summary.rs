//! A campaign as data: what the JSON file holds.

mod people;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::{Conclusion, Evidence, Gate, Misuse, Observation, Outcome, Provenance, reduction_of};
use crate::campaign::{
    EngineReport, Fault, Finding, FindingPlace, Place, Row, Unsupported, by_fault,
};
use crate::engines::Missing;
use crate::io::Excerpt;
use crate::verdict::{Difference, place};
use splatcheck_gpu::{Reduction, Stage};

/// The whole campaign. Numbers that JSON cannot write are the texts `NaN`, `inf` and `-inf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this program.
    pub splatcheck: String,
    /// What was judged, with which options, when.
    pub run: Provenance,
    /// Whether the exit code is 0.
    pub pass: bool,
    /// The worst verdict of all runs.
    pub verdict: String,
    /// Every reason to fail, or why there is no verdict.
    pub reasons: Vec<String>,
    /// Known failures that were seen.
    pub excused: Vec<String>,
    /// The engines that ran.
    pub engines: Vec<EngineSummary>,
    /// The engines that are missing.
    pub missing: Vec<MissingSummary>,
    /// Outputs that were read and not compared with anything, and why.
    #[serde(default)]
    pub not_compared: Vec<String>,
    /// What was asked for beside engines and stages and did not run, and outputs that are not judged.
    #[serde(default)]
    pub not_exercised: Vec<String>,
    /// Runs that were only watched, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observation>,
}

/// One engine's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineSummary {
    /// Its id.
    pub id: String,
    /// The adapter's own name.
    pub adapter: String,
    /// Driver name and version.
    pub driver: String,
    /// Graphics interface.
    pub backend: String,
    /// Lanes that execute together.
    pub lane_width: u32,
    /// How many steps the driver lets a kernel's loops make, in words.
    pub loop_limit: String,
    /// Whose forward pass its backward stages went on from: `oracle` or `own`.
    pub chain: String,
    /// Why it was given up, if it was.
    pub given_up: Option<String>,
    /// How often its process ended in the middle of a request and was started again.
    #[serde(default)]
    pub deaths: u64,
    /// The error / bound below which 99 % of all elements lie that agree and are not exact.
    #[serde(default)]
    pub p99: Option<f64>,
    /// By stage and reduction.
    pub rows: Vec<RowSummary>,
    /// The runs that a limit of the device stood in the way of: not exercised.
    pub limited: Vec<LimitedSummary>,
    /// What it has no kernel for: not exercised.
    #[serde(default)]
    pub unsupported: Vec<UnsupportedSummary>,
    /// The runs that no engine can make, by the reduction's own limit: out of the plan.
    #[serde(default)]
    pub beyond: Vec<LimitedSummary>,
    /// What was wrong.
    pub findings: Vec<FindingSummary>,
}

/// One stage and reduction on one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowSummary {
    /// Name of the stage.
    pub stage: String,
    /// Name of the reduction; "-" for a stage without one.
    pub reduction: String,
    /// The expression of the gradient that it is judged as, where the stage has several.
    pub formulation: Option<String>,
    /// Runs by verdict.
    pub runs: BTreeMap<String, u64>,
    /// Elements compared.
    pub elements: u64,
    /// Exact zeros beside them that nothing adds to.
    #[serde(default)]
    pub zeros: u64,
    /// Comparisons that rounding leaves open, followed both ways.
    pub undecided: u64,
    /// Elements on which a kernel that does nothing would agree.
    pub blind: u64,
    /// Elements that were not compared, since rounding decides whether what they are made of is
    /// there at all.
    pub unbounded: u64,
    /// Median of error / bound over the elements that are not exact.
    pub median: Option<f64>,
    /// The ratio below which 99 % of them lie.
    pub p99: Option<f64>,
    /// The largest; above 1 disagrees.
    pub max: Value,
    /// Runs that disagree, by threshold.
    pub disagree_at: BTreeMap<u32, u64>,
    /// The largest error / bound, by threshold.
    pub max_at: BTreeMap<u32, Value>,
    /// Elements that equal the oracle's value.
    pub exact: u64,
    /// How many of the others have an error / bound above 2^(k-1), up to 2^k, by k.
    pub octaves: BTreeMap<i32, u64>,
}

/// Runs of one stage and reduction that a limit of the device stood in the way of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedSummary {
    /// Name of the stage.
    pub stage: String,
    /// Name of the reduction; "-" for a stage without one.
    pub reduction: String,
    /// How many runs.
    pub runs: u64,
    /// The limit.
    pub reason: String,
}

/// A stage and reduction that an engine has no kernel for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsupportedSummary {
    /// Name of the stage.
    pub stage: String,
    /// Name of the reduction; "-" for a stage without one.
    pub reduction: String,
    /// Why not.
    pub reason: String,
}

/// One thing that was wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingSummary {
    /// Name of the stage.
    pub stage: String,
    /// Name of the reduction; "-" for a stage without one.
    pub reduction: String,
    /// Contributing lanes from which the reduction is used, where there is one.
    pub threshold: Option<u32>,
    /// What was wrong, as the text report says it.
    pub what: String,
    /// What is the same for all findings of one fault, on whatever engine.
    #[serde(default)]
    pub fault: String,
    /// What the kernel may have got wrong, the best hypothesis first; empty where nothing is known.
    pub diagnosis: Vec<String>,
    /// More for the reader, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The element outside its bound; `None` where the engine gave no result.
    pub element: Option<ElementSummary>,
    /// The first elements outside their bounds in the smallest case that fails.
    pub outside: Vec<ElementSummary>,
    /// Name of the smallest case that fails.
    pub case: String,
    /// Number of its camera.
    pub camera: usize,
    /// Runs that failed in the same way.
    pub runs: u64,
    /// Path of the reproducer; empty where it could not be written.
    pub reproducer: String,
    /// Why it is a known failure, if it is.
    pub known: Option<String>,
    /// The source around the lines that have a part in it, as far as it could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<Excerpt>,
    /// The lines of source that have a part in it; JSON has them in words.
    #[serde(skip)]
    pub places: Vec<Place>,
}

/// An element outside its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementSummary {
    /// Name of the output.
    pub output: String,
    /// Index in the output's shape.
    pub index: Vec<usize>,
    /// What the kernel returned.
    pub value: Value,
    /// What the oracle returned.
    pub oracle: Value,
    /// How far a conforming kernel may be.
    pub bound: Value,
    /// Error over bound.
    pub ratio: Value,
}

/// An engine that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingSummary {
    /// What was looked for.
    pub candidate: String,
    /// Why it gave no engine.
    pub reason: String,
    /// What to do about it.
    pub advice: Option<String>,
    /// Whether it is there, was started, and died, hung or answered nonsense.
    pub lost: bool,
    /// Whether it was asked for, so that something was not exercised.
    #[serde(default)]
    pub asked: bool,
}

impl Summary {
    /// The campaign as data; `files` are the findings' reproducers, engine by engine.
    #[must_use]
    pub fn new(
        gate: &Gate,
        conclusion: &Conclusion,
        evidence: &Evidence<'_>,
        files: &[Vec<String>],
    ) -> Self {
        let Evidence { reports, missing, not_compared, not_exercised, observed, .. } = evidence;
        let outcome = conclusion.outcome();
        let error = match &outcome {
            Ok(Outcome::Agree | Outcome::Disagree) => None,
            Ok(Outcome::Interrupted) => Some("Ctrl-C, before everything was judged".to_owned()),
            Err(why) => Some(why.to_string()),
        };
        Self {
            splatcheck: env!("CARGO_PKG_VERSION").to_owned(),
            run: Provenance::default(),
            pass: outcome == Ok(Outcome::Agree),
            verdict: conclusion.words(),
            reasons: conclusion.reasons.iter().cloned().chain(error).collect(),
            excused: conclusion.excused.clone(),
            not_compared: not_compared.clone(),
            not_exercised: not_exercised
                .iter()
                .cloned()
                .chain(EngineReport::blind(reports))
                .collect(),
            engines: reports
                .iter()
                .zip(files)
                .map(|(report, files)| EngineSummary::new(gate, report, files))
                .collect(),
            missing: missing.iter().map(MissingSummary::new).collect(),
            observed: observed.clone(),
        }
    }

    /// The same as the report of a run.
    #[must_use]
    pub fn of(self, run: Provenance) -> Self {
        Self { run, ..self }
    }

    /// The facts of its [`Provenance`].
    #[must_use]
    pub fn facts(&self) -> Vec<(String, String)> {
        self.run.facts(&self.splatcheck)
    }

    /// The findings fault by fault, each with its engine, in the order in which the first of each stands;
    /// those that are known failures apart from the others.
    #[must_use]
    pub fn faults(&self) -> Vec<Vec<(&EngineSummary, &FindingSummary)>> {
        let finding = |[engine, number]: FindingPlace| {
            let engine = &self.engines[engine];
            (engine, &engine.findings[number])
        };
        let of = |(engine, summary): (usize, &EngineSummary)| {
            let one = |(number, finding): (usize, &FindingSummary)| {
                // What a version without faults wrote has each finding apart.
                let alone = finding.fault.is_empty().then_some([engine, number]);
                ([engine, number], format!("{:?} {alone:?} {}", finding.known, finding.fault))
            };
            summary.findings.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        let groups = by_fault(self.engines.iter().enumerate().flat_map(of));
        groups.into_iter().map(|places| places.into_iter().map(finding).collect()).collect()
    }

    /// What was seen where runs were only watched.
    pub fn misuse(&self) -> impl Iterator<Item = &Misuse> {
        self.observed.iter().flat_map(|observation| &observation.misuse)
    }

    /// The JSON text, ended by a newline.
    #[must_use]
    pub fn json(&self) -> String {
        // Every key is a text and every number is one that JSON has.
        let text = serde_json::to_string_pretty(self).expect("it is made of plain data");
        text + "\n"
    }
}

impl EngineSummary {
    /// How many runs it made.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.rows.iter().flat_map(|row| row.runs.values()).sum()
    }

    fn new(gate: &Gate, report: &EngineReport, files: &[String]) -> Self {
        let findings = report.findings.iter().zip(files);
        Self {
            p99: report.sharpness().quantile(0.99),
            id: report.id.clone(),
            adapter: report.info.adapter.clone(),
            driver: report.info.driver.clone(),
            backend: report.info.backend.clone(),
            lane_width: report.info.lane_width,
            loop_limit: report.info.loop_limit.to_string(),
            chain: report.chain.name().to_owned(),
            given_up: report.given_up.clone(),
            deaths: report.deaths,
            rows: report.rows.iter().map(RowSummary::new).collect(),
            limited: report.limited.iter().map(LimitedSummary::new).collect(),
            unsupported: report.unsupported.iter().map(UnsupportedSummary::new).collect(),
            beyond: report.beyond.iter().map(LimitedSummary::new).collect(),
            findings: findings
                .map(|(finding, file)| {
                    let known = gate.known.excuse(report, finding).map(|k| k.reason.clone());
                    FindingSummary::new(finding, file, known)
                })
                .collect(),
        }
    }
}

impl UnsupportedSummary {
    fn new((&(stage, reduction), reason): (&(Stage, Option<Reduction>), &String)) -> Self {
        let reduction = reduction.map_or("-", Reduction::name).to_owned();
        Self { stage: stage.spec().name.to_owned(), reduction, reason: reason.clone() }
    }
}

impl LimitedSummary {
    fn new(entry: (&(Stage, Option<Reduction>), &Unsupported)) -> Self {
        let (&(stage, reduction), Unsupported { runs, by }) = entry;
        let reduction = reduction.map_or("-", Reduction::name).to_owned();
        Self { stage: stage.spec().name.to_owned(), reduction, runs: *runs, reason: by.to_string() }
    }
}

impl RowSummary {
    fn new((&(stage, reduction), row): (&(Stage, Option<Reduction>), &Row)) -> Self {
        let sharpness = &row.tally.sharpness;
        Self {
            stage: stage.spec().name.to_owned(),
            reduction: reduction.map_or("-", Reduction::name).to_owned(),
            formulation: stage.text.formulation(),
            runs: row.runs.iter().map(|(verdict, &runs)| (verdict.to_string(), runs)).collect(),
            elements: row.tally.elements(),
            zeros: row.tally.zeros,
            undecided: row.tally.undecided,
            blind: row.tally.blind,
            unbounded: row.tally.unbounded,
            median: sharpness.quantile(0.5),
            p99: sharpness.quantile(0.99),
            max: row.furthest.or(sharpness.quantile(1.0)).map_or(Value::Null, number),
            disagree_at: row.disagree_at.clone(),
            max_at: row.worst_at.iter().map(|(&at, ratio)| (at, number(ratio.0))).collect(),
            exact: sharpness.exact,
            octaves: sharpness.octaves(),
        }
    }
}

/// The source around a place. A program's first line stands for the whole of it, and says nothing.
fn excerpt_at(place: &Place) -> Option<Excerpt> {
    let line = usize::try_from(place.line).ok().filter(|line| *line > 1)?;
    Excerpt::of(Path::new(place.file.as_ref()?), line)
}

impl FindingSummary {
    fn new(finding: &Finding, file: &str, known: Option<String>) -> Self {
        let setting = finding.setting.filter(|setting| setting.reduction.has_threshold());
        let element = match &finding.fault {
            Fault::Difference(difference) => Some(ElementSummary::new(difference)),
            Fault::Engine(_) => None,
        };
        Self {
            stage: finding.stage.name.to_owned(),
            reduction: reduction_of(finding).to_owned(),
            threshold: setting.map(|setting| setting.threshold),
            what: finding.fault.to_string(),
            fault: finding.same_fault(),
            diagnosis: finding
                .diagnosis
                .iter()
                .flat_map(|diagnosis| diagnosis.lines().map(str::to_owned))
                .collect(),
            notes: finding.notes.clone(),
            element,
            outside: finding.outside.iter().map(ElementSummary::new).collect(),
            case: finding.case.name().to_owned(),
            camera: finding.view,
            runs: finding.runs,
            reproducer: file.to_owned(),
            known,
            source: finding.places.iter().filter_map(excerpt_at).take(Excerpt::PLACES).collect(),
            places: finding.places.clone(),
        }
    }
}

impl FindingSummary {
    /// What was wrong, with the best hypothesis in front of it, where there is one.
    #[must_use]
    pub fn headline(&self) -> String {
        match self.diagnosis.first() {
            Some(diagnosis) => format!("{diagnosis}: {}", self.what),
            None => self.what.clone(),
        }
    }

    /// How to run it again, where that is possible.
    #[must_use]
    pub fn again(&self) -> Option<String> {
        let Self { reproducer, .. } = self;
        (!reproducer.is_empty()).then(|| format!("splatcheck replay {reproducer}"))
    }

    /// Where it was seen, in a line: for one of many findings of a fault.
    #[must_use]
    pub fn seen(&self, engine: &str) -> String {
        let what = self.element.as_ref().map_or("no result", |element| &*element.output);
        let reduction = match (&*self.reduction, self.threshold) {
            ("-", _) => String::new(),
            (reduction, None) => format!(", {reduction}"),
            (reduction, Some(at)) => format!(", {reduction} threshold {at}"),
        };
        let (stage, case, runs) = (&self.stage, &self.case, self.runs);
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        format!("{engine}: {stage}{reduction}: {what} in {case}, {runs}")
    }

    /// The diagnosis and what was wrong, a line each.
    pub(super) fn lines(&self) -> String {
        let lines = self.diagnosis.iter().map(String::as_str).chain([self.what.as_str()]);
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl ElementSummary {
    /// The output and the index as they are written in Python.
    #[must_use]
    pub fn place(&self) -> String {
        place(&self.output, &self.index)
    }

    fn new(difference: &Difference) -> Self {
        Self {
            output: difference.output.to_string(),
            index: difference.element.clone(),
            value: number(difference.value),
            oracle: number(difference.oracle),
            bound: number(difference.bound),
            ratio: number(difference.ratio()),
        }
    }
}

impl MissingSummary {
    fn new(missing: &Missing) -> Self {
        let asked = missing.is_asked_for();
        let Missing { candidate, reason, advice, lost, promised: _ } = missing.clone();
        Self { candidate, reason, advice, lost, asked }
    }
}

/// A number, or its name where JSON has none for it.
fn number(x: f64) -> Value {
    Number::from_f64(x).map_or_else(|| Value::String(x.to_string()), Value::Number)
}
