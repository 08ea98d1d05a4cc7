//! What a kernel that disagrees may have got wrong: hypotheses, tested against all that it returned.
//!
//! A *hypothesis* says what a kernel with one fault would return: numbers with bounds, as the oracle
//! gives them of a right kernel. Some are changes of the right numbers (twice, half, another sign, columns
//! exchanged: `change`), others are computed by the oracle again, of a changed case or with some terms
//! left out; those are the workload's ([`Hypothesis`]). No tolerance is typed here either: an element
//! outside its right bounds is *explained* where it lies inside the hypothesis's bounds, and these do not
//! hold the right value, so that chance and wide bounds explain nothing. An element that is right and would
//! not be under the hypothesis *speaks against* it.
//!
//! The best hypothesis explains all elements of all outputs and has nothing against it; then comes one
//! that is right of some outputs or columns as a whole, then one that is right of single elements. Of
//! equals the simplest is named, which comes first in the order of trial, and the others that the data
//! cannot tell from it are listed. Where no hypothesis explains everything, two or three that each explain
//! whole columns may do so together; else it is said that none does, and how far the closest comes.

mod change;
mod measured;
mod previous;
mod weigh;
mod words;

use crate::effort::Effort;
use crate::judge::Expectation;
use measured::Measured;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{Setting, TensorError, Tensors};
use std::fmt;
use weigh::{Candidate, Reach, conclude};

/// What a kernel with one fault returns, in words and as what the oracle would have to say of it.
pub struct Hypothesis<'a> {
    /// The fault, as a sentence without its end.
    words: String,
    /// Whether only the roundings are others, so that its bounds hold the right values too.
    of_roundings: bool,
    /// Whether it is one of many of which few are likely.
    of_many: bool,
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
        Self {
            words: words.into(),
            of_roundings: false,
            of_many: false,
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

    /// The fault in words.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }
}

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
    /// Everything that explains it, the best first: what another failing run may tell apart.
    #[serde(skip)]
    fits: Vec<Fit>,
    /// Runs that it was made of.
    #[serde(skip)]
    runs: usize,
    /// Hypotheses that were not tested.
    #[serde(skip)]
    left_out: usize,
    /// The case that it is of, where the reader is shown a smaller one.
    #[serde(skip)]
    larger: Option<String>,
}

/// A hypothesis that explains every element outside its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fit {
    /// What is the same in every case.
    fault: String,
    /// What it says of the case.
    sentence: String,
    /// How it explains the elements.
    explains: String,
    reach: Reach,
}

/// Failing runs of one kind that are diagnosed: more would tell little more.
const MOST_RUNS: usize = 4;

impl Diagnosis {
    /// What is known from elsewhere.
    #[must_use]
    pub fn told(headline: String) -> Self {
        Self { explained: true, ..Self::without_fit(headline, Vec::new()) }
    }

    fn without_fit(headline: String, others: Vec<String>) -> Self {
        let (explained, fits) = (false, Vec::new());
        let outputs = None;
        Self { headline, others, outputs, explained, fits, runs: 1, left_out: 0, larger: None }
    }

    /// All lines, the best hypothesis first.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let more = self.outputs.iter().chain(&self.others).map(String::as_str);
        std::iter::once(self.headline.as_str()).chain(more)
    }

    /// Whether the diagnosis of another failing run of the same kind may make it better.
    #[must_use]
    pub fn may_be_refined(&self) -> bool {
        !self.fits.is_empty() && self.runs < MOST_RUNS
    }

    /// For good: another failing run could not be had.
    #[must_use]
    pub fn as_it_is(self) -> Self {
        Self { runs: MOST_RUNS, ..self }
    }

    /// What explains another failing run of the same kind too; what that run does not fit is left out,
    /// unless nothing would be left.
    #[must_use]
    pub fn refined(mut self, other: &Self) -> Self {
        let in_both = |fit: &Fit| other.fits.iter().any(|theirs| theirs.fault == fit.fault);
        self.runs += 1;
        let by_roundings = |of: &Self| of.fits.first().is_some_and(|f| f.reach == Reach::Roundings);
        if self.fits.iter().any(in_both) {
            self.fits.retain(in_both);
            words::of_fits(&mut self);
        } else if by_roundings(&self) {
            // Wide bounds hold much by chance, and did not hold this.
            let (runs, larger, outputs) = (self.runs, self.larger, self.outputs);
            self = Self { runs, larger, outputs, ..other.clone() };
            self.others.extend(self.larger.as_deref().map(words::of_larger));
        } else {
            self.others.push(format!("another failing case is another thing: {}", other.headline));
            self.fits.clear();
        }
        self
    }

    /// With what was found out on one case beside it.
    #[must_use]
    pub fn beside(mut self, of_one: &Self) -> Self {
        if of_one.explained {
            self.others.push(format!("the case itself {}", of_one.headline));
        }
        self
    }

    /// In the light of other findings of the same kernel, which likely has one fault: what explains most of
    /// them is kept.
    #[must_use]
    pub fn beside_others(&self, others: &[Self]) -> Self {
        let holds = |of: &Self, fit: &Fit| of.fits.iter().any(|one| one.fault == fit.fault);
        let support = |fit: &Fit| others.iter().filter(|other| holds(other, fit)).count();
        let most = self.fits.iter().map(support).max().unwrap_or(0);
        let mut kept = self.clone();
        kept.fits.retain(|fit| support(fit) == most);
        if kept.fits.len() < self.fits.len() {
            words::of_fits(&mut kept);
        }
        kept
    }

    /// With a line that says of which case it is, where the reader is shown a smaller one.
    #[must_use]
    pub fn of_larger(mut self, case: String) -> Self {
        self.others.push(words::of_larger(&case));
        self.larger = Some(case);
        self
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)
    }
}

/// Tests the hypotheses on checked outputs of a run, in their order: the simplest first; where the same kernel
/// returned others just `before` for the same inputs, that it has added to those, too. To compute one costs
/// `cost` words ([`Effort`]), and of a large case not all are. `None` where no element lies outside its bounds.
///
/// # Errors
/// [`TensorError`] for an output that is missing.
pub fn diagnose(
    right: &Expectation,
    (before, outputs): (Option<&Tensors>, &Tensors),
    run: (Option<Setting>, u32),
    (mut hypotheses, cost): (Vec<Hypothesis<'_>>, usize),
) -> Result<Option<Diagnosis>, TensorError> {
    hypotheses.retain(|one| {
        let is_there = |name: &&str| outputs.find(name).is_some();
        one.of_outputs.is_empty() || one.of_outputs.iter().any(is_there)
    });
    let measured = Measured::new(right, outputs, run)?;
    if measured.outside() == 0 {
        return Ok(None);
    }
    if measured.all_are_nan() {
        let outputs = Some(words::right_and_wrong(&measured));
        return Ok(Some(Diagnosis { outputs, ..words::not_numbers(&measured) }));
    }
    let weighed = |of: &Expectation, words: String, of_roundings: bool| {
        let may = measured.predicted(of, outputs, run)?;
        let what = words::What::Fault(words);
        Ok::<_, TensorError>(Candidate::weighed(what, of_roundings, &measured, &may))
    };
    let mut candidates = Vec::new();
    // What is known of the run before goes before changes, of which it may look like one.
    if let Some(added) = before.and_then(|before| previous::added(right, before)) {
        candidates.push(weighed(&added, previous::WORDS.to_owned(), false)?);
    }
    candidates.extend(
        change::all(&measured)
            .into_iter()
            .map(|(what, may)| Candidate::weighed(what, false, &measured, &may)),
    );
    let (mut effort, tried) = (Effort::default(), candidates.len() + hypotheses.len());
    let (mut left_out, mut explained) = (0, candidates.iter().any(Candidate::explains_by_columns));
    for Hypothesis { words, of_roundings, of_many, predict, .. } in hypotheses {
        if of_many && explained {
            continue;
        }
        if !effort.spend(cost) {
            left_out += 1;
            continue;
        }
        let Some(expectation) = predict() else { continue };
        let candidate = weighed(&expectation, words, of_roundings)?;
        explained |= candidate.explains_by_columns();
        candidates.push(candidate);
    }
    let diagnosis = conclude(&measured, candidates, (tried, left_out));
    let outputs = Some(words::right_and_wrong(&measured));
    Ok(Some(Diagnosis { outputs, ..diagnosis }))
}

#[cfg(test)]
mod tests;
