//! What became of the mutants, in words.

use super::{Fate, Record};
use crate::table::table;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What the mutants of one kernel, or of all, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Noticed by somebody.
    pub killed: usize,
    /// Noticed by nobody, and argued to be equivalent.
    pub equivalent: usize,
    /// Noticed by nobody, without an argument.
    pub survived: usize,
    /// Not parsed by the emulator.
    pub refused: usize,
}

impl Score {
    fn add(&mut self, record: &Record) {
        match &record.fate {
            Fate::Killed { .. } => self.killed += 1,
            Fate::Survived if record.equivalent.is_some() => self.equivalent += 1,
            Fate::Survived => self.survived += 1,
            Fate::Refused { .. } => self.refused += 1,
        }
    }

    /// Mutants that were run.
    #[must_use]
    pub fn mutants(&self) -> usize {
        self.killed + self.equivalent + self.survived
    }

    /// The killed of those that are not equivalent, in percent; nothing to kill is all killed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn percent(&self) -> f64 {
        let all = self.killed + self.survived;
        if all == 0 { 100.0 } else { 100.0 * self.killed as f64 / all as f64 }
    }
}

/// The score of all mutants.
#[must_use]
pub fn score(records: &[Record]) -> Score {
    let mut score = Score::default();
    records.iter().for_each(|record| score.add(record));
    score
}

/// A line for each kernel, and one for all.
#[must_use]
pub fn score_table(records: &[Record]) -> String {
    let mut kernels: BTreeMap<&str, Score> = BTreeMap::new();
    for record in records {
        kernels.entry(&record.kernel).or_default().add(record);
    }
    let head = ["kernel", "mutants", "killed", "equivalent", "survived", "refused", "score"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (kernel, score) in kernels.into_iter().chain([("all", score(records))]) {
        let Score { killed, equivalent, survived, refused } = score;
        let counts = [score.mutants(), killed, equivalent, survived, refused];
        let mut row = vec![kernel.to_owned()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(format!("{:.1} %", score.percent()));
        rows.push(row);
    }
    table(&rows)
}

/// The mutants that survived and are not argued to be equivalent.
pub fn survivors(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|r| r.fate == Fate::Survived && r.equivalent.is_none())
}

/// The survivors by kernel and line, with the instruction and every change that nobody noticed;
/// `sources` says what a line of a CUDA source holds, where the PTX names it.
#[must_use]
pub fn survivor_list(records: &[Record], sources: &dyn Fn(&str) -> Option<String>) -> String {
    let mut lines: BTreeMap<(&str, u32), Vec<&Record>> = BTreeMap::new();
    for record in survivors(records) {
        lines.entry((&record.kernel, record.line)).or_default().push(record);
    }
    let mut text = String::new();
    let mut last = "";
    for ((kernel, line), records) in lines {
        if kernel != last {
            let _ = writeln!(text, "survivors of {kernel}");
            last = kernel;
        }
        let first = records[0];
        let _ = writeln!(text, "  line {line}: {}", first.instruction);
        if let Some(place) = &first.source {
            let words = sources(place).unwrap_or_default();
            let _ = writeln!(text, "    {}", format!("{place}: {}", words.trim()).trim_end());
        }
        for record in records {
            let _ = writeln!(text, "    {}", record.change);
        }
    }
    text
}

/// Why mutants were refused, with their number.
#[must_use]
pub fn refusals(records: &[Record]) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        if let Fate::Refused { reason } = &record.fate {
            let reason = reason.split_once(": ").map_or(reason.as_str(), |(_, words)| words);
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let line = |(reason, count): (&str, usize)| format!("refused {count} times: {reason}\n");
    reasons.into_iter().map(line).collect()
}

/// The place in the CUDA source that a line of PTX was compiled from, as `file:line`: that of the
/// last `.loc` above it.
pub(super) fn source_of(ptx: &str, line: u32) -> Option<String> {
    let above: Vec<&str> = ptx.lines().take(usize::try_from(line).ok()?).collect();
    let location = above.iter().rev().find_map(|text| text.trim().strip_prefix(".loc"))?;
    let mut numbers = location.split_whitespace();
    let (file, line) = (numbers.next()?, numbers.next()?);
    let name = |text: &str| {
        let (number, name) =
            text.trim().strip_prefix(".file")?.trim().split_once(char::is_whitespace)?;
        let name = name.trim().trim_start_matches('"').split('"').next()?;
        (number == file).then(|| name.to_owned())
    };
    Some(format!("{}:{line}", ptx.lines().find_map(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: u32, change: &str, fate: Fate) -> Record {
        Record {
            kernel: "k".to_owned(),
            line,
            source: (line == 2).then(|| "a.cu:7".to_owned()),
            kind: "operation",
            instruction: format!("add {line};"),
            change: change.to_owned(),
            fate,
            runs: 1,
            equivalent: (change == "same").then(|| "it is".to_owned()),
        }
    }

    #[test]
    fn survivors_stand_by_line_and_scores_leave_the_equivalent_out() {
        let killed = || Fate::Killed { by: "x".to_owned(), example: "y".to_owned() };
        let refused = Fate::Refused { reason: "PTX line 2: no".to_owned() };
        let records = [
            record(2, "one", Fate::Survived),
            record(2, "two", Fate::Survived),
            record(3, "same", Fate::Survived),
            record(1, "three", killed()),
            record(1, "four", killed()),
            record(2, "five", refused),
        ];
        let score = score(&records);
        assert_eq!(score, Score { killed: 2, equivalent: 1, survived: 2, refused: 1 }, "counts");
        assert!((score.percent() - 50.0).abs() < 1e-9, "two of four: {}", score.percent());
        let list = survivor_list(&records, &|place| Some(format!("  text of {place}")));
        let expected =
            "survivors of k\n  line 2: add 2;\n    a.cu:7: text of a.cu:7\n    one\n    two\n";
        assert_eq!(list, expected, "by line");
        assert_eq!(refusals(&records), "refused 1 times: no\n", "reasons");
        assert!(score_table(&records).ends_with("50.0 %\n"), "{}", score_table(&records));
    }

    #[test]
    fn the_cuda_line_is_that_of_the_last_loc() {
        let ptx =
            ".file 1 \"/src/a.cu\"\n.file 2 \"b.cuh\", 1, 2\n.loc 2 5 3\nadd;\n.loc 1 7 1, x\n";
        assert_eq!(source_of(ptx, 4).as_deref(), Some("b.cuh:5"), "the header");
        assert_eq!(source_of(ptx, 5).as_deref(), Some("/src/a.cu:7"), "the file");
        assert_eq!(source_of(ptx, 2), None, "nothing above");
    }
}
