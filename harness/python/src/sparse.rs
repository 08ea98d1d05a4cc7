//! The oracle of sparse convolution.

use crate::case::arithmetic;
use crate::{detached, value_error};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use splatcheck_judge::under;
use splatcheck_reference::arithmetic::Model;
use splatcheck_reference::sparse::Products;
use splatcheck_workloads::sparse::case::Case;
use splatcheck_workloads::sparse::result_file::encode;

/// What `splatcheck oracle --bounds` writes for a case, from the bytes of its file to those of the result.
#[pyfunction]
pub(crate) fn sparse_oracle<'py>(
    py: Python<'py>,
    case: &[u8],
    model: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let arithmetic = arithmetic(model)?;
    let result = detached(py, || {
        let case = Case::parse(case)?;
        let radii = under!(arithmetic, radii(&case));
        encode(&case, case.layer().products::<f64>(), Some(radii))
    });
    Ok(PyBytes::new(py, &result.map_err(value_error)?))
}

/// The bounds under the model `M`, with its name.
fn radii<M: Model>(case: &Case) -> (&'static str, Products<f64>) {
    (M::TABLE.name, case.layer().radii::<M>())
}
