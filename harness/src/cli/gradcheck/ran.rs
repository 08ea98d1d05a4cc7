//! What came of the cases of a question.

use std::collections::BTreeMap;

use splatcheck_emulator::Conventions;

use super::question::Question;
use super::swept::Swept;
use crate::gradcheck::{Case, Checked, Furthest, Judged, ProgramError, Purpose};

/// What came of all cases.
pub struct Ran {
    /// What was asked.
    pub question: Question,
    /// Case by case: its index and what came of it.
    pub all: Vec<(u64, Checked)>,
    /// The first case with something wrong, made smaller where it was drawn.
    pub found: Option<Found>,
    /// At which values of what is swept something was wrong.
    pub swept: Swept,
    /// Where the derivative is another on purpose.
    pub conventions: Conventions,
    /// Whether Ctrl-C came before all cases were run.
    pub interrupted: bool,
    /// What the verdict does not speak of, because nobody wanted it looked for.
    pub not_sought: Option<String>,
    /// The arrays of all cases, added up.
    pub(super) arrays: BTreeMap<String, Judged>,
    /// Of each array whose exact values were asked for the element that is furthest from its own, of all cases.
    pub(super) furthest: BTreeMap<String, Digits>,
    /// Each array of the manifest that no launch of any case used, and how it would be used.
    pub(super) unused: Vec<(String, &'static str)>,
    /// How many cases were not run, since a kernel did not end in one before.
    pub left_out: u64,
    /// The first case that could not be run, and why. Without a finding in another one it is an error.
    pub refused: Option<(u64, ProgramError)>,
    /// The first cases with something wrong and their orders: a convention must hold for all of them.
    pub(super) failing: Vec<(Case, usize)>,
}

/// The element of an array that is furthest from its exact value.
pub(super) struct Digits {
    pub(super) furthest: Furthest,
    pub(super) shape: Vec<usize>,
    /// The case's index.
    pub(super) index: u64,
    pub(super) case: Case,
    pub(super) order: usize,
    /// The lines whose roundings take it there: see [`rounded_by`].
    pub(super) lines: Vec<(String, f64)>,
}

/// A case with something wrong.
pub struct Found {
    /// Its index.
    pub index: u64,
    /// The case.
    pub case: Case,
    /// Which of the orders it ran in.
    pub order: usize,
    /// What came of it.
    pub checked: Checked,
    /// A convention that would make it right.
    pub purpose: Option<Purpose>,
}

impl Ran {
    /// Whether something is wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.all.iter().any(|(_, checked)| checked.is_wrong())
    }

    /// The verdict in a word or two.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.question {
            _ if self.is_wrong() => "disagree",
            _ if self.not_judged().is_some() => "not judged",
            Question::Accuracy => "measured",
            Question::Gradient | Question::Equal => "agree",
        }
    }

    /// What came of another case.
    pub(super) fn add(&mut self, index: u64, checked: Checked) {
        for judged in &checked.arrays {
            let sum = self.arrays.entry(judged.name.clone()).or_insert_with(|| Judged {
                name: judged.name.clone(),
                of: judged.of.clone(),
                ..Judged::default()
            });
            sum.compared += judged.compared;
            sum.zeros += judged.zeros;
            sum.by_value += judged.by_value;
            sum.unknown += judged.unknown;
            sum.wrong.extend(&judged.wrong);
            sum.worst = sum.worst.max(judged.worst);
            sum.rounding = sum.rounding.max(judged.rounding);
            let furthest = [sum.furthest, judged.furthest].into_iter().flatten();
            sum.furthest = furthest.max_by(|one, other| one.part().total_cmp(&other.part()));
        }
        self.all.push((index, checked));
    }

    /// The arrays of all cases, added up.
    #[must_use]
    pub fn arrays(&self) -> &BTreeMap<String, Judged> {
        &self.arrays
    }

    /// Why too little was judged of some array, or of all; `None` where of each at least half was.
    #[must_use]
    pub fn not_judged(&self) -> Option<String> {
        let (question, arrays) = (self.question, self.arrays());
        let named = |unjudged: &dyn Fn(&Judged) -> bool| -> Vec<&str> {
            let all = arrays.values().filter(|judged| unjudged(judged));
            all.map(|judged| judged.name.as_str()).collect()
        };
        let names = named(&|judged| judged.compared == 0 || question.is_constant(judged));
        let what = question.element();
        if arrays.is_empty() {
            return Some("nothing was judged: the manifest has no array to compare".to_owned());
        }
        if !names.is_empty() {
            return Some(format!(
                "not judged: {}: of all cases no {what} could be compared, or all are zero; the lines above \
                 say why",
                names.join(", ")
            ));
        }
        let names = named(&Judged::is_mostly_unknown);
        if !names.is_empty() {
            return Some(format!(
                "not judged: {}: of all cases fewer than half of the {what}s could be compared; the lines \
                 above say why",
                names.join(", ")
            ));
        }
        let unused: Vec<&str> = self.unused.iter().map(|(name, _)| name.as_str()).collect();
        (!unused.is_empty()).then(|| {
            format!(
                "not judged: {}: no kernel used it in any case; name what the kernels use, or leave it out",
                unused.join(", ")
            )
        })
    }
}
