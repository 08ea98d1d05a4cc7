//! The result file's form. Everything read is checked before it is believed.

use super::plan::Plan;
use super::shard::Shard;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::Stage;
use splatcheck_gpu::{DeviceInfo, EngineKind, Reduction, Setting};
use splatcheck_judge::campaign::{Chain, EngineReport, Fault, Finding, Row, Unsupported};
use splatcheck_judge::case_space::CaseSpace;
use splatcheck_judge::coverage::Coverage;
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::engines::parted::Parts;
use splatcheck_judge::engines::{Emulation, Missing};
use splatcheck_judge::io::read;
use splatcheck_judge::io::serde_forms::pairs;
use splatcheck_judge::report::reproducer_path;
use splatcheck_judge::scatter_step::MOST_LANES;
use splatcheck_judge::verdict::{Difference, Verdict};
use splatcheck_judge::words::{count, list};
use splatcheck_judge::workload::generator;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};

/// The result file's name in the folder of findings.
pub const RESULT: &str = "result.json";

/// What was run, where, and what came of it.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was drawn.
    pub plan: Plan,
    /// How many cases the whole campaign has.
    pub cases: u64,
    /// The part that was run.
    pub shard: Shard,
    /// The parts of it that could not be read, and so are not in what follows.
    pub absent: Vec<Shard>,
    /// One more than the largest index that an engine has run.
    pub reached: u64,
    /// The formulation that a program was judged in, where that was to be found.
    pub formulation: Option<String>,
    /// The generators that were to be drawn from but whose files were not on the machine.
    pub not_drawn: BTreeSet<String>,
    /// The engines that were asked for and that the machine does not have.
    pub missing: Vec<Missing>,
    /// The engines that it has; findings in the order of their cases.
    pub reports: Vec<EngineReport>,
    /// By engine id.
    pub coverage: BTreeMap<String, Coverage>,
    /// What the cases have among them.
    pub space: CaseSpace,
}

/// What makes two parts those of one campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Campaign {
    /// Version of the program that drew the cases.
    splatcheck: String,
    workload: String,
    seed: u64,
    /// None for a workload that has only one.
    convention: Option<String>,
    /// Those that were named; none means all whose outputs are promised.
    generators: Vec<String>,
    lane_widths: Vec<u32>,
    /// That a case is run with.
    settings: usize,
    #[serde(default, skip_serializing_if = "Chain::is_oracle")]
    chain: Chain,
    #[serde(default, skip_serializing_if = "Parts::is_whole")]
    parts: Parts,
    cases: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    campaign: Campaign,
    shard: Shard,
    reached: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formulation: Option<String>,
    not_drawn: BTreeSet<String>,
    missing: Vec<Missing>,
    engines: Vec<EngineRecord>,
    space: CaseSpace,
}

#[derive(Serialize, Deserialize)]
struct EngineRecord {
    id: String,
    info: DeviceInfo,
    given_up: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    deaths: u64,
    #[serde(with = "pairs")]
    rows: BTreeMap<(Stage, Option<Reduction>), Row>,
    #[serde(with = "pairs", default, skip_serializing_if = "BTreeMap::is_empty")]
    unsupported: BTreeMap<(Stage, Option<Reduction>), String>,
    #[serde(with = "pairs", default, skip_serializing_if = "BTreeMap::is_empty")]
    limited: BTreeMap<(Stage, Option<Reduction>), Unsupported>,
    #[serde(with = "pairs", default, skip_serializing_if = "BTreeMap::is_empty")]
    beyond: BTreeMap<(Stage, Option<Reduction>), Unsupported>,
    asked: Vec<Stage>,
    findings: Vec<FindingRecord>,
    coverage: Option<Coverage>,
}

#[derive(Clone, Serialize, Deserialize)]
struct FindingRecord {
    key: String,
    stage: Stage,
    setting: Option<Setting>,
    fault: Fault,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outside: Vec<Difference>,
    /// Index and name of the first case that failed, which the reproducer's was made from.
    index: u64,
    case: String,
    camera: usize,
    runs: u64,
    #[serde(default)]
    diagnosis: Option<Diagnosis>,
    notes: Vec<String>,
    /// The reproducer's file name.
    reproducer: String,
}

impl Campaign {
    pub(super) fn new(plan: &Plan, cases: u64) -> Self {
        Self {
            splatcheck: env!("CARGO_PKG_VERSION").to_owned(),
            workload: plan.workload.name().to_owned(),
            seed: plan.seed,
            convention: plan.workload.convention().map(str::to_owned),
            generators: plan.named().iter().map(|generator| generator.name.to_owned()).collect(),
            lane_widths: plan.lane_widths.clone(),
            settings: plan.settings,
            chain: plan.chain,
            parts: plan.parts,
            cases,
        }
    }

    fn plan(&self) -> Result<Plan, Wrong> {
        let version = env!("CARGO_PKG_VERSION");
        if self.splatcheck != version {
            let theirs = &self.splatcheck;
            return Err(
                format!("is of splatcheck {theirs}, this is {version}: use one version").into()
            );
        }
        let mut workload = crate::find(&self.workload)?;
        if let Some(name) = &self.convention {
            let unknown = || format!("the workload has no convention '{name}'");
            workload = workload.under(name).ok_or_else(unknown)?;
        }
        let find = |name: &String| {
            let unknown = || format!("there is no generator '{name}'");
            generator(workload.as_ref(), name).ok_or_else(unknown)
        };
        let named = self.generators.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let plan = Plan::new(workload, self.seed, &named);
        Ok(plan
            .chained(self.chain)
            .in_parts(self.parts)
            .aimed(self.lane_widths.clone(), self.settings)?)
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, seed, generators, lane_widths, settings, cases, .. } = self;
        let convention = self.convention.as_ref().map(|name| format!(", convention {name}"));
        let convention = convention.unwrap_or_default();
        let names = match &generators[..] {
            [] => "all generators".to_owned(),
            [one] => format!("generator {one}"),
            some => format!("generators {}", some.join(", ")),
        };
        let widths: Vec<_> = lane_widths.iter().map(u32::to_string).collect();
        write!(
            f,
            "{} of {workload}, seed {seed}{convention}, {names}, warps of {} lanes, {} each, chain {}",
            count(*cases, "case"),
            list(&widths),
            count(*settings, "setting"),
            self.chain.name()
        )?;
        if self.parts.is_whole() { Ok(()) } else { write!(f, ", {} parts a run", self.parts) }
    }
}

impl Record {
    pub(super) fn new(results: &Results) -> Self {
        Self {
            campaign: results.campaign(),
            shard: results.shard,
            reached: results.reached,
            formulation: results.formulation.clone(),
            not_drawn: results.not_drawn.clone(),
            missing: results.missing.clone(),
            engines: results
                .reports
                .iter()
                .map(|report| EngineRecord::new(report, results))
                .collect(),
            space: results.space.clone(),
        }
    }

    /// The JSON text, ended by a newline.
    pub(super) fn json(&self) -> String {
        // Numbers that JSON has not are texts, and so are all keys.
        serde_json::to_string(self).expect("it is made of plain data") + "\n"
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl EngineRecord {
    fn new(report: &EngineReport, results: &Results) -> Self {
        let finding = |finding| FindingRecord::new(finding, &results.plan);
        Self {
            id: report.id.clone(),
            info: report.info.clone(),
            given_up: report.given_up.clone(),
            deaths: report.deaths,
            rows: report.rows.clone(),
            unsupported: report.unsupported.clone(),
            limited: report.limited.clone(),
            beyond: report.beyond.clone(),
            asked: report.asked.clone(),
            findings: report.findings.iter().map(finding).collect(),
            coverage: results.coverage.get(&report.id).cloned(),
        }
    }

    /// What the emulator was asked for, if its kind of device answered: its id says it.
    fn emulation(&self) -> Option<Emulation> {
        self.id.parse().ok().filter(|_| self.info.kind == EngineKind::Emulator)
    }

    fn check(&self) -> Result<(), Wrong> {
        let (engine, width) = (&self.id, self.info.lane_width);
        if !(1..=MOST_LANES).contains(&width) {
            let expected = format!("expected 1 to {MOST_LANES}");
            return Err(format!("engine {engine}: warp size {width}, {expected}").into());
        }
        let runs: u64 = self.rows.values().map(|row| row.count(Verdict::Disagree)).sum();
        let of_kernel = |finding: &&FindingRecord| !finding.fault.is_of_the_machine();
        let findings = self.findings.iter().filter(of_kernel).count();
        if (runs > 0) != (findings > 0) {
            return Err(format!(
                "engine {engine}: {runs} runs that disagree beside {findings} findings: it was changed, make it anew"
            )
            .into());
        }
        match self.coverage.as_ref().map(Coverage::width) {
            Some(of) if of != width => {
                Err(format!("engine {engine}: warp size {width}, but its coverage has {of}").into())
            }
            Some(_) | None => Ok(()),
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
            outside: finding.outside.clone(),
            index: plan.index(finding.case.as_ref()).unwrap_or(0),
            case: finding.case.name().to_owned(),
            camera: finding.view,
            runs: finding.runs,
            diagnosis: finding.diagnosis.clone(),
            notes: finding.notes.clone(),
            reproducer: format!("{}.safetensors", finding.file_stem()),
        }
    }

    /// The finding, with the case of its reproducer in `folder`.
    fn read(self, folder: &Path, plan: &Plan, engine: &EngineRecord) -> Result<Finding, Wrong> {
        let name = &self.reproducer;
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return Err(format!("'{name}' is no file name").into());
        }
        let file = folder.join(name);
        let case = crate::read_case(&file)?.case;
        let case = case.renamed(self.case, Some(plan.id(self.index)));
        let finding = Finding {
            engine: engine.id.clone(),
            emulation: engine.emulation(),
            lane_width: engine.info.lane_width,
            stage: self.stage,
            setting: self.setting,
            key: self.key,
            fault: self.fault,
            outside: self.outside,
            case,
            view: self.camera,
            runs: self.runs,
            diagnosis: self.diagnosis,
            notes: self.notes,
            places: Vec::new(),
        };
        if reproducer_path(folder, &finding) == file {
            Ok(finding)
        } else {
            let name = self.reproducer;
            Err(format!("'{name}' is not the name of that finding's reproducer").into())
        }
    }
}

/// A result file that cannot be believed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct ResultError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub why: Wrong,
}

/// What is wrong with a result file, in words.
type Wrong = Box<dyn Error + Send + Sync>;

/// Whether a file is a result file, of whatever version.
pub(super) fn is_one(file: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "campaign")]
        _campaign: serde::de::IgnoredAny,
        #[serde(rename = "shard")]
        _shard: Shard,
    }
    read::text(file).is_ok_and(|text| serde_json::from_str::<Head>(&text).is_ok())
}

/// See [`Results::read`].
pub(super) fn read(folder: &Path) -> Result<Results, ResultError> {
    let file = folder.join(RESULT);
    let wrong = |why: Wrong| ResultError { file: file.clone(), why };
    // A link or a folder of that name is refused by what reads it.
    if fs::symlink_metadata(&file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        let missing = "no such file: fuzz writes it when all of its --cases are done, so not where Ctrl-C ended it";
        return Err(wrong(missing.into()));
    }
    let text = read::text(&file).map_err(|error| wrong(error.into()))?;
    let record: Record = serde_json::from_str(&text).map_err(|error| wrong(error.into()))?;
    results(record, folder).map_err(wrong)
}

fn results(record: Record, folder: &Path) -> Result<Results, Wrong> {
    let plan = record.campaign.plan()?;
    let (mut reports, mut coverage) = (Vec::new(), BTreeMap::new());
    for engine in record.engines {
        engine.check()?;
        let mut findings = Vec::new();
        for finding in engine.findings.clone() {
            let (index, name) = (finding.index, finding.case.clone());
            if plan.id(index).to_string() != name || !record.shard.has(index) {
                let shard = record.shard;
                return Err(format!("case {name} is not number {index} of part {shard}").into());
            }
            findings.push(finding.read(folder, &plan, &engine)?);
        }
        let emulation = engine.emulation();
        let EngineRecord { id, info, given_up, deaths, rows, unsupported, limited, .. } = engine;
        let EngineRecord { beyond, asked, coverage: met, .. } = engine;
        coverage.extend(met.map(|met| (id.clone(), met)));
        reports.push(EngineReport {
            id,
            emulation,
            info,
            chain: record.campaign.chain,
            rows,
            unsupported,
            limited,
            beyond,
            asked,
            findings,
            given_up,
            deaths,
            busy: Duration::ZERO,
        });
    }
    Ok(Results {
        plan,
        cases: record.campaign.cases,
        shard: record.shard,
        absent: Vec::new(),
        reached: record.reached,
        formulation: record.formulation,
        not_drawn: record.not_drawn,
        missing: record.missing,
        reports,
        coverage,
        space: record.space,
    })
}
