//! `splatcheck ptx`: judges a user's own kernel, of the backward rasterization or of its manifest's stage.

mod interface;
mod judged_as;
mod observe;
mod options;
mod read;
mod save;
pub(super) mod subject;

pub use judged_as::{JudgedAs, Reduced};
pub use options::{PtxArgs, PtxPlan};
pub(super) use options::{adds_up, manifest_fits, roundings, without_formulations};
pub use read::heading;
pub(super) use read::read_kernel;
pub(super) use read::read_manifest;
pub(super) use subject::For;
pub use subject::{Subject, SubjectArgs};

use std::io::Write;

use splatcheck_gpu::emulator::Noted;
use splatcheck_gpu::{Engine, EngineError, Stage};
use splatcheck_reference::splat::Formulation;

use super::exit::{CliError, Outcome};
use super::expect;
use super::formulation::{Judging, Trial, grouping, judge_in};
use super::output::Progress;
use super::reproducer::Reproducers;
use super::trials::Trials;
use crate::manifest::Manifest;
use crate::user_kernel::UserProgram;
use splatcheck_judge::campaign::merge::join_seeds;
use splatcheck_judge::campaign::{Contender, EngineReport, Item};
use splatcheck_judge::engines::{Emulation, Team};
use splatcheck_judge::gate::{Evidence, sarif};
use splatcheck_judge::report::Report;
use splatcheck_judge::threads::Pool;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::formulated::described;

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
    let (asked, counted) = (&plan.formulation, plan.counted);
    let mut judged =
        judge_in(Judging::User(&plan.kernel), asked, counted, |formulation, trial| {
            pool.install(|| Run::new(plan, formulation).judge(trial, &|runs| bar.inc(runs)))
        })?;
    bar.finish_and_clear();
    if let Some(file) = &plan.save {
        save::judged(plan, judged.formulation, file)?;
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
    let compiled = match plan.kernel.flushes() {
        true => "; bounds of --fast-math, since it was compiled so (.ftz)",
        false => "",
    };
    let heading = format!("{heading}{formulation}; chain oracle{compiled}");
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
    let not_exercised = plan.subject.not_drawn();
    let evidence = Evidence { gaps, not_exercised, ..Evidence::new(&reports, &[]) };
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
