//! What became of the mutants, in words.

use super::super::BY_COUNTS;
use super::run_mutants::Unchanged;
use super::subject::Subject;
use super::{Closest, Fate, Record, Source};
use splatcheck_judge::table::table;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What the mutants of one kernel, or of all, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Noticed by somebody.
    pub killed: usize,
    /// Those of them whose values agree, and which add to memory more or less often than the reduction's rule
    /// says.
    pub by_counts: usize,
    /// Noticed by nobody, and argued to be equivalent.
    pub equivalent: usize,
    /// Noticed by nobody, and argued to differ only on inputs that are larger than any case.
    pub beyond: usize,
    /// Noticed by nobody, without an argument, though outputs differ from the right kernel's in bits.
    pub within_bounds: usize,
    /// Noticed by nobody, without an argument, and the same in bits on every case.
    pub no_difference: usize,
    /// Not parsed by the emulator.
    pub refused: usize,
}

impl Score {
    fn add(&mut self, record: &Record) {
        match &record.fate {
            Fate::Killed { by, .. } => {
                self.killed += 1;
                self.by_counts += usize::from(by == BY_COUNTS);
            }
            Fate::Survived { .. } if record.beyond.is_some() => self.beyond += 1,
            Fate::Survived { .. } if record.equivalent.is_some() => self.equivalent += 1,
            Fate::Survived { closest: Some(_) } => self.within_bounds += 1,
            Fate::Survived { closest: None } => self.no_difference += 1,
            Fate::Refused { .. } => self.refused += 1,
        }
    }

    /// Noticed by nobody, without an argument.
    #[must_use]
    pub fn survived(&self) -> usize {
        self.within_bounds + self.no_difference
    }

    /// Mutants that were run.
    #[must_use]
    pub fn mutants(&self) -> usize {
        self.killed + self.equivalent + self.beyond + self.survived()
    }

    /// The killed of those that are not equivalent, in percent; nothing to kill is all killed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn percent(&self) -> f64 {
        let all = self.killed + self.beyond + self.survived();
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
    let head = [
        head,
        "mutants",
        "killed",
        "of them by counts",
        "equivalent",
        "beyond cases",
        "within bounds",
        "no difference",
        "refused",
        "score",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, score) in groups.into_iter().chain([("all", score(records))]) {
        let Score { killed, by_counts, equivalent, beyond, .. } = score;
        let Score { within_bounds, no_difference, refused, .. } = score;
        let counts = [
            score.mutants(),
            killed,
            by_counts,
            equivalent,
            beyond,
            within_bounds,
            no_difference,
            refused,
        ];
        let mut row = vec![name.to_owned()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(format!("{:.1} %", score.percent()));
        rows.push(row);
    }
    table(&rows)
}

/// The mutants that survived and are not argued to be equivalent.
pub fn survivors(records: &[Record]) -> impl Iterator<Item = &Record> {
    let survived = |r: &Record| matches!(r.fate, Fate::Survived { .. });
    records.iter().filter(move |r| survived(r) && r.equivalent.is_none())
}

/// The survivors by the line of CUDA that they were compiled from, over all kernels, and below it by
/// the instruction, with every change that nobody noticed and how near it came to it.
#[must_use]
pub fn survivor_list(records: &[Record]) -> String {
    let mut lines: BTreeMap<Option<&Source>, BTreeMap<_, Vec<&Record>>> = BTreeMap::new();
    for record in survivors(records) {
        let place = (&record.kernel, record.line, &record.instruction, record.reached);
        lines.entry(record.source.as_ref()).or_default().entry(place).or_default().push(record);
    }
    let known = records.iter().any(|record| record.source.is_some());
    let mut text = String::new();
    for (source, instructions) in lines {
        let _ = writeln!(text, "{}", heading(source, known));
        for ((kernel, line, instruction, reached), records) in instructions {
            let never = if reached { "" } else { " (no case gets here)" };
            let _ = writeln!(text, "    {kernel}:{line}: {instruction}{never}");
            for record in records {
                let _ = writeln!(text, "        {}: {}", record.change, nearness(&record.fate));
            }
        }
    }
    text
}

/// A source line; `known` is whether any is known.
fn heading(source: Option<&Source>, known: bool) -> String {
    match source {
        Some(Source { line, text: Some(text) }) => format!("{line}: {text}"),
        Some(Source { line, text: None }) => format!("{line}:"),
        None if known => "of no line of CUDA:".to_owned(),
        None => "PTX (compiled with -lineinfo it has lines of CUDA):".to_owned(),
    }
}

/// How near a survivor came to being noticed.
fn nearness(fate: &Fate) -> String {
    let Fate::Survived { closest } = fate else { return String::new() };
    match closest {
        None => "no case shows a difference".to_owned(),
        Some(Closest { ratio: 0.0, case, .. }) => {
            format!("differs ({case}), but not from the oracle, or where no bound is finite")
        }
        Some(Closest { ratio, unchanged, case }) => {
            let sharper = 1.0 / ratio;
            format!(
                "reached {ratio:.2e} of the bound ({case}; the unchanged kernel {unchanged:.2e}): it \
                 would have to be {sharper:.1} times sharper"
            )
        }
    }
}

/// The instructions that no run executes, by the line of CUDA.
#[must_use]
pub fn unexecuted_list(subject: &Subject, unchanged: &Unchanged) -> String {
    let mut lines: BTreeMap<Option<Source>, Vec<u32>> = BTreeMap::new();
    for &(line, _) in unchanged.executed.iter().filter(|(_, executed)| !executed) {
        lines.entry(subject.source(line)).or_default().push(line);
    }
    let all = unchanged.executed.len();
    let never: usize = lines.values().map(Vec::len).sum();
    let mut text =
        format!("{never} of {all} instructions of {} are executed by no case\n", subject.name());
    let known = subject.mutations.iter().any(|mutation| subject.source(mutation.line).is_some());
    for (source, numbers) in lines {
        let _ = writeln!(text, "{}", heading(source.as_ref(), known));
        for number in numbers {
            let instruction = subject.ptx().lines().nth((number as usize).saturating_sub(1));
            let words: Vec<_> = instruction.unwrap_or_default().split_whitespace().collect();
            let _ = writeln!(text, "    {}:{number}: {}", subject.name(), words.join(" "));
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
    use splatcheck_gpu::source_lines::SourceLine;

    fn record(line: u32, change: &str, fate: Fate) -> Record {
        let source = SourceLine { file: "warp.cuh".to_owned(), line: 1 };
        Record {
            label: "c".to_owned(),
            number: 1,
            kernel: "k".to_owned(),
            line,
            source: (line == 2).then(|| Source { line: source, text: Some("text".to_owned()) }),
            kind: "operation",
            instruction: format!("add {line};"),
            change: change.to_owned(),
            fate,
            reached: line != 4,
            runs: 1,
            equivalent: ["same", "large"].contains(&change).then(|| "it is".to_owned()),
            beyond: (change == "large").then(|| "two inputs".to_owned()),
        }
    }

    fn survived(ratio: Option<f64>) -> Fate {
        let case = "c".to_owned();
        Fate::Survived { closest: ratio.map(|ratio| Closest { ratio, unchanged: 0.125, case }) }
    }

    #[test]
    fn survivors_stand_by_line_and_scores_leave_the_equivalent_out() {
        let killed = |by: &str| Fate::Killed { by: by.to_owned(), example: "y".to_owned() };
        let refused = Fate::Refused { reason: "PTX line 2: no".to_owned() };
        let records = [
            record(2, "one", survived(Some(0.25))),
            record(2, "two", survived(Some(0.0))),
            record(3, "same", survived(None)),
            record(3, "large", survived(None)),
            record(4, "six", survived(None)),
            record(1, "three", killed("oracle")),
            record(1, "four", killed(BY_COUNTS)),
            record(2, "five", refused),
        ];
        let score = score(&records);
        let expected = Score {
            killed: 2,
            by_counts: 1,
            equivalent: 1,
            beyond: 1,
            within_bounds: 2,
            no_difference: 1,
            refused: 1,
        };
        assert_eq!(score, expected, "counts");
        assert!((score.percent() - 100.0 / 3.0).abs() < 1e-9, "two of six: {}", score.percent());
        let expected = "of no line of CUDA:\n    k:4: add 4; (no case gets here)\n        \
                        six: no case shows a difference\n\
                        warp.cuh:1: text\n    k:2: add 2;\n        \
                        one: reached 2.50e-1 of the bound (c; the unchanged kernel 1.25e-1): it \
                        would have to be 4.0 times sharper\n        \
                        two: differs (c), but not from the oracle, or where no bound is finite\n";
        assert_eq!(survivor_list(&records), expected, "by line");
        let plain = survivor_list(&records[4..5]);
        assert!(plain.starts_with("PTX (compiled with -lineinfo"), "no lines: {plain}");
        assert!(kind_table(&records).contains("operation  7"), "{}", kind_table(&records));
        assert_eq!(refusals(&records), "refused 1 times: no\n", "reasons");
        assert!(score_table(&records).ends_with("33.3 %\n"), "{}", score_table(&records));
    }
}
