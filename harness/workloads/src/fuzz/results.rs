//! What a campaign, or one part of it, came to: for people as text, for `merge` as a file.

use super::record::{self, Campaign, RESULT, Record, ResultError, Results};
use super::shard::Shard;
use splatcheck_judge::campaign::EngineReport;
use splatcheck_judge::case_space::Run;
use splatcheck_judge::coverage::Coverage;
use splatcheck_judge::gate::Provenance;
use splatcheck_judge::io::InputError;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::report::{Detail, Report, reproducer, reproducer_path};
use splatcheck_judge::words::{count, list};
use splatcheck_judge::workload::generator;
use std::path::Path;

/// The text report's.
pub const REPORT: &str = "report.txt";

impl Results {
    /// The reproducers in `folder` of every engine's findings.
    #[must_use]
    pub fn files(&self, folder: &Path) -> Vec<Vec<String>> {
        let path = |finding| reproducer_path(folder, finding).display().to_string();
        self.reports.iter().map(|report| report.findings.iter().map(path).collect()).collect()
    }

    /// The text report; findings are in `folder`.
    #[must_use]
    pub fn text(&self, folder: &Path, detail: Detail) -> String {
        let about: Vec<_> = self.plan.described().collect();
        let mut notes = match detail {
            Detail::Verdict => Vec::new(),
            Detail::Engines => self.maps_in_short(),
            Detail::Rows => self.maps(),
        };
        notes.extend(self.not_drawn().chain(self.not_there()));
        notes.push(self.share());
        let files = self.files(folder);
        let report = Report::new(&self.reports, &self.missing, &files);
        Report { about: &about, notes: &notes, ..report }.text(detail)
    }

    /// How many cases and runs are in it, and of which part of the campaign they are.
    fn share(&self) -> String {
        let runs: u64 = self.reports.iter().map(EngineReport::runs).sum();
        let part = match self.shard {
            Shard::WHOLE => String::new(),
            part => format!(" of part {part}"),
        };
        let absent: u64 = self.absent.iter().map(|part| part.share(self.reached)).sum();
        let cases = count(self.shard.share(self.reached) - absent, "case");
        format!("{cases}{part}, {}", count(runs, "run"))
    }

    /// How much of what there is to meet the cases met, a line each.
    fn maps_in_short(&self) -> Vec<String> {
        let met = |(engine, coverage): (&String, &Coverage)| {
            let [met, all] = coverage.count();
            format!("{engine}: {met} of {all} ways in which lanes can meet in a reduction seen")
        };
        let space = self.space.line(&self.plan.workload().axes(), Run::Campaign);
        self.coverage.iter().map(met).chain([space]).collect()
    }

    /// All of it, and the generators that were not drawn from or only in part.
    fn maps(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (engine, coverage) in &self.coverage {
            notes.push(format!("\n{engine}: {}", coverage.text().trim_end()));
        }
        let space = self.space.text(&self.plan.workload().axes(), Run::Campaign);
        notes.push(format!("\n{}", space.trim_end()));
        notes.extend(self.not_all_drawn());
        notes
    }

    /// The parts that are not in it.
    fn not_there(&self) -> impl Iterator<Item = String> {
        let names: Vec<_> = self.absent.iter().map(Shard::to_string).collect();
        (!names.is_empty())
            .then(|| format!("NOT JUDGED: the cases of part {}", list(&names)))
            .into_iter()
    }

    /// The generators that could not be drawn from.
    fn not_drawn(&self) -> impl Iterator<Item = String> + '_ {
        self.not_drawn.iter().map(|name| {
            let needs = generator(self.plan.workload(), name).map_or(&[][..], |g| g.needs);
            format!("NOT EXERCISED: {name}: there is no {}", needs.join(", "))
        })
    }

    /// The generators that were not to be drawn from, or only for some stages.
    fn not_all_drawn(&self) -> Vec<String> {
        let unused = self.plan.unused();
        let unused = unused.map(|one| format!("NOT EXERCISED: {}: {}", one.name, one.purpose));
        let in_part = self.plan.left_out().into_iter().map(|(stages, generators)| {
            let stages: Vec<_> = stages.iter().map(|stage| stage.name).collect();
            let (stages, generators) = (stages.join(", "), generators.join(", "));
            format!(
                "NOT EXERCISED: {stages} on the cases of {generators}: their bounds may be infinite there"
            )
        });
        unused.chain(in_part).collect()
    }

    /// A report of the campaign: what was drawn, and what was not. That of a part says which one it is, or it would
    /// pass for the whole.
    #[must_use]
    pub fn told(&self, run: Provenance) -> Provenance {
        let part = (self.shard != Shard::WHOLE).then(|| self.share());
        let about = [self.campaign().to_string()].into_iter().chain(part);
        let about: Vec<_> = about.chain(self.plan.described()).collect();
        let notes: Vec<_> =
            self.not_drawn().chain(self.not_there()).chain(self.not_all_drawn()).collect();
        let run = Provenance { seed: Some(self.plan.seed()), ..run };
        run.told(&about, &notes)
    }

    /// Moves the result file and the text report of an earlier campaign aside, as
    /// [`reproducer::set_aside`] does reproducers.
    ///
    /// # Errors
    /// A file that cannot be moved.
    pub fn set_aside(folder: &Path) -> Result<(), InputError> {
        let [result, report] = [RESULT, REPORT].map(|name| folder.join(name));
        if !record::is_one(&result) {
            return Ok(());
        }
        let mut there = [report, result].into_iter().filter(|file| file.is_file());
        there.try_for_each(|file| reproducer::move_aside(folder, &file))
    }

    /// Writes the result file and the text report into `folder`; the report names findings in `shown`.
    ///
    /// # Errors
    /// A file that cannot be written; the result file comes last, so where it is, all is. Where parts could not
    /// be read there is none: it would be taken for the whole.
    pub fn write(&self, folder: &Path, shown: &Path) -> Result<(), InputError> {
        write_file(&folder.join(REPORT), self.text(shown, Detail::Rows).as_bytes())?;
        if self.is_whole() {
            write_file(&folder.join(RESULT), Record::new(self).json().as_bytes())?;
        }
        Ok(())
    }

    /// Whether the cases of every part are in it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.absent.is_empty()
    }

    /// Reads the result file of `folder` and the cases of its findings.
    ///
    /// # Errors
    /// Names the file, and what is wrong with it.
    pub fn read(folder: &Path) -> Result<Self, ResultError> {
        record::read(folder)
    }

    pub(super) fn campaign(&self) -> Campaign {
        Campaign::new(&self.plan, self.cases)
    }
}
