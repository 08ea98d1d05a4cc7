//! The gate: what stops a build, what does not, and the files that CI systems read.

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::campaign::{EngineReport, Finding};
use splatcheck_judge::engines::Missing;
use splatcheck_judge::gate::{
    Conclusion, Evidence, FailOn, Gate, KnownFailure, KnownFailures, Provenance, Role, SourceFile,
    Summary, junit, step_summary,
};
use splatcheck_judge::verdict::Verdict;
use splatcheck_tests::{Defect, corpus, has_engine, judge, root, say};
use std::fs;

fn judged(defect: Defect, case: &str) -> EngineReport {
    let cases: Vec<_> = corpus().into_iter().filter(|c| c.name == case).collect();
    assert_eq!(cases.len(), 1, "one case is named {case}");
    judge(defect, &cases, vec![Setting { reduction: Reduction::SwB, threshold: 4 }])
}

fn known(report: &EngineReport, finding: &Finding) -> KnownFailure {
    KnownFailure {
        adapter: report.info.adapter.clone(),
        driver: report.info.driver.clone(),
        stage: finding.stage.to_string(),
        reduction: finding.setting.map_or("-".to_owned(), |s| s.reduction.to_string()),
        reason: "the driver loses a lane".to_owned(),
    }
}

fn gate(failures: Vec<KnownFailure>) -> Gate {
    Gate { known: KnownFailures { failures }, ..Gate::default() }
}

/// Something that the command promises and that is not here.
fn missing() -> Missing {
    let [candidate, reason] = ["the CUDA kernels", "no libcuda"].map(str::to_owned);
    Missing { candidate, reason, advice: None, lost: false, promised: true }
}

fn summary(gate: &Gate, reports: &[EngineReport], missing: &[Missing]) -> (Conclusion, Summary) {
    let evidence = Evidence::new(reports, missing);
    let conclusion = gate.conclude(&evidence);
    let file = |report: &EngineReport| vec!["out/it.safetensors".to_owned(); report.findings.len()];
    let files: Vec<_> = reports.iter().map(file).collect();
    let summary = Summary::new(gate, &conclusion, &evidence, &files);
    (conclusion, summary)
}

/// What a report of a kernel may be of.
fn provenance() -> Provenance {
    let run = Provenance {
        entry_points: vec!["k_1".to_owned()],
        files: vec![SourceFile::new(Role::Program, "a/k.ptx", b"abc")],
        command: vec!["ptx".to_owned(), "a/k.ptx".to_owned()],
        seed: Some(7),
        date: Some("2026-11-25T23:00:00Z".to_owned()),
        ..Provenance::of("k_1 of a/k.ptx")
    };
    let left_out = "NOT EXERCISED: 10 cases with another number of channels than 3".to_owned();
    run.told(&["rasterize_backward is k_1".to_owned()], &[left_out])
}

#[test]
fn a_disagreement_fails_unless_it_is_known_on_exactly_that_driver() {
    let report = judged(Defect::LostLane(0), "tile-corner");
    let entry = known(&report, report.findings.first().expect("a lost lane is found"));
    let reports = [report];
    assert!(
        !gate(Vec::new()).conclude(&Evidence::new(&reports, &[])).reasons.is_empty(),
        "it fails"
    );

    let excused = gate(vec![entry.clone()]).conclude(&Evidence::new(&reports, &[]));
    assert_eq!(excused.reasons, Vec::<String>::new(), "it is known");
    assert_eq!(excused.excused.len(), 1, "and said once: {:?}", excused.excused);

    for other in [
        KnownFailure { driver: "another version".to_owned(), ..entry.clone() },
        KnownFailure { reduction: "sw-s".to_owned(), ..entry.clone() },
        KnownFailure { stage: "rasterize".to_owned(), ..entry },
    ] {
        let reasons = gate(vec![other.clone()]).conclude(&Evidence::new(&reports, &[])).reasons;
        assert!(!reasons.is_empty(), "{other:?} excuses what it does not name");
    }
}

#[test]
fn a_known_failure_that_passes_again_fails_the_run() {
    let bad = judged(Defect::LostLane(0), "tile-corner");
    let entry = known(&bad, &bad.findings[0]);
    let good = judged(Defect::None, "tile-corner");
    let conclusion =
        gate(vec![entry.clone()]).conclude(&Evidence::new(std::slice::from_ref(&good), &[]));
    assert_eq!(
        conclusion.reasons,
        ["mirror: rasterize_backward, sw-b passes again: delete the known failure (the driver \
          loses a lane)"],
        "it expires"
    );
    // What did not run did not pass.
    let elsewhere = KnownFailure { adapter: "another".to_owned(), ..entry };
    let conclusion = gate(vec![elsewhere]).conclude(&Evidence::new(&[good], &[]));
    let agrees = Conclusion {
        verdict: Verdict::Agree,
        reasons: Vec::new(),
        faults: Vec::new(),
        excused: Vec::new(),
        gaps: Vec::new(),
        observed: false,
        interrupted: false,
    };
    assert_eq!(conclusion, agrees, "not here");
}

#[test]
fn fail_on_adds_what_is_neither_agreement_nor_disagreement() {
    let fail_on = |verdict| Gate { fail_on: [verdict].into(), ..Gate::default() };
    // Sums that may overflow have no finite bound; an image without Gaussians has no gradients.
    for (case, missing, verdict, words) in [
        ("empty", vec![], FailOn::NotExercised, "nothing was compared"),
        (
            "tile-corner",
            vec![missing()],
            FailOn::NotExercised,
            "the CUDA kernels were not exercised: no libcuda",
        ),
    ] {
        let reports = [judged(Defect::None, case)];
        assert_eq!(
            Gate::default().conclude(&Evidence::new(&reports, &missing)).reasons.len(),
            0,
            "{case} passes"
        );
        let reasons =
            fail_on(verdict).conclude(&Evidence::new(&reports, &missing)).reasons.join("; ");
        assert!(reasons.contains(words), "{case}: {reasons}");
    }
    let reports = [judged(Defect::None, "tile-corner")];
    let not_found = [Missing { promised: false, ..missing() }];
    let gate = fail_on(FailOn::NotExercised);
    let reasons = gate.conclude(&Evidence::new(&reports, &not_found)).reasons.join("; ");
    assert!(!reasons.contains("CUDA"), "what nobody asked for: {reasons}");
    let mut reports = reports;
    let row = reports[0].rows.values_mut().next().expect("a stage ran");
    row.runs = [(Verdict::Inconclusive, 3)].into();
    assert_eq!(
        Gate::default().conclude(&Evidence::new(&reports, &[])).reasons.len(),
        0,
        "not by itself"
    );
    let reasons = fail_on(FailOn::Inconclusive).conclude(&Evidence::new(&reports, &[])).reasons;
    assert_eq!(reasons, ["mirror: project is inconclusive in 3 runs"], "asked for");
    let broken = [judged(Defect::Broken, "tile-corner")];
    assert!(
        !Gate::default().conclude(&Evidence::new(&broken, &[])).reasons.is_empty(),
        "no result is no pass"
    );
}

#[test]
fn junit_says_what_failed_what_was_skipped_and_why() {
    let reports = [judged(Defect::LostLane(0), "tile-corner")];
    let (conclusion, summary) = summary(&Gate::default(), &reports, &[missing()]);
    let report = Report::deserialize(junit(&summary).as_bytes()).expect("it is JUnit XML");
    let names: Vec<_> = report.test_suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["mirror", "not exercised", "gate"], "the suites");
    assert_eq!((report.tests, report.failures), (7, 1 + conclusion.reasons.len()), "the counts");
    let cases = &report.test_suites[0].test_cases;
    assert!(matches!(cases[1].status, TestCaseStatus::Success { .. }), "rasterize agrees");
    let TestCaseStatus::NonSuccess { kind, description, .. } = &cases[2].status else {
        panic!("{:?} is no failure", cases[2])
    };
    assert_eq!(*kind, NonSuccessKind::Failure, "a disagreement, not an error");
    let text = description.as_ref().expect("a description").as_str();
    assert!(text.contains("splatcheck replay out/it.safetensors"), "no way back: {text}");
}

#[test]
fn the_suites_of_two_kernels_have_different_names_and_say_what_they_are_of() {
    let reports = [judged(Defect::None, "tile-corner")];
    let (_, summary) = summary(&Gate::default(), &reports, &[missing()]);
    let run = provenance();
    let other = Provenance { subject: "k_2 of a/k.ptx".to_owned(), ..run.clone() };
    let [one, other] = [run, other].map(|run| {
        let xml = junit(&summary.clone().of(run));
        Report::deserialize(xml.as_bytes()).expect("it is JUnit XML")
    });
    let names = |report: &Report| -> Vec<(String, String)> {
        let cases = |suite: &quick_junit::TestSuite| -> Vec<(String, String)> {
            let class = |case: &quick_junit::TestCase| {
                case.classname.as_ref().map(|class| class.as_str().to_owned())
            };
            let name = |case| (class(case).unwrap_or_default(), case.name.as_str().to_owned());
            suite.test_cases.iter().map(name).collect()
        };
        report.test_suites.iter().flat_map(cases).collect()
    };
    let (one_names, other_names) = (names(&one), names(&other));
    assert_eq!(one_names[0].0, "k_1 of a/k.ptx: mirror", "the kernel and the engine");
    assert!(one_names.iter().all(|name| !other_names.contains(name)), "{one_names:?}");
    let left_out = "10 cases with another number of channels than 3";
    assert!(one_names.iter().any(|(_, name)| name == left_out), "{one_names:?}");
    let facts: Vec<_> =
        one.test_suites[0].properties.iter().map(|p| p.value.as_str().to_owned()).collect();
    for fact in ["splatcheck ptx a/k.ptx", "7", "2026-11-25T23:00:00Z", "k_1"] {
        assert!(facts.iter().any(|known| known == fact), "no {fact}: {facts:?}");
    }
}

#[test]
fn names_that_xml_has_no_characters_for_leave_it_well_formed() {
    let reports = [judged(Defect::LostLane(0), "tile-corner")];
    let (_, mut summary) = summary(&Gate::default(), &reports, &[]);
    summary.engines[0].findings[0].case = "a\u{FFFE}\u{FFFF}\u{0}\u{1b}[2mb".to_owned();
    let xml = junit(&summary);
    // Char of XML 1.0, section 2.2.
    let is_char = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    assert!(xml.chars().all(is_char), "{xml:?}");
    assert!(xml.contains(r"case a\u{fffe}\u{ffff}\u{0}\u{1b}[2mb"), "{xml}");
}

#[test]
fn a_known_failure_is_skipped_with_its_reason() {
    let report = judged(Defect::LostLane(0), "tile-corner");
    let gate = gate(vec![known(&report, &report.findings[0])]);
    let (_, summary) = summary(&gate, &[report], &[]);
    assert!(summary.pass, "{:?}", summary.reasons);
    let report = Report::deserialize(junit(&summary).as_bytes()).expect("it is JUnit XML");
    let TestCaseStatus::Skipped { message, .. } = &report.test_suites[0].test_cases[2].status
    else {
        panic!("{:?} is not skipped", report.test_suites[0].test_cases[2])
    };
    let message = message.as_ref().expect("a message").as_str();
    assert_eq!(message, "known failure: the driver loses a lane", "why");
}

#[test]
fn a_stage_that_is_inconclusive_in_every_run_is_skipped() {
    let report = judged(Defect::LostLane(0), "tile-corner");
    let (_, mut summary) = summary(&Gate::default(), &[report], &[]);
    let status = |summary: &Summary| {
        let report = Report::deserialize(junit(summary).as_bytes()).expect("it is JUnit XML");
        report.test_suites[0].test_cases[0].status.clone()
    };
    for (runs, skipped) in [
        (vec![("agree", 1)], false),
        (vec![("agree", 1), ("inconclusive", 1)], false),
        (vec![("inconclusive", 2)], true),
    ] {
        let runs = runs.into_iter().map(|(verdict, count)| (verdict.to_owned(), count));
        summary.engines[0].rows[0].runs = runs.collect();
        let status = status(&summary);
        assert_eq!(matches!(status, TestCaseStatus::Skipped { .. }), skipped, "{status:?}");
    }
}

#[test]
fn json_and_markdown_hold_the_report() {
    let reports = [judged(Defect::NotANumber, "tile-corner")];
    let (_, summary) = summary(&Gate::default(), &reports, &[missing()]);
    let json: serde_json::Value = serde_json::from_str(&summary.json()).expect("it is JSON");
    let element = &json["engines"][0]["findings"][0]["element"];
    assert_eq!(element["value"], "NaN", "JSON has no NaN");
    assert_eq!(json["pass"], false, "the result");
    assert_eq!(json["engines"][0]["rows"][2]["runs"]["disagree"], 1, "the counts");
    let page = step_summary(&summary.of(provenance()));
    insta::assert_snapshot!(page.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn the_files_are_written_by_check() {
    if !has_engine("the_files_are_written_by_check") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/one-pixel.toml");
    let case = case.to_str().expect("a plain name");
    fs::write(folder.path().join("page.md"), "before\n").expect("written");
    let plain = ["self-check", "--case", case, "--reduction", "atomic"];
    let files = ["--json", "a.json", "--junit", "a.xml", "--step-summary", "page.md"];
    say(folder.path(), &[&plain[..], &files].concat()).exits(0);
    let read = |name| fs::read_to_string(folder.path().join(name)).expect("it is there");
    let json: serde_json::Value = serde_json::from_str(&read("a.json")).expect("it is JSON");
    assert_eq!(json["pass"], true, "{json}");
    Report::deserialize(read("a.xml").as_bytes()).expect("it is JUnit XML");
    let page = read("page.md");
    assert!(page.starts_with("before\n## splatcheck passes: agree"), "appended: {page}");
}

#[test]
fn a_campaign_and_its_joined_parts_are_gates_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    // Sums that overflow in some orders have infinite bounds.
    let fuzz = [
        "fuzz",
        "--engine",
        "emulator",
        "--generator",
        "overflow",
        "--cases",
        "4",
        "--out",
        "part",
    ];
    let gate = ["--fail-on", "inconclusive", "--junit", "a.xml", "--json", "a.json"];
    let merge = ["merge", "part", "-o", "whole"];
    for command in [&fuzz[..], &merge[..]] {
        let said = say(folder.path(), &[command, &gate[..]].concat()).exits(1);
        said.prints("\nFAILS: emulator: rasterize_backward, ");
        for file in ["a.xml", "a.json"] {
            let file = folder.path().join(file);
            let text = fs::read_to_string(&file).expect("it was written");
            assert!(text.contains("is inconclusive in"), "{text}");
            fs::remove_file(file).expect("it was there");
        }
    }
}

#[test]
fn a_stage_that_a_campaign_leaves_out_is_no_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    // On the cases of `range` only the rasterization is run.
    let fuzz = ["fuzz", "--engine", "emulator", "--generator", "range", "--cases", "4"];
    say(folder.path(), &fuzz).exits(0);
    let gate = say(folder.path(), &[&fuzz[..], &["--fail-on", "not-exercised"]].concat()).exits(1);
    let reason = "FAILS: emulator: project_backward was not exercised: it was not run";
    gate.prints(reason);
}

#[test]
fn a_gate_that_cannot_be_followed_is_refused_before_anything_runs() {
    if !has_engine("a_gate_that_cannot_be_followed_is_refused_before_anything_runs") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("known.toml"), "[[failure]]\n").expect("written");
    for (args, words) in [
        (["--known-failures", "known.toml"], "adapter"),
        (["--known-failures", "nowhere.toml"], "nowhere.toml"),
        (["--json", "no/a.json"], "--json"),
        (["--fail-on", "everything"], "everything"),
    ] {
        let said = say(folder.path(), &[&["self-check", "--cases", "1"], &args[..]].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.err.contains(words), "{args:?} does not say '{words}': {}", said.err);
    }
}
