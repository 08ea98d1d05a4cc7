//! A case as the harness judges it: its one job, its size in words, how it is made smaller and
//! written.

use super::case::{Case, Numbers};
use super::case_file;
use super::minimize::smaller;
use super::space;
use super::steps::Steps;
use crate::case_space::Traits;
use crate::io::InputError;
use crate::judge::{Arithmetic, ByLane, Expectation, Output, OutputBound, Rows, Terms, under};
use crate::scatter_step::Scatter;
use crate::words::count;
use crate::workload::{AnyCase, CaseError, CaseId, Job, Notes, Oracle};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{EngineError, Stage};
use splatcheck_reference::arithmetic::Model;
use splatcheck_reference::scatter::{SumBounds, sums};
use std::any::Any;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

impl crate::workload::Case for Case {
    fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> Option<&CaseId> {
        self.id.as_ref()
    }

    fn hazards(&self) -> &[Hazard] {
        &self.hazards
    }

    fn views(&self) -> usize {
        1
    }

    fn jobs_of(&self, _view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        let failed =
            |error: &dyn Display| CaseError { case: self.name.clone(), problem: error.to_string() };
        let inputs = self.numbers.tensors().map_err(|error| failed(&error))?;
        // The oracle takes keys as rows, which no engine has looked at yet.
        SCATTER.check_inputs(&inputs).map_err(|error| failed(&error))?;
        if !wanted(SCATTER) {
            return Ok(Vec::new());
        }
        let oracle = Box::new(Sums(self.numbers.clone()));
        let job = Job::new(SCATTER, inputs, self.numbers.len(), oracle);
        Ok(vec![job.map_err(|error| failed(&error))?])
    }

    fn traits(&self, _view: usize) -> Result<Traits, CaseError> {
        Ok(space::traits(self))
    }

    fn views_of(&self, stage: Stage) -> usize {
        usize::from(stage == SCATTER)
    }

    fn describe(&self, _stage: Stage, _view: usize) -> String {
        let numbers = &self.numbers;
        {
            let elements = count(numbers.len(), "element");
            let [values, rows] =
                [(numbers.width, "value"), (numbers.rows(), "row")].map(|(n, one)| count(n, one));
            format!("{elements} of {values}, {rows}")
        }
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        Arc::new(Self { name, id, ..self.clone() })
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        Arc::new(smaller(&self, &mut |case| fails(&(Arc::new(case.clone()) as AnyCase))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        case_file::write_case(path, self, notes)
    }

    fn as_any(&self) -> &dyn Any {
        self
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
}

/// Lane i of the grid has element i; what a row held before is a term like the others.
fn expectation<M: Model>(numbers: &Numbers) -> Expectation {
    let SumBounds { elements, .. } = sums::<M>(&numbers.elements());
    let (rows, width) = (numbers.rows(), numbers.width);
    let starts = |row: &[f32]| row.iter().any(|&x| x != 0.0);
    let starts = numbers.initial.chunks_exact(width).map(starts).collect();
    let bound = OutputBound::Sum(elements);
    let output = Output { name: "sums", shape: vec![rows, width], bound };
    let rows = Rows {
        count: rows,
        outputs: vec![output],
        terms: Some(Terms::ByLane(ByLane {
            rows: numbers.keys.clone(),
            others: Vec::new(),
            starts,
        })),
        presence: None,
        open: Vec::new(),
    };
    Expectation { model: M::TABLE, undecided: 0, rows: vec![rows] }
}
