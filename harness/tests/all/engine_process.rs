//! The command as its own child, and every engine of this machine through it.

use super::workload::SPLATCHECK;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{
    BackwardInputs, ClampGradient, Engine, EngineError, RasterConstants, RasterInputs, Setting,
    SplatEngine, StopRule,
};
use splatcheck_judge::engines::{Discovery, EngineProcess, Limits, Program, discover};

fn splatcheck(words: &[&str]) -> Output {
    Command::new(SPLATCHECK).args(words).output().expect("splatcheck starts")
}

/// One Gaussian in the middle of an image of 5 x 3 pixels, opacity 1/2, no falloff.
fn one_flat_gaussian() -> RasterInputs {
    RasterInputs {
        width: 5,
        height: 3,
        tile_size: [16, 16],
        channels: 3,
        constants: RasterConstants {
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: ClampGradient::PassThrough,
            pixel_center: 0.0,
        },
        means2d: vec![[2.0, 1.0]],
        conics: vec![[0.0, 0.0, 0.0]],
        opacities: vec![0.5],
        colors: vec![1.0, 0.5, 0.25],
        background: vec![0.0; 3],
        tile_offsets: vec![0, 1],
        flatten_ids: vec![0],
    }
}

fn engines() -> Discovery {
    let discovery = discover(&Program::splatcheck(SPLATCHECK));
    if discovery.found.is_empty() {
        eprintln!("NOT EXERCISED: no engine on this machine: {:#?}", discovery.missing);
    }
    discovery
}

#[test]
fn every_engine_draws_one_gaussian_and_adds_up_its_gradient() {
    for found in engines().found {
        let id = found.spec.id().to_owned();
        let program = Program::splatcheck(SPLATCHECK);
        // One setting a frame: the cutting must not show.
        let limits = Limits { frame_bytes: 1, ..Limits::default() };
        let mut engine = EngineProcess::start(found.spec, program, limits).expect(&id);
        assert_eq!(engine.info(), &found.info, "{id} is not what was discovered");
        if !found.info.exp_of_zero_is_one {
            eprintln!("NOT EXERCISED: {id} does not promise exp(0) = 1");
            continue;
        }
        let raster = one_flat_gaussian();
        let outputs = engine.rasterize(&[&raster]).expect(&id).remove(0);
        assert_eq!(outputs.render_alphas, [0.5; 15], "{id}: alpha is the opacity everywhere");
        assert_eq!(outputs.last_ids, [0; 15], "{id}: it is the last contributor everywhere");
        assert_eq!(outputs.render_colors[..3], [0.5, 0.25, 0.125], "{id}: colour");

        let backward = BackwardInputs {
            raster,
            render_transmittance: outputs.render_transmittance,
            last_ids: outputs.last_ids,
            v_render_colors: vec![1.0; 45],
            v_render_alphas: vec![0.0; 15],
        };
        let mut settings = Setting::sweep(found.info.lane_width);
        settings.retain(|setting| RASTERIZE_BACKWARD.reduces_by(setting.reduction));
        let gradients = engine.rasterize_backward(&[(&backward, &settings)]).expect(&id);
        assert_eq!(gradients[0].len(), settings.len(), "{id}: one result a setting");
        for (setting, gradients) in settings.iter().zip(&gradients[0]) {
            // 15 pixels, alpha 1/2 each: sums of halves are exact in any order.
            assert_eq!(gradients.v_colors, [7.5; 3], "{id}, {setting}");
        }
    }
}

#[test]
fn an_engine_refuses_bad_input_and_goes_on() {
    for found in engines().found {
        let id = found.spec.id().to_owned();
        let program = Program::splatcheck(SPLATCHECK);
        let mut engine = EngineProcess::start(found.spec, program, Limits::default()).expect(&id);
        let mut inputs = one_flat_gaussian();
        inputs.flatten_ids = vec![7];
        let error = engine.rasterize(&[&inputs]).expect_err("there is no Gaussian 7");
        assert!(matches!(error, EngineError::Input(_)), "{id}: {error}");
        assert!(engine.rasterize(&[&one_flat_gaussian()]).is_ok(), "{id} goes on");
    }
}

#[test]
fn devices_lists_what_is_missing_and_succeeds() {
    let output = splatcheck(&["devices"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let heads = ["engine ", "No engine on this machine"];
    assert!(heads.iter().any(|head| text.starts_with(head)), "unhelpful: {text}");
}

#[test]
fn wrong_usage_and_unknown_engines_are_errors_on_standard_error() {
    let output = splatcheck(&["self-check", "--no-such-option"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = splatcheck(&["self-check", "--engine", "no-such-engine"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.starts_with("error: unknown engine 'no-such-engine'"), "unhelpful: {words}");
    assert_eq!(words.lines().count(), 1, "one line: {words}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    let mut child = Command::new(SPLATCHECK)
        .arg("devices")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("splatcheck starts");
    drop(child.stdout.take());
    let mut words = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut words).expect("text");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(2), "cut off is not finished: {words}");
    assert!(!words.contains("panicked"), "{words}");
}

#[test]
fn the_child_refuses_what_is_no_frame() {
    let mut child = Command::new(SPLATCHECK)
        .arg("engine")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("splatcheck starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"hello, is anybody there?").expect("it listens");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("not a frame") && words.contains("hello, i"), "unhelpful: {words}");
    assert!(output.stdout.is_empty(), "nothing but frames on standard output: {output:?}");
}

#[test]
fn the_program_is_found_from_a_test() {
    let program = Program::find().expect("cargo built it beside this test");
    assert!(Path::new(&program.path).is_file(), "{program:?}");
}
