//! What a user's program is judged as: the part of the way that it does, its *level*, and the expression
//! that it does it by. Here its files are made and its answers judged; nothing of it knows how the
//! program is reached.

use super::formulated::{FormulationUse, judged_in, stage_of};
use super::splat_case;
use super::stage::RasterStage;
use super::whole::{as_whole, case_bytes};
use crate::campaign::Item;
use crate::engines::command::{Form, encode};
use crate::io::Problem;
use crate::judge::{Arithmetic, judge};
use crate::verdict::Tally;
use crate::workload::{AnyCase, CaseError, Job};
use splatcheck_gpu::stage::{Port, Role, Sizes};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RENDER_BACKWARD};
use splatcheck_gpu::{Data, RasterInputs, Reduction, Setting, Stage, Tensor, TensorError, Tensors};
use splatcheck_reference::splat::Formulation;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The part of the way that a program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The gradients of what is rasterized, for one camera.
    #[default]
    Raster,
    /// The projection of all Gaussians by all cameras.
    Project,
    /// The gradients of Gaussians and cameras, from those of what is rasterized.
    ProjectBackward,
    /// Images and gradients of a scene.
    Full,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Raster, Self::Project, Self::ProjectBackward, Self::Full];

    /// Its name on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raster => "raster",
            Self::Project => "project",
            Self::ProjectBackward => "project-backward",
            Self::Full => "full",
        }
    }

    /// The level whose programs stand in for a stage; `None` for one that no program does.
    #[must_use]
    pub fn of(stage: Stage) -> Option<Self> {
        let does = |level: &Self| match level {
            Self::Raster => Formulation::all().any(|formulation| stage_of(formulation) == stage),
            Self::Project => stage == PROJECT,
            Self::ProjectBackward => stage == PROJECT_BACKWARD,
            Self::Full => stage == RENDER_BACKWARD,
        };
        Self::ALL.into_iter().find(does)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no level of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no level '{0}': expected raster, project, project-backward or full")]
pub struct NoLevel(String);

impl FromStr for Level {
    type Err = NoLevel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| NoLevel(name.to_owned()))
    }
}

/// What a program is judged as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    level: Level,
    formulation: Formulation,
}

/// Why a program cannot be judged so, or a case not for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// Only the backward rasterization has formulations.
    #[error(
        "level {level} has no formulation {formulation}, nor extra roundings: both belong to level raster"
    )]
    NoFormulation {
        /// The level.
        level: Level,
        /// What was asked for.
        formulation: Formulation,
    },
    /// The case is of another workload.
    #[error("case {0}: a program is judged on cases of splats")]
    NoSplats(String),
    /// See [`FormulationUse`].
    #[error(transparent)]
    Formulation(#[from] FormulationUse),
    /// See [`CaseError`].
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The case has no such view for the level.
    #[error("case {case}: there is no camera {view} for level {level}, it has {views}")]
    NoView {
        /// The case.
        case: String,
        /// What was asked for.
        view: usize,
        /// The level.
        level: Level,
        /// How many there are.
        views: usize,
    },
    /// The outputs are not those of the level.
    #[error("the output does not fit: {0}")]
    Output(#[from] TensorError),
}

impl Contract {
    /// A level in a formulation.
    ///
    /// # Errors
    /// [`ContractError::NoFormulation`].
    pub fn new(level: Level, formulation: Formulation) -> Result<Self, ContractError> {
        match level {
            Level::Raster => Ok(Self { level, formulation }),
            Level::Project | Level::ProjectBackward | Level::Full => {
                if formulation == Formulation::STANDARD {
                    return Ok(Self { level, formulation });
                }
                Err(ContractError::NoFormulation { level, formulation })
            }
        }
    }

    /// The part of the way.
    #[must_use]
    pub fn level(self) -> Level {
        self.level
    }

    /// The expression.
    #[must_use]
    pub fn formulation(self) -> Formulation {
        self.formulation
    }

    /// The setting that its sums are bounded by: one term after another is the longest chain of all
    /// orders of addition. `None` where nothing is added that the bounds have not counted.
    #[must_use]
    pub fn setting(self) -> Option<Setting> {
        let setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };
        self.stage().accumulates().then_some(setting)
    }

    /// The case with the jobs of the level.
    ///
    /// # Errors
    /// [`ContractError`] for a case of another workload.
    pub fn case(self, case: &AnyCase) -> Result<AnyCase, ContractError> {
        let no_splats = || ContractError::NoSplats(case.name().to_owned());
        let splats = splat_case(case).ok_or_else(no_splats)?;
        match self.level {
            Level::Raster => Ok(judged_in(case, self.formulation)?),
            Level::Project | Level::ProjectBackward => Ok(Arc::clone(case)),
            Level::Full => Ok(as_whole(splats)),
        }
    }

    /// How many jobs a case has for the level: one for each camera, or one for all.
    ///
    /// # Errors
    /// As [`Self::case`].
    pub fn views(self, case: &AnyCase) -> Result<usize, ContractError> {
        Ok(self.case(case)?.views_of(self.stage()))
    }

    /// The job of a view.
    ///
    /// # Errors
    /// [`ContractError`] where there is none.
    pub fn job(self, case: &AnyCase, view: usize) -> Result<Job, ContractError> {
        let views = self.views(case)?;
        let (level, name) = (self.level, case.name().to_owned());
        let none = || ContractError::NoView { case: name, view, level, views };
        if view >= views {
            return Err(none());
        }
        let item = Item::of(self.case(case)?, view, &|stage| stage == self.stage())?;
        item.jobs.into_iter().next().ok_or_else(none)
    }
}

/// Judges a program's outputs for a view of a case: every element by the bounds of the arithmetic that it
/// promises, sums in any order.
///
/// # Errors
/// [`ContractError`]: a case that the level has no job of, or outputs that are missing or have another
/// type or shape.
pub fn judge_level(
    contract: Contract,
    arithmetic: Arithmetic,
    (case, view): (&AnyCase, usize),
    outputs: &Tensors,
) -> Result<Tally, ContractError> {
    judge_job(contract, arithmetic, &contract.job(case, view)?, outputs)
}

/// As [`judge_level`], of a job that was made before.
///
/// # Errors
/// [`ContractError::Output`].
pub fn judge_job(
    contract: Contract,
    arithmetic: Arithmetic,
    job: &Job,
    outputs: &Tensors,
) -> Result<Tally, ContractError> {
    /// Of no matter: no sum is made warp by warp.
    const LANES: u32 = 32;
    let expectation = job.expectation(arithmetic);
    let run = (contract.setting(), LANES);
    Ok(judge(&job.stage, &job.sizes, expectation, outputs, run)?)
}

impl Form for Contract {
    fn stage(&self) -> Stage {
        match self.level {
            Level::Raster => stage_of(self.formulation),
            Level::Project => PROJECT,
            Level::ProjectBackward => PROJECT_BACKWARD,
            Level::Full => RENDER_BACKWARD,
        }
    }

    fn input(&self, inputs: &Tensors) -> Result<Vec<u8>, Problem> {
        let no_input = |error: TensorError| Problem::new("the input", error, "a stage's inputs");
        match self.level {
            Level::Full => case_bytes(inputs).map_err(no_input),
            Level::Project | Level::ProjectBackward => self.encode(inputs, inputs),
            Level::Raster => {
                let all = raster_arrays(inputs).map_err(no_input)?;
                self.encode(inputs, &all)
            }
        }
    }

    /// Of the gradients of colours there is one, by which the colours are given.
    fn must_write(&self, port: &Port, sizes: &Sizes) -> bool {
        if self.level == Level::Full && ["v_colors", "v_sh"].contains(&port.name) {
            return self.may_write(port, sizes);
        }
        port.role != Role::MayWrite
    }

    fn may_write(&self, port: &Port, sizes: &Sizes) -> bool {
        match (self.level, port.name) {
            (Level::Full, "v_colors") => sizes.get("K") == 0,
            (Level::Full, "v_sh") => sizes.get("K") > 0,
            _ => true,
        }
    }
}

impl Contract {
    /// The arrays of a stage as a file: numbers by themselves are its metadata.
    fn encode(&self, inputs: &Tensors, arrays: &Tensors) -> Result<Vec<u8>, Problem> {
        let mut metadata = BTreeMap::from([("level".to_owned(), self.level.name().to_owned())]);
        if self.level == Level::Raster {
            // The note on the formulation says which of T and 1 - T the bounds are told.
            metadata.insert("formulation".to_owned(), self.formulation.to_string());
            metadata.insert("threshold".to_owned(), "0".to_owned());
        }
        for (name, tensor) in inputs.iter().filter(|(_, tensor)| tensor.shape().is_empty()) {
            metadata.insert(name.to_owned(), number_text(tensor.data()));
        }
        let mut named = Tensors::new();
        for (name, tensor) in arrays.iter().filter(|(_, tensor)| !tensor.shape().is_empty()) {
            named.insert(name.to_owned(), signed(tensor));
        }
        encode(&metadata, &named)
    }
}

/// A number as text, from which the same number is read.
fn number_text(data: &Data) -> String {
    match data {
        Data::F32(values) => values.first().map(ToString::to_string),
        Data::I32(values) => values.first().map(ToString::to_string),
        Data::U32(values) => values.first().map(ToString::to_string),
    }
    .unwrap_or_default()
}

/// Unsigned integers as signed ones, which every library has: they are indices below 2^31.
fn signed(tensor: &Tensor) -> Tensor {
    let data = match tensor.data() {
        Data::U32(values) => Data::I32(values.iter().map(|value| value.cast_signed()).collect()),
        data @ (Data::F32(_) | Data::I32(_)) => data.clone(),
    };
    let same = || tensor.clone();
    Tensor::new("", tensor.shape().to_vec(), data).unwrap_or_else(|_| same())
}

/// Everything that a backward rasterization may read, whatever its formulation: the stage's own arrays,
/// and of the forward pass, which is rendered again to the bit, what the stage leaves out.
pub(crate) fn raster_arrays(inputs: &Tensors) -> Result<Tensors, TensorError> {
    let raster = RasterInputs::from_tensors(inputs)?;
    let [height, width, channels] =
        [raster.height, raster.width, raster.channels].map(|side| side as usize);
    let forward = RasterStage::from_inputs(&raster).mirror_forward();
    let alphas: Vec<f32> = forward.transmittance.iter().map(|t| 1.0 - t).collect();
    let mut all = inputs.clone();
    let mut add = |name, shape: &[usize], data| all.array(name, shape, data);
    // A stage whose formulation takes one minus the opacity has that under the transmittance's name.
    add("render_transmittance", &[height, width], Data::F32(forward.transmittance))?;
    add("render_alphas", &[height, width], Data::F32(alphas))?;
    add("render_colors", &[height, width, channels], Data::F32(forward.render_colors))?;
    add("last_ids", &[height, width], Data::I32(forward.last_ids))?;
    Ok(all)
}

#[cfg(test)]
mod tests;
