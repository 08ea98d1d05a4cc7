//! What came of a check, in words.

use std::fmt;
use std::path::PathBuf;

use super::cases::Counted;
use crate::campaign::{EngineReport, Finding, Row};
use crate::diagnosis::Diagnosis;
use crate::report::finding_words;
use crate::verdict::{Tally, Verdict};

/// Findings whose words are shown; the others are counted.
const SHOWN: usize = 3;

/// What came of a check.
#[derive(Debug)]
pub struct Report {
    pub(super) name: String,
    pub(super) promise: String,
    /// How many of the cases that were to be drawn were.
    pub(super) counted: Counted,
    pub(super) report: EngineReport,
    pub(super) files: Vec<PathBuf>,
    pub(super) without: Vec<String>,
}

impl Report {
    /// The worst verdict of all runs; not exercised where fewer than half of the cases that were to be drawn
    /// were.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.report.findings.is_empty() {
            false => Verdict::Disagree,
            true if self.counted.too_few() => Verdict::NotExercised,
            true => self.report.verdict(),
        }
    }

    /// What was wrong, each kind once, the case made small.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// The findings' reproducers, in their order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The counts of all runs.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut all = Tally::default();
        self.rows().for_each(|row| all.merge(&row.tally));
        all
    }

    /// How many runs were judged.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.rows().flat_map(|row| row.runs.values()).sum()
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.report.rows.values()
    }

    /// Whether nothing is wrong, and something was compared.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self.verdict() {
            Verdict::Agree | Verdict::Inconclusive => true,
            Verdict::Disagree | Verdict::NotExercised => false,
        }
    }

    /// Panics with the report where it does not pass.
    ///
    /// # Panics
    /// The kernel disagrees, or nothing was compared.
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.passes(), "{self}");
    }

    /// What it may have got wrong: what explains a finding, else what was tried on the first.
    fn diagnosis(&self) -> Option<&Diagnosis> {
        let mut known =
            self.report.findings.iter().filter_map(|finding| finding.diagnosis.as_ref());
        known.clone().find(|known| known.explained).or_else(|| known.next())
    }

    fn headline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, tally, runs) = (&self.name, self.tally(), self.runs());
        match self.verdict() {
            Verdict::Agree => {
                let (runs, elements) = (counted(runs, "run"), counted(tally.elements(), "element"));
                let largest = tally.sharpness.max;
                write!(f, "agree: {name}: {runs}, {elements}, largest error / bound {largest:.3}")?;
            }
            Verdict::Inconclusive => write!(
                f,
                "inconclusive: {name}: {} of {} elements have no finite bound, all others agree",
                tally.inconclusive,
                tally.elements()
            )?,
            Verdict::Disagree => {
                let wrong: u64 = self.rows().map(|row| row.count(Verdict::Disagree)).sum();
                write!(f, "DISAGREE: {name} is wrong in {wrong} of {}", counted(runs, "run"))?;
            }
            Verdict::NotExercised if self.counted.too_few() => {
                let Counted { wanted, drawn } = self.counted;
                write!(f, "NOT EXERCISED: {name}: {drawn} of {wanted} cases were drawn")?;
            }
            Verdict::NotExercised => write!(f, "NOT EXERCISED: {name}: no element was compared")?,
        }
        let Counted { wanted, drawn } = self.counted;
        if drawn < wanted && !self.counted.too_few() {
            write!(f, ", with {drawn} of {wanted} cases that were to be drawn")?;
        }
        write!(f, " ({})", self.promise)?;
        match self.diagnosis() {
            Some(diagnosis) => writeln!(f, ": {diagnosis}"),
            None => writeln!(f),
        }
    }
}

/// A number of things.
fn counted(count: u64, one: &str) -> String {
    let more = if count == 1 { "" } else { "s" };
    format!("{count} {one}{more}")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headline(f)?;
        let findings = self.report.findings.iter().zip(&self.files);
        for (finding, file) in findings.clone().take(SHOWN) {
            f.write_str(&finding_words(finding))?;
            writeln!(
                f,
                "  run it again: add .case({:?}) to the check",
                file.display().to_string()
            )?;
        }
        for (finding, file) in findings.skip(SHOWN) {
            writeln!(f, "\nalso: {} ({})", finding.fault, file.display())?;
        }
        if let Some(reason) = &self.report.given_up {
            writeln!(f, "NOT EXERCISED further: it was given up: {reason}")?;
        }
        for what in &self.without {
            writeln!(f, "NOT EXERCISED: {what}")?;
        }
        Ok(())
    }
}
