//! The jobs of a projection that is given the size of the image, of a preset or a manifest: those of the stages `project` and
//! `project_backward`, with other inputs and another oracle.
//!
//! A Gaussian that is certainly on the image is compared. Of one that is certainly beside it, or culled, a
//! radius of 0 is demanded, and its other numbers may be anything: kernels do not write them. Where roundings
//! decide, either is accepted.
//!
//! A kernel may return antialiasing's factors of the opacities as an array, which gsplat calls compensations, and
//! be given their gradients. Then radii are those of the opacities times the factors, as gsplat's are. A kernel
//! without that array multiplies nothing.

use super::case::{Case, splat_case};
use super::diagnosis::{of_project_backward_on_image, of_project_on_image};
use super::expectation::{project_backward_on_image, project_on_image};
use super::stage::{ImageStage, ProjectStage};
use crate::layout::{Array, KernelKind, Tensor};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD};
use splatcheck_gpu::{Data, Stage, Tensors};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Arithmetic, Expectation, Output, OutputBound, Rows};
use splatcheck_judge::workload::{AnyCase, CaseError, FailedRun, Job, Oracle};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::{Convention, Culling};
use std::fmt::Display;

/// A kernel of a projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Roundings of its intermediates beside the oracle's own.
    pub extra_roundings: ExtraRoundings,
    /// The stage's outputs that it returns; radii are among them in the forward stage.
    pub returns: Vec<&'static str>,
    /// On which cases it has the array of the compensations.
    pub compensations: Compensations,
    /// What of the image a Gaussian must have a part of to be kept.
    pub culling: Culling,
    /// Whether it has a part in the colours: it returns them, or is given their gradients.
    pub colors: bool,
    /// Whether it is given the gradients of means by normalized device coordinates.
    pub ndc: bool,
}

/// What a note says of a kernel that leaves out what no tile lists, among the names of its outputs.
const BY_TILES: &str = "by-tiles";
/// What it says of one that has a part in the colours.
const WITH_COLORS: &str = "with-colors";

/// What it says of one that is given gradients by normalized device coordinates.
const BY_NDC: &str = "by-ndc";

/// The output of the stage in whose place compensations are.
const OPACITIES: &str = "opacities";

/// On which cases a kernel returns compensations, or is given their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compensations {
    /// It has no such array.
    Never,
    /// On those whose convention is antialiased.
    Antialiased,
    /// Its launch always has it.
    Always,
    /// It has no such array, and returns opacities: those that it multiplied where a case is antialiased.
    InOpacities,
}

impl Kernel {
    /// The one with these arrays. A preset's launch has an array of compensations where a case is antialiased, and
    /// a manifest's has it on every case.
    #[must_use]
    pub fn of(
        kind: KernelKind,
        tensors: &[Tensor],
        with_array: Compensations,
        (extra_roundings, culling): (ExtraRoundings, Culling),
    ) -> Self {
        let ports = tensors.iter().filter_map(|tensor| Some(tensor.port(kind)?.0));
        let returns = ports.chain([Tensor::Radii.name()]).collect();
        let compensations = if tensors.iter().any(|tensor| tensor.means_compensations(kind)) {
            with_array
        } else if tensors.contains(&Tensor::ProjectedOpacities) {
            Compensations::InOpacities
        } else {
            Compensations::Never
        };
        let of_colors = [Tensor::ProjectedColors, Tensor::Clamped, Tensor::VProjectedColors];
        let colors = tensors.iter().any(|tensor| of_colors.contains(tensor));
        Self { extra_roundings, returns, compensations, culling, colors, ndc: false }
    }

    /// The one with these arrays' meaning.
    #[must_use]
    pub fn given<'a>(self, mut arrays: impl Iterator<Item = &'a Array>) -> Self {
        let by_ndc = |array: &Array| array.meaning.ndc && array.holds(Tensor::VProjectedMeans2d);
        Self { ndc: arrays.any(by_ndc), ..self }
    }

    /// It as a reproducer's note has it. A preset's is not noted: the preset itself is.
    pub(super) fn note(&self) -> String {
        let compensations = self.compensations.has_array().then_some(Tensor::Compensations.name());
        let by_tiles = (self.culling == Culling::Tiles).then_some(BY_TILES);
        let colors = self.colors.then_some(WITH_COLORS);
        let by_ndc = self.ndc.then_some(BY_NDC);
        let words = [compensations, by_tiles, colors, by_ndc].into_iter().flatten();
        let names: Vec<_> = self.returns.iter().copied().chain(words).collect();
        format!("{} {}", self.extra_roundings.count(), names.join(","))
    }
}

/// What a note's names say of the culling, of colours and of units, and the other names.
pub(super) fn noted_words(names: &str) -> (Culling, [bool; 2], String) {
    let has = |word: &str| names.split(',').any(|name| name == word);
    let culling = if has(BY_TILES) { Culling::Tiles } else { Culling::Pixels };
    let others = names.split(',').filter(|name| ![BY_TILES, WITH_COLORS, BY_NDC].contains(name));
    (culling, [WITH_COLORS, BY_NDC].map(has), others.collect::<Vec<_>>().join(","))
}

impl Compensations {
    /// What the names of a note say of them, which are then the others.
    pub(super) fn noted(names: &mut Vec<&'static str>) -> Self {
        let all = names.len();
        names.retain(|name| *name != Tensor::Compensations.name());
        match names.len() < all {
            true => Self::Always,
            false if names.contains(&OPACITIES) => Self::InOpacities,
            false => Self::Never,
        }
    }

    /// Whether its array is there on some cases.
    fn has_array(self) -> bool {
        match self {
            Self::Antialiased | Self::Always => true,
            Self::Never | Self::InOpacities => false,
        }
    }
}

/// The jobs of a case for one view, where projections are by a kernel that is given the size of the image; of a
/// stage without such a kernel there is none.
///
/// # Errors
/// Why there are none.
pub(crate) fn jobs(
    case: &AnyCase,
    view: usize,
    wanted: &dyn Fn(Stage) -> bool,
    kernel_of: impl Fn(Stage) -> Option<Kernel>,
) -> Result<Vec<Job>, CaseError> {
    let projections = [PROJECT, PROJECT_BACKWARD];
    let others = |stage: Stage| wanted(stage) && !projections.contains(&stage);
    let mut jobs = case.jobs_of(view, &others)?;
    for stage in projections.into_iter().filter(|&stage| view == 0 && wanted(stage)) {
        if let Some((kernel, case)) = kernel_of(stage).zip(splat_case(case)) {
            jobs.push(job(case, stage == PROJECT_BACKWARD, kernel)?);
        }
    }
    Ok(jobs)
}

/// The job of a case for one of the two stages.
///
/// # Errors
/// Why there is none.
fn job(case: &Case, backward: bool, kernel: Kernel) -> Result<Job, CaseError> {
    let failed =
        |error: &dyn Display| CaseError { case: case.name.clone(), problem: error.to_string() };
    let antialiased = match kernel.compensations {
        Compensations::Never => false,
        Compensations::Antialiased | Compensations::InOpacities => case.convention.antialiased,
        Compensations::Always => true,
    };
    let convention = Convention { antialiased, ..case.convention };
    let case = Case { convention, ..case.clone() };
    let stage = ProjectStage::new(&case).map_err(|error| failed(&error))?;
    let counted = (kernel.extra_roundings, kernel.culling);
    let image = ImageStage::new(&case, &stage, counted, [kernel.colors, kernel.ndc]);
    let (inputs, lanes) = (&stage.inputs, stage.inputs.project.projections());
    let (of, inputs) = match backward {
        false => (PROJECT, inputs.project.tensors()),
        true => (PROJECT_BACKWARD, inputs.tensors()),
    };
    let inputs = inputs.map_err(|error| failed(&error))?;
    let beside = beside(&image, backward).map_err(|error| failed(&error))?;
    let oracle = Box::new(OnImage { stage: image, of, kernel });
    let mut job = Job::new(of, inputs, lanes, oracle).map_err(|error| failed(&error))?;
    for (name, tensor) in beside.iter() {
        job.inputs.insert(name.to_owned(), tensor.clone());
    }
    Ok(job)
}

/// What the kernel is given beside the stage's inputs.
fn beside(stage: &ImageStage, backward: bool) -> Result<Tensors, splatcheck_gpu::ShapeError> {
    let [width, height] = stage.size;
    let mut all = Tensors::new();
    all.scalar("width", width);
    all.scalar("height", height);
    if backward {
        let (n, c) = (stage.gaussians.len(), stage.cameras.len());
        let forward = stage.mirror();
        let radii = forward.iter().flat_map(|camera| camera.radii.as_flattened().to_vec());
        let conics = forward.iter().flat_map(|camera| camera.conics.as_flattened().to_vec());
        all.array("radii", &[c, n, 2], Data::I32(radii.collect()))?;
        all.array("conics", &[c, n, 3], Data::F32(conics.collect()))?;
        let compensations = forward.iter().flat_map(|camera| camera.compensations.clone());
        let own = Tensor::Compensations.name();
        all.array(own, &[c, n], Data::F32(compensations.collect()))?;
        let gradients = stage.gradients.iter().flat_map(|camera| camera.v_opacities.clone());
        let own = Tensor::VCompensations.name();
        all.array(own, &[c, n], Data::F32(gradients.collect()))?;
        all.array("v_depths", &[c, n], Data::F32(vec![0.0; c * n]))?;
    }
    Ok(all)
}

/// The oracle of both stages.
#[derive(Debug)]
struct OnImage {
    stage: ImageStage,
    of: Stage,
    kernel: Kernel,
}

impl OnImage {
    /// What a conforming kernel may return of a stage, which may be a changed one.
    fn expected(&self, stage: &ImageStage, arithmetic: Arithmetic) -> Expectation {
        let all = match self.of == PROJECT {
            true => project_on_image(stage, arithmetic),
            false => project_backward_on_image(stage, arithmetic),
        };
        let of_opacities = self.kernel.compensations;
        let returned = |name: &str| match name {
            // Those of a kernel with the array lie in the opacities' place.
            OPACITIES => of_opacities == Compensations::InOpacities,
            // A fault may be that of an antialiased convention: the kernel has no array because of it.
            _ if name == Tensor::Compensations.name() => of_opacities.has_array(),
            _ => self.kernel.returns.contains(&name),
        };
        let names: Vec<_> = all.outputs().map(|output| output.name).collect();
        let left_out: Vec<_> = names.into_iter().filter(|name| !returned(name)).collect();
        let mut all = all.without(&left_out);
        if self.of == PROJECT
            && self.kernel.compensations.has_array()
            && !stage.convention.antialiased
        {
            all.rows.push(anything(stage.cameras.len(), stage.gaussians.len()));
        }
        all
    }
}

/// The compensations of a case without antialiasing: a kernel that returns the array may leave anything there.
fn anything(cameras: usize, gaussians: usize) -> Rows {
    let count = cameras * gaussians;
    let output = Output {
        name: Tensor::Compensations.name(),
        shape: vec![cameras, gaussians],
        bound: OutputBound::Interval(vec![(0.0, f64::INFINITY); count]),
    };
    Rows { count, outputs: vec![output], open: vec![true; count], ..Rows::default() }
}

impl Oracle for OnImage {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        self.expected(&self.stage, arithmetic)
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        let predict = move |stage: &ImageStage| self.expected(stage, run.arithmetic);
        match self.of == PROJECT {
            true => of_project_on_image(&self.stage, predict),
            false => of_project_backward_on_image(&self.stage, predict),
        }
    }
}

#[cfg(test)]
mod tests;
