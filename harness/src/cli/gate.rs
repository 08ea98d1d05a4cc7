//! The options of a gate, and carrying them out: which verdicts stop a build, and the files that CI
//! systems read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{CliError, Outcome};
use super::paths;
use super::stale;
use splatcheck_judge::gate::{
    Conclusion, Evidence, FailOn, Gate, KnownFailures, Provenance, Summary, junit, sarif,
    step_summary,
};
use splatcheck_judge::io::date;

/// A verdict that stops the build, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOnName {
    /// a kernel disagrees or gives no result (always fails)
    Disagree,
    /// a bound is infinite: the kernel could have returned anything there
    Inconclusive,
    /// something that was asked for did not run: no engine for the WGSL or the CUDA kernels, an engine was
    /// given up, a stage was not run or had nothing to compare, a limit left runs out
    NotExercised,
}

/// Options of a gate, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "In CI")]
pub struct GateArgs {
    /// Exit with code 1 on this as well; repeatable, or separated by commas
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOnName>,
    /// Known failures of a driver, which do not fail the run (.toml). If one of them passes again, the run fails
    #[arg(long, value_name = "FILE")]
    pub known_failures: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the findings as SARIF, for GitHub's code scanning and editors
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Append the report as Markdown, for GitHub's page of a step
    #[arg(long, value_name = "FILE")]
    pub step_summary: Option<PathBuf>,
    /// The words of the command line, which reports name.
    #[arg(skip)]
    pub command: Vec<String>,
}

/// A checked gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatePlan {
    /// What stops the build.
    pub gate: Gate,
    /// A .json in a folder that can be written to.
    pub json: Option<PathBuf>,
    /// An .xml in a folder that can be written to.
    pub junit: Option<PathBuf>,
    /// A .sarif in a folder that can be written to.
    pub sarif: Option<PathBuf>,
    /// A file to append to.
    pub step_summary: Option<PathBuf>,
    /// What is judged.
    pub run: Provenance,
}

impl GateArgs {
    /// Checks every option and reads the known failures.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<GatePlan, CliError> {
        let known = self.known_failures.as_deref().map(read_known).transpose()?;
        let fail_on = |name: FailOnName| match name {
            FailOnName::Disagree => FailOn::Disagree,
            FailOnName::Inconclusive => FailOn::Inconclusive,
            FailOnName::NotExercised => FailOn::NotExercised,
        };
        let fail_on = self.fail_on.into_iter().map(fail_on).collect();
        let writable = |option, path: Option<PathBuf>, extension| {
            path.map(|path| paths::writable_file(option, &path, extension)).transpose()
        };
        Ok(GatePlan {
            gate: Gate { fail_on, known: known.unwrap_or_default() },
            json: writable("--json", self.json, "json")?,
            junit: writable("--junit", self.junit, "xml")?,
            sarif: writable("--sarif", self.sarif, "sarif")?,
            step_summary: self.step_summary.as_deref().map(page_of_step).transpose()?,
            run: Provenance { command: self.command, ..Provenance::default() },
        })
    }
}

/// The variable that names GitHub's page of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// That a page can be appended to, and that it is one: a text of another kind is not to be spoiled.
fn page_of_step(path: &Path) -> Result<PathBuf, CliError> {
    let refuse = |what: &str| CliError::new(format!("--step-summary {}: {what}", path.display()));
    let named = std::env::var_os(STEP_SUMMARY).is_some_and(|named| Path::new(&named) == path);
    let is_page = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    match fs::metadata(path) {
        Ok(file) if file.is_dir() => return Err(refuse("is a folder, expected a file")),
        // A pipe would wait for its reader; those that this process has have one.
        Ok(file) if !file.is_file() && !is_own_stream(path) => {
            return Err(refuse("is no ordinary file"));
        }
        Ok(file) if file.len() > 0 && !named && !is_page => {
            return Err(refuse(
                "holds something already, and Markdown would be appended to it: name a new file, one that \
                 ends in .md, or the one of $GITHUB_STEP_SUMMARY",
            ));
        }
        Ok(_) => {
            let appended = OpenOptions::new().append(true).open(path);
            appended.map_err(|e| CliError::caused(refuse("cannot append").to_string(), e))?;
        }
        Err(_) => drop(paths::writable_place("--step-summary", path)?),
    }
    Ok(path.to_owned())
}

/// Whether a path is a stream that this process has open, as `/dev/stdout`.
fn is_own_stream(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr", "/dev/null"].iter().any(|own| path == Path::new(own))
        || path.parent() == Some(Path::new("/dev/fd"))
}

/// Writes findings as SARIF, if a file for them is named.
///
/// # Errors
/// The file cannot be written.
fn write_sarif(
    path: Option<&Path>,
    findings: &[sarif::Finding],
    failures: &[String],
    run: &Provenance,
) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    let text = sarif::text(findings, failures, run, &sarif::Base::find());
    splatcheck_judge::io::write::write_file(path, text.as_bytes())
        .map_err(|error| CliError::caused("cannot write the report", error))
}

fn read_known(path: &Path) -> Result<KnownFailures, CliError> {
    let text = paths::text("--known-failures", path)?;
    let what = || format!("--known-failures: cannot read {}", path.display());
    KnownFailures::parse(&text).map_err(|e| CliError::caused(what(), e))
}

/// Prints what the report does not say.
fn tell(conclusion: &Conclusion, out: &mut dyn Write) -> io::Result<()> {
    for excused in &conclusion.excused {
        writeln!(out, "KNOWN FAILURE: {excused}")?;
    }
    for reason in &conclusion.reasons {
        writeln!(out, "FAILS: {reason}")?;
    }
    out.flush()
}

impl GatePlan {
    /// The gate of what is judged: its reports name it.
    #[must_use]
    pub fn of(self, run: Provenance) -> Self {
        let command = self.run.command;
        Self { run: Provenance { command, ..run }, ..self }
    }

    /// The gate whose reports have these lines of the text report too: as what was judged, and what else
    /// was not judged.
    #[must_use]
    pub fn told(&self, about: &[String], notes: &[String]) -> Self {
        Self { run: self.run.clone().told(about, notes), ..self.clone() }
    }

    /// Writes the files, prints what the report does not say, and decides the outcome. `files` are
    /// the findings' reproducers, engine by engine.
    ///
    /// # Errors
    /// A file that cannot be written; see [`Conclusion::outcome`](splatcheck_judge::gate::Conclusion::outcome).
    pub fn conclude(
        &self,
        evidence: &Evidence<'_>,
        files: &[Vec<String>],
        out: &mut dyn Write,
    ) -> Result<Outcome, CliError> {
        let conclusion = self.gate.conclude(evidence);
        let run = Provenance { date: Some(date::now()), ..self.run.clone() };
        let summary = Summary::new(&self.gate, &conclusion, evidence, files).of(run);
        let told = self.write(&summary).and_then(|()| Ok(tell(&conclusion, out)?));
        if told.is_err() {
            stale::remove_own([&self.json, &self.junit, &self.sarif]);
        }
        told?;
        Ok(conclusion.outcome()?)
    }

    fn write(&self, summary: &Summary) -> Result<(), CliError> {
        let write = |path: &Option<PathBuf>, text: String| match path {
            Some(path) => splatcheck_judge::io::write::write_file(path, text.as_bytes())
                .map_err(|error| CliError::caused("cannot write the report", error)),
            None => Ok(()),
        };
        write(&self.json, summary.json())?;
        write(&self.junit, junit(summary))?;
        let failures = if summary.pass { &[] } else { &*summary.reasons };
        write_sarif(self.sarif.as_deref(), &sarif::findings(summary), failures, &summary.run)?;
        let Some(path) = &self.step_summary else { return Ok(()) };
        // GitHub's file is shared by the commands of a step, so it is appended to.
        let appended = OpenOptions::new().create(true).append(true).open(path);
        appended.and_then(|mut file| file.write_all(step_summary(summary).as_bytes())).map_err(
            |error| {
                CliError::caused(
                    format!("--step-summary: cannot append to {}", path.display()),
                    error,
                )
            },
        )
    }
}
