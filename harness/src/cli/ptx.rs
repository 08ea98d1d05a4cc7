//! `splatcheck ptx`: judges a user's own kernel, of the backward rasterization or of its manifest's stage.

mod interface;
mod judged_as;
mod observe;
mod read;
mod save;
mod subject;

pub use judged_as::{JudgedAs, Reduced};
pub use read::heading;
pub(super) use read::read_kernel;
pub(super) use read::read_manifest;
pub(super) use subject::{For, OneStage};
pub use subject::{Subject, SubjectArgs};

use std::io::Write;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use splatcheck_emulator::WARP;
use splatcheck_gpu::emulator::Noted;
use splatcheck_gpu::{Engine, EngineError, Reduction, Setting, Stage};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;

use super::chain::ChainArgs;
use super::command::seconds;
use super::compiler::CompilerArgs;
use super::exit::{CliError, Outcome};
use super::expect::{self, ExpectArgs};
use super::formulation::{Asked, Judging, Trial, asked, grouping, judge_in};
use super::gate::{GateArgs, GatePlan};
use super::number::positive;
use super::output::{OutputArgs, Progress};
use super::reproducer::Reproducers;
use super::schedule::ScheduleArgs;
use super::trials::Trials;
use super::{paths, provenance};
use crate::manifest::Manifest;
use crate::user_kernel::{KernelLimits, Observe, UserKernel, UserProgram};
use splatcheck_judge::campaign::merge::join_seeds;
use splatcheck_judge::campaign::{Contender, EngineReport, Item};
use splatcheck_judge::engines::repeated::Repeats;
use splatcheck_judge::engines::{Emulation, Order, Team};
use splatcheck_judge::gate::{Evidence, sarif};
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::threads::{self, Pool};
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::words::folder_name;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::formulated::described;

/// What is said where nothing describes the kernel's parameters.
const NO_ARRAYS: &str = "say which arrays your kernel takes: --manifest FILE.toml (docs/src/manifests.md). A kernel \
                         with the parameters that 'splatcheck ptx --help' lists needs --kernel NAME alone";

/// Options of `ptx`, as typed.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = interface::INTERFACE)]
pub struct PtxArgs {
    /// The program, as nvcc --ptx or NVRTC writes it, or a .cu file that nvcc compiles now
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its entry point, with the parameters that are listed below
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// How to launch a kernel with parameters of its own (.toml; see below)
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub manifest: Option<PathBuf>,
    /// What it is run on.
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Run it without an oracle and look for races, barriers that threads miss, wrong masks, values
    /// that were never written and accesses out of bounds; with a manifest also without a case
    #[arg(long, conflicts_with_all = ["formulation", "extra_roundings", "expect", "reduction"])]
    pub observe_only: bool,
    /// What ends a run: with 'races=off' a data race does not, and the values are judged all the same; with
    /// 'inputs=off' a write to an input does not; with 'bounds=off' an access of global memory out of bounds
    /// does not: it reads a number that was never written ('races=off,inputs=off' for both)
    #[arg(long, value_name = "WHAT=off")]
    pub observe: Option<Observe>,
    /// Make the launches of every run this many times, one after another in one process, and judge the last:
    /// a module's variables keep their values [default: 1, and 2 where that leaves a variable changed]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(Emulation::MOST_LAUNCHES)))]
    pub launches: Option<u32>,
    /// Give a run up as one that never ends after this time, in seconds of the processor's time
    #[arg(long, value_name = "SECONDS", default_value = "60", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Duration,
    /// Give it up after so many warp instructions [default: by the size of a case, 16 million and more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub instructions: Option<u64>,
    /// As what it is judged.
    #[command(flatten)]
    pub judged: JudgedAs,
    /// The expression that it computes alpha's gradient by: a project (3dgs, gsplat-1.5, gsplat-main,
    /// brush, fastgs, taichi, slang), fields as in 'buffer,final_t=one-minus-alpha', or 'any'. It decides
    /// which parameters the kernel has [default: as the manifest says, else 3dgs]
    #[arg(long, value_name = "NAME", value_parser = asked)]
    pub formulation: Option<Asked>,
    /// How often your source rounds a term on its way into an intermediate of that expression, where it
    /// spells them otherwise (completed squares, a reciprocal for a division, other orders of a sum): 0
    /// to 64, counted in the source [default: as the formulation states, 0 for all of them today]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
    /// In which orders it runs.
    #[command(flatten)]
    pub order: ScheduleArgs,
    /// What is demanded besides the bounds.
    #[command(flatten)]
    pub expect: ExpectArgs,
    /// Whose forward pass it goes on from.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// Runs at once [default: one for each core]
    #[arg(long, value_name = "J", allow_negative_numbers = true, value_parser = positive::<NonZeroU16>)]
    pub jobs: Option<NonZeroU16>,
    /// Write the first case: its inputs, what the kernel makes of them in f32, and what is exact in f64, without
    /// an oracle the first two (.safetensors)
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Folder for reproducers, which have a folder of the kernel's name there
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// What stops the build, and the files that CI systems read.
    #[command(flatten)]
    pub gate: GateArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
    /// How a .cu file is compiled.
    #[command(flatten)]
    pub compiler: CompilerArgs,
}

/// A checked `ptx`.
#[derive(Clone, Debug)]
pub struct PtxPlan {
    /// The program's file, for messages.
    pub file: PathBuf,
    /// A kernel that fits its interface or manifest.
    pub kernel: UserKernel,
    /// What it is run on.
    pub subject: Subject,
    /// Whether nothing is judged.
    pub observe_only: bool,
    /// What it is judged as, with its threshold; `atomic` for sums in any order.
    pub setting: Setting,
    /// Whether the reduction was named.
    pub named: bool,
    /// Which expressions are accepted.
    pub formulation: Asked,
    /// Roundings of its intermediates, in place of the formulation's own.
    pub extra_roundings: Option<ExtraRoundings>,
    /// How it runs, once for each.
    pub emulations: Vec<Emulation>,
    /// Whether the number of launches was typed.
    pub launches_given: bool,
    /// How often every run is made, where equal bits are demanded; then there is one emulation.
    pub repeats: Option<Repeats>,
    /// Runs at once.
    pub jobs: usize,
    /// Where the first case goes.
    pub save: Option<PathBuf>,
    /// Folder for reproducers.
    pub out: PathBuf,
    /// What stops the build.
    pub gate: GatePlan,
    /// How much is printed.
    pub detail: Detail,
}

impl PtxArgs {
    /// Checks every option, the program and the cases.
    ///
    /// # Errors
    /// The first that cannot be followed: what in the program does not fit, and where.
    pub fn resolve(self) -> Result<PtxPlan, CliError> {
        self.chain.without_forward()?;
        let mut kernel = self.kernel()?;
        kernel.observe = self.observe.unwrap_or_default();
        kernel.limits = KernelLimits { time: self.timeout, instructions: self.instructions };
        let formulation = self.formulation_of(&kernel);
        if let Some(manifest) = kernel.manifest() {
            let typed = (self.formulation.is_some(), self.extra_roundings.is_some());
            without_formulations(manifest, typed)?;
            if self.judged.reduced.reduction.is_some() {
                adds_up(manifest)?;
            }
        }
        if !self.observe_only {
            fits(&kernel, formulation)?;
        }
        let without_a_case = self.observe_only && kernel.manifest().is_some();
        let channels = kernel.manifest().and_then(|manifest| manifest.channels);
        let channels = self.subject.channels.or(channels);
        let subject = match self.subject.is_given() || !without_a_case {
            true => {
                let wanted = For::kernel_of(kernel.manifest());
                SubjectArgs { channels, ..self.subject }.resolve(wanted)?
            }
            false => Subject::none()?,
        };
        let setting = self.judged.reduced.setting(WARP)?;
        let emulation = |order: Order| Emulation {
            fast_math: self.judged.fast_math,
            wgsl_lanes: None,
            launches: self.launches.unwrap_or(1),
            order,
        };
        let repeats = self.expect.resolve(self.order)?;
        let orders = match &repeats {
            Some(_) => vec![Order::Lockstep],
            None => self.order.orders()?,
        };
        if self.save.is_some() && subject.count() == 0 {
            return Err(CliError::new(
                "--save: there is no case, so no inputs: give one with --case",
            ));
        }
        let save = self.save.map(|file| paths::writable_file("--save", &file, "safetensors"));
        let cores = threads::cores();
        let run =
            provenance::of_ptx(&kernel, (&self.file, self.manifest.as_deref()), subject.seed());
        let out = paths::folder_to_name("--out", &self.out)?;
        Ok(PtxPlan {
            out: out.join(folder_name(&run.subject)),
            gate: self.gate.resolve()?.of(run),
            file: self.file,
            save: save.transpose()?,
            subject,
            observe_only: self.observe_only,
            setting,
            named: self.judged.reduced.reduction.is_some(),
            formulation,
            extra_roundings: roundings(kernel.manifest(), self.extra_roundings)?,
            kernel,
            emulations: orders.into_iter().map(emulation).collect(),
            launches_given: self.launches.is_some(),
            repeats,
            jobs: self.jobs.map_or(cores, |jobs| usize::from(jobs.get())),
            detail: self.shown.detail(),
        })
    }

    /// The kernel with its manifest, or with the parameters of the formulation.
    fn kernel(&self) -> Result<UserKernel, CliError> {
        let (compiler, fast_math) = (self.compiler.clone(), self.judged.fast_math);
        if let Some(manifest) = &self.manifest {
            return read_manifest(&self.file, manifest, (compiler, fast_math));
        }
        let compiler = compiler.of([&*self.file].into_iter(), Some(fast_math))?;
        let entry = self.kernel.clone().ok_or_else(|| CliError::new(NO_ARRAYS))?;
        let asked = self.formulation.unwrap_or_default();
        read_kernel(("ptx", &self.file), &compiler, entry, &asked.interfaces())
            .map(UserKernel::from)
    }

    fn formulation_of(&self, kernel: &UserKernel) -> Asked {
        let written = kernel.manifest().and_then(|manifest| manifest.formulation);
        self.formulation.or(written.map(Asked::One)).unwrap_or_default()
    }
}

impl PtxPlan {
    /// How it runs once more where a launch leaves a variable of its module changed, if nobody says how often
    /// it is launched: as in a process that launches it twice.
    fn again(&self, noted: &Noted) -> Vec<Emulation> {
        if self.launches_given || !noted.has_changed_variables() {
            return Vec::new();
        }
        self.emulations.iter().map(|&one| Emulation { launches: 2, ..one }).collect()
    }

    /// As how the kernel adds up in a stage, where that has reductions.
    fn reduction_of(&self, stage: Stage) -> Option<Reduction> {
        stage.accumulates().then_some(self.setting.reduction)
    }
}

/// Refuses a formulation, or extra roundings, of a stage that has none.
pub(super) fn without_formulations(
    manifest: &Manifest,
    (formulation, extra): (bool, bool),
) -> Result<(), CliError> {
    let option = match (formulation, extra) {
        (true, _) => "--formulation",
        (false, true) => "--extra-roundings",
        (false, false) => return Ok(()),
    };
    if manifest.kind.has_formulations() {
        return Ok(());
    }
    let stage = manifest.kind.name();
    Err(CliError::new(format!(
        "{option}: the manifest is of stage {stage}, and only rasterize_backward has formulations: leave \
         the option out"
    )))
}

/// Refuses a reduction of a stage that adds nothing up.
pub(super) fn adds_up(manifest: &Manifest) -> Result<(), CliError> {
    let stage = manifest.stage(Formulation::STANDARD);
    if stage.accumulates() {
        return Ok(());
    }
    Err(CliError::new(format!(
        "--reduction: the manifest is of stage {stage}, which adds nothing up: leave the option out"
    )))
}

/// Whether a kernel with a manifest can be judged in the formulation, and has all outputs.
fn fits(kernel: &UserKernel, asked: Asked) -> Result<(), CliError> {
    kernel.manifest().map_or(Ok(()), |manifest| manifest_fits(manifest, asked))
}

/// Whether a manifest has all outputs, and no array that the formulation is not given; of several, that
/// some is given them.
pub(super) fn manifest_fits(manifest: &Manifest, asked: Asked) -> Result<(), CliError> {
    let formulation = match asked {
        Asked::One(formulation) => Some(formulation),
        Asked::Any if Formulation::all().any(|one| manifest.not_of(one).is_none()) => None,
        Asked::Any => Some(Formulation::STANDARD),
    };
    let formulation = formulation.filter(|_| manifest.kind.has_formulations());
    let wrong = manifest.not_judged().or_else(|| manifest.not_of(formulation?));
    let Some(problem) = wrong else { return Ok(()) };
    let line = problem.line.map_or_else(String::new, |line| format!(" line {line}"));
    Err(CliError::new(format!("the manifest{line}: {problem}")))
}

/// The roundings of a kernel's intermediates: those that were typed, or its manifest's, and those of its
/// units.
pub(super) fn roundings(
    manifest: Option<&Manifest>,
    typed: Option<ExtraRoundings>,
) -> Result<Option<ExtraRoundings>, CliError> {
    let Some(manifest) = manifest else { return Ok(typed) };
    let counted = typed.or(manifest.extra_roundings);
    match manifest.roundings_of_units() {
        0 => Ok(counted),
        more => {
            let sum = counted.unwrap_or_default().count().saturating_add(more);
            let many = || {
                CliError::new(format!(
                    "--extra-roundings: {more} more for units = \"ndc\" or a folded background are {sum}, above {}: give fewer",
                    ExtraRoundings::MOST
                ))
            };
            ExtraRoundings::new(sum).map(Some).ok_or_else(many)
        }
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &PtxPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let pool = Pool::of(plan.jobs);
    if plan.observe_only {
        return observe::run(plan, &pool, out);
    }
    let reproducers = Reproducers::begin(&plan.out, "ptx", plan.subject.reads())?;
    let runs = plan.subject.runs(plan.kernel.stage(plan.formulation.first()))
        * plan.emulations.len() as u64;
    let bar = Progress::of_runs(plan.detail, "ptx", runs);
    let (asked, extra) = (&plan.formulation, plan.extra_roundings);
    let mut judged = judge_in(Judging::User(&plan.kernel), asked, extra, |formulation, trial| {
        pool.install(|| Run::new(plan, formulation).judge(trial, &|runs| bar.inc(runs)))
    })?;
    bar.finish_and_clear();
    if let Some(file) = &plan.save {
        save::judged(&Run::new(plan, judged.formulation), file)?;
    }
    judged.diagnose();
    let mut reports = join_seeds(judged.reports);
    let files = reproducers.write_all(&mut reports, Some(&plan.kernel));
    sarif::name_program(&mut reports, &plan.file.display().to_string());
    let stage = plan.kernel.stage(judged.formulation);
    let setting = stage.accumulates().then_some(plan.setting);
    let heading = heading(&plan.kernel.to_string(), &plan.file, (stage, setting), plan.named);
    let formulation = match plan.kernel.has_formulations() {
        true => format!("; formulation {}", described(judged.formulation)),
        false => String::new(),
    };
    let heading = format!("{heading}{formulation}; chain oracle");
    let grouping = grouping(plan.kernel.has_formulations()).to_owned();
    let not_sought = plan.kernel.observe.not_sought();
    let about: Vec<_> = [heading, grouping]
        .into_iter()
        .chain(plan.repeats.as_ref().map(expect::described))
        .collect();
    let outputs = plan.kernel.manifest().and_then(Manifest::left_out_in_words);
    let notes: Vec<_> =
        judged.others.into_iter().chain(outputs).chain(plan.subject.not_judged()).collect();
    let gaps = plan.subject.gaps();
    let report = Report {
        about: &about,
        notes: &notes,
        gaps: &gaps,
        not_sought: not_sought.as_deref(),
        ..Report::new(&reports, &[], &files)
    };
    out.write_all(report.text(plan.detail).as_bytes())?;
    let evidence = Evidence { gaps, ..Evidence::new(&reports, &[]) };
    let about: Vec<_> = about.into_iter().chain(not_sought).collect();
    plan.gate.told(&about, &notes).conclude(&evidence, &files, out)
}

/// All cases under one formulation.
struct Run<'p> {
    plan: &'p PtxPlan,
    formulation: Formulation,
    stage: Stage,
}

impl<'p> Run<'p> {
    fn new(plan: &'p PtxPlan, formulation: Formulation) -> Self {
        Self { plan, formulation, stage: plan.kernel.stage(formulation) }
    }

    fn judge(
        &self,
        trial: Trial<'_>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<EngineReport>, CliError> {
        let judged =
            |case: &AnyCase| self.plan.kernel.judged(case, self.formulation).map_err(CliError::of);
        let (subject, stage) = (&self.plan.subject, self.stage);
        let trials = Trials { subject, stage, trial, judged: &judged };
        if let Some(first) = trials.first()? {
            self.evaluates(&first)?;
        }
        let noted = Noted::default();
        let judged = |emulations: &[Emulation]| {
            let mut reports = Vec::new();
            for emulations in emulations.chunks(self.plan.jobs) {
                let contenders = emulations
                    .iter()
                    .map(|&emulation| self.contender(emulation, &noted, emulations.len()))
                    .collect::<Result<Vec<_>, _>>()?;
                reports.extend(trials.run(contenders, progress)?);
            }
            Ok::<_, CliError>(reports)
        };
        let mut reports = judged(&self.plan.emulations)?;
        // What fails at once would fail again.
        if EngineReport::worst(&reports) != Verdict::Disagree {
            reports.extend(judged(&self.plan.again(&noted))?);
        }
        Ok(reports)
    }

    /// Whether the manifest's expressions have values on a case, which is its author's to mend, and no
    /// finding.
    fn evaluates(&self, item: &Item) -> Result<(), CliError> {
        let UserProgram::Manifest(kernel) = &self.plan.kernel.program else { return Ok(()) };
        let Some(job) = item.job(self.stage) else { return Ok(()) };
        let symbols = kernel.manifest().symbols(&job.inputs).map_err(CliError::of)?;
        kernel.evaluate(&symbols, &job.inputs).map(drop).map_err(CliError::of)
    }

    /// The emulator with the kernel: one engine of those that run at the same time, with its share of the
    /// threads.
    fn contender(
        &self,
        emulation: Emulation,
        noted: &Noted,
        of: usize,
    ) -> Result<Contender<'static>, CliError> {
        let Self { plan, stage, .. } = *self;
        let run = (stage, plan.reduction_of(stage));
        let failed = |error: EngineError| CliError::caused(format!("engine {emulation}"), error);
        let open = |emulation: Emulation| {
            let mut engine = plan.kernel.open(emulation.options(), run)?;
            engine.share(noted.clone());
            Ok(engine)
        };
        let one = || -> Result<Box<dyn Engine + Send>, CliError> {
            match &plan.repeats {
                Some(repeats) => Ok(Box::new(expect::emulator(emulation, repeats, open)?)),
                None => Ok(Box::new(open(emulation).map_err(failed)?)),
            }
        };
        // A team for one case would only be opened in vain.
        let members = if plan.subject.count() > 1 { (plan.jobs / of).max(1) } else { 1 };
        Ok(Contender {
            id: emulation.to_string(),
            emulation: Some(emulation),
            engine: Team::of(members, one)?,
            stages: vec![stage],
            settings: vec![plan.setting],
        })
    }
}
