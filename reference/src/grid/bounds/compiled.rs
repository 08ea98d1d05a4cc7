//! The bounds of every model, compiled in this crate and not in each that asks for them.

use super::gate::{at_gates, features as gated_features, gradients as gated_gradients};
use super::keys::{Keys, of_corners};
use super::stages::{Bounds, TableBounds, features, of_entries, of_positions};
use crate::arithmetic::{Bounded, Cuda, CudaFast, Ieee, Model, Wgsl, WgslExpZero};
use crate::grid::gate::{AtGates, Gated, Gradients};
use crate::grid::table::Grid;

/// A model of which the bounds are compiled in this crate.
pub trait Compiled: Model {
    /// [`forward`]
    fn forward(grid: &Grid, positions: &[f32], table: &[f32]) -> Bounds<Self>;

    /// [`backward_input`]
    fn backward_input(
        grid: &Grid,
        positions: &[f32],
        table: &[f32],
        v_features: &[f32],
    ) -> Bounds<Self>;

    /// [`backward`]
    fn backward(grid: &Grid, positions: &[f32], v_features: &[f32]) -> TableBounds;

    /// [`keys()`]
    fn keys(grid: &Grid, positions: &[f32]) -> Keys;

    /// [`gated_backward`]
    fn gated_backward(gates: &[f32], features: &[f32], v_gated: &[f32]) -> AtGates<Bounded<Self>>;

    /// [`Gated::feature_bounds`]
    fn gated_features(gated: &Gated<'_, f32>) -> Bounds<Self>;

    /// [`Gated::gradient_bounds`]
    fn gated_gradients(
        gated: &Gated<'_, f32>,
        v_gated: &[f32],
    ) -> Gradients<TableBounds, Bounds<Self>>;
}

macro_rules! compiled {
    ($($model:ty)*) => {$(
        impl Compiled for $model {
            fn forward(grid: &Grid, positions: &[f32], table: &[f32]) -> Bounds<Self> {
                features(grid, positions, table)
            }

            fn backward_input(
                grid: &Grid,
                positions: &[f32],
                table: &[f32],
                v_features: &[f32],
            ) -> Bounds<Self> {
                of_positions(grid, positions, table, v_features)
            }

            fn backward(grid: &Grid, positions: &[f32], v_features: &[f32]) -> TableBounds {
                of_entries::<Self>(grid, positions, v_features)
            }

            fn keys(grid: &Grid, positions: &[f32]) -> Keys {
                of_corners::<Self>(grid, positions)
            }

            fn gated_backward(
                gates: &[f32],
                features: &[f32],
                v_gated: &[f32],
            ) -> AtGates<Bounded<Self>> {
                at_gates(gates, features, v_gated)
            }

            fn gated_features(gated: &Gated<'_, f32>) -> Bounds<Self> {
                gated_features(gated)
            }

            fn gated_gradients(
                gated: &Gated<'_, f32>,
                v_gated: &[f32],
            ) -> Gradients<TableBounds, Bounds<Self>> {
                gated_gradients(gated, v_gated)
            }
        }
    )*};
}

compiled!(Ieee Cuda CudaFast Wgsl WgslExpZero);

/// Bounds of the features, `[N,L,F]`: see [`crate::grid::forward`].
///
/// # Panics
/// For arrays that do not fit the grid.
#[must_use]
pub fn forward<M: Compiled>(grid: &Grid, positions: &[f32], table: &[f32]) -> Bounds<M> {
    M::forward(grid, positions, table)
}

/// Bounds of the positions' gradients, `[N,d]`: see [`crate::grid::backward_input`].
///
/// # Panics
/// For arrays that do not fit the grid.
#[must_use]
pub fn backward_input<M: Compiled>(
    grid: &Grid,
    positions: &[f32],
    table: &[f32],
    v_features: &[f32],
) -> Bounds<M> {
    M::backward_input(grid, positions, table, v_features)
}

/// Bounds of the entries' gradients, `[E,F]`: see [`crate::grid::backward`].
///
/// # Panics
/// For arrays that do not fit the grid.
#[must_use]
pub fn backward<M: Compiled>(grid: &Grid, positions: &[f32], v_features: &[f32]) -> TableBounds {
    M::backward(grid, positions, v_features)
}

/// The entries of all corners, as a program may have them that conforms to the model.
///
/// # Panics
/// For positions that do not fit the grid.
#[must_use]
pub fn keys<M: Compiled>(grid: &Grid, positions: &[f32]) -> Keys {
    M::keys(grid, positions)
}

/// Bounds of [`crate::grid::gate::gated_backward`]: a point's products are added up in any order.
///
/// # Panics
/// For arrays that do not fit each other.
#[must_use]
pub fn gated_backward<M: Compiled>(
    gates: &[f32],
    features: &[f32],
    v_gated: &[f32],
) -> AtGates<Bounded<M>> {
    M::gated_backward(gates, features, v_gated)
}

impl Gated<'_, f32> {
    /// Bounds of [`Gated::features`].
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn feature_bounds<M: Compiled>(&self) -> Bounds<M> {
        M::gated_features(self)
    }

    /// Bounds of [`Gated::gradients`].
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn gradient_bounds<M: Compiled>(
        &self,
        v_gated: &[f32],
    ) -> Gradients<TableBounds, Bounds<M>> {
        M::gated_gradients(self, v_gated)
    }
}
