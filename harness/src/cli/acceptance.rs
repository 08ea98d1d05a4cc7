//! `splatcheck acceptance`: everything that a machine with a GPU allows, in one report folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use indicatif::ProgressBar;
use splatcheck_gpu::stages::splat::{NAME, RASTERIZE_BACKWARD};
use splatcheck_gpu::{EngineError, Reduction, Setting, TensorError};
use splatcheck_judge::interrupt;
use splatcheck_judge::io::OF_CORPUS;
use splatcheck_reference::splat::convention::{Convention, Profile};
use splatcheck_reference::splat::synthetic::frustum;

use super::check::{Cases, CheckPlan, judge};
use super::devices::engines_here;
use super::exit::{self, CliError, Outcome, one_line};
use super::gate::GatePlan;
use super::options::{ReadingArgs, ScenePlan, Subject, resolve_scene};
use super::output::Progress;
use super::paths;
use super::reproducer::Reproducers;
use super::scene::scene_cases;
use crate::acceptance::folder::Staged;
use crate::acceptance::speed::{EngineTimes, Times, measure};
use crate::acceptance::{Acceptance, Check, SceneReport, json, text};
use splatcheck_judge::campaign::{Chain, EngineReport};
use splatcheck_judge::engines::parted::Parts;
use splatcheck_judge::engines::{Discovery, EngineProcess, Found, Limits, Program};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::Unread;
use splatcheck_judge::report::Detail;
use splatcheck_judge::report::devices::describe;
use splatcheck_judge::words::count;
use splatcheck_workloads::splat::Splat;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::stage::RasterStage;

/// The warp size of NVIDIA's GPUs, whose traffic is counted on every machine.
const NVIDIA_LANES: u32 = 32;

/// Options of `acceptance`, as typed.
#[derive(Clone, Debug, Args)]
pub struct AcceptanceArgs {
    /// The report's folder; must not exist or be empty
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Few random cases, few runs, a small generated scene: minutes instead of an hour
    #[arg(long)]
    pub quick: bool,
    /// Use this engine only, by its id or its family; repeatable [default: every engine found]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Number of random cases of the check [default: 200, quick: 10]
    #[arg(long, value_name = "N")]
    pub cases: Option<u32>,
    /// A trained scene; repeatable
    #[arg(long, value_name = "FILE", requires = "cameras")]
    pub ply: Vec<PathBuf>,
    /// Its cameras (JSON), in the order of the scenes
    #[arg(long, value_name = "FILE", requires = "ply")]
    pub cameras: Vec<PathBuf>,
    /// A folder of trained scenes: every NAME.ply with its NAME.cameras.json
    #[arg(long, value_name = "DIR")]
    pub scenes: Option<PathBuf>,
    /// Folder of named scenes for the check [default: those of splatcheck, as with 'built-in']
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
}

/// A checked `acceptance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptancePlan {
    /// The report's folder: nothing is there yet.
    pub out: PathBuf,
    /// How much is done.
    pub size: Size,
    /// The engines that were named; none means every engine.
    pub engines: Vec<String>,
    /// Trained scenes.
    pub scenes: Vec<ScenePlan>,
    /// Folder of named scenes.
    pub corpus: PathBuf,
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Whether this is the short form.
    pub quick: bool,
    /// Random cases of the check.
    pub cases: u32,
    /// Timed runs of every setting.
    pub repeats: u32,
    /// Gaussians, width and height of the generated scene.
    pub generated: (usize, [u32; 2]),
}

impl Size {
    const FULL: Self =
        Self { quick: false, cases: 200, repeats: 50, generated: (100_000, [1920, 1080]) };
    const QUICK: Self =
        Self { quick: true, cases: 10, repeats: 11, generated: (10_000, [640, 360]) };
}

impl AcceptanceArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self) -> Result<AcceptancePlan, CliError> {
        if self.ply.len() != self.cameras.len() {
            return Err(CliError::new(format!(
                "--ply, --cameras: {} scenes but {} files of cameras, each scene needs its own",
                self.ply.len(),
                self.cameras.len()
            )));
        }
        let mut scenes = self
            .ply
            .iter()
            .zip(&self.cameras)
            .map(|(ply, cameras)| resolve_scene(ply, cameras, None, &ReadingArgs::default()))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(folder) = &self.scenes {
            scenes.extend(scenes_in(folder)?);
        }
        let mut size = if self.quick { Size::QUICK } else { Size::FULL };
        size.cases = self.cases.unwrap_or(size.cases);
        Ok(AcceptancePlan {
            out: paths::writable_folder("--out", &self.out)?,
            size,
            engines: self.engine,
            scenes,
            corpus: paths::corpus(self.corpus.as_deref(), NAME)?,
        })
    }
}

/// Every scene of a folder, in the order of names.
fn scenes_in(folder: &Path) -> Result<Vec<ScenePlan>, CliError> {
    let folder = paths::readable_folder("--scenes", folder)?;
    let entries = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "ply")).collect();
    files.sort();
    if files.is_empty() {
        let what = format!("--scenes {}: there is no .ply file", folder.display());
        return Err(CliError::new(what));
    }
    files
        .iter()
        .map(|ply| {
            resolve_scene(ply, &ply.with_extension("cameras.json"), None, &ReadingArgs::default())
        })
        .collect()
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]: the files are wrong, the folder cannot be written, nothing was judged, or the
/// machine failed. In the last two cases the report is there.
pub fn run(plan: &AcceptancePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let cannot = |error| {
        CliError::caused(format!("--out {}: cannot write the report", plan.out.display()), error)
    };
    let folder = Staged::new(&plan.out).map_err(cannot)?;
    // All files are read before anything is run.
    let cases = subjects(plan)?;
    let (discovery, left_out) = chosen(&plan.engines, engines_here()?)?;
    out.write_all(describe(&discovery).as_bytes())?;
    out.flush()?;
    let mut acceptance = Acceptance {
        quick: plan.size.quick,
        discovery,
        checks: Vec::new(),
        scenes: Vec::new(),
        not_exercised: left_out,
        faults: Vec::new(),
    };
    note_missing(&mut acceptance, plan);
    check_all(&mut acceptance, plan, &folder.path());
    measure_all(&mut acceptance, plan, cases)?;
    if interrupt::is_asked() {
        return interrupted(&acceptance, plan, out);
    }
    write(&acceptance, &folder.path()).map_err(cannot)?;
    folder.publish().map_err(cannot)?;
    conclude(&acceptance, plan, out)
}

/// The engines that were named, and what is left out on that account.
fn chosen(
    names: &[String],
    mut discovery: Discovery,
) -> Result<(Discovery, Vec<String>), CliError> {
    if names.is_empty() {
        return Ok((discovery, Vec::new()));
    }
    let named = discovery.select(names).map_err(CliError::of)?;
    let others = discovery.found.iter().filter(|found| !named.contains(found));
    let others: Vec<_> = others.map(|found| found.spec.id().to_owned()).collect();
    discovery.found = named;
    let what = format!("engines that were not asked for: {}", others.join(", "));
    Ok((discovery, if others.is_empty() { Vec::new() } else { vec![what] }))
}

/// The last words where Ctrl-C came before the report was whole. The folder is not there then.
fn interrupted(
    acceptance: &Acceptance,
    plan: &AcceptancePlan,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let verdict = interrupt::until_then(&acceptance.verdict().to_string());
    let runs: u64 =
        acceptance.checks.iter().flat_map(|check| &check.reports).map(EngineReport::runs).sum();
    writeln!(out, "{verdict}: {}; {} is not written", count(runs, "run"), plan.out.display())?;
    out.flush()?;
    Ok(Outcome::Interrupted)
}

/// The last words, and the exit code's side.
fn conclude(
    acceptance: &Acceptance,
    plan: &AcceptancePlan,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    for what in &acceptance.not_exercised {
        writeln!(out, "NOT EXERCISED: {what}")?;
    }
    let report = plan.out.join("report.md");
    writeln!(out, "{}: the report is {}", acceptance.verdict(), report.display())?;
    out.flush()?;
    let reports: Vec<_> = acceptance.checks.iter().flat_map(|c| c.reports.clone()).collect();
    let faults = acceptance.faults.clone();
    exit::conclude(&Evidence { faults, ..Evidence::new(&reports, &[]) })
}

fn write(acceptance: &Acceptance, folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("devices.txt"), describe(&acceptance.discovery))?;
    fs::write(folder.join("report.md"), text::markdown(acceptance))?;
    let json = serde_json::to_string_pretty(&json::value(acceptance))?;
    fs::write(folder.join("report.json"), json + "\n")
}

/// The scenes that are counted and timed: the generated one, then trained ones, the first camera of
/// each in the short form.
fn subjects(plan: &AcceptancePlan) -> Result<Vec<Case>, CliError> {
    let (gaussians, [width, height]) = plan.size.generated;
    let mut cases = vec![Case {
        name: format!("random-{gaussians}"),
        id: None,
        purpose: "the size of a small trained scene".to_owned(),
        hazards: Vec::new(),
        convention: Convention::inria(),
        scene: frustum(gaussians, width, height, 1),
    }];
    for scene in &plan.scenes {
        let views = scene_cases(scene, &Convention::inria())?.cases;
        cases.extend(views.into_iter().take(if plan.size.quick { 1 } else { usize::MAX }));
    }
    Ok(cases)
}

/// What is known not to be exercised before anything runs.
fn note_missing(acceptance: &mut Acceptance, plan: &AcceptancePlan) {
    let missing = acceptance.discovery.missing.iter().map(|m| m.candidate.as_str());
    let missing: Vec<_> = missing.collect();
    if !missing.is_empty() {
        let what =
            format!("engines that are not here: {} ('Devices' says why)", missing.join(", "));
        acceptance.not_exercised.push(what);
    }
    if plan.scenes.is_empty() {
        let what = "trained scenes: none was given (--scenes, or --ply with --cameras)";
        acceptance.not_exercised.push(what.to_owned());
    }
}

/// Judges every engine on the corpus and random cases, and those that are hardware on the trained
/// scenes.
fn check_all(acceptance: &mut Acceptance, plan: &AcceptancePlan, folder: &Path) {
    let all = acceptance.discovery.found.clone();
    if all.is_empty() {
        acceptance.not_exercised.push("the check: there is no engine".to_owned());
        return;
    }
    let hardware: Vec<Found> = all.iter().filter(|found| !found.is_software()).cloned().collect();
    let subject =
        Subject::Campaign { corpus: plan.corpus.clone(), cases: plan.size.cases, seed: 0 };
    let name = format!("the corpus and {} random cases", plan.size.cases);
    check_one(acceptance, plan, folder, all, (name, subject));
    if hardware.is_empty() && !plan.scenes.is_empty() {
        let what = "the check on trained scenes: no engine here is a GPU ('self-check --ply' judges \
                    software drivers on one)";
        acceptance.not_exercised.push(what.to_owned());
        return;
    }
    for scene in plan.scenes.iter().take_while(|_| !interrupt::is_asked()) {
        let name = scene.ply.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let subject = (name, Subject::Scene(scene.clone()));
        check_one(acceptance, plan, folder, hardware.clone(), subject);
    }
}

/// One campaign; one that cannot be carried out does not take the rest of the report with it.
fn check_one(
    acceptance: &mut Acceptance,
    plan: &AcceptancePlan,
    folder: &Path,
    engines: Vec<Found>,
    subject: (String, Subject),
) {
    let name = subject.0.clone();
    match check(plan, folder, &acceptance.discovery, engines, subject) {
        Ok((judged, unread)) => {
            let gap = unread.gap(OF_CORPUS).map(|gap| format!("check on {name}: {gap}"));
            acceptance.faults.extend(gap);
            for report in &judged.reports {
                let limited = report.limited.iter().map(|((stage, reduction), limited)| {
                    let reduction = reduction.map_or("-", Reduction::name);
                    format!("{}: {stage} {reduction} on {name}: {limited}", report.id)
                });
                acceptance.not_exercised.extend(limited);
            }
            acceptance.checks.push(judged);
        }
        Err(error) => acceptance.faults.push(format!("check on {name}: {}", one_line(&error))),
    }
}

/// One campaign, with its findings as reproducers.
fn check(
    plan: &AcceptancePlan,
    folder: &Path,
    discovery: &Discovery,
    engines: Vec<Found>,
    (name, subject): (String, Subject),
) -> Result<(Check, Unread), CliError> {
    let check = CheckPlan {
        command: None,
        limits: Limits::default(),
        engines,
        beside: Vec::new(),
        named: true,
        discovery: discovery.clone(),
        reductions: Reduction::ALL.to_vec(),
        thresholds: None,
        subject,
        out: plan.out.clone(),
        workload: Arc::new(Splat::default()),
        convention: Convention::of(Profile::Inria),
        gate: GatePlan::default(),
        detail: Detail::default(),
        repeats: None,
        parts: Parts::default(),
        chain: Chain::Oracle,
    };
    let cases = Cases::new(&check.subject, &check.workload, &check.convention)?;
    let mut reports = judge(&check, &cases)?;
    let reproducers = Reproducers::begin(&folder.join("findings"), "acceptance", None)?;
    let mut files = reproducers.write_all(&mut reports, None);
    // As they are named once the folder has taken its own name.
    for file in files.iter_mut().flatten().filter(|file| !file.is_empty()) {
        let name = Path::new(file).file_name().unwrap_or_default();
        *file = plan.out.join("findings").join(name).display().to_string();
    }
    Ok((Check { subject: name, reports, files }, cases.unread))
}

/// Counts every scene, and times it on every engine that has a clock and is no driver in software, whose
/// times say nothing of a GPU ('splatcheck sweep' takes them where they are asked for).
fn measure_all(
    acceptance: &mut Acceptance,
    plan: &AcceptancePlan,
    cases: Vec<Case>,
) -> Result<(), CliError> {
    let program = Program::find().map_err(CliError::of)?;
    let (software, engines): (Vec<_>, Vec<_>) =
        acceptance.discovery.found.iter().cloned().partition(|found| found.is_software());
    let mut lane_widths: Vec<u32> = engines.iter().map(|e| e.info.lane_width).collect();
    lane_widths.push(NVIDIA_LANES);
    lane_widths.sort_unstable();
    lane_widths.dedup();
    let reductions = RASTERIZE_BACKWARD.reductions().count() as u64;
    let bar =
        Progress::new("acceptance", "runs", cases.len() as u64 * engines.len() as u64 * reductions);
    // An engine that gave no times is not asked again.
    let mut silent: Vec<(String, EngineError)> = Vec::new();
    for case in cases.into_iter().take_while(|_| !interrupt::is_asked()) {
        let stage = RasterStage::new(&case, 0)
            .map_err(|error| CliError::new(format!("scene {}: {error}", case.name)))?;
        let mut scene = SceneReport::new(&case.name, &stage, &lane_widths).map_err(CliError::of)?;
        for found in engines.iter().take_while(|_| !interrupt::is_asked()) {
            let known = silent.iter().find(|(id, _)| *id == found.spec.id());
            let outcome = match known {
                Some((_, error)) => Err(error.clone()),
                None => times(found, &program, &stage, plan.size, &bar).inspect_err(|error| {
                    silent.push((found.spec.id().to_owned(), error.clone()));
                }),
            };
            let engine = found.spec.id().to_owned();
            scene.times.push(EngineTimes { engine, lane_width: found.info.lane_width, outcome });
        }
        acceptance.scenes.push(scene);
    }
    bar.finish_and_clear();
    note_software(acceptance, &software);
    note_silent(acceptance, &silent);
    Ok(())
}

/// Says which engines are not timed because they run on the processor.
fn note_software(acceptance: &mut Acceptance, software: &[Found]) {
    let names: Vec<_> = software.iter().map(|found| found.spec.id()).collect();
    if !names.is_empty() {
        let what = format!("times on {}: these run on the processor", names.join(", "));
        acceptance.not_exercised.push(what);
    }
}

/// Says which engines gave no times: those without a clock, and those that failed.
fn note_silent(acceptance: &mut Acceptance, silent: &[(String, EngineError)]) {
    let clockless = |error: &EngineError| matches!(error, EngineError::Missing { .. });
    let without: Vec<_> =
        silent.iter().filter(|(_, e)| clockless(e)).map(|(id, _)| id.as_str()).collect();
    if !without.is_empty() {
        let what = format!("times on {}: no clock that times one kernel", without.join(", "));
        acceptance.not_exercised.push(what);
    }
    for (id, error) in silent.iter().filter(|(_, error)| !clockless(error)) {
        acceptance.faults.push(format!("timing on {id}: {error}"));
    }
    if acceptance.scenes.iter().all(|scene| scene.times.iter().all(|t| t.outcome.is_err())) {
        let what = "speed against the paper's figure, and the floor: no GPU here has a clock";
        acceptance.not_exercised.push(what.to_owned());
    }
}

fn times(
    found: &Found,
    program: &Program,
    stage: &RasterStage,
    size: Size,
    bar: &ProgressBar,
) -> Result<Times, EngineError> {
    let mut engine = EngineProcess::start(found.spec.clone(), program.clone(), Limits::default())?;
    let width = found.info.lane_width;
    let mut settings = if size.quick { Setting::sweep(width) } else { Setting::all(width) };
    settings.retain(|setting| RASTERIZE_BACKWARD.reduces_by(setting.reduction));
    let inputs = stage.inputs.tensors().map_err(TensorError::from)?;
    measure(&mut engine, &inputs, &settings, size.repeats, &|| bar.inc(1))
}
