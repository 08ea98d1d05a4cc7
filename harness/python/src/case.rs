//! A case at a level: what a kernel reads, what it must write, and what that is judged by.

use crate::source::expression;
use crate::{detached, value_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use splatcheck_gpu::{Data, Dtype, Tensors};
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::engines::command::{Form, Need, Written, decode};
use splatcheck_judge::judge::tolerance::Summation;
use splatcheck_judge::judge::{Arithmetic, Output, OutputBound, Rows};
use splatcheck_judge::verdict::Tally;
use splatcheck_judge::workload::{AnyCase, Job, Notes};
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::splat::contract::{Contract, Level, diagnose_job, judge_job};
use splatcheck_workloads::splat::formulated::{candidates, described};
use splatcheck_workloads::splat::has_gaussians;
use std::path::PathBuf;
use std::sync::OnceLock;

/// One case, with its job at a level once that is asked for.
#[pyclass(frozen, module = "splatcheck._native")]
pub(crate) struct NativeCase {
    case: AnyCase,
    view: usize,
    contract: Contract,
    job: OnceLock<Job>,
}

impl NativeCase {
    pub(crate) fn new(case: AnyCase, view: usize, contract: Contract) -> Self {
        Self { case, view, contract, job: OnceLock::new() }
    }

    fn job(&self) -> PyResult<&Job> {
        if let Some(job) = self.job.get() {
            return Ok(job);
        }
        let job = self.contract.job(&self.case, self.view).map_err(value_error)?;
        Ok(self.job.get_or_init(|| job))
    }
}

/// The arithmetic of that name.
pub(crate) fn arithmetic(name: &str) -> PyResult<Arithmetic> {
    Arithmetic::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
        let all = Arithmetic::ALL.map(Arithmetic::name).join(", ");
        PyValueError::new_err(format!("there is no model '{name}': expected one of {all}"))
    })
}

/// An output as Python is told of it: name, type as numpy names it, shape, whether it may be left out.
type Port = (String, &'static str, Vec<usize>, &'static str);

/// Numbers of an output as bytes of f64: name, shape, values, bounds.
type Numbers<'py> = (&'static str, Vec<usize>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

#[pymethods]
impl NativeCase {
    #[getter]
    fn name(&self) -> &str {
        self.case.name()
    }

    #[getter]
    fn camera(&self) -> usize {
        self.view
    }

    #[getter]
    fn level(&self) -> &'static str {
        self.contract.level().name()
    }

    /// The name of the first project that has it, else its fields; both can be given again.
    #[getter]
    fn formulation(&self) -> Option<String> {
        let formulation = self.contract.formulation();
        let named = formulation.named().find(|named| named.formulation == formulation);
        let name = named.map_or_else(|| formulation.to_string(), |named| named.name.to_owned());
        (self.contract.level() == Level::Raster).then_some(name)
    }

    /// The other formulations that a kernel may have, in groups, of which one is tried where none agrees of those
    /// before: what each is given by, in words, and the inputs that a kernel has there alone.
    fn formulations(&self) -> Vec<Vec<(String, String, Vec<&'static str>)>> {
        if self.contract.level() != Level::Raster {
            return Vec::new();
        }
        let own = self.contract.formulation();
        let more = |one: Formulation| self.contract.given_only_in(one, own);
        let named = |one: Formulation| (one.to_string(), described(one), more(one));
        let other = |one: &Formulation| *one != own;
        let groups = candidates(&|_| true).into_iter();
        groups.map(|group| group.into_iter().filter(other).map(named).collect()).collect()
    }

    /// What a program would read: the bytes of a .safetensors.
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || self.contract.input(&self.job()?.inputs).map_err(value_error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Names of the metadata that are numbers of type f32, also where no fraction shows it.
    fn floats(&self, py: Python<'_>) -> PyResult<Vec<&str>> {
        let job = detached(py, || self.job())?;
        let scalars = job.inputs.iter().filter(|(_, tensor)| tensor.shape().is_empty());
        let floats = scalars.filter(|(_, tensor)| matches!(tensor.data(), Data::F32(_)));
        Ok(floats.map(|(name, _)| name).collect())
    }

    /// What a kernel writes.
    fn outputs(&self, py: Python<'_>) -> PyResult<Vec<Port>> {
        let one = |Written { name, dtype, shape, need }| {
            let dtype = match dtype {
                Dtype::F32 => "float32",
                Dtype::I32 | Dtype::U32 => "int32",
            };
            let need = match need {
                Need::Always => "always",
                Need::Optional => "optional",
                Need::Welcome => "welcome",
                Need::Never => "never",
            };
            (name, dtype, shape, need)
        };
        let job = detached(py, || self.job())?;
        Ok(self.contract.written(&job.sizes).into_iter().map(one).collect())
    }

    /// What of the preset is compared with nothing, each with why.
    fn not_compared(&self) -> Vec<String> {
        self.contract.not_compared()
    }

    /// Why the case is not for the kernel, in words that follow "cases"; none where it is.
    #[getter]
    fn not_for(&self) -> Option<String> {
        self.contract.not_for(&self.case).map(|why| why.to_string())
    }

    /// Whether it has a Gaussian.
    #[getter]
    fn has_gaussians(&self) -> bool {
        has_gaussians(&self.case)
    }

    /// Whether there is no number to compare.
    #[getter]
    fn empty(&self) -> bool {
        !self.contract.compares(&self.case)
    }

    /// The preset's name.
    #[getter]
    fn preset(&self) -> Option<&str> {
        Some(self.contract.preset()?.name())
    }

    /// The arithmetic that the preset's kernels are compiled to, if it says so.
    #[getter]
    fn model(&self) -> Option<&'static str> {
        Some(self.contract.preset()?.arithmetic?.name())
    }

    /// The same in another expression.
    fn judged_in(&self, named: Option<String>, extra_roundings: Option<u32>) -> PyResult<Self> {
        let (formulation, extra) = expression((named.as_deref(), extra_roundings))?;
        let other = self.contract.with(formulation, extra).map_err(value_error)?;
        Ok(Self::new(AnyCase::clone(&self.case), self.view, other))
    }

    /// Which of the preset's arrays an output is read from, where the array has another name.
    fn read_from(&self, output: &str) -> Option<String> {
        self.contract.read_from(output)
    }

    /// Judges the outputs, the bytes of a .safetensors.
    fn judge(&self, py: Python<'_>, outputs: &[u8], model: &str) -> PyResult<Judged> {
        let arithmetic = arithmetic(model)?;
        detached(py, || {
            let outputs = self.decoded(outputs)?;
            let tally = judge_job(&self.contract, arithmetic, self.job()?, &outputs);
            Ok(Judged::of(tally.map_err(value_error)?))
        })
    }

    /// What the kernel may have got wrong that returned these outputs, perhaps others just before, the best
    /// hypothesis first; nothing where they agree.
    fn diagnose(
        &self,
        py: Python<'_>,
        before: Option<&[u8]>,
        outputs: &[u8],
        model: &str,
    ) -> PyResult<Vec<String>> {
        let arithmetic = arithmetic(model)?;
        detached(py, || {
            let before = before.map(|before| self.decoded(before)).transpose()?;
            let returned = (before.as_ref(), &self.decoded(outputs)?);
            let found = diagnose_job(&self.contract, arithmetic, self.job()?, returned);
            let found = found.map_err(value_error)?;
            Ok(found.iter().flat_map(Diagnosis::lines).map(str::to_owned).collect())
        })
    }

    /// The oracle's outputs and how far from them a conforming kernel's may lie.
    fn oracle<'py>(&self, py: Python<'py>, model: &str) -> PyResult<Vec<Numbers<'py>>> {
        let arithmetic = arithmetic(model)?;
        let expectation =
            detached(py, || Ok::<_, PyErr>(self.job()?.whole_expectation(arithmetic)))?;
        let mut all = Vec::new();
        for rows in &expectation.rows {
            for output in &rows.outputs {
                let number = |place| {
                    number(
                        rows,
                        output,
                        place,
                        |sum, element| sum.tolerance(element, &expectation.model),
                        &self.contract,
                    )
                };
                let count = output.shape.iter().product();
                let (values, bounds): (Vec<f64>, Vec<f64>) = (0..count).map(number).unzip();
                let [values, bounds] = [values, bounds].map(|all| PyBytes::new(py, &bytes(&all)));
                all.push((output.name, output.shape.clone(), values, bounds));
            }
        }
        Ok(all)
    }

    /// Writes the case's file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || self.case.write(&path, &Notes::new())).map_err(value_error)
    }
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The oracle's value and the bound of an element; sums in any order.
fn number(
    rows: &Rows,
    output: &Output,
    place: usize,
    tolerance: impl Fn(Summation, &splatcheck_reference::arithmetic::ElementBound) -> f64,
    contract: &Contract,
) -> (f64, f64) {
    /// Of no matter: no sum is made warp by warp.
    const LANES: u32 = 32;
    match &output.bound {
        OutputBound::Interval(bounds) => bounds[place],
        OutputBound::OneOf(allowed) => (allowed.oracle[place] as f64, 0.0),
        OutputBound::DerivedFrom(follows) => (follows.oracle[place] as f64, 0.0),
        OutputBound::Sum(elements) => {
            let row = place / (elements.len() / rows.count.max(1)).max(1);
            let terms = rows.terms.as_ref();
            let sum = terms.map(|terms| terms.summation(row, contract.setting(), LANES));
            let sum = sum.unwrap_or_else(Summation::of_one_term);
            (elements[place].value, tolerance(sum, &elements[place]))
        }
    }
}

/// What a kernel's outputs came to.
#[pyclass(frozen, module = "splatcheck._native")]
pub(crate) struct Judged {
    #[pyo3(get)]
    verdict: String,
    #[pyo3(get)]
    worst: Option<Worst>,
    tally: Tally,
}

#[pymethods]
impl Judged {
    #[getter]
    fn elements(&self) -> u64 {
        self.tally.elements()
    }

    #[getter]
    fn zeros(&self) -> u64 {
        self.tally.zeros
    }

    #[getter]
    fn disagree(&self) -> u64 {
        self.tally.disagree
    }

    #[getter]
    fn inconclusive(&self) -> u64 {
        self.tally.inconclusive
    }

    #[getter]
    fn not_compared(&self) -> u64 {
        self.tally.unbounded
    }

    #[getter]
    fn largest_ratio(&self) -> f64 {
        self.tally.sharpness.max
    }

    /// Why agreement with them is no pass.
    #[getter]
    fn gap(&self) -> Option<String> {
        self.tally.gap()
    }

    /// The outputs that are not judged, each with why.
    #[getter]
    fn not_judged(&self) -> Vec<String> {
        not_judged(&self.tally)
    }
}

/// What the outputs of several cases came to together.
#[pyclass(module = "splatcheck._native")]
#[derive(Default)]
pub(crate) struct Total(Tally);

#[pymethods]
impl Total {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, judged: &Judged) {
        self.0.merge(&judged.tally);
    }

    #[getter]
    fn gap(&self) -> Option<String> {
        self.0.gap()
    }

    /// The outputs that no case judges, each with why.
    #[getter]
    fn not_judged(&self) -> Vec<String> {
        not_judged(&self.0)
    }
}

/// The outputs that were compared and are not judged, each a sentence.
fn not_judged(tally: &Tally) -> Vec<String> {
    tally.not_judged().into_iter().map(|(output, why)| format!("{output}: {why}")).collect()
}

/// The element furthest outside its bound.
#[pyclass(frozen, get_all, module = "splatcheck._native")]
#[derive(Clone)]
pub(crate) struct Worst {
    output: String,
    index: Vec<usize>,
    value: f64,
    oracle: f64,
    bound: f64,
    ratio: f64,
    text: String,
}

impl NativeCase {
    fn decoded(&self, outputs: &[u8]) -> PyResult<Tensors> {
        decode(&self.contract, &self.job()?.sizes, outputs).map_err(value_error)
    }
}

impl Judged {
    fn of(tally: Tally) -> Self {
        let worst = tally.worst.as_ref().map(|worst| Worst {
            output: worst.output.to_string(),
            index: worst.element.clone(),
            value: worst.value,
            oracle: worst.oracle,
            bound: worst.bound,
            ratio: worst.ratio(),
            text: worst.to_string(),
        });
        Self { verdict: tally.verdict().to_string(), worst, tally }
    }
}
