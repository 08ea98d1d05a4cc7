//! What came of a check, in words.

use std::fmt;
use std::path::PathBuf;
use std::slice;

use super::cases::Counted;
use splatcheck_judge::campaign::{EngineReport, Finding, Row, findings_by_fault};
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::io::{OF_CORPUS, Unread};
use splatcheck_judge::report::{and_zeros, finding_words};
use splatcheck_judge::verdict::{Tally, Verdict};
use splatcheck_judge::words::count;

/// Faults whose first finding is shown in full.
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
    pub(super) unread: Unread,
}

impl Report {
    /// The worst verdict of all runs; where none disagrees, not exercised if fewer than half of the cases that were
    /// to be drawn were, if a file of the corpus could not be read, or if zeros in place of an output would agree
    /// in every run.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.report.findings.is_empty() {
            false => Verdict::Disagree,
            true if self.counted.too_few() || self.unread() => Verdict::NotExercised,
            true => match self.report.verdict() {
                Verdict::Agree | Verdict::Inconclusive if self.gap().is_some() => {
                    Verdict::NotExercised
                }
                verdict => verdict,
            },
        }
    }

    fn unread(&self) -> bool {
        self.unread.gap(OF_CORPUS).is_some()
    }

    /// Why agreement is no pass.
    fn gap(&self) -> Option<String> {
        EngineReport::gaps(slice::from_ref(&self.report)).into_iter().next()
    }

    /// What was wrong, each kind once, the case made small.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// The findings' reproducers, in their order; empty for one that could not be written.
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
            Verdict::Agree => write!(
                f,
                "agree: {name}: {}, {}{}, largest error / bound {:.3}",
                count(runs, "run"),
                count(tally.elements(), "element"),
                and_zeros(tally.zeros),
                tally.sharpness.max
            )?,
            Verdict::Inconclusive => write!(
                f,
                "inconclusive: {name}: {} of {} elements have no finite bound, all others agree",
                tally.inconclusive,
                tally.elements()
            )?,
            Verdict::Disagree => {
                let wrong: u64 = self.rows().map(|row| row.count(Verdict::Disagree)).sum();
                write!(f, "DISAGREE: {name} is wrong in {wrong} of {}", count(runs, "run"))?;
            }
            Verdict::NotExercised if self.counted.too_few() => {
                let Counted { wanted, drawn } = self.counted;
                write!(f, "NOT EXERCISED: {name}: {drawn} of {wanted} cases were drawn")?;
            }
            Verdict::NotExercised if self.unread() && tally.elements() > 0 => {
                let why = self.unread.gap(OF_CORPUS).unwrap_or_default();
                write!(f, "NOT EXERCISED: {name}: no other case is wrong, but {why}")?;
            }
            Verdict::NotExercised => match self.gap() {
                Some(gap) => write!(f, "{name}: {gap}")?,
                None => write!(f, "NOT EXERCISED: {name}: no element was compared")?,
            },
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headline(f)?;
        let reports = slice::from_ref(&self.report);
        let faults = findings_by_fault(reports);
        let first = faults.iter().filter_map(|places| places.first().map(|&[_, number]| number));
        let shown: Vec<_> = first.take(SHOWN).collect();
        for &number in &shown {
            f.write_str(&finding_words(&self.report.findings[number]))?;
            let file = self.files[number].display().to_string();
            if !file.is_empty() {
                writeln!(f, "  run it again: add .case({file:?}) to the check")?;
            }
        }
        let all = self.report.findings.iter().zip(&self.files).enumerate();
        for (_, (finding, file)) in all.filter(|(number, _)| !shown.contains(number)) {
            writeln!(f, "\nalso: {} ({})", finding.fault, file.display())?;
        }
        if let Some(reason) = &self.report.given_up {
            writeln!(f, "NOT EXERCISED further: it was given up: {reason}")?;
        }
        self.unread.lines().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        for what in &self.without {
            writeln!(f, "NOT EXERCISED: {what}")?;
        }
        Ok(())
    }
}
