//! The ways in which splat cases differ: the convention and each of its fields, what colours are made
//! of, cameras and their lenses, every comparison of the oracle with its sides, and sizes.

mod fields;
mod sizes;

use super::case::Case;
use crate::case_space::{Axis, Traits, Value, Wanted};
use splatcheck_gpu::stages::splat::MAX_CHANNELS;
use splatcheck_reference::splat::decisions::{Decision, decisions};
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{Colors, TooManyPairs};

const COLORS: &str = "colours";
const CAMERAS: &str = "cameras";
const LENSES: &str = "lenses of several cameras";

/// Most cameras that are wanted: a loop over them has had a first, a middle and a last one.
const MOST_CAMERAS: usize = 4;

/// Every way in which cases differ.
pub(super) fn axes() -> Vec<Axis> {
    let mut axes = fields::axes();
    let mut colors = Axis::new(COLORS, (0..4).map(degree));
    colors.values.extend((1..=MAX_CHANNELS).map(direct));
    axes.push(colors);
    axes.push(Axis::new(CAMERAS, 1..=MOST_CAMERAS));
    axes.push(Axis::new(LENSES, ["the same", "its own each"]));
    axes.extend(Decision::all().into_iter().map(|decision| {
        Axis::new(decision.to_string(), decision.sides().iter().map(|side| side.name()))
    }));
    axes.extend(sizes::axes());
    axes
}

/// Colours that are given as numbers. Up to 7 they are every remainder of the numbers of values by four,
/// which `block` adds up at a time.
fn direct(channels: u32) -> Value {
    let wanted = match channels {
        1..=5 | 7 | MAX_CHANNELS => Wanted::Always,
        _ => Wanted::InCampaigns("every number of channels is kernels of its own to compile"),
    };
    Value { name: format!("D = {channels}"), wanted }
}

fn degree(degree: usize) -> String {
    format!("degree {degree}")
}

/// What the view of one camera has; what all cameras share belongs to the first.
///
/// # Errors
/// [`TooManyPairs`].
pub(super) fn traits(case: &Case, camera: usize) -> Result<Traits, TooManyPairs> {
    let convention = case.convention.rounded_to_f32();
    let projected = project_scene(&case.scene, camera, &convention)?;
    let mut traits = Traits::new();
    for (decision, side) in decisions(&case.scene, camera, &convention, &projected) {
        traits.insert((decision.to_string(), side.name().to_owned()));
    }
    sizes::of_view(&projected.lists, &mut traits);
    if camera == 0 {
        fields::of(&case.convention, &mut traits);
        sizes::of_scene(&case.scene, &mut traits);
        scene(case, &mut traits);
    }
    Ok(traits)
}

fn scene(case: &Case, traits: &mut Traits) {
    let scene = &case.scene;
    let colors = match &scene.gaussians.colors {
        Colors::Direct { channels, .. } => format!("D = {channels}"),
        Colors::Harmonics { coefficients, .. } => degree(coefficients.isqrt() - 1),
    };
    traits.insert((COLORS.to_owned(), colors));
    traits.insert((CAMERAS.to_owned(), scene.cameras.len().to_string()));
    if let [first, others @ ..] = &scene.cameras[..]
        && !others.is_empty()
    {
        let lens = |camera: &splatcheck_reference::splat::Camera<f32>| {
            [camera.fx, camera.fy, camera.cx, camera.cy]
        };
        let same = others.iter().all(|other| lens(other) == lens(first));
        let lenses = if same { "the same" } else { "its own each" };
        traits.insert((LENSES.to_owned(), lenses.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::splat::generators::draw;
    use splatcheck_reference::splat::convention::Profile;
    use splatcheck_reference::splat::decisions::Side;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_what_cases_have_is_on_an_axis() {
        let axes = axes();
        let names: BTreeSet<_> = axes.iter().map(|axis| &axis.name).collect();
        assert_eq!(names.len(), axes.len(), "two axes have one name");
        for index in 0..40 {
            let case = draw(Profile::Gsplat, 3, index).current();
            for (axis, value) in traits(&case, 0).expect("few pairs") {
                let axis = axes.iter().find(|one| one.name == axis).expect("an axis");
                // Equality is no wanted side of every comparison, but it happens.
                let known = axis.values.iter().any(|one| one.name == value);
                assert!(known || value == Side::At.name(), "{}: {value}", axis.name);
            }
        }
    }
}
