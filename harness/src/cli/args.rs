//! What was typed, and the checked plans that it resolves to.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_reference::splat::convention::{Convention, Profile};

use super::acceptance::AcceptanceArgs;
use super::chain::{ChainArgs, ChainName};
use super::command::{CommandArgs, CommandPlan};
use super::exit::CliError;
use super::expect::ExpectArgs;
use super::gate::{GateArgs, GatePlan};
use super::output::OutputArgs;
use super::paths;
use super::ptx::PtxArgs;
use super::schedule::ScheduleArgs;
use super::schedules::SchedulesArgs;
use crate::campaign::Chain;
use crate::engines::repeated::Repeats;
use crate::engines::{Discovery, Found, Limits};
use crate::report::Detail;
use crate::workload::Workload;
use crate::workloads::splat::files::corpus::EXTENSIONS;
use crate::workloads::{self, UnknownWorkload};

mod generated;
mod mutants;
mod oracle;
mod scene;
mod subject;

pub use generated::{GeneratedPlan, OwnArgs, OwnPlan};
pub use mutants::{MutantsArgs, MutantsPlan};
pub use oracle::{OracleArgs, OraclePlan, ScalarName};
pub(super) use scene::resolve_scene;
pub use scene::{SceneArgs, ScenePlan};
pub use subject::Subject;

/// Judges the gradient kernels of 3D Gaussian splatting against an oracle.
#[derive(Clone, Debug, Parser)]
#[command(name = "splatcheck", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "Exit code: 0 agree, 1 disagree (or what --fail-on names), 2 error.")]
pub struct Cli {
    /// The subcommand; none means `check`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `check`, when no subcommand is given.
    #[command(flatten)]
    pub check: CheckArgs,
}

/// A subcommand.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Judge every kernel on every engine (what splatcheck does without a subcommand)
    Check(Box<CheckArgs>),
    /// Do everything that this machine allows and write one report folder
    #[command(hide = true)]
    Acceptance(AcceptanceArgs),
    /// Write cases as files, for a program that cannot be asked for them
    Cases(super::cases::CasesArgs),
    /// Show which instructions and branches of the CUDA kernels the cases do not reach
    #[command(hide = true)]
    Coverage(super::coverage::CoverageArgs),
    /// Show the engines of this machine and why others are missing
    Devices,
    /// Print how accurate each expression of the backward stage is, bound and f32 error
    #[command(hide = true)]
    Formulations(super::formulations::FormulationsArgs),
    /// Judge a file of results that a program made of a case
    Judge(super::judge::JudgeArgs),
    /// Write the oracle's images and gradients of a case
    Oracle(OracleArgs),
    /// Write the oracle's image of a trained scene
    Render(RenderArgs),
    /// Run a reproducer again
    Replay(super::replay::ReplayArgs),
    /// Write a run as one HTML file: verdict, findings with pictures, maps and charts
    Report(super::report::ReportArgs),
    /// Judge your own CUDA kernel, as PTX, on the emulator
    Ptx(Box<PtxArgs>),
    /// Judge your own WGSL kernel on every engine of wgpu
    Wgsl(Box<super::wgsl::WgslArgs>),
    /// Count what the reductions send to memory, of splats and of grid encodings
    Traffic(super::traffic::TrafficArgs),
    /// Show which threshold is best: atomics, modelled and measured time, error / bound
    Sweep(super::sweep::SweepArgs),
    /// Fit Gaussians to a picture or a scene with each kernel's gradients, PSNR by step
    Train(super::train::TrainArgs),
    /// Judge every CUDA kernel on the emulator under many schedules
    #[command(hide = true)]
    Schedules(SchedulesArgs),
    /// Run kernels made wrong on purpose and say what kills them
    Mutants(Box<MutantsArgs>),
    /// Judge generated cases until time is up
    Fuzz(Box<super::fuzz::FuzzArgs>),
    /// Join the parts of a campaign that ran on many machines (fuzz --shard)
    Merge(super::merge::MergeArgs),
    /// Write the completions of a shell
    Completions(super::help::CompletionsArgs),
    /// Write the man page, in roff
    Man,
    /// Serve one engine on standard input and output
    #[command(hide = true)]
    Engine(EngineArgs),
}

/// A published convention, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConventionName {
    /// 3D Gaussian Splatting and DISTWAR
    Inria,
    /// gsplat
    Gsplat,
}

impl ConventionName {
    /// The profile of that name.
    #[must_use]
    pub fn profile(self) -> Profile {
        match self {
            Self::Inria => Profile::Inria,
            Self::Gsplat => Profile::Gsplat,
        }
    }

    /// The convention of that name.
    #[must_use]
    pub fn convention(self) -> Convention {
        Convention::of(self.profile())
    }
}

/// A workload by its name.
pub(super) fn parse_workload(name: &str) -> Result<Arc<dyn Workload>, UnknownWorkload> {
    workloads::find(name)
}

/// Some of the workloads.
#[derive(Clone, Debug)]
pub struct Workloads(Vec<Arc<dyn Workload>>);

impl Workloads {
    /// Them, at least one.
    pub(super) fn list(&self) -> &[Arc<dyn Workload>] {
        &self.0
    }

    /// Their names.
    fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|workload| workload.name()).collect()
    }
}

/// There is no workload of that name, nor does it mean all of them.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}, or {ALL}")]
pub(super) struct UnknownWorkloads(UnknownWorkload);

/// A workload by its name, or all of them.
pub(super) fn parse_workloads(name: &str) -> Result<Workloads, UnknownWorkloads> {
    if name == ALL {
        return Ok(Workloads(workloads::all()));
    }
    Ok(Workloads(vec![workloads::find(name).map_err(UnknownWorkloads)?]))
}

/// The name of all workloads together.
const ALL: &str = "all";

/// A workload under the convention that was named, if one was.
///
/// # Errors
/// The workload has no such convention.
pub(super) fn under(
    workload: Arc<dyn Workload>,
    convention: Option<ConventionName>,
) -> Result<Arc<dyn Workload>, CliError> {
    let Some(convention) = convention else { return Ok(workload) };
    let name = convention.profile().name();
    workload.under(name).ok_or_else(|| {
        let workload = workload.name();
        CliError::new(format!("--convention {name}: workload {workload} has none of that name"))
    })
}

/// Options of `check`, as typed.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Use this engine only, by its id or its family ('lavapipe'); repeatable
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Judge this reduction only: atomic, sw-s, sw-b, subgroup, block, segmented, per-key,
    /// per-gaussian, replay, multi-pixel-2, multi-pixel-4, sorted or fixed; repeatable
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Reduction>())]
    pub reduction: Vec<Reduction>,
    /// Use this threshold instead of a sweep, 0 to warp size + 1; repeatable
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threshold: Vec<u32>,
    /// How the emulator runs.
    #[command(flatten)]
    pub order: ScheduleArgs,
    /// What is demanded besides the bounds.
    #[command(flatten)]
    pub expect: ExpectArgs,
    /// Whose forward pass backward stages go on from.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// A program in the place of engines.
    #[command(flatten)]
    pub command: CommandArgs,
    /// Processes of your program that share the cases [default: 1]
    #[arg(long, value_name = "J", requires = "command", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// What is judged beside a case or scene that is named: splat, scatter, grid or all [default: all, of splats
    /// the most cases; splat with a program, a corpus or a convention]
    #[arg(long, value_name = "NAME", value_parser = parse_workloads)]
    #[arg(conflicts_with_all = ["ply", "case"])]
    pub workload: Option<Workloads>,
    /// Number of random cases
    #[arg(long, value_name = "N", default_value_t = 200, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["ply", "case"])]
    pub cases: u32,
    /// Seed of the random cases
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["ply", "case"])]
    pub seed: u64,
    /// A trained scene, judged instead of the corpus and random scenes.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Judge on this case only (.safetensors or .toml)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ply", "corpus"])]
    pub case: Option<PathBuf>,
    /// Folder for reproducers; those of a program of your own have a folder of its name there
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// Folder of named cases [default: corpora/splat, or of another workload]
    #[arg(long, value_name = "DIR", conflicts_with = "ply")]
    pub corpus: Option<PathBuf>,
    /// Whose rules hold for splats where a case does not say [default: both by turns, inria for a scene]
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
    /// What stops the build, and the files that CI systems read.
    #[command(flatten)]
    pub gate: GateArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// Options of `render`, as typed.
#[derive(Clone, Debug, Args)]
pub struct RenderArgs {
    /// A trained scene
    #[arg(long, value_name = "FILE")]
    pub ply: PathBuf,
    /// Its cameras (JSON)
    #[arg(long, value_name = "FILE")]
    pub cameras: PathBuf,
    /// The camera to use [default: the first]
    #[arg(long, value_name = "NAME")]
    pub camera: Option<String>,
    /// The image to write (.png)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Whose rules hold
    #[arg(long, value_name = "NAME", default_value = "inria")]
    pub convention: ConventionName,
}

/// Options of `engine`.
#[derive(Clone, Debug, Args)]
pub struct EngineArgs {
    /// The adapter to open [default: the first]
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// A user's program to run in the place of its kernels
    #[arg(long, value_name = "FILE", requires = "manifest")]
    pub wgsl: Option<PathBuf>,
    /// What the program's bindings are
    #[arg(long, value_name = "FILE", requires = "wgsl")]
    pub manifest: Option<PathBuf>,
}

/// A checked `check`.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    /// The engines to judge; none if this machine has none.
    pub engines: Vec<Found>,
    /// The emulators that judge a part of the runs beside them.
    pub beside: Vec<Found>,
    /// Whether they were named, so that others are not missed.
    pub named: bool,
    /// Everything that discovery said, for the report.
    pub discovery: Discovery,
    /// The reductions to judge, in the order of reports, without repetitions.
    pub reductions: Vec<Reduction>,
    /// Thresholds instead of the sweep, sorted; in range for every one of `engines`.
    pub thresholds: Option<Vec<u32>>,
    /// What they are judged on.
    pub subject: Subject,
    /// Folder for reproducers: writable, perhaps still to be made.
    pub out: PathBuf,
    /// Whose cases are drawn, under which convention.
    pub workload: Arc<dyn Workload>,
    /// Whose rules hold for a trained scene.
    pub convention: Convention,
    /// What stops the build.
    pub gate: GatePlan,
    /// How much is printed.
    pub detail: Detail,
    /// How often every run is made, where equal bits are demanded.
    pub repeats: Option<Repeats>,
    /// Whose forward pass backward stages go on from.
    pub chain: Chain,
    /// The program that is judged in the place of engines.
    pub command: Option<CommandPlan>,
    /// What each engine's process is granted.
    pub limits: Limits,
}

/// A checked `render`.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderPlan {
    /// What to render.
    pub scene: ScenePlan,
    /// A .png in a folder that can be written to.
    pub output: PathBuf,
    /// Whose rules hold.
    pub convention: Convention,
}

impl CheckPlan {
    /// The settings to judge on a device of that warp size.
    #[must_use]
    pub fn settings(&self, lane_width: u32) -> Vec<Setting> {
        let Some(thresholds) = &self.thresholds else {
            let mut sweep = Setting::sweep(lane_width);
            sweep.retain(|setting| self.reductions.contains(&setting.reduction));
            return sweep;
        };
        let with = |&reduction: &Reduction| -> Vec<Setting> {
            if reduction.has_threshold() {
                let each = thresholds.iter();
                each.map(|&threshold| Setting { reduction, threshold }).collect()
            } else {
                vec![Setting { reduction, threshold: 0 }]
            }
        };
        self.reductions.iter().flat_map(with).collect()
    }
}

/// Of so many random cases another workload than the first has one, where none is named.
const SHARE_OF_OTHERS: u32 = 8;

impl CheckArgs {
    /// Checks every option, against the engines of this machine where they matter; a plan for each
    /// workload.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self, discovery: &Discovery) -> Result<Vec<CheckPlan>, CliError> {
        let of_splats = self.scene.ply.is_some()
            || self.case.is_some()
            || self.corpus.is_some()
            || self.convention.is_some();
        let (workloads, cases) = match &self.workload {
            Some(Workloads(named)) => (named.clone(), self.cases),
            None if self.command.is_given() => {
                (self.command.workload()?.into_iter().collect(), self.cases)
            }
            None if of_splats => (workloads::all().into_iter().take(1).collect(), self.cases),
            None => (workloads::all(), self.cases.div_ceil(SHARE_OF_OTHERS)),
        };
        let plan = |(at, workload)| {
            let cases = if at == 0 { self.cases } else { cases };
            Self { cases, ..self.clone() }.of_workload(workload, discovery)
        };
        workloads.into_iter().enumerate().map(plan).collect()
    }

    /// The plan for one workload.
    fn of_workload(
        self,
        workload: Arc<dyn Workload>,
        discovery: &Discovery,
    ) -> Result<CheckPlan, CliError> {
        let limits = self.command.program.limits();
        let command = self.command.clone().resolve(
            self.jobs.unwrap_or(1).into(),
            workload.as_ref(),
            &[
                ("--engine", !self.engine.is_empty()),
                ("--reduction", !self.reduction.is_empty()),
                ("--threshold", !self.threshold.is_empty()),
                ("--schedule", self.order.schedule.is_some()),
                ("--chain", self.chain.chain != ChainName::Oracle),
            ],
        )?;
        let engines = discovery.select(&self.engine).map_err(CliError::of)?;
        let repeats = self.expect.resolve(self.order)?;
        let mut engines = self.order.resolve(engines)?;
        if repeats.is_some() {
            // One engine makes the runs in all orders.
            engines = discovery.select(&self.engine).map_err(CliError::of)?;
        }
        let beside = if repeats.is_some() { Vec::new() } else { discovery.beside(&self.engine) };
        let reductions: Vec<_> = Reduction::ALL
            .into_iter()
            .filter(|r| self.reduction.is_empty() || self.reduction.contains(r))
            .collect();
        let thresholds = resolve_thresholds(self.threshold, &reductions, &engines)?;
        let subject = match (self.scene, self.case) {
            (SceneArgs { ply: Some(ply), cameras: Some(cameras), camera }, _) => {
                Subject::Scene(resolve_scene(&ply, &cameras, camera)?)
            }
            (_, Some(case)) => {
                paths::expect_extension("--case", &case, &EXTENSIONS)?;
                Subject::Case(paths::readable_file("--case", &case)?)
            }
            _ => Subject::Campaign {
                corpus: paths::corpus(self.corpus.as_deref(), workload.name())?,
                cases: self.cases,
                seed: self.seed,
            },
        };
        Ok(CheckPlan {
            engines,
            beside,
            named: !self.engine.is_empty(),
            discovery: discovery.clone(),
            reductions,
            thresholds,
            subject,
            out: match &command {
                Some(command) => command.folder(&self.out)?,
                None => paths::folder_to_name("--out", &self.out)?,
            },
            workload: under(workload, self.convention)?,
            convention: self.convention.unwrap_or(ConventionName::Inria).convention(),
            gate: self.gate.resolve()?,
            detail: self.shown.detail(),
            repeats,
            chain: self.chain.resolve(),
            command,
            limits,
        })
    }
}

impl RenderArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<RenderPlan, CliError> {
        Ok(RenderPlan {
            scene: resolve_scene(&self.ply, &self.cameras, self.camera)?,
            output: paths::writable_file("--output", &self.output, "png")?,
            convention: self.convention.convention(),
        })
    }
}

/// A threshold must be in range for every engine it would be used on: leaving some out silently
/// would look as if they had been judged.
fn resolve_thresholds(
    mut thresholds: Vec<u32>,
    reductions: &[Reduction],
    engines: &[Found],
) -> Result<Option<Vec<u32>>, CliError> {
    if thresholds.is_empty() {
        return Ok(None);
    }
    let Some(&reduction) = reductions.iter().find(|r| r.has_threshold()) else {
        let names: Vec<_> = reductions.iter().map(|r| r.name()).collect();
        let what = format!("--threshold: no threshold with --reduction {}", names.join(", "));
        return Err(CliError::new(what));
    };
    thresholds.sort_unstable();
    thresholds.dedup();
    for engine in engines {
        for &threshold in &thresholds {
            let setting = Setting { reduction, threshold };
            setting.check(engine.info.lane_width).map_err(|e| {
                CliError::new(format!("--threshold on engine {}: {e}", engine.spec.id()))
            })?;
        }
    }
    Ok(Some(thresholds))
}

#[cfg(test)]
mod tests;
