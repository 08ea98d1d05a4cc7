//! A diagnosis: what is concluded from a weighing, in words.

use super::change::What;
use super::weigh::{Candidate, Reach, Seen, together};
use super::weighing::Weighing;
use crate::attribution::{Explained, file_and_line};
use crate::words::{count_of, list};
use serde::{Deserialize, Serialize};
use splatcheck_gpu::source_lines::SourceLine;
use std::fmt;

/// What was found out about a disagreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The best hypothesis in words, or that there is none.
    pub headline: String,
    /// More, a line each: which others the data fit as well.
    pub others: Vec<String>,
    /// Which outputs of the case are wrong, and which are right; not where it was told from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<String>,
    /// Whether some hypothesis explains every element outside its bounds.
    pub explained: bool,
    /// What was found out, in words that are the same for all findings of one fault.
    #[serde(default)]
    pub fault: String,
}

impl Diagnosis {
    /// What is known from elsewhere.
    #[must_use]
    pub fn told(headline: String) -> Self {
        let fault = headline.clone();
        Self { explained: true, ..Self::new(headline, Vec::new(), fault) }
    }

    fn new(headline: String, others: Vec<String>, fault: String) -> Self {
        Self { headline, others, outputs: None, explained: false, fault }
    }

    /// All lines, the best hypothesis first.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let more = self.outputs.iter().chain(&self.others).map(String::as_str);
        std::iter::once(self.headline.as_str()).chain(more)
    }

    /// With what was found out on one case beside it.
    #[must_use]
    pub fn beside(mut self, of_one: &Self) -> Self {
        if of_one.explained {
            self.others.push(format!("the cases themselves: {}", of_one.headline));
        }
        self
    }

    /// With one more line.
    #[must_use]
    pub fn with_line(mut self, line: String) -> Self {
        self.others.push(line);
        self
    }

    /// With a line that says of which case it is, where the reader is shown a smaller one.
    #[must_use]
    pub fn of_larger(self, case: &str) -> Self {
        self.with_line(of_larger(case))
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)
    }
}

impl Weighing {
    /// Names the best.
    #[must_use]
    pub fn conclude(&self) -> Diagnosis {
        self.conclude_beside(&|_| 0)
    }

    /// As [`Self::conclude`]; of what explains it equally well the one is named that explains most of the
    /// other findings of the same stage, which likely has one fault.
    #[must_use]
    pub fn conclude_beside(&self, others: &dyn Fn(&str) -> usize) -> Diagnosis {
        let diagnosis = if self.all_are_nan {
            not_numbers(self)
        } else {
            self.named(&self.by_reach(others), others)
        };
        let outputs = Some(right_and_wrong(self));
        Diagnosis { outputs, ..diagnosis }
    }

    /// What is said where the best explains the run of this case, and the run of another contradicts it.
    #[must_use]
    pub fn contradicted(&self, case: &str, other: &str) -> Diagnosis {
        let of_one = self.conclude();
        let outputs = of_one.outputs.clone();
        Diagnosis { outputs, ..contradicted(self, &of_one, [case, other]) }
    }

    fn named(&self, candidates: &[&Candidate], others: &dyn Fn(&str) -> usize) -> Diagnosis {
        let reach = |candidate: &Candidate| candidate.reach(self.tried);
        let best = candidates.first().map_or(Reach::Partly, |best| reach(best));
        if best <= Reach::Elements {
            let together = together(&self.seen, candidates);
            if together.len() > 1 {
                return all_together(self, &together);
            }
        }
        if best == Reach::Partly {
            let tells = |candidate: &&&Candidate| candidate.near() > 1;
            let nearest = candidates.iter().rev().filter(tells);
            let none = none(self, nearest.max_by_key(|one| one.near()).copied());
            return match &self.attribution {
                Some(attribution) => attributed(attribution, none),
                None => none,
            };
        }
        let equal = candidates.iter().take_while(|one| reach(one) == best);
        let most = equal.clone().map(|one| others(&one.what.fault())).max().unwrap_or(0);
        let kept: Vec<_> = equal.copied().filter(|one| others(&one.what.fault()) == most).collect();
        of_fits(self, &kept, best)
    }
}

/// In how many runs; nothing of one.
fn in_runs(weighing: &Weighing) -> String {
    match weighing.runs {
        1 => String::new(),
        runs => format!(" in {runs} failing runs"),
    }
}

/// The elements outside their bounds, as a reader counts them.
fn all_outside(weighing: &Weighing) -> String {
    match weighing.outside() {
        1 => "the one element outside its bound".to_owned(),
        count => format!("all {count} elements outside their bounds{}", in_runs(weighing)),
    }
}

/// Those that a hypothesis explains, and those that cannot tell.
fn explained(weighing: &Weighing, candidate: &Candidate) -> String {
    let (some, outside) = (candidate.supports(), weighing.outside());
    if some == outside {
        return format!("explains {}", all_outside(weighing));
    }
    let (runs, others) = (in_runs(weighing), outside - some);
    let other =
        if others == 1 { "the other one".to_owned() } else { format!("the other {others}") };
    format!("explains {some} of {outside} elements outside their bounds{runs}; {other} cannot tell")
}

/// Where a hypothesis explains something: outputs, or their columns where it is not right of all.
fn subject(weighing: &Weighing, candidate: &Candidate) -> String {
    let mut names = Vec::new();
    let columns = candidate.columns();
    let moves = matches!(&candidate.what, What::Change(change) if change.moves());
    for output in candidate.outputs() {
        let seen = &weighing.seen[output];
        if moves || candidate.fits(output) {
            names.push(seen.name.to_owned());
            continue;
        }
        let own = columns.iter().filter(|(of, _)| *of == output);
        let of_columns: Vec<_> = own
            .filter_map(|&(_, column)| seen.column_index(column))
            .map(|index| format!("{}[{index}]", seen.name))
            .collect();
        if of_columns.is_empty() {
            names.push(elements(candidate.supports_in(output), seen.elements, seen.name));
        } else {
            names.extend(of_columns);
        }
    }
    if names.len() > 1 && names.len() == weighing.seen.len() && !candidate.spares() {
        return "all outputs".to_owned();
    }
    list(&names)
}

/// `some` of an output's `all` elements, in words.
fn elements(some: usize, all: usize, output: &str) -> String {
    match (some, all) {
        (1, 1) => format!("the one element of {output}"),
        (some, all) if some == all => format!("all {all} elements of {output}"),
        (some, all) => format!("{some} of the {all} elements of {output}"),
    }
}

/// What a hypothesis says of the runs.
fn sentence(weighing: &Weighing, candidate: &Candidate) -> String {
    let subject = subject(weighing, candidate);
    match &candidate.what {
        What::Change(change) => change.words(&subject),
        What::Fault { words, .. } if candidate.spares() => {
            format!("{words} (seen in {subject} only)")
        }
        What::Fault { words, .. } => words.clone(),
    }
}

fn not_tested(left_out: usize) -> Option<String> {
    let were = || count_of(left_out, "hypothesis was", "hypotheses were");
    (left_out > 0).then(|| format!("{} not tested: the case is large", were()))
}

/// Which case a diagnosis is of, where a smaller one is shown.
fn of_larger(case: &str) -> String {
    format!("diagnosed on {case}, before it was made smaller")
}

/// Most others that are named beside the best.
const MOST_OTHERS: usize = 3;

/// The best hypothesis, and those that the data do not tell from it, which all reach as far.
fn of_fits(weighing: &Weighing, fits: &[&Candidate], reach: Reach) -> Diagnosis {
    let Some((best, others)) = fits.split_first() else { return none(weighing, None) };
    let explains = match reach {
        Reach::Everything => format!("{}, and the rest is right", explained(weighing, best)),
        Reach::Roundings => {
            format!("all elements lie within the bounds of that, {} too", all_outside(weighing))
        }
        Reach::Columns | Reach::Elements | Reach::Partly => explained(weighing, best),
    };
    let of_best = sentence(weighing, best);
    let headline = format!("looks like: {of_best} ({explains})");
    // Of what is right of a part only, others that are right of it say little.
    let most = if reach == Reach::Everything { MOST_OTHERS } else { 0 };
    let shown = others.iter().take(most);
    let same =
        |one: &&Candidate| format!("the same numbers would come of: {}", sentence(weighing, one));
    let mut lines: Vec<_> = shown.map(same).collect();
    match others.len().saturating_sub(most) {
        0 => {}
        1 => lines.push(
            "1 more hypothesis explains it as well: a larger case would tell them apart".to_owned(),
        ),
        more => {
            lines.push(format!(
                "and of {more} more hypotheses: a larger case would tell them apart"
            ));
        }
    }
    lines.extend(not_tested(weighing.left_out));
    let fault = match &best.what {
        What::Change(_) => of_best,
        What::Fault { fault, .. } => fault.clone(),
    };
    Diagnosis { explained: true, ..Diagnosis::new(headline, lines, fault) }
}

/// Faults that explain everything between them.
fn all_together(weighing: &Weighing, chosen: &[&Candidate]) -> Diagnosis {
    let faults: Vec<_> = chosen
        .iter()
        .enumerate()
        .map(|(number, candidate)| format!("({}) {}", number + 1, of_columns(weighing, candidate)))
        .collect();
    let faults = faults.join("; ");
    let headline = format!(
        "looks like {} faults together: {faults} (explain {})",
        chosen.len(),
        all_outside(weighing)
    );
    Diagnosis { explained: true, ..Diagnosis::new(headline, Vec::new(), faults) }
}

/// A hypothesis with the outputs that it is right of.
fn of_columns(weighing: &Weighing, candidate: &Candidate) -> String {
    let subject = subject(weighing, candidate);
    match &candidate.what {
        What::Change(change) => change.words(&subject),
        What::Fault { words, .. } => format!("{words} (in {subject})"),
    }
}

/// Nothing explains it.
fn none(weighing: &Weighing, nearest: Option<&Candidate>) -> Diagnosis {
    let outside = weighing.outside();
    let closest = nearest.map_or_else(String::new, |nearest| {
        format!(
            "; the closest, '{}', explains {} of {outside} elements outside their bounds",
            sentence(weighing, nearest),
            nearest.supports()
        )
    });
    let headline =
        format!("no known fault: none of {} hypotheses explains it{closest}", weighing.tried);
    let others = not_tested(weighing.left_out).into_iter().collect();
    Diagnosis::new(headline, others, nameless(weighing))
}

/// No hypothesis explains it, and a part of splatcheck's own forward kernel does.
fn attributed(attribution: &Explained, none: Diagnosis) -> Diagnosis {
    let Explained { words, line, any_factor: _ } = attribution;
    let source = line.as_deref().and_then(file_and_line).and_then(|(file, line)| {
        let text = SourceLine { file: file.to_owned(), line }.text()?;
        Some(format!("{file}:{line} of splatcheck's own forward kernel is '{text}'"))
    });
    let headline = format!("looks like: {words}, of splatcheck's own forward kernel");
    let others = source.into_iter().chain([none.headline]).chain(none.others).collect();
    Diagnosis::new(headline, others, words.clone())
}

/// What findings without a name have in common: the outputs that are wrong.
fn nameless(weighing: &Weighing) -> String {
    let wrong = weighing.seen.iter().filter(|seen| seen.outside() > 0).map(|seen| seen.name);
    format!("no known fault of {}", wrong.collect::<Vec<_>>().join(", "))
}

/// Something explains one run, and another contradicts it.
fn contradicted(weighing: &Weighing, of_one: &Diagnosis, [case, other]: [&str; 2]) -> Diagnosis {
    let headline = format!(
        "no known fault: none of {} hypotheses explains all failing runs; what explains case {case} \
         does not explain case {other}",
        weighing.tried
    );
    let others = vec![format!("case {case} alone {}", of_one.headline)];
    Diagnosis::new(headline, others, nameless(weighing))
}

/// Which outputs are wrong, and which are not: where to look, when nothing else is known.
fn right_and_wrong(weighing: &Weighing) -> String {
    let (wrong, right): (Vec<&Seen>, Vec<_>) =
        weighing.seen.iter().partition(|seen| seen.outside() > 0);
    let verb = if matches!(&wrong[..], [one] if one.outside() == 1) { "is" } else { "are" };
    let shares = wrong.into_iter().map(|seen| elements(seen.outside(), seen.elements, seen.name));
    let wrong = list(&shares.collect::<Vec<_>>());
    let wrong = match weighing.runs {
        1 => wrong,
        runs => format!("in {runs} failing runs together, {wrong}"),
    };
    match &right[..] {
        [] => format!("{wrong} {verb} wrong; every output is affected"),
        right => {
            let names: Vec<_> = right.iter().map(|seen| seen.name.to_owned()).collect();
            format!("{wrong} {verb} wrong; all of {} is right", list(&names))
        }
    }
}

/// What is wrong is not a number.
fn not_numbers(weighing: &Weighing) -> Diagnosis {
    let fault = "memory that was never written, a division by 0 or a difference of infinities";
    let headline = format!("looks like: {fault} ({}: NaN)", all_outside(weighing));
    Diagnosis { explained: true, ..Diagnosis::new(headline, Vec::new(), fault.to_owned()) }
}
