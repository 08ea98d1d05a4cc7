//! A case as the harness judges it: a job of each stage, its size in words, how it is made smaller and
//! written.

use super::case::Case;
use super::case_file;
use super::expectation::{backward, backward_input, forward, gate, gate_backward};
use super::gated::is_of_gate;
use super::minimize::smaller;
use super::space;
use super::steps::Steps;
use crate::case_space::Traits;
use crate::io::InputError;
use crate::judge::{Arithmetic, Expectation, under};
use crate::scatter_step::Scatter;
use crate::words::{count, count_of};
use crate::workload::{AnyCase, CaseError, CaseId, Job, Notes, Oracle};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::grid::{
    GRID_BACKWARD, GRID_BACKWARD_INPUT, GRID_FORWARD, GRID_GATE, GRID_GATE_BACKWARD,
};
use splatcheck_gpu::{EngineError, Stage};
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

    /// The encoding, and the mask of its gate.
    fn views(&self) -> usize {
        1 + usize::from(self.gate.is_some())
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        if view >= self.views() {
            return Ok(Vec::new());
        }
        let (whole, seen) = (Arc::new(self.clone()), Arc::new(self.seen(view)));
        let here = |pass: &Pass| wanted(pass.stage()) && view < self.views_of(pass.stage());
        let case = |pass: Pass| if is_of_gate(pass.stage()) { &whole } else { &seen };
        Pass::ALL.into_iter().filter(here).map(|pass| job(case(pass), pass)).collect()
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        let seen = self.seen(view);
        Ok(space::traits(&Self { gate: self.gate.clone(), ..seen }))
    }

    /// The stages of gates have the encoding's view alone.
    fn views_of(&self, stage: Stage) -> usize {
        match Pass::ALL.into_iter().find(|pass| pass.stage() == stage) {
            Some(Pass::Gate | Pass::GateBackward) => usize::from(self.gate.is_some()),
            Some(Pass::Forward | Pass::Backward | Pass::BackwardInput) => self.views(),
            None => 0,
        }
    }

    fn describe(&self, _stage: Stage, view: usize) -> String {
        let grid = self.gate.as_ref().filter(|_| view > 0).map_or(&self.grid, |gate| &gate.grid);
        let points = self.points();
        let [d, levels] = [grid.dimensions(), grid.levels().len()];
        let [entries, features] = [grid.entries(), grid.features()];
        format!(
            "{} of {}, {}, {} of {}",
            count(points, "point"),
            count(d, "dimension"),
            count(levels, "level"),
            count_of(entries, "entry", "entries"),
            count(features, "feature")
        )
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

/// Which stage.
#[derive(Clone, Copy, Debug)]
enum Pass {
    Forward,
    Backward,
    BackwardInput,
    Gate,
    GateBackward,
}

impl Pass {
    const ALL: [Self; 5] =
        [Self::Forward, Self::Backward, Self::BackwardInput, Self::Gate, Self::GateBackward];

    fn stage(self) -> Stage {
        match self {
            Self::Forward => GRID_FORWARD,
            Self::Backward => GRID_BACKWARD,
            Self::BackwardInput => GRID_BACKWARD_INPUT,
            Self::Gate => GRID_GATE,
            Self::GateBackward => GRID_GATE_BACKWARD,
        }
    }
}

fn job(case: &Arc<Case>, pass: Pass) -> Result<Job, CaseError> {
    let failed =
        |error: &dyn Display| CaseError { case: case.name.clone(), problem: error.to_string() };
    let stage = pass.stage();
    let inputs = match case.at_gate().filter(|_| is_of_gate(stage)) {
        Some(at) => case.gate_tensors(stage, &at),
        None => case.tensors(stage),
    };
    let inputs = inputs.map_err(|error| failed(&error))?;
    // The oracle takes arrays as they are, which no engine has looked at yet.
    stage.check_inputs(&inputs).map_err(|error| failed(&error))?;
    let lanes = case.points() * case.grid.levels().len();
    let oracle = Box::new(OfCase { case: Arc::clone(case), pass });
    Job::new(stage, inputs, lanes, oracle).map_err(|error| failed(&error))
}

/// The oracle of a stage.
#[derive(Debug)]
struct OfCase {
    case: Arc<Case>,
    pass: Pass,
}

impl Oracle for OfCase {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        let case = &*self.case;
        match self.pass {
            Pass::Forward => under!(arithmetic, forward(case)),
            Pass::Backward => under!(arithmetic, backward(case)),
            Pass::BackwardInput => under!(arithmetic, backward_input(case)),
            Pass::Gate => under!(arithmetic, gate(case)),
            Pass::GateBackward => under!(arithmetic, gate_backward(case)),
        }
    }

    fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        match self.pass {
            Pass::Backward => {
                let steps = Steps::new(&self.case.grid, &self.case.positions, lane_width);
                Some(steps.map(|steps| Box::new(steps) as Box<dyn Scatter>))
            }
            // Each lane writes what is its own.
            Pass::Forward | Pass::BackwardInput | Pass::Gate | Pass::GateBackward => None,
        }
    }
}
