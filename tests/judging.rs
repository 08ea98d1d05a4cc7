//! The judge against engines without a device: the oracle's own f32 instance agrees everywhere,
//! and planted defects are found, named and made small.

use splatcheck_gpu::stages::splat::PROJECT_BACKWARD;
use splatcheck_gpu::{Reduction, Setting, Stage};
use splatcheck_judge::campaign::Fault;
use splatcheck_judge::engines::Missing;
use splatcheck_judge::minimize::shrink;
use splatcheck_judge::report::{Detail, Report, verdicts};
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::{AnyCase, Drawn};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{Defect, corpus, judge, judge_stages};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::generators::draw;
use splatcheck_workloads::splat::splat_case;
use std::time::Duration;

fn random(count: u64) -> Vec<Case> {
    (0..count)
        .flat_map(|i| {
            [Profile::Inria, Profile::Gsplat].map(|profile| draw(profile, 99, i).current())
        })
        .collect()
}

/// The splat case that a campaign held.
fn splat_of(case: &AnyCase) -> &Case {
    splat_case(case).expect("the cases are splats")
}

#[test]
fn the_oracles_own_f32_instance_agrees_on_the_corpus_and_on_random_scenes() {
    let mut cases = corpus();
    cases.extend(random(60));
    let report = judge_stages(Defect::None, &cases, (Stage::all().collect(), Setting::sweep(8)));
    assert_eq!(report.verdict(), Verdict::Agree, "{}", verdicts(std::slice::from_ref(&report)));
    for row in report.rows.values() {
        assert!(row.tally.sharpness.max <= 1.0, "an agreeing element lies outside its bound");
    }
}

/// One setting for each reduction is enough where the defect does not depend on it.
fn one_setting() -> Vec<Setting> {
    vec![Setting { reduction: Reduction::SwB, threshold: 4 }]
}

#[test]
fn every_planted_defect_is_found_where_it_is() {
    let cases = corpus();
    for (defect, output) in [
        (Defect::LostLane(0), None),
        (Defect::LostLane(137), None),
        (Defect::LostLane(255), None),
        (Defect::LostChannel(2), Some("v_colors")),
        (Defect::LastContributor, Some("last_ids")),
        (Defect::NoBackground, Some("render_colors")),
        (Defect::NotANumber, Some("v_means2d")),
        (Defect::DeviceCoordinates, Some("v_means2d")),
        (Defect::HalfOffDiagonal, Some("v_conics")),
        (Defect::LostGaussian(0), Some("v_viewmats")),
        (Defect::LostGaussian(17), Some("v_viewmats")),
        (Defect::LastCamera, None),
        (Defect::FirstViewmat, Some("v_viewmats")),
        (Defect::ThreeChannels, Some("v_colors")),
        (Defect::OtherClampGradient, None),
        (Defect::NoPhase, None),
        (Defect::LowerDegree, None),
    ] {
        let report = judge(defect, &cases, one_setting());
        assert_eq!(report.verdict(), Verdict::Disagree, "{defect:?} went unnoticed");
        for finding in &report.findings {
            let Fault::Difference(difference) = &finding.fault else {
                panic!("{defect:?}: {:?} is no difference", finding.fault)
            };
            assert!(difference.ratio() > 1.0, "{defect:?}: {difference} is inside its bound");
            if let Some(output) = output {
                assert_eq!(difference.output, output, "{defect:?} shows elsewhere: {difference}");
            }
        }
    }
}

#[test]
fn a_defect_at_one_threshold_is_found_by_the_sweep_and_named() {
    let cases = random(10);
    let report = judge(Defect::LostLaneAtThreshold(17, 7), &cases, Setting::sweep(8));
    assert_eq!(report.verdict(), Verdict::Disagree, "the sweep missed threshold 7");
    for finding in &report.findings {
        let setting = finding.setting.expect("a backward finding");
        assert_eq!(setting.threshold, 7, "another threshold is blamed");
    }
}

#[test]
fn a_lost_lane_is_found_in_most_random_scenes() {
    // A lane is lost in every tile; a scene in which its pixels show nothing cannot tell.
    let cases = random(40);
    let found = cases
        .iter()
        .filter(|case| {
            judge(Defect::LostLane(0), std::slice::from_ref(case), one_setting()).verdict()
                == Verdict::Disagree
        })
        .count();
    assert!(2 * found > cases.len(), "only {found} of {} scenes show a lost lane", cases.len());
}

#[test]
fn what_failed_is_made_small() {
    let defect = Defect::LostLane(0);
    let tree = || {
        (0..).map(|i| draw(Profile::Inria, 3, i)).find(|tree| {
            let case = tree.current();
            case.scene.gaussians.len() > 10
                && judge(defect, &[case], one_setting()).verdict() == Verdict::Disagree
        })
    };
    let tree = tree().expect("some scene shows the defect");
    let small = shrink(Box::new(Drawn(tree)), &mut |case| {
        judge(defect, &[splat_of(case).clone()], one_setting()).verdict() == Verdict::Disagree
    });
    let small = splat_of(&small);
    assert!(small.scene.gaussians.len() <= 2, "{} Gaussians left", small.scene.gaussians.len());
    let pixels = small.scene.width * small.scene.height;
    assert!(pixels <= 4, "{pixels} pixels left");
}

#[test]
fn a_failing_projection_is_made_small() {
    let cases: Vec<Case> = corpus().into_iter().filter(|case| case.name == "two-cameras").collect();
    assert!(cases[0].scene.gaussians.len() > 1, "there must be something to leave out");
    for defect in [Defect::LastCamera, Defect::FirstViewmat] {
        let report = judge(defect, &cases, one_setting());
        assert!(!report.findings.is_empty(), "{defect:?} went unnoticed");
        for finding in &report.findings {
            assert_eq!(finding.stage, PROJECT_BACKWARD, "{defect:?} shows elsewhere");
            let scene = &splat_of(&finding.case).scene;
            assert_eq!(scene.gaussians.len(), 1, "{defect:?}: one would do");
            assert_eq!(scene.cameras.len(), 2, "{defect:?}: the cameras stay");
        }
    }
}

#[test]
fn an_engine_that_gives_nothing_is_given_up_and_the_rest_is_not_exercised() {
    let report = judge(Defect::Broken, &corpus(), one_setting());
    assert_eq!(report.verdict(), Verdict::Disagree, "a fault is no pass");
    let reason = report.given_up.as_deref().expect("it was given up");
    assert!(reason.contains("planted"), "the reason is lost: {reason}");
    let not_exercised: u64 = report.rows.values().map(|row| row.count(Verdict::NotExercised)).sum();
    assert!(not_exercised > 0, "what was not run must be counted");
}

#[test]
fn a_crash_that_does_not_come_again_is_a_finding() {
    let report = judge(Defect::DiesOnce, &corpus(), one_setting());
    assert_eq!(report.verdict(), Verdict::Disagree, "an engine that died once is no pass");
    assert_eq!(report.given_up, None, "it works again");
    let [finding] = &report.findings[..] else { panic!("one finding: {:?}", report.findings) };
    let told = finding.fault.to_string();
    assert!(told.contains("it died") && told.contains("each by itself did not fail"), "{told}");
}

#[test]
fn the_text_of_a_report() {
    let cases: Vec<Case> = corpus().into_iter().filter(|case| case.name == "tile-corner").collect();
    let mut reports = [Defect::None, Defect::LostLane(0)].map(|d| judge(d, &cases, one_setting()));
    for (report, tenths) in reports.iter_mut().zip([0, 15]) {
        report.busy = Duration::from_millis(100 * tenths);
    }
    let files = [Vec::new(), vec!["splatcheck-out/it's here.safetensors".to_owned(); 9]];
    let absent = "the CUDA driver is not found (libcuda.so.1)";
    let died = "it died: ended by signal 4 (SIGILL)";
    let missing = [("cuda", absent), ("cuda-fast", absent), ("lavapipe-16", died)];
    let missing = missing.map(|(id, reason)| Missing {
        candidate: id.to_owned(),
        reason: reason.to_owned(),
        advice: None,
        lost: reason == died,
        promised: false,
    });
    let report = Report::new(&reports, &missing, &files);
    let [verdict, engines, rows] =
        [Detail::Verdict, Detail::Engines, Detail::Rows].map(|detail| report.text(detail));
    insta::assert_snapshot!(engines);
    insta::assert_snapshot!("the_text_of_a_report_in_full", rows);
    let findings = &engines[engines.find("\nDISAGREE").expect("one")..];
    let first = engines.lines().next().expect("the verdict");
    assert_eq!(verdict, format!("{first}\n{findings}"), "the verdict and the findings alone");
}
