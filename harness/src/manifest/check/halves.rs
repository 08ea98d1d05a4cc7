//! Arrays of floats that have 16 bits a number.

use super::Check;
use crate::manifest::text;
use crate::manifest::types::{Language, Manifest};
use splatcheck_emulator::FloatType;
use splatcheck_gpu::Dtype;
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::floats::{self, Stored};
use splatcheck_workloads::layout::written::At;
use splatcheck_workloads::layout::{Array, Field, KernelKind, Tensor};
use splatcheck_workloads::rounded_cases::{is_sum_of_lane, may_be_rounded};
use splatcheck_workloads::splat::stage::RoundedInputs;

impl Check<'_> {
    /// How an array lies in memory: its `dtype`, and of a sum its `depth`.
    pub(super) fn stored(
        &self,
        written: &text::Parameter,
        array: &Array,
        at: &At,
    ) -> Result<Stored, Problem> {
        let float = written.dtype.as_deref().map_or(Ok(FloatType::F32), |name| {
            let advice = "expected 'f32', 'f16' or 'bf16'";
            floats::named(name).ok_or_else(|| at.key("dtype").problem(&quoted(name), advice))
        })?;
        if float != FloatType::F32 {
            self.has_halves(written, array, &at.key("dtype"))?;
        }
        let stage = self.kind.stage(Formulation::STANDARD);
        let adds = |tensor: Tensor| self.is_sum(tensor) || is_sum_of_lane(stage, tensor.name());
        let is_sum = float != FloatType::F32 && array.tensors().any(adds);
        match written.depth {
            Some(_) if !is_sum => {
                let advice =
                    "it counts the roundings of an output that is a sum and is in f16 or bf16";
                Err(at.key("depth").problem("given", advice))
            }
            Some(0) => Err(at.key("depth").problem("0", "a number that is stored is rounded once")),
            depth => Ok(Stored { float, depth }),
        }
    }

    /// Refuses what has no bound in 16 bits.
    fn has_halves(&self, written: &text::Parameter, array: &Array, at: &At) -> Result<(), Problem> {
        let name = array.name();
        let refused = |advice: &str| {
            let word = written.dtype.as_deref().unwrap_or_default();
            Err(at.problem(&format!("{} for {name}", quoted(word)), advice))
        };
        match (self.language, self.kind) {
            (Language::Wgsl, _) => return refused("of kernels in WGSL every array has 32 bits"),
            (
                Language::Ptx,
                KernelKind::Rasterize | KernelKind::RasterizeBackward | KernelKind::Of(_),
            ) => {}
            (
                Language::Ptx,
                KernelKind::Project
                | KernelKind::ProjectBackward
                | KernelKind::Full
                | KernelKind::ProjectOnImage
                | KernelKind::ProjectOnImageBackward,
            ) => {
                return refused("projections are judged in f32 alone");
            }
        }
        if array.dtype() != Dtype::F32 {
            return refused("it holds whole numbers");
        }
        if array.holds(Tensor::VMeans2dAbs) {
            return refused("sums of magnitudes are judged in f32 alone");
        }
        let meaning = array.meaning;
        if meaning.ndc || meaning.half_off_diagonal || meaning.folded {
            return refused("not beside units, off_diagonal or background");
        }
        if array.fields.iter().any(|field| matches!(field, Field::Component(..))) {
            return refused("a part of a tensor has 32 bits: name the whole tensor, without '.'");
        }
        let mut tensors = array.tensors();
        if array.is_written() {
            let adds = written.role.as_deref() == Some("accumulate");
            if adds && { tensors }.any(|tensor| !self.is_sum(tensor)) {
                return refused("the stage does not sum it, so no bound holds additions to it");
            }
            return Ok(());
        }
        let may_be = |tensor: Tensor| match self.kind {
            KernelKind::Of(stage) => may_be_rounded(stage, tensor.name()),
            KernelKind::Rasterize
            | KernelKind::RasterizeBackward
            | KernelKind::Project
            | KernelKind::ProjectBackward
            | KernelKind::Full
            | KernelKind::ProjectOnImage
            | KernelKind::ProjectOnImageBackward => RoundedInputs::may_be(tensor.name()),
        };
        match tensors.all(may_be) {
            true => Ok(()),
            false => {
                refused("its cases are not rounded: gradcheck judges kernels with such inputs")
            }
        }
    }

    /// Whether it is an output to which the stage's kernels add.
    fn is_sum(&self, tensor: Tensor) -> bool {
        let outputs = self.kind.stage(Formulation::STANDARD).spec().outputs;
        let port = tensor.port(self.kind).map(|(name, _)| name);
        outputs.iter().any(|one| Some(one.name) == port && one.role.accumulates())
    }

    /// An input is rounded to one type.
    pub(super) fn halves(manifest: &Manifest) -> Result<(), Problem> {
        let inputs = manifest.halves().inputs;
        let twice = inputs.windows(2).find(|pair| pair[0].0 == pair[1].0);
        let Some([(name, one), (_, other)]) = twice else { return Ok(()) };
        let value = format!("{} and {}", floats::word(*one), floats::word(*other));
        let advice = "a case is rounded to one of them: let a launch convert the rounded numbers to the other";
        Err(Problem::new(format!("dtype of {name}"), value, advice))
    }
}
