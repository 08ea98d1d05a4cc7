use super::super::samples;
use super::super::wire::canonical;
use super::*;
use splatcheck_gpu::stages::splat::{PROJECT, RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{Data, Engine, OtherBits, Tensor, ThresholdError};

#[test]
fn errors_and_descriptions_round_trip() {
    let errors = [
        EngineError::NoDevice("none\n\"here\"".into()),
        EngineError::Missing { adapter: "a".into(), what: "subgroups".into() },
        EngineError::Compile { kernel: "k".into(), message: "naïve: 3 < 4".into() },
        EngineError::Input("colors".into()),
        EngineError::NotLaunched("no blocks".into()),
        EngineError::Threshold(ThresholdError { threshold: 40, lane_width: 32 }),
        EngineError::LoopLimit { limit: 65_535, needs: u64::MAX },
        EngineError::TooLarge("4 tiles".into()),
        EngineError::Unavailable("full".into()),
        EngineError::Device("lost".into()),
        EngineError::NoEnd("no end within 2s".into()),
        EngineError::Refused("v_conics is missing".into()),
        EngineError::Ended("killed".into()),
        EngineError::NotDeterministic(Box::new(OtherBits {
            element: "v_colors[0, 2]".into(),
            seen: ["1 (0x3f800000)".into(), "2 (0x40000000)".into()],
            runs: ["lockstep".into(), "random:7".into()],
            elements: 3,
        })),
    ];
    for error in errors {
        let frame = encode_response(RequestRef::Info, &Err(error.clone())).unwrap();
        assert_eq!(decode_response(RequestRef::Info, &frame), Ok(Err(error)), "it changed");
    }
    let description = samples::description();
    assert!(!description.unsupported.is_empty(), "there is something to lose");
    let answer = Ok(Answer::Info(description));
    let frame = encode_response(RequestRef::Info, &answer).unwrap();
    assert_eq!(decode_response(RequestRef::Info, &frame), Ok(answer), "the engine changed");
}

/// The words for a description in which `from` was replaced.
fn refused(from: &str, to: &str) -> String {
    let text = serde_json::to_string(&samples::description()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    let mut writer = Writer::default();
    writer.text("version", VERSION);
    writer.text("status", "ok");
    writer.text(ENGINE, text.replace(from, to));
    decode_response(RequestRef::Info, &writer.finish().unwrap()).expect_err(to).0
}

#[test]
fn an_engine_of_unknown_kind_or_arithmetic_is_refused() {
    let error = refused("\"arithmetic\":\"wgsl\"", "\"arithmetic\":\"metal\"");
    let words = "unknown variant `metal`, expected one of `wgsl`, `cuda`, `cuda-fast`";
    assert!(error.contains(words), "unhelpful: {error}");
    let error = refused("\"kind\":\"wgpu\"", "\"kind\":\"opencl\"");
    let words = "unknown variant `opencl`, expected one of `wgpu`, `cuda`, `emulator`";
    assert!(error.contains(words), "unhelpful: {error}");
    let error = refused("\"arithmetic\":\"wgsl\",", "");
    assert!(error.contains("missing field `arithmetic`"), "unhelpful: {error}");
    let error = refused("\"lane_width\":8", "\"lane_width\":0");
    assert_eq!(error, "lane_width is 0");
    let error = refused("\"rasterize_backward\"", "\"rasterise\"");
    assert!(error.contains("unknown stage 'rasterise'"), "unhelpful: {error}");
}

#[test]
fn answers_round_trip_and_must_fit_the_request() {
    for stage in Stage::all() {
        let inputs: Vec<_> = (0..3).map(|n| samples::inputs(stage, n)).collect();
        let settings = samples::settings(stage);
        let work = |inputs| Work { inputs, settings: &settings };
        let jobs: Vec<_> = inputs.iter().map(work).collect();
        let outputs = samples::FakeEngine::default().run(stage, &jobs).unwrap();
        let request = RequestRef::Run { stage, jobs: &jobs };
        let frame = encode_response(request, &Ok(Answer::Run(outputs))).unwrap();
        let back = decode_response(request, &frame).unwrap();
        let second = encode_response(request, &back).unwrap();
        assert!(canonical(&second) == canonical(&frame), "{stage}: outputs changed");

        let swapped: Vec<_> = inputs.iter().rev().map(work).collect();
        let error = decode_response(RequestRef::Run { stage, jobs: &swapped }, &frame);
        let error = error.expect_err("shapes of other inputs");
        assert!(error.0.contains("expected ["), "{stage}: unhelpful: {error}");
        let fewer = RequestRef::Run { stage, jobs: &jobs[..2] };
        let error = decode_response(fewer, &frame).expect_err("an answer to a job more");
        assert!(error.0.starts_with("tensor 2/0/"), "{stage}: unhelpful: {error}");
        for cut in (0..frame.len()).step_by(5) {
            assert!(decode_response(request, &frame[..cut]).is_err(), "{stage}: cut at {cut}");
        }
    }
}

#[test]
fn an_answer_to_another_stage_or_question_is_refused() {
    let inputs = samples::inputs(RASTERIZE_BACKWARD, 2);
    let settings = samples::settings(RASTERIZE_BACKWARD);
    let jobs = [Work { inputs: &inputs, settings: &settings }];
    let outputs = samples::FakeEngine::default().run(RASTERIZE_BACKWARD, &jobs).unwrap();
    let request = RequestRef::Run { stage: RASTERIZE_BACKWARD, jobs: &jobs };
    let frame = encode_response(request, &Ok(Answer::Run(outputs))).unwrap();
    for (stage, words) in [(RASTERIZE, "render_colors is missing"), (PROJECT, "means2d is missing")]
    {
        let inputs = samples::inputs(stage, 2);
        let jobs = [Work { inputs: &inputs, settings: &[None] }];
        let error = decode_response(RequestRef::Run { stage, jobs: &jobs }, &frame);
        let error = error.expect_err("an answer to something else");
        assert!(error.0.contains(words), "unhelpful: {error}");
    }
    let error = decode_response(RequestRef::Info, &frame).expect_err("no description");
    assert_eq!(error.0, "metadata engine is missing");
    let other = encode_response(request, &Ok(Answer::Info(samples::description())));
    assert_eq!(other.expect_err("it was asked to run").0, "the answer is to another question");
}

/// The frame of an answer that an engine could give, whatever it is.
fn unchecked(outputs: &[Vec<Tensors>]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.text("version", VERSION);
    writer.text("status", "ok");
    for (job, outputs) in outputs.iter().enumerate() {
        for (setting, outputs) in outputs.iter().enumerate() {
            writer.tensors(&format!("{job}/{setting}/"), outputs);
        }
    }
    writer.finish().unwrap()
}

#[test]
fn a_wrong_name_type_shape_or_count_is_refused_on_both_ends() {
    for stage in Stage::all() {
        let inputs = samples::inputs(stage, 3);
        let jobs = [Work { inputs: &inputs, settings: &samples::settings(stage)[..1] }];
        let right = samples::FakeEngine::default().run(stage, &jobs).unwrap().remove(0).remove(0);
        let first = stage.outputs[0].name;
        let longer = Tensor::new("it", vec![7], Data::F32(vec![0.0; 7])).expect("seven");
        let with = |name: &'static str, tensor: &Tensor| {
            let mut changed = right.clone();
            changed.insert(name, tensor.clone());
            changed
        };
        let mut renamed = Tensors::new();
        for (name, tensor) in right.iter() {
            let name = if name == first { "it".to_owned() } else { name.to_owned() };
            renamed.insert(name, tensor.clone());
        }
        for (what, answer, words) in [
            ("name", vec![vec![renamed]], "is missing"),
            ("type", vec![vec![samples::of_other_type(&right)]], ", expected "),
            ("one more", vec![vec![with("it", &longer)]], "0/0/it is not expected"),
            ("no setting", vec![vec![]], ""),
            ("no job", vec![], ""),
            ("two settings", vec![vec![right.clone(), right.clone()]], ""),
            ("two jobs", vec![vec![right.clone()], vec![right.clone()]], ""),
        ] {
            let request = RequestRef::Run { stage, jobs: &jobs };
            let error = decode_response(request, &unchecked(&answer)).expect_err(what);
            assert!(error.0.contains(words), "{stage}, {what}: unhelpful: {error}");
            let error = encode_response(request, &Ok(Answer::Run(answer))).expect_err(what);
            assert!(error.0.contains(words), "{stage}, {what}: unhelpful: {error}");
        }
        let request = RequestRef::Run { stage, jobs: &jobs };
        let port = stage.outputs.iter().find(|port| port.dtype == splatcheck_gpu::Dtype::F32);
        let name = port.expect("every stage computes floats").name;
        let error = decode_response(request, &unchecked(&[vec![with(name, &longer)]]));
        let error = error.expect_err("seven numbers in a row");
        let words = format!("0/0/{name} has the shape [7], expected [");
        assert!(error.0.starts_with(&words), "{stage}: unhelpful: {error}");
    }
}
