//! A case: one scene with its convention, and why it exists.

use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::workload::{AnyCase, CaseId};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::scene::Scene;
use splatcheck_reference::splat::{Colors, Gaussians};

/// One scene to judge kernels on. All values are f32, exactly those in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Short name, unique in its corpus.
    pub name: String,
    /// Where it was drawn; `None` for a case that was read.
    pub id: Option<CaseId>,
    /// One line: what the case is there to catch.
    pub purpose: String,
    /// The hazards that it aims at.
    pub hazards: Vec<Hazard>,
    /// The renderer's convention.
    pub convention: Convention,
    /// The numbers.
    pub scene: Scene<f32>,
}

impl Case {
    /// A case without a name: whoever draws it says what it is called and what for.
    pub(super) fn unnamed(convention: Convention, scene: Scene<f32>) -> Self {
        let (name, purpose) = (String::new(), String::new());
        Self { name, id: None, purpose, hazards: Vec::new(), convention, scene }
    }
}

/// The Gaussians with these numbers, in that order.
///
/// # Panics
/// For a number that is not there.
#[must_use]
pub fn only(gaussians: &Gaussians<f32>, ids: &[usize]) -> Gaussians<f32> {
    let Gaussians { means, quats, scales, opacities, colors } = gaussians;
    let stride = colors.stride();
    let values: Vec<f32> = ids
        .iter()
        .flat_map(|&id| colors.values()[id * stride..(id + 1) * stride].iter().copied())
        .collect();
    let colors: Colors<f32> = colors.with_values(values);
    Gaussians {
        means: ids.iter().map(|&id| means[id]).collect(),
        quats: ids.iter().map(|&id| quats[id]).collect(),
        scales: ids.iter().map(|&id| scales[id]).collect(),
        opacities: ids.iter().map(|&id| opacities[id]).collect(),
        colors,
    }
}

/// The splat case that a campaign holds; `None` for a case of another workload.
#[must_use]
pub fn splat_case(case: &AnyCase) -> Option<&Case> {
    case.as_any().downcast_ref()
}
