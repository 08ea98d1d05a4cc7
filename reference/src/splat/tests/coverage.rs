//! Every backward stage has each kind of check that the oracle is believed for.

use super::{containment, derivative, finite_difference, identity, projection_containment};
use std::collections::BTreeSet;

/// The tests that fail where a stage is wrong: one of each kind is needed.
struct Coverage {
    /// The stage alone against [`crate::arithmetic::Dual`] through its forward code.
    dual: fn(),
    /// Against differences of the loss.
    differences: fn(),
    /// An identity that its gradients obey.
    identity: fn(),
    /// Perturbed f32 evaluations inside the bounds.
    containment: fn(),
}

/// By the name of the stage's file.
const COVERAGE: [(&str, Coverage); 2] = [
    (
        "project",
        Coverage {
            dual: derivative::backward_stages_are_the_derivatives_of_their_forward_stages,
            differences: finite_difference::gradients_are_the_differences_of_a_smooth_loss,
            identity: identity::scaling_the_world_scales_gradients_inversely,
            containment: projection_containment::perturbed_wgsl_projections_stay_within_bounds,
        },
    ),
    (
        "rasterize",
        Coverage {
            dual: derivative::backward_stages_are_the_derivatives_of_their_forward_stages,
            differences: finite_difference::gradients_are_the_differences_between_jumps,
            identity: identity::colour_and_background_gradients_sum_to_the_loss_gradient,
            containment: containment::perturbed_wgsl_evaluations_stay_within_bounds,
        },
    ),
];

/// The files of `backward`.
fn stages() -> BTreeSet<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/splat/backward");
    let files = std::fs::read_dir(folder).expect("the folder of the backward stages");
    files
        .map(|file| file.expect("a file").path())
        .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
        .filter(|name| !name.ends_with("_tests"))
        .collect()
}

#[test]
fn every_backward_stage_has_every_kind_of_check() {
    let covered: BTreeSet<String> = COVERAGE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stages(), covered, "a backward stage is not in the table of checks");
    let dual = derivative::STAGES.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(stages(), dual.collect(), "a backward stage has no check against Dual");
    for (stage, Coverage { dual, differences, identity, containment }) in COVERAGE {
        let kinds = BTreeSet::from([dual, differences, identity, containment].map(|f| f as usize));
        assert_eq!(kinds.len(), 4, "{stage}: one test cannot be of two kinds");
    }
}
