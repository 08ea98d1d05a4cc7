//! The result file's form. Everything read is checked before it is believed.

use super::results::RESULT;
use super::{Plan, Results, Shard};
use crate::campaign::{EngineReport, Fault, Finding, Row};
use crate::coverage::Coverage;
use crate::engines::Missing;
use crate::io::serde_forms::pairs;
use crate::report::reproducer_path;
use crate::workloads::splat::contributions::MOST_LANES;
use crate::workloads::splat::files::case_file;
use crate::workloads::splat::generators;
use crate::workloads::splat::stage::StageName;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{BackwardConfig, DeviceInfo, Reduction};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// What makes two parts those of one campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Campaign {
    /// Version of the program that drew the cases.
    splatcheck: String,
    seed: u64,
    convention: String,
    /// Those that were named; none means all whose outputs are promised.
    generators: Vec<String>,
    lane_widths: Vec<u32>,
    /// That a case is run with.
    settings: usize,
    cases: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    campaign: Campaign,
    shard: Shard,
    reached: u64,
    window_is_missing: bool,
    missing: Vec<Missing>,
    engines: Vec<EngineRecord>,
}

#[derive(Serialize, Deserialize)]
struct EngineRecord {
    id: String,
    info: DeviceInfo,
    given_up: Option<String>,
    #[serde(with = "pairs")]
    rows: BTreeMap<(StageName, Option<Reduction>), Row>,
    findings: Vec<FindingRecord>,
    coverage: Option<Coverage>,
}

#[derive(Serialize, Deserialize)]
struct FindingRecord {
    key: String,
    stage: StageName,
    setting: Option<BackwardConfig>,
    fault: Fault,
    /// Index and name of the first case that failed, which the reproducer's was made from.
    index: u64,
    case: String,
    camera: usize,
    runs: u64,
    notes: Vec<String>,
    /// The reproducer's file name.
    reproducer: String,
}

impl Campaign {
    pub(super) fn new(plan: &Plan, cases: u64) -> Self {
        Self {
            splatcheck: env!("CARGO_PKG_VERSION").to_owned(),
            seed: plan.seed,
            convention: plan.profile.name().to_owned(),
            generators: plan.named().iter().map(|generator| generator.name.to_owned()).collect(),
            lane_widths: plan.lane_widths.clone(),
            settings: plan.settings,
            cases,
        }
    }

    fn plan(&self) -> Result<Plan, String> {
        let version = env!("CARGO_PKG_VERSION");
        if self.splatcheck != version {
            let theirs = &self.splatcheck;
            return Err(format!("is of splatcheck {theirs}, this is {version}: use one version"));
        }
        let find = |name: &String| {
            generators::find(name).ok_or_else(|| format!("there is no generator '{name}'"))
        };
        let named = self.generators.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let plan = Plan::new(self.convention.parse()?, self.seed, &named);
        plan.aimed(self.lane_widths.clone(), self.settings)
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, convention, generators, lane_widths, settings, cases, .. } = self;
        let names = if generators.is_empty() { "all".to_owned() } else { generators.join(", ") };
        write!(
            f,
            "{cases} cases of seed {seed}, convention {convention}, generators {names}, lane widths \
             {lane_widths:?}, {settings} settings each"
        )
    }
}

impl Record {
    pub(super) fn new(results: &Results) -> Self {
        Self {
            campaign: results.campaign(),
            shard: results.shard,
            reached: results.reached,
            window_is_missing: results.window_is_missing,
            missing: results.missing.clone(),
            engines: results
                .reports
                .iter()
                .map(|report| EngineRecord::new(report, results))
                .collect(),
        }
    }

    /// The JSON text, ended by a newline.
    pub(super) fn json(&self) -> String {
        // Numbers that JSON has not are texts, and so are all keys.
        serde_json::to_string(self).expect("it is made of plain data") + "\n"
    }
}

impl EngineRecord {
    fn new(report: &EngineReport, results: &Results) -> Self {
        let finding = |finding| FindingRecord::new(finding, &results.plan);
        Self {
            id: report.id.clone(),
            info: report.info.clone(),
            given_up: report.given_up.clone(),
            rows: report.rows.clone(),
            findings: report.findings.iter().map(finding).collect(),
            coverage: results.coverage.get(&report.id).cloned(),
        }
    }

    fn check(&self) -> Result<(), String> {
        let width = self.info.lane_width;
        if !(1..=MOST_LANES).contains(&width) {
            return Err(format!("engine {}: lane width {width}, expected 1 to 64", self.id));
        }
        match &self.coverage {
            Some(coverage) if coverage.width() != width => Err(format!(
                "engine {}: lane width {width}, but its coverage has {}",
                self.id,
                coverage.width()
            )),
            _ => Ok(()),
        }
    }
}

impl FindingRecord {
    fn new(finding: &Finding, plan: &Plan) -> Self {
        Self {
            key: finding.key.clone(),
            stage: finding.stage,
            setting: finding.setting,
            fault: finding.fault.clone(),
            index: plan.index(&finding.case).unwrap_or(0),
            case: finding.case.name.clone(),
            camera: finding.camera,
            runs: finding.runs,
            notes: finding.notes.clone(),
            reproducer: format!("{}.safetensors", finding.file_stem()),
        }
    }

    /// The finding, with the case of its reproducer in `folder`.
    fn read(self, folder: &Path, engine: &str, lane_width: u32) -> Result<Finding, String> {
        let name = &self.reproducer;
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return Err(format!("'{name}' is no file name"));
        }
        let file = folder.join(name);
        let mut case = case_file::read_case(&file).map_err(|error| error.to_string())?.case;
        case.name = self.case;
        let finding = Finding {
            engine: engine.to_owned(),
            lane_width,
            stage: self.stage,
            setting: self.setting,
            key: self.key,
            fault: self.fault,
            case,
            camera: self.camera,
            runs: self.runs,
            notes: self.notes,
        };
        if reproducer_path(folder, &finding) == file {
            Ok(finding)
        } else {
            Err(format!("'{name}' is not the name of that finding's reproducer"))
        }
    }
}

/// See [`Results::read`].
pub(super) fn read(folder: &Path) -> Result<Results, String> {
    let file = folder.join(RESULT);
    let wrong = |why: String| format!("{}: {why}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|e| wrong(format!("cannot read: {e}")))?;
    let record: Record = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    results(record, folder).map_err(wrong)
}

fn results(record: Record, folder: &Path) -> Result<Results, String> {
    let plan = record.campaign.plan()?;
    let (mut reports, mut coverage) = (Vec::new(), BTreeMap::new());
    for engine in record.engines {
        engine.check()?;
        let EngineRecord { id, info, given_up, rows, findings, coverage: met } = engine;
        let mut read = Vec::new();
        for finding in findings {
            let index = finding.index;
            let finding = finding.read(folder, &id, info.lane_width)?;
            let name = &finding.case.name;
            if plan.index(&finding.case) != Some(index) || !record.shard.has(index) {
                return Err(format!("case {name} is not number {index} of part {}", record.shard));
            }
            read.push(finding);
        }
        coverage.extend(met.map(|met| (id.clone(), met)));
        reports.push(EngineReport { id, info, rows, findings: read, given_up });
    }
    Ok(Results {
        plan,
        cases: record.campaign.cases,
        shard: record.shard,
        reached: record.reached,
        window_is_missing: record.window_is_missing,
        missing: record.missing,
        reports,
        coverage,
    })
}
