//! What the oracle made of one case, as a `.safetensors` file.
//!
//! Tensors, all F64 or all F32 as they were computed: `features` `[N,L,F]`, `v_table` `[E,F]`,
//! `v_positions` `[N,d]`; of a gated case also `v_mask` `[M]`, and then `features` are those behind the gate, as all
//! gradients account for it. NaN stands where a point has no cell: see [`grid`].
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

use splatcheck_reference::arithmetic::Scalar;
use splatcheck_reference::grid::bounds::{self, Compiled, Undecided};
use splatcheck_reference::grid::gate::Gradients;
use splatcheck_reference::grid::{self, Input};

use super::case::Points;
use super::fields::fields;
use super::gate::Gate;
use splatcheck_judge::io::container::{self, Entry, Number};
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::under;

/// The numbers of all stages, or their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs<S> {
    /// `[N,L,F]`.
    pub features: Vec<S>,
    /// `[E,F]`.
    pub v_table: Vec<S>,
    /// `[N,d]`.
    pub v_positions: Vec<S>,
    /// `[M]`: of a gate's mask; `None` where there is no gate.
    pub v_mask: Option<Vec<S>>,
}

impl<S: Scalar + Input<S>> Outputs<S>
where
    f32: Input<S>,
{
    /// What the stages make of a case.
    #[must_use]
    fn of(case: &Points) -> Self {
        let Points { grid, positions, table, v_features, .. } = case;
        if let Some(gated) = case.gated() {
            let Gradients { v_table, v_mask, v_positions } = gated.gradients(v_features);
            let features = gated.features();
            return Self { features, v_table, v_positions, v_mask: Some(v_mask) };
        }
        Self {
            features: grid::forward(grid, positions, table),
            v_table: grid::backward(grid, positions, v_features),
            v_positions: grid::backward_input(grid, positions, table, v_features),
            v_mask: None,
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

impl Outputs<f32> {
    /// What the stages make of a case in f32, as a kernel computes.
    #[must_use]
    pub fn in_f32(case: &Points) -> Self {
        Self::of(case)
    }
}

impl Outputs<f64> {
    /// What the stages make of a case in f64.
    #[must_use]
    pub fn in_f64(case: &Points) -> Self {
        Self::of(case)
    }
}

impl Radii {
    /// The radii about what the stages make of a case in f64.
    #[must_use]
    pub fn under(arithmetic: Arithmetic, case: &Points) -> Self {
        under!(arithmetic, radii(case))
    }
}

/// The same under the model `M`.
fn radii<M: Compiled>(case: &Points) -> Radii {
    let Points { grid, positions, table, v_features, .. } = case;
    let radii = |bounds: bounds::Bounds<M>| -> Vec<f64> {
        bounds.elements.iter().map(|number| number.radius()).collect()
    };
    let (features, v_table, v_positions, v_mask) = match case.gated() {
        Some(gated) => {
            let Gradients { v_table, v_mask, v_positions } = gated.gradient_bounds::<M>(v_features);
            (gated.feature_bounds(), v_table, v_positions, Some(v_mask))
        }
        None => (
            bounds::forward(grid, positions, table),
            bounds::backward::<M>(grid, positions, v_features),
            bounds::backward_input(grid, positions, table, v_features),
            None,
        ),
    };
    let undecided = features.undecided;
    let outputs = Outputs {
        features: radii(features),
        v_table: v_table.tolerances(&M::TABLE),
        v_positions: radii(v_positions),
        v_mask: v_mask.map(|v_mask| v_mask.tolerances(&M::TABLE)),
    };
    Radii { model: M::TABLE.name, outputs, undecided }
}

/// Writes a result and, if there are any, its bounds, which a result in f64 may have.
///
/// # Errors
/// Where an array's size is not the grid's, or the file cannot be written.
pub fn write_result<S: Number>(
    file: &Path,
    case: &Points,
    outputs: Outputs<S>,
    radii: Option<(&'static str, Outputs<S>)>,
) -> Result<(), InputError> {
    let bytes = encode(case, outputs, radii).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes that [`write_result`] writes.
///
/// # Errors
/// As [`write_result`], without the file's name.
pub fn encode<S: Number>(
    case: &Points,
    outputs: Outputs<S>,
    radii: Option<(&'static str, Outputs<S>)>,
) -> Result<Vec<u8>, Problem> {
    let mut metadata = fields(case.grid.encoding());
    metadata.insert("scalar".to_owned(), S::DTYPE.to_lowercase());
    let mut tensors = tensors(case, outputs);
    if let Some((model, radii)) = radii {
        metadata.insert("bounds".to_owned(), model.to_owned());
        let bounds = self::tensors(case, radii).into_iter();
        tensors.extend(bounds.map(|tensor| tensor.prefixed("bound_")));
    }
    for tensor in &tensors {
        tensor.check_size()?;
    }
    container::encode(&metadata, &tensors)
}

fn tensors<S>(case: &Points, outputs: Outputs<S>) -> Vec<Entry<S>> {
    let (grid, points) = (&case.grid, case.points());
    let (d, width) = (grid.dimensions(), grid.features());
    let mut all = vec![
        Entry::new("features", vec![points, grid.levels().len(), width], outputs.features),
        Entry::new("v_table", vec![grid.entries(), width], outputs.v_table),
        Entry::new("v_positions", vec![points, d], outputs.v_positions),
    ];
    let of_mask = case.gate.as_ref().zip(outputs.v_mask);
    let entries = |gate: &Gate| vec![gate.grid.entries()];
    all.extend(of_mask.map(|(gate, v_mask)| Entry::new("v_mask", entries(gate), v_mask)));
    all
}
