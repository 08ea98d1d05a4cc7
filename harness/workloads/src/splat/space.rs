//! The ways in which splat cases differ: the convention and each of its fields, what colours are made
//! of, cameras and their lenses, backgrounds and the other inputs, every comparison of the oracle with its
//! sides, and sizes.

mod fields;
mod inputs;
mod sizes;

use super::case::Case;
use splatcheck_gpu::stages::splat::MAX_CHANNELS;
use splatcheck_judge::case_space::{Axis, Traits, Value, Wanted};
use splatcheck_reference::splat::decisions::{Decision, Side, decisions};
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{Colors, TooManyPairs};

const COLORS: &str = "colours";
const CAMERAS: &str = "cameras";

/// Most cameras that are wanted one by one: a loop over them has had a first, a middle and a last one.
const MOST_CAMERAS: usize = 4;
/// Why the numbers of channels and of cameras have no pairs of their own.
const IN_CLASSES: Wanted = Wanted::Nowhere("classes of them are in pairs");

/// Every way in which cases differ.
pub(super) fn axes() -> Vec<Axis> {
    let mut axes = fields::axes();
    let mut colors = Axis::new(COLORS, (0..4).map(degree));
    colors.values.extend((1..=MAX_CHANNELS).map(direct));
    axes.push(colors.paired(IN_CLASSES));
    axes.push(Axis::new(CAMERAS, 1..=MOST_CAMERAS).paired(IN_CLASSES));
    axes.extend(inputs::axes());
    axes.extend(Decision::all().into_iter().map(sides));
    axes.extend(sizes::axes());
    axes
}

/// The sides of a comparison.
fn sides(decision: Decision) -> Axis {
    let side = |side: &Side| {
        let mut value = Value::new(side.name());
        value.pairs = alone(decision, *side).map_or(Wanted::Always, Wanted::Nowhere);
        let tiles = match (decision, side) {
            (Decision::FirstTile(axis), Side::Above) | (Decision::EndTile(axis), Side::Below) => {
                Some((inputs::TILES[axis].to_owned(), vec![inputs::SEVERAL.to_owned()]))
            }
            _ => None,
        };
        value.needs.extend(tiles);
        value
    };
    let axis =
        Axis { name: decision.to_string(), values: decision.sides().iter().map(side).collect() };
    match fields::of_decision(decision) {
        Some((field, values)) => axis.only_with(field, values),
        None if matches!(decision, Decision::Color(_)) => {
            axis.only_with(inputs::COLOR, &inputs::DEGREES)
        }
        None => axis,
    }
}

/// Why a side of a comparison is not wanted together with everything else.
fn alone(decision: Decision, side: Side) -> Option<&'static str> {
    match (decision, side) {
        (_, Side::At) => Some("equality takes a scene made for it"),
        (Decision::Determinant | Decision::SharpDeterminant, Side::Below)
        | (Decision::Power, Side::Above) => Some("roundings alone bring a number there"),
        _ => None,
    }
}

/// Colours that are given as numbers. Up to 7 they are every remainder of the numbers of values by four,
/// which `block` adds up at a time.
fn direct(channels: u32) -> Value {
    let wanted = match channels {
        1..=5 | 7 | MAX_CHANNELS => Wanted::Always,
        _ => Wanted::InCampaigns("every number of channels is kernels of its own to compile"),
    };
    Value { wanted, ..Value::new(format!("D = {channels}")) }
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
    inputs::of(scene, traits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::generators::draw;
    use rayon::prelude::*;
    use splatcheck_judge::case_space::{CaseSpace, Run};
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::workload::{Workload as _, views};
    use splatcheck_reference::splat::convention::Profile;
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
                // Equality is no wanted side of every comparison, but it happens, and cameras have no end.
                let known = axis.values.iter().any(|one| one.name == value);
                let beyond = value == Side::At.name() || axis.name == CAMERAS;
                assert!(known || beyond, "{}: {value}", axis.name);
            }
        }
    }

    #[test]
    fn the_main_job_has_every_value_and_every_pair() {
        let splat = crate::splat::Splat::default();
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let corpus = splat.read_corpus(&corpus).expect("it is readable");
        let drawn = (0..200).map(|index| splat.random(0, index).current());
        let views: Vec<_> = views(corpus.cases.into_iter().chain(drawn)).collect();
        let traits = views.par_iter().map(|(case, view)| case.traits(*view).expect("few pairs"));
        let mut space = CaseSpace::default();
        traits.collect::<Vec<_>>().into_iter().for_each(|traits| space.add(traits));
        let axes = axes();
        let missing = space.holes(&axes, Run::MainJob);
        assert!(missing.is_empty(), "{missing:?}");
        let apart = space.pair_holes(&axes, Run::MainJob);
        assert!(apart.is_empty(), "{} pairs: {apart:#?}", apart.len());
    }
}
