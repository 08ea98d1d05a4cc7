//! A case as the harness judges it: its one job, its size in words, and how it is made smaller.

use super::case::Numbers;
use super::diagnosis::hypotheses;
use super::minimize::smaller;
use super::space;
use super::steps::Steps;
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{EngineError, Stage};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::io::Problem;
use splatcheck_judge::judge::{Arithmetic, ByLane, Expectation, Output, OutputBound, Rows, Terms};
use splatcheck_judge::scatter_step::Scatter;
use splatcheck_judge::under;
use splatcheck_judge::words::count;
use splatcheck_judge::workload::rows::recounted;
use splatcheck_judge::workload::{BuiltIn, Constant, FailedRun, Job, Oracle, Values, named};
use splatcheck_reference::arithmetic::Model;
use splatcheck_reference::scatter::{NO_KEY, SumBounds, sums};

/// The symbol of the values of an element, which may be built into a kernel.
const VALUES: &str = "V";
/// The most that may be.
const MOST_VALUES: usize = 1024;

impl named::Numbers for Numbers {
    fn views_of(&self, stage: Stage) -> usize {
        usize::from(stage == SCATTER)
    }

    fn jobs_of(&self, _view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, String> {
        let inputs = self.tensors().map_err(|error| error.to_string())?;
        // The oracle takes keys as rows, which no engine has looked at yet.
        SCATTER.check_inputs(&inputs).map_err(|error| error.to_string())?;
        if !wanted(SCATTER) {
            return Ok(Vec::new());
        }
        let job = Job::new(SCATTER, inputs, self.len(), Box::new(Sums(self.clone())));
        Ok(vec![job.map_err(|error| error.to_string())?])
    }

    fn traits(&self, _view: usize) -> Traits {
        space::traits(self)
    }

    fn describe(&self, _view: usize) -> String {
        let [values, rows] =
            [(self.width, "value"), (self.rows(), "row")].map(|(n, one)| count(n, one));
        format!("{} of {values}, {rows}", count(self.len(), "element"))
    }

    fn smaller(&self, fails: &mut dyn FnMut(&Self) -> bool) -> Self {
        smaller(self, fails)
    }

    fn constants() -> Vec<Constant> {
        vec![Constant::new(VALUES, Values::UpTo(MOST_VALUES))]
    }

    fn constant(&self, _stage: Stage, name: &str) -> Option<usize> {
        (name == VALUES).then_some(self.width)
    }

    /// Values beyond those that there are, are copies of them, each copy half as large as the one before.
    fn with_constants(&self, _stage: Stage, built_in: &BuiltIn) -> Option<Self> {
        let mut other = self.clone();
        for (_, width) in built_in.iter() {
            other = Self {
                values: recounted(&other.values, other.width, width),
                initial: recounted(&other.initial, other.width, width),
                width,
                keys: other.keys,
            };
        }
        Some(other)
    }

    fn validate(&self) -> Result<(), Problem> {
        if self.width == 0 {
            return Err(Problem::new("values of an element", 0, "give 1 or more"));
        }
        let rows = self.rows();
        let beyond = |&key: &u32| key != NO_KEY && key as usize >= rows;
        match self.keys.iter().position(beyond) {
            Some(at) => {
                let advice = format!("must be below {rows}, the rows, or {NO_KEY} for none");
                Err(Problem::new(format!("keys[{at}]"), self.keys[at], advice))
            }
            None => Ok(()),
        }
    }
}

/// The oracle of `scatter`.
#[derive(Debug)]
struct Sums(Numbers);

impl Oracle for Sums {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        under!(arithmetic, expectation(&self.0))
    }

    fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        let steps = Steps::new(&self.0, lane_width);
        Some(steps.map(|steps| Box::new(steps) as Box<dyn Scatter>))
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        hypotheses(&self.0, run.lane_width, move |other| under!(run.arithmetic, expectation(other)))
    }
}

/// Lane i of the grid has element i; what a row held before is a term like the others.
fn expectation<M: Model>(numbers: &Numbers) -> Expectation {
    let SumBounds { elements, .. } = sums::<M>(&numbers.elements());
    let (rows, width) = (numbers.rows(), numbers.width);
    let bound = OutputBound::Sum(elements);
    let output = Output { name: "sums", shape: vec![rows, width], bound };
    let rows = Rows {
        count: rows,
        outputs: vec![output],
        terms: Some(Terms::ByLane(ByLane {
            rows: numbers.keys.clone(),
            others: Vec::new(),
            count: numbers.rows(),
            before: numbers.initial.clone(),
        })),
        ..Rows::default()
    };
    Expectation { model: M::TABLE, undecided: 0, rows: vec![rows] }
}
