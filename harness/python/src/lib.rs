//! What the Python package `splatcheck` is made of: cases, what they are judged by, and the command line.
//!
//! Arrays cross the border as the bytes of a .safetensors, as the command protocol has them, so that a
//! kernel that is called from Python is checked and judged by the very code that judges a program. The
//! Python side (`python/splatcheck`) makes arrays of them and words for people.

mod case;
mod gradcheck;
mod source;
mod sparse;
mod threads;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcheck_judge::engines::Program;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_workloads::splat::contract::Level;
use std::error::Error;
use std::ffi::OsString;

/// An error of the library as Python's `ValueError`, with its causes.
fn value_error(error: impl Error) -> PyErr {
    PyValueError::new_err(splatcheck::cli::exit::one_line(&error))
}

/// Does work without Python's lock, on threads of this very process.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| threads::of_this_process().install(work))
}

/// Runs the command line: the arguments without the program's name. Returns the exit code.
#[pyfunction]
fn run_command(py: Python<'_>, interpreter: OsString, arguments: Vec<OsString>) -> u8 {
    let child = Program {
        path: interpreter.into(),
        args: ["-m", "splatcheck", "engine"].map(OsString::from).to_vec(),
    };
    let name = OsString::from("splatcheck");
    py.detach(|| splatcheck::cli::hosted([name].into_iter().chain(arguments), child))
}

/// The part of the package `splatcheck` that is written in Rust. Nothing of it is for users.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MODELS", Arithmetic::ALL.map(Arithmetic::name))?;
    module.add("STAGES", Level::others().map(Level::name).collect::<Vec<_>>())?;
    module.add_class::<case::NativeCase>()?;
    module.add_class::<case::Judged>()?;
    module.add_class::<case::Total>()?;
    module.add_class::<source::Source>()?;
    module.add_class::<gradcheck::Answer>()?;
    module.add_function(wrap_pyfunction!(gradcheck::manifest_files, module)?)?;
    module.add_function(wrap_pyfunction!(sparse::sparse_oracle, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)
}
