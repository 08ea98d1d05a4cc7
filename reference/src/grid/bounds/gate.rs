//! Bounds of gated encodings: see [`crate::grid::gate`].

use super::{Bounds, Sum, TableBounds, backward, backward_input, forward};
use crate::arithmetic::{Bounded, Model};
use crate::grid::gate::{AtGates, Gated, Gradients, gated, width};
use crate::grid::stages::Input;

/// Bounds of [`crate::grid::gate::gated_backward`]: a point's products are added up in any order.
///
/// # Panics
/// For arrays that do not fit each other.
#[must_use]
pub fn gated_backward<M: Model, I: Input<Bounded<M>>>(
    gates: &[I],
    features: &[I],
    v_gated: &[I],
) -> AtGates<Bounded<M>> {
    assert_eq!(features.len(), v_gated.len(), "each feature has a gradient");
    let width = width(gates, features);
    let rows = features.chunks_exact(width).zip(v_gated.chunks_exact(width));
    let dot = |(features, v_gated): (&[I], &[I])| {
        let mut sum = Sum::default();
        features.iter().zip(v_gated).for_each(|(y, v)| sum.add(y.lift() * v.lift()));
        sum.total::<M>()
    };
    AtGates { v_features: gated(gates, v_gated), v_gates: rows.map(dot).collect() }
}

impl Gated<'_, f32> {
    /// The mask and the features at the points.
    fn bounds_at_gates<M: Model>(&self) -> [Bounds<M>; 2] {
        let Self { grid, mask_grid, positions, table, mask } = *self;
        [forward(mask_grid, positions, mask), forward(grid, positions, table)]
    }

    /// Bounds of [`Gated::features`].
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn feature_bounds<M: Model>(&self) -> Bounds<M> {
        let [gates, features] = self.bounds_at_gates::<M>();
        let elements = gated(&gates.elements, &features.elements);
        let mut undecided = features.undecided;
        undecided.add(&gates.undecided);
        Bounds { elements, sums: Vec::new(), undecided }
    }

    /// Bounds of [`Gated::gradients`].
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn gradient_bounds<M: Model>(&self, v_gated: &[f32]) -> Gradients<TableBounds, Bounds<M>> {
        let Self { grid, mask_grid, positions, table, mask } = *self;
        let [gates, features] = self.bounds_at_gates::<M>();
        let v_gated: Vec<Bounded<M>> = v_gated.iter().map(|v| v.lift()).collect();
        let AtGates { v_features, v_gates } =
            gated_backward(&gates.elements, &features.elements, &v_gated);
        let mut v_positions = backward_input::<M>(grid, positions, table, &v_features);
        let of_mask = backward_input::<M>(mask_grid, positions, mask, &v_gates);
        v_positions.undecided.add(&of_mask.undecided);
        for (sum, own) in v_positions.elements.iter_mut().zip(of_mask.elements) {
            *sum = *sum + own;
        }
        Gradients {
            v_table: backward::<M>(grid, positions, &v_features),
            v_mask: backward::<M>(mask_grid, positions, &v_gates),
            v_positions,
        }
    }
}
