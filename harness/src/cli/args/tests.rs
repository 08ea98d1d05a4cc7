//! From typed words to plans.

use splatcheck_gpu::{Arithmetic, DeviceInfo, EngineKind, FloatAtomics, Reduction, Setting};

use super::*;
use crate::cli::check::CheckPlan;
use crate::cli::command::ProgramArgs;
use crate::cli::exit::one_line;
use crate::cli::options::{ConventionName, ReadingArgs, Subject};
use crate::cli::output::OutputArgs;
use crate::cli::replay::ReplayArgs;
use splatcheck_judge::engines::{Discovery, Driver, EngineSpec, Found, Identity};

fn machine() -> Discovery {
    let found = |lane_width: u32| Found {
        spec: EngineSpec::new(Identity::Wgpu(Driver::Lavapipe { lane_width }), Vec::new()),
        info: DeviceInfo {
            adapter: "llvmpipe".into(),
            driver: "Mesa".into(),
            backend: "vulkan".into(),
            kind: EngineKind::Wgpu,
            arithmetic: Arithmetic::Wgsl,
            lane_width,
            float_atomics: FloatAtomics::Native,
            exp_of_zero_is_one: true,
            loop_limit: splatcheck_gpu::LoopLimit::NotMeasured,
        },
    };
    Discovery { found: [4, 8].map(found).to_vec(), missing: Vec::new() }
}

fn check(words: &[&str]) -> Result<CheckPlan, String> {
    plans(words).map(|mut plans| plans.remove(0))
}

/// The plans of every workload, at least one.
fn plans(words: &[&str]) -> Result<Vec<CheckPlan>, String> {
    let words = ["splatcheck", "self-check"].iter().chain(words);
    let cli = Cli::try_parse_from(words).map_err(|e| e.to_string())?;
    let Command::SelfCheck(typed) = cli.command else { return Err(format!("{:?}", cli.command)) };
    typed.resolve(&machine()).map_err(|e| one_line(&e))
}

#[test]
fn every_workload_is_judged_where_nothing_is_of_one() {
    let of = |words: &[&str]| {
        let plans = plans(words).unwrap_or_else(|e| panic!("{words:?}: {e}"));
        let cases = |plan: &CheckPlan| match plan.subject {
            Subject::Campaign { cases, .. } => cases,
            Subject::Case(_) | Subject::Scene(_) => panic!("a campaign"),
        };
        plans.iter().map(|plan| (plan.workload.name(), cases(plan))).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), [("splat", 200), ("scatter", 25), ("grid", 25)], "few of the others");
    assert_eq!(of(&["--cases", "0"]), [("splat", 0), ("scatter", 0), ("grid", 0)], "the corpora");
    let all = [("splat", 200), ("scatter", 200), ("grid", 200)];
    assert_eq!(of(&["--workload", "all"]), all, "as was asked");
    assert_eq!(of(&["--workload", "scatter"]), [("scatter", 200)], "one");
    assert_eq!(of(&["--convention", "inria"]), [("splat", 200)], "sums have no convention");
}

#[test]
fn the_definition_is_consistent() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}

#[test]
fn self_check_judges_all_of_it() {
    let plan = check(&[]).unwrap();
    assert_eq!(plan.engines.len(), 2, "all engines");
    assert_eq!(plan.settings(8), Setting::sweep(8), "the whole sweep");
    assert!(
        matches!(plan.subject, Subject::Campaign { cases: 200, seed: 0, .. }),
        "defaults: {:?}",
        plan.subject
    );
}

#[test]
fn chosen_settings_replace_the_sweep() {
    let plan = check(&["--reduction", "sw-b", "--reduction", "atomic", "--threshold", "3"]);
    let settings: Vec<_> = plan.unwrap().settings(8).iter().map(ToString::to_string).collect();
    assert_eq!(settings, ["atomic", "sw-b threshold 3"], "in the order of reports");
    let plan = check(&["--reduction", "sw-s"]).unwrap();
    assert!(plan.settings(4).iter().all(|s| s.reduction == Reduction::SwS), "only sw-s");
    let plan = check(&["--engine", "lavapipe-8", "--threshold", "9", "--threshold", "0"]).unwrap();
    assert_eq!(plan.thresholds, Some(vec![0, 9]), "in range for 8 lanes");
}

#[test]
fn what_cannot_be_followed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    for (words, expected) in [
        (vec!["--engine", "cuda"], "found on this machine: lavapipe-4, lavapipe-8"),
        (vec!["--reduction", "butterfly"], "expected one of atomic, sw-s, sw-b"),
        (vec!["--threshold", "9"], "engine lavapipe-4: threshold 9 is out of range"),
        (vec!["--threshold", "9"], "expected 0..=5"),
        (vec!["--threshold", "-1"], "--threshold"),
        (vec!["--reduction", "atomic", "--threshold", "1"], "no threshold with --reduction atomic"),
        (vec!["--cases", "4294967296"], "4294967296"),
        (vec!["--ply", "scene.ply"], "--cameras"),
        (vec!["--ply", "no.ply", "--cameras", "no.json"], "--ply no.ply: cannot open"),
        (vec!["--case", file], "ends in .safetensors or .toml"),
        (vec!["--case", "no.toml"], "--case no.toml: cannot open"),
        (vec!["--case", "no.toml", "--cases", "3"], "cannot be used with"),
        (vec!["--out", file], "is a file, expected a folder"),
        (vec!["--corpus", "/nowhere"], "--corpus /nowhere: cannot list"),
        (vec!["--convention", "nerf"], "inria, gsplat"),
        (vec!["extra"], "extra"),
    ] {
        let error = check(&words).expect_err(&words.join(" "));
        assert!(error.contains(expected), "{words:?}: {error}");
    }
}

#[test]
fn replay_and_render_check_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.safetensors");
    std::fs::write(&file, "").unwrap();
    let shown = OutputArgs::default();
    let typed = ReplayArgs {
        file: file.clone(),
        engine: Vec::new(),
        program: ProgramArgs::default(),
        shown,
    };
    let plan = typed.resolve(&machine()).unwrap();
    assert_eq!(plan.engines, None, "the one recorded");
    let typed = ReplayArgs {
        file: "no.toml".into(),
        engine: Vec::new(),
        program: ProgramArgs::default(),
        shown,
    };
    let error = one_line(&typed.resolve(&machine()).unwrap_err());
    assert!(error.contains("replay no.toml: cannot open"), "{error}");
    let typed = RenderArgs {
        ply: file.clone(),
        cameras: file,
        camera: None,
        reading: ReadingArgs::default(),
        output: folder.path().join("image.jpg"),
        convention: ConventionName::Gsplat,
    };
    let error = one_line(&typed.resolve().unwrap_err());
    assert!(error.contains("ends in .png"), "{error}");
}
