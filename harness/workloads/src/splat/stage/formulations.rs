//! Which formulation of the oracle each stage of the table has.

use splatcheck_emulator::FloatType;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::{
    RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_BUFFER, RASTERIZE_BACKWARD_BUFFER_FLOOR,
    RASTERIZE_BACKWARD_IMAGE, RASTERIZE_BACKWARD_IMAGE_DIRECT, RASTERIZE_BACKWARD_REPLAY,
    RASTERIZE_BACKWARD_STATE,
};
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::formulation::NAMED;

/// A stage of the backward rasterization and the formulation that its kernels have.
pub type Judged = (Stage, Formulation);

/// The inputs that may be so. What the forward pass leaves is computed from them.
pub(super) const NAMES: [&str; 7] = [
    "means2d",
    "conics",
    "opacities",
    "colors",
    "background",
    "v_render_colors",
    "v_render_alphas",
];

/// Which of the inputs of rasterizations a kernel has in which type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundedInputs(pub(super) [FloatType; NAMES.len()]);

impl RoundedInputs {
    /// Whether an input may be so.
    #[must_use]
    pub fn may_be(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// These types of these inputs; other names say nothing.
    #[must_use]
    pub fn new(inputs: &[(&str, FloatType)]) -> Self {
        Self(NAMES.map(|name| {
            let found = inputs.iter().find(|(known, _)| *known == name);
            found.map_or(FloatType::F32, |(_, float)| *float)
        }))
    }
}

/// As what the backward rasterization is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgedAs {
    /// The formulation of the stage whose arrays that has; the other stages are judged in their own.
    pub formulation: Formulation,
    /// Whether that stage's kernel may also return the image that it renders of its inputs.
    pub with_image: bool,
    /// Whether the kernel is a user's, which may have any standard derivation of the projection.
    pub foreign: bool,
    /// Which inputs of the rasterizations the kernel has in 16 bits.
    pub rounded: RoundedInputs,
}

impl From<Formulation> for JudgedAs {
    fn from(formulation: Formulation) -> Self {
        Self { formulation, ..Self::default() }
    }
}

/// This project's own.
pub const STANDARD: Judged = (RASTERIZE_BACKWARD, Formulation::STANDARD);

/// The stages of `rasterize_backward` in other formulations, by the named set that each has.
pub const FORMULATED: [Judged; 6] = [
    (RASTERIZE_BACKWARD_BUFFER, named("gsplat-1.5")),
    (RASTERIZE_BACKWARD_BUFFER_FLOOR, named("gsplat-main")),
    (RASTERIZE_BACKWARD_STATE, named("slang")),
    (RASTERIZE_BACKWARD_IMAGE, named("brush")),
    (RASTERIZE_BACKWARD_IMAGE_DIRECT, named("taichi")),
    (RASTERIZE_BACKWARD_REPLAY, named("fastgs")),
];

/// The named set; one that does not exist stops the compiler.
const fn named(name: &str) -> Formulation {
    let mut at = 0;
    while at < NAMED.len() {
        if same(NAMED[at].name.as_bytes(), name.as_bytes()) {
            return NAMED[at].formulation;
        }
        at += 1;
    }
    panic!("there is no such formulation")
}

/// Whether two names are the same, for the compiler.
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_reference::splat::formulation::WalkOrder;

    #[test]
    fn every_stage_that_is_a_formulation_has_one() {
        let standard = RASTERIZE_BACKWARD.name;
        let formulated = |stage: &Stage| stage.text.formulation_of == Some(standard);
        let stages: Vec<_> = Stage::all().filter(formulated).collect();
        assert_eq!(stages, FORMULATED.map(|(stage, _)| stage), "in the order of the table");
    }

    /// The constants that the kernels are compiled with say the same as the oracle's fields.
    #[test]
    fn the_kernels_are_compiled_as_the_formulation_says() {
        for (stage, formulation) in [STANDARD].into_iter().chain(FORMULATED) {
            let spelled = |name: &str| name.to_uppercase().replace('-', "_");
            let floor = match formulation.floor().name() {
                "none" => "0.0f".to_owned(),
                least => format!("{least}f"),
            };
            let expected = [
                ("REMAINDER", spelled(formulation.remainder().name())),
                ("FINAL_T", spelled(formulation.final_t().name())),
                ("DIVIDE", spelled(formulation.divide().name())),
                ("FLOOR_1_MINUS_ALPHA", floor),
            ];
            let compiled =
                stage.text.constants.iter().map(|(name, value)| (*name, (*value).to_owned()));
            assert!(compiled.eq(expected), "{stage}: {:?}", stage.text.constants);
            let named = stage.text.formulation().expect("it has several");
            assert_eq!(named.parse(), Ok(formulation), "{stage}: {named}");
            let front = formulation.walk() == WalkOrder::Front;
            assert_eq!(front, stage.reads("render_colors"), "{stage} walks as its inputs allow");
        }
    }
}
