//! What the oracle made of one case, as a `.safetensors` file.
//!
//! Tensors, all F64 or all F32 as they were computed: `features` `[N,L,F]`, `v_table` `[E,F]`,
//! `v_positions` `[N,d]`. NaN stands where a point has no cell: see [`grid`].
//!
//! With bounds every tensor X has a `bound_X` of the same shape: how far an f32 program that conforms
//! to an arithmetic model may lie from each number, whatever the order in which it adds. It is infinite
//! where such a program may return anything. The metadata then also have `bounds`: the model's name.
//!
//! Metadata: `workload` = `grid`, `scalar` (`f64` or `f32`), and all fields of the encoding under the
//! keys of a [case file](super::case_file).
//!
//! The same result gives the same bytes.

use std::path::Path;

use splatcheck_reference::arithmetic::{Model, Scalar};
use splatcheck_reference::grid::bounds::{self, Undecided};
use splatcheck_reference::grid::{self, Grid, Input};

use super::case::Case;
use super::fields::fields;
use crate::io::container::{self, Entry, Number};
use crate::io::error::{InputError, Problem};
use crate::io::write::write_file;

/// The numbers of all stages, or their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs<S> {
    /// `[N,L,F]`.
    pub features: Vec<S>,
    /// `[E,F]`.
    pub v_table: Vec<S>,
    /// `[N,d]`.
    pub v_positions: Vec<S>,
}

impl<S: Scalar> Outputs<S>
where
    f32: Input<S>,
{
    /// What the stages make of a case.
    #[must_use]
    pub fn of(case: &Case) -> Self {
        let Case { grid, positions, table, v_features, .. } = case;
        Self {
            features: grid::forward(grid, positions, table),
            v_table: grid::backward(grid, positions, v_features),
            v_positions: grid::backward_input(grid, positions, table, v_features),
        }
    }
}

/// How far a conforming program may lie from each number of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Radii {
    /// The arithmetic model's name.
    pub model: &'static str,
    /// The radii.
    pub outputs: Outputs<f64>,
    /// What was followed more than one way to the features, of which the gradients follow the same.
    pub undecided: Undecided,
}

impl Radii {
    /// The radii about what the stages make of a case in f64, under the model `M`.
    #[must_use]
    pub fn of<M: Model>(case: &Case) -> Self {
        let Case { grid, positions, table, v_features, .. } = case;
        let radii = |bounds: bounds::Bounds<M>| -> Vec<f64> {
            bounds.elements.iter().map(|number| number.radius()).collect()
        };
        let features = bounds::forward(grid, positions, table);
        let undecided = features.undecided;
        let entries = bounds::backward::<M>(grid, positions, v_features);
        let outputs = Outputs {
            features: radii(features),
            v_table: entries.tolerances(&M::TABLE),
            v_positions: radii(bounds::backward_input(grid, positions, table, v_features)),
        };
        Self { model: M::TABLE.name, outputs, undecided }
    }
}

/// Writes a result and, if there are any, its bounds, which a result in f64 may have.
///
/// # Errors
/// Where an array's size is not the grid's, or the file cannot be written.
pub fn write_result<S: Number>(
    file: &Path,
    grid: &Grid,
    outputs: Outputs<S>,
    radii: Option<(&'static str, Outputs<S>)>,
) -> Result<(), InputError> {
    let bytes = encode(grid, outputs, radii).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes that [`write_result`] writes.
///
/// # Errors
/// As [`write_result`], without the file's name.
pub fn encode<S: Number>(
    grid: &Grid,
    outputs: Outputs<S>,
    radii: Option<(&'static str, Outputs<S>)>,
) -> Result<Vec<u8>, Problem> {
    let mut metadata = fields(grid.encoding());
    metadata.insert("scalar".to_owned(), S::DTYPE.to_lowercase());
    let mut tensors: Vec<_> = tensors(grid, outputs).into();
    if let Some((model, radii)) = radii {
        metadata.insert("bounds".to_owned(), model.to_owned());
        let bounds = self::tensors(grid, radii).into_iter();
        tensors.extend(bounds.map(|tensor| tensor.prefixed("bound_")));
    }
    for tensor in &tensors {
        tensor.check_size()?;
    }
    container::encode(&metadata, &tensors)
}

fn tensors<S>(grid: &Grid, outputs: Outputs<S>) -> [Entry<S>; 3] {
    let (d, width) = (grid.dimensions(), grid.features());
    let points = outputs.v_positions.len() / d;
    [
        Entry::new("features", vec![points, grid.levels().len(), width], outputs.features),
        Entry::new("v_table", vec![grid.entries(), width], outputs.v_table),
        Entry::new("v_positions", vec![points, d], outputs.v_positions),
    ]
}
