//! What a conforming kernel may return for one job.

use super::by_lane::ByLane;
use super::tolerance::Summation;
use crate::verdict::{Difference, Tally};
use splatcheck_gpu::{Data, Dtype, Setting, Tensor, TensorError, Tensors};
use splatcheck_reference::arithmetic::{ArithmeticModel, ElementBound, LaneSum};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A value and its radius.
pub type Bound = (f64, f64);

/// What a conforming kernel may return for one job under one arithmetic.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The arithmetic.
    pub model: ArithmeticModel,
    /// Comparisons that rounding leaves open, followed both ways.
    pub undecided: u64,
    /// The outputs.
    pub rows: Vec<Rows>,
}

impl Expectation {
    /// Whether every sum that depends on the reduction is a number in fixed point
    /// ([`ElementBound::is_in_fixed_point`]). Where one is not, what a kernel that adds up such numbers
    /// returns is no result of it.
    #[must_use]
    pub fn is_in_fixed_point(&self) -> bool {
        self.outputs().all(Output::is_in_fixed_point)
    }
}

impl Expectation {
    /// All outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Output> {
        self.rows.iter().flat_map(|rows| &rows.outputs)
    }

    /// Whether anything is expected of the output of that name.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.outputs().any(|output| output.name == name)
    }

    /// What is expected of a kernel that returns the outputs of another expectation as well. Comparisons
    /// that rounding leaves open are counted once: they are this one's.
    #[must_use]
    pub fn beside(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self
    }

    /// What is expected of a kernel that does not return these outputs.
    #[must_use]
    pub fn without(mut self, left_out: &[&str]) -> Self {
        self.rows.iter_mut().for_each(|rows| rows.leave_out(left_out));
        self.rows.retain(|rows| !rows.outputs.is_empty());
        self
    }
}

/// Outputs with the same first dimensions. They are compared row by row, so that of elements that are
/// equally wrong the report shows one of the first row.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Rows.
    pub count: usize,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// Where they have sums: what is summed in each row.
    pub terms: Option<Terms>,
    /// Which rows a kernel may leave out.
    pub presence: Option<RowPresence>,
    /// Of the elements of an only output that are sums by one lane each: what it adds up. Else empty.
    pub lane_sums: Vec<LaneSum>,
    /// Of every row, or of none: whether an element of it may have no finite bound, because roundings decide
    /// if what it is made of is there at all, or because it is left out and may hold anything. The
    /// presence's undecided rows are such.
    pub open: Vec<bool>,
}

/// An output.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: &'static str,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// What its elements may be.
    pub bound: OutputBound,
}

impl Output {
    fn is_in_fixed_point(&self) -> bool {
        match &self.bound {
            OutputBound::Sum(elements) => elements.iter().all(ElementBound::is_in_fixed_point),
            OutputBound::Interval(_) | OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => true,
        }
    }
}

/// What the elements of an output may be, one entry each.
#[derive(Clone, Debug)]
pub enum OutputBound {
    /// Within a radius of a value.
    Interval(Vec<Bound>),
    /// A sum, whose bound the order of summation completes.
    Sum(Vec<ElementBound>),
    /// One of these integers.
    OneOf(Allowed),
    /// Exactly what follows from what the kernel itself returned.
    DerivedFrom(DerivedFrom),
}

/// Integers that follow from a kernel's other outputs, whichever of those that it may return these are.
#[derive(Clone, Debug)]
pub struct DerivedFrom {
    /// What the oracle returns.
    pub oracle: Vec<i64>,
    /// How they follow.
    pub rule: Arc<dyn Rule>,
}

/// See [`DerivedFrom`].
pub trait Rule: fmt::Debug + Send + Sync {
    /// The integers that belong to these outputs; `None` where what they follow from was not returned:
    /// then they are the oracle's.
    fn of(&self, outputs: &Tensors) -> Option<Vec<i64>>;
}

impl DerivedFrom {
    /// What a kernel's integers must be that returned these outputs.
    pub(super) fn of(&self, outputs: &Tensors) -> Vec<i64> {
        let own = self.rule.of(outputs).filter(|own| own.len() == self.oracle.len());
        own.unwrap_or_else(|| self.oracle.clone())
    }
}

/// Integers that elements may be.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// What the oracle returns.
    pub oracle: Vec<i64>,
    /// Of some elements: what else a conforming kernel may return.
    pub others: BTreeMap<usize, Vec<i64>>,
    /// Elements of which nothing is known, in open rows.
    pub anything: BTreeSet<usize>,
}

/// What the sums of each row add up.
#[derive(Clone, Debug)]
pub enum Terms {
    /// How many terms each row has, added in any order.
    InAnyOrder(Vec<u64>),
    /// The contributing lanes of each workgroup that adds to the row: row r has the counts
    /// `counts[offsets[r]..offsets[r + 1]]`.
    ByWorkgroup {
        /// One more than rows.
        offsets: Vec<usize>,
        /// Lanes.
        counts: Vec<u32>,
    },
    /// One of each lane that has a row, and what the row holds before.
    ByLane(ByLane),
}

impl Terms {
    /// What the sums of an output begin at.
    pub(super) fn before(&self, place: usize) -> f64 {
        match self {
            Self::ByLane(lanes) => lanes.before.get(place).copied().map_or(0.0, f64::from),
            Self::InAnyOrder(_) | Self::ByWorkgroup { .. } => 0.0,
        }
    }

    /// The summations of all rows under a setting.
    #[must_use]
    pub fn summations(&self, setting: Option<Setting>, lane_width: u32) -> Summations<'_> {
        match self {
            Self::InAnyOrder(_) | Self::ByWorkgroup { .. } => {
                Summations::Each { terms: self, setting, lane_width }
            }
            Self::ByLane(lanes) => Summations::All(lanes.summations(setting, lane_width)),
        }
    }

    /// The summation of a row under a setting.
    #[must_use]
    pub fn summation(&self, row: usize, setting: Option<Setting>, lane_width: u32) -> Summation {
        match (self, setting) {
            (Self::ByLane(lanes), _) => lanes.summations(setting, lane_width)[row],
            (Self::ByWorkgroup { offsets, counts }, Some(setting)) => {
                Summation::new(&counts[offsets[row]..offsets[row + 1]], setting, lane_width)
            }
            (Self::ByWorkgroup { offsets, counts }, None) => {
                let counts = &counts[offsets[row]..offsets[row + 1]];
                Summation::in_any_order(counts.iter().map(|&count| u64::from(count)).sum())
            }
            (Self::InAnyOrder(terms), _) => Summation::in_any_order(terms[row]),
        }
    }
}

/// The summations of rows under one setting.
#[derive(Clone, Debug)]
pub enum Summations<'a> {
    /// Each follows from its row's terms.
    Each {
        /// The terms.
        terms: &'a Terms,
        /// The setting.
        setting: Option<Setting>,
        /// Lanes of a warp.
        lane_width: u32,
    },
    /// All of them.
    All(Vec<Summation>),
}

impl Summations<'_> {
    /// That of a row.
    #[must_use]
    pub fn of(&self, row: usize) -> Summation {
        match self {
            Self::Each { terms, setting, lane_width } => {
                terms.summation(row, *setting, *lane_width)
            }
            Self::All(all) => all[row],
        }
    }
}

/// What is left of a row that a kernel left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// All other numbers of the row are exactly zero.
    Zeros,
    /// All other numbers of the row may be anything, and are not compared.
    Anything,
}

/// Rows that a kernel may leave out, where roundings decide whether it does.
#[derive(Clone, Debug)]
pub struct RowPresence {
    /// What it then returns.
    pub left_out: LeftOut,
    /// The number of the output that holds the kernel's decision: 0 where it left the row out.
    pub decided_by: usize,
    /// Of every row: whether roundings decide.
    pub undecided: Vec<bool>,
}

impl RowPresence {
    /// The bound of the other numbers of an undecided row that the kernel left out.
    pub(super) fn of_left_out(&self, row: usize, columns: &[&Data]) -> Option<Bound> {
        let left_out = self.undecided[row] && number(columns[self.decided_by], row) == 0.0;
        left_out.then_some(match self.left_out {
            LeftOut::Zeros => (0.0, 0.0),
            LeftOut::Anything => (0.0, f64::INFINITY),
        })
    }
}

impl Rows {
    /// Outputs that are no sums, compared element by element.
    #[must_use]
    pub fn single(output: Output) -> Self {
        Self { count: 1, outputs: vec![output], ..Self::default() }
    }

    /// Drops the outputs of these names. Where the kernel's decision on a row is among them, nothing is
    /// said of the rows that roundings decide.
    fn leave_out(&mut self, left_out: &[&str]) {
        let kept = |output: &Output| !left_out.contains(&output.name);
        if let Some(presence) = self.presence.take() {
            if kept(&self.outputs[presence.decided_by]) {
                let before = &self.outputs[..presence.decided_by];
                let decided_by = before.iter().filter(|output| kept(output)).count();
                self.presence = Some(RowPresence { decided_by, ..presence });
            } else {
                let count = self.count;
                self.outputs.iter_mut().for_each(|one| one.blur(count, &presence.undecided));
                let open = presence.undecided.iter().enumerate();
                self.open = open.map(|(row, &open)| open || self.is_open(row)).collect();
            }
        }
        self.outputs.retain(kept);
    }

    /// Whether a row may have elements without a finite bound.
    pub(super) fn is_open(&self, row: usize) -> bool {
        let holds = |of: &Vec<bool>| of.get(row).is_some_and(|&open| open);
        holds(&self.open) || self.presence.as_ref().is_some_and(|p| holds(&p.undecided))
    }

    /// The elements of the outputs.
    pub(super) fn columns<'t>(&self, outputs: &'t Tensors) -> Result<Vec<&'t Data>, TensorError> {
        self.outputs.iter().map(|output| Ok(outputs.get(output.name)?.data())).collect()
    }
}

impl Output {
    /// Whether the array that a kernel returned has the output's type and shape, where it returned one.
    pub(super) fn check(&self, returned: Option<&Tensor>) -> Result<(), TensorError> {
        let Some(tensor) = returned else { return Ok(()) };
        let (name, found) = (self.name.to_owned(), tensor.dtype());
        let expected = match self.bound {
            OutputBound::Interval(_) | OutputBound::Sum(_) => Dtype::F32,
            OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => Dtype::I32,
        };
        if found != expected {
            return Err(TensorError::Dtype { name, found, expected });
        }
        if tensor.shape() != self.shape {
            let (found, expected) = (tensor.shape().to_vec(), format!("{:?}", self.shape));
            return Err(TensorError::Dimensions { name, found, expected });
        }
        Ok(())
    }

    /// What its elements must be beside these outputs, where they follow from them.
    pub(super) fn followed(&self, outputs: &Tensors) -> Vec<f64> {
        match &self.bound {
            OutputBound::DerivedFrom(follows) => {
                follows.of(outputs).into_iter().map(to_f64).collect()
            }
            OutputBound::Interval(_) | OutputBound::Sum(_) | OutputBound::OneOf(_) => Vec::new(),
        }
    }

    /// Says nothing of the numbers of some of its rows.
    pub fn blur(&mut self, rows: usize, which: &[bool]) {
        let width = self.width(rows);
        match &mut self.bound {
            OutputBound::Interval(bounds) => {
                let rows = bounds.chunks_mut(width.max(1)).zip(which);
                for bound in rows.filter(|(_, blurred)| **blurred).flat_map(|(row, _)| row) {
                    bound.1 = f64::INFINITY;
                }
            }
            // Rows that may be left out hold no sums, and integers only where they decide.
            OutputBound::Sum(_) | OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => {}
        }
    }

    /// Elements of a row.
    pub(super) fn width(&self, rows: usize) -> usize {
        let elements = match &self.bound {
            OutputBound::Interval(bounds) => bounds.len(),
            OutputBound::Sum(elements) => elements.len(),
            OutputBound::OneOf(allowed) => allowed.oracle.len(),
            OutputBound::DerivedFrom(follows) => follows.oracle.len(),
        };
        elements.checked_div(rows).unwrap_or(0)
    }

    /// The index of an element.
    fn index(&self, place: usize) -> Vec<usize> {
        crate::verdict::index(&self.shape, place)
    }
}

/// An element of a kernel's output.
pub(crate) struct Element<'a> {
    pub(crate) output: &'a Output,
    /// Whether its row is open: [`Rows::open`].
    pub(super) open: bool,
    pub(crate) place: usize,
    pub(crate) value: f64,
    /// What a sum begins at; 0 of what is no sum.
    pub(crate) before: f64,
    /// Whether it is what the harness had put there before the kernel ran.
    pub(crate) unwritten: bool,
}

impl Element<'_> {
    fn difference(&self, (oracle, bound): Bound, sum: Option<(u64, f64)>) -> Difference {
        Difference {
            output: self.output.name.into(),
            element: self.output.index(self.place),
            value: self.value,
            oracle,
            bound,
            sum,
            unwritten: self.unwritten,
        }
    }

    /// Whether the element has no bound because its row is open: then it is counted, not compared.
    fn is_unbounded(&self, bound: f64, tally: &mut Tally) -> bool {
        let unbounded = self.open && !bound.is_finite();
        tally.unbounded += u64::from(unbounded);
        unbounded
    }

    /// Compares a number with an interval.
    pub(super) fn within(&self, (oracle, bound): Bound, tally: &mut Tally) {
        if self.is_unbounded(bound, tally) {
            return;
        }
        let difference = || self.difference((oracle, bound), None);
        // An integer that follows from others is a decision, also where it is 0.
        match self.output.bound {
            // No term, or none but exact zeros, since any other has a rounding and with it a bound.
            OutputBound::Interval(_) if (oracle, bound) == (0.0, 0.0) => {
                tally.compare_idle(0.0, difference, self.value, bound);
            }
            OutputBound::Interval(_)
            | OutputBound::Sum(_)
            | OutputBound::OneOf(_)
            | OutputBound::DerivedFrom(_) => {
                tally.compare(0.0, difference, self.value, oracle, bound);
            }
        }
    }

    /// Compares an integer with those that it may be.
    pub(super) fn one_of(&self, allowed: &Allowed, tally: &mut Tally) {
        if self.open && allowed.anything.contains(&self.place) {
            tally.unbounded += 1;
            return;
        }
        let is = |integer: i64| self.value == to_f64(integer);
        let others = allowed.others.get(&self.place);
        let fits = is(allowed.oracle[self.place])
            || others.is_some_and(|others| others.iter().any(|&other| is(other)));
        let oracle = to_f64(allowed.oracle[self.place]);
        let difference = || self.difference((oracle, 0.0), None);
        tally.compare(0.0, difference, if fits { oracle } else { self.value }, oracle, 0.0);
    }

    /// Compares a sum with its bound.
    pub(super) fn sums_to(
        &self,
        element: &ElementBound,
        sum: Summation,
        bound: f64,
        tally: &mut Tally,
    ) {
        if self.is_unbounded(bound, tally) {
            return;
        }
        let (oracle, magnitude) = (element.value, element.magnitude);
        let difference = || self.difference((oracle, bound), Some((sum.terms, magnitude)));
        if sum.leaves(self.before, (oracle, bound)) {
            tally.compare_idle(self.before, difference, self.value, bound);
        } else {
            tally.compare(self.before, difference, self.value, oracle, bound);
        }
    }
}

/// Outputs are of 32 bits, and so are the integers they may be.
#[expect(clippy::cast_precision_loss, reason = "integers of 32 bits are exact")]
pub(super) fn to_f64(integer: i64) -> f64 {
    integer as f64
}

/// An element as a number: every f32 and every 32-bit integer is an f64.
pub(super) fn number(data: &Data, place: usize) -> f64 {
    match data {
        Data::F32(values) => f64::from(values[place]),
        Data::I32(values) => f64::from(values[place]),
        Data::U32(values) => f64::from(values[place]),
    }
}
