//! That the counts of splats' atomics are those of the emulator.

use std::path::Path;

use splatcheck_emulator::{InstructionClass, Report};
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{Engine, Stage, Work};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::synthetic::frustum;

use crate::splat::case::Case;
use crate::splat::contributions::Contributions;
use crate::splat::stage::{FORMULATED, RasterStage, STANDARD};
use rayon::prelude::*;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::traffic::{Counts, Traffic};

fn corpus_stage(name: &str) -> RasterStage {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora/splat");
    let case = crate::splat::files::corpus::read_corpus_case(&path.join(format!("{name}.toml")));
    RasterStage::new(&case.expect("a scene of the corpus"), 0).expect("few pairs")
}

fn counts(stage: &RasterStage, lane_width: u32) -> Counts {
    Counts::new(&Contributions::new(stage, lane_width).expect("a valid stage"))
}

/// Overlapping Gaussians over partial tiles, more of them than a batch.
pub(crate) fn crowd() -> RasterStage {
    let case = Case {
        name: "crowd".into(),
        id: None,
        purpose: "more Gaussians than a batch".into(),
        hazards: Vec::new(),
        convention: Convention::gsplat(),
        scene: frustum(500, 37, 21, 3),
    };
    RasterStage::new(&case, 0).expect("few pairs")
}

/// All thresholds of all reductions of a stage.
fn every_setting(stage: Stage) -> Vec<Setting> {
    stage.settings(&Setting::all(32)).into_iter().flatten().collect()
}

/// The emulator's counts are these, address by address; whether `block` sent every sum.
fn compare(name: &str, traffic: &Traffic, report: &Report) -> bool {
    let setting = traffic.setting;
    let chains = |chains: &[u32]| -> Vec<u32> {
        let sent = chains.iter().filter(|&&chain| chain > 0);
        sent.flat_map(|&chain| std::iter::repeat_n(chain, traffic.values as usize)).collect()
    };
    let [global, shared] = [&report.global_atomics, &report.shared_atomics].map(|atomics| {
        let mut lanes = atomics.lanes.clone();
        lanes.resize(33, 0);
        (lanes, atomics.operations)
    });
    let found: Vec<u32> = report.chains.values().copied().collect();
    assert_eq!(shared.0, traffic.shared.lanes, "{name}, {setting}: lanes of shared atomics");
    assert_eq!(shared.1, traffic.shared.operations(), "{name}, {setting}: shared operations");
    let same = global.0 == traffic.global.lanes && found == chains(&traffic.chains);
    if setting.reduction == Reduction::Block {
        let most = traffic.global.operations();
        assert!(global.1 <= most, "{name}, {setting}: {} operations, at most {most}", global.1);
    } else {
        assert_eq!(global.0, traffic.global.lanes, "{name}, {setting}: lanes of global atomics");
        assert_eq!(global.1, traffic.global.operations(), "{name}, {setting}: operations");
        assert!(same, "{name}, {setting}: chains differ");
    }
    same
}

/// What a setting's kernel did: its warp-wide instructions, and the shuffles that are said of it.
pub(crate) type Ran = (Setting, u64, Option<u64>);

/// Of one run.
pub(crate) fn ran(counts: &Counts, setting: Setting, report: &Report) -> Ran {
    let warp = report.instructions.get(&InstructionClass::Warp).map_or(0, |count| count.warps);
    (setting, warp, counts.shuffles(setting))
}

/// A kernel's shuffles, votes and matches beyond those of the threshold that no group reaches are the
/// shuffles that are said of it; how many settings were compared.
pub(crate) fn check_shuffles(name: &str, all: &[Ran]) -> usize {
    let mut compared = 0;
    for &(setting, warp, said) in
        all.iter().filter(|(setting, ..)| setting.reduction.has_threshold())
    {
        let never = Setting { threshold: 33, ..setting };
        let Some((_, without, none)) = all.iter().find(|(other, ..)| *other == never) else {
            continue;
        };
        assert_eq!(*none, Some(0), "{name}, {never}: nothing is added up");
        assert_eq!(said, Some(warp - without), "{name}, {setting}: shuffles");
        compared += 1;
    }
    compared
}

#[test]
fn counts_are_those_of_the_emulator() {
    // Whether some sum of `block` comes out as exactly zero and is not sent.
    let scenes = [
        ("every-leader-lane", false),
        ("one-to-sixteen-lanes", false),
        ("early-stop-in-a-subgroup", false),
        ("image-33x31", true),
        ("list-of-257", false),
        ("channels-5", false),
        ("checkerboard", false),
        ("crowd", false),
    ];
    scenes.into_par_iter().for_each(|(name, zeros)| {
        let stage = if name == "crowd" { crowd() } else { corpus_stage(name) };
        let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("always there");
        let standard = stage.inputs.tensors().expect("a valid stage");
        for judged in [STANDARD].into_iter().chain(FORMULATED) {
            let steps = Contributions::new(&stage, 32).expect("a valid stage");
            let counts = Counts::new(&steps.walking(judged.1.walk()));
            let inputs = stage.inputs_of(judged, &standard).expect("a valid stage");
            let mut all = Vec::new();
            for setting in every_setting(judged.0) {
                let traffic = counts.traffic(setting).expect("in range");
                let work = Work { inputs: &inputs, settings: &[Some(setting)] };
                engine.run(judged.0, &[work]).expect("correct kernels");
                let same = compare(name, &traffic, engine.report());
                let fewer = zeros && setting.reduction == Reduction::Block;
                let known = judged == STANDARD || !zeros;
                assert!(!known || same != fewer, "{name}, {}, {setting}: atomics", judged.0);
                all.push(ran(&counts, setting, engine.report()));
            }
            let compared = check_shuffles(&format!("{name}, {}", judged.0), &all);
            assert!(judged != STANDARD || compared > 0, "{name}: settings with a threshold");
        }
    });
}

#[test]
fn additions_do_not_depend_on_the_lane_width_where_lanes_are_alone() {
    let stage = crowd();
    let at = |lane_width, reduction, threshold| {
        counts(&stage, lane_width).traffic(Setting { reduction, threshold }).expect("in range")
    };
    let plain = at(32, Reduction::Atomic, 0);
    let contributing = counts(&stage, 32).contributing();
    assert_eq!(plain.global.operations(), 9 * contributing, "9 for each pair");
    for lane_width in [4, 8, 16, 64] {
        let other = at(lane_width, Reduction::Atomic, 0);
        assert_eq!(other.chains, plain.chains, "atomic at {lane_width} lanes");
        assert_eq!(at(lane_width, Reduction::Block, 0).chains, at(32, Reduction::Block, 7).chains);
        let never = at(lane_width, Reduction::SwB, lane_width + 1);
        assert_eq!(never.global, other.global, "never reducing is atomic, {lane_width} lanes");
        let always = at(lane_width, Reduction::SwB, 0);
        assert_eq!(always.chains, at(lane_width, Reduction::PerGaussian, 0).chains, "one a warp");
        assert!((always.lanes_per_atomic() - 1.0).abs() < f64::EPSILON, "one lane sends");
    }
    let longest = plain.chains.iter().max();
    assert_eq!(Some(&plain.longest_chain()), longest, "the longest");
    assert!(plain.mean_chain() > 1.0 && plain.mean_chain() < f64::from(plain.longest_chain()));
}

#[test]
fn a_threshold_out_of_range_is_named() {
    let counts = counts(&corpus_stage("empty"), 8);
    let setting = |reduction| Setting { reduction, threshold: 10 };
    let error = counts.traffic(setting(Reduction::SwS)).expect_err("10 of 8 lanes");
    assert!(error.to_string().contains("expected 0..=9"), "unhelpful: {error}");
    let atomic = counts.traffic(setting(Reduction::Atomic)).expect("no threshold");
    assert_eq!((atomic.global.issued(), atomic.longest_chain()), (0, 0), "nothing to send");
    assert_eq!((atomic.mean_chain(), atomic.lanes_per_atomic()), (0.0, 0.0), "nor to divide");
}
