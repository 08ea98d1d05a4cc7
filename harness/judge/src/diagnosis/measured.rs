//! What a kernel returned beside what a right one may return, output by output.

use crate::judge::{Acceptable, Expectation, Output, OutputBound, walk};
use splatcheck_gpu::{Setting, TensorError, Tensors};
use splatcheck_reference::arithmetic::ArithmeticModel;

/// What an element may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct May {
    pub(super) value: f64,
    pub(super) radius: f64,
    /// The radius of twice the value, where every term of a sum is added twice: that sum has more
    /// roundings than one that is doubled.
    pub(super) of_twice: f64,
    /// The integers that it may be beside the value.
    pub(super) others: Vec<i64>,
}

impl May {
    /// Exactly 0.
    pub(super) const ZERO: Self =
        Self { value: 0.0, radius: 0.0, of_twice: 0.0, others: Vec::new() };

    fn new(meant: &Acceptable<'_>, place: usize, model: &ArithmeticModel) -> Self {
        match *meant {
            Acceptable::Within((value, radius)) => {
                Self { value, radius, of_twice: 2.0 * radius, others: Vec::new() }
            }
            Acceptable::Sum(element, sum, radius) => {
                let (depth, terms) = (2 * sum.depth + 1, 2 * sum.terms);
                let twice = element.scaled(2.0).tolerance(depth, terms, model);
                let of_twice = twice.max(2.0 * radius);
                Self { value: element.value, radius, of_twice, others: Vec::new() }
            }
            Acceptable::OneOf(allowed) => {
                let others = allowed.others.get(&place).cloned().unwrap_or_default();
                #[expect(clippy::cast_precision_loss, reason = "integers of 32 bits are exact")]
                let value = allowed.oracle[place] as f64;
                Self { value, radius: 0.0, of_twice: 0.0, others }
            }
        }
    }

    /// Whether a number is one of those; nothing is where the radius is not finite.
    #[expect(clippy::cast_precision_loss, reason = "integers of 32 bits are exact")]
    pub(super) fn holds(&self, x: f64) -> bool {
        let other = || self.others.iter().any(|&other| other as f64 == x);
        self.is_known() && ((x - self.value).abs() <= self.radius || other())
    }

    /// Whether it says anything.
    pub(super) fn is_known(&self) -> bool {
        self.radius < f64::INFINITY && self.value.is_finite()
    }
}

/// An output: what was returned, and what is right.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) shape: Vec<usize>,
    /// Numbers that belong together: those of a Gaussian, a camera or a pixel. Element i is of column
    /// i modulo this.
    pub(super) columns: usize,
    pub(super) returned: Vec<f64>,
    pub(super) right: Vec<May>,
}

impl Part {
    fn new(output: &Output) -> Self {
        let Output { name, shape, bound } = output;
        // A sum has a row for each of its destinations; what is no sum may be an image.
        let below = match (bound, shape.len()) {
            (OutputBound::Sum(_), _) => 1.min(shape.len()),
            (
                OutputBound::Interval(_) | OutputBound::OneOf(_) | OutputBound::DerivedFrom(_),
                dimensions,
            ) => match dimensions {
                3.. => dimensions - 1,
                0..3 => dimensions,
            },
        };
        let columns = shape[below..].iter().product::<usize>().max(1);
        let (name, shape) = (*name, shape.clone());
        Self { name, shape, columns, returned: Vec::new(), right: Vec::new() }
    }

    /// Whether an element lies outside its bounds.
    pub(super) fn is_outside(&self, place: usize) -> bool {
        self.right[place].is_known() && !self.right[place].holds(self.returned[place])
    }

    pub(super) fn outside(&self) -> impl Iterator<Item = usize> {
        (0..self.returned.len()).filter(|&place| self.is_outside(place))
    }
}

/// All outputs of a run.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) parts: Vec<Part>,
}

impl Measured {
    pub(super) fn new(
        right: &Expectation,
        outputs: &Tensors,
        run: (Option<Setting>, u32),
    ) -> Result<Self, TensorError> {
        let there = right.rows.iter().flat_map(|rows| &rows.outputs);
        let there = there.filter(|output| outputs.find(output.name).is_some());
        let mut parts: Vec<Part> = there.map(Part::new).collect();
        // Rows come one after another, and of each the outputs in turn.
        walk(right, outputs, None, run, |element, meant| {
            let part = parts.iter_mut().find(|part| part.name == element.output.name);
            if let Some(part) = part {
                part.returned.push(element.value);
                part.right.push(May::new(&meant, element.place, &right.model));
            }
        })?;
        Ok(Self { parts })
    }

    /// What the same elements may be by another expectation; `None` for an output that it has not.
    pub(super) fn predicted(
        &self,
        expectation: &Expectation,
        outputs: &Tensors,
        run: (Option<Setting>, u32),
    ) -> Result<Vec<Option<Vec<May>>>, TensorError> {
        let mut all: Vec<Vec<May>> = vec![Vec::new(); self.parts.len()];
        walk(expectation, outputs, None, run, |element, meant| {
            let at = self.parts.iter().position(|part| part.name == element.output.name);
            if let Some(at) = at {
                all[at].push(May::new(&meant, element.place, &expectation.model));
            }
        })?;
        let whole = |(may, part): (Vec<May>, &Part)| {
            Some(may).filter(|may| may.len() == part.returned.len())
        };
        Ok(all.into_iter().zip(&self.parts).map(whole).collect())
    }

    /// Elements outside their bounds.
    pub(super) fn outside(&self) -> usize {
        self.parts.iter().map(|part| part.outside().count()).sum()
    }

    /// Whether every element outside its bounds is NaN.
    pub(super) fn all_are_nan(&self) -> bool {
        self.parts.iter().all(|part| part.outside().all(|place| part.returned[place].is_nan()))
    }
}
