//! Discovery on a machine that a test makes up.

use super::super::protocol::{Answer, RequestRef, encode_response, samples, write_frame};
use super::super::spec::Driver;
use super::*;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn candidate(name: &str, expected: Identity, act: &str) -> Candidate {
    let env = vec![("ACT".into(), act.into())];
    Candidate { name: name.into(), expected, env, broken: None }
}

fn lavapipe(lane_width: u32) -> Identity {
    Identity::Wgpu(Driver::Lavapipe { lane_width })
}

/// A program that does what the candidate's environment says, in a folder with answers.
fn actor(folder: &Path) -> Program {
    let mut description = samples::description();
    for lanes in [4, 8] {
        description.device.lane_width = lanes;
        let answer = Ok(Answer::Info(description.clone()));
        let answer = encode_response(RequestRef::Info, &answer);
        let mut frame = Vec::new();
        write_frame(&mut frame, &answer.unwrap()).unwrap();
        fs::write(folder.join(lanes.to_string()), frame).unwrap();
    }
    let none = Err(EngineError::NoDevice("0 adapters".into()));
    let mut frame = Vec::new();
    write_frame(&mut frame, &encode_response(RequestRef::Info, &none).unwrap()).unwrap();
    fs::write(folder.join("none"), frame).unwrap();
    let text = format!("cd '{}'; eval \"$ACT\"", folder.display());
    Program { path: "sh".into(), args: vec!["-c".into(), text.into()] }
}

#[test]
fn every_candidate_is_found_or_missing_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let other = |name: &str| Identity::Wgpu(Driver::Other { adapter: name.into() });
    let candidates = [
        candidate("lvp 128", lavapipe(4), "cat 4; cat"),
        candidate("lvp 256", lavapipe(8), "cat 8; cat"),
        candidate("lvp 512", lavapipe(16), "cat 8; cat"),
        candidate("radeon", other("radeon"), "cat none; cat"),
        candidate("cuda", Identity::Cuda { fast_math: false }, "cat none; cat"),
        candidate("cuda-fast", Identity::Cuda { fast_math: true }, "cat 4; cat"),
        candidate("crashing", other("crashing"), "kill -ILL $$"),
        candidate("hanging", other("hanging"), "exec sleep 1000"),
        Candidate {
            broken: Some("the library x.so is missing".into()),
            ..candidate("broken", other("broken"), "exit 1")
        },
    ];
    let limits = Limits { open: Duration::from_secs(2), ..Limits::default() };
    let discovery = try_all(&candidates, Vec::new(), &actor(folder.path()), limits);
    let ids: Vec<_> = discovery.found.iter().map(|f| f.spec.id()).collect();
    assert_eq!(ids, ["lavapipe-4", "lavapipe-8"], "{discovery:?}");
    let expected = [
        ("lvp 512", "the same as lavapipe-8"),
        ("radeon", "the driver is installed, and offers no device"),
        ("cuda", "0 adapters"),
        ("cuda-fast", "it answered as Wgpu, expected Cuda"),
        ("crashing", "ended by signal 4 (SIGILL"),
        ("hanging", "no answer within 2 s: killed"),
        ("broken", "the library x.so is missing"),
    ];
    let lost = discovery.missing.iter().filter(|missing| missing.lost);
    let lost: Vec<_> = lost.map(|missing| missing.candidate.as_str()).collect();
    assert_eq!(lost, ["cuda-fast", "crashing", "hanging"], "these were there: {discovery:?}");
    assert_eq!(discovery.missing.len(), expected.len(), "{discovery:?}");
    for (missing, (name, reason)) in discovery.missing.iter().zip(expected) {
        assert_eq!(missing.candidate, name, "order");
        assert!(missing.reason.starts_with(reason), "{name}: {}", missing.reason);
    }
}

#[test]
fn names_select_engines_and_an_unknown_one_lists_them() {
    let found =
        |identity| Found { spec: EngineSpec::new(identity, Vec::new()), info: samples::info() };
    let swiftshader = Identity::Wgpu(Driver::SwiftShader);
    let found = [lavapipe(4), lavapipe(8), swiftshader].map(found).to_vec();
    let cuda = Missing {
        candidate: "cuda".into(),
        reason: "too old".into(),
        advice: None,
        lost: false,
        promised: false,
    };
    let discovery = Discovery { found, missing: vec![cuda] };
    let ids = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|&n| n.to_owned()).collect();
        let found = discovery.select(&names)?;
        Ok(found.into_iter().map(|f| f.spec.id().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(ids(&[]).map(|ids| ids.len()), Ok::<_, NotSelected>(3), "all");
    assert_eq!(ids(&["lavapipe"]).unwrap(), ["lavapipe-4", "lavapipe-8"], "a family");
    assert_eq!(ids(&["swiftshader", "lavapipe-8"]).unwrap(), ["lavapipe-8", "swiftshader"]);
    let error = ids(&["swiftshader", "voodoo"]).unwrap_err().to_string();
    assert!(error.contains("'voodoo'"), "unhelpful: {error}");
    assert!(error.contains("lavapipe-4, lavapipe-8, swiftshader"), "unhelpful: {error}");
    let error = ids(&["cuda"]).unwrap_err().to_string();
    assert_eq!(error, "engine 'cuda' is not available here: too old", "the reason is known");
}

#[test]
fn a_class_without_an_engine_was_asked_for_and_a_driver_without_a_device_was_not() {
    let of = |kind| {
        let info = DeviceInfo { kind, ..samples::info() };
        let emulation = |wgsl_lanes| Emulation { wgsl_lanes, ..Emulation::default() };
        let identity = match kind {
            EngineKind::Emulator => Identity::Emulator(emulation(None)),
            _ => lavapipe(4),
        };
        Found { spec: EngineSpec::new(identity, Vec::new()), info }
    };
    let radeon = Missing {
        candidate: "radeon_icd.json".into(),
        reason: "the driver offers no device".into(),
        advice: None,
        lost: false,
        promised: false,
    };
    let asked = |kinds: &[EngineKind], named| {
        let found = kinds.iter().copied().map(of).collect();
        let discovery = Discovery { found, missing: vec![radeon.clone()] };
        let missing = discovery.missing_requested(named, discovery.found.iter());
        let missing = missing.into_iter().filter(Missing::is_asked_for);
        missing.map(|one| one.candidate).collect::<Vec<_>>()
    };
    let both = [EngineKind::Wgpu, EngineKind::Emulator];
    assert_eq!(asked(&both, false), Vec::<String>::new(), "an engine of each class");
    assert_eq!(asked(&both[1..], false), ["the WGSL kernels"], "no driver");
    assert_eq!(asked(&both[..1], false), ["the CUDA kernels"], "no emulator");
    assert_eq!(asked(&both[1..], true), Vec::<String>::new(), "the emulator was named");
    let emulators = [None, Some(4), Some(8), Some(32), Some(64)].map(|wgsl_lanes| {
        let emulation = Emulation { wgsl_lanes, ..Emulation::default() };
        Found { spec: emulation.spec(), ..of(EngineKind::Emulator) }
    });
    for (drivers, beside) in [
        (0, &["wgsl-emulator-32", "wgsl-emulator-8"][..]),
        (1, &["emulator", "wgsl-emulator-32", "wgsl-emulator-8"][..]),
    ] {
        let found = both[..drivers].iter().copied().map(of).chain(emulators.clone()).collect();
        let discovery = Discovery { found, missing: vec![radeon.clone()] };
        let all = discovery.beside(&[]);
        let ids: Vec<_> = all.iter().map(|found| found.spec.id()).collect();
        assert_eq!(ids, beside, "{drivers} drivers");
        let judge = discovery.select(&[]).unwrap();
        let missing = discovery.missing_requested(false, judge.iter().chain(&all));
        assert!(!missing.iter().any(Missing::is_asked_for), "both languages: {missing:?}");
        assert!(discovery.beside(&["emulator".to_owned()]).is_empty(), "named alone");
    }
    let lost = Missing { lost: true, ..radeon.clone() };
    assert!(lost.is_asked_for(), "it is there");
}
