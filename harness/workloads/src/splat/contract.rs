//! What a user's program is judged as: the part of the way that it does, its *level*, and the expression
//! that it does it by. Here its answers are judged, and its files made (`files`); nothing of it knows how
//! the program is reached.

pub mod files;

use super::formulated::{FormulationUse, judged_in, judged_on_foreign, judged_with_image};
use super::kernel_rules::{KernelRules, Reach};
pub use super::level::{Level, NoLevel};
use super::whole::{Taken, as_whole};
use super::{CameraForms, ColorForms, Splat, comparing, fitted, has_gaussians, splat_case};
use crate::layout::{KernelKind, Tensor as Array};
use crate::presets::{Interface, NoSuchLevel, Preset, of_preset};
use splatcheck_gpu::stage::Port;
use splatcheck_gpu::{Reduction, Setting, TensorError, Tensors};
use splatcheck_judge::campaign::Item;
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::engines::command::Form;
use splatcheck_judge::io::Problem;
use splatcheck_judge::judge::{Arithmetic, judge};
use splatcheck_judge::verdict::Tally;
use splatcheck_judge::workload::{AnyCase, BuiltIn, CaseError, FailedRun, Job, Workload};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::{Colors, Formulation};
use std::sync::Arc;

/// What a program is judged as.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contract {
    level: Level,
    formulation: Formulation,
    preset: Option<Arc<Preset>>,
    /// What is built into a kernel of another workload than splats.
    built_in: BuiltIn,
}

/// Why a program cannot be judged so, or a case not for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The level has no formulation, no room for more roundings or no such view, or the case is of another workload.
    #[error("{0}")]
    Asked(String),
    /// The preset has not the level.
    #[error(transparent)]
    NoSuchLevel(#[from] NoSuchLevel),
    /// There is no such constant, or it has no such value.
    #[error(transparent)]
    Constant(Problem),
    /// See [`FormulationUse`].
    #[error(transparent)]
    Formulation(#[from] FormulationUse),
    /// See [`CaseError`].
    #[error(transparent)]
    Case(#[from] CaseError),
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
    #[error("with another value of a constant that is built into the kernel")]
    Overrides,
    /// The kernel takes harmonics alone.
    #[error("whose colours are given directly, and not as harmonics")]
    DirectColors,
    /// The kernel takes direct colours alone.
    #[error("whose colours are given as harmonics, and not directly")]
    Harmonics,
    /// The kernel is given the matrix of the whole projection.
    #[error("with a principal point beside the image's middle, which projmats are not given for")]
    Principal,
    /// A size or field is built into the kernel otherwise.
    #[error("with other sizes or fields than those that are built into the kernel")]
    BuiltIn,
    /// Of a workload, those without a run of the stage.
    #[error("without a run of the stage")]
    Stage,
}

impl Contract {
    /// A level in a formulation.
    ///
    /// # Errors
    /// Only the backward rasterization has formulations.
    pub fn new(level: Level, formulation: Formulation) -> Result<Self, ContractError> {
        match level {
            Level::Raster => Ok(Self { level, formulation, ..Self::default() }),
            Level::Project | Level::ProjectBackward | Level::Full | Level::Of(_) => {
                if formulation == Formulation::STANDARD {
                    return Ok(Self { level, formulation, ..Self::default() });
                }
                Err(ContractError::Asked(format!(
                    "level {level} has no formulation {formulation}, nor extra roundings: both belong to level raster"
                )))
            }
        }
    }

    /// A preset's level: by the preset's formulation and roundings, or by those that are given in their
    /// place.
    ///
    /// # Errors
    /// The preset has not the level; as [`Self::new`].
    pub fn of_preset(
        preset: &Arc<Preset>,
        level: Option<Level>,
        (formulation, extra): (Option<Formulation>, Option<ExtraRoundings>),
    ) -> Result<Self, ContractError> {
        let level = level.unwrap_or_else(|| preset.usual_level());
        let interface = preset.interface(level)?;
        let own = match level {
            Level::Raster => preset.terms.formulation.unwrap_or_default(),
            Level::Project | Level::ProjectBackward | Level::Full | Level::Of(_) => {
                Formulation::STANDARD
            }
        };
        let formulation = formulation.unwrap_or(own);
        let counted = extra.or(match level {
            Level::Raster => preset.terms.extra_roundings,
            Level::Project | Level::ProjectBackward | Level::Full | Level::Of(_) => None,
        });
        let formulation = counted.map_or(formulation, |k| formulation.with_extra_roundings(k));
        let formulation = match interface.roundings_of_units() {
            0 => formulation,
            more => {
                let sum = formulation.extra_roundings().count().saturating_add(more);
                let units = || {
                    let (preset, most) = (preset.name(), ExtraRoundings::MOST);
                    let of = format!("units = \"ndc\" or a folded background of preset {preset}");
                    ContractError::Asked(format!(
                        "extra roundings: {more} more for {of} are {sum}, above {most}: give fewer"
                    ))
                };
                formulation.with_extra_roundings(ExtraRoundings::new(sum).ok_or_else(units)?)
            }
        };
        let (built_in, preset) = (preset.built_in.clone(), Some(Arc::clone(preset)));
        Ok(Self { preset, built_in, ..Self::new(level, formulation)? })
    }

    /// The same of a program with these constants built into it, beside those of a preset.
    ///
    /// # Errors
    /// [`ContractError::Constant`].
    pub fn made_for<'c>(
        mut self,
        constants: impl IntoIterator<Item = (&'c str, &'c str)>,
    ) -> Result<Self, ContractError> {
        let known = self.workload().constants();
        self.built_in = self.built_in.with(constants, &known).map_err(ContractError::Constant)?;
        Ok(self)
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
        let built_in = self.built_in.clone();
        if let Some(preset) = &self.preset {
            let other = Self::of_preset(preset, Some(self.level), (formulation, extra))?;
            return Ok(Self { built_in, ..other });
        }
        let formulation = formulation.unwrap_or(self.formulation);
        let formulation = extra.map_or(formulation, |k| formulation.with_extra_roundings(k));
        Ok(Self { built_in, ..Self::new(self.level, formulation)? })
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
    pub fn reach(&self) -> Reach {
        match self.level {
            Level::Raster => Reach::Raster,
            Level::Project | Level::ProjectBackward | Level::Full | Level::Of(_) => Reach::All,
        }
    }

    /// Why a case is not for the program.
    #[must_use]
    pub fn not_for(&self, case: &AnyCase) -> Option<NotFor> {
        if let Level::Of(stage) = self.level {
            let workload = self.workload();
            let can_be = |built_in| workload.fitted(case, stage, built_in).is_some();
            if can_be(&self.built_in) {
                return None;
            }
            let is_other = can_be(&BuiltIn::default());
            return Some(if is_other { NotFor::BuiltIn } else { NotFor::Stage });
        }
        let preset = self.preset.as_ref()?;
        let splats = splat_case(case)?;
        let channels = preset.terms.channels;
        if let Some(channels) = channels.filter(|&d| splats.scene.channels() != d as usize) {
            return Some(NotFor::Channels(channels));
        }
        if !preset.terms.rules.overridden_by(splats, self.reach()).is_empty() {
            return Some(NotFor::Overrides);
        }
        let projects = matches!(self.level, Level::Project | Level::ProjectBackward);
        let by_matrix =
            projects && self.interface().is_some_and(|interface| interface.has(Array::Projmats));
        if !(CameraForms { one: false, middle: by_matrix }).has(case) {
            return Some(NotFor::Principal);
        }
        match (self.color_forms(), &splats.scene.gaussians.colors) {
            (ColorForms::Harmonics, Colors::Direct { channels, .. }) if *channels != 3 => {
                Some(NotFor::DirectColors)
            }
            (ColorForms::Direct, Colors::Harmonics { .. }) => Some(NotFor::Harmonics),
            (ColorForms::Both | ColorForms::Harmonics | ColorForms::Direct, _) => None,
        }
    }

    /// How the program takes the colours of a scene: at the other levels it is given those that are seen.
    fn color_forms(&self) -> ColorForms {
        let Some(interface) = self.interface().filter(|_| self.level == Level::Full) else {
            return ColorForms::Both;
        };
        let harmonics = interface.has(Array::Sh) || interface.has(Array::ShDc);
        match (interface.has(Array::Colors), harmonics) {
            (true, true) => ColorForms::Both,
            (false, true) => ColorForms::Harmonics,
            (true | false, false) => ColorForms::Direct,
        }
    }

    /// A drawn case as one that the program is for: of its number of channels, with its form of colours and
    /// under the constants that are built into it. Without a preset every case of splats is. `None` where a case
    /// cannot be made such a one.
    #[must_use]
    pub fn fitted(&self, case: &AnyCase) -> Option<AnyCase> {
        if let Level::Of(stage) = self.level {
            return self.workload().fitted(case, stage, &self.built_in);
        }
        let Some(preset) = &self.preset else { return Some(Arc::clone(case)) };
        let case = fitted(case, preset.terms.channels, self.color_forms());
        Some(self.rules().applied_to(&case, self.reach()))
    }

    /// Whether a case has a number to compare: without a Gaussian only whole images have.
    #[must_use]
    pub fn compares(&self, case: &AnyCase) -> bool {
        match self.level {
            Level::Raster | Level::Project | Level::ProjectBackward => has_gaussians(case),
            Level::Full => true,
            Level::Of(_) => self.not_for(case).is_none(),
        }
    }

    /// The outputs of the level that no array of the preset holds: those that such a kernel may have, in a form that
    /// a case for it has.
    fn left_out(&self) -> Vec<&'static str> {
        let Some(interface) = self.interface() else { return Vec::new() };
        let kind = KernelKind::from(self.level);
        let forms = self.color_forms();
        let lacks = |port: &&Port| {
            let held = interface.returned().any(|t| t.port(kind).is_some_and(|p| p.0 == port.name));
            !held
                && match Array::of_port(port.name, kind) {
                    // A kernel without this array compensates nothing.
                    None | Some(Array::Compensations) => false,
                    Some(Array::VColors) => forms != ColorForms::Harmonics,
                    Some(Array::VSh) => forms != ColorForms::Direct,
                    // A preset's projection has no colours and opacities of its own.
                    Some(array) => !(kind.knows_the_image() && array.is_of_blending()),
                }
        };
        self.stage().spec().outputs.iter().filter(lacks).map(|port| port.name).collect()
    }

    /// The workload that its cases are of.
    #[must_use]
    pub fn workload(&self) -> Arc<dyn Workload> {
        // Every stage is of one of them.
        crate::find(self.level.workload()).unwrap_or_else(|_| Arc::new(Splat::default()))
    }

    /// What of a preset is compared with nothing, each with why: outputs that are read, and those of the level that
    /// are not.
    #[must_use]
    pub fn not_compared(&self) -> Vec<String> {
        let outputs = self.interface().map_or(&[][..], |interface| &interface.outputs);
        let unused = outputs.iter().filter(|output| output.array.is_none());
        let why = "the preset has no bound for it, and its type and shape alone are checked";
        let unused = unused.map(|output| format!("{}: {why}", output.name));
        let unnamed = self.left_out().into_iter();
        unused
            .chain(unnamed.map(|name| format!("{name}: the preset names no array for it")))
            .collect()
    }

    /// Which of the preset's arrays an output is read from, in words, where the array has another name.
    #[must_use]
    pub fn read_from(&self, output: &str) -> Option<String> {
        let named = self.interface()?.array_with(output).filter(|name| *name != output)?;
        Some(format!("{output} is read from the preset's array {named}"))
    }

    /// The part of the way.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// What is built into a kernel of another workload than splats.
    #[must_use]
    pub fn built_in(&self) -> &BuiltIn {
        &self.built_in
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
        let other = || {
            let (case, level, workload) = (case.name(), self.level, self.level.workload());
            ContractError::Asked(format!(
                "case {case}: a program of level {level} is judged on cases of {workload}"
            ))
        };
        if let Level::Of(stage) = self.level {
            let own = self.workload().fitted(case, stage, &self.built_in).ok_or_else(other)?;
            return Ok(match &self.preset {
                None => own,
                Some(preset) => of_preset(comparing::without(own, &self.left_out()), preset),
            });
        }
        let ruled = self.rules().applied_to(case, self.reach());
        let splats = splat_case(&ruled).ok_or_else(other)?;
        let judged = match self.level {
            Level::Raster => match &self.preset {
                // A preset says all that its kernels return.
                Some(_) => judged_in(&ruled, self.formulation)?,
                None => judged_with_image(&ruled, self.formulation)?,
            },
            Level::Project | Level::ProjectBackward => judged_on_foreign(Arc::clone(&ruled)),
            Level::Full => as_whole(splats, self.taken()),
            // Its cases are of another workload.
            Level::Of(_) => return Err(other()),
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
        let judged = self.case(case)?;
        let views = judged.views_of(self.stage());
        let none = || {
            let (case, level) = (case.name(), self.level);
            ContractError::Asked(format!(
                "case {case}: there is no camera {view} for level {level}, it has {views}"
            ))
        };
        if view >= views {
            return Err(none());
        }
        let item = Item::of(judged, view, &|stage| stage == self.stage())?;
        item.jobs.into_iter().next().ok_or_else(none)
    }
}

/// Lanes of a warp: of no matter for bounds, since no sum is made warp by warp, and the likeliest where
/// lanes are lost.
const LANES: u32 = 32;

/// Judges a program's outputs for a job: every element by the bounds of the arithmetic that it promises,
/// sums in any order.
///
/// # Errors
/// [`ContractError::Output`]: one is missing, or has another type or shape.
pub fn judge_job(
    contract: &Contract,
    arithmetic: Arithmetic,
    job: &Job,
    outputs: &Tensors,
) -> Result<Tally, ContractError> {
    let expectation = job.expectation_of(arithmetic, outputs);
    let run = (contract.setting(), LANES);
    Ok(judge(&job.stage, &job.sizes, &expectation, outputs, run)?)
}

/// What a program may have got wrong whose outputs for a job are outside their bounds, and which returned others
/// when it ran the job just `before`, if that is known; `None` where they agree.
///
/// # Errors
/// As [`judge_job`].
pub fn diagnose_job(
    contract: &Contract,
    arithmetic: Arithmetic,
    job: &Job,
    (before, outputs): (Option<&Tensors>, &Tensors),
) -> Result<Option<Diagnosis>, ContractError> {
    let run = FailedRun { arithmetic, setting: contract.setting(), lane_width: LANES };
    Ok(job.diagnose_after(run, before, outputs)?)
}

#[cfg(test)]
mod tests;
