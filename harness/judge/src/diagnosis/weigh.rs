//! Which hypothesis explains most: each is weighed column by column, over one failing run or many.
//!
//! An element outside its right bounds *supports* a hypothesis where it lies within the hypothesis's bounds
//! and these exclude the right value; it *refutes* it where they do not hold it; else it is neutral: what was
//! observed cannot tell. A right element is *spared* where the hypothesis says that it would be wrong.

use super::change::What;
use super::measured::{Measured, Part};
use crate::attribution::surprise;
use std::collections::BTreeSet;

/// A column of an output under a hypothesis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    /// Elements outside their right bounds.
    pub(super) outside: usize,
    /// Wrong elements that speak for the hypothesis.
    pub(super) supports: usize,
    /// Wrong elements that speak against it.
    pub(super) refutes: usize,
    /// Elements of the column that are right and would not be under the hypothesis.
    pub(super) spared: usize,
}

impl Weight {
    /// Whether nothing in the column speaks against the hypothesis.
    fn is_free(self) -> bool {
        self.refutes + self.spared == 0
    }

    /// Whether the whole column is as the hypothesis says, and is not right.
    fn is_explained(self) -> bool {
        self.outside > 0 && self.is_free() && most_of(self.supports, self.outside)
    }

    /// Whether the column is right, and the hypothesis says that it is not.
    fn is_spared(self) -> bool {
        self.outside == 0 && self.spared > 0
    }

    fn add(&mut self, other: Self) {
        self.outside += other.outside;
        self.supports += other.supports;
        self.refutes += other.refutes;
        self.spared += other.spared;
    }
}

/// Whether enough elements speak for something: half of those that are wrong. With fewer, it is the rest
/// that is to be explained.
fn most_of(supports: usize, outside: usize) -> bool {
    supports > 0 && 2 * supports >= outside
}

/// How much a hypothesis explains, the most last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Not everything that is wrong, or nothing that could not be chance.
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

/// What a hypothesis is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The numbers.
    Numbers,
    /// Their roundings alone, so that its bounds hold the right values too.
    Roundings,
}

/// An output of the runs that were weighed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) name: &'static str,
    shape: Vec<usize>,
    columns: usize,
    /// Elements of all runs.
    pub(super) elements: usize,
    /// Elements outside their right bounds, by column.
    outside: Vec<usize>,
}

impl Seen {
    pub(super) fn new(part: &Part) -> Self {
        let Part { name, shape, columns, returned, .. } = part;
        let mut outside = vec![0; *columns];
        part.outside().for_each(|place| outside[place % columns] += 1);
        Self { name, shape: shape.clone(), columns: *columns, elements: returned.len(), outside }
    }

    /// Elements outside their right bounds.
    pub(super) fn outside(&self) -> usize {
        self.outside.iter().sum()
    }

    /// The columns with such elements.
    fn wrong(&self) -> impl Iterator<Item = usize> {
        (0..self.outside.len()).filter(|&column| self.outside[column] > 0)
    }

    /// Adds what was seen of the output in another run, which may have other numbers of columns.
    pub(super) fn merge(&mut self, other: &Self) {
        self.elements += other.elements;
        if other.columns > self.columns {
            (self.shape, self.columns) = (other.shape.clone(), other.columns);
            self.outside.resize(other.columns, 0);
        }
        self.outside.iter_mut().zip(&other.outside).for_each(|(sum, more)| *sum += more);
    }

    /// The index of a column as Python writes it; `None` where there is only one.
    pub(super) fn column_index(&self, column: usize) -> Option<String> {
        if self.columns == 1 {
            return None;
        }
        let (mut rest, mut index, mut below) = (column, Vec::new(), self.columns);
        for &side in self.shape.iter().rev() {
            if below <= 1 {
                index.push(":".to_owned());
                continue;
            }
            index.push((rest % side.max(1)).to_string());
            (rest, below) = (rest / side.max(1), below / side.max(1));
        }
        index.reverse();
        Some(index.join(", "))
    }
}

/// A hypothesis with all that speaks for it and against it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) what: What,
    about: About,
    /// `[output][column]`
    weights: Vec<Vec<Weight>>,
    /// How surprising it is that the elements which support it lie where it says, in bits.
    bits: f64,
}

/// The weights of an output's columns; `elsewhere` is what the same program had returned before it could
/// have had the fault: a hypothesis which holds that too says nothing.
fn weights(
    part: &Part,
    may: Option<&[super::measured::May]>,
    (about, elsewhere): (About, Option<&[f64]>),
) -> (Vec<Weight>, f64) {
    let (mut weights, mut bits) = (vec![Weight::default(); part.columns], 0.0);
    for (place, &returned) in part.returned.iter().enumerate() {
        let (right, weight) = (&part.right[place], &mut weights[place % part.columns]);
        if !right.is_known() {
            continue;
        }
        let outside = part.is_outside(place);
        weight.outside += usize::from(outside);
        // Where nothing is said, the right numbers stay.
        let may = may.map_or(right, |may| &may[place]);
        if !may.is_known() {
            continue;
        }
        let holds = may.holds(returned);
        let of_any = elsewhere.is_some_and(|values| may.holds(values[place]));
        let tells = match about {
            About::Numbers => !may.holds(right.value) && !of_any,
            About::Roundings => true,
        };
        match (outside, holds) {
            (true, true) if tells => {
                weight.supports += 1;
                bits += surprise((returned - right.value).abs(), may.radius);
            }
            (true, true) | (false, true) => {}
            (true, false) => weight.refutes += 1,
            (false, false) => weight.spared += 1,
        }
    }
    (weights, bits)
}

impl Candidate {
    pub(super) fn weighed(
        (what, about): (What, About),
        measured: &Measured,
        may: &[Option<Vec<super::measured::May>>],
        before: Option<&Measured>,
    ) -> Self {
        let mut bits = 0.0;
        let mut all = Vec::with_capacity(measured.parts.len());
        for (number, (part, may)) in measured.parts.iter().zip(may).enumerate() {
            let before = before.and_then(|before| before.parts.get(number));
            let before = before.map(|part| &*part.returned);
            let before = before.filter(|values| values.len() == part.returned.len());
            let (weights, more) = weights(part, may.as_deref(), (about, before));
            bits += more;
            all.push(weights);
        }
        Self { what, about, weights: all, bits }
    }

    fn all(&self) -> impl Iterator<Item = Weight> {
        self.weights.iter().flatten().copied()
    }

    /// Elements that support it.
    pub(super) fn supports(&self) -> usize {
        self.all().map(|weight| weight.supports).sum()
    }

    /// Elements of an output that support it.
    pub(super) fn supports_in(&self, output: usize) -> usize {
        self.weights[output].iter().map(|weight| weight.supports).sum()
    }

    /// Right elements that would not be right under it.
    pub(super) fn spared(&self) -> usize {
        self.all().map(|weight| weight.spared).sum()
    }

    /// Whether columns are right that would not be.
    pub(super) fn spares(&self) -> bool {
        self.all().any(Weight::is_spared)
    }

    /// Whether enough elements speak for it: half of those that are wrong, and as many as do not lie there
    /// by chance for one of so many hypotheses.
    #[expect(clippy::cast_precision_loss, reason = "hundreds of hypotheses")]
    fn has_enough(&self, tried: usize) -> bool {
        let outside = self.all().map(|weight| weight.outside).sum();
        let surprising = self.about == About::Roundings || self.bits >= (tried as f64).log2();
        most_of(self.supports(), outside) && surprising
    }

    /// How much it explains, as one of so many that were tried.
    pub(super) fn reach(&self, tried: usize) -> Reach {
        let refuted = self.all().any(|weight| weight.refutes > 0);
        if refuted || !self.has_enough(tried) {
            return Reach::Partly;
        }
        let spared = self.spared();
        match self.about {
            About::Roundings if spared == 0 => Reach::Roundings,
            About::Roundings => Reach::Partly,
            About::Numbers if spared == 0 => Reach::Everything,
            About::Numbers if self.all().all(|one| one.outside == 0 || one.is_free()) => {
                Reach::Columns
            }
            // That some elements of many are other numbers is seen; that a fault which would change all of
            // them has changed some is not.
            About::Numbers => match &self.what {
                What::Change(change) if !change.moves() => Reach::Elements,
                What::Change(_) | What::Fault { .. } => Reach::Partly,
            },
        }
    }

    /// Whether other runs may still bear it out: some column, or the whole, has nothing against it.
    pub(super) fn is_alive(&self) -> bool {
        let whole = self.all().all(|weight| weight.refutes == 0);
        match self.about {
            About::Roundings => whole && self.spared() == 0,
            About::Numbers => whole || self.all().any(|one| one.outside > 0 && one.is_free()),
        }
    }

    /// Whether it explains everything that is wrong, by whole columns at least.
    pub(super) fn explains_by_columns(&self) -> bool {
        self.reach(1) > Reach::Elements
    }

    /// How near it comes to explaining everything where it does not: elements that support it less the right
    /// ones that would not be.
    pub(super) fn near(&self) -> usize {
        match self.about {
            About::Numbers => self.supports().saturating_sub(self.spared()),
            About::Roundings => 0,
        }
    }

    /// The columns that it explains as a whole: numbers of the output and of the column.
    pub(super) fn columns(&self) -> BTreeSet<(usize, usize)> {
        let outputs = self.weights.iter().enumerate();
        let of = |(output, weights): (usize, &Vec<Weight>)| {
            let explained = weights.iter().enumerate().filter(|(_, weight)| weight.is_explained());
            explained.map(|(column, _)| (output, column)).collect::<Vec<_>>()
        };
        outputs.flat_map(of).collect()
    }

    /// Whether an output has no right element that would not be right.
    pub(super) fn fits(&self, output: usize) -> bool {
        self.weights[output].iter().all(|weight| weight.spared == 0)
    }

    /// The outputs in which something supports it.
    pub(super) fn outputs(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|&output| self.supports_in(output) > 0).collect()
    }

    /// Adds what another run says of it; `places` are the other run's outputs among this one's.
    pub(super) fn merge(&mut self, other: &Self, places: &[usize]) {
        self.bits += other.bits;
        for (&place, more) in places.iter().zip(&other.weights) {
            if self.weights.len() <= place {
                self.weights.resize(place + 1, Vec::new());
            }
            let own = &mut self.weights[place];
            if own.len() < more.len() {
                own.resize(more.len(), Weight::default());
            }
            own.iter_mut().zip(more).for_each(|(sum, more)| sum.add(*more));
        }
        self.what.generalize(&other.what);
    }

    /// With columns for outputs that it was not weighed on.
    pub(super) fn widened(&mut self, outputs: usize) {
        if self.weights.len() < outputs {
            self.weights.resize(outputs, Vec::new());
        }
    }
}

/// Most faults that are named together.
const MOST_TOGETHER: usize = 3;

/// A few candidates that explain every column between them, each as a whole; none where there are not.
pub(super) fn together<'c>(seen: &[Seen], candidates: &[&'c Candidate]) -> Vec<&'c Candidate> {
    let columns = |(output, seen): (usize, &'_ Seen)| {
        seen.wrong().map(|column| (output, column)).collect::<Vec<_>>()
    };
    let mut left: BTreeSet<_> = seen.iter().enumerate().flat_map(columns).collect();
    let mut chosen = Vec::new();
    while !left.is_empty() && chosen.len() < MOST_TOGETHER {
        let more = |candidate: &Candidate| candidate.columns().intersection(&left).count();
        let by = |candidate: &&&Candidate| (more(candidate), std::cmp::Reverse(candidate.spared()));
        // Of equals the one with the least against it, then the simplest: the first, and of a reversed
        // walk the last.
        let Some(best) = candidates.iter().rev().max_by_key(by) else { return Vec::new() };
        if more(best) == 0 {
            return Vec::new();
        }
        left = &left - &best.columns();
        chosen.push(*best);
    }
    if left.is_empty() { chosen } else { Vec::new() }
}
