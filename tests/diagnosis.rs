//! What a kernel got wrong is named in the first line of a finding: planted faults, one after another, and
//! kernels whose faults nobody can name.

use splatcheck::campaign::{Contender, Hooks, Item, as_it_is, run};
use splatcheck::diagnosis::Diagnosis;
use splatcheck::gate::{Evidence, Gate, Summary, junit, sarif, step_summary};
use splatcheck::judge::{Arithmetic, OutputBound};
use splatcheck::report::report;
use splatcheck::workload::{AnyCase, FailedRun, views};
use splatcheck::workloads::splat::case::Case;
use splatcheck::workloads::splat::contract::{Contract, Level, diagnose_job};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{Data, Engine, Reduction, Setting, Stage, Tensor, Tensors, Work};
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{Formulation, Lens, backward};
use splatcheck_tests::{Defect, Mirror, corpus, root, say};
use std::sync::Arc;

/// The scene of the corpus of that name.
fn scene(name: &str) -> Case {
    let found = corpus().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no scene {name}"))
}

/// Other inputs of a kernel, or other outputs of it.
type Change<'c> = &'c dyn Fn(&mut Tensors);

const NOTHING: Change<'static> = &|_| ();

/// An array of f32 with other numbers.
fn edit(all: &mut Tensors, name: &'static str, change: impl FnOnce(&mut [f32])) {
    let mut values = all.f32(name).expect("an array of f32").to_vec();
    change(&mut values);
    let shape = all.get(name).expect("it is there").shape().to_vec();
    all.insert(name, Tensor::new(name, shape, Data::F32(values)).expect("of the same shape"));
}

fn times(factor: f32) -> impl Fn(&mut [f32]) {
    move |values| values.iter_mut().for_each(|value| *value *= factor)
}

/// What is said of a mirror with a defect that reads changed inputs, and whose outputs are changed.
fn diagnosed(
    (case, stage): (&Case, Stage),
    defect: Defect,
    [before, after]: [Change<'_>; 2],
) -> Diagnosis {
    let setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };
    let setting = stage.accumulates().then_some(setting);
    let case: AnyCase = Arc::new(case.clone());
    let item = Item::of(case, 0, &|of| of == stage).expect("a legal case");
    let job = item.job(stage).expect("the stage is run");
    let mut mirror = Mirror::new(32, defect);
    let mut inputs = job.inputs.clone();
    before(&mut inputs);
    let work = Work { inputs: &inputs, settings: &[setting] };
    let mut outputs = mirror.run(stage, &[work]).expect("it runs").remove(0).remove(0);
    after(&mut outputs);
    let arithmetic = Arithmetic::of(mirror.info());
    let run = FailedRun { arithmetic, setting, lane_width: 32 };
    let found = job.diagnose(run, &outputs).expect("all outputs are there");
    found.unwrap_or_else(|| panic!("{}: {stage}: nothing is wrong", item.case.name()))
}

/// Expects that the first line names the fault, and that everything is explained.
fn expect(found: &Diagnosis, words: &str) {
    assert!(
        found.explained && found.headline.contains(words),
        "expected '{words}': {}",
        shown(found)
    );
}

/// Planted faults of a stage: scene, defect, changed inputs or outputs, and what is to be said of it.
type Planted<'p> = (&'p str, Defect, [Change<'p>; 2], &'p str);

fn expect_all(stage: Stage, all: &[Planted<'_>]) {
    let wrong: Vec<_> = all
        .iter()
        .filter_map(|(name, defect, changes, words)| {
            let found = diagnosed((&scene(name), stage), *defect, *changes);
            let named = found.explained && found.headline.contains(words);
            (!named).then(|| format!("{name}: expected '{words}': {}", shown(&found)))
        })
        .collect();
    assert!(wrong.is_empty(), "{stage}:\n{}", wrong.join("\n"));
}

fn shown(found: &Diagnosis) -> String {
    found.lines().collect::<Vec<_>>().join("\n  ")
}

#[test]
fn changes_of_whole_outputs_are_named() {
    let all = ["v_means2d", "v_conics", "v_opacities", "v_colors"];
    let every = move |factor: f32| {
        move |out: &mut Tensors| all.into_iter().for_each(|name| edit(out, name, times(factor)))
    };
    let swap = |name: &'static str, columns: usize, a: usize, b: usize| {
        move |out: &mut Tensors| {
            edit(out, name, |v| v.chunks_exact_mut(columns).for_each(|row| row.swap(a, b)));
        }
    };
    let plain = Defect::None;
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            (
                "tile-corner",
                plain,
                [NOTHING, &every(2.0)],
                "looks like: all outputs: twice what it",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &every(0.5)],
                "all outputs: half of what it should be",
            ),
            ("tile-corner", plain, [NOTHING, &every(-1.0)], "all outputs: the sign is flipped"),
            (
                "tile-corner",
                plain,
                [NOTHING, &every(0.0)],
                "all outputs: 0, as if nothing was written",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &|out| edit(out, "v_opacities", times(-1.0))],
                "v_opacities: the sign is flipped",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &swap("v_means2d", 2, 0, 1)],
                "v_means2d: columns 0 and 1",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &swap("v_conics", 3, 0, 2)],
                "v_conics: columns 0 and 2",
            ),
            (
                "image-17x17",
                plain,
                [NOTHING, &|out| {
                    edit(out, "v_conics", |v| {
                        let (old, rows) = (v.to_vec(), v.len() / 3);
                        old.iter().enumerate().for_each(|(at, &x)| v[at % 3 * rows + at / 3] = x);
                    })
                }],
                "v_conics: column after column in memory (planar)",
            ),
            (
                "tile-corner",
                Defect::LostChannel(1),
                [NOTHING; 2],
                "v_colors[:, 1]: 0, as if nothing",
            ),
        ],
    );
}

#[test]
fn other_inputs_and_units_of_the_backward_pass_are_named() {
    let plain = Defect::None;
    let zeros = |name: &'static str| move |all: &mut Tensors| edit(all, name, times(0.0));
    let scalar = |name: &'static str, value: f32| {
        move |all: &mut Tensors| all.insert(name, Tensor::scalar(value))
    };
    let [alphas, background] = [zeros("v_render_alphas"), zeros("background")];
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            (
                "tile-corner",
                Defect::DeviceCoordinates,
                [NOTHING; 2],
                "field mean2d_units: v_means2d is per",
            ),
            ("tile-corner", Defect::HalfOffDiagonal, [NOTHING; 2], "field conic_off_diagonal"),
            (
                "tile-corner",
                plain,
                [&alphas, NOTHING],
                "alpha's own gradient is missing: v_render_alphas",
            ),
            ("tile-corner", plain, [&background, NOTHING], "background's term of alpha's gradient"),
            (
                "tile-corner",
                plain,
                [&zeros("v_render_colors"), NOTHING],
                "gradient by the colours is missing",
            ),
            (
                "alpha-far-above-the-clamp-inria",
                plain,
                [&scalar("alpha_max", 0.999), NOTHING],
                "the convention's field alpha_max (alpha's clamp) is 0.999 where the case has 0.99",
            ),
            (
                "alpha-above-the-clamp-gsplat",
                plain,
                [&|all| all.insert("clamp_stops_gradient", Tensor::scalar(0_u32)), NOTHING],
                "field clamp_gradient (the gradient where alpha is clamped) is inria where the case has exact",
            ),
            (
                "opacity-below-the-cut",
                plain,
                [&scalar("alpha_min", 1.0 / 256.0), NOTHING],
                "field alpha_min (below which alpha is skipped) is 1/256 where the case has 1/255",
            ),
            (
                "tile-corner",
                plain,
                [
                    &|all| {
                        let other = 0.5 - all.f32("pixel_center").expect("it is there")[0];
                        all.insert("pixel_center", Tensor::scalar(other));
                    },
                    NOTHING,
                ],
                "the convention's field pixel_center",
            ),
            (
                "tile-corner",
                plain,
                [
                    &|all| {
                        edit(all, "render_transmittance", |t| {
                            t.iter_mut().for_each(|t| *t = 1.0 - *t)
                        })
                    },
                    NOTHING,
                ],
                "1 - T is taken for T",
            ),
            (
                "channels-5",
                plain,
                [
                    &|all| {
                        edit(all, "v_render_colors", |v| {
                            v.chunks_exact_mut(5).for_each(|v| v[3..].fill(0.0));
                        })
                    },
                    NOTHING,
                ],
                "channels beyond the third are left out",
            ),
        ],
    );
    let case = scene("tile-corner");
    let opacities = {
        let item = Item::new(Arc::new(case.clone()), 0).expect("a legal case");
        let job = item.job(RASTERIZE_BACKWARD).expect("it has one");
        job.inputs.f32("opacities").expect("it is there").to_vec()
    };
    let logit = |out: &mut Tensors| {
        edit(out, "v_opacities", |v| {
            v.iter_mut().zip(&opacities).for_each(|(v, o)| *v *= o * (1.0 - o));
        });
    };
    let found = diagnosed((&case, RASTERIZE_BACKWARD), plain, [NOTHING, &logit]);
    expect(&found, "v_opacities is by the logit of the opacity");
}

#[test]
fn lost_lanes_warps_and_batches_are_named() {
    let last_ids = |all: &mut Tensors, change: &dyn Fn(usize, i32) -> i32| {
        let old = all.i32("last_ids").expect("it is there");
        let new = old.iter().enumerate().map(|(at, &last)| change(at, last)).collect();
        let shape = all.get("last_ids").expect("it is there").shape().to_vec();
        all.insert("last_ids", Tensor::new("last_ids", shape, Data::I32(new)).expect("as before"));
    };
    // One tile of 16 x 16: a pixel is a thread.
    let lanes = |lost: fn(usize) -> bool| {
        move |all: &mut Tensors| last_ids(all, &|at, last| if lost(at) { -1 } else { last })
    };
    let first_256 = |all: &mut Tensors| last_ids(all, &|_, last| last.min(255));
    let plain = Defect::None;
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            (
                "checkerboard",
                Defect::LostLane(32),
                [NOTHING; 2],
                "thread 32 of each tile is left out (warp 1, lane 0)",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at % 32 == 31), NOTHING],
                "lane 31 of each warp, the last, is",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at % 32 == 7), NOTHING],
                "lane 7 of each warp is left out",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at % 32 != 0), NOTHING],
                "only lane 0 of each warp counts",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at / 32 == 7), NOTHING],
                "warp 7, the last, of each tile is",
            ),
            (
                "list-of-257",
                plain,
                [&first_256, NOTHING],
                "the last batch of 256 entries of each tile's list",
            ),
        ],
    );
}

#[test]
fn faults_of_the_image_are_named() {
    let transposed = |out: &mut Tensors| {
        for name in ["render_alphas", "render_transmittance"] {
            edit(out, name, |v| {
                let old = v.to_vec();
                (0..256).for_each(|at| v[at] = old[at % 16 * 16 + at / 16]);
            });
        }
    };
    expect_all(
        RASTERIZE,
        &[
            ("tile-corner", Defect::NoBackground, [NOTHING; 2], "the background is missing"),
            (
                "alpha-far-above-the-clamp-inria",
                Defect::None,
                [&|all| all.insert("alpha_max", Tensor::scalar(0.999_f32)), NOTHING],
                "the convention's field alpha_max (alpha's clamp) is 0.999",
            ),
            (
                "stop-exactly-at-the-minimum-inria",
                Defect::None,
                [&|all| all.insert("stop_when_equal", Tensor::scalar(1_u32)), NOTHING],
                "field stop_rule (whether it stops where T is equal) is less-or-equal where the case has less",
            ),
            (
                "one-to-sixteen-lanes",
                Defect::None,
                [NOTHING, &transposed],
                "render_alphas and render_transmittance: transposed, x in the place of y",
            ),
        ],
    );
}

#[test]
fn faults_of_the_projection_are_named() {
    let plain = Defect::None;
    let set = |name: &'static str, value: f32| {
        move |all: &mut Tensors| all.insert(name, Tensor::scalar(value))
    };
    let turned = |all: &mut Tensors| {
        edit(all, "quats", |quats| quats.chunks_exact_mut(4).for_each(|quat| quat.rotate_right(1)));
    };
    expect_all(
        PROJECT,
        &[
            (
                "tile-corner",
                plain,
                [&set("eps2d", 0.0), NOTHING],
                "field eps2d (the blur added to the 2D",
            ),
            (
                "tile-corner",
                plain,
                [&turned, NOTHING],
                "quaternions are taken in the order x y z w",
            ),
            (
                "harmonics",
                Defect::LowerDegree,
                [NOTHING; 2],
                "harmonics of the highest degree are left out",
            ),
            (
                "harmonics",
                Defect::NoPhase,
                [NOTHING; 2],
                "degree 1 are those without the Condon-Shortley",
            ),
        ],
    );
    let of_colors = |all: &mut Tensors| edit(all, "v_colors", times(0.0));
    expect_all(
        PROJECT_BACKWARD,
        &[
            ("two-cameras", Defect::LastCamera, [NOTHING; 2], "last camera that sees it"),
            (
                "beside-the-image",
                Defect::OtherClampGradient,
                [NOTHING; 2],
                "field fov_clamp_gradient",
            ),
            (
                "harmonics",
                Defect::NoPhase,
                [NOTHING; 2],
                "degree 1 are those without the Condon-Shortley",
            ),
            (
                "tile-corner",
                plain,
                [&set("eps2d", 0.0), NOTHING],
                "field eps2d (the blur added to the 2D",
            ),
            (
                "tile-corner",
                plain,
                [&set("inverse_eps", 1e-7), NOTHING],
                "field inverse_eps (added to the",
            ),
        ],
    );
    // The path through the direction of view alone is missing: v_colors themselves are right.
    let case = scene("harmonics");
    let colors = right_colors(&case);
    let own = |out: &mut Tensors| edit(out, "v_colors", |v| v.copy_from_slice(&colors));
    let found = diagnosed((&case, PROJECT_BACKWARD), plain, [&of_colors, &own]);
    expect(&found, "the path through the direction of view is missing");
}

/// The right gradients of colours of a case.
fn right_colors(case: &Case) -> Vec<f32> {
    let item = Item::new(Arc::new(case.clone()), 0).expect("a legal case");
    let job = item.job(PROJECT_BACKWARD).expect("it has one");
    let setting = Some(Setting { reduction: Reduction::BASELINE, threshold: 0 });
    let work = Work { inputs: &job.inputs, settings: &[setting] };
    let mut outputs =
        Mirror::new(32, Defect::None).run(PROJECT_BACKWARD, &[work]).expect("it runs");
    outputs.remove(0).remove(0).f32("v_colors").expect("it is there").to_vec()
}

#[test]
fn cameras_and_logarithms_are_named() {
    let case = scene("two-cameras");
    let without = |camera: usize| {
        move |all: &mut Tensors| {
            for name in ["v_means2d", "v_conics", "v_opacities", "v_colors"] {
                edit(all, name, |v| {
                    let of_camera = v.len() / 2;
                    v[camera * of_camera..(camera + 1) * of_camera].fill(0.0);
                });
            }
        }
    };
    let found =
        |changes: [Change<'_>; 2]| diagnosed((&case, PROJECT_BACKWARD), Defect::None, changes);
    expect(&found([&without(1), NOTHING]), "camera 1, the last, is left out");
    expect(&found([&without(0), NOTHING]), "camera 0, the first, is left out");
    let scales = case.scene.gaussians.scales.as_flattened().to_vec();
    let log = |out: &mut Tensors| {
        edit(out, "v_scales", |v| v.iter_mut().zip(&scales).for_each(|(v, s)| *v *= s));
    };
    expect(&found([NOTHING, &log]), "v_scales is by the logarithm of the scale");
}

/// What a right program of the whole way returns for a case, in f32.
fn whole(case: &Case) -> Tensors {
    let contract = Contract::new(Level::Full, Formulation::STANDARD).expect("it has none");
    let job = contract.job(&(Arc::new(case.clone()) as AnyCase), 0).expect("a legal case");
    let mut outputs = Tensors::new();
    for output in job.expectation(Arithmetic::Cuda).rows.iter().flat_map(|rows| &rows.outputs) {
        let OutputBound::Interval(bounds) = &output.bound else { panic!("intervals") };
        #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
        let numbers = bounds.iter().map(|bound| bound.0 as f32).collect();
        outputs.array(output.name, &output.shape, Data::F32(numbers)).expect("whole");
    }
    outputs
}

/// The gradients of the means without the path through the direction of view.
fn detached(case: &Case) -> Vec<f32> {
    let scene = case.scene.map(f64::from);
    let mut sum = vec![0.0; 3 * scene.gaussians.len()];
    for camera in 0..scene.cameras.len() {
        let projected = project_scene(&scene, camera, &case.convention).expect("few pairs");
        let view = projected.view(&scene, camera, &case.convention);
        let image = rasterize::<f64>(&view);
        let loss = scene.camera_slices(camera).loss(&image);
        let mut gradients = backward::rasterize::rasterize::<f64>(&view, &loss);
        gradients.v_colors.fill(0.0);
        let size = [scene.width, scene.height];
        let lens = Lens::new(&scene.cameras[camera], size, &case.convention);
        let one = backward::project::project(&scene.gaussians, &lens, &gradients, &case.convention);
        sum.iter_mut().zip(one.v_means.as_flattened()).for_each(|(sum, x)| *sum += x);
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
    sum.into_iter().map(|x| x as f32).collect()
}

#[test]
fn faults_of_the_whole_way_are_named() {
    let contract = Contract::new(Level::Full, Formulation::STANDARD).expect("it has none");
    let expect_named = |case: &Case, outputs: &Tensors, words: &str| {
        let job = contract.job(&(Arc::new(case.clone()) as AnyCase), 0).expect("a legal case");
        let found = diagnose_job(&contract, Arithmetic::Cuda, &job, outputs).expect("all outputs");
        expect(&found.expect("it disagrees"), words);
    };
    let case = scene("two-cameras");
    let under = |change: &dyn Fn(&mut Case)| {
        let mut other = case.clone();
        change(&mut other);
        whole(&other)
    };
    let alphas = under(&|other| other.scene.v_render_alphas.fill(0.0));
    expect_named(&case, &alphas, "alpha's own gradient is missing");
    let blur = under(&|other| other.convention.eps2d = 0.0);
    expect_named(&case, &blur, "field eps2d (the blur added to the 2D covariance) is 0.0 where");
    let camera = under(&|other| {
        for all in [&mut other.scene.v_render_colors, &mut other.scene.v_render_alphas] {
            let half = all.len() / 2;
            all[half..].fill(0.0);
        }
    });
    expect_named(&case, &camera, "the gradients of camera 1, the last, are left out");
    let mut log = whole(&case);
    edit(&mut log, "v_scales", |v| {
        let scales = case.scene.gaussians.scales.as_flattened();
        v.iter_mut().zip(scales).for_each(|(v, s)| *v *= s);
    });
    expect_named(&case, &log, "v_scales is by the logarithm of the scale");
    let case = scene("harmonics");
    let mut outputs = whole(&case).only(|name| name != "v_viewmats");
    edit(&mut outputs, "v_means", |v| v.copy_from_slice(&detached(&case)));
    expect_named(&case, &outputs, "the path through the direction of view is missing");
}

/// Noise of the size of the right numbers is no fault that has a name.
#[test]
fn random_numbers_get_no_explanation() {
    for name in ["tile-corner", "image-17x17", "checkerboard", "one-pixel", "list-of-255"] {
        for seed in 1..6_u32 {
            let noise = |out: &mut Tensors| {
                let mut state = seed;
                for name in ["v_means2d", "v_conics", "v_opacities", "v_colors"] {
                    edit(out, name, |v| {
                        for value in v.iter_mut().filter(|value| **value != 0.0) {
                            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                            *value *= 0.2 + (state >> 16) as f32 / 40_000.0;
                        }
                    });
                }
            };
            let case = scene(name);
            let found = diagnosed((&case, RASTERIZE_BACKWARD), Defect::None, [NOTHING, &noise]);
            assert!(!found.explained, "{name}, seed {seed}: {found:#?}");
            assert!(found.headline.starts_with("no known fault: none of "), "{name}: {found:#?}");
        }
    }
}

#[test]
fn the_first_line_of_a_finding_is_the_diagnosis() {
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(32, Defect::HalfOffDiagonal)),
        stages: vec![RASTERIZE_BACKWARD],
        settings: vec![Setting { reduction: Reduction::BASELINE, threshold: 0 }],
    };
    let cases = ["tile-corner", "checkerboard"].map(|name| Arc::new(scene(name)) as AnyCase);
    let hooks = Hooks::new(&as_it_is).diagnosing();
    let reports = run(views(cases), vec![contender], hooks).expect("the cases are legal");
    let found = reports[0].findings[0].diagnosis.as_ref().expect("it was asked for");
    expect(found, "field conic_off_diagonal: v_conics holds half of the off-diagonal");
    assert!(found.headline.ends_with("; the same in another failing case)"), "{found:?}");
    let text = report(&reports, &[], &[vec!["it.safetensors".to_owned()]]);
    let heading = text.lines().position(|line| line.starts_with("DISAGREE mirror")).expect("one");
    let line = text.lines().nth(heading + 1).expect("more than a heading");
    assert!(line.starts_with("  looks like: the convention's field conic_off_diagonal"), "{text}");
    let gate = Gate::default();
    let conclusion = gate.conclude(&Evidence::new(&reports, &[]));
    let files = [vec!["it.safetensors".to_owned()]];
    let summary = Summary::new(&gate, &conclusion, &reports, &[], &files);
    let sarif = sarif::text(&sarif::findings(&summary));
    for form in [summary.json(), step_summary(&summary), junit(&summary), sarif] {
        assert!(form.contains("conic_off_diagonal: v_conics holds half"), "{form}");
    }
}

/// Kernels of this project with a fault, on the emulator.
#[test]
fn broken_kernels_are_told_what_they_lose() {
    let folder = tempfile::tempdir().expect("a folder");
    for (mutant, kernel, scene, words) in [
        (
            "dropped-lane",
            "sw_s",
            "early-stop-in-a-subgroup",
            "the highest contributing lane of each warp",
        ),
        ("only-lane-0-counts", "sw_b", "tile-corner", "only lane 0 of each warp counts"),
        ("lane-0-must-contribute", "sw_b", "checkerboard", "a warp's sum is lost where its lane 0"),
        (
            "mask-of-16-lanes",
            "sw_s",
            "one-place",
            "the upper half of each warp's lanes is left out",
        ),
        ("leader-is-lane-0", "sw_s", "checkerboard", "is left out where that is not lane 0"),
        ("walk-of-lane-0", "atomic", "early-stop-in-a-subgroup", "only as far as its lane 0 needs"),
        (
            "walk-past-the-stop",
            "atomic",
            "early-stop-in-a-subgroup",
            "from the last contributor of its",
        ),
        (
            "alpha-cut-of-256",
            "atomic",
            "opacity-below-the-cut",
            "field alpha_min (below which alpha",
        ),
        (
            "alpha-cut-exclusive",
            "atomic",
            "opacity-at-the-cut",
            "alpha equals alpha_min is skipped",
        ),
        ("clamp-gradient-passed", "atomic", "alpha-above-the-clamp-gsplat", "field clamp_gradient"),
    ] {
        let at = |below: String| root().join(below).to_str().expect("a plain name").to_owned();
        let entry = format!("rasterize_backward_{kernel}");
        let file = at(format!("tests/mutants/splat/ptx/{mutant}.{entry}.d3.compute_75.ptx"));
        let case = at(format!("corpora/splat/{scene}.toml"));
        let reduction = kernel.replace('_', "-");
        let words_of =
            ["ptx", &file, "--kernel", &entry, "--reduction", &reduction, "--case", &case];
        let said = say(folder.path(), &words_of);
        assert_eq!(said.code, Some(1), "{mutant}: {said:?}");
        let first = said.out.lines().find(|line| line.trim_start().starts_with("looks like"));
        assert!(first.is_some_and(|line| line.contains(words)), "{mutant}: {first:?} of {said:?}");
    }
}
