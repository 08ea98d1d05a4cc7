//! `splatcheck report`: a run as one HTML file.

mod pictures;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{CliError, Outcome};
use super::traffic::part::Part;
use super::{paths, provenance};
use splatcheck_judge::coverage::Coverage;
use splatcheck_judge::gate::{Evidence, Gate, Summary};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::report::page::{Curves, Page};
use splatcheck_workloads::fuzz::{RESULT, Results};

/// Options of `report`, as typed.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// What a command wrote with --json, or the folder of a fuzz or merge, which has a result.json
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// What splatcheck traffic wrote with --json: its counts are shown too
    #[arg(long, value_name = "FILE")]
    pub traffic: Option<PathBuf>,
    /// The file to write (.html)
    #[arg(short, long, value_name = "FILE", default_value = "splatcheck.html")]
    pub output: PathBuf,
}

/// A checked `report`.
#[derive(Clone, Debug)]
pub struct ReportPlan {
    page: Page,
    output: PathBuf,
}

impl ReportArgs {
    /// Reads the run.
    ///
    /// # Errors
    /// A file that is missing or was not written by `--json`, with the line of the first error.
    pub fn resolve(self) -> Result<ReportPlan, CliError> {
        let output = paths::writable_file("--output", &self.output, "html")?;
        let (summary, coverage) = match self.run.is_dir() {
            true => of_campaign(&self.run)?,
            false => (of_file(&self.run)?, BTreeMap::new()),
        };
        let traffic = self.traffic.as_deref().map(curves).transpose()?.unwrap_or_default();
        let pictures = summary.engines.iter();
        let pictures = pictures.map(|engine| engine.findings.iter().map(pictures::of).collect());
        let pictures = pictures.collect();
        let page = Page { pictures, summary: summary.shown(), coverage, traffic };
        Ok(ReportPlan { page, output })
    }
}

/// A folder with the result of a campaign.
fn of_campaign(folder: &Path) -> Result<(Summary, BTreeMap<String, Coverage>), CliError> {
    paths::text_name("RUN", folder)?;
    if !folder.join(RESULT).is_file() {
        return Err(CliError::new(format!(
            "{}: it has no {RESULT}: a fuzz with --cases writes one, any run writes a report with \
             --json FILE",
            folder.display()
        )));
    }
    let results = Results::read(folder).map_err(CliError::of)?;
    let gate = Gate::default();
    let evidence = Evidence::new(&results.reports, &results.missing);
    let conclusion = gate.conclude(&evidence);
    let summary = Summary::new(&gate, &conclusion, &evidence, &results.files(folder));
    let summary = summary.of(results.told(provenance::of_reports(&results.reports)));
    Ok((summary, results.coverage))
}

/// A file that `--json` wrote.
fn of_file(file: &Path) -> Result<Summary, CliError> {
    let text = paths::text("", file)?;
    let summary: Summary = serde_json::from_str(&text).map_err(|error| {
        let what = format!("{}: no report that --json of this version wrote", file.display());
        CliError::caused(what, error)
    })?;
    summary.check().map_err(|problem| CliError::of(problem.in_file(file)))?;
    Ok(summary)
}

/// A chart for each part: each reduction's operations on memory, as a share of those of `atomic`.
fn curves(file: &Path) -> Result<Vec<Curves>, CliError> {
    let parts: Vec<Part> =
        serde_json::from_str(&paths::text("--traffic", file)?).map_err(|error| {
            let what = format!("{}: not what 'splatcheck traffic --json' writes", file.display());
            CliError::caused(what, error)
        })?;
    Ok(parts.iter().map(Part::curves).collect())
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &ReportPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let html = plan.page.html().map_err(CliError::of)?;
    write_file(&plan.output, html.as_bytes()).map_err(CliError::of)?;
    let verdict = &plan.page.summary.verdict;
    writeln!(out, "{}: {verdict}, {} KiB", plan.output.display(), html.len().div_ceil(1024))?;
    Ok(Outcome::Agree)
}
