//! What a user's program is judged as: the part of the way that it does, its *level*, and the expression
//! that it does it by. Here its files are made and its answers judged; nothing of it knows how the
//! program is reached.

use super::case::Case;
use super::files::{case_file, overrides};
use super::formulated::{FormulationUse, judged_in, stage_of};
use super::kernel_rules::{KernelRules, Reach};
pub use super::level::{Level, NoLevel};
use super::stage::RasterStage;
use super::whole::{Taken, as_whole, case_bytes};
use super::{scene_arrays, scene_symbols, splat_case};
use crate::campaign::Item;
use crate::diagnosis::Diagnosis;
use crate::engines::command::{Form, Need, Written, encode};
use crate::io::Problem;
use crate::judge::{Arithmetic, judge};
use crate::layout::{Symbols, Tensor as Array};
use crate::presets::{Given, Interface, NoSuchLevel, Preset, of_preset};
use crate::verdict::Tally;
use crate::workload::{AnyCase, CaseError, FailedRun, Job};
use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RENDER_BACKWARD};
use splatcheck_gpu::{Data, RasterInputs, Reduction, Setting, Stage, Tensor, TensorError, Tensors};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::{Colors, Formulation};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a program is judged as.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contract {
    level: Level,
    formulation: Formulation,
    preset: Option<Arc<Preset>>,
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
    /// The preset has not the level.
    #[error(transparent)]
    NoSuchLevel(#[from] NoSuchLevel),
    /// The roundings of a preset's units come on top of those that were asked for.
    #[error(
        "extra roundings: {more} more for units = \"ndc\" of preset {preset} are {sum}, above {}: give fewer",
        ExtraRoundings::MOST
    )]
    Units {
        /// Those of the units.
        more: u8,
        /// The preset.
        preset: String,
        /// All of them.
        sum: u8,
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

/// Why a case is not for a preset's kernel, in words that follow "cases".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotFor {
    /// The kernel is for one number of channels, and this is another one.
    #[error("with another number of channels than {0}")]
    Channels(u32),
    /// What the case is there to try is built into the kernel otherwise.
    #[error("that override a constant which is built into the kernel")]
    Overrides,
    /// The kernel's gradient where alpha is clamped is none that the oracle has.
    #[error(
        "with an opacity that alpha's clamp meets, whose gradient there the oracle does not have"
    )]
    Clamped,
    /// The kernel takes harmonics alone.
    #[error("whose colours are given directly, and not as harmonics")]
    DirectColors,
    /// The kernel takes direct colours alone.
    #[error("whose colours are given as harmonics, and not directly")]
    Harmonics,
}

impl Contract {
    /// A level in a formulation.
    ///
    /// # Errors
    /// [`ContractError::NoFormulation`].
    pub fn new(level: Level, formulation: Formulation) -> Result<Self, ContractError> {
        match level {
            Level::Raster => Ok(Self { level, formulation, preset: None }),
            Level::Project | Level::ProjectBackward | Level::Full => {
                if formulation == Formulation::STANDARD {
                    return Ok(Self { level, formulation, preset: None });
                }
                Err(ContractError::NoFormulation { level, formulation })
            }
        }
    }

    /// A preset's level: by the preset's formulation and roundings, or by those that are given in their
    /// place.
    ///
    /// # Errors
    /// The preset has not the level; [`ContractError::NoFormulation`].
    pub fn of_preset(
        preset: &Arc<Preset>,
        level: Option<Level>,
        (formulation, extra): (Option<Formulation>, Option<ExtraRoundings>),
    ) -> Result<Self, ContractError> {
        let level = level.unwrap_or_else(|| preset.usual_level());
        let interface = preset.interface(level)?;
        let own = match level {
            Level::Raster => preset.terms.formulation.unwrap_or_default(),
            Level::Project | Level::ProjectBackward | Level::Full => Formulation::STANDARD,
        };
        let formulation = formulation.unwrap_or(own);
        let counted = extra.or(match level {
            Level::Raster => preset.terms.extra_roundings,
            Level::Project | Level::ProjectBackward | Level::Full => None,
        });
        let formulation = counted.map_or(formulation, |k| formulation.with_extra_roundings(k));
        let formulation = match interface.roundings_of_units() {
            0 => formulation,
            more => {
                let sum = formulation.extra_roundings().count().saturating_add(more);
                let units = || ContractError::Units { more, preset: preset.name().to_owned(), sum };
                formulation.with_extra_roundings(ExtraRoundings::new(sum).ok_or_else(units)?)
            }
        };
        Ok(Self { preset: Some(Arc::clone(preset)), ..Self::new(level, formulation)? })
    }

    /// A preset's level by a reproducer's formulation, which has the roundings of the preset's units.
    ///
    /// # Errors
    /// As [`Self::of_preset`].
    pub fn noted(
        preset: &Arc<Preset>,
        level: Level,
        formulation: Formulation,
    ) -> Result<Self, ContractError> {
        preset.interface(level)?;
        Ok(Self { preset: Some(Arc::clone(preset)), ..Self::new(level, formulation)? })
    }

    /// The same in another expression, where one is named, with so many extra roundings.
    ///
    /// # Errors
    /// As [`Self::of_preset`] and [`Self::new`].
    pub fn with(
        &self,
        formulation: Option<Formulation>,
        extra: Option<ExtraRoundings>,
    ) -> Result<Self, ContractError> {
        if let Some(preset) = &self.preset {
            return Self::of_preset(preset, Some(self.level), (formulation, extra));
        }
        let formulation = formulation.unwrap_or(self.formulation);
        let formulation = extra.map_or(formulation, |k| formulation.with_extra_roundings(k));
        Self::new(self.level, formulation)
    }

    /// The preset whose arrays the program reads and writes.
    #[must_use]
    pub fn preset(&self) -> Option<&Arc<Preset>> {
        self.preset.as_ref()
    }

    /// The preset's arrays at the level.
    fn interface(&self) -> Option<&Interface> {
        self.preset.as_ref()?.interface(self.level).ok()
    }

    /// How the program takes a scene.
    fn taken(&self) -> Taken {
        self.interface().map(Interface::taken).unwrap_or_default()
    }

    /// What is built into the program.
    fn rules(&self) -> KernelRules {
        self.preset.as_ref().map(|preset| preset.terms.rules).unwrap_or_default()
    }

    /// How much of a convention that is.
    pub(crate) fn reach(&self) -> Reach {
        match self.level {
            Level::Raster => Reach::Raster,
            Level::Project | Level::ProjectBackward | Level::Full => Reach::All,
        }
    }

    /// Why a case is not for the program.
    #[must_use]
    pub fn not_for(&self, case: &AnyCase) -> Option<NotFor> {
        let preset = self.preset.as_ref()?;
        let splats = splat_case(case)?;
        let channels = preset.terms.channels;
        if let Some(channels) = channels.filter(|&d| splats.scene.channels() != d as usize) {
            return Some(NotFor::Channels(channels));
        }
        if !preset.terms.rules.overridden_by(splats, self.reach()).is_empty() {
            return Some(NotFor::Overrides);
        }
        if preset.terms.rules.opacities_below_the_clamp && preset.terms.rules.may_clamp(splats) {
            return Some(NotFor::Clamped);
        }
        let interface = self.interface().filter(|_| self.level == Level::Full)?;
        match splats.scene.gaussians.colors {
            Colors::Direct { channels, .. } if !interface.has(Array::Colors) && channels != 3 => {
                Some(NotFor::DirectColors)
            }
            Colors::Harmonics { .. }
                if !interface.has(Array::Sh) && !interface.has(Array::ShDc) =>
            {
                Some(NotFor::Harmonics)
            }
            Colors::Direct { .. } | Colors::Harmonics { .. } => None,
        }
    }

    /// The part of the way.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The expression.
    #[must_use]
    pub fn formulation(&self) -> Formulation {
        self.formulation
    }

    /// The setting that its sums are bounded by: one term after another is the longest chain of all
    /// orders of addition. `None` where nothing is added that the bounds have not counted.
    #[must_use]
    pub fn setting(&self) -> Option<Setting> {
        let setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };
        self.stage().accumulates().then_some(setting)
    }

    /// The case with the jobs of the level, under what is built into a preset's kernels.
    ///
    /// # Errors
    /// [`ContractError`] for a case of another workload.
    pub fn case(&self, case: &AnyCase) -> Result<AnyCase, ContractError> {
        let no_splats = || ContractError::NoSplats(case.name().to_owned());
        let ruled = self.rules().applied_to(case, self.reach());
        let splats = splat_case(&ruled).ok_or_else(no_splats)?;
        let judged = match self.level {
            Level::Raster => judged_in(&ruled, self.formulation)?,
            Level::Project | Level::ProjectBackward => Arc::clone(&ruled),
            Level::Full => as_whole(splats, self.taken()),
        };
        Ok(match &self.preset {
            None => judged,
            Some(preset) => of_preset(judged, preset),
        })
    }

    /// How many jobs a case has for the level: one for each camera, or one for all.
    ///
    /// # Errors
    /// As [`Self::case`].
    pub fn views(&self, case: &AnyCase) -> Result<usize, ContractError> {
        Ok(self.case(case)?.views_of(self.stage()))
    }

    /// The job of a view.
    ///
    /// # Errors
    /// [`ContractError`] where there is none.
    pub fn job(&self, case: &AnyCase, view: usize) -> Result<Job, ContractError> {
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

/// Lanes of a warp: of no matter for bounds, since no sum is made warp by warp, and the likeliest where
/// lanes are lost.
const LANES: u32 = 32;

/// Judges a program's outputs for a view of a case: every element by the bounds of the arithmetic that it
/// promises, sums in any order.
///
/// # Errors
/// [`ContractError`]: a case that the level has no job of, or outputs that are missing or have another
/// type or shape.
pub fn judge_level(
    contract: &Contract,
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
    contract: &Contract,
    arithmetic: Arithmetic,
    job: &Job,
    outputs: &Tensors,
) -> Result<Tally, ContractError> {
    let expectation = job.expectation(arithmetic);
    let run = (contract.setting(), LANES);
    Ok(judge(&job.stage, &job.sizes, expectation, outputs, run)?)
}

/// What a program may have got wrong whose outputs for a job are outside their bounds; `None` where they
/// agree.
///
/// # Errors
/// As [`judge_job`].
pub fn diagnose_job(
    contract: &Contract,
    arithmetic: Arithmetic,
    job: &Job,
    outputs: &Tensors,
) -> Result<Option<Diagnosis>, ContractError> {
    let run = FailedRun { arithmetic, setting: contract.setting(), lane_width: LANES };
    Ok(job.diagnose(run, outputs)?)
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
        match (self.level, self.interface()) {
            (Level::Full, None) => case_bytes(inputs).map_err(no_input),
            (Level::Full, Some(interface)) => {
                let bytes = case_bytes(inputs).map_err(no_input)?;
                let Case { scene, convention, .. } = case_file::parse(&bytes, "")?.case;
                let all = scene_arrays(&scene, interface.taken().raw);
                let all = all.map_err(|error| Problem::new("the case", error, "mend it"))?;
                let given = interface.given(&all, &scene_symbols(&scene, &convention))?;
                let mut metadata: BTreeMap<String, String> = overrides::described(&convention)
                    .map(|(key, text)| (key.to_owned(), text))
                    .collect();
                let profile = convention.profile.name();
                metadata.insert("convention".to_owned(), profile.to_owned());
                for (side, pixels) in [("width", scene.width), ("height", scene.height)] {
                    metadata.insert(side.to_owned(), pixels.to_string());
                }
                self.encode_given(metadata, given)
            }
            (Level::Project | Level::ProjectBackward, _) => self.encode(inputs, inputs),
            (Level::Raster, None) => {
                let all = raster_arrays(inputs).map_err(no_input)?;
                self.encode(inputs, &all)
            }
            (Level::Raster, Some(interface)) => {
                let all = raster_arrays(inputs).map_err(no_input)?;
                let symbols = Symbols::of(&all, &BTreeMap::new()).map_err(no_input)?;
                let given = interface.given(&all, &symbols)?;
                self.encode_given(self.metadata(inputs), given)
            }
        }
    }

    fn written(&self, sizes: &Sizes) -> Vec<Written> {
        if let Some(interface) = self.interface() {
            return interface.written(sizes);
        }
        let outputs = self.stage().outputs.iter().map(|port| Written::of(port, sizes));
        match self.level {
            Level::Raster | Level::Project | Level::ProjectBackward => outputs.collect(),
            Level::Full => {
                // Of the gradients of colours there is one, by which the colours are given.
                let (given, other) =
                    if sizes.get("K") > 0 { ("v_sh", "v_colors") } else { ("v_colors", "v_sh") };
                let always = [given, "render_colors", "render_alphas"];
                let needed = |one: Written| match always.contains(&&*one.name) {
                    true => Written { need: Need::Always, ..one },
                    false => one,
                };
                outputs.filter(|one| one.name != other).map(needed).collect()
            }
        }
    }

    fn gathered(&self, sizes: &Sizes, written: Tensors) -> Result<Tensors, Problem> {
        match self.interface() {
            None => Ok(written),
            Some(interface) => interface.gathered(&self.stage(), sizes, &written),
        }
    }
}

impl Contract {
    /// The arrays of a stage as a file: numbers by themselves are its metadata.
    fn encode(&self, inputs: &Tensors, arrays: &Tensors) -> Result<Vec<u8>, Problem> {
        let mut named = Tensors::new();
        for (name, tensor) in arrays.iter().filter(|(_, tensor)| !tensor.shape().is_empty()) {
            named.insert(name.to_owned(), signed(tensor));
        }
        encode(&self.metadata(inputs), &named)
    }

    /// What a preset's kernel is given, as a file.
    fn encode_given(
        &self,
        mut metadata: BTreeMap<String, String>,
        given: Given,
    ) -> Result<Vec<u8>, Problem> {
        let Given { arrays, numbers, nulls } = given;
        metadata.insert("level".to_owned(), self.level.name().to_owned());
        if let Some(preset) = &self.preset {
            metadata.insert("preset".to_owned(), preset.name().to_owned());
        }
        metadata.extend(numbers);
        if !nulls.is_empty() {
            metadata.insert("null".to_owned(), nulls.join(","));
        }
        encode(&metadata, &arrays)
    }

    /// The numbers by themselves among a stage's inputs, and what the level is.
    fn metadata(&self, inputs: &Tensors) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([("level".to_owned(), self.level.name().to_owned())]);
        if self.level == Level::Raster {
            // The note on the formulation says which of T and 1 - T the bounds are told.
            metadata.insert("formulation".to_owned(), self.formulation.to_string());
            metadata.insert("threshold".to_owned(), "0".to_owned());
        }
        for (name, tensor) in inputs.iter().filter(|(_, tensor)| tensor.shape().is_empty()) {
            metadata.insert(name.to_owned(), number_text(tensor.data()));
        }
        metadata
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
