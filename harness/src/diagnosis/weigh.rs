//! Which hypothesis explains most: each is weighed column by column.

use super::Diagnosis;
use super::measured::{May, Measured, Part};
use super::words::{self, What};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A column of an output under a hypothesis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weight {
    /// Elements outside their right bounds.
    outside: usize,
    /// Those of them that the hypothesis explains.
    explained: usize,
    /// Elements of the column that are right and would not be under the hypothesis.
    against: usize,
}

impl Weight {
    /// Whether the whole column is as the hypothesis says, and is not right.
    fn is_explained(self) -> bool {
        self.outside > 0 && self.explained == self.outside && self.against == 0
    }

    /// Whether the column is right, and the hypothesis says that it is not.
    fn is_spared(self) -> bool {
        self.outside == 0 && self.against > 0
    }
}

/// How much of a run a hypothesis explains, the most last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Not everything that is wrong.
    Partly,
    /// Everything that is wrong, though more would be wrong under it.
    Elements,
    /// Everything that is wrong, by whole columns; others are right that would not be under it.
    Columns,
    /// All elements of all outputs, as they would be but for the roundings of this fault.
    Roundings,
    /// All elements of all outputs.
    Everything,
}

/// A hypothesis with all that speaks for it and against it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    what: What,
    of_roundings: bool,
    /// `[output][column]`
    weights: Vec<Vec<Weight>>,
}

/// The weights of an output's columns.
fn weights(part: &Part, may: Option<&[May]>, of_roundings: bool) -> Vec<Weight> {
    let mut weights = vec![Weight::default(); part.columns];
    for (place, &returned) in part.returned.iter().enumerate() {
        let (right, weight) = (&part.right[place], &mut weights[place % part.columns]);
        if !right.is_known() {
            continue;
        }
        let outside = part.is_outside(place);
        weight.outside += usize::from(outside);
        // Where nothing is said, the right numbers stay.
        let Some(may) = may.map(|may| &may[place]) else { continue };
        if may.holds(returned) {
            let tells = of_roundings || !may.holds(right.value);
            weight.explained += usize::from(outside && tells);
        } else {
            weight.against += usize::from(!outside);
        }
    }
    weights
}

impl Candidate {
    pub(super) fn weighed(
        what: What,
        of_roundings: bool,
        measured: &Measured,
        may: &[Option<Vec<May>>],
    ) -> Self {
        let parts = measured.parts.iter().zip(may);
        let weights = parts.map(|(part, may)| weights(part, may.as_deref(), of_roundings));
        Self { what, of_roundings, weights: weights.collect() }
    }

    fn all(&self) -> impl Iterator<Item = Weight> {
        self.weights.iter().flatten().copied()
    }

    /// Elements that it explains.
    pub(super) fn explained(&self) -> usize {
        self.all().map(|weight| weight.explained).sum()
    }

    /// Elements of an output that it explains.
    pub(super) fn explained_in(&self, part: usize) -> usize {
        self.weights[part].iter().map(|weight| weight.explained).sum()
    }

    fn against(&self) -> usize {
        self.all().map(|weight| weight.against).sum()
    }

    /// Whether columns are right that would not be.
    pub(super) fn spares(&self) -> bool {
        self.all().any(Weight::is_spared)
    }

    pub(super) fn reach(&self) -> Reach {
        let explains = self.all().all(|weight| weight.explained == weight.outside);
        if !explains {
            Reach::Partly
        } else if self.of_roundings {
            if self.against() == 0 { Reach::Roundings } else { Reach::Partly }
        } else if self.against() == 0 {
            Reach::Everything
        } else if self.all().all(|weight| weight.outside == 0 || weight.is_explained()) {
            Reach::Columns
        } else {
            Reach::Elements
        }
    }

    /// Whether it explains everything that is wrong, by whole columns at least.
    pub(super) fn explains_by_columns(&self) -> bool {
        self.explained() > 0 && self.reach() > Reach::Elements
    }

    /// How near it comes to explaining everything where it does not: elements explained less those that
    /// speak against it.
    fn near(&self) -> usize {
        self.explained().saturating_sub(self.against())
    }

    /// The columns that it explains as a whole: numbers of the output and of the column.
    pub(super) fn columns(&self) -> BTreeSet<(usize, usize)> {
        let parts = self.weights.iter().enumerate();
        let of = |(part, weights): (usize, &Vec<Weight>)| {
            let explained = weights.iter().enumerate().filter(|(_, weight)| weight.is_explained());
            explained.map(|(column, _)| (part, column)).collect::<Vec<_>>()
        };
        parts.flat_map(of).collect()
    }

    /// Whether an output has nothing that speaks against it.
    pub(super) fn fits(&self, part: usize) -> bool {
        self.weights[part].iter().all(|weight| weight.against == 0)
    }

    /// The outputs in which it explains something.
    pub(super) fn parts(&self) -> Vec<usize> {
        let explains = |part: &usize| self.weights[*part].iter().any(|weight| weight.explained > 0);
        (0..self.weights.len()).filter(explains).collect()
    }

    pub(super) fn what(&self) -> &What {
        &self.what
    }
}

/// Most faults that are named together.
const MOST_TOGETHER: usize = 3;
/// Names the best.
pub(super) fn conclude(
    measured: &Measured,
    mut candidates: Vec<Candidate>,
    (tried, left_out): (usize, usize),
) -> Diagnosis {
    candidates.retain(|candidate| candidate.explained() > 0);
    // Stable: of equals the simplest stays first.
    candidates.sort_by_key(|candidate| Reverse(candidate.reach()));
    let best = candidates.first().map_or(Reach::Partly, Candidate::reach);
    if best <= Reach::Elements {
        let together = together(measured, &candidates);
        if together.len() > 1 {
            return words::together(measured, &together);
        }
    }
    let none = |candidates: &[Candidate]| {
        let tells = |candidate: &&Candidate| !candidate.of_roundings && candidate.near() > 1;
        let nearest =
            candidates.iter().rev().filter(tells).max_by_key(|candidate| candidate.near());
        words::none(measured, nearest, (tried, left_out))
    };
    if best == Reach::Partly {
        return none(&candidates);
    }
    let fits = candidates.iter().filter(|candidate| candidate.reach() > Reach::Partly);
    let fits = fits.map(|candidate| words::fit(measured, candidate)).collect();
    let mut diagnosis = Diagnosis { fits, left_out, ..none(&[]) };
    words::of_fits(&mut diagnosis);
    diagnosis
}

/// A few candidates that explain every column between them, each as a whole; none where there are not.
fn together<'c>(measured: &Measured, candidates: &'c [Candidate]) -> Vec<&'c Candidate> {
    let outside = |part: usize, column: usize| {
        let part = &measured.parts[part];
        (column..part.returned.len()).step_by(part.columns).any(|place| part.is_outside(place))
    };
    let columns = |part: usize| (0..measured.parts[part].columns).map(move |column| (part, column));
    let mut left: BTreeSet<_> = (0..measured.parts.len())
        .flat_map(columns)
        .filter(|&(part, column)| outside(part, column))
        .collect();
    let mut chosen = Vec::new();
    while !left.is_empty() && chosen.len() < MOST_TOGETHER {
        let more = |candidate: &&Candidate| candidate.columns().intersection(&left).count();
        let by = |candidate: &&Candidate| (more(candidate), Reverse(candidate.against()));
        // Of equals the one with the least against it, then the simplest: the first, and of a reversed
        // walk the last.
        let Some(best) = candidates.iter().rev().max_by_key(by) else { return Vec::new() };
        if more(&best) == 0 {
            return Vec::new();
        }
        left = &left - &best.columns();
        chosen.push(best);
    }
    if left.is_empty() { chosen } else { Vec::new() }
}
