//! `splatcheck wgsl`: judges a user's own kernel in WGSL on every engine of wgpu.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use splatcheck_gpu::{EngineKind, Reduction, Setting, Stage};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;

use super::check::progress_bar;
use super::command::seconds;
use super::exit::{CliError, Outcome};
use super::formulation::described;
use super::gate::{GateArgs, GatePlan};
use super::paths;
use super::ptx::{OneStage, Subject, SubjectArgs, manifest_fits, roundings, text};
use super::reproducer::write_case;
use crate::campaign::{Contender, EngineReport, Hooks, Item, run as run_campaign};
use crate::engines::{Discovery, Found, Limits, Missing, Program, Team};
use crate::gate::{Evidence, sarif};
use crate::manifest::WgslKernel;
use crate::report::{report, reproducer};
use crate::user_wgsl::{self, UserWgsl};
use crate::workload::{AnyCase, views};
use crate::workloads::splat::formulated::{judged_in, stage_of};
use crate::workloads::splat::kernel_rules::Reach;

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
    /// Use this engine only, by its id or its family ('lavapipe'); repeatable [default: all of wgpu]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// What it is run on.
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// The expression that it computes alpha's gradient by: a project (3dgs, gsplat-1.5, gsplat-main,
    /// brush, fastgs, taichi, slang) or fields as in 'buffer,final_t=one-minus-alpha' [default: as the
    /// manifest says, else 3dgs]
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Formulation>())]
    pub formulation: Option<Formulation>,
    /// How often your source rounds a term on its way into an intermediate of that expression: 0 to 64
    /// [default: as the manifest says, else as the formulation states]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
    /// Time in which an engine must answer, seconds; then it is killed, which is a finding [default: 240]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Processes of each engine that share the cases [default: 1: software drivers use every core]
    #[arg(long, value_name = "J", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(hide_default_value = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
    /// Folder for reproducers
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// What stops the build, and the files that CI systems read.
    #[command(flatten)]
    pub gate: GateArgs,
}

/// A checked `wgsl`.
#[derive(Debug)]
pub struct WgslPlan {
    file: PathBuf,
    kernel: Arc<WgslKernel>,
    engines: Vec<Found>,
    missing: Vec<Missing>,
    named: bool,
    subject: Subject,
    formulation: Formulation,
    limits: Limits,
    jobs: u16,
    out: PathBuf,
    gate: GatePlan,
}

impl WgslArgs {
    /// The program with its manifest: what is wrong with them is said before engines are looked for.
    ///
    /// # Errors
    /// What cannot be read, and where a text is wrong.
    pub fn read(&self) -> Result<Arc<WgslKernel>, CliError> {
        let source = text("wgsl", &self.file, "WGSL")?;
        let manifest = text("--manifest", &self.manifest, "a manifest")?;
        let kernel = user_wgsl::kernel(&source, &manifest);
        kernel.map_err(|error| match error {
            user_wgsl::WgslError::Manifest(problem) => {
                CliError::of(problem.in_file(&self.manifest))
            }
            user_wgsl::WgslError::Bind(error) => {
                let [file, manifest] = [&self.file, &self.manifest].map(|file| file.display());
                CliError::new(format!("{file} with {manifest}: {error}"))
            }
        })
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
        let formulation = self.formulation.or(manifest.formulation).unwrap_or_default();
        manifest_fits(manifest, Some(formulation))?;
        let formulation = match roundings(Some(manifest), self.extra_roundings)? {
            Some(extra) => formulation.with_extra_roundings(extra),
            None => formulation,
        };
        let channels = self.subject.channels.or(manifest.channels);
        let subject = SubjectArgs { channels, ..self.subject }.resolve()?;
        let named = !self.engine.is_empty();
        let mut engines = discovery.select(&self.engine).map_err(CliError::of)?;
        let other = engines.iter().find(|found| found.info.kind != EngineKind::Wgpu);
        if let (Some(other), true) = (other, named) {
            return Err(CliError::new(format!(
                "--engine {}: it runs no WGSL: name one of wgpu ('splatcheck devices' shows them)",
                other.spec.id()
            )));
        }
        engines.retain(|found| found.info.kind == EngineKind::Wgpu);
        if engines.is_empty() {
            return Err(CliError::new(
                "no engine of wgpu on this machine, so nothing was judged: run tests/setup to install \
                 drivers, and 'splatcheck devices' to see what is missing",
            ));
        }
        let usual = Limits::default();
        Ok(WgslPlan {
            file: self.file,
            kernel,
            engines,
            missing: discovery.in_vain(named).to_vec(),
            named,
            subject,
            formulation,
            limits: Limits { request: self.timeout.unwrap_or(usual.request), ..usual },
            jobs: self.jobs,
            out: paths::writable_folder("--out", &self.out)?,
            gate: self.gate.resolve()?,
        })
    }
}

/// The setting that a kernel's sums are bounded by: in any order, the longest chain of which is one term
/// after another.
const ANY_ORDER: Setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };

/// Starts an engine with a program, for one stage.
///
/// # Errors
/// Why it does not start any more, although it was found.
pub(super) fn contender(
    user: &UserWgsl,
    found: &Found,
    (stage, limits, jobs): (Stage, Limits, u16),
) -> Result<Contender<'static>, CliError> {
    let program = Program::find().map_err(CliError::of)?;
    let one = || {
        user.start(found, &program, limits)
            .map_err(|error| CliError::caused(format!("engine {}", found.spec.id()), error))
    };
    let first = one()?;
    let engine = match jobs {
        0 | 1 => first,
        jobs => {
            let others = (1..jobs).map(|_| one()).collect::<Result<_, _>>()?;
            Box::new(Team::new(first, others))
        }
    };
    Ok(Contender {
        id: found.spec.id().to_owned(),
        emulation: None,
        engine,
        stages: vec![stage],
        settings: vec![ANY_ORDER],
    })
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &WgslPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let stage = stage_of(plan.formulation);
    let no_files = |error| CliError::caused("no temporary folder", error);
    let user = UserWgsl::new(Arc::clone(&plan.kernel)).map_err(no_files)?;
    let mut reports = judge(plan, &user, stage)?;
    let files = write_all(&plan.out, &reports, &user)?;
    sarif::name_program(&mut reports, &plan.file.display().to_string());
    let names: Vec<_> = plan.kernel.manifest().launches.iter().map(|l| &*l.kernel).collect();
    writeln!(
        out,
        "{stage} is {} of {}, bounds for sums in any order, the widest; formulation {}; chain oracle\n",
        names.join(", "),
        plan.file.display(),
        described(plan.formulation)
    )?;
    out.write_all(report(&reports, &plan.missing, &files).as_bytes())?;
    if let Some(line) = plan.subject.left_out() {
        writeln!(out, "{line}")?;
    }
    let missing = if plan.named { &plan.missing[..] } else { &[] };
    plan.gate.conclude(&Evidence::new(&reports, missing), &files, out)
}

fn judge(plan: &WgslPlan, user: &UserWgsl, stage: Stage) -> Result<Vec<EngineReport>, CliError> {
    let rules = plan.kernel.manifest().rules;
    let changed =
        |case: &AnyCase| judged_in(&rules.applied_to(case, Reach::Raster), plan.formulation);
    // The first tells whether the manifest's expressions have values, which is its author's to mend.
    if let Some(first) = plan.subject.iter().next() {
        let case = changed(&first).map_err(CliError::of)?;
        let item = Item::of(case, 0, &|of| of == stage).map_err(CliError::of)?;
        if let Some(job) = item.job(stage) {
            plan.kernel.check_case(&job.inputs).map_err(CliError::of)?;
        }
    }
    let changed = |case: &AnyCase| changed(case).unwrap_or_else(|_| Arc::clone(case));
    let start = |found| contender(user, found, (stage, plan.limits, plan.jobs));
    let contenders = plan.engines.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let bar = progress_bar(plan.subject.count() * contenders.len() as u64);
    let minimize = |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| {
        plan.subject.smaller(item, &changed, fails)
    };
    let progress = |runs| bar.inc(runs);
    let policy = OneStage { subject: &plan.subject, stage };
    let hooks = Hooks { policy: &policy, ..Hooks::new(&minimize).observed(&progress) };
    let cases = views(plan.subject.iter().map(|case| changed(&case)));
    let reports = run_campaign(cases, contenders, hooks).map_err(CliError::of)?;
    bar.finish_and_clear();
    Ok(reports)
}

/// Writes the reproducers, each with the program.
fn write_all(
    folder: &Path,
    reports: &[EngineReport],
    user: &UserWgsl,
) -> Result<Vec<Vec<String>>, CliError> {
    let write = |finding| {
        let mut notes = reproducer::notes(finding);
        notes.extend(user.notes());
        write_case(folder, finding, &notes)
    };
    reports.iter().map(|report| report.findings.iter().map(write).collect()).collect()
}
