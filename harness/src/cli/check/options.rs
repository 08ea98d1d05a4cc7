//! The options of `check` and of `self-check`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_reference::splat::convention::Convention;

use crate::cli::chain::ChainArgs;
use crate::cli::command::{CommandArgs, CommandPlan, seconds};
use crate::cli::exit::CliError;
use crate::cli::expect::ExpectArgs;
use crate::cli::gate::{GateArgs, GatePlan};
use crate::cli::options::{ConventionName, SceneArgs, Subject, Workloads, parse_workloads, under};
use crate::cli::output::OutputArgs;
use crate::cli::parts::PartsArgs;
use crate::cli::paths;
use crate::cli::reproducer::Reproducers;
use crate::cli::schedule::ScheduleArgs;
use splatcheck_judge::campaign::Chain;
use splatcheck_judge::engines::parted::Parts;
use splatcheck_judge::engines::repeated::Repeats;
use splatcheck_judge::engines::{Discovery, Found, Limits};
use splatcheck_judge::report::Detail;
use splatcheck_judge::workload::Workload;
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;

/// Options of `check`, as typed: a user's program is judged.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("command", |command| command.required_unless_present("checkout")))]
pub struct CheckArgs {
    /// The program, and as what it is judged.
    #[command(flatten)]
    pub command: CommandArgs,
    /// Judge nothing: say of each preset, or of the one that --preset names, whether its kernels in this checkout of
    /// the project still have the parameters that it knows
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub checkout: Option<PathBuf>,
    /// Processes of your program that share the cases
    #[arg(long, value_name = "J", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
    /// On what, and what is written.
    #[command(flatten)]
    pub on: JudgedOn,
}

/// Options of `self-check`, as typed: the kernels of this project are judged.
#[derive(Clone, Debug, Args)]
pub struct SelfCheckArgs {
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
    /// Whose forward pass backward stages go on from.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// Time in which an engine must answer, seconds; then it is killed and started again [default: 120, and 10
    /// for every MiB of its inputs]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// On what, and what is written.
    #[command(flatten)]
    pub on: JudgedOn,
}

/// What `check` and `self-check` judge on, and what they write.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cases")]
pub struct JudgedOn {
    /// What is demanded besides the bounds.
    #[command(flatten)]
    pub expect: ExpectArgs,
    /// In how many parts kernels run.
    #[command(flatten)]
    pub parts: PartsArgs,
    /// Draw the cases of this workload: splat, scatter, grid or all [default: that of the program; without one all,
    /// of splats the most cases; splat with a corpus or a convention]
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
    /// Folder of named cases [default: those of splatcheck, as with 'built-in']
    #[arg(long, value_name = "DIR", conflicts_with = "ply")]
    pub corpus: Option<PathBuf>,
    /// Convention of splat cases that name none [default: each in turn, inria for a scene]
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
    /// What stops the build, and the files that CI systems read.
    #[command(flatten)]
    pub gate: GateArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// A checked `check` or `self-check`.
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
    /// The convention of a trained scene.
    pub convention: Convention,
    /// What stops the build.
    pub gate: GatePlan,
    /// How much is printed.
    pub detail: Detail,
    /// How often every run is made, where equal bits are demanded.
    pub repeats: Option<Repeats>,
    /// In how many parts kernels run.
    pub parts: Parts,
    /// Whose forward pass backward stages go on from.
    pub chain: Chain,
    /// The program that is judged in place of engines.
    pub command: Option<CommandPlan>,
    /// What each engine's process is granted.
    pub limits: Limits,
}

impl CheckPlan {
    /// Where the reproducers are left.
    pub(super) fn reproducers(&self) -> Result<Reproducers, CliError> {
        let reproducers = Reproducers::begin(&self.out, "check", self.subject.reads())?;
        Ok(reproducers.in_parts(self.parts))
    }
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
    /// Checks every option; a plan for each workload, of which a program has one.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self) -> Result<Vec<CheckPlan>, CliError> {
        let plan = |workload: &Arc<dyn Workload>| {
            let typed = self.command.clone();
            let command = typed.resolve(self.jobs.into(), workload.as_ref(), &[])?;
            let out = match &command {
                Some(command) => command.folder(&self.on.out)?,
                None => paths::folder_to_name("--out", &self.on.out)?,
            };
            let plan = self.on.clone().resolve(workload, self.on.cases)?;
            let repeats = self.on.expect.resolve(ScheduleArgs::default())?;
            Ok(CheckPlan { command, out, repeats, ..plan })
        };
        let of_program = self.command.workload()?;
        let named = self.on.workload.as_ref().map(|named| named.list().to_vec());
        let workloads = named.unwrap_or_else(|| of_program.into_iter().collect());
        workloads.iter().map(plan).collect()
    }
}

impl SelfCheckArgs {
    /// Checks every option, against the engines of this machine where they matter; a plan for each
    /// workload.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self, discovery: &Discovery) -> Result<Vec<CheckPlan>, CliError> {
        let on = &self.on;
        let of_splats = on.scene.ply.is_some()
            || on.case.is_some()
            || on.corpus.is_some()
            || on.convention.is_some();
        let (workloads, cases) = match &on.workload {
            Some(named) => (named.list().to_vec(), on.cases),
            None if of_splats => {
                (splatcheck_workloads::all().into_iter().take(1).collect(), on.cases)
            }
            None => (splatcheck_workloads::all(), on.cases.div_ceil(SHARE_OF_OTHERS)),
        };
        let plan = |(at, workload)| {
            let cases = if at == 0 { on.cases } else { cases };
            self.of_workload(workload, cases, discovery)
        };
        workloads.iter().enumerate().map(plan).collect()
    }

    /// The plan for one workload.
    fn of_workload(
        &self,
        workload: &Arc<dyn Workload>,
        cases: u32,
        discovery: &Discovery,
    ) -> Result<CheckPlan, CliError> {
        let engines = discovery.select(&self.engine).map_err(CliError::of)?;
        let repeats = self.on.expect.resolve(self.order)?;
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
        let thresholds = resolve_thresholds(self.threshold.clone(), &reductions, &engines)?;
        let plan = self.on.clone().resolve(workload, cases)?;
        Ok(CheckPlan {
            engines,
            beside,
            named: !self.engine.is_empty(),
            discovery: discovery.clone(),
            reductions,
            thresholds,
            out: paths::folder_to_name("--out", &self.on.out)?,
            repeats,
            chain: self.chain.resolve(),
            limits: self.timeout.map_or_else(Limits::default, Limits::of_requests),
            ..plan
        })
    }
}

impl JudgedOn {
    /// The plan that nothing judges yet.
    fn resolve(self, workload: &Arc<dyn Workload>, cases: u32) -> Result<CheckPlan, CliError> {
        if self.parts.parts.is_some() && self.expect.expect.is_some() {
            return Err(CliError::new(
                "--parts: what is added up from parts is not one run, leave out --expect",
            ));
        }
        let subject = match (self.scene.resolve()?, self.case) {
            (Some(scene), _) => Subject::Scene(scene),
            (_, Some(case)) => {
                paths::expect_extension("--case", &case, &EXTENSIONS)?;
                Subject::Case(paths::readable_file("--case", &case)?)
            }
            _ => Subject::Campaign {
                corpus: paths::corpus(self.corpus.as_deref(), workload.name())?,
                cases,
                seed: self.seed,
            },
        };
        Ok(CheckPlan {
            engines: Vec::new(),
            beside: Vec::new(),
            named: false,
            discovery: Discovery::default(),
            reductions: Vec::new(),
            thresholds: None,
            subject,
            out: self.out,
            workload: under(Arc::clone(workload), self.convention)?,
            convention: self.convention.unwrap_or(ConventionName::Inria).convention(),
            gate: self.gate.resolve()?,
            detail: self.shown.detail(),
            repeats: None,
            parts: self.parts.resolve(),
            chain: Chain::default(),
            command: None,
            limits: Limits::default(),
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
