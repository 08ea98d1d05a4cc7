//! The driver's loop limit: what is measured of it, that the stages' bounds of loop steps hold, and
//! that no run which reaches it is taken for a result.

use super::{Plan, open};
use crate::engine::{Engine, EngineError, LoopLimit, Work};
use crate::mutation::Mutation;
use crate::reduction::{Reduction, Setting};
use crate::stage::ExtraLaunches;
use crate::stages::Stage;
use crate::stages::grid;
use crate::stages::scatter::SCATTER;
use crate::stages::splat::tests::{inputs, scenes};
use crate::stages::splat::typed::SplatEngine;
use crate::stages::splat::{
    BackwardInputs, CHECKPOINT_EVERY, ClampGradient, PROJECT, PROJECT_BACKWARD, RASTERIZE,
    RASTERIZE_BACKWARD,
};
use crate::tensor::{Data, Tensors};
use crate::wgpu::guard::Guard;
use crate::wgpu::{AdapterChoice, Options, WgpuEngine};

/// The driver under test in words, see [`super::super::drivers`].
fn driver() -> String {
    std::env::var("SPLAT_GPU_TEST_DRIVER").unwrap_or_default()
}

/// The engine and its limit, where it has one.
fn limited() -> Option<(WgpuEngine, u64)> {
    let engine = open(false)?;
    let limit = engine.info().loop_limit;
    match limit {
        LoopLimit::InAll(steps) => Some((engine, steps)),
        LoopLimit::NotMeasured | LoopLimit::NoneUpTo(_) | LoopLimit::OfEach(_) => {
            eprintln!("NOT EXERCISED: the driver's loop limit: {limit}");
            None
        }
    }
}

/// One tile of which every pixel sees each of the Gaussians, and has them behind it backward.
fn wide(length: u32, channels: u32) -> BackwardInputs {
    let plan = Plan {
        width: 16,
        height: 16,
        channels,
        length: 0,
        pixel_center: 0.5,
        clamp_gradient: ClampGradient::PassThrough,
    };
    let mut all = plan.backward();
    let n = length as usize;
    let raster = &mut all.raster;
    raster.constants.transmittance_min = 0.0;
    raster.means2d = vec![[8.0; 2]; n];
    raster.conics = vec![[0.0; 3]; n];
    raster.opacities = vec![1.0 / 128.0; n];
    raster.colors = vec![0.5; n * channels as usize];
    raster.flatten_ids = (0..length).collect();
    raster.tile_offsets = vec![0, length];
    all.render_transmittance = vec![0.5; 256];
    all.last_ids = vec![i32::try_from(length).expect("lists are short") - 1; 256];
    all
}

/// The arrays of another formulation, whose values no loop depends on: zeros, but for checkpoints of
/// one tile.
fn as_formulated(stage: Stage, standard: &Tensors) -> Tensors {
    let mut all = standard.clone();
    let length = standard.u32("flatten_ids").expect("it is there").len();
    let checkpoints = u32::try_from(length).expect("short").div_ceil(CHECKPOINT_EVERY);
    let image = standard.get("v_render_colors").expect("it is there").shape();
    let (alphas, states) = (&image[..2], [checkpoints as usize, 256, 1 + image[2]]);
    for (name, shape) in
        [("render_alphas", alphas), ("render_colors", image), ("checkpoints", &states[..])]
    {
        let zeros = vec![0.0; shape.iter().product()];
        all.array(name, shape, Data::F32(zeros)).expect("the numbers fill the shape");
    }
    let ends = Data::U32(vec![0, checkpoints]);
    all.array("checkpoint_offsets", &[2], ends).expect("the numbers fill the shape");
    all.only(|name| stage.reads(name))
}

/// Elements that all add to the first row.
fn elements(count: usize, values: usize) -> Tensors {
    let mut tensors = Tensors::new();
    let mut array = |name, shape: &[usize], data| {
        tensors.array(name, shape, data).expect("the numbers fill the shape");
    };
    array("keys", &[count], Data::U32(vec![0; count]));
    array("values", &[count, values], Data::F32(vec![1.0; count * values]));
    array("initial", &[1, values], Data::F32(vec![0.0; values]));
    tensors
}

/// Every stage but `project` on inputs that make its loops long.
fn runs() -> Vec<(Stage, Tensors)> {
    let tensors = "the arrays fit";
    let mut all = vec![(SCATTER, elements(300, 1)), (SCATTER, elements(300, 33))];
    all.push((grid::LEVELS, grid::tests::table()));
    for stage in grid::OF_POINTS {
        all.push((stage, grid::tests::inputs(stage, 300, &[0, 8, 24], 8)));
        all.push((stage, grid::tests::inputs(stage, 33, &[0, 61], 1)));
    }
    for stage in [grid::GRID_GATE, grid::GRID_GATE_BACKWARD] {
        all.push((stage, grid::tests::gate_inputs(stage, [300, 2, 8])));
        all.push((stage, grid::tests::gate_inputs(stage, [33, 16, 1])));
    }
    for (length, channels) in [(1, 3), (300, 3), (33, 32)] {
        let backward = wide(length, channels);
        all.push((RASTERIZE, backward.raster.tensors().expect(tensors)));
        let standard = backward.tensors().expect(tensors);
        let formulated = Stage::all().filter(|stage| stage.text.formulation_of.is_some());
        all.extend(formulated.map(|stage| (stage, as_formulated(stage, &standard))));
        all.push((RASTERIZE_BACKWARD, standard));
    }
    for scene in scenes() {
        all.push((PROJECT_BACKWARD, scene.tensors().expect(tensors)));
    }
    let many = inputs::with_gradients(300, 40);
    all.push((PROJECT_BACKWARD, many.tensors().expect(tensors)));
    all
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn the_limit_is_what_the_driver_is_known_for() {
    let Some(engine) = open(false) else { return };
    let limit = engine.info().loop_limit;
    if driver().starts_with("lavapipe") {
        assert_eq!(limit, LoopLimit::InAll(65_535), "LP_MAX_TGSI_LOOP_ITERATIONS of Mesa");
    } else if driver().starts_with("SwiftShader") {
        assert_eq!(limit, LoopLimit::NoneUpTo(1 << 22), "no limit is known");
    }
}

/// Steps that a run made, as far as the guard can count on to the driver's limit.
fn steps_made(engine: &mut WgpuEngine, limit: u64, (stage, work): (Stage, Work<'_>)) -> u64 {
    let wanted = u32::try_from(limit).expect("the limit is small") + 8;
    *guard(engine) = Guard { wanted, fewest: wanted };
    match engine.run(stage, &[work]) {
        Ok(_) => limit.saturating_sub(u64::from(guard(engine).fewest)),
        Err(EngineError::LoopLimit { .. }) => limit,
        Err(error) => panic!("{stage} {:?}: {error}", work.settings),
    }
}

fn guard(engine: &mut WgpuEngine) -> &mut Guard {
    engine.guard.as_mut().expect("there is a limit")
}

/// The inputs of the first of a reduction's own launches.
fn of_first(own: &ExtraLaunches, inputs: &Tensors) -> Tensors {
    let derived = (own.derive)(inputs).expect("the inputs fit");
    own.of_first(inputs, &derived).expect("all of them are there")
}

/// Counts the steps that are left after a kernel, and compares what it made with its stage's bound.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn kernels_make_no_more_loop_steps_than_their_bounds() {
    let Some((mut engine, limit)) = limited() else { return };
    let info = engine.info().clone();
    let mut settings = Setting::all(info.lane_width);
    settings.retain(|s| [0, info.lane_width, info.lane_width + 1].contains(&s.threshold));
    for (stage, tensors) in runs() {
        let sizes = stage.check_inputs(&tensors).expect("the inputs fit");
        for setting in stage.settings(&settings) {
            // The second of two launches makes fewer.
            let reduction = setting.map(|setting| setting.reduction);
            let launched = stage.spec().launched(reduction);
            let own = stage.spec().extra_launches(reduction).map(|own| of_first(own, &tensors));
            let inputs = own.as_ref().unwrap_or(&tensors);
            let launched_sizes = launched.sizes(inputs).expect("the inputs fit");
            let bound = launched.loop_steps(inputs, &launched_sizes, setting, &info);
            let bound = bound.expect("the inputs fit");
            let work = Work { inputs: &tensors, settings: &[setting] };
            let made = steps_made(&mut engine, limit, (stage, work));
            let name = format!("{stage} {setting:?} {sizes:?}");
            eprintln!("{name}: {made} of at most {bound} steps");
            assert!(made <= bound, "{name} made {made} steps, more than its bound of {bound}");
        }
    }
}

/// `project` returns in three places, and a lane passes more than one guard on its way: as many steps
/// are counted after each as the bound leaves of the limit.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn projections_make_no_more_loop_steps_than_their_bounds() {
    let Some((mut engine, limit)) = limited() else { return };
    let info = engine.info().clone();
    for scene in scenes() {
        let tensors = scene.project.tensors().expect("the arrays fit");
        let sizes = PROJECT.check_inputs(&tensors).expect("the inputs fit");
        let bound = PROJECT.loop_steps(&tensors, &sizes, None, &info).expect("the inputs fit");
        let each = u32::try_from((limit - bound) / 3).expect("the limit is small") - 2;
        *guard(&mut engine) = Guard { wanted: each, fewest: each };
        let work = Work { inputs: &tensors, settings: &[None] };
        engine.run(PROJECT, &[work]).unwrap_or_else(|e| panic!("{sizes:?}: {e}"));
        assert_eq!(guard(&mut engine).fewest, each, "{sizes:?}: more than {bound} steps");
    }
}

/// The cases that a right kernel was accused of, and a list that is longer than the limit.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn a_run_that_reaches_the_limit_is_no_result() {
    let Some((mut engine, limit)) = limited() else { return };
    let block = [Setting { reduction: Reduction::Block, threshold: 0 }];
    for (length, channels) in [(1000, 32), (8000, 3)] {
        let long = wide(length, channels);
        let error = engine.rasterize_backward(&[(&long, &block)]).expect_err("it is too long");
        let EngineError::LoopLimit { limit: found, needs } = error else { panic!("{error}") };
        assert!(found == limit && needs > limit, "{length} Gaussians need {needs} of {found}");
    }
    let long = wide(70_000, 1).raster;
    let error = engine.rasterize(&[&long]).expect_err("it is too long");
    let words = "the driver's loop limit (65535 steps; this case needs up to 210";
    assert!(error.to_string().contains(words), "unhelpful: {error}");
    assert!(error.is_of_the_machine(), "nothing is said of the kernel");
    let short = wide(300, 3);
    assert_eq!(engine.rasterize(&[&short.raster]).map(|all| all.len()), Ok(1), "it goes on");
}

/// Each subgroup has its own steps: 64 of them walk a list of nearly as many places as the limit.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn a_long_list_below_the_limit_is_walked_to_its_end() {
    let Some(mut engine) = open(false) else { return };
    let long = wide(60_000, 1).raster;
    let found = engine.rasterize(&[&long]).expect("a place is a step").remove(0);
    assert_eq!(found.last_ids, vec![59_999; 256], "the last place contributes");
}

/// A loop that does not count on: the driver leaves it, and what comes back must not be a result.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn a_kernel_that_never_ends_is_a_failure_of_the_kernel() {
    if limited().is_none() {
        return;
    }
    let text = [
        "purpose: never ends",
        "hazards: active-mask-as-set",
        "kernels: rasterize.d3",
        "--- a/splat/rasterize.wgsl",
        "+++ b/splat/rasterize.wgsl",
        "@@ -42,3 +42,3 @@",
        " ",
        "-        for (var k = 0u; k < count && !done; k++) {",
        "+        for (var k = 0u; k < count; k += 0u) {",
        "             let pair = evaluate(k, point);",
        "",
    ]
    .join("\n");
    let mutant = Mutation::parse("never-ends", &text).unwrap_or_else(|e| panic!("{e}"));
    let edit = mutant.wgsl_edit().unwrap_or_else(|e| panic!("{e}"));
    let options = Options { force_compare_exchange: false, edit: Some(edit) };
    let mut engine = WgpuEngine::open(&AdapterChoice::First, &options).expect("it opened before");
    let error = engine.rasterize(&[&wide(3, 3).raster]).expect_err("it never ends");
    assert!(error.to_string().contains("it would not have ended"), "unhelpful: {error}");
    assert!(!error.is_of_the_machine(), "it is the kernel's failure");
}
