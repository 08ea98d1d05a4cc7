use std::fs;
use std::path::Path;
use std::time::Instant;

use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{Data, Tensors};

use super::super::protocol::{encode_response, samples, write_frame};
use super::super::spec::{Driver, Identity};
use super::*;

fn script(text: &str) -> Program {
    Program { path: "sh".into(), args: vec!["-c".into(), text.into()] }
}

fn spec() -> EngineSpec {
    EngineSpec::new(Identity::Wgpu(Driver::Other { adapter: "fake".into() }), Vec::new())
}

fn quick() -> Limits {
    let time = Duration::from_millis(300);
    Limits { open: time, ..Limits::of_requests(time) }
}

/// A job without a setting.
fn alone(inputs: &Tensors) -> Work<'_> {
    Work { inputs, settings: &[None] }
}

/// What starting the script fails with. The limit is long unless the script is to hang.
fn failure(text: &str, limits: Limits) -> String {
    let start = Instant::now();
    let error = EngineProcess::start(spec(), script(text), limits).expect_err(text);
    assert!(matches!(error, EngineError::Device(_)), "{text}: {error:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{text} took too long");
    error.to_string()
}

#[test]
fn a_crash_is_reported_with_signal_and_last_words() {
    let text = failure("echo 'about to crash' >&2; kill -SEGV $$", Limits::default());
    assert!(text.contains("wgpu:fake: ended by signal 11 (SIGSEGV)"), "unhelpful: {text}");
    assert!(text.ends_with("its last words: about to crash"), "unhelpful: {text}");
}

#[test]
fn an_early_exit_is_reported_with_its_code() {
    let text = failure("exit 7", Limits::default());
    assert!(text.contains("ended with exit code 7 without an answer"), "unhelpful: {text}");
    assert!(text.ends_with("it left no message"), "unhelpful: {text}");
}

#[test]
fn a_hang_is_killed() {
    let text = failure("echo thinking >&2; exec sleep 1000", quick());
    assert!(text.contains("no answer within 0.3 s: killed"), "unhelpful: {text}");
    assert!(text.ends_with("thinking"), "unhelpful: {text}");
}

#[test]
fn a_large_frame_has_more_time() {
    let limits = Limits::default();
    assert_eq!(limits.of_frame(0), Duration::from_secs(120), "a small one");
    assert_eq!(limits.of_frame(3 << 20), Duration::from_secs(150), "10 s for each MiB");
    assert_eq!(quick().of_frame(64 << 20), quick().request, "a time that was typed is that time");
}

#[test]
fn a_child_that_closes_its_output_and_lingers_is_killed() {
    let text = failure("exec >&-; exec sleep 1000", Limits::default());
    assert!(text.contains("closed its output without an answer: killed"), "{text}");
}

#[test]
fn garbage_is_shown() {
    let text = failure("echo 'Driver version 1.0'", Limits::default());
    assert!(text.contains("something else than a frame"), "unhelpful: {text}");
    assert!(text.contains("Driver v"), "unhelpful: {text}");
    let text = failure(
        r"printf '\003\000\000\000\000\000\000\000abc'; cat > /dev/null",
        Limits::default(),
    );
    assert!(text.contains("its answer was not understood, killed"), "unhelpful: {text}");
}

#[test]
fn a_missing_program_is_named() {
    let program = Program { path: "/nowhere/splatcheck".into(), args: Vec::new() };
    let error = EngineProcess::start(spec(), program, quick()).expect_err("no program");
    assert!(error.to_string().contains("cannot start /nowhere/splatcheck"), "{error}");
}

/// A script that answers the first request with a device and then does `rest`.
fn opens_and_then(folder: &Path, rest: &str) -> Program {
    let answer = Ok(Answer::Info(samples::description()));
    let mut frame = Vec::new();
    let body = encode_response(RequestRef::Info, &answer).unwrap();
    write_frame(&mut frame, &body).unwrap();
    fs::write(folder.join("info"), frame).unwrap();
    script(&format!("cd '{}'; cat info; {rest}", folder.display()))
}

#[test]
fn after_a_failure_the_next_request_starts_a_fresh_child() {
    let folder = tempfile::tempdir().unwrap();
    let program = opens_and_then(folder.path(), "echo x >> starts; exec sleep 1000");
    let limits = Limits { open: Duration::from_secs(20), ..quick() };
    let mut engine = EngineProcess::start(spec(), program, limits).unwrap();
    assert_eq!(engine.info(), &samples::info(), "the device");
    let inputs = samples::inputs(RASTERIZE, 2);
    for _ in 0..2 {
        let error = engine.run(RASTERIZE, &[alone(&inputs)]).expect_err("it never answers");
        assert!(error.to_string().contains("no answer within"), "unhelpful: {error}");
    }
    let starts = fs::read_to_string(folder.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2, "one start, one restart");
    assert_eq!(engine.deaths(), 2, "both are counted");
}

#[test]
fn a_request_larger_than_the_pipe_to_a_deaf_child_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let program = opens_and_then(folder.path(), "exec sleep 1000");
    let limits = Limits { open: Duration::from_secs(20), ..quick() };
    let mut engine = EngineProcess::start(spec(), program, limits).unwrap();
    let inputs = samples::inputs(RASTERIZE, 5000);
    let error = engine.run(RASTERIZE, &[alone(&inputs)]).expect_err("it never reads");
    assert!(error.to_string().contains("no answer within"), "unhelpful: {error}");
}

#[test]
fn contradictory_inputs_do_not_cost_the_child() {
    let folder = tempfile::tempdir().unwrap();
    let program = opens_and_then(folder.path(), "exec sleep 1000");
    let mut engine = EngineProcess::start(spec(), program, Limits::default()).unwrap();
    let mut inputs = samples::inputs(RASTERIZE, 2);
    inputs.array("background", &[0], Data::F32(Vec::new())).expect("it is empty");
    let error = engine.run(RASTERIZE, &[alone(&inputs)]).expect_err("no background");
    assert!(matches!(&error, EngineError::Input(text) if text.contains("0/background")));
    assert!(engine.running.is_some(), "nothing was sent, so the child goes on");
    assert_eq!(engine.run(RASTERIZE, &[]), Ok(Vec::new()), "nothing to do");
}

#[test]
fn what_an_engine_lacks_is_known_without_asking_again() {
    let folder = tempfile::tempdir().unwrap();
    // It stays: one that ends before it is asked is another failure.
    let program = opens_and_then(folder.path(), "exec sleep 1000");
    let engine = EngineProcess::start(spec(), program, Limits::default()).unwrap();
    let lacking = engine.supports(RASTERIZE_BACKWARD, Some(samples::LACKING));
    assert_eq!(lacking, Support::No(samples::REASON.to_owned()), "the engine's words");
    assert_eq!(engine.supports(RASTERIZE_BACKWARD, Some(Reduction::Atomic)), Support::Yes, "has");
    assert_eq!(engine.supports(RASTERIZE, None), Support::Yes, "has");
}

/// A script that answers the first request with a device and the second with the frame of these
/// outputs, whatever they are.
fn answers(folder: &Path, outputs: &Tensors) -> Program {
    let program = opens_and_then(folder, "sleep 0.1; cat run; exec sleep 1000");
    let tensors = outputs.iter().map(|(name, tensor)| (format!("0/0/{name}"), tensor));
    let views: Vec<_> = tensors
        .map(|(name, tensor)| {
            let dtype = match tensor.data() {
                Data::F32(_) => safetensors::Dtype::F32,
                Data::I32(_) => safetensors::Dtype::I32,
                Data::U32(_) => safetensors::Dtype::U32,
            };
            let bytes = bytemuck::cast_slice(tensor.words());
            let view = safetensors::tensor::TensorView::new(dtype, tensor.shape().to_vec(), bytes);
            (name, view.expect("a tensor fills its shape"))
        })
        .collect();
    let texts = [("version", "5"), ("status", "ok")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let body = safetensors::serialize(views, Some(texts.into())).unwrap();
    let mut frame = Vec::new();
    write_frame(&mut frame, &body).unwrap();
    fs::write(folder.join("run"), frame).unwrap();
    program
}

#[test]
fn outputs_that_do_not_fit_the_stage_are_a_failure_of_the_engine() {
    let inputs = samples::inputs(RASTERIZE, 2);
    let run = |outputs: &Tensors| {
        let folder = tempfile::tempdir().unwrap();
        let program = answers(folder.path(), outputs);
        let mut engine = EngineProcess::start(spec(), program, Limits::default()).unwrap();
        engine.run(RASTERIZE, &[alone(&inputs)])
    };
    let mut fake = samples::FakeEngine::default();
    let right = fake.run(RASTERIZE, &[alone(&inputs)]).unwrap().remove(0).remove(0);
    assert!(run(&right).is_ok(), "what fits is taken");

    let mut short = right.clone();
    short.array("render_alphas", &[1], Data::F32(vec![0.5])).expect("one");
    let mut unknown = right.clone();
    unknown.scalar("depth", 0.5_f32);
    let other = samples::of_other_type(&right);
    for (outputs, words) in [
        (short, "0/0/render_alphas has the shape [1], expected ["),
        (unknown, "tensor 0/0/depth is not expected"),
        (other, "0/0/render_colors is u32, expected f32"),
        (Tensors::new(), "tensor 0/0/render_colors is missing"),
    ] {
        let error = run(&outputs).expect_err(words);
        assert!(matches!(error, EngineError::Device(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("its answer was not understood, killed: "), "unhelpful: {text}");
        assert!(text.contains(words), "'{text}' does not say '{words}'");
    }
}
