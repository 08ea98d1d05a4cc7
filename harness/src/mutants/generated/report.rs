//! What became of the mutants, in words.

use super::{Fate, Record};
use crate::table::table;
use splatcheck_gpu::source_lines::SourceLine;
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
    scores("kernel", records, |record| &record.kernel)
}

/// A line for each group of records, and one for all.
fn scores<'r>(head: &str, records: &'r [Record], group: fn(&'r Record) -> &'r str) -> String {
    let mut groups: BTreeMap<&str, Score> = BTreeMap::new();
    for record in records {
        groups.entry(group(record)).or_default().add(record);
    }
    let head = [head, "mutants", "killed", "equivalent", "survived", "refused", "score"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, score) in groups.into_iter().chain([("all", score(records))]) {
        let Score { killed, equivalent, survived, refused } = score;
        let counts = [score.mutants(), killed, equivalent, survived, refused];
        let mut row = vec![name.to_owned()];
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

/// The survivors by the line of CUDA that they were compiled from, over all kernels, and below it by
/// the instruction, with every change that nobody noticed.
#[must_use]
pub fn survivor_list(records: &[Record]) -> String {
    let mut lines: BTreeMap<Option<&SourceLine>, BTreeMap<_, Vec<&str>>> = BTreeMap::new();
    for record in survivors(records) {
        let place = (&record.kernel, record.line, &record.instruction, record.reached);
        let of_line = lines.entry(record.source.as_ref()).or_default();
        of_line.entry(place).or_default().push(&record.change);
    }
    let mut text = String::new();
    for (source, instructions) in lines {
        let _ = match source {
            Some(source) => writeln!(text, "{source}: {}", source.text().unwrap_or_default()),
            None => writeln!(text, "of no line of CUDA:"),
        };
        for ((kernel, line, instruction, reached), changes) in instructions {
            let never = if reached { "" } else { " (no case gets here)" };
            let changes = changes.join("; ");
            let _ = writeln!(text, "    {kernel}:{line}: {instruction}{never}\n        {changes}");
        }
    }
    text
}

/// A line for each kind of change.
#[must_use]
pub fn kind_table(records: &[Record]) -> String {
    scores("change", records, |record| record.kind)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: u32, change: &str, fate: Fate) -> Record {
        Record {
            kernel: "k".to_owned(),
            line,
            source: (line == 2).then(|| SourceLine { file: "warp.cuh".to_owned(), line: 1 }),
            kind: "operation",
            instruction: format!("add {line};"),
            change: change.to_owned(),
            fate,
            reached: line != 4,
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
            record(4, "six", Fate::Survived),
            record(1, "three", killed()),
            record(1, "four", killed()),
            record(2, "five", refused),
        ];
        let score = score(&records);
        assert_eq!(score, Score { killed: 2, equivalent: 1, survived: 3, refused: 1 }, "counts");
        assert!((score.percent() - 40.0).abs() < 1e-9, "two of five: {}", score.percent());
        let list = survivor_list(&records);
        let first = SourceLine { file: "warp.cuh".to_owned(), line: 1 }.text().expect("a header");
        let expected = format!(
            "of no line of CUDA:\n    k:4: add 4; (no case gets here)\n        six\n\
             warp.cuh:1: {first}\n    k:2: add 2;\n        one; two\n"
        );
        assert_eq!(list, expected, "by line");
        assert!(kind_table(&records).contains("operation  6"), "{}", kind_table(&records));
        assert_eq!(refusals(&records), "refused 1 times: no\n", "reasons");
        assert!(score_table(&records).ends_with("40.0 %\n"), "{}", score_table(&records));
    }
}
