//! A case as the harness judges it: a job of each stage, its size in words, and how it is made smaller.

use super::case::Points;
use super::constants;
use super::diagnosis::hypotheses;
use super::expectation::{backward, backward_input, forward, gate, gate_backward};
use super::gate::Gate;
use super::gated::is_of_gate;
use super::minimize::smaller;
use super::space;
use super::steps::Steps;
use splatcheck_gpu::stages::grid::{
    GRID_BACKWARD, GRID_BACKWARD_INPUT, GRID_FORWARD, GRID_GATE, GRID_GATE_BACKWARD,
};
use splatcheck_gpu::{EngineError, Stage};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::io::Problem;
use splatcheck_judge::judge::{Arithmetic, Expectation};
use splatcheck_judge::scatter_step::Scatter;
use splatcheck_judge::under;
use splatcheck_judge::words::{count, count_of};
use splatcheck_judge::workload::{BuiltIn, Constant, FailedRun, Job, Oracle, named};
use std::sync::Arc;

impl named::Numbers for Points {
    /// The encoding, and the mask of its gate.
    fn views(&self) -> usize {
        1 + usize::from(self.gate.is_some())
    }

    /// The stages of gates have the encoding's view alone.
    fn views_of(&self, stage: Stage) -> usize {
        match Pass::ALL.into_iter().find(|pass| pass.stage() == stage) {
            Some(Pass::Gate | Pass::GateBackward) => usize::from(self.gate.is_some()),
            Some(Pass::Forward | Pass::Backward | Pass::BackwardInput) => self.views(),
            None => 0,
        }
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, String> {
        if view >= self.views() {
            return Ok(Vec::new());
        }
        let (whole, seen) = (Arc::new(self.clone()), Arc::new(self.seen(view)));
        let here = |pass: &Pass| wanted(pass.stage()) && view < self.views_of(pass.stage());
        let points = |pass: Pass| if is_of_gate(pass.stage()) { &whole } else { &seen };
        Pass::ALL.into_iter().filter(here).map(|pass| job(points(pass), pass)).collect()
    }

    fn traits(&self, view: usize) -> Traits {
        space::traits(&Self { gate: self.gate.clone(), ..self.seen(view) })
    }

    fn describe(&self, view: usize) -> String {
        let grid = self.gate.as_ref().filter(|_| view > 0).map_or(&self.grid, |gate| &gate.grid);
        let [d, levels] = [grid.dimensions(), grid.levels().len()];
        format!(
            "{} of {}, {}, {} of {}",
            count(self.points(), "point"),
            count(d, "dimension"),
            count(levels, "level"),
            count_of(grid.entries(), "entry", "entries"),
            count(grid.features(), "feature")
        )
    }

    fn smaller(&self, fails: &mut dyn FnMut(&Self) -> bool) -> Self {
        smaller(self, fails)
    }

    fn constants() -> Vec<Constant> {
        constants::all()
    }

    fn constant(&self, stage: Stage, name: &str) -> Option<usize> {
        constants::of(self, is_of_gate(stage), name)
    }

    fn with_constants(&self, stage: Stage, built_in: &BuiltIn) -> Option<Self> {
        constants::given(self, is_of_gate(stage), built_in)
    }

    fn validate(&self) -> Result<(), Problem> {
        let (d, features, points) = (self.grid.dimensions(), self.grid.features(), self.points());
        let table = self.grid.entries() * features;
        let gradients = points * self.grid.levels().len() * features;
        for (name, found, expected) in [
            ("positions", self.positions.len(), points * d),
            ("table", self.table.len(), table),
            ("v_features", self.v_features.len(), gradients),
        ] {
            if found != expected {
                let what = format!("the number of values of {name}");
                return Err(Problem::new(what, found, format!("expected {expected}")));
            }
        }
        self.gate.as_ref().map_or(Ok(()), Gate::validate)
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

    /// What a conforming kernel may return.
    fn expect(self, case: &Points, arithmetic: Arithmetic) -> Expectation {
        match self {
            Self::Forward => under!(arithmetic, forward(case)),
            Self::Backward => under!(arithmetic, backward(case)),
            Self::BackwardInput => under!(arithmetic, backward_input(case)),
            Self::Gate => under!(arithmetic, gate(case)),
            Self::GateBackward => under!(arithmetic, gate_backward(case)),
        }
    }
}

fn job(points: &Arc<Points>, pass: Pass) -> Result<Job, String> {
    let stage = pass.stage();
    let inputs = match points.at_gate().filter(|_| is_of_gate(stage)) {
        Some(at) => points.gate_tensors(stage, &at),
        None => points.tensors(stage),
    };
    let inputs = inputs.map_err(|error| error.to_string())?;
    // The oracle takes arrays as they are, which no engine has looked at yet.
    stage.check_inputs(&inputs).map_err(|error| error.to_string())?;
    let lanes = points.points() * points.grid.levels().len();
    let oracle = Box::new(OfCase { case: Arc::clone(points), pass });
    Job::new(stage, inputs, lanes, oracle).map_err(|error| error.to_string())
}

/// The oracle of a stage.
#[derive(Debug)]
struct OfCase {
    case: Arc<Points>,
    pass: Pass,
}

impl Oracle for OfCase {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        self.pass.expect(&self.case, arithmetic)
    }

    /// Of the stages of gates nothing is computed again: they are products.
    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        let pass = self.pass;
        match pass {
            Pass::Gate | Pass::GateBackward => Vec::new(),
            Pass::Forward | Pass::Backward | Pass::BackwardInput => {
                hypotheses(&self.case, run.lane_width, move |other| {
                    pass.expect(other, run.arithmetic)
                })
            }
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
