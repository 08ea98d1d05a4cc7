//! What a kernel that disagrees may have got wrong: hypotheses, tested against all that it returned.
//!
//! A *hypothesis* says what a kernel with one fault would return: numbers with bounds, as the oracle
//! gives them of a right kernel. Some are changes of the right numbers (twice, half, another sign, columns
//! exchanged: `change`), others are computed by the oracle again, of a changed case or with some terms
//! left out; those are the workload's ([`Hypothesis`]). No tolerance is typed here either. An element
//! outside its right bounds is *for* a hypothesis where it lies inside the bounds of that fault, and these do
//! not hold the right value; *against* it where it lies outside them; else it is neutral, as wide bounds and
//! whatever any program would return there cannot tell. An element that is right and would not be under the
//! hypothesis is against it too.
//!
//! A hypothesis is named only if nothing is against it in all failing runs of a kernel ([`Weighing`] adds
//! them up), at least half of what is wrong is for it, and so many numbers do not lie where it says by
//! chance: the chance of each is its bound over its error, and together they are rarer than one in as many
//! as there are hypotheses. The best explains all elements of all outputs; then comes one that is right of
//! some outputs or columns as a whole, then a change of single elements. Of equals the simplest is named,
//! which comes first in the order of trial, and the others that the data cannot tell from it are listed.
//! Where no hypothesis explains everything, two or three that each explain whole columns may do so
//! together. Else splatcheck's own forward kernel of the stage is asked: a sweep over it says what each of its
//! lines contributes to each gradient ([`crate::attribution`]), and so which one is missing. If that says nothing
//! either, the report says so, and how far the closest hypothesis comes.

mod change;
mod forward;
mod measured;
mod previous;
mod weigh;
mod weighing;
mod words;

use crate::judge::Expectation;
use crate::work_budget::WorkBudget;
use change::What;
use measured::Measured;
use splatcheck_gpu::{Setting, TensorError, Tensors};
use std::collections::BTreeSet;
use std::fmt;
use weigh::{About, Candidate};
pub use weighing::Weighing;
pub use words::Diagnosis;

/// What a kernel with one fault returns, in words and as what the oracle would have to say of it.
pub struct Hypothesis<'a> {
    /// The fault, as a sentence without its end.
    words: String,
    /// What of it is the same in every case.
    fault: String,
    /// Whether only the roundings are others, so that its bounds hold the right values too.
    of_roundings: bool,
    /// Whether it is one of many of which few are likely.
    of_many: bool,
    /// Whether it goes before changes of numbers, of which it may look like one.
    goes_before: bool,
    /// Whether the case is too large to compute it.
    too_large: bool,
    /// Outputs of which one must be there, where any are named.
    of_outputs: &'static [&'static str],
    predict: Box<dyn FnOnce() -> Option<Expectation> + 'a>,
}

impl fmt::Debug for Hypothesis<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hypothesis").field(&self.words).finish()
    }
}

impl<'a> Hypothesis<'a> {
    /// The kernel returns other numbers. `predict` is called at most once, and gives `None` where the
    /// fault cannot be of this case.
    pub fn new(
        words: impl Into<String>,
        predict: impl FnOnce() -> Option<Expectation> + 'a,
    ) -> Self {
        let words = words.into();
        Self {
            fault: words.clone(),
            words,
            of_roundings: false,
            of_many: false,
            goes_before: false,
            too_large: false,
            of_outputs: &[],
            predict: Box::new(predict),
        }
    }

    /// The kernel returns the same numbers with other roundings.
    pub fn of_roundings(
        words: impl Into<String>,
        predict: impl FnOnce() -> Option<Expectation> + 'a,
    ) -> Self {
        Self { of_roundings: true, ..Self::new(words, predict) }
    }

    /// One of many of a kind, which are computed only where nothing before them explains everything.
    #[must_use]
    pub fn of_many(self) -> Self {
        Self { of_many: true, ..self }
    }

    /// Named before a change of the right numbers that the data cannot tell from it, as that all of them are 0:
    /// it says why.
    #[must_use]
    pub fn before_changes(self) -> Self {
        Self { goes_before: true, ..self }
    }

    /// With what of the words is the same in every case, where they name the case's own numbers.
    #[must_use]
    pub fn as_fault(self, fault: impl Into<String>) -> Self {
        Self { fault: fault.into(), ..self }
    }

    /// Not to be tested where the case is too large for it.
    #[must_use]
    pub fn unless(self, too_large: bool) -> Self {
        Self { too_large, ..self }
    }

    /// A fault that is seen only where the kernel returns one of these outputs.
    #[must_use]
    pub fn of_outputs(self, of_outputs: &'static [&'static str]) -> Self {
        Self { of_outputs, ..self }
    }

    /// The same fault of a kernel of which other outputs are expected.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Expectation) -> Expectation + 'a) -> Self {
        let Self { predict, .. } = self;
        Self { predict: Box::new(move || predict().map(change)), ..self }
    }

    /// What a kernel with the fault returns; `None` where the fault cannot be of this case.
    #[must_use]
    pub fn predicted(self) -> Option<Expectation> {
        (self.predict)()
    }

    /// The fault in words.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }
}

/// Tests the hypotheses on checked outputs of a run and names the best: see [`weigh`].
///
/// # Errors
/// [`TensorError`] for an output that is missing.
pub fn diagnose(
    right: &Expectation,
    outputs: (Option<&Tensors>, &Tensors),
    run: (Option<Setting>, u32),
    hypotheses: (Vec<Hypothesis<'_>>, usize),
) -> Result<Option<Diagnosis>, TensorError> {
    let weighing = weigh(right, outputs, run, hypotheses, None)?;
    Ok(weighing.map(|weighing| weighing.conclude()))
}

/// Tests the hypotheses on checked outputs of a run, in their order: the simplest first; where the same kernel
/// returned others just `before` for the same inputs, that it has added to those, too. To compute one costs
/// `cost` words ([`WorkBudget`]), and of a large case not all are. Of `only` some of them those are tested that
/// explained another run. `None` where no element lies outside its bounds.
///
/// # Errors
/// [`TensorError`] for an output that is missing.
pub fn weigh(
    right: &Expectation,
    (before, outputs): (Option<&Tensors>, &Tensors),
    run: (Option<Setting>, u32),
    (mut hypotheses, cost): (Vec<Hypothesis<'_>>, usize),
    only: Option<&BTreeSet<String>>,
) -> Result<Option<Weighing>, TensorError> {
    hypotheses.retain(|one| {
        let is_there = |name: &&str| outputs.find(name).is_some();
        one.of_outputs.is_empty() || one.of_outputs.iter().any(is_there)
    });
    let measured = Measured::new(right, outputs, run)?;
    if measured.outside() == 0 {
        return Ok(None);
    }
    let asked = |fault: &str| only.is_none_or(|only| only.contains(fault));
    let mut candidates = Vec::new();
    // What is known of the run before goes before changes, of which it may look like one.
    if let Some(before) = before.filter(|_| asked(previous::WORDS))
        && let Some(added) = previous::added(right, before)
    {
        let may = measured.predicted(&added, outputs, run)?;
        let what = What::fault_of(previous::WORDS);
        let before = Measured::new(right, before, run)?;
        let what = (what, About::Numbers);
        candidates.push(Candidate::weighed(what, &measured, &may, Some(&before)));
    }
    let mut ahead = candidates.len();
    for (what, may) in change::all(&measured) {
        if asked(&what.fault()) {
            candidates.push(Candidate::weighed((what, About::Numbers), &measured, &may, None));
        }
    }
    let all = candidates.len() + hypotheses.len();
    let (mut effort, mut left_out) = (WorkBudget::default(), 0);
    let mut explained = candidates.iter().any(Candidate::explains_by_columns);
    // Where every number is NaN there is nothing to compare with.
    let nothing = measured.all_are_nan();
    for hypothesis in hypotheses.into_iter().filter(|one| asked(&one.fault) && !nothing) {
        let Hypothesis {
            words, fault, of_roundings, of_many, goes_before, too_large, predict, ..
        } = hypothesis;
        if of_many && explained && only.is_none() {
            continue;
        }
        if too_large || !effort.spend(cost) {
            left_out += 1;
            continue;
        }
        let may = match predict() {
            Some(expectation) => measured.predicted(&expectation, outputs, run)?,
            None if only.is_none() => continue,
            // A fault that changes nothing of the case does not explain what is wrong there.
            None => vec![None; measured.parts.len()],
        };
        let about = if of_roundings { About::Roundings } else { About::Numbers };
        let what = (What::Fault { words, fault }, about);
        let candidate = Candidate::weighed(what, &measured, &may, None);
        explained |= candidate.explains_by_columns();
        let place = if goes_before { ahead } else { candidates.len() };
        ahead += usize::from(goes_before);
        candidates.insert(place, candidate);
    }
    if let Some(only) = only {
        let there: BTreeSet<_> = candidates.iter().map(|one| one.what.fault()).collect();
        // What is no hypothesis of this case does not explain it.
        let none = vec![None; measured.parts.len()];
        for fault in only.iter().filter(|fault| left_out == 0 && !there.contains(*fault)) {
            let what = (What::fault_of(fault), About::Numbers);
            candidates.push(Candidate::weighed(what, &measured, &none, None));
        }
    }
    Ok(Some(Weighing::new(&measured, candidates, [all - left_out.min(all), left_out])))
}

#[cfg(test)]
mod tests;
