//! Where cases come from: drawn by seed and number, or read from files.

use crate::case::NativeCase;
use crate::{detached, value_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcheck_judge::engines::command::Form;
use splatcheck_judge::io::{OF_CORPUS, source_tree};
use splatcheck_judge::workload::{AnyCase, Workload, generator};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::fuzz::Draws;
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::splat::contract::{Contract, Level};
use splatcheck_workloads::splat::has_gaussians;
use std::path::PathBuf;
use std::sync::Arc;

/// Cases of a level, in a formulation.
#[pyclass(frozen, module = "splatcheck._native")]
pub(crate) struct Source {
    contract: Contract,
    workload: Arc<dyn Workload>,
    draws: Draws,
}

/// A formulation by its name, and so many extra roundings.
pub(crate) type Expression<'e> = (Option<&'e str>, Option<u32>);

/// The two as they are meant.
pub(crate) fn expression(
    (named, extra_roundings): Expression<'_>,
) -> PyResult<(Option<Formulation>, Option<ExtraRoundings>)> {
    let formulation = named.map(str::parse::<Formulation>).transpose().map_err(value_error)?;
    let extra = extra_roundings.map(|extra| extra.to_string().parse::<ExtraRoundings>());
    Ok((formulation, extra.transpose().map_err(value_error)?))
}

/// What a kernel is judged as: a level, its only one or raster where none is named, perhaps of a preset.
fn contract(
    level: Option<&str>,
    preset: Option<&str>,
    named: Expression<'_>,
) -> PyResult<Contract> {
    let level = level.map(str::parse::<Level>).transpose().map_err(value_error)?;
    let (formulation, extra) = expression(named)?;
    if let Some(name) = preset {
        let preset = Preset::find(name).map_err(value_error)?;
        return Contract::of_preset(&preset, level, (formulation, extra)).map_err(value_error);
    }
    let plain = Contract::new(level.unwrap_or_default(), Formulation::default());
    plain.and_then(|plain| plain.with(formulation, extra)).map_err(value_error)
}

/// From the generators of those names, each of which promises something of the contract's stage; for none,
/// as `splatcheck check` does.
fn draws_of(
    workload: Arc<dyn Workload>,
    (seed, names): (u64, &[String]),
    contract: &Contract,
) -> PyResult<Draws> {
    let mut named = Vec::new();
    for name in names {
        let found = generator(workload.as_ref(), name).ok_or_else(|| {
            let all: Vec<_> = workload.generators().iter().map(|g| g.name).collect();
            let all = all.join(", ");
            PyValueError::new_err(format!("there is no generator '{name}': expected one of {all}"))
        })?;
        named.push(found);
    }
    let draws = Draws::new(workload, seed, &named);
    let left_out = match &draws {
        Draws::Random(..) => Vec::new(),
        Draws::Generators(plan) => plan.left_out(),
    };
    for (stages, names) in left_out {
        if stages.contains(&contract.stage()) {
            let (names, level) = (names.join(", "), contract.level());
            return Err(PyValueError::new_err(format!(
                "generator {names}: no result is well-defined at level {level}, choose another level"
            )));
        }
    }
    Ok(draws)
}

#[pymethods]
impl Source {
    #[new]
    fn new(
        kernel: (Option<String>, Option<String>, Vec<(String, String)>),
        expression: (Option<String>, Option<u32>),
        draws: (u64, Vec<String>),
        convention: Option<String>,
    ) -> PyResult<Self> {
        let ((level, preset, constants), (formulation, extra_roundings)) = (kernel, expression);
        let (seed, generators) = draws;
        let named = (formulation.as_deref(), extra_roundings);
        let contract = contract(level.as_deref(), preset.as_deref(), named)?;
        let constants = constants.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let contract = contract.made_for(constants).map_err(value_error)?;
        let mut workload = contract.workload();
        if let Some(name) = convention {
            workload = workload.under(&name).ok_or_else(|| {
                let what = match contract.level() {
                    Level::Of(_) => format!("convention is '{name}': only splats have conventions"),
                    _ => format!("there is no convention '{name}': expected inria or gsplat"),
                };
                PyValueError::new_err(what)
            })?;
        }
        let draws = draws_of(Arc::clone(&workload), (seed, &generators), &contract)?;
        Ok(Self { contract, workload, draws })
    }

    /// The level of the cases.
    #[getter]
    fn level(&self) -> &'static str {
        self.contract.level().name()
    }

    /// The arithmetic that the preset's kernels are compiled to, if it says so.
    #[getter]
    fn model(&self) -> Option<&'static str> {
        Some(self.contract.preset()?.arithmetic?.name())
    }

    /// The case of that number: a scene that is for the kernel and has a Gaussian, and at level raster one of
    /// its cameras.
    fn drawn(&self, py: Python<'_>, index: u64) -> PyResult<NativeCase> {
        detached(py, || {
            let contract = &self.contract;
            let fits = |case: AnyCase| {
                let case = contract.fitted(&case)?;
                let compares = contract.not_for(&case).is_none() && contract.compares(&case);
                (compares && has_gaussians(&case)).then_some(case)
            };
            let Some(case) = self.draws.fitting(index, fits) else {
                let what = match self.draws.case(index) {
                    None => "the files that its cases are made from are not on this machine",
                    Some(_) => "none of its cases has a number to compare",
                };
                return Err(PyValueError::new_err(format!("generator: {what}: name another")));
            };
            let views = contract.views(&case).map_err(value_error)?.max(1) as u64;
            // Conventions come by turns, so the number itself would tie cameras to conventions.
            let number = case.id().map_or(index, |id| id.index);
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let view = usize::try_from(mixed % views).unwrap_or_default();
            Ok(NativeCase::new(case, view, contract.clone()))
        })
    }

    /// The folder of the package's own cases.
    fn own_corpus(&self) -> PyResult<PathBuf> {
        let missing = || PyValueError::new_err("corpus: the package has no cases of its own");
        let folder = format!("corpora/{}", self.workload.name());
        source_tree::folder(&folder).ok_or_else(missing)
    }

    /// Every case of a folder, each with all its cameras; why a file of it could not be read, where one could not.
    fn corpus(
        &self,
        py: Python<'_>,
        folder: PathBuf,
    ) -> PyResult<(Vec<NativeCase>, Option<String>)> {
        detached(py, || {
            let corpus = self.workload.read_corpus(&folder).map_err(value_error)?;
            let mut all = Vec::new();
            for case in corpus.cases {
                if !self.has_no_run(&case) {
                    self.all_views(case, &mut all)?;
                }
            }
            Ok((all, corpus.unread.gap(OF_CORPUS)))
        })
    }
}

impl Source {
    /// Whether a case of another workload than splats has no run of the stage.
    fn has_no_run(&self, case: &AnyCase) -> bool {
        matches!(self.contract.level(), Level::Of(_)) && self.contract.views(case).is_err()
    }

    fn all_views(&self, case: AnyCase, all: &mut Vec<NativeCase>) -> PyResult<()> {
        for view in 0..self.contract.views(&case).map_err(value_error)? {
            all.push(NativeCase::new(Arc::clone(&case), view, self.contract.clone()));
        }
        Ok(())
    }
}
