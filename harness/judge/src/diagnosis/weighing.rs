//! What failing runs say of the hypotheses: of one run, or of many runs of one kernel added up.

use super::measured::Measured;
use super::weigh::{Candidate, Reach, Seen, together};
use crate::attribution::Explained;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The hypotheses with all that speaks for them and against them.
#[derive(Clone, Debug)]
pub struct Weighing {
    pub(super) seen: Vec<Seen>,
    /// In the order of trial: the simplest first.
    candidates: Vec<Candidate>,
    /// Hypotheses that were tested.
    pub(super) tried: usize,
    /// Hypotheses that were not.
    pub(super) left_out: usize,
    /// Runs that were added up.
    pub(super) runs: usize,
    /// Whether every element outside its bounds is NaN.
    pub(super) all_are_nan: bool,
    /// What the gradients lack of the forward kernel, where it was asked.
    pub(super) attribution: Option<Explained>,
}

impl Weighing {
    pub(super) fn new(
        measured: &Measured,
        candidates: Vec<Candidate>,
        [tried, left_out]: [usize; 2],
    ) -> Self {
        let seen = measured.parts.iter().map(Seen::new).collect();
        let all_are_nan = measured.all_are_nan();
        Self { seen, candidates, tried, left_out, runs: 1, all_are_nan, attribution: None }
    }

    /// Elements outside their bounds.
    pub(super) fn outside(&self) -> usize {
        self.seen.iter().map(Seen::outside).sum()
    }

    /// Whether hypotheses were not tested, since the case is large.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.left_out > 0
    }

    /// The hypotheses that other runs may still bear out.
    #[must_use]
    pub fn alive(&self) -> BTreeSet<String> {
        let alive = self.candidates.iter().filter(|candidate| candidate.is_alive());
        alive.map(|candidate| candidate.what.fault()).collect()
    }

    /// The hypotheses that explain everything that is wrong, and whatever explains all of it.
    #[must_use]
    pub fn explaining(&self) -> BTreeSet<String> {
        let fits = self.candidates.iter().filter(|one| one.reach(self.tried) > Reach::Partly);
        fits.map(|candidate| candidate.what.fault()).collect()
    }

    /// Whether something explains everything that is wrong.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.all_are_nan
            || !self.explaining().is_empty()
            || together(&self.seen, &self.by_reach(&|_| 0)).len() > 1
    }

    /// Adds what another run says of the hypotheses that may still be borne out; all others are dropped.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.all_are_nan &= other.all_are_nan;
        let mut places = Vec::with_capacity(other.seen.len());
        for theirs in &other.seen {
            let own = self.seen.iter().position(|own| own.name == theirs.name);
            places.push(own.unwrap_or(self.seen.len()));
            match own {
                Some(own) => self.seen[own].merge(theirs),
                None => self.seen.push(theirs.clone()),
            }
        }
        self.candidates.retain(Candidate::is_alive);
        for candidate in &mut self.candidates {
            let fault = candidate.what.fault();
            let theirs = other.candidates.iter().find(|theirs| theirs.what.fault() == fault);
            theirs.into_iter().for_each(|theirs| candidate.merge(theirs, &places));
            candidate.widened(self.seen.len());
        }
    }

    /// All candidates that something supports, those that explain most first; of equals those that explain
    /// most other findings, then the simplest.
    pub(super) fn by_reach(&self, others: &dyn Fn(&str) -> usize) -> Vec<&Candidate> {
        let supported = self.candidates.iter().filter(|candidate| candidate.supports() > 0);
        let mut all: Vec<_> = supported.collect();
        // Stable: of equals the simplest stays first.
        all.sort_by_key(|one| Reverse((one.reach(self.tried), others(&one.what.fault()))));
        all
    }
}
