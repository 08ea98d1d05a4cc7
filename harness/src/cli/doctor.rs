//! `splatcheck doctor`: what this machine's devices make of splatcheck's kernels, as a page to paste into an issue.
//!
//! Every kernel runs on the same cases again and again, in one process: what is right once may be wrong in memory
//! in which earlier runs left their numbers.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rayon::prelude::*;
use splatcheck_gpu::{Engine, Reduction, Setting, Stage};

use super::contender::process;
use super::exit::{CliError, Outcome};
use super::gate::GatePlan;
use super::output::{OutputArgs, Progress};
use super::reproducer::Reproducers;
use super::{paths, provenance};
use splatcheck_judge::campaign::merge::add_report;
use splatcheck_judge::campaign::{
    Contender, EngineReport, Fault, Finding, Hooks, run as campaign, smaller,
};
use splatcheck_judge::engines::{Discovery, Found, Lent, Limits, Program};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::interrupt;
use splatcheck_judge::report::devices::describe;
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::table::table;
use splatcheck_judge::threads::cores;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::words::{count, list};
use splatcheck_judge::workload::{AnyCase, Case, views};

/// Random cases of each workload, and their seed.
const CASES: u64 = 2;
const SEED: u64 = 0;

/// Options of `doctor`, as typed.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Use this engine only, by its id or its family ('lavapipe'); repeatable [default: every driver]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// How often every kernel runs on every case, in one process
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub runs: u16,
    /// Folder for reproducers
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// A checked `doctor`.
#[derive(Clone, Debug)]
pub struct DoctorPlan {
    discovery: Discovery,
    engines: Vec<Found>,
    named: bool,
    runs: u16,
    out: PathBuf,
    detail: Detail,
}

impl DoctorArgs {
    /// Checks every option, against the engines of this machine.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self, discovery: Discovery) -> Result<DoctorPlan, CliError> {
        let engines = discovery.select(&self.engine).map_err(CliError::of)?;
        if engines.is_empty() {
            return Err(CliError::new("no engine on this machine: 'splatcheck devices' says why"));
        }
        Ok(DoctorPlan {
            engines,
            discovery,
            named: !self.engine.is_empty(),
            runs: self.runs,
            out: paths::folder_to_name("--out", &self.out)?,
            detail: self.shown.detail(),
        })
    }
}

/// An engine that stays open, and what each of its passes over the cases came to.
struct Patient<'p> {
    found: &'p Found,
    engine: Box<dyn Engine + Send>,
    passes: Vec<EngineReport>,
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &DoctorPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let reproducers = Reproducers::begin(&plan.out, "doctor", None)?;
    let program = Program::find().map_err(CliError::of)?;
    let open = |found| {
        let engine = process(found, (&program, Limits::default()))?;
        Ok(Patient { found, engine, passes: Vec::new() })
    };
    let mut patients = plan.engines.par_iter().map(open).collect::<Result<Vec<_>, CliError>>()?;
    let cases = cases();
    let bar = Progress::of_runs(plan.detail, "doctor", 0);
    for _ in 0..plan.runs {
        if interrupt::is_asked() {
            break;
        }
        pass(&mut patients, &cases, &bar)?;
    }
    bar.finish_and_clear();

    let mut reports = Vec::new();
    for report in patients.iter().flat_map(|patient| &patient.passes) {
        add_report(&mut reports, report.clone());
    }
    let files = reproducers.write_all(&mut reports, None);
    out.write_all(head(plan).as_bytes())?;
    writeln!(out, "\n{}", passes(&patients, plan.runs))?;
    // A driver that died when it was opened was there.
    let lost = plan.discovery.missing.iter().filter(|missing| missing.lost && !plan.named);
    let missing: Vec<_> = lost.cloned().collect();
    out.write_all(Report::new(&reports, &missing, &files).text(plan.detail).as_bytes())?;
    let gate = GatePlan::default().of(provenance::of_ours(Some(SEED)));
    gate.conclude(&Evidence::new(&reports, &missing), &files, out)
}

/// The cases: few, and the same on every machine.
fn cases() -> Vec<AnyCase> {
    let workloads = splatcheck_workloads::all();
    let of = |workload| (0..CASES).map(move |index| (Arc::clone(workload), index));
    let drawn = workloads.iter().flat_map(of);
    drawn.map(|(workload, index)| workload.random(SEED, index).current()).collect()
}

/// Each reduction once, in the middle of its thresholds, where both of its ways are taken.
fn settings(lane_width: u32) -> Vec<Setting> {
    let threshold = |one: Reduction| if one.has_threshold() { lane_width / 2 } else { 0 };
    let each = Reduction::ALL.into_iter();
    each.map(|reduction| Setting { reduction, threshold: threshold(reduction) }).collect()
}

/// Runs every kernel of every engine on every case once. An engine that was given up is left alone.
fn pass(patients: &mut [Patient<'_>], cases: &[AnyCase], bar: &Progress) -> Result<(), CliError> {
    let (mut contenders, mut told) = (Vec::new(), Vec::new());
    for Patient { found, engine, passes } in patients {
        if passes.last().is_some_and(|report| report.given_up.is_some()) {
            continue;
        }
        contenders.push(Contender {
            id: found.spec.id().to_owned(),
            emulation: found.emulation(),
            engine: Box::new(Lent(engine.as_mut())),
            stages: Stage::all().collect(),
            settings: settings(found.info.lane_width),
        });
        told.push(passes);
    }
    let progress = |runs| bar.inc(runs);
    let hooks = Hooks::new(&smaller).observed(&progress);
    let policy = hooks.policy;
    let runs = |case: &dyn Case| contenders.iter().map(|one| one.runs(case, policy)).sum::<u64>();
    bar.inc_length(cases.iter().map(|case| runs(case.as_ref())).sum());
    let reports = campaign(views(cases.iter().cloned()), contenders, hooks);
    for (passes, report) in told.into_iter().zip(reports.map_err(CliError::of)?) {
        passes.push(report);
    }
    Ok(())
}

/// The program, the machine, its engines, and what is judged.
fn head(plan: &DoctorPlan) -> String {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    let cores = count(cores(), "core");
    let devices = describe(&plan.discovery);
    format!(
        "splatcheck {version} on {system}, {processor}, {cores}\n\n{devices}\n{}\n",
        judged(&plan.engines)
    )
}

/// Which of the engines are devices.
fn judged(engines: &[Found]) -> String {
    let names = |these: &dyn Fn(&Found) -> bool| {
        let these = engines.iter().filter(|found| these(found));
        these.map(|found| found.spec.id().to_owned()).collect::<Vec<_>>()
    };
    let devices = names(&|found| !found.is_software());
    let drivers = names(&|found| found.is_software() && found.emulation().is_none());
    match (devices.is_empty(), drivers.is_empty()) {
        (false, _) => format!("judged: {}", list(&names(&|_| true))),
        (true, false) => format!(
            "NOT EXERCISED: a GPU: none was judged. What follows is of what runs on the processor: {}",
            list(&names(&|_| true))
        ),
        (true, true) => format!(
            "NOT EXERCISED: a GPU, and any driver: none was judged. What follows is of the emulator, which says \
             nothing of a device: {}",
            list(&names(&|_| true))
        ),
    }
}

/// What each engine's passes came to, the first beside the others, and what was left unwritten.
fn passes(patients: &[Patient<'_>], runs: u16) -> String {
    let others = if runs == 2 { "run 2".to_owned() } else { format!("runs 2 to {runs}") };
    let head = ["engine", "kernels", "run 1", &others, "unwritten outputs"];
    let row = |patient: &Patient<'_>| {
        let all = &patient.passes;
        let kernels = all.first().map_or(0, |report| report.rows.len());
        let unwritten = all.iter().flat_map(|one| &one.findings).filter(|one| is_unwritten(one));
        let unwritten = match unwritten.map(|finding| finding.runs).sum::<u64>() {
            0 => "none".to_owned(),
            runs => format!("in {}", count(runs, "run")),
        };
        let (first, others) = all.split_at(all.len().min(1));
        let id = patient.found.spec.id().to_owned();
        vec![id, kernels.to_string(), cell(first), cell(others), unwritten]
    };
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(patients.iter().map(row)).collect();
    let cases = count(CASES, "random case");
    format!(
        "{cases} of each workload, {runs} times in one process; before each launch all outputs hold a NaN\n{}",
        table(&rows)
    )
}

/// What some passes came to, by runs of a kernel on a case.
fn cell(passes: &[EngineReport]) -> String {
    let runs = |verdict| {
        let rows = passes.iter().flat_map(|report| report.rows.values());
        rows.map(|row| row.count(verdict)).sum::<u64>()
    };
    let of = |verdict: Verdict| match runs(verdict) {
        0 => None,
        runs => Some(format!("{runs} {verdict}")),
    };
    let judged = [Verdict::Disagree, Verdict::Inconclusive, Verdict::Agree].into_iter();
    let mut said: Vec<_> = judged.filter_map(of).collect();
    if said.is_empty() {
        said.push("not run".to_owned());
    }
    if passes.iter().any(|report| report.given_up.is_some()) {
        said.push("given up".to_owned());
    }
    said.join(", ")
}

/// Whether a kernel left in an output what was put there before.
fn is_unwritten(finding: &Finding) -> bool {
    let first = match &finding.fault {
        Fault::Difference(difference) => Some(difference),
        Fault::Engine(_) => None,
    };
    first.into_iter().chain(&finding.outside).any(|difference| difference.unwritten)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
    use splatcheck_gpu::engine::POISON;
    use splatcheck_gpu::{Data, DeviceInfo, EngineError, Support, Tensor, Tensors, Work};
    use splatcheck_judge::engines::EngineSpec;

    /// The emulator, but that it returns what was there before once it is tired.
    struct Tiring(EmulatorEngine, Arc<AtomicBool>);

    impl Engine for Tiring {
        fn info(&self) -> &DeviceInfo {
            self.0.info()
        }

        fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
            self.0.supports(stage, reduction)
        }

        fn run(
            &mut self,
            stage: Stage,
            work: &[Work<'_>],
        ) -> Result<Vec<Vec<Tensors>>, EngineError> {
            let mut outputs = self.0.run(stage, work)?;
            if self.1.load(Ordering::Relaxed) {
                for tensors in outputs.iter_mut().flatten() {
                    let mut left = Tensors::new();
                    for (name, output) in tensors.iter() {
                        let words = vec![POISON; output.words().len()];
                        let data = Data::from_words(output.dtype(), &words);
                        let output = Tensor::new(name, output.shape().to_vec(), data);
                        left.insert(name.to_owned(), output.expect("its shape"));
                    }
                    *tensors = left;
                }
            }
            Ok(outputs)
        }
    }

    #[test]
    fn what_only_a_later_run_gets_wrong_is_seen() {
        let tired = Arc::new(AtomicBool::new(false));
        let engine = EmulatorEngine::open(EmulatorOptions::default()).expect("it opens");
        let info = engine.info().clone();
        let spec = EngineSpec::new("emulator".parse().expect("an engine's id"), Vec::new());
        let found = Found { spec, info };
        let engine: Box<dyn Engine + Send> = Box::new(Tiring(engine, Arc::clone(&tired)));
        let mut patients = vec![Patient { found: &found, engine, passes: Vec::new() }];
        let workload = splatcheck_workloads::find("scatter").expect("it is there");
        let cases = vec![workload.random(SEED, 0).current()];
        let bar = Progress::of_runs(Detail::Verdict, "doctor", 0);
        pass(&mut patients, &cases, &bar).expect("a first run");
        let first = cell(&patients[0].passes);
        assert!(first.ends_with(" agree") && !first.contains(','), "{first}");
        tired.store(true, Ordering::Relaxed);
        pass(&mut patients, &cases, &bar).expect("a second run");
        let text = passes(&patients, 2);
        let row = text.lines().find(|line| line.starts_with("emulator ")).expect("its row");
        let all = first.trim_end_matches(" agree");
        assert!(row.contains(&first), "the first is as it was: {text}");
        assert!(row.contains(&format!("{all} disagree")), "{text}");
        assert!(row.ends_with(&format!("in {all} runs")), "nothing was written: {text}");
    }

    #[test]
    fn what_was_not_run_is_not_green() {
        assert_eq!(cell(&[]), "not run");
        let emulator = |id: &str| {
            let spec = EngineSpec::new(id.parse().expect("an engine's id"), Vec::new());
            let engine = EmulatorEngine::open(EmulatorOptions::default()).expect("it opens");
            Found { spec, info: engine.info().clone() }
        };
        let [gpu, driver, none] = ["wgpu:0", "lavapipe-8", "emulator"].map(emulator);
        let both = judged(&[gpu.clone(), driver.clone()]);
        assert!(both.starts_with("judged: ") && both.contains("lavapipe-8"), "{both}");
        assert!(judged(&[gpu]).starts_with("judged: "), "a device");
        let software = judged(&[driver, none.clone()]);
        assert!(software.starts_with("NOT EXERCISED: a GPU: none was judged."), "{software}");
        assert!(judged(&[none]).starts_with("NOT EXERCISED: a GPU, and any driver"), "emulator");
    }
}
