//! `splatcheck wgsl`: judges a user's own kernel in WGSL on every engine of wgpu, or on the emulator.

mod engines;

pub(super) use engines::Started;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use splatcheck_gpu::Setting;
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;

use super::command::seconds;
use super::exit::{CliError, Outcome};
use super::expect::{self, ExpectArgs};
use super::formulation::{Asked, Counted, Judging, Trial, asked, grouping, judge_in};
use super::gate::{GateArgs, GatePlan};
use super::output::{OutputArgs, Progress};
use super::ptx::{
    For, Reduced, Subject, SubjectArgs, adds_up, heading, manifest_fits, roundings,
    without_formulations,
};
use super::reproducer::{Reproducers, write_each};
use super::schedule::ScheduleArgs;
use super::trials::Trials;
use super::{language, paths, provenance};
use crate::manifest::WgslKernel;
use crate::user_kernel::Observe;
use crate::user_wgsl::{self, UserWgsl};
use splatcheck_judge::campaign::EngineReport;
use splatcheck_judge::engines::WGSL_EMULATOR;
use splatcheck_judge::engines::repeated::Repeats;
use splatcheck_judge::engines::{Discovery, Found, Limits, Missing};
use splatcheck_judge::gate::{Evidence, sarif};
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::words::{folder_name, shown_path};
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::formulated::described;

/// Options of `wgsl`, as typed.
#[derive(Clone, Debug, Args)]
pub struct WgslArgs {
    /// The program
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its entry points, workgroups and bindings (.toml): `docs/src/manifests.md` describes the file, in the
    /// source tree, and `gpu/tests/kernels/packed_backward.toml` is an example
    #[arg(long, value_name = "FILE")]
    pub manifest: PathBuf,
    /// Use this engine only, by its id or its family ('lavapipe', 'wgsl-emulator'); repeatable [default: all of
    /// wgpu, and the emulator where there is none]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Continue after misuse on the emulator: with 'races=off' after a data race, with 'bounds=off' after an index
    /// beyond an array or buffer (a read gives the array's last element, or of a buffer a number that was never
    /// written; a write is lost). With 'inputs=off' a changed input does not fail the run of any engine
    #[arg(long, value_name = "WHAT=off")]
    pub observe: Option<Observe>,
    /// What it is run on.
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// As how it adds up.
    #[command(flatten)]
    pub reduced: Reduced,
    /// The expression by which it computes alpha's gradient: a project (3dgs, gsplat-1.5, gsplat-main, brush, fastgs,
    /// taichi, slang), fields as in 'buffer,final_t=one-minus-alpha', or 'any' [default: as the manifest says, else
    /// 3dgs]
    #[arg(long, value_name = "NAME", value_parser = asked)]
    pub formulation: Option<Asked>,
    /// How often your source rounds a term on its way into an intermediate of that expression: 0 to 64
    /// [default: as the manifest says, else as the formulation states]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
    /// In which orders the emulator runs it.
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    /// What is demanded besides the bounds.
    #[command(flatten)]
    pub expect: ExpectArgs,
    /// Time in which an engine must answer, seconds; then it is killed, which is a finding [default: 120,
    /// and 10 for each MiB of the case]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Processes of each engine that share the cases [default: 1: software drivers use every core]
    #[arg(long, value_name = "J", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(hide_default_value = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
    /// Folder for reproducers, which have a folder of the kernel's name there
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// What stops the build, and the files that CI systems read.
    #[command(flatten)]
    pub gate: GateArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// A checked `wgsl`.
#[derive(Debug)]
pub struct WgslPlan {
    file: PathBuf,
    kernel: Arc<WgslKernel>,
    engines: Vec<Found>,
    missing: Vec<Missing>,
    /// What ends a run.
    observe: Observe,
    subject: Subject,
    formulation: Asked,
    counted: Counted,
    setting: Setting,
    /// Whether the reduction was named.
    reduced: bool,
    repeats: Option<Repeats>,
    limits: Limits,
    jobs: u16,
    out: PathBuf,
    gate: GatePlan,
    /// How much is printed.
    detail: Detail,
}

impl WgslArgs {
    /// The program with its manifest: what is wrong with them is said before engines are looked for.
    ///
    /// # Errors
    /// What cannot be read, and where a text is wrong.
    pub fn read(&self) -> Result<Arc<WgslKernel>, CliError> {
        read(&self.file, &self.manifest)
    }

    /// Checks every option, against the engines of this machine.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(
        self,
        kernel: Arc<WgslKernel>,
        discovery: &Discovery,
    ) -> Result<WgslPlan, CliError> {
        let manifest = kernel.manifest();
        let written = manifest.formulation.map(Asked::One);
        let formulation = self.formulation.or(written).unwrap_or_default();
        manifest_fits(manifest, formulation)?;
        let typed = (self.formulation.is_some(), self.extra_roundings.is_some());
        without_formulations(manifest, typed)?;
        let reduced = self.reduced.reduction.is_some();
        if reduced {
            adds_up(manifest)?;
        }
        let counted = roundings(Some(manifest), self.extra_roundings)?;
        let repeats = self.expect.resolve(self.schedule)?;
        let channels = self.subject.channels.or(manifest.channels);
        let wanted = For::kernel_of(Some(manifest));
        let subject = SubjectArgs { channels, ..self.subject }.resolve(wanted)?;
        let named = !self.engine.is_empty();
        let mut engines = discovery.select(&self.engine).map_err(CliError::of)?;
        let other = engines.iter().find(|found| !found.runs_wgsl());
        if let (Some(other), true) = (other, named) {
            return Err(CliError::new(format!(
                "--engine {}: it runs no WGSL: name one of wgpu or wgsl-emulator ('splatcheck devices' shows \
                 them)",
                other.spec.id()
            )));
        }
        engines.retain(Found::runs_wgsl);
        let ordered = self.schedule.schedule.is_some() && repeats.is_none();
        if engines.is_empty() || (ordered && !named) {
            // Without a driver the emulator runs it, with subgroups of every size; a driver follows no order.
            let emulators = discovery.select(&[WGSL_EMULATOR.to_owned()]);
            engines = emulators.map_err(CliError::of)?;
        }
        if ordered {
            engines = self.schedule.resolve(engines)?;
        }
        // What was looked for is told; that WGSL has no engine is not so.
        let mut missing = discovery.missing_requested(named, engines.iter());
        missing.retain(|one| !one.promised);
        let lanes = engines.iter().map(|found| found.info.lane_width).min().unwrap_or(1);
        let setting = self.reduced.setting(lanes)?;
        let run = provenance::of_wgsl(&kernel, (&self.file, &self.manifest), subject.seed());
        let out = paths::folder_to_name("--out", &self.out)?;
        Ok(WgslPlan {
            out: out.join(folder_name(&run.subject)),
            gate: self.gate.resolve()?.of(run),
            file: self.file,
            kernel,
            engines,
            missing,
            observe: self.observe.unwrap_or_default(),
            subject,
            formulation,
            counted,
            setting,
            reduced,
            repeats,
            limits: self.timeout.map_or_else(Limits::default, Limits::of_requests),
            jobs: self.jobs,
            detail: self.shown.detail(),
        })
    }
}

/// Reads a program with its manifest.
///
/// # Errors
/// What cannot be read, and where a text is wrong.
pub(super) fn read(file: &Path, manifest: &Path) -> Result<Arc<WgslKernel>, CliError> {
    let source = paths::program("wgsl", file, "WGSL")?;
    language::expect_wgsl(file, &source)?;
    let text = paths::program("--manifest", manifest, "a manifest")?;
    user_wgsl::kernel(&shown_path(file), &source, &text).map_err(|error| match error {
        user_wgsl::WgslError::Manifest(problem) => CliError::of(problem.in_file(manifest)),
        user_wgsl::WgslError::Bind(error) => {
            let [file, manifest] = [file, manifest].map(|file| file.display());
            CliError::new(format!("{file} with {manifest}: {error}"))
        }
    })
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &WgslPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let manifest = plan.kernel.manifest();
    let no_files = |error| CliError::caused("no temporary folder", error);
    let user = UserWgsl::new(Arc::clone(&plan.kernel), plan.observe).map_err(no_files)?;
    let start = |found| Started::new(&user, found, (plan.limits, plan.jobs), plan.repeats.as_ref());
    let reproducers = Reproducers::begin(&plan.out, "wgsl", plan.subject.reads())?;
    let mut engines = Vec::new();
    let runs =
        plan.subject.runs(manifest.stage(plan.formulation.first())) * plan.engines.len() as u64;
    let bar = Progress::of_runs(plan.detail, "wgsl", runs);
    let (asked, counted) = (&plan.formulation, plan.counted);
    let mut judged =
        judge_in(Judging::Manifest(manifest), asked, counted, |formulation, trial| {
            let progress = |runs| bar.inc(runs);
            judge(plan, (formulation, trial), &progress, || {
                // What is wrong with the manifest is said before an engine starts.
                if engines.is_empty() {
                    engines = plan.engines.iter().map(start).collect::<Result<_, _>>()?;
                }
                Ok(&mut engines)
            })
        })?;
    bar.finish_and_clear();
    judged.diagnose();
    let mut reports = judged.reports;
    let files = write_all(&reproducers, &mut reports, &user);
    for finding in reports.iter_mut().flat_map(|report| &mut report.findings) {
        finding.places = user_wgsl::places(plan.kernel.file(), &finding.fault);
    }
    sarif::name_program(&mut reports, &plan.file.display().to_string());
    let repeats = plan.repeats.as_ref();
    let grouping = grouping(manifest.kind.has_formulations()).to_owned();
    let about: Vec<_> = [plan.heading(judged.formulation), grouping]
        .into_iter()
        .chain(repeats.map(expect::described))
        .collect();
    let outputs = manifest.left_out_in_words();
    let notes: Vec<_> =
        judged.others.into_iter().chain(outputs).chain(plan.subject.not_judged()).collect();
    let (gaps, not_sought) = (plan.subject.gaps(), plan.observe.not_sought());
    let report = Report {
        about: &about,
        notes: &notes,
        gaps: &gaps,
        not_sought: not_sought.as_deref(),
        ..Report::new(&reports, &plan.missing, &files)
    };
    out.write_all(report.text(plan.detail).as_bytes())?;
    let not_exercised = plan.subject.not_drawn();
    let evidence = Evidence { gaps, not_exercised, ..Evidence::new(&reports, &plan.missing) };
    let about: Vec<_> = about.into_iter().chain(not_sought).collect();
    plan.gate.told(&about, &notes).conclude(&evidence, &files, out)
}

impl WgslPlan {
    /// What is judged, and as what.
    fn heading(&self, formulation: Formulation) -> String {
        let manifest = self.kernel.manifest();
        let names: Vec<_> = manifest.launches.iter().map(|launch| &*launch.kernel).collect();
        let stage = manifest.stage(formulation);
        let setting = stage.accumulates().then_some(self.setting);
        let heading = heading(&names.join(", "), &self.file, (stage, setting), self.reduced);
        match manifest.kind.has_formulations() {
            true => format!("{heading}; formulation {}; chain oracle", described(formulation)),
            false => format!("{heading}; chain oracle"),
        }
    }
}

/// The cases in one formulation, on the engines, which are started once.
fn judge<'e>(
    plan: &WgslPlan,
    (formulation, trial): (Formulation, Trial<'_>),
    progress: &(dyn Fn(u64) + Sync),
    engines: impl FnOnce() -> Result<&'e mut Vec<Started>, CliError>,
) -> Result<Vec<EngineReport>, CliError> {
    let manifest = plan.kernel.manifest();
    let stage = manifest.stage(formulation);
    let judged = |case: &AnyCase| manifest.judged(case, formulation).map_err(CliError::of);
    let trials = Trials { subject: &plan.subject, stage, trial, judged: &judged };
    // The first tells whether the manifest's expressions have values, which is its author's to mend.
    if let Some(first) = trials.first()?
        && let Some(job) = first.job(stage)
    {
        plan.kernel.check_case(&job.inputs).map_err(CliError::of)?;
    }
    let contenders = engines()?.iter_mut().map(|engine| engine.contender((stage, plan.setting)));
    trials.run(contenders.collect(), progress)
}

/// Writes the reproducers, each with the program.
fn write_all(
    reproducers: &Reproducers,
    reports: &mut [EngineReport],
    user: &UserWgsl,
) -> Vec<Vec<String>> {
    write_each(reports, |finding| {
        let mut notes = expect::notes(finding, None).unwrap_or_default();
        notes.extend(user.notes());
        reproducers.write_case(finding, notes)
    })
}
