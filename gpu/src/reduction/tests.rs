use super::*;
use crate::artifact;
use crate::stages::Stage;
use std::collections::HashSet;
use std::path::Path;

#[test]
fn sweep_has_the_ends_and_no_repetition() {
    for w in [4, 8, 16, 32, 64, 128] {
        let sweep = Setting::sweep(w);
        let mut unique = sweep.clone();
        unique.dedup();
        assert_eq!(unique, sweep, "a setting is repeated at warp size {w}");
        for threshold in [0, 1, 2, w / 4, w / 2, w - 1, w, w + 1] {
            for reduction in Reduction::ALL.into_iter().filter(|r| r.has_threshold()) {
                let wanted = Setting { reduction, threshold };
                assert!(sweep.contains(&wanted), "{wanted} is missing at warp size {w}");
            }
        }
        for reduction in [Reduction::Atomic, Reduction::PerGaussian] {
            let settings = sweep.iter().filter(|c| c.reduction == reduction).count();
            assert_eq!(settings, 1, "{reduction} has no threshold to sweep");
        }
        assert!(sweep.iter().all(|c| c.check(w).is_ok()), "a setting is out of range");
    }
}

#[test]
fn all_settings_are_every_threshold_once() {
    let all = Setting::all(4);
    assert_eq!(all.len(), 7 * 6 + 6, "0 to 5 where there is a threshold");
    let unique: HashSet<_> = all.iter().collect();
    assert_eq!(unique.len(), all.len(), "a setting is repeated");
    assert!(all.iter().all(|setting| setting.check(4).is_ok()), "out of range");
    let sweep = Setting::sweep(4);
    assert!(sweep.iter().all(|setting| all.contains(setting)), "the sweep is a part of them");
}

#[test]
fn a_threshold_above_the_range_is_named() {
    let config = Setting { reduction: Reduction::SwB, threshold: 34 };
    let error = config.check(32).expect_err("34 is out of range for 32 lanes");
    assert!(error.to_string().contains("expected 0..=33"), "unhelpful: {error}");
}

#[test]
fn names_round_trip() {
    for reduction in Reduction::ALL {
        assert_eq!(reduction.name().parse(), Ok(reduction), "{reduction} does not parse back");
    }
    let error = "butterfly".parse::<Reduction>().expect_err("no such reduction");
    assert!(
        error
            .to_string()
            .contains("atomic, sw-s, sw-b, subgroup, block, segmented, per-key, per-gaussian"),
        "unhelpful: {error}"
    );
}

/// Whether a folder or one below it has a file of that name.
fn has_file(folder: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(folder).expect("the folder of kernels is readable");
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() { has_file(&path, name) } else { entry.file_name() == name }
    })
}

#[test]
fn names_are_unique_and_spelled_like_identifiers() {
    for (at, reduction) in Reduction::ALL.into_iter().enumerate() {
        let Row { name, spelling, .. } = *reduction.row();
        assert_eq!(spelling, name.replace('-', "_"), "{reduction} in entry points");
        let before = &Reduction::ALL[..at];
        assert!(before.iter().all(|other| other.name() != name), "{name} is there twice");
    }
}

/// Whether a stage has kernels with a reduction.
fn has(stage: &Stage, reduction: Reduction) -> bool {
    stage.reductions().any(|known| known == reduction)
}

#[test]
fn every_reduction_has_its_kernels_in_every_language() {
    let cuda = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/cuda");
    let accumulating: Vec<_> = Stage::all().filter(|stage| stage.accumulates()).collect();
    assert!(!accumulating.is_empty(), "no stage accumulates");
    for reduction in Reduction::ALL {
        let stages = accumulating.iter().filter(|stage| has(stage, reduction));
        let stages: Vec<_> = stages.map(|stage| stage.text.name).collect();
        match reduction.row().kernel {
            Kernel::Any(_) | Kernel::OnlyKeyed => {
                assert!(!stages.is_empty(), "{reduction} ends no kernel");
            }
            Kernel::Own { file, .. } => {
                assert!(!stages.is_empty(), "no stage has a kernel in WGSL for {reduction}");
                for stage in stages {
                    let source = format!("{stage}_{file}.cu");
                    assert!(has_file(&cuda, &source), "{source} is missing");
                }
            }
        }
        let Row { kernel, keyed, .. } = reduction.row();
        for Ending { wgsl, cuda: header } in kernel.ending().into_iter().chain(*keyed) {
            assert!(wgsl.contains("fn "), "{reduction} has no text in WGSL");
            assert!(has_file(&cuda, header), "{header} of {reduction} is missing");
        }
        assert_eq!(
            Reduction::ENDINGS.contains(&reduction),
            reduction.ends_any_kernel(),
            "{reduction} in the list of endings"
        );
    }
}

#[test]
fn every_reduction_has_its_artifacts() {
    let artifacts = artifact::all();
    for stage in Stage::all().filter(|stage| stage.accumulates()) {
        for reduction in Reduction::ALL {
            let mut of = artifacts.iter().filter(|artifact| artifact.stage == stage.name);
            let there = of.any(|artifact| artifact.reduction == Some(reduction));
            let wanted = has(&stage, reduction);
            assert_eq!(there, wanted, "an artifact of {} with {reduction}", stage.name);
        }
    }
}

#[test]
fn the_most_that_a_warp_sends_is_the_most_of_all_groups() {
    for width in [1, 4, 32, 64] {
        // Of runs a warp may have several.
        let mut settings = Setting::sweep(width.max(4));
        settings.retain(|config| !config.reduction.row().sends.adds_up_runs());
        for config in settings {
            let groups = (0..=width).map(|lanes| Group { lanes, alone: true });
            let most = groups.map(|group| config.sends(group)).max();
            let said = config.reduction.row().sends.most(config.threshold);
            let said = said.map_or(width, |said| said.min(width));
            assert_eq!(most, Some(said), "{config} at warp size {width}");
        }
    }
}

#[test]
fn a_workgroup_has_fewer_lanes_where_each_has_more() {
    for reduction in Reduction::ALL {
        let Row { per_lane, batch_size, .. } = *reduction.row();
        let lanes = reduction.lanes(WORKGROUP_SIZE);
        assert_eq!(lanes * per_lane, WORKGROUP_SIZE, "{reduction}: lanes of a workgroup");
        assert!(batch_size <= lanes, "{reduction}: each lane loads one destination of a batch");
    }
    assert_eq!(Reduction::MultiPixel4.lanes(WORKGROUP_SIZE), 64, "four pixels a lane");
}

#[test]
fn groups_beside_others_are_added_up_on_their_own_or_not_at_all() {
    let sent = |reduction, alone| {
        let config = Setting { reduction, threshold: 4 };
        [3, 4, 9].map(|lanes| config.sends(Group { lanes, alone }))
    };
    for reduction in Reduction::ALL {
        let beside = match reduction.row().sends {
            Sends::EveryLane | Sends::OneOfWarp => [3, 4, 9],
            Sends::OneOfGroup | Sends::OneOfRun => [3, 1, 1],
            Sends::AlwaysOne => [1, 1, 1],
        };
        assert_eq!(sent(reduction, false), beside, "{reduction} beside another group");
        assert_eq!(Setting { reduction, threshold: 0 }.sends(NOBODY), 0, "{reduction}");
    }
    assert_eq!(sent(Reduction::SwB, true), [3, 1, 1], "a butterfly alone");
}

const NOBODY: Group = Group { lanes: 0, alone: true };

#[test]
fn runs_are_those_of_neighbouring_lanes() {
    let all = |lanes| -> Vec<u32> { runs(lanes).collect() };
    assert_eq!(all(0), Vec::<u32>::new(), "no lane");
    assert_eq!(all(0b1), [1], "one");
    assert_eq!(all(0b1110_0110_1000), [1, 2, 3], "three runs");
    assert_eq!(all(Lanes::MAX), [128], "all lanes");
    assert_eq!(all(1 | 1 << 127), [1, 1], "both ends");
    assert_eq!(all(3 << 63), [2], "a run over the middle");
    let segmented = |threshold| Setting { reduction: Reduction::Segmented, threshold };
    for (threshold, sent) in [(0, 3), (1, 3), (2, 3), (3, 4), (4, 6)] {
        let found = segmented(threshold).sends_of_lanes(0b1110_0110_1000, true);
        assert_eq!(found, sent, "a value of each run of at least {threshold}");
    }
    let serial = Setting { reduction: Reduction::SwS, threshold: 6 };
    assert_eq!(serial.sends_of_lanes(0b1110_0110_1000, false), 1, "six lanes, wherever they lie");
}

#[test]
fn the_chain_follows_from_what_is_sent() {
    let mut adding = Adding::default();
    adding.workgroup(100, 4);
    adding.workgroup(60, 2);
    let depth = |reduction| Setting { reduction, threshold: 2 }.depth_of(&adding, 32);
    assert_eq!(depth(Reduction::SwS), 31 + 5, "a leader's chain, then six values");
    assert_eq!(depth(Reduction::Segmented), 5 + 5, "a scan, then six values");
    assert_eq!(depth(Reduction::Block), 5 + 3 + 1, "a tree, four values, two workgroups");
    assert_eq!(depth(Reduction::PerKey), 159, "one lane adds all");
    let mut few = Adding::default();
    few.workgroup(3, 2);
    let depth = Setting { reduction: Reduction::SwS, threshold: 2 }.depth_of(&few, 32);
    assert_eq!(depth, 2, "three terms take two additions");
}
