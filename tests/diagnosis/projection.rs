//! Planted faults of the projection and of the whole way.

use super::{Change, NOTHING, diagnosed, edit, expect, expect_all, scene, times};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD};
use splatcheck_gpu::{Data, Engine as _, Reduction, Setting, Tensor, Tensors, Work};
use splatcheck_judge::campaign::Item;
use splatcheck_judge::judge::{Arithmetic, OutputBound};
use splatcheck_judge::workload::AnyCase;
use splatcheck_reference::splat::backward::rasterize::SplatGradients;
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{CameraParams, Formulation, backward};
use splatcheck_tests::{Defect, Mirror};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::contract::{Contract, Level, diagnose_job};
use std::sync::Arc;

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
            ("needles", plain, [&turned, NOTHING], "quaternions are taken in the order x y z w"),
            (
                "harmonics",
                Defect::LowerDegree,
                [NOTHING; 2],
                "harmonics of the highest degree are left out",
            ),
        ],
    );
    // Orders -1 and 1 of degree 1.
    let no_phase = |all: &mut Tensors| {
        let coefficients = all.u32("coefficients").expect("harmonics")[0] as usize;
        edit(all, "colors", |values| {
            let of = values.chunks_exact_mut(3).enumerate();
            of.filter(|(at, _)| [1, 3].contains(&(at % coefficients)))
                .for_each(|(_, value)| times(-1.0)(value));
        });
    };
    let found = diagnosed((&scene("harmonics"), PROJECT), plain, [&no_phase, NOTHING]);
    expect(&found, "without the Condon-Shortley phase");
    // Colours are so much larger that none is raised to 0, and then smaller again.
    let larger = |all: &mut Tensors| {
        let coefficients = all.u32("coefficients").expect("harmonics")[0] as usize;
        edit(all, "colors", |values| {
            let rows = values.chunks_exact_mut(3 * coefficients);
            rows.for_each(|row| row[..3].iter_mut().for_each(|value| *value += 8.0));
        });
    };
    let smaller =
        |all: &mut Tensors| edit(all, "colors", |of| of.iter_mut().for_each(|x| *x -= 2.256_758_3));
    let found = diagnosed((&scene("harmonics"), PROJECT), plain, [&larger, &smaller]);
    expect(&found, "colours below 0 are returned as they are");
    let found = diagnosed((&scene("harmonics"), PROJECT_BACKWARD), plain, [&larger, NOTHING]);
    expect(&found, "the gradient of a colour that was raised to 0 is passed on");
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
                "tile-corner",
                plain,
                [&set("eps2d", 0.0), NOTHING],
                "field eps2d (the blur added to the 2D",
            ),
            (
                "smaller-than-a-pixel",
                plain,
                [&set("inverse_eps", 1e-7), NOTHING],
                "field inverse_eps (added to the",
            ),
        ],
    );
    // The path through the direction of view alone is missing: v_colors themselves are right.
    let case = scene("harmonics");
    let colors = returned(&case, NOTHING, "v_colors");
    let own = |out: &mut Tensors| edit(out, "v_colors", |v| v.copy_from_slice(&colors));
    let found = diagnosed((&case, PROJECT_BACKWARD), plain, [&of_colors, &own]);
    expect(&found, "the path through the direction of view is missing");
}

/// What a right kernel of the backward projection returns for an output of a case with changed inputs.
fn returned(case: &Case, change: &dyn Fn(&mut Tensors), output: &str) -> Vec<f32> {
    let item = Item::new(Arc::new(case.clone()), 0).expect("a legal case");
    let job = item.job(PROJECT_BACKWARD).expect("it has one");
    let mut inputs = job.inputs.clone();
    change(&mut inputs);
    let setting = Some(Setting { reduction: Reduction::BASELINE, threshold: 0 });
    let work = Work { inputs: &inputs, settings: &[setting] };
    let mut outputs =
        Mirror::new(32, Defect::None).run(PROJECT_BACKWARD, &[work]).expect("it runs");
    outputs.remove(0).remove(0).f32(output).expect("it is there").to_vec()
}

/// Antialiasing multiplies the opacity by a compensation, so that its gradient has two paths.
#[test]
fn faults_of_the_compensations_gradient_are_named() {
    let mut case = scene("two-cameras");
    case.convention.antialiased = true;
    let found =
        |changes: [Change<'_>; 2]| diagnosed((&case, PROJECT_BACKWARD), Defect::None, changes);
    let right = returned(&case, NOTHING, "v_opacities");
    let own = |out: &mut Tensors| edit(out, "v_opacities", |v| v.copy_from_slice(&right));
    for (factor, words) in [
        (0.0, "antialiasing's compensation is taken for a constant"),
        (-1.0, "through antialiasing's compensation is taken with the other sign"),
        (2.0, "through antialiasing's compensation is taken twice"),
    ] {
        let path = move |all: &mut Tensors| edit(all, "v_opacities", times(factor));
        expect(&found([&path, &own]), words);
    }
    let off = |all: &mut Tensors| all.insert("antialiased", Tensor::scalar(0_u32));
    let plain = returned(&case, &off, "v_opacities");
    let unscaled = |out: &mut Tensors| edit(out, "v_opacities", |v| v.copy_from_slice(&plain));
    expect(
        &found([NOTHING, &unscaled]),
        "v_opacities is not multiplied by antialiasing's compensa",
    );
    expect(
        &found([&off, NOTHING]),
        "field antialiased (whether opacities are compensated) is false",
    );
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

/// The gradients of the means, quaternions and scales by changed gradients of what is projected.
fn detached(case: &Case, change: fn(&mut SplatGradients<f64>)) -> [(&'static str, Vec<f32>); 3] {
    let scene = case.scene.map(f64::from);
    let n = scene.gaussians.len();
    let mut sums = [3, 4, 3].map(|width| vec![0.0; width * n]);
    for camera in 0..scene.cameras.len() {
        let projected = project_scene(&scene, camera, &case.convention).expect("few pairs");
        let view = projected.view(&scene, camera, &case.convention);
        let image = rasterize::<f64>(&view);
        let loss = scene.camera_slices(camera).loss(&image);
        let mut gradients = backward::rasterize::rasterize::<f64>(&view, &loss);
        change(&mut gradients);
        let size = [scene.width, scene.height];
        let lens = CameraParams::new(&scene.cameras[camera], size, &case.convention);
        let one = backward::project::project(&scene.gaussians, &lens, &gradients, &case.convention);
        let [v_means, v_quats, v_scales] =
            [one.v_means.as_flattened(), one.v_quats.as_flattened(), one.v_scales.as_flattened()];
        for (sum, terms) in sums.iter_mut().zip([v_means, v_quats, v_scales]) {
            sum.iter_mut().zip(terms).for_each(|(sum, x)| *sum += x);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
    let [means, quats, scales] = sums.map(|sum| sum.into_iter().map(|x| x as f32).collect());
    [("v_means", means), ("v_quats", quats), ("v_scales", scales)]
}

#[test]
fn faults_of_the_whole_way_are_named() {
    let contract = Contract::new(Level::Full, Formulation::STANDARD).expect("it has none");
    let expect_named = |case: &Case, outputs: &Tensors, words: &str| {
        let job = contract.job(&(Arc::new(case.clone()) as AnyCase), 0).expect("a legal case");
        let found =
            diagnose_job(&contract, Arithmetic::Cuda, &job, (None, outputs)).expect("all outputs");
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
    let wrong = |case: &Case, fault: fn(&mut SplatGradients<f64>)| {
        let mut outputs = whole(case).only(|name| name != "v_viewmats");
        for (name, numbers) in detached(case, fault) {
            edit(&mut outputs, name, |v| v.copy_from_slice(&numbers));
        }
        outputs
    };
    let outputs = wrong(&case, |v| v.v_colors.fill(0.0));
    expect_named(&case, &outputs, "the path through the direction of view is missing");
    let mut case = scene("harmonics");
    case.convention.antialiased = true;
    let constant = wrong(&case, |v| v.v_opacities.fill(0.0));
    expect_named(&case, &constant, "antialiasing's compensation is taken for a constant");
    let twice = wrong(&case, |v| v.v_opacities.iter_mut().for_each(|v| *v *= 2.0));
    expect_named(&case, &twice, "through antialiasing's compensation is taken twice");
    let negated = wrong(&case, |v| v.v_opacities.iter_mut().for_each(|v| *v *= -1.0));
    expect_named(&case, &negated, "compensation is taken with the other sign");
}
