//! A diagnosis in words.

use super::change::Change;
use super::measured::Measured;
use super::weigh::{Candidate, Reach};
use super::{Diagnosis, Fit};
use crate::words::count_of;

/// What a hypothesis says.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Whole outputs or columns are changed.
    Change(Change),
    /// A fault, as a sentence.
    Fault(String),
}

/// The elements outside their bounds, as a reader counts them.
fn all_outside(measured: &Measured) -> String {
    match measured.outside() {
        1 => "the one element outside its bound".to_owned(),
        count => format!("all {count} elements outside their bounds"),
    }
}

/// Where a hypothesis explains something: outputs, or their columns where it is not right of all.
fn subject(measured: &Measured, candidate: &Candidate) -> String {
    let mut names = Vec::new();
    let columns = candidate.columns();
    let moves = matches!(candidate.what(), What::Change(change) if change.moves());
    for part in candidate.parts() {
        let output = &measured.parts[part];
        if moves || candidate.fits(part) {
            names.push(output.name.to_owned());
            continue;
        }
        let own = columns.iter().filter(|(of, _)| *of == part);
        let of_columns: Vec<_> = own
            .filter_map(|&(_, column)| output.column_index(column))
            .map(|index| format!("{}[{index}]", output.name))
            .collect();
        if of_columns.is_empty() {
            let (some, all) = (candidate.explained_in(part), output.returned.len());
            names.push(elements(some, all, output.name));
        } else {
            names.extend(of_columns);
        }
    }
    if names.len() > 1 && names.len() == measured.parts.len() && !candidate.spares() {
        return "all outputs".to_owned();
    }
    list(&names)
}

/// So many of an output's elements.
fn elements(some: usize, all: usize, output: &str) -> String {
    match (some, all) {
        (1, 1) => format!("the one element of {output}"),
        (some, all) => format!("{some} of the {all} elements of {output}"),
    }
}

/// Names in a row, not too many.
fn list(names: &[String]) -> String {
    const MOST: usize = 6;
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if first.len() < MOST => format!("{} and {last}", first.join(", ")),
        more => format!("{} and {} more", more[..MOST].join(", "), more.len() - MOST),
    }
}

/// What a hypothesis says of a run.
fn sentence(measured: &Measured, candidate: &Candidate) -> String {
    let subject = subject(measured, candidate);
    match candidate.what() {
        What::Change(change) => change.words(&subject),
        What::Fault(words) if candidate.spares() => format!("{words} (seen in {subject} only)"),
        What::Fault(words) => words.clone(),
    }
}

fn not_tested(left_out: usize) -> Option<String> {
    let were = || count_of(left_out, "hypothesis was", "hypotheses were");
    (left_out > 0).then(|| format!("{} not tested: the case is large", were()))
}

/// Which case a diagnosis is of, where a smaller one is shown.
pub(super) fn of_larger(case: &str) -> String {
    format!("diagnosed on {case}, before it was made smaller")
}

/// A hypothesis that explains everything that is wrong.
pub(super) fn fit(measured: &Measured, candidate: &Candidate) -> Fit {
    let (reach, outside) = (candidate.reach(), all_outside(measured));
    let explains = match reach {
        Reach::Everything => format!("explains {outside}, and the rest is right"),
        Reach::Roundings => format!("all elements lie within the bounds of that, {outside} too"),
        Reach::Columns | Reach::Elements | Reach::Partly => format!("explains {outside}"),
    };
    let fault = match candidate.what() {
        What::Change(change) => format!("{change:?}"),
        What::Fault(words) => words.clone(),
    };
    Fit { fault, sentence: sentence(measured, candidate), explains, reach }
}

/// Most others that are named beside the best.
const MOST_OTHERS: usize = 3;

/// The best hypothesis, and those that the data do not tell from it.
pub(super) fn of_fits(diagnosis: &mut Diagnosis) {
    let Diagnosis { fits, runs, left_out, larger, .. } = &*diagnosis;
    let Some(best) = fits.first() else { return };
    let Fit { sentence, explains, reach, .. } = best;
    let more_runs = match runs - 1 {
        0 => String::new(),
        1 => "; the same in another failing case".to_owned(),
        more => format!("; the same in {more} other failing cases"),
    };
    let headline = format!("looks like: {sentence} ({explains}{more_runs})");
    let others: Vec<_> = fits[1..].iter().filter(|fit| fit.reach == *reach).collect();
    // Of what is right of a part only, others that are right of it say little.
    let most = if *reach == Reach::Everything { MOST_OTHERS } else { 0 };
    let shown = others.iter().take(most);
    let mut lines: Vec<_> =
        shown.map(|fit| format!("the same numbers would come of: {}", fit.sentence)).collect();
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
    lines.extend(not_tested(*left_out));
    lines.extend(larger.as_deref().map(of_larger));
    (diagnosis.headline, diagnosis.others, diagnosis.explained) = (headline, lines, true);
}

/// Faults that explain everything between them.
pub(super) fn together(measured: &Measured, chosen: &[&Candidate]) -> Diagnosis {
    let faults: Vec<_> = chosen
        .iter()
        .enumerate()
        .map(|(number, candidate)| format!("({}) {}", number + 1, of_columns(measured, candidate)))
        .collect();
    let headline = format!(
        "looks like {} faults together: {} (explain {})",
        chosen.len(),
        faults.join("; "),
        all_outside(measured)
    );
    Diagnosis::told(headline)
}

/// A hypothesis with the outputs that it is right of.
fn of_columns(measured: &Measured, candidate: &Candidate) -> String {
    let subject = subject(measured, candidate);
    match candidate.what() {
        What::Change(change) => change.words(&subject),
        What::Fault(words) => format!("{words} (in {subject})"),
    }
}

/// Nothing explains it.
pub(super) fn none(
    measured: &Measured,
    nearest: Option<&Candidate>,
    (tried, left_out): (usize, usize),
) -> Diagnosis {
    let outside = measured.outside();
    let closest = nearest.map_or_else(String::new, |nearest| {
        format!(
            "; the closest, '{}', explains {} of {outside} elements outside their bounds",
            sentence(measured, nearest),
            nearest.explained()
        )
    });
    let headline = format!(
        "no known fault: none of {} hypotheses explains it{closest}",
        tried - left_out.min(tried)
    );
    Diagnosis::without_fit(headline, not_tested(left_out).into_iter().collect())
}

/// Which outputs are wrong, and which are not: where to look, when nothing else is known.
pub(super) fn right_and_wrong(measured: &Measured) -> String {
    let (wrong, right): (Vec<_>, Vec<_>) =
        measured.parts.iter().partition(|part| part.outside().next().is_some());
    let shares = wrong.into_iter().map(|part| {
        let (some, all) = (part.outside().count(), part.returned.len());
        elements(some, all, part.name)
    });
    let wrong = list(&shares.collect::<Vec<_>>());
    match &right[..] {
        [] => format!("wrong are {wrong}; no output is right"),
        right => {
            let names: Vec<_> = right.iter().map(|part| part.name.to_owned()).collect();
            format!("wrong are {wrong}; all of {} is right", list(&names))
        }
    }
}

/// What is wrong is not a number.
pub(super) fn not_numbers(measured: &Measured) -> Diagnosis {
    let headline = format!(
        "looks like: memory that was never written, a division by 0 or a difference of infinities \
         ({}: NaN)",
        all_outside(measured)
    );
    Diagnosis::told(headline)
}
