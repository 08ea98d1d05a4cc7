//! `gradcheck`, `compare` and `accuracy`: the manifest is a text and the arrays are the bytes of a .safetensors,
//! so that what Python asks is read and judged by the command's own code.

use crate::{detached, value_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use splatcheck::cli::gradcheck::{self, Asked, Cases, Question, Ran};
use splatcheck::gradcheck::{Case, Manifest, Program, ProgramError, exact_arrays};
use splatcheck_judge::engines::Order;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An array as Python is told of it: name, what it is the gradient of or is compared with, elements compared,
/// zero on both sides, not judged and wrong, distance / uncertainty, f32 error / radius, and of `accuracy` right bits.
type Row = (String, String, usize, usize, usize, usize, f64, f64, Option<u32>);

/// Numbers of an array as bytes of f64: name, shape, values.
type Numbers<'py> = (String, Vec<usize>, Bound<'py, PyBytes>);

/// The manifest of that text.
fn manifest(text: &str) -> PyResult<Manifest> {
    Manifest::parse(text).map_err(|problem| PyValueError::new_err(problem.to_string()))
}

/// The files in PTX that a manifest names.
#[pyfunction]
pub(crate) fn manifest_files(text: &str) -> PyResult<Vec<String>> {
    Ok(manifest(text)?.ptx)
}

fn question(name: &str) -> PyResult<Question> {
    Question::of(name)
        .ok_or_else(|| PyValueError::new_err(format!("there is no question '{name}'")))
}

/// What came of all cases of a question about programs.
#[pyclass(frozen, module = "splatcheck._native")]
pub(crate) struct Answer {
    asked: Asked,
    programs: Vec<Program>,
    ran: Ran,
}

#[pymethods]
impl Answer {
    /// Programs are files in PTX, each with its name. `arrays` are those of the only case, perhaps all of them
    /// and the sizes too; without them so many cases are drawn.
    #[new]
    fn new(
        py: Python<'_>,
        asked: (String, String),
        programs: Vec<Vec<(String, String)>>,
        arrays: Option<(Vec<u8>, bool)>,
        drawn: (u64, u64),
        schedules: Vec<String>,
    ) -> PyResult<Self> {
        let (question, manifest) = (question(&asked.0)?, manifest(&asked.1)?);
        let (count, seed) = drawn;
        let orders = schedules.iter().map(|one| one.parse::<Order>().map(Order::schedule));
        let schedules = orders.collect::<Result<_, _>>().map_err(value_error)?;
        if question == Question::Gradient && manifest.backward.is_empty() {
            let what = "the manifest has no [backward], which gradcheck compares with [forward]";
            return Err(PyValueError::new_err(what));
        }
        detached(py, || {
            let cases = match arrays {
                None => Ok(Cases::Drawn { count, seed }),
                Some((bytes, true)) => Case::of_bytes(&manifest, &bytes).map(Cases::Own),
                Some((bytes, false)) => Case::given(&manifest, &bytes, (seed, 0)).map(Cases::Own),
            };
            let cases = cases.map_err(|problem| PyValueError::new_err(problem.to_string()))?;
            let program = |files: &Vec<(String, String)>| {
                Program::new(files.iter().map(|(file, text)| (file.as_str(), text.as_str())), [])
            };
            let programs: Result<Vec<_>, ProgramError> = programs.iter().map(program).collect();
            let programs = programs.map_err(value_error)?;
            for (program, other) in programs.iter().zip([false, true]) {
                program.serves(manifest.launches(other).into_iter()).map_err(value_error)?;
            }
            let asked = Asked { question, manifest, cases, schedules };
            let ran = asked.run(&programs, &|| ()).map_err(value_error)?;
            Ok(Self { asked, programs, ran })
        })
    }

    /// In a word; where something is not judged, nothing agrees.
    #[getter]
    fn verdict(&self) -> &'static str {
        self.ran.verdict()
    }

    /// Why something is not judged.
    #[getter]
    fn not_judged(&self) -> Option<String> {
        self.ran.not_judged()
    }

    /// The report.
    fn text(&self, again: Option<String>) -> String {
        gradcheck::text(&self.ran, again.as_slice())
    }

    /// What came of each array.
    #[getter]
    fn rows(&self) -> Vec<Row> {
        let row = |one: &splatcheck::gradcheck::Judged| {
            let wrong = one.wrong.len();
            let counts = (one.compared, one.zeros, one.unknown);
            (
                one.name.clone(),
                one.of.clone(),
                counts.0,
                counts.1,
                counts.2,
                wrong,
                one.worst,
                one.rounding,
                one.furthest.map(splatcheck::gradcheck::Furthest::right_bits),
            )
        };
        self.ran.arrays().values().map(row).collect()
    }

    /// What is known of the first case's arrays: see `exact_arrays`.
    fn exact_arrays<'py>(&self, py: Python<'py>) -> PyResult<Vec<Numbers<'py>>> {
        let all = detached(py, || {
            let Some(program) = self.programs.first() else { return Ok(Vec::new()) };
            let cases = self.asked.cases(0).map_err(value_error)?;
            let Some(case) = cases.first() else { return Ok(Vec::new()) };
            let schedule = Order::default().schedule();
            exact_arrays(&self.asked.manifest, program, case, &schedule).map_err(value_error)
        })?;
        let numbers = all.into_iter().map(|entry| {
            let bytes: Vec<u8> = entry.values().iter().flat_map(|x| x.to_le_bytes()).collect();
            (entry.name.into_owned(), entry.shape, PyBytes::new(py, &bytes))
        });
        Ok(numbers.collect())
    }

    /// Writes the case that disagrees, made smaller, or the first.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        match &self.ran.found {
            Some(found) => {
                found.case.write(&path, BTreeMap::new(), Vec::new()).map_err(value_error)
            }
            None => {
                let cases = self.asked.cases(0).map_err(value_error)?;
                let Some(first) = cases.first() else { return Ok(()) };
                first.write(&path, BTreeMap::new(), Vec::new()).map_err(value_error)
            }
        }
    }
}
