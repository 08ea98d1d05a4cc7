//! Cases that are more than a driver can do: they are not exercised there, with the limit as the
//! reason, and never judged by what came back.

use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{
    DeviceInfo, Engine, EngineError, LoopLimit, Reduction, Setting, Stage, Tensors, Work,
};
use splatcheck_judge::campaign::{Contender, Hooks, as_it_is, run};
use splatcheck_judge::gate::{Evidence, FailOn, Gate};
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::{AnyCase, views};
use splatcheck_tests::{Defect, Mirror, Said, corpus, say};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// One tile whose pixels see `seen` Gaussians, with `hidden` more in its list that none sees.
fn one_tile(seen: u32, hidden: u32, channels: usize) -> String {
    let mut text = String::from(
        "purpose = \"a long list\"\nconvention = \"inria\"\ntransmittance_min = 0.0\nwidth = 16\n\
         height = 16\nloss = { seed = 1, magnitude = 1.0 }\n\n[[camera]]\nfx = 16.0\nfy = 16.0\n\
         cx = 8.0\ncy = 8.0\n",
    );
    let color = vec!["0.5"; channels].join(", ");
    // A hidden Gaussian's alpha is below the cut at 1/255, and its depth is within the others'.
    let halves = [hidden / 2, hidden - hidden / 2].map(|repeat| (repeat, 0.002, 3.0));
    for (repeat, opacity, z) in halves.into_iter().chain([(seen, 0.0079, 4.0), (1, 0.5, 32.0)]) {
        if repeat > 0 {
            let _ = write!(
                text,
                "\n[[gaussian]]\nmean = [0.0, 0.0, {z:?}]\nquat = [1.0, 0.0, 0.0, 0.0]\n\
                 scale = [16.0, 16.0, 16.0]\nopacity = {opacity}\ncolor = [{color}]\n\
                 repeat = {repeat}\n"
            );
        }
    }
    text
}

/// Whether both engines are here; where not, says so loudly.
fn both_engines(test: &str) -> bool {
    let devices = say(Path::new("."), &["devices"]).out;
    let found =
        ["lavapipe-8", "swiftshader"].iter().all(|id| devices.contains(&format!("\n{id} ")));
    if !found {
        println!(
            "NOT EXERCISED: {test}: lavapipe with 8 lanes or SwiftShader is missing\n{devices}"
        );
    }
    found
}

/// `check` on the case with `block` on both engines: what it says, and its files for programs.
fn check(case: &str, more: &[&str]) -> (Said, String) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("long.toml"), case).expect("it is written");
    let mut words =
        vec!["self-check", "--case", "long.toml", "--reduction", "block", "--threshold", "0"];
    words.extend(["--engine", "lavapipe-8", "--engine", "swiftshader"]);
    words.extend(["--json", "out.json", "--junit", "out.xml"]);
    words.extend(more);
    let said = say(folder.path(), &words);
    let files = ["out.json", "out.xml"].map(|name| fs::read_to_string(folder.path().join(name)));
    (said, files.map(|text| text.expect("it is written")).concat())
}

#[test]
fn devices_name_the_loop_limit() {
    if !both_engines("devices_name_the_loop_limit") {
        return;
    }
    let text = say(Path::new("."), &["devices"]).out;
    let line = |id: &str| text.lines().find(|line| line.starts_with(id)).unwrap_or_default();
    assert!(line("lavapipe-8").ends_with("65535 steps in all"), "{text}");
    assert!(line("swiftshader").ends_with("none to 4194304 steps"), "{text}");
    assert!(text.contains("one that need not, and so would never end,\n  disagrees"), "{text}");
}

/// The two cases that a right kernel was accused of on lavapipe.
#[test]
fn a_kernel_whose_loops_the_driver_leaves_is_not_exercised() {
    if !both_engines("a_kernel_whose_loops_the_driver_leaves_is_not_exercised") {
        return;
    }
    let place = "NOT EXERCISED: lavapipe-8: rasterize_backward, block; lavapipe-8: \
                 rasterize_backward_buffer, block: 1 run: ";
    let reason = "the driver's loop limit (65535 steps; this case needs up to ";
    for (seen, channels) in [(326, 32), (2587, 3)] {
        let (said, files) = check(&one_tile(seen, 0, channels), &[]);
        assert_eq!(said.code, Some(0), "{seen} Gaussians, {channels} channels: {said:?}");
        said.prints(&format!("{place}{reason}"));
        assert!(!said.out.contains("NOT EXERCISED: swiftshader"), "{said:?}");
        assert!(said.out.starts_with("agree: 2 engines"), "{said:?}");
        assert!(files.contains("\"loop_limit\": \"65535 steps in all\""), "{files}");
        assert!(files.contains(&format!("\"reason\": \"{reason}")), "JSON: {files}");
        let skipped = "<skipped message=\"not exercised in 1 run: the driver&apos;s loop limit";
        assert!(files.contains(skipped), "JUnit: {files}");
    }
    let (said, _) = check(&one_tile(326, 0, 32), &["--fail-on", "not-exercised"]);
    assert_eq!(said.code, Some(1), "a gate may insist: {said:?}");
    let words = "lavapipe-8: rasterize_backward, block was not exercised in 1 run: the driver's";
    assert!(format!("{}{}", said.out, said.err).contains(words), "{said:?}");
}

/// What stays below the limit is judged, though its bound does not rule the limit out.
#[test]
fn a_kernel_that_stays_below_the_limit_is_judged() {
    if !both_engines("a_kernel_that_stays_below_the_limit_is_judged") {
        return;
    }
    let (said, _) = check(&one_tile(300, 0, 32), &["--fail-on", "not-exercised"]);
    let fails: Vec<_> = said.out.lines().filter(|line| line.starts_with("FAILS: ")).collect();
    let rotations = fails.iter().filter(|line| line.contains(": v_quats of project_backward: "));
    assert_eq!(rotations.count(), fails.len(), "spheres alone, and nothing else fails: {said:?}");
    assert!(!said.out.contains("NOT EXERCISED: lavapipe"), "{said:?}");
}

/// A place of a list is a step of `rasterize` at least.
#[test]
fn a_list_longer_than_the_limit_is_not_exercised() {
    if !both_engines("a_list_longer_than_the_limit_is_not_exercised") {
        return;
    }
    let (said, _) = check(&one_tile(3, 70_000, 1), &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let words = "NOT EXERCISED: lavapipe-8: rasterize: 1 run: the driver's loop limit (65535 steps; \
                 this case needs up to 210";
    said.prints(words);
    assert!(!said.out.contains("NOT EXERCISED: swiftshader"), "{said:?}");
}

/// The mirror as a device whose driver leaves loops: `block` reaches the limit, and the forward stage is
/// beyond what the device takes.
struct Limited {
    mirror: Mirror,
    info: DeviceInfo,
}

impl Engine for Limited {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let block = |s: &Option<Setting>| s.is_some_and(|s| s.reduction == Reduction::Block);
        if stage == RASTERIZE {
            return Err(EngineError::TooLarge("no tile".to_owned()));
        }
        if stage == RASTERIZE_BACKWARD && work.iter().any(|w| w.settings.iter().any(block)) {
            assert_eq!(work.len(), 1, "what may reach the limit has a request of its own");
            return Err(EngineError::LoopLimit { limit: 0, needs: 7 });
        }
        self.mirror.run(stage, work)
    }
}

#[test]
fn runs_beyond_a_limit_cost_no_other_run_and_no_engine_its_place() {
    let mirror = Mirror::new(8, Defect::None);
    // Every run may reach a limit of 0 steps.
    let info = DeviceInfo { loop_limit: LoopLimit::InAll(0), ..mirror.info().clone() };
    let settings = [Reduction::Block, Reduction::SwB];
    let contender = Contender {
        id: "limited".to_owned(),
        emulation: None,
        engine: Box::new(Limited { mirror, info }),
        stages: vec![RASTERIZE, RASTERIZE_BACKWARD],
        settings: settings.map(|reduction| Setting { reduction, threshold: 0 }).to_vec(),
    };
    let cases: Vec<_> = corpus().into_iter().take(6).map(|c| Arc::new(c) as AnyCase).collect();
    let runs = views(cases.clone()).count() as u64;
    let reports = run(views(cases), vec![contender], Hooks::new(&as_it_is)).expect("legal cases");
    let report = &reports[0];
    assert_eq!((report.findings.len(), &report.given_up), (0, &None), "nothing is wrong");
    let row = |stage, reduction| &report.rows[&(stage, reduction)];
    let block = (RASTERIZE_BACKWARD, Some(Reduction::Block));
    assert_eq!(row(block.0, block.1).count(Verdict::NotExercised), runs, "block");
    assert_eq!(row(RASTERIZE, None).count(Verdict::NotExercised), runs, "forward");
    assert!(row(block.0, Some(Reduction::SwB)).count(Verdict::Agree) > 0, "others are judged");
    assert_eq!(report.limited[&block].runs, runs, "counted with the limit");
    let words = format!("{runs} runs: too large: no tile");
    assert_eq!(report.limited[&(RASTERIZE, None)].to_string(), words, "the reason");

    let evidence = Evidence::new(&reports, &[]);
    assert!(Gate::default().conclude(&evidence).reasons.is_empty(), "no failure");
    let gate = Gate { fail_on: [FailOn::NotExercised].into(), ..Gate::default() };
    let reasons = gate.conclude(&evidence).reasons;
    let words = format!("limited: rasterize was not exercised in {words}");
    assert!(reasons.contains(&words), "{reasons:?}");
}
