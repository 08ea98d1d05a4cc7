//! As what a manifest's kernels are judged: their stage, which outputs they have, and the case as they see it.

use splatcheck_gpu::Stage;
use splatcheck_judge::io::Problem;
use splatcheck_judge::workload::{AnyCase, Workload};
use splatcheck_reference::splat::{Culling, Formulation};
use splatcheck_workloads::halves::Halves;
use splatcheck_workloads::layout::held::{not_held, roundings_of_meaning};
use splatcheck_workloads::layout::{Array, KernelKind, Tensor};
use splatcheck_workloads::splat::comparing;
use splatcheck_workloads::splat::formulated::{FormulationUse, judged_on_foreign, judged_rounded};
use splatcheck_workloads::splat::kernel_rules::Reach;
use splatcheck_workloads::splat::on_image::{Compensations, Kernel};
use splatcheck_workloads::splat::stage::RoundedInputs;
use splatcheck_workloads::splat::{ColorForms, Forms};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::types::{Argument, Manifest, Parameter, Start};

impl Manifest {
    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of its preset, where that is a file of the user's.
    #[must_use]
    pub fn preset(&self) -> Option<&str> {
        self.preset.as_deref()
    }

    /// The files of launches that have their own, each once.
    #[must_use]
    pub fn files(&self) -> BTreeSet<&str> {
        self.launches.iter().filter_map(|launch| launch.file.as_deref()).collect()
    }

    /// The parameters of all launches.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.launches.iter().flat_map(|launch| &launch.parameters)
    }

    /// The arrays of tensors, each as often as it is named.
    pub fn arrays(&self) -> impl Iterator<Item = (&Parameter, &Array)> {
        self.parameters().flat_map(|parameter| {
            let pointers = parameter.argument.pointers().into_iter();
            pointers.filter_map(Argument::array).map(move |array| (parameter, array))
        })
    }

    /// See [`roundings_of_meaning`].
    #[must_use]
    pub fn roundings_of_units(&self) -> u8 {
        roundings_of_meaning(self.arrays().map(|(_, array)| array))
    }

    /// The stage that its kernels stand in for, in a formulation.
    #[must_use]
    pub fn stage(&self, formulation: Formulation) -> Stage {
        self.kind.stage(formulation)
    }

    /// The tensors of its outputs.
    fn written(&self) -> impl Iterator<Item = Tensor> {
        let tensors = self.arrays().flat_map(|(_, array)| array.tensors());
        tensors.filter(|tensor| tensor.port(self.kind).is_some())
    }

    /// Whether its gradients are by the opacities' logits.
    fn is_by_logits(&self) -> bool {
        self.arrays().any(|(_, array)| array.holds(Tensor::VLogits))
    }

    /// Whether the sums of the magnitudes of `v_means2d` are among its gradients.
    fn has_magnitudes(&self) -> bool {
        self.arrays().any(|(_, array)| array.holds(Tensor::VMeans2dAbs))
    }

    /// Why its outputs cannot be judged: one that no parameter holds, or only in part. Of the backward
    /// rasterization all are needed; kernels of the other stages differ in what they return.
    #[must_use]
    pub fn not_judged(&self) -> Option<Problem> {
        let arrays = || self.arrays().map(|(_, array)| array);
        let advice = "name it (tensor or fields), or run with --observe-only, without an oracle";
        let missing = |tensor: Tensor| Problem::new(tensor.name(), "held by no parameter", advice);
        let always: &[Tensor] = match self.kind {
            KernelKind::ProjectOnImage if arrays().any(|array| array.holds(Tensor::Radius)) => {
                &[Tensor::Radius, Tensor::ProjectedMeans2d, Tensor::ProjectedConics]
            }
            KernelKind::ProjectOnImage => {
                &[Tensor::Radii, Tensor::ProjectedMeans2d, Tensor::ProjectedConics]
            }
            KernelKind::ProjectOnImageBackward => {
                &[Tensor::VMeans, Tensor::VQuats, Tensor::VScales]
            }
            _ => &[],
        };
        if let Some(tensor) = not_held(arrays(), always, self.channels) {
            return Some(missing(tensor));
        }
        if self.kind == KernelKind::RasterizeBackward {
            let by = |tensor| match tensor {
                Tensor::VOpacities if self.is_by_logits() => Tensor::VLogits,
                other => other,
            };
            let magnitudes = self.has_magnitudes().then_some(Tensor::VMeans2dAbs);
            let all: Vec<_> = Tensor::OUTPUTS.map(by).into_iter().chain(magnitudes).collect();
            return not_held(arrays(), &all, self.channels).map(missing);
        }
        if self.written().next().is_none() {
            let outputs = self.stage(Formulation::STANDARD).spec().outputs;
            let names: Vec<_> = outputs.iter().map(|port| port.name).collect();
            let value = format!("held by no parameter, none of {}", names.join(", "));
            return Some(Problem::new("an output", value, advice));
        }
        // Of two arrays of an output both are.
        let parts = [Tensor::VShDc, Tensor::VShRest];
        let held = parts.map(|part| self.written().any(|tensor| tensor == part));
        if held[0] != held[1] {
            return Some(missing(parts[usize::from(held[0])]));
        }
        // One radius says of a Gaussian whether it is there.
        let whole = self.written().filter(|tensor| *tensor != Tensor::Radii).collect::<Vec<_>>();
        let part = not_held(arrays(), &whole, self.channels)?;
        Some(Problem::new(part.name(), "held in part", "name its other numbers too"))
    }

    /// The outputs of the stage that no parameter holds, which are not compared.
    #[must_use]
    pub fn left_out(&self) -> Vec<&'static str> {
        let held: Vec<_> = self.written().filter_map(|t| Some(t.port(self.kind)?.0)).collect();
        let outputs = self.stage(Formulation::STANDARD).spec().outputs.iter();
        outputs.map(|port| port.name).filter(|name| !held.contains(name)).collect()
    }

    /// What is not compared, in words; nothing where all is.
    #[must_use]
    pub fn left_out_in_words(&self) -> Option<String> {
        let names = self.left_out();
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        Some(format!("NOT EXERCISED: {names}: no parameter of the manifest holds it"))
    }

    /// Its arrays that have 16 bits a number.
    #[must_use]
    pub fn halves(&self) -> Halves {
        let mut halves = Halves::default();
        for parameter in self.parameters() {
            for argument in parameter.argument.pointers() {
                let Some(array) =
                    argument.array().filter(|one| one.meaning.stored.half().is_some())
                else {
                    continue;
                };
                let stored = array.meaning.stored;
                for tensor in array.tensors() {
                    match tensor.port(self.kind) {
                        Some((port, _)) => halves.outputs.push((port, stored)),
                        None => halves.inputs.push((tensor.name(), stored.float)),
                    }
                }
                // What an output is added to lies in the same buffer.
                if let Argument::Output(_, Start::Input(port)) = argument {
                    halves.inputs.push((port.name, stored.float));
                }
            }
        }
        halves.inputs.sort_unstable_by_key(|(name, float)| (*name, *float as u8));
        halves.inputs.dedup();
        halves.outputs.dedup();
        halves
    }

    /// A case as its kernels are judged on it: by what is built into them, in a formulation, and by the
    /// outputs that they have.
    ///
    /// # Errors
    /// [`FormulationUse`].
    pub fn judged(
        &self,
        case: &AnyCase,
        formulation: Formulation,
    ) -> Result<AnyCase, FormulationUse> {
        if let KernelKind::Of(stage) = self.kind {
            let fitted = self.workload().and_then(|all| all.fitted(case, stage, &self.built_in));
            let case = fitted.unwrap_or_else(|| AnyCase::clone(case));
            let case = comparing::in_halves(case, self.halves());
            return Ok(comparing::without(case, &self.left_out()));
        }
        let reach = if self.kind.projects() { Reach::All } else { Reach::Raster };
        let ruled = self.rules.applied_to(case, reach);
        if self.kind.knows_the_image() {
            let tensors: Vec<_> = self.arrays().flat_map(|(_, array)| array.tensors()).collect();
            let culling = match self.rules.tile_size {
                None => Culling::Pixels,
                Some(_) => Culling::Tiles,
            };
            let counted = (self.projection_roundings, culling);
            let kernel = Kernel::of(self.kind, &tensors, Compensations::Always, counted)
                .given(self.arrays().map(|(_, array)| array));
            return Ok(self.with_clamped(comparing::on_image(judged_on_foreign(ruled), kernel)));
        }
        let halves = self.halves();
        let rounded = RoundedInputs::new(&halves.inputs);
        let judged = match self.kind.has_formulations() {
            true if self.is_by_logits() => {
                comparing::by_logits(judged_rounded(&ruled, formulation, rounded)?)
            }
            true => judged_rounded(&ruled, formulation, rounded)?,
            // Of the others the forward rasterization alone has inputs in 16 bits, and roundings.
            false if self.kind.counts_roundings() => {
                let extra = formulation.extra_roundings();
                let counted = Formulation::STANDARD.with_extra_roundings(extra);
                let judged = judged_rounded(&ruled, counted, rounded)?;
                comparing::without(judged, &self.left_out())
            }
            false => {
                comparing::without(self.with_clamped(judged_on_foreign(ruled)), &self.left_out())
            }
        };
        let judged = match self.has_magnitudes() {
            true => comparing::with_magnitudes(judged),
            false => judged,
        };
        let judged = comparing::in_halves(judged, halves);
        Ok(if self.all_views { comparing::all_views(judged) } else { judged })
    }

    /// The case, with the flags of clamped colours where its kernels return them.
    fn with_clamped(&self, case: AnyCase) -> AnyCase {
        match self.written().any(|tensor| tensor == Tensor::Clamped) {
            true => comparing::with_clamped(case),
            false => case,
        }
    }

    /// The workload that its cases are of.
    fn workload(&self) -> Option<Arc<dyn Workload>> {
        splatcheck_workloads::find(self.kind.workload()).ok()
    }

    /// Whether its kernels are for a case: for its form of colours, or in another workload than splats with what
    /// is built into them.
    #[must_use]
    pub fn takes(&self, case: &AnyCase) -> bool {
        match self.kind {
            KernelKind::Of(stage) => {
                self.workload().is_some_and(|all| all.is_for(case, stage, &self.built_in))
            }
            _ => self.forms().has(case),
        }
    }

    /// Which cases of splats its kernels take.
    #[must_use]
    pub fn forms(&self) -> Forms {
        Forms { colors: self.color_forms(), cameras: self.cameras }
    }

    /// Which forms of colours its kernels take. A kernel that has no part in them takes direct ones: by
    /// harmonics the gradients of a Gaussian's mean have a part that comes through its colour.
    #[must_use]
    pub fn color_forms(&self) -> ColorForms {
        let names = |wanted: &[Tensor]| {
            let mut tensors = self.arrays().flat_map(|(_, array)| array.tensors());
            tensors.any(|tensor| wanted.contains(&tensor))
        };
        let both = names(&[Tensor::ColorsOrSh]);
        let [direct, harmonics] =
            [&[Tensor::Colors][..], &Tensor::HARMONICS].map(|form| both || names(form));
        // One that takes both and returns the gradients of one is judged on the cases that have it.
        let either = names(&[Tensor::VColorsOrSh]);
        let returned = [&[Tensor::VColors][..], &Tensor::HARMONIC_GRADIENTS];
        let returned = returned.map(|form| either || names(form));
        let as_given = self.kind.returns_colors_as_given();
        let (direct, harmonics) = match (as_given, direct && harmonics, returned) {
            (true, true, [true, false]) => (true, false),
            (true, true, [false, true]) => (false, true),
            (_, _, _) => (direct, harmonics),
        };
        match (self.kind, direct, harmonics) {
            _ if !self.kind.projects() => ColorForms::Both,
            (_, false, true) => ColorForms::Harmonics,
            (_, true, false) | (KernelKind::ProjectBackward, false, false) => ColorForms::Direct,
            (KernelKind::ProjectOnImageBackward, false, false)
                if names(&[Tensor::VProjectedColors]) =>
            {
                ColorForms::Direct
            }
            // It has no part in them.
            (_, false, false) | (_, true, true) => ColorForms::Both,
        }
    }

    /// Why a kernel that takes these arrays is not of a formulation.
    #[must_use]
    pub fn not_of(&self, formulation: Formulation) -> Option<Problem> {
        for (parameter, array) in self.arrays() {
            for tensor in array.tensors() {
                if let Some(advice) = tensor.not_given_in(formulation) {
                    let value =
                        format!("{}, which formulation {formulation} is not given", tensor.name());
                    let problem = Problem::new(parameter.place.as_str(), value, advice);
                    return Some(problem.at_line(parameter.line));
                }
            }
        }
        None
    }
}
