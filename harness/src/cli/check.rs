//! `splatcheck check`: judges every kernel on every engine.

use std::io::Write;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use splat_reference::convention::Convention;

use super::args::{CheckPlan, Subject};
use super::case::read_case;
use super::exit::{CliError, Outcome};
use super::judged::contender;
use super::scene::scene_case;
use crate::campaign::{Contender, EngineReport, Finding, Item, run as run_campaign};
use crate::case::Case;
use crate::engines::{Found, Program};
use crate::generators::draw;
use crate::io::corpus;
use crate::minimize::{drop_gaussians, shrink};
use crate::report::report;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; that no engine is there to judge is one too, because nothing judged must not
/// look like a pass.
pub fn run(plan: &CheckPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    // The files first: what is wrong with them is said even where no engine is.
    let cases = Cases::new(plan)?;
    let contenders = start(plan)?;
    let bar = progress_bar(contenders.iter().map(|contender| cases.runs(contender)).sum());
    let minimize =
        |item: &Item, fails: &mut dyn FnMut(&Case) -> bool| match cases.random(&item.case) {
            Some(index) => shrink(cases.draw(index), fails),
            None => drop_gaussians(&item.case, fails),
        };
    let reports = run_campaign(cases.iter(), contenders, &minimize, &|runs| bar.inc(runs));
    bar.finish_and_clear();
    let reports = reports.map_err(CliError::new)?;
    conclude(&reports, plan, out)
}

/// Writes the reproducers and the report.
fn conclude(
    reports: &[EngineReport],
    plan: &CheckPlan,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let files: Vec<Vec<String>> = reports
        .iter()
        .map(|report| {
            report.findings.iter().map(|finding| reproducer(&plan.out, finding)).collect()
        })
        .collect::<Result<_, CliError>>()?;
    out.write_all(report(reports, &plan.discovery.missing, &files).as_bytes())?;
    if let Subject::Campaign { corpus: None, .. } = plan.subject {
        writeln!(
            out,
            "NOT EXERCISED: the corpus: no folder corpora/scenes here (--corpus names another)"
        )?;
    }
    let missing = if plan.named { &[] } else { plan.discovery.missing.as_slice() };
    plan.gate.conclude(reports, missing, &files, out)
}

/// Writes a finding's reproducer; returns its path.
fn reproducer(folder: &Path, finding: &Finding) -> Result<String, CliError> {
    let path = crate::reproducer::write(folder, finding)
        .map_err(|error| CliError::caused("cannot write a reproducer", error))?;
    Ok(path.display().to_string())
}

/// Starts the plan's engines, each in its own process.
fn start(plan: &CheckPlan) -> Result<Vec<Contender<'static>>, CliError> {
    if plan.engines.is_empty() {
        return Err(CliError::new(
            "no engine on this machine, so nothing was judged: run tests/setup to install \
             drivers, and 'splatcheck devices' to see what is missing",
        ));
    }
    let program = Program::find().map_err(CliError::new)?;
    let settings = |found: &Found| plan.settings(found.info.lane_width);
    plan.engines.iter().map(|found| contender(found, &program, settings(found))).collect()
}

/// A bar on standard error; nothing where that is no terminal.
fn progress_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// The cases of a plan: those in files, then random ones.
struct Cases {
    filed: Vec<Case>,
    random: u64,
    seed: u64,
    convention: Convention,
}

impl Cases {
    fn new(plan: &CheckPlan) -> Result<Self, CliError> {
        let caused = |error| CliError::caused("cannot read the case", error);
        let mut cases = Self { filed: Vec::new(), random: 0, seed: 0, convention: plan.convention };
        match &plan.subject {
            Subject::Case(path) => cases.filed.push(read_case(path, None)?),
            Subject::Scene(scene) => cases.filed = scene_case(scene, &plan.convention)?,
            Subject::Campaign { corpus, cases: random, seed } => {
                if let Some(folder) = corpus {
                    cases.filed = corpus::read_corpus(folder).map_err(caused)?;
                }
                (cases.random, cases.seed) = (u64::from(*random), *seed);
            }
        }
        Ok(cases)
    }

    /// Number of runs that an engine makes. A random case is seen by one camera.
    fn runs(&self, contender: &Contender<'_>) -> u64 {
        let filed = self.filed.iter().map(|case| contender.runs(case.scene.cameras.len()));
        filed.sum::<u64>() + self.random * contender.runs(1)
    }

    fn draw(&self, index: u64) -> crate::generators::CaseTree {
        draw(self.convention.profile, self.seed, index)
    }

    fn iter(&self) -> impl Iterator<Item = Result<(Case, usize), String>> + '_ {
        let filed = self.filed.iter().flat_map(|case| {
            (0..case.scene.cameras.len()).map(move |camera| Ok((case.clone(), camera)))
        });
        filed.chain((0..self.random).map(|index| Ok((self.draw(index).current(), 0))))
    }

    /// The number of a random case, by its name.
    fn random(&self, case: &Case) -> Option<u64> {
        let index = case.name.strip_prefix(&format!("typical-{}-", self.seed))?;
        index.parse().ok().filter(|&index| index < self.random)
    }
}
