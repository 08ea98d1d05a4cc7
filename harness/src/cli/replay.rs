//! `splatcheck replay`: runs a reproducer again.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use splatcheck_gpu::{Reduction, Setting};

use super::command::{CasesLeftOut, CommandPlan, ProgramArgs};
use super::contender::contender;
use super::contract::Promise;
use super::exit::{CliError, Outcome, conclude};
use super::expect::{self, Noted};
use super::output::{OutputArgs, Progress};
use super::parts;
use super::wgsl::Started;
use super::{paths, replay_trace};
use crate::emulated::Recording;
use crate::manifest::WgslKernel;
use crate::user_kernel::Observe;
use crate::user_wgsl::{self, UserWgsl};
use splatcheck_emulator::WARP;
use splatcheck_gpu::Stage;
use splatcheck_judge::campaign::{
    Contender, EngineReport, Everything, Hooks, Item, as_it_is, run as run_campaign,
};
use splatcheck_judge::engines::command::{CommandId, CommandLine, Grants};
use splatcheck_judge::engines::repeated::Repeats;
use splatcheck_judge::engines::{Discovery, Emulation, Found, Limits, Program};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::Problem;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::report::reproducer::diagnosis;
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::workload::{AnyCase, CaseFile, Notes};
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::splat::contract::{Contract, Level};
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;
use splatcheck_workloads::splat::formulated::{as_noted, noted as formulation_of};
use splatcheck_workloads::splat::stage::{FORMULATED, STANDARD};
use splatcheck_workloads::splat::{chained, comparing, harmonics};

/// Options of `replay`, as typed.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// A reproducer that any command wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Use this engine instead of the one recorded, by its id or its family; repeatable
    #[arg(long, value_name = "ID", conflicts_with = "command")]
    pub engine: Vec<String>,
    /// Your program, where the reproducer was found with one.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// A checked `replay`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayPlan {
    /// A reproducer that can be opened.
    pub file: PathBuf,
    /// The engines that were named; `None` means the one in the reproducer.
    pub engines: Option<Vec<Found>>,
    /// Everything that discovery said: to look up the one in the reproducer.
    pub discovery: Discovery,
    /// The program that was named, and what it is granted.
    pub program: Option<(CommandLine, Grants)>,
    /// What each engine's process is granted.
    pub limits: Limits,
    /// How much is printed.
    pub detail: Detail,
}

impl ReplayArgs {
    /// Checks every option, against the engines of this machine.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self, discovery: &Discovery) -> Result<ReplayPlan, CliError> {
        paths::expect_extension("replay", &self.file, &EXTENSIONS)?;
        let file = paths::readable_file("replay", &self.file)?;
        let engines = if self.engine.is_empty() {
            None
        } else {
            Some(discovery.select(&self.engine).map_err(CliError::of)?)
        };
        let grants = self.program.grants();
        let limits = self.program.limits();
        let program = self.program.command.map(|line| (line, grants));
        let detail = self.shown.detail();
        Ok(ReplayPlan { file, engines, discovery: discovery.clone(), program, limits, detail })
    }
}

/// What a reproducer recorded besides the case.
#[derive(Debug, PartialEq)]
struct Recorded {
    engine: Option<String>,
    camera: usize,
    /// The stage; a plain case names none, and all are run.
    stage: Option<Stage>,
    /// The setting of a backward stage; where none was recorded, all are run.
    setting: Option<Setting>,
}

impl Recorded {
    fn new(extra: &BTreeMap<String, String>) -> Result<Self, CliError> {
        fn parse<T: FromStr>(
            extra: &BTreeMap<String, String>,
            key: &str,
        ) -> Result<Option<T>, CliError>
        where
            T::Err: std::fmt::Display,
        {
            let Some(text) = extra.get(&format!("splatcheck.{key}")) else { return Ok(None) };
            let value = text.parse().map_err(|error| {
                CliError::new(format!("metadata splatcheck.{key} = '{text}': {error}"))
            })?;
            Ok(Some(value))
        }
        let reduction: Option<Reduction> = parse(extra, "reduction")?;
        let threshold = parse(extra, "threshold")?.unwrap_or(0);
        Ok(Self {
            engine: parse(extra, "engine")?,
            camera: parse(extra, "camera")?.unwrap_or(0),
            stage: parse(extra, "stage")?,
            setting: reduction.map(|reduction| Setting { reduction, threshold }),
        })
    }

    /// The same run by a kernel of ours. A backward rasterization is by those of the recorded formulation if they
    /// add up so, else by the standard one.
    fn of_ours(self, formulation: Formulation) -> Self {
        let settings = self.setting.as_slice();
        let is = |(stage, own): &(Stage, Formulation)| {
            *own == formulation && !stage.settings(settings).is_empty()
        };
        let backward = |stage| {
            let mut all = [STANDARD].into_iter().chain(FORMULATED);
            all.any(|(known, _)| known == stage)
        };
        let stage = match self.stage {
            Some(stage) if formulation != Formulation::STANDARD && backward(stage) => {
                Some(FORMULATED.into_iter().find(is).unwrap_or(STANDARD).0)
            }
            other => other,
        };
        Self { stage, ..self }
    }

    /// The engines to run on: those that were named, else the recorded one, else all.
    fn engines(&self, plan: &ReplayPlan) -> Result<Vec<Found>, CliError> {
        if let Some(engines) = &plan.engines {
            return Ok(engines.clone());
        }
        let emulation: Option<Emulation> = self.engine.as_ref().and_then(|id| id.parse().ok());
        let name = match emulation {
            Some(emulation) => Some(emulation.family()),
            None => self.engine.clone(),
        };
        let names: Vec<String> = name.into_iter().collect();
        let mut engines = plan.discovery.select(&names).map_err(|error| {
            CliError::new(format!(
                "the reproducer's engine is not available here: {error}; --engine names another"
            ))
        })?;
        // What was recorded is an id, not a family: 'cuda' does not mean 'cuda-fast'.
        if let Some(id) = names.first()
            && engines.iter().any(|found| found.spec.id() == *id)
        {
            engines.retain(|found| found.spec.id() == *id);
        }
        if let Some(emulation) = emulation {
            engines = engines.iter().map(|found| found.emulating(emulation)).collect();
        }
        Ok(engines)
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &ReplayPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let CaseFile { case, notes } = splatcheck_workloads::read_case(&plan.file)
        .map_err(|error| CliError::caused("cannot read the reproducer", error))?;
    let recorded = Recorded::new(&notes)?;
    if let Some((line, grants)) = &plan.program {
        let command = recorded.program(line.clone(), *grants, &notes)?;
        let repeats = Noted::new(&notes)?.map(|noted| noted.repeats);
        return recorded.run_program((&command, repeats.as_ref()), &case, (plan, &notes), out);
    }
    if plan.engines.is_none()
        && let Some(Ok(id)) = recorded.engine.as_ref().map(|id| id.parse::<CommandId>())
    {
        return Err(CliError::new(format!(
            "{}: was found with a program ({id}): give it with --command, or name an engine with \
             --engine to run a kernel of ours on the same case",
            plan.file.display()
        )));
    }
    let bad = |problem: Problem| {
        CliError::caused("cannot read the reproducer", problem.in_file(&plan.file))
    };
    let noted = Noted::new(&notes)?;
    let wgsl = user_wgsl::of_notes(&notes).map_err(bad)?;
    let users = wgsl.is_some() || noted.as_ref().is_some_and(|noted| noted.kernel.is_some());
    // A kernel of ours is judged as what it is, and not as the program that the finding is of.
    let (case, recorded) = if users || plan.engines.is_none() {
        let case = as_noted(case, &notes).map_err(CliError::of)?;
        let case = harmonics::as_noted(case, recorded.stage);
        (comparing::as_noted(case, &notes).map_err(bad)?, recorded)
    } else {
        let formulation = formulation_of(&notes).map_err(CliError::of)?;
        (case, recorded.of_ours(formulation))
    };
    if recorded.camera >= case.views() {
        return Err(CliError::new(format!(
            "{}: splatcheck.camera is {} but the case has {} camera(s)",
            plan.file.display(),
            recorded.camera,
            case.views()
        )));
    }
    if let Some(program) = wgsl {
        return recorded.run_wgsl(program, case, (plan, &notes), out);
    }
    let case = chained::as_noted(case, recorded.camera, &notes).map_err(bad)?;
    let recording = Recording::of_notes(&notes).map_err(bad)?;
    if let Some(recording) = recording.filter(|_| plan.engines.is_none()) {
        let item = Item::new(case, recorded.camera).map_err(CliError::of)?;
        let run = recorded.run(&item, recording.kernel.is_some())?;
        let told = diagnosis(&notes);
        return replay_trace::run((&recording, told), run, &item, out);
    }
    let program = Program::find().map_err(CliError::of)?;
    let granted = (&program, plan.limits);
    let several = parts::of_notes(&notes)?;
    let kernel = noted.as_ref().and_then(|noted| noted.kernel.as_ref());
    let not_sought = kernel.and_then(|kernel| kernel.observe.not_sought());
    let contenders = recorded
        .engines(plan)?
        .iter()
        .map(|found| match &noted {
            None => recorded.contender(found, granted),
            Some(noted) => recorded.repeated(found, granted, noted, &case),
        })
        .map(|contender| Ok(parts::contender(several, contender?)))
        .collect::<Result<Vec<_>, CliError>>()?;
    if contenders.is_empty() {
        return Err(CliError::new("no engine on this machine: 'splatcheck devices' says why"));
    }
    let reports = run_again(plan, (case, recorded.camera), contenders)?;
    conclude_replay(&reports, not_sought, (plan, &notes), out)
}

/// Runs the recorded case, and says how far it is.
fn run_again(
    plan: &ReplayPlan,
    (case, camera): (AnyCase, usize),
    contenders: Vec<Contender<'_>>,
) -> Result<Vec<EngineReport>, CliError> {
    let runs = contenders.iter().map(|one| one.runs(case.as_ref(), &Everything)).sum();
    let bar = Progress::of_runs(plan.detail, "replay", runs);
    let progress = |runs| bar.inc(runs);
    let hooks = Hooks::new(&as_it_is).observed(&progress);
    let reports = run_campaign([(case, camera)].into_iter(), contenders, hooks);
    bar.finish_and_clear();
    reports.map_err(CliError::of)
}

/// Shows what came of it.
fn conclude_replay(
    reports: &[EngineReport],
    not_sought: Option<String>,
    (plan, notes): (&ReplayPlan, &Notes),
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let file = plan.file.display().to_string();
    let files: Vec<_> = reports.iter().map(|r| vec![file.clone(); r.findings.len()]).collect();
    let told = diagnosis(notes).map(|told| format!("when it was found: {told}"));
    let notes: Vec<_> = told.into_iter().collect();
    let not_sought = not_sought.as_deref();
    let report = Report { notes: &notes, not_sought, ..Report::new(reports, &[], &files) };
    out.write_all(report.text(plan.detail).as_bytes())?;
    out.flush()?;
    conclude(&Evidence::new(reports, &[]))
}

impl Recorded {
    /// The program that a finding was made with, as what it was judged.
    fn program(
        &self,
        line: CommandLine,
        grants: Grants,
        notes: &Notes,
    ) -> Result<CommandPlan, CliError> {
        let formulation = formulation_of(notes).map_err(CliError::of)?;
        let level = match self.stage {
            None => Level::default(),
            Some(stage) => Level::of(stage).ok_or_else(|| {
                CliError::new(format!(
                    "splatcheck.stage is {stage}, which no program stands in for"
                ))
            })?,
        };
        let id = self.engine.as_ref().and_then(|id| id.parse().ok());
        let CommandId(arithmetic) = id.unwrap_or(CommandId(Arithmetic::Cuda));
        let preset = Preset::noted(notes)
            .map_err(|problem| CliError::new(format!("the reproducer: {problem}")))?;
        let contract = match &preset {
            None => Contract::new(level, formulation),
            Some(preset) => Contract::noted(preset, level, formulation),
        };
        let contract = contract.map_err(CliError::of)?;
        let promise = Promise::noted(contract, arithmetic);
        let not_for = CasesLeftOut::default();
        Ok(CommandPlan { line, promise, grants, processes: 1, not_for })
    }

    /// Makes the recorded run again with a program, as often as was recorded.
    fn run_program(
        &self,
        (command, repeats): (&CommandPlan, Option<&Repeats>),
        case: &AnyCase,
        recorded: (&ReplayPlan, &Notes),
        out: &mut dyn Write,
    ) -> Result<Outcome, CliError> {
        // That there is such a camera.
        let promise = &command.promise;
        promise.contract.job(case, self.camera).map_err(CliError::of)?;
        let case = promise.contract.case(case).map_err(CliError::of)?;
        let mut started = command.start()?;
        let contender = started.contender(promise, repeats);
        let contender = parts::contender(parts::of_notes(recorded.1)?, contender);
        let mut reports = run_again(recorded.0, (case, self.camera), vec![contender])?;
        command.ran(&mut reports, &started)?;
        command.tell(&mut reports);
        writeln!(out, "{command}\n")?;
        conclude_replay(&reports, None, recorded, out)
    }

    /// Makes the recorded run again with the user's program in WGSL that it was found with.
    fn run_wgsl(
        &self,
        (kernel, observe): (Arc<WgslKernel>, Observe),
        case: AnyCase,
        (plan, notes): (&ReplayPlan, &Notes),
        out: &mut dyn Write,
    ) -> Result<Outcome, CliError> {
        let stage = self.stage.ok_or_else(|| CliError::new("splatcheck.stage is missing"))?;
        let engines = self.engines(plan)?;
        if let Some(other) = engines.iter().find(|found| !found.runs_wgsl()) {
            return Err(CliError::new(format!(
                "--engine {}: the reproducer's kernel is WGSL: name an engine of wgpu or wgsl-emulator",
                other.spec.id()
            )));
        }
        let no_files = |error| CliError::caused("no temporary folder", error);
        let user = UserWgsl::new(kernel, observe).map_err(no_files)?;
        let repeats = Noted::new(notes)?.map(|noted| noted.repeats);
        let start = |found| Started::new(&user, found, (Limits::default(), 1), repeats.as_ref());
        let mut engines = engines.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        // Where nothing is added up it is not asked for.
        let any_order = Setting { reduction: Reduction::BASELINE, threshold: 0 };
        let setting = self.setting.unwrap_or(any_order);
        let contenders = engines.iter_mut().map(|engine| engine.contender((stage, setting)));
        let reports = run_again(plan, (case, self.camera), contenders.collect())?;
        conclude_replay(&reports, observe.not_sought(), (plan, notes), out)
    }

    /// The one run that a trace was recorded of. A user's `own` kernel has the reduction that it was
    /// judged by, which need not be one of ours.
    fn run(&self, item: &Item, own: bool) -> Result<(Stage, Option<Setting>), CliError> {
        let stage = self.stage.ok_or_else(|| CliError::new("splatcheck.stage is missing"))?;
        if item.job(stage).is_none() {
            let camera = self.camera;
            return Err(CliError::new(format!("camera {camera} has no stage {stage} of its own")));
        }
        let settings: Vec<Setting> = self.setting.into_iter().collect();
        for setting in &settings {
            setting.check(WARP).map_err(|e| CliError::new(format!("the reproducer: {e}")))?;
        }
        if own && stage.accumulates() && self.setting.is_some() {
            return Ok((stage, self.setting));
        }
        let setting = stage.settings(&settings).first().copied();
        let setting = setting.ok_or_else(|| {
            CliError::new(format!("splatcheck.reduction is missing, or none of stage {stage}"))
        })?;
        Ok((stage, setting))
    }

    /// The recorded setting; all of them for a plain case.
    fn settings(&self, found: &Found) -> Result<Vec<Setting>, CliError> {
        let width = found.info.lane_width;
        let Some(setting) = self.setting else { return Ok(Setting::sweep(width)) };
        let failed = |error| CliError::new(format!("engine {}: {error}", found.spec.id()));
        Ok(vec![setting.check(width).map_err(failed)?])
    }

    /// An engine that makes the recorded run as often and in the orders that gave other bits.
    fn repeated(
        &self,
        found: &Found,
        granted: (&Program, Limits),
        noted: &Noted,
        case: &AnyCase,
    ) -> Result<Contender<'static>, CliError> {
        let settings = self.settings(found)?;
        let mut contender = expect::contender(found, granted, settings, &noted.repeats)?;
        if let (Some(kernel), Some(emulation)) = (&noted.kernel, found.emulation()) {
            let item = Item::new(Arc::clone(case), self.camera).map_err(CliError::of)?;
            let (stage, setting) = self.run(&item, true)?;
            let reduction = setting.map(|setting| setting.reduction);
            let own = |emulation: Emulation| kernel.open(emulation.options(), (stage, reduction));
            contender.engine = Box::new(expect::emulator(emulation, &noted.repeats, own)?);
        }
        self.only_its_stage(&mut contender);
        Ok(contender)
    }

    /// An engine with the recorded stage and setting; with all of them for a plain case.
    fn contender(
        &self,
        found: &Found,
        granted: (&Program, Limits),
    ) -> Result<Contender<'static>, CliError> {
        let mut contender = contender(found, granted, self.settings(found)?)?;
        self.only_its_stage(&mut contender);
        Ok(contender)
    }

    fn only_its_stage(&self, contender: &mut Contender<'_>) {
        if let Some(stage) = self.stage {
            contender.stages = vec![stage];
        }
    }
}
