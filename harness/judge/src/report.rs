//! The text report: the verdict, what it rests on, what was not judged, and every finding.

pub mod devices;
mod finding;
mod left_out;
pub mod page;
pub mod reproducer;
mod rows;

use crate::campaign::{EngineReport, Finding};
use crate::engines::Missing;
use crate::interrupt;
use crate::verdict::{Tally, Verdict};
use crate::words::count;
use std::path::Path;

pub use finding::{finding_words, findings_text};
pub use rows::ratio_text;
pub use rows::verdicts;

/// How much a report says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The verdict and the findings.
    Verdict,
    /// Also a line for each engine, and the reasons why something was not judged.
    #[default]
    Engines,
    /// Also a line for every stage and reduction of an engine, and for everything that was not judged.
    Rows,
}

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The engines that were judged.
    pub reports: &'a [EngineReport],
    /// The engines that were not there.
    pub missing: &'a [Missing],
    /// The findings' reproducers, engine by engine.
    pub files: &'a [Vec<String>],
    /// What was judged, and as what: lines below the verdict.
    pub about: &'a [String],
    /// What else was not judged: lines below what the engines left out.
    pub notes: &'a [String],
    /// Why agreement is no pass: what was asked for and could not be judged.
    pub gaps: &'a [String],
    /// What the verdict does not speak of, because nobody wanted it looked for: words of its line.
    pub not_sought: Option<&'a str>,
}

impl<'a> Report<'a> {
    /// Of engines alone.
    #[must_use]
    pub fn new(
        reports: &'a [EngineReport],
        missing: &'a [Missing],
        files: &'a [Vec<String>],
    ) -> Self {
        Self { reports, missing, files, about: &[], notes: &[], gaps: &[], not_sought: None }
    }

    /// The report: the verdict first, the findings last.
    #[must_use]
    pub fn text(&self, detail: Detail) -> String {
        let Self { reports, missing, files, about, notes, .. } = *self;
        let mut text = self.verdict_line();
        let below = match detail {
            Detail::Verdict => None,
            Detail::Engines => Some((String::new(), left_out::grouped(reports, missing))),
            Detail::Rows => {
                let rows = format!("\n{}", verdicts(reports));
                Some((rows, left_out::all(reports, missing)))
            }
        };
        if let Some((rows, left_out)) = below {
            about.iter().for_each(|line| text += &format!("{line}\n"));
            text += &format!("\n{}{rows}", rows::engines(reports));
            text += &rows::by_threshold(reports);
            text += &rows::deaths(reports);
            text += &left_out;
            EngineReport::blind(reports).iter().for_each(|line| text += &format!("{line}\n"));
            notes.iter().for_each(|line| text += &format!("{line}\n"));
        }
        text + &findings_text(reports, files)
    }

    /// One line with the worst verdict, which is of what could be judged.
    fn verdict_line(&self) -> String {
        let Self { reports, missing, gaps, not_sought, .. } = *self;
        let worst = EngineReport::worst(reports);
        let in_part =
            worst == Verdict::Agree && !(gaps.is_empty() && EngineReport::gaps(reports).is_empty());
        let verdict = format!("{worst}{}", if in_part { IN_PART } else { "" });
        let verdict = if interrupt::is_asked() { interrupt::until_then(&verdict) } else { verdict };
        let runs: u64 = reports.iter().map(EngineReport::runs).sum();
        let tallies = || reports.iter().flat_map(|r| r.rows.values()).map(|row| &row.tally);
        let elements: u64 = tallies().map(Tally::elements).sum();
        let zeros: u64 = tallies().map(|tally| tally.zeros).sum();
        let given_up = reports.iter().filter(|r| r.given_up.is_some()).map(|r| r.id.as_str());
        let lost = missing.iter().filter(|m| m.lost).map(|m| m.candidate.as_str());
        let named = |what: &str, names: Vec<&str>| match names.is_empty() {
            true => String::new(),
            false => format!("; {what}: {}", names.join(", ")),
        };
        let without = named("given up", given_up.collect()) + &named("lost", lost.collect());
        let not_sought = not_sought.map_or_else(String::new, |what| format!("; {what}"));
        format!(
            "{verdict}: {}, {}, {}{without}{not_sought}\n",
            count(reports.len(), "engine"),
            count(runs, "run"),
            compared(elements, zeros)
        )
    }
}

/// Behind the verdict of what agrees and is not judged as a whole.
pub const IN_PART: &str = " on what could be judged";

/// How many elements were compared.
pub(crate) fn compared(elements: u64, zeros: u64) -> String {
    format!("{} compared{}", count(elements, "element"), and_zeros(zeros))
}

/// How many elements there are besides that nothing adds to: they say nothing.
pub fn and_zeros(zeros: u64) -> String {
    match zeros {
        0 => String::new(),
        1 => ", and 1 element that nothing adds to".to_owned(),
        zeros => format!(", and {zeros} elements that nothing adds to"),
    }
}

/// The path of a finding's reproducer in `folder`.
#[must_use]
pub fn reproducer_path(folder: &Path, finding: &Finding) -> std::path::PathBuf {
    folder.join(format!("{}.safetensors", finding.file_stem()))
}
