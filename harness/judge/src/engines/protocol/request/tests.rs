use super::super::samples;
use super::super::wire::canonical;
use super::*;
use splatcheck_gpu::stages::splat::{PROJECT, RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{Data, Tensor};

/// Four jobs of a stage with every one of its settings.
fn jobs(stage: Stage) -> Vec<Job> {
    let job = |n| Job { inputs: samples::inputs(stage, n), settings: samples::settings(stage) };
    (0..4).map(job).collect()
}

fn frame(stage: Stage, jobs: &[Job]) -> Vec<u8> {
    let jobs: Vec<_> = jobs.iter().map(Job::work).collect();
    encode_request(RequestRef::Run { stage, jobs: &jobs }).expect("the samples fit their stage")
}

/// The bits of every array, by name; NaN differs from itself.
fn bits(tensors: &Tensors) -> Vec<(String, Vec<usize>, Vec<u32>)> {
    let of = |(name, tensor): (&str, &Tensor)| {
        (name.to_owned(), tensor.shape().to_vec(), tensor.words().to_vec())
    };
    tensors.iter().map(of).collect()
}

#[test]
fn requests_round_trip_to_the_bit() {
    let info = encode_request(RequestRef::Info).expect("it has no arrays");
    assert_eq!(decode_request(&info), Ok(Request::Info), "info changed");
    for stage in Stage::all() {
        let sent = jobs(stage);
        let first = frame(stage, &sent);
        let Ok(Request::Run { stage: same, jobs: back }) = decode_request(&first) else {
            panic!("{stage}: not a request to run: {:?}", decode_request(&first));
        };
        assert_eq!((same, back.len()), (stage, sent.len()), "stage and jobs");
        for (before, after) in sent.iter().zip(&back) {
            assert_eq!(bits(&before.inputs), bits(&after.inputs), "{stage}: bits changed");
            assert_eq!(before.settings, after.settings, "{stage}: settings changed");
        }
        assert!(canonical(&frame(stage, &back)) == canonical(&first), "{stage} changed");
    }
}

#[test]
fn timing_requests_round_trip() {
    for stage in Stage::all() {
        let job = jobs(stage).remove(2);
        let request = RequestRef::Time { stage, job: job.work(), repeats: 50 };
        let frame = encode_request(request).expect("it fits");
        let Ok(Request::Time { stage: same, job: back, repeats: 50 }) = decode_request(&frame)
        else {
            panic!("{stage}: not a request of 50 timed runs");
        };
        assert_eq!((same, &back.settings), (stage, &job.settings), "stage and settings");
        let request = RequestRef::Time { stage, job: back.work(), repeats: 50 };
        let second = encode_request(request).expect("it fits");
        assert!(canonical(&second) == canonical(&frame), "{stage}: inputs changed");
    }
}

#[test]
fn contradictions_are_named() {
    let error = |stage: Stage, name: &'static str, shape: &[usize]| {
        let mut inputs = samples::inputs(stage, 3);
        let data = Data::F32(vec![0.5; shape.iter().product()]);
        inputs.array(name, shape, data).expect("it fits its shape");
        let jobs = [Work { inputs: &inputs, settings: &[None] }];
        encode_request(RequestRef::Run { stage, jobs: &jobs }).expect_err(name).0
    };
    let text = error(RASTERIZE, "opacities", &[2]);
    assert_eq!(text, "0/opacities has the shape [2], expected [N], N = 3");
    let text = error(PROJECT, "scales", &[3, 2]);
    assert_eq!(text, "0/scales has the shape [3, 2], expected [N, 3], N = 3");
    let text = error(RASTERIZE, "flatten_ids", &[4]);
    assert_eq!(text, "0/flatten_ids is f32, expected u32");
    let text = error(RASTERIZE, "albedo", &[3]);
    assert!(text.starts_with("0/albedo is not expected: there are width,"), "unhelpful: {text}");
    let jobs = [Work { inputs: &Tensors::new(), settings: &[] }];
    let error = encode_request(RequestRef::Run { stage: RASTERIZE, jobs: &jobs });
    assert_eq!(error.expect_err("nothing is there").0, "0/width is missing");
}

#[test]
fn damaged_frames_never_panic() {
    for stage in Stage::all() {
        let frame = frame(stage, &jobs(stage)[2..]);
        for cut in (0..frame.len()).step_by(7) {
            assert!(decode_request(&frame[..cut]).is_err(), "{stage}: cut at {cut} was accepted");
        }
        for at in 0..frame.len().min(6000) {
            for change in [1, 0x80] {
                let mut damaged = frame.clone();
                damaged[at] ^= change;
                // Whether it still means something depends on the byte.
                let _ = decode_request(&damaged);
            }
        }
    }
}

/// Changes the header of a frame and returns why it is refused.
fn refused(frame: &[u8], from: &str, to: &str) -> String {
    let header = usize::try_from(u64::from_le_bytes(frame[..8].try_into().unwrap())).unwrap();
    let text = String::from_utf8(frame[8..8 + header].to_vec()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    let changed = text.replace(from, to);
    let mut lying = (changed.len() as u64).to_le_bytes().to_vec();
    lying.extend_from_slice(changed.as_bytes());
    lying.extend_from_slice(&frame[8 + header..]);
    decode_request(&lying).expect_err(to).0
}

#[test]
fn lies_are_refused_by_name() {
    let all = jobs(RASTERIZE_BACKWARD);
    let frame = frame(RASTERIZE_BACKWARD, &all[..2]);
    for (from, to, words) in [
        ("\"jobs\":\"2\"", "\"jobs\":\"18446744073709551615\"", "metadata 2/settings is missing"),
        ("\"jobs\":\"2\"", "\"jobs\":\"1\"", "is not expected"),
        ("\"jobs\":\"2\"", "\"jobs\":\"-1\"", "metadata jobs is '-1'"),
        ("atomic 0", "atomic x", "has 'atomic x'"),
        ("atomic 0", "atomik 0", "has 'atomik 0'"),
        ("\"version\":\"5\"", "\"version\":\"2\"", "protocol version 2"),
        ("\"op\":\"run\"", "\"op\":\"walk\"", "unknown operation 'walk'"),
        ("\"rasterize_backward\"", "\"rasterise\"", "unknown stage 'rasterise'"),
        ("\"rasterize_backward\"", "\"rasterize\"", "is not expected"),
        ("\"rasterize_backward\"", "\"project\"", "tensor 0/coefficients is missing"),
        ("\"1/means2d\"", "\"1/means3d\"", "tensor 1/means2d is missing"),
        (
            "\"1/opacities\":{\"dtype\":\"F32\"",
            "\"1/opacities\":{\"dtype\":\"I32\"",
            "1/opacities is i32, expected f32",
        ),
        (
            "\"1/opacities\":{\"dtype\":\"F32\",\"shape\":[1]",
            "\"1/opacities\":{\"dtype\":\"F32\",\"shape\":[1,1]",
            "1/opacities has the shape [1, 1], expected [N], N = 1",
        ),
        (
            "\"1/opacities\":{\"dtype\":\"F32\",\"shape\":[1]",
            "\"1/opacities\":{\"dtype\":\"BF16\",\"shape\":[2]",
            "tensor 1/opacities is BF16, no type of 32 bits",
        ),
    ] {
        let error = refused(&frame, from, to);
        assert!(error.contains(words), "{to}: '{error}' does not say '{words}'");
    }
}
