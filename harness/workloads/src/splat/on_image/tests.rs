use super::super::contract::{Contract, Level, diagnose_job, judge_job};
use super::super::files::corpus::read_any_case;
use super::*;
use crate::find;
use crate::presets::Preset;
use splatcheck_judge::io::source_tree::folder;
use splatcheck_judge::verdict::{Tally, Verdict};
use splatcheck_judge::workload::AnyCase;
use splatcheck_reference::arithmetic::Tristate;
use splatcheck_reference::splat::{CameraParams, project_on_image as project};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A contract of gsplat's projection.
fn contract(level: Level) -> Contract {
    let preset = Preset::find("gsplat-1.5").expect("it is there");
    Contract::of_preset(&preset, Some(level), (None, None)).expect("it has the level")
}

fn case(name: &str) -> AnyCase {
    let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
    Arc::new(read_any_case(&corpus.join(name), None).expect("a case"))
}

/// What a kernel returns that is right, in f32; numbers that it does not write are not a number. Without a
/// size it leaves nothing out for its place.
fn returned(contract: &Contract, case: &AnyCase, knows_the_size: bool) -> Tensors {
    let judged = contract.case(case).expect("splats");
    let scene = &splat_case(&judged).expect("splats").scene;
    let convention = splat_case(&judged).expect("splats").convention.rounded_to_f32();
    let (n, size) = (scene.gaussians.len(), [scene.width, scene.height]);
    let mut numbers: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
    let (mut visible, mut radii) = (Vec::new(), Vec::new());
    for camera in &scene.cameras {
        let lens = CameraParams::<f32>::new(camera, size, &convention);
        let border = knows_the_size.then_some((size, Culling::Pixels));
        let found = project(&scene.gaussians, &lens, &convention, border);
        for g in 0..n {
            let kept = found.kept[g] == Tristate::Always;
            visible.push(u32::from(kept));
            #[expect(clippy::cast_possible_truncation, reason = "it saturates, as a kernel's")]
            radii.extend(found.radii[g].map(|[radius, _]| if kept { radius as i32 } else { 0 }));
            let splats = &found.projections.splats;
            let mut add = |name, row: &[f32]| {
                let written = row.iter().map(|&x| if kept { x } else { f32::NAN });
                numbers.entry(name).or_default().extend(written);
            };
            add("means2d", &splats.means2d[g]);
            add("conics", &splats.conics[g]);
            add("depths", &[found.projections.depths[g]]);
            add("compensations", &[found.compensations[g]]);
        }
    }
    let c = scene.cameras.len();
    let mut outputs = Tensors::new();
    let mut add = |name: &'static str, sides: &[usize], data| {
        outputs.array(name, &[&[c, n], sides].concat(), data).expect("whole");
    };
    add("visible", &[], Data::U32(visible));
    add("radii", &[2], Data::I32(radii));
    let numbered =
        [("means2d", &[2][..]), ("conics", &[3]), ("depths", &[]), ("compensations", &[])];
    for (name, sides) in numbered {
        add(name, sides, Data::F32(numbers.remove(name).unwrap_or_default()));
    }
    outputs
}

fn judged(contract: &Contract, case: &AnyCase, outputs: &Tensors) -> Tally {
    let job = contract.job(case, 0).expect("a job");
    judge_job(contract, Arithmetic::CudaFast, &job, outputs).expect("whole")
}

/// Cases of the corpus and random ones that are for the preset's kernel, and each with a part of its image.
fn cases(contract: &Contract) -> Vec<AnyCase> {
    let splat = find("splat").expect("it is one");
    let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
    let random = (0..40).map(|index| splat.random(5, index).current());
    let all = splat.read_corpus(&corpus).expect("readable").cases.into_iter().chain(random);
    let own = all.filter(|case| contract.not_for(case).is_none());
    own.flat_map(|case| [part(&case), case]).collect()
}

/// The upper left of a case's image: half as wide, a third as high.
fn part(case: &AnyCase) -> AnyCase {
    let mut splats = splat_case(case).expect("splats").clone();
    let scene = &mut splats.scene;
    (scene.width, scene.height) = ((scene.width / 2).max(1), (scene.height / 3).max(1));
    let pixels = scene.pixels() * scene.cameras.len();
    scene.v_render_colors.truncate(pixels * scene.channels());
    scene.v_render_alphas.truncate(pixels);
    Arc::new(splats)
}

/// Gaussians lie on the image, at its border and beside it; a right kernel agrees, whatever it leaves where a
/// Gaussian is left out.
#[test]
fn a_projection_that_knows_the_size_agrees_and_every_kind_of_gaussian_is_met() {
    let contract = contract(Level::Project);
    let ([mut kept, mut culled, mut beside], mut compared) = ([0; 3], 0);
    for case in cases(&contract) {
        let outputs = returned(&contract, &case, true);
        let tally = judged(&contract, &case, &outputs);
        assert!(
            matches!(tally.verdict(), Verdict::Agree | Verdict::NotExercised),
            "{}: {tally:?}",
            case.name()
        );
        compared += tally.elements();
        let visible = outputs.u32("visible").expect("there");
        let anywhere = returned(&contract, &case, false);
        let anywhere = anywhere.u32("visible").expect("there");
        kept += visible.iter().filter(|&&visible| visible == 1).count();
        culled += anywhere.iter().filter(|&&visible| visible == 0).count();
        beside += visible.iter().zip(anywhere).filter(|&(&a, &b)| a != b).count();
    }
    println!("{kept} kept, {culled} culled, {beside} beside the image, {compared} elements");
    assert!(kept > 200 && culled > 20 && beside > 20 && compared > 2000, "every kind of them");
}

#[test]
fn a_kernel_that_does_not_know_the_size_is_found_and_explained() {
    let contract = contract(Level::Project);
    let case = case("behind-the-camera.toml");
    let wrong = returned(&contract, &case, false);
    let tally = judged(&contract, &case, &wrong);
    assert_eq!(tally.verdict(), Verdict::Disagree, "{tally:?}");
    let worst = tally.worst.expect("one is wrong");
    assert!(worst.output == "visible" || worst.output == "radii", "{worst}");
    let job = contract.job(&case, 0).expect("a job");
    let found = diagnose_job(&contract, Arithmetic::CudaFast, &job, (None, &wrong));
    let headline = found.expect("whole").expect("it disagrees").headline;
    assert!(headline.contains("Gaussians beside the image are not left out"), "{headline}");
    // A radius that is off by a pixel is a finding by itself.
    let mut off = returned(&contract, &case, true);
    let (shape, mut radii) = {
        let tensor = off.get("radii").expect("there");
        (tensor.shape().to_vec(), off.i32("radii").expect("there").to_vec())
    };
    let place = radii.iter().position(|&radius| radius > 0).expect("one is kept");
    radii[place] += 1;
    off.array("radii", &shape, Data::I32(radii)).expect("whole");
    let worst = judged(&contract, &case, &off).worst.expect("one is wrong");
    assert_eq!(worst.output, "radii", "{worst}");
}

/// The radii of an antialiased case are those of the compensated opacities, and the compensations are compared; of
/// another case they may be anything.
#[test]
fn compensations_are_compared_where_a_case_is_antialiased() {
    let contract = contract(Level::Project);
    let plain = case("two-cameras.toml");
    let mut splats = splat_case(&plain).expect("splats").clone();
    splats.convention.antialiased = true;
    let antialiased: AnyCase = Arc::new(splats);
    for (case, verdict) in [(&plain, Verdict::Agree), (&antialiased, Verdict::Disagree)] {
        let mut outputs = returned(&contract, case, true);
        assert_eq!(judged(&contract, case, &outputs).verdict(), Verdict::Agree, "right");
        let (shape, visible) = {
            let shape = outputs.get("compensations").expect("there").shape().to_vec();
            (shape, outputs.u32("visible").expect("there").to_vec())
        };
        let place = visible.iter().position(|&visible| visible == 1).expect("one is kept");
        let mut numbers = outputs.f32("compensations").expect("there").to_vec();
        assert!((0.0..1.0).contains(&numbers[place]), "{}", numbers[place]);
        numbers[place] = 1.0;
        outputs.array("compensations", &shape, Data::F32(numbers)).expect("whole");
        let tally = judged(&contract, case, &outputs);
        assert_eq!(tally.verdict(), verdict, "{tally:?}");
        if verdict == Verdict::Disagree {
            let worst = tally.worst.expect("one is wrong");
            assert_eq!(worst.output, "compensations", "{worst}");
        }
    }
    // Backward both arrays are given, and without antialiasing there is no gradient.
    let contract = self::contract(Level::ProjectBackward);
    for (case, some) in [(&plain, false), (&antialiased, true)] {
        let job = contract.job(case, 0).expect("a job");
        let factors = job.inputs.f32("compensations").expect("there");
        assert!(factors.iter().any(|&factor| factor > 0.0 && factor < 1.0), "{factors:?}");
        let gradients = job.inputs.f32("v_compensations").expect("there");
        assert_eq!(gradients.iter().any(|&v| v != 0.0), some, "{gradients:?}");
    }
}

/// What a reproducer notes of a kernel is what it is read as.
#[test]
fn a_kernel_is_noted_with_its_compensations() {
    for (compensations, expected) in [
        (Compensations::Never, "16 visible,radii"),
        (Compensations::Always, "16 visible,radii,compensations"),
    ] {
        let (extra_roundings, culling) = (ExtraRoundings::new(16).expect("few"), Culling::Pixels);
        let returns = vec!["visible", "radii"];
        let (colors, ndc) = (false, false);
        let kernel = Kernel { extra_roundings, returns, compensations, culling, colors, ndc };
        let note = kernel.note();
        assert_eq!(note, expected, "{compensations:?}");
        let mut names: Vec<&'static str> = expected[3..].split(',').collect();
        assert_eq!(Compensations::noted(&mut names), compensations, "{note}");
        assert_eq!(names, kernel.returns, "{note}");
        let of_colors = Kernel { colors: true, ..kernel.clone() }.note();
        let by_tiles = Kernel { culling: Culling::Tiles, colors: true, ndc: true, ..kernel }.note();
        let noted = |note: &str| noted_words(&note[3..]);
        assert_eq!(
            noted(&by_tiles),
            (Culling::Tiles, [true, true], expected[3..].to_owned()),
            "{by_tiles}"
        );
        assert_eq!(noted(&of_colors).1, [true, false], "{of_colors}");
        assert_eq!(
            noted(expected),
            (Culling::Pixels, [false; 2], expected[3..].to_owned()),
            "as it was"
        );
    }
}

/// The backward pass is given what the forward pass kept, in the project's arrays.
#[test]
fn the_backward_pass_is_given_radii_and_conics() {
    let contract = contract(Level::ProjectBackward);
    let case = case("behind-the-camera.toml");
    let job = contract.job(&case, 0).expect("a job");
    let forward = returned(&self::contract(Level::Project), &case, true);
    assert_eq!(job.inputs.i32("radii"), forward.i32("radii"), "those of the forward pass");
    let visible = forward.u32("visible").expect("there");
    assert!(visible.contains(&0) && visible.contains(&1), "some are left out: {visible:?}");
    let names: Vec<_> =
        job.expectation(Arithmetic::CudaFast).outputs().map(|output| output.name).collect();
    assert_eq!(names, ["v_means", "v_quats", "v_scales", "v_viewmats"], "no opacity, no colour");
}
