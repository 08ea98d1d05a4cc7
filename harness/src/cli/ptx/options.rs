//! The options of `ptx`.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use splatcheck_emulator::WARP;
use splatcheck_gpu::emulator::Noted;
use splatcheck_gpu::{Reduction, Setting, Stage};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;

use super::interface::INTERFACE;
use super::judged_as::JudgedAs;
use super::read::{read_kernel, read_manifest};
use super::subject::{For, Subject, SubjectArgs};
use crate::cli::command::seconds;
use crate::cli::compiler::CompilerArgs;
use crate::cli::exit::CliError;
use crate::cli::expect::ExpectArgs;
use crate::cli::formulation::{Asked, Counted, asked};
use crate::cli::gate::{GateArgs, GatePlan};
use crate::cli::language::expect_ptx;
use crate::cli::number::positive;
use crate::cli::output::OutputArgs;
use crate::cli::schedule::ScheduleArgs;
use crate::cli::{paths, provenance};
use crate::manifest::Manifest;
use crate::user_kernel::{KernelLimits, Observe, UserKernel};
use splatcheck_judge::engines::repeated::Repeats;
use splatcheck_judge::engines::{Emulation, Order};
use splatcheck_judge::report::Detail;
use splatcheck_judge::threads;
use splatcheck_judge::words::folder_name;

/// What is said where nothing describes the kernel's parameters.
const NO_ARRAYS: &str = "say which arrays your kernel takes: --manifest FILE.toml (docs/src/manifests.md). A kernel \
                         with the parameters that 'splatcheck ptx --help' lists needs --kernel NAME alone";

/// Options of `ptx`, as typed.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = INTERFACE)]
pub struct PtxArgs {
    /// The program, as nvcc --ptx or NVRTC writes it, or a .cu file that nvcc compiles now
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its entry point, by its name or a part of it, with the parameters that are listed below
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
    /// Continue after misuse, and judge the values: with 'races=off' after a data race, with 'inputs=off' after a
    /// write to an input, with 'bounds=off' after an access of global memory out of bounds (it reads a number that
    /// was never written). 'races=off,inputs=off' is both
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
    /// Give a run up after this many warp instructions [default: by the size of a case, 16 million and more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub instructions: Option<u64>,
    /// As what it is judged.
    #[command(flatten)]
    pub judged: JudgedAs,
    /// The expression by which it computes alpha's gradient: a project (3dgs, gsplat-1.5, gsplat-main, brush, fastgs,
    /// taichi, slang), fields as in 'buffer,final_t=one-minus-alpha', or 'any'. It decides which parameters the
    /// kernel has [default: as the manifest says, else 3dgs]
    #[arg(long, value_name = "NAME", value_parser = asked)]
    pub formulation: Option<Asked>,
    /// How many more roundings your source makes of a term on its way into an intermediate of that expression, if it
    /// writes the expression in another way (completed squares, a reciprocal for a division, another order of a sum):
    /// 0 to 64 [default: as the formulation states, 0 for all of them today]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
    /// In which orders it runs.
    #[command(flatten)]
    pub order: ScheduleArgs,
    /// What is demanded besides the bounds.
    #[command(flatten)]
    pub expect: ExpectArgs,
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
    pub counted: Counted,
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
            let unfilled = |error| CliError::new(format!("{}: {error}", self.file.display()));
            kernel.filled().map_err(unfilled)?;
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
        let fast_math = self.judged.fast_math || kernel.flushes();
        let emulation = |order: Order| Emulation {
            fast_math,
            wgsl_lanes: None,
            launches: self.launches.unwrap_or(1),
            order,
        };
        let repeats = self.expect.resolve(self.order)?;
        let orders = match &repeats {
            Some(_) => vec![Order::Lockstep],
            None => self.order.orders()?,
        };
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
            counted: roundings(kernel.manifest(), self.extra_roundings)?,
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
        let Some(entry) = self.kernel.clone() else {
            expect_ptx(&self.file, &paths::program("ptx", &self.file, "PTX")?)?;
            return Err(CliError::new(NO_ARRAYS));
        };
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
    pub(super) fn again(&self, noted: &Noted) -> Vec<Emulation> {
        if self.launches_given || !noted.has_changed_variables() {
            return Vec::new();
        }
        self.emulations.iter().map(|&one| Emulation { launches: 2, ..one }).collect()
    }

    /// As how the kernel adds up in a stage, where that has reductions.
    pub(super) fn reduction_of(&self, stage: Stage) -> Option<Reduction> {
        stage.accumulates().then_some(self.setting.reduction)
    }
}

/// Refuses a formulation, or extra roundings, of a stage that has none.
pub(in crate::cli) fn without_formulations(
    manifest: &Manifest,
    (formulation, extra): (bool, bool),
) -> Result<(), CliError> {
    let kind = manifest.kind;
    let (option, who) = match (formulation, extra) {
        (true, _) if !kind.has_formulations() => {
            ("--formulation", "only rasterize_backward has formulations")
        }
        (_, true) if !kind.counts_roundings() => {
            ("--extra-roundings", "only rasterize and rasterize_backward have the option")
        }
        _ => return Ok(()),
    };
    let stage = kind.name();
    Err(CliError::new(format!(
        "{option}: the manifest is of stage {stage}, and {who}: leave the option out"
    )))
}

/// Refuses a reduction of a stage that adds nothing up.
pub(in crate::cli) fn adds_up(manifest: &Manifest) -> Result<(), CliError> {
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
pub(in crate::cli) fn manifest_fits(manifest: &Manifest, asked: Asked) -> Result<(), CliError> {
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
pub(in crate::cli) fn roundings(
    manifest: Option<&Manifest>,
    typed: Option<ExtraRoundings>,
) -> Result<Counted, CliError> {
    let counted = typed.or_else(|| manifest?.extra_roundings);
    let stated = counted.is_some();
    let extra = match manifest.map_or(0, Manifest::roundings_of_units) {
        0 => counted,
        more => {
            let sum = counted.unwrap_or_default().count().saturating_add(more);
            let many = || {
                CliError::new(format!(
                    "--extra-roundings: {more} more for units = \"ndc\" or a folded background are {sum}, above {}: give fewer",
                    ExtraRoundings::MOST
                ))
            };
            Some(ExtraRoundings::new(sum).ok_or_else(many)?)
        }
    };
    Ok(Counted { extra, stated })
}
