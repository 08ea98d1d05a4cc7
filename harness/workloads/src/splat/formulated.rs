//! A splat case whose backward stage is judged in a formulation of its own, or whose projection is a user's
//! kernel.
//!
//! The formulation belongs to the run, not to the scene: it says what a kernel is given and which
//! expression its bounds are of. It goes with the case, so that a failing case is made small, written
//! and replayed under the formulation that it failed under.

use super::case::Case;
use super::stage::{JudgedAs, RoundedInputs};
use crate::halves::Halves;
use splatcheck_gpu::Stage;
use splatcheck_gpu::emulator::Interface;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{
    RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_IMAGE, RASTERIZE_BACKWARD_IMAGE_DIRECT,
    RASTERIZE_BACKWARD_REPLAY, TILE_SIZE,
};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::InputError;
use splatcheck_judge::workload::{AnyCase, CaseError, CaseId, Job, NOTE_PREFIX, Notes};
use splatcheck_reference::splat::convention::{ClampGradient, Convention, StopRule};
use splatcheck_reference::splat::formulation::{
    Divide, FinalT, Floor, Formulation, FormulationError, TermFormat, WalkOrder,
};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

/// The key of the note, behind [`NOTE_PREFIX`], that names a reproducer's formulation.
const NOTE: &str = "formulation";
/// The key of the note, behind [`NOTE_PREFIX`], that says whose derivation of the projection a kernel has. Only
/// a user's kernel has it, with the value [`ANY`].
const DERIVATION: &str = "derivation";
const ANY: &str = "any";

/// Why a case cannot be judged in a formulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormulationUse {
    /// There is no such formulation.
    #[error(transparent)]
    Unknown(#[from] FormulationError),
    /// Only splats have formulations.
    #[error(
        "formulation {formulation}: it is one of the stage rasterize_backward, which case {case} does not have: leave the formulation out, or name a case of splats"
    )]
    NoSuchStage {
        /// What was asked for.
        formulation: Formulation,
        /// The case.
        case: String,
    },
}

/// The stage that gives a kernel of this formulation its arrays. A walk from the last contributor needs
/// what lies there: it gets that of `rasterize_backward`, with the rendered opacities for transmittances
/// where the formulation says so. A walk from the front needs the rendered image, and either the opacity
/// or, where the transmittance was stored, the states that were stored with it every 32 entries.
#[must_use]
pub fn stage_of(formulation: Formulation) -> Stage {
    match (formulation.walk(), formulation.final_t(), formulation.divide()) {
        (WalkOrder::Back, _, _) => RASTERIZE_BACKWARD,
        (WalkOrder::Front, FinalT::Stored | FinalT::Recomputed, _) => RASTERIZE_BACKWARD_REPLAY,
        (WalkOrder::Front, FinalT::OneMinusAlpha, Divide::Reciprocal) => RASTERIZE_BACKWARD_IMAGE,
        (WalkOrder::Front, FinalT::OneMinusAlpha, Divide::Direct) => {
            RASTERIZE_BACKWARD_IMAGE_DIRECT
        }
    }
}

/// A formulation with the projects that use it.
#[must_use]
pub fn described(formulation: Formulation) -> String {
    let names: Vec<_> = formulation.named().map(|named| named.name).collect();
    if names.is_empty() {
        formulation.to_string()
    } else {
        format!("{formulation} ({})", names.join(", "))
    }
}

/// Those that a kernel may have, in groups, of which one is tried where none agrees of those before: the usual
/// ones, those of named projects first; those that divide otherwise; the usual ones with terms of f16. What does
/// not fit is left out. The floor changes nothing where `alpha_max` is below 1 - 1e-6, so it is not tried.
#[must_use]
pub fn candidates(fits: &dyn Fn(Formulation) -> bool) -> [Vec<Formulation>; 3] {
    let (mut usual, mut unusual): (Vec<_>, Vec<_>) = Formulation::all()
        .filter(|one| one.floor() == Floor::None && fits(*one))
        .partition(|one| Formulation::practised().any(|usual| usual == *one));
    // As many parameters of the same sizes may be other arrays: the standard ones are tried first.
    let other_arrays =
        |one: &Formulation| Interface::of(stage_of(*one)) != Some(Interface::Standard);
    usual.sort_by_key(|one| (one.named().next().is_none(), other_arrays(one)));
    unusual.sort_by_key(other_arrays);
    let half = usual.iter().map(|one| one.with_terms(TermFormat::F16)).collect();
    [usual, unusual, half]
}

/// What of a convention no kernel of this repository has, and what to do; `None` where they have all of it.
pub(super) fn kernels_lack(convention: &Convention) -> Option<&'static str> {
    match (convention.stop_rule, convention.alpha_clamp_gradient, convention.tile_size) {
        (StopRule::LessAfterBlending | StopRule::LessOrEqualAfterBlending, _, _) => Some(
            "stop_rule ends with '-after-blending', which no kernel of this repository has: name one that has \
             it (--command, or a manifest), or another stop_rule",
        ),
        (_, ClampGradient::Clamped, _) => Some(
            "clamp_gradient is 'clamped', which no kernel of this repository has: name one that has it \
             (--command, or a manifest), or another clamp_gradient",
        ),
        (
            StopRule::Less | StopRule::LessOrEqual,
            ClampGradient::PassThrough | ClampGradient::Zero,
            [TILE_SIZE, TILE_SIZE],
        ) => None,
        (_, ClampGradient::PassThrough | ClampGradient::Zero, _) => Some(
            "tile_size is another than 16, which the kernels of this repository have: name one of your own \
             (--command, or a manifest), or leave tile_size out",
        ),
    }
}

/// The case judged in a formulation.
///
/// # Errors
/// [`FormulationUse`].
pub fn judged_in(case: &AnyCase, formulation: Formulation) -> Result<AnyCase, FormulationUse> {
    let own = |case: &Case| kernels_lack(&case.convention).is_none();
    let of_splats = case.as_any().downcast_ref::<Case>();
    if formulation == Formulation::STANDARD && of_splats.is_none_or(own) {
        return Ok(Arc::clone(case));
    }
    formulated(case, formulation.into())
}

/// The case judged in a formulation on a kernel that has some inputs in 16 bits.
///
/// # Errors
/// [`FormulationUse`].
pub fn judged_rounded(
    case: &AnyCase,
    formulation: Formulation,
    rounded: RoundedInputs,
) -> Result<AnyCase, FormulationUse> {
    match rounded == RoundedInputs::default() {
        true => judged_in(case, formulation),
        false => formulated(case, JudgedAs { formulation, rounded, ..JudgedAs::default() }),
    }
}

/// The case judged in a formulation, whose kernel may also return the image that it renders.
///
/// # Errors
/// [`FormulationUse`].
pub(super) fn judged_with_image(
    case: &AnyCase,
    formulation: Formulation,
) -> Result<AnyCase, FormulationUse> {
    formulated(case, JudgedAs { formulation, with_image: true, ..JudgedAs::default() })
}

/// The case, judged for a user's kernel of a projection by bounds that hold every standard derivation. A case
/// of another workload is returned as it is.
#[must_use]
pub fn judged_on_foreign(case: AnyCase) -> AnyCase {
    match case.as_any().downcast_ref::<Case>().cloned() {
        Some(case) => {
            let judged = JudgedAs { foreign: true, ..JudgedAs::default() };
            Arc::new(Formulated { case, judged })
        }
        None => case,
    }
}

fn formulated(case: &AnyCase, judged: JudgedAs) -> Result<AnyCase, FormulationUse> {
    let splats = case.as_any().downcast_ref::<Case>().cloned();
    let JudgedAs { formulation, .. } = judged;
    let no_splats = || FormulationUse::NoSuchStage { formulation, case: case.name().to_owned() };
    Ok(Arc::new(Formulated { case: splats.ok_or_else(no_splats)?, judged }))
}

/// A reproducer's case as its notes say that it was judged: in the formulation that they name, or as a
/// user's projection.
///
/// # Errors
/// [`FormulationUse`].
pub fn as_noted(case: AnyCase, notes: &Notes) -> Result<AnyCase, FormulationUse> {
    match notes.get(&format!("{NOTE_PREFIX}{DERIVATION}")).map(String::as_str) {
        Some(ANY) => Ok(judged_on_foreign(case)),
        Some(_) | None => {
            // What is wrong with the note is said where the outputs are read of it.
            let halves = Halves::noted(notes).ok().flatten().unwrap_or_default();
            let rounded = RoundedInputs::new(&halves.inputs);
            judged_rounded(&case, noted(notes)?, rounded)
        }
    }
}

/// The formulation that a reproducer's notes name; the standard one where they name none.
///
/// # Errors
/// There is no such formulation.
pub fn noted(notes: &Notes) -> Result<Formulation, FormulationError> {
    notes
        .get(&format!("{NOTE_PREFIX}{NOTE}"))
        .map_or(Ok(Formulation::STANDARD), |name| name.parse())
}

/// A case with its formulation.
#[derive(Clone, Debug)]
struct Formulated {
    case: Case,
    judged: JudgedAs,
}

impl Formulated {
    /// The formulation, where it is not the standard one.
    fn named(&self) -> Option<Formulation> {
        Some(self.judged.formulation).filter(|own| *own != Formulation::STANDARD)
    }
}

impl splatcheck_judge::workload::Case for Formulated {
    fn name(&self) -> &str {
        self.case.name()
    }

    fn id(&self) -> Option<&CaseId> {
        self.case.id()
    }

    fn hazards(&self) -> &[Hazard] {
        self.case.hazards()
    }

    fn views(&self) -> usize {
        self.case.views()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        self.case.jobs_as(view, (self.judged, None), wanted)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn views_of(&self, stage: Stage) -> usize {
        self.case.views_of(stage)
    }

    fn describe(&self, stage: Stage, view: usize) -> String {
        let words = self.case.describe(stage, view);
        self.named().map_or(words.clone(), |own| format!("{words}, formulation {own}"))
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        let case = Case { name, id, ..self.case.clone() };
        Arc::new(Self { case, judged: self.judged })
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let judged = self.judged;
        let with = |case: &Case| Arc::new(Self { case: case.clone(), judged }) as AnyCase;
        with(&super::minimize::reduce(&self.case, &mut |case| fails(&with(case))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        let mut notes = notes.clone();
        let note = |own: Formulation| (format!("{NOTE_PREFIX}{NOTE}"), own.to_string());
        notes.extend(self.named().map(note));
        let any = || (format!("{NOTE_PREFIX}{DERIVATION}"), ANY.to_owned());
        notes.extend(self.judged.foreign.then(any));
        self.case.write(path, &notes)
    }

    fn as_any(&self) -> &dyn Any {
        &self.case
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::files::corpus::read_any_case;
    use crate::splat::stage::{FORMULATED, STANDARD};
    use splatcheck_gpu::stages::splat::PROJECT;
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::judge::Arithmetic;

    fn case() -> AnyCase {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        Arc::new(read_any_case(&corpus.join("tile-corner.toml"), None).expect("a case"))
    }

    #[test]
    fn a_users_projection_is_judged_again_by_the_same_bounds() {
        let judged = judged_on_foreign(case());
        let out = tempfile::tempdir().expect("a folder");
        let file = out.path().join("case.safetensors");
        judged.write(&file, &Notes::new()).expect("written");
        let read = crate::read_case(&file).expect("a case");
        let own = judged_in(&read.case, Formulation::STANDARD).expect("a case of splats");
        let again = as_noted(read.case, &read.notes).expect("the derivation is noted");
        let bounds = |case: &AnyCase| {
            let jobs = case.jobs(0).expect("jobs");
            let job = jobs.into_iter().find(|job| job.stage == PROJECT).expect("it");
            format!("{:?}", job.expectation(Arithmetic::Cuda).outputs().collect::<Vec<_>>())
        };
        assert_eq!(bounds(&again), bounds(&judged), "replayed");
        assert_ne!(bounds(&own), bounds(&judged), "those of any derivation are wider");
    }

    #[test]
    fn a_formulation_goes_with_its_case_into_the_file_and_back() {
        let formulation: Formulation = "gsplat-1.5".parse().expect("it exists");
        let judged = judged_in(&case(), formulation).expect("the interface suffices");
        let out = tempfile::tempdir().expect("a folder");
        let file = out.path().join("case.safetensors");
        judged.write(&file, &Notes::new()).expect("written");
        let read = crate::read_case(&file).expect("a case");
        let again = as_noted(read.case, &read.notes).expect("the formulation is noted");
        let words = again.describe(RASTERIZE_BACKWARD, 0);
        assert!(words.ends_with("formulation buffer, final_t = one-minus-alpha"), "{words}");
        let inputs = |case: &AnyCase| {
            let jobs = case.jobs(0).expect("jobs");
            let job = jobs.into_iter().find(|job| job.stage == RASTERIZE_BACKWARD).expect("it");
            job.inputs.f32("render_transmittance").expect("an input").to_vec()
        };
        let (standard, given) = (inputs(&case()), inputs(&again));
        let alphas: Vec<f32> = standard.iter().map(|t| 1.0 - t).collect();
        assert_eq!(given, alphas, "the kernel gets opacities");
        assert!(given.iter().any(|&alpha| alpha > 0.0), "the case shows something");
    }

    /// Each formulation that has kernels of ours is judged by the stage of those kernels' arrays.
    #[test]
    fn a_formulation_has_the_arrays_of_its_own_kernels() {
        for (stage, formulation) in [STANDARD].into_iter().chain(FORMULATED) {
            let given = stage_of(formulation);
            let expected =
                if formulation.walk() == WalkOrder::Back { RASTERIZE_BACKWARD } else { stage };
            assert_eq!(given, expected, "{formulation}");
            let judged = judged_in(&case(), formulation).expect("splats have formulations");
            let jobs = judged.jobs(0).expect("jobs");
            let of = |wanted: Stage| jobs.iter().filter(|job| job.stage == wanted).count();
            assert!(Stage::all().all(|stage| of(stage) <= 1), "{formulation}: one job a stage");
            assert_eq!(of(given), 1, "{formulation}");
        }
    }

    #[test]
    fn a_formulation_that_does_not_exist_is_refused_with_a_reason() {
        let notes = Notes::from([(format!("{NOTE_PREFIX}{NOTE}"), "mine".to_owned())]);
        let error = as_noted(case(), &notes).expect_err("unknown").to_string();
        assert!(error.contains("unknown formulation 'mine'"), "{error}");
    }
}
