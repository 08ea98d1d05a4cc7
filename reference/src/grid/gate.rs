//! A gate: all features of a point times one number, the mask at the point (Xie et al., `HollowNeRF: Pruning
//! Hashgrid-Based NeRFs with Trainable Collision Mitigation`, 2023).
//!
//! The mask m(x) is an encoding of its own, whose [`Grid`] has one level of one feature: dense and coarse, so that
//! its entries are added to far more often than the table's. With the features y of a point and the
//! gradients v of m y:
//!
//! * `v_y` = m v, and `v_m` = the sum over levels and features of y v.
//! * `v_table` is that of `v_y`, `v_mask` that of `v_m` in the mask's grid ([`super::backward`]).
//! * `v_x` is the sum of both grids' ([`super::backward_input`]).

use super::stages::{Input, backward, backward_input, forward};
use super::table::Grid;
use crate::arithmetic::Scalar;

/// How many features each point has that a gate opens or shuts.
///
/// # Panics
/// For part of a point's features.
pub(super) fn width<I>(gates: &[I], features: &[I]) -> usize {
    let points = gates.len();
    let width = features.len() / points.max(1);
    assert_eq!(width * points, features.len(), "features has {points} rows");
    width.max(1)
}

/// The features behind the gates, `[N,L,F]`, from `gates` `[N]` and `features` `[N,L,F]`.
///
/// # Panics
/// For part of a point's features.
#[must_use]
pub fn gated<S: Scalar, I: Input<S>>(gates: &[I], features: &[I]) -> Vec<S> {
    let rows = features.chunks_exact(width(gates, features));
    let row = |(gate, row): (&I, &[I])| -> Vec<S> {
        row.iter().map(|y| gate.lift() * y.lift()).collect()
    };
    gates.iter().zip(rows).flat_map(row).collect()
}

/// The gradients of the numbers that meet at a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct AtGates<T> {
    /// `[N,L,F]`.
    pub v_features: Vec<T>,
    /// `[N]`.
    pub v_gates: Vec<T>,
}

/// The gradients of features and gates from those of the features behind the gates, `v_gated` `[N,L,F]`.
///
/// # Panics
/// For arrays that do not fit each other.
#[must_use]
pub fn gated_backward<S: Scalar, I: Input<S>>(
    gates: &[I],
    features: &[I],
    v_gated: &[I],
) -> AtGates<S> {
    assert_eq!(features.len(), v_gated.len(), "each feature has a gradient");
    let width = width(gates, features);
    let rows = features.chunks_exact(width).zip(v_gated.chunks_exact(width));
    let dot = |(features, v_gated): (&[I], &[I])| {
        let products = features.iter().zip(v_gated).map(|(y, v)| y.lift() * v.lift());
        products.fold(S::default(), |sum, product| sum + product)
    };
    AtGates { v_features: gated(gates, v_gated), v_gates: rows.map(dot).collect() }
}

/// Points in an encoding behind a gate.
#[derive(Clone, Copy, Debug)]
pub struct Gated<'a, I> {
    /// The encoding.
    pub grid: &'a Grid,
    /// The mask's: one level of one feature.
    pub mask_grid: &'a Grid,
    /// `[N,d]`.
    pub positions: &'a [I],
    /// `[E,F]`.
    pub table: &'a [I],
    /// The mask's entries.
    pub mask: &'a [I],
}

/// The gradients of everything that a gated encoding is made from, or their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients<T, P = T> {
    /// Of the entries, `[E,F]`.
    pub v_table: T,
    /// Of the mask's entries.
    pub v_mask: T,
    /// Of the positions, `[N,d]`.
    pub v_positions: P,
}

fn lifted<S, I: Input<S>>(numbers: &[I]) -> Vec<S> {
    numbers.iter().map(|x| x.lift()).collect()
}

impl<I: Copy + Send + Sync> Gated<'_, I> {
    /// The features behind the gate, `[N,L,F]`.
    ///
    /// # Panics
    /// For arrays that do not fit the grids.
    #[must_use]
    pub fn features<S: Scalar + Input<S>>(&self) -> Vec<S>
    where
        I: Input<S>,
    {
        let [gates, features] = self.at_gates();
        gated::<S, S>(&gates, &features)
    }

    /// The mask and the features at the points.
    fn at_gates<S: Scalar>(&self) -> [Vec<S>; 2]
    where
        I: Input<S>,
    {
        let Self { grid, mask_grid, positions, table, mask } = *self;
        [forward(mask_grid, positions, mask), forward(grid, positions, table)]
    }

    /// The gradients from those of the features behind the gate, `[N,L,F]`.
    ///
    /// # Panics
    /// For arrays that do not fit the grids.
    #[must_use]
    pub fn gradients<S: Scalar + Input<S>>(&self, v_gated: &[I]) -> Gradients<Vec<S>>
    where
        I: Input<S>,
    {
        let [gates, features] = self.at_gates();
        let AtGates { v_features, v_gates } =
            gated_backward::<S, S>(&gates, &features, &lifted(v_gated));
        let [positions, table, mask] = [self.positions, self.table, self.mask].map(lifted::<S, I>);
        let of_features = backward_input::<S, S>(self.grid, &positions, &table, &v_features);
        let of_mask = backward_input::<S, S>(self.mask_grid, &positions, &mask, &v_gates);
        Gradients {
            v_table: backward(self.grid, &positions, &v_features),
            v_mask: backward(self.mask_grid, &positions, &v_gates),
            v_positions: of_features.into_iter().zip(of_mask).map(|(a, b)| a + b).collect(),
        }
    }
}
