//! A case behind its gate: what meets there, and the case as the stages of any grid see it.

use super::case::Points;
use splatcheck_gpu::stages::grid::{GRID_GATE, GRID_GATE_BACKWARD};
use splatcheck_gpu::{Data, Stage, TensorError, Tensors};
use splatcheck_reference::grid::forward;
use splatcheck_reference::grid::gate::{AtGates, Gated, gated_backward};

/// Whether a stage is one of gates alone.
pub(super) fn is_of_gate(stage: Stage) -> bool {
    stage == GRID_GATE || stage == GRID_GATE_BACKWARD
}

impl Points {
    /// The case with its gate as the oracle takes it; `None` where it has none.
    #[must_use]
    pub fn gated(&self) -> Option<Gated<'_, f32>> {
        let Self { grid, positions, table, .. } = self;
        let gate = self.gate.as_ref()?;
        Some(Gated { grid, mask_grid: &gate.grid, positions, table, mask: &gate.mask })
    }

    /// The numbers that meet at the gate, in f32; `None` where it has none.
    pub(super) fn at_gate(&self) -> Option<AtGate> {
        let gate = self.gate.as_ref()?;
        let gates = forward::<f32, f32>(&gate.grid, &self.positions, &gate.mask);
        let features = forward::<f32, f32>(&self.grid, &self.positions, &self.table);
        Some(AtGate { gates, features })
    }

    /// The case as the stages of any grid see it in a view: the encoding with the gradients that come through
    /// the gate, and then the mask.
    pub(super) fn seen(&self, view: usize) -> Self {
        let (Some(gate), Some(at)) = (&self.gate, self.at_gate()) else { return self.clone() };
        let AtGates { v_features, v_gates } =
            gated_backward::<f32, f32>(&at.gates, &at.features, &self.v_features);
        if view == 0 {
            return Self { v_features, gate: None, ..self.clone() };
        }
        Self {
            grid: gate.grid.clone(),
            positions: self.positions.clone(),
            table: gate.mask.clone(),
            v_features: v_gates,
            gate: None,
        }
    }

    /// What a device gets for a stage of gates, with these numbers at the gate.
    pub(super) fn gate_tensors(&self, stage: Stage, at: &AtGate) -> Result<Tensors, TensorError> {
        let points = self.points();
        let shape = [points, self.grid.levels().len(), self.grid.features()];
        let mut all = Tensors::new();
        all.array("gates", &[points], Data::F32(at.gates.clone()))?;
        all.array("features", &shape, Data::F32(at.features.clone()))?;
        all.array("v_gated", &shape, Data::F32(self.v_features.clone()))?;
        Ok(all.only(|name| stage.reads(name)))
    }
}

/// The numbers that meet at a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AtGate {
    /// The mask at the points, `[N]`.
    pub(super) gates: Vec<f32>,
    /// `[N,L,F]`.
    pub(super) features: Vec<f32>,
}
