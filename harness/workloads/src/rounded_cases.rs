//! Cases of sums by key, of grids and of harmonics whose inputs are rounded to 16 bits. What goes
//! into the stages of splats is rounded where it is made.

use std::sync::Arc;

use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::grid::{GRID_BACKWARD, GRID_BACKWARD_INPUT, GRID_FORWARD};
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_judge::workload::AnyCase;

use crate::floats::rounded_finite;
use crate::halves::Halves;
use crate::splat::harmonics;
use crate::{grid, scatter};

/// The stages and the inputs that their cases hold. What the stages of gates read is computed from a case.
const STAGES: [Stage; 4] = [SCATTER, GRID_FORWARD, GRID_BACKWARD, GRID_BACKWARD_INPUT];
const INPUTS: [&str; 5] = ["values", "initial", "positions", "table", "v_features"];

/// Whether cases of a stage of another workload than splats are rounded in an input.
#[must_use]
pub fn may_be_rounded(stage: Stage, input: &str) -> bool {
    STAGES.contains(&stage) && INPUTS.contains(&input) || harmonics::may_be_rounded(stage, input)
}

/// Whether the kernels of a stage add an output up in one lane each, so that they may round at each addition.
#[must_use]
pub fn is_sum_of_lane(stage: Stage, output: &str) -> bool {
    stage == GRID_FORWARD && output == "features"
}

/// A case of sums by key, of a grid or of harmonics with its inputs rounded; any other as it is.
pub(crate) fn rounded(case: &AnyCase, halves: &Halves) -> AnyCase {
    let round = |name: &str, all: &mut [f32]| {
        if let Some((_, float)) = halves.inputs.iter().find(|(known, _)| *known == name) {
            all.iter_mut().for_each(|x| *x = rounded_finite(*float, *x));
        }
    };
    if let Some(case) = case.as_any().downcast_ref::<scatter::case::Case>() {
        let mut numbers = case.numbers.clone();
        round("values", &mut numbers.values);
        round("initial", &mut numbers.initial);
        return Arc::new(case.with(numbers));
    }
    if let Some(case) = case.as_any().downcast_ref::<grid::case::Case>() {
        let mut points = case.numbers.clone();
        round("positions", &mut points.positions);
        round("table", &mut points.table);
        round("v_features", &mut points.v_features);
        // A mask is the table of the second view.
        points.gate.iter_mut().for_each(|gate| round("table", &mut gate.mask));
        return Arc::new(case.with(points));
    }
    harmonics::rounded(case, &halves.inputs).unwrap_or_else(|| Arc::clone(case))
}
