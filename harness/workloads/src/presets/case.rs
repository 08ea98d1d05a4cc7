//! A case whose kernel is a preset's: it is written with the preset, so that a reproducer is read by the
//! same names and layouts.

use super::Preset;
use crate::layout::{KernelKind, Tensor};
use crate::splat::comparing::{expected_by_logits, expected_with_magnitudes};
use crate::splat::level::Level;
use crate::splat::on_image::{self, Compensations, Kernel};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::{Stage, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::InputError;
use splatcheck_judge::workload::{AnyCase, Case, CaseError, CaseId, Job, Notes};
use splatcheck_reference::splat::Culling;
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

/// The case with its preset; all else is as it was.
pub(crate) fn of_preset(case: AnyCase, preset: &Arc<Preset>) -> AnyCase {
    Arc::new(OfPreset { case, preset: Arc::clone(preset) })
}

#[derive(Clone, Debug)]
struct OfPreset {
    case: AnyCase,
    preset: Arc<Preset>,
}

impl OfPreset {
    /// The kernel of a projection that is given the size of the image, where the preset has the level.
    fn projection(&self, stage: Stage) -> Option<Kernel> {
        let level = Level::of(stage)?;
        let interface = self.preset.interface(level).ok()?;
        let kind = KernelKind::from(level);
        let tensors: Vec<_> = interface.tensors().collect();
        let counted = (interface.extra_roundings, Culling::Pixels);
        let kernel = Kernel::of(kind, &tensors, Compensations::Antialiased, counted);
        Some(kernel.given(interface.arrays()))
    }
}

impl Case for OfPreset {
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
        let jobs = on_image::jobs(&self.case, view, wanted, |stage| self.projection(stage))?;
        let has = |job: &Job, tensor| {
            Level::of(job.stage) == Some(Level::Raster)
                && self.preset.interface(Level::Raster).is_ok_and(|arrays| arrays.has(tensor))
        };
        let judged = |job: Job| {
            let [logits, magnitudes] =
                [Tensor::VLogits, Tensor::VMeans2dAbs].map(|tensor| has(&job, tensor));
            let job = if logits { job.expecting(expected_by_logits) } else { job };
            if magnitudes { job.expecting(expected_with_magnitudes) } else { job }
        };
        Ok(jobs.into_iter().map(judged).collect())
    }

    fn views_of(&self, stage: Stage) -> usize {
        self.case.views_of(stage)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn describe(&self, stage: Stage, view: usize) -> String {
        format!("{}, preset {}", self.case.describe(stage, view), self.preset.name())
    }

    fn forward_of(&self, stage: Stage) -> Option<Stage> {
        self.case.forward_of(stage)
    }

    fn after(&self, view: usize, outputs: &Tensors) -> Option<AnyCase> {
        Some(of_preset(self.case.after(view, outputs)?, &self.preset))
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        of_preset(self.case.renamed(name, id), &self.preset)
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let with = |case: &AnyCase| of_preset(Arc::clone(case), &self.preset);
        with(&Arc::clone(&self.case).smaller(&mut |case| fails(&with(case))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        let mut notes = notes.clone();
        self.preset.note(&mut notes);
        self.case.write(path, &notes)
    }

    fn as_any(&self) -> &dyn Any {
        self.case.as_any()
    }
}
