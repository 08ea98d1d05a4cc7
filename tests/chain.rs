//! `--chain own`: a backward pass that goes on from its own forward pass must decide as that did.

use splatcheck::cli::fuzz::{self, FuzzPlan, Limit};
use splatcheck::cli::gate::GatePlan;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::stages::splat::{
    RASTERIZE, RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_BUFFER, RASTERIZE_BACKWARD_REPLAY,
};
use splatcheck_gpu::{DeviceInfo, Engine, EngineError, Reduction, Setting, Stage, Tensors, Work};
use splatcheck_judge::campaign::{
    Chain, Contender, EngineReport, Fault, Hooks, Item, Share, judge, smaller,
};
use splatcheck_judge::engines::Limits;
use splatcheck_judge::gate::{Evidence, Gate, Summary, junit};
use splatcheck_judge::report::Detail;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::{AnyCase, Notes};
use splatcheck_tests::{Defect, Mirror, compiled, corpus, root, say};
use splatcheck_workloads::fuzz::{Plan, Shard};
use splatcheck_workloads::read_case;
use splatcheck_workloads::splat::Splat;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::chained::as_noted;
use splatcheck_workloads::splat::stage::{FORMULATED, STANDARD};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The threshold that a nudged backward pass has, above its forward pass's.
const ULPS: u32 = 2;

/// A case in which a Gaussian of opacity `alpha_min` is so wide that its alpha is that, up to the roundings
/// of an exponential, at every pixel: it is visible or not, as the threshold has it.
fn on_the_edge() -> Case {
    let mut case = corpus().into_iter().find(|case| case.name == "opacity-at-the-cut").expect("it");
    case.scene.gaussians.scales[0] = [2e4, 2e4, 0.75];
    case
}

/// Judges an engine on a case.
fn judged_on(
    engine: Box<dyn Engine + Send>,
    reduction: Reduction,
    case: &AnyCase,
    (chain, stages): (Chain, &[Stage]),
) -> EngineReport {
    let contender = Contender {
        id: "planted".to_owned(),
        emulation: None,
        engine,
        stages: stages.to_vec(),
        settings: vec![Setting { reduction, threshold: 0 }],
    };
    let item = Item::new(Arc::clone(case), 0).expect("few pairs");
    judge(contender, &[item], Hooks { chain, ..Hooks::new(&smaller) })
}

/// Judges a mirror on a case.
fn judged(defect: Defect, case: &AnyCase, chain: Chain, stages: &[Stage]) -> EngineReport {
    let mirror = Box::new(Mirror::new(8, defect));
    judged_on(mirror, Reduction::Subgroup, case, (chain, stages))
}

fn runs(report: &EngineReport, stage: Stage, verdict: Verdict) -> u64 {
    let rows = report.named_rows().filter(|(name, ..)| *name == stage.name);
    rows.map(|(.., row)| row.count(verdict)).sum()
}

/// Its numbers lie within the bounds of the oracle's forward pass, and its forward pass is right: only
/// together are they wrong.
#[test]
fn a_backward_pass_with_another_threshold_shows_after_its_own_forward_pass_only() {
    let case: AnyCase = Arc::new(on_the_edge());
    let stages = [RASTERIZE, RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_BUFFER];
    let nudged = Defect::BackwardThreshold(ULPS);
    for (defect, chain, expected) in [
        (Defect::None, Chain::Oracle, Verdict::Agree),
        (Defect::None, Chain::Own, Verdict::Agree),
        (nudged, Chain::Oracle, Verdict::Agree),
        (nudged, Chain::Own, Verdict::Disagree),
    ] {
        let report = judged(defect, &case, chain, &stages);
        assert_eq!(runs(&report, RASTERIZE, Verdict::Agree), 1, "{defect:?}: the image is right");
        for stage in &stages[1..] {
            assert_eq!(runs(&report, *stage, expected), 1, "{defect:?}, {chain:?}, {stage}");
        }
        assert_eq!(report.findings.is_empty(), expected == Verdict::Agree, "{:?}", report.findings);
    }
}

/// The same of our own kernels on the emulator: one constant of the backward pass is 2 ulp larger.
#[test]
fn a_kernel_with_another_threshold_shows_after_its_own_forward_pass_only() {
    let case: AnyCase = Arc::new(on_the_edge());
    let text = compiled("splat/rasterize_backward_atomic.d3.compute_75.ptx");
    let load = "ld.param.f32 \t%f15, [%rd1+-8];";
    let more = format!("{load}\n\tmul.rn.f32 \t%f15, %f15, 0f3F800002;");
    let nudged = text.replace(load, &more);
    assert_ne!(text, nudged, "alpha_min is loaded there");
    for (ptx, chain, expected) in [
        (text, Chain::Oracle, Verdict::Agree),
        (text, Chain::Own, Verdict::Agree),
        (nudged.as_str(), Chain::Oracle, Verdict::Agree),
        (nudged.as_str(), Chain::Own, Verdict::Disagree),
    ] {
        let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("built in");
        let (stage, entry) = (RASTERIZE_BACKWARD.spec().name, "rasterize_backward_atomic");
        let replaced = engine.replace(stage, Some(Reduction::Atomic), ptx, entry);
        replaced.expect("the artifact, or one constant of it changed");
        let stages = [RASTERIZE, RASTERIZE_BACKWARD];
        let report = judged_on(Box::new(engine), Reduction::Atomic, &case, (chain, &stages));
        assert_eq!(runs(&report, RASTERIZE, Verdict::Agree), 1, "{chain:?}: the image is right");
        let seen = runs(&report, RASTERIZE_BACKWARD, expected);
        assert_eq!(seen, 1, "{chain:?}, nudged {}: {:?}", ptx == nudged, report.findings);
    }
}

/// The finding holds the image that it was made from: it is seen again without the engine's own forward
/// pass.
#[test]
fn a_finding_is_replayed_with_the_image_that_it_was_made_from() {
    let case: AnyCase = Arc::new(on_the_edge());
    let stages = [RASTERIZE, RASTERIZE_BACKWARD];
    let nudged = Defect::BackwardThreshold(ULPS);
    let report = judged(nudged, &case, Chain::Own, &stages);
    let finding = report.findings.first().expect("it disagrees");
    let words = finding.case.describe(finding.stage, 0);
    assert!(
        words.ends_with("chain own") && words.starts_with("1 Gaussian,"),
        "made small: {words}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it.safetensors");
    finding.case.write(&file, &Notes::new()).expect("written");
    let read = read_case(&file).expect("a case");
    let plain = judged(nudged, &read.case, Chain::Oracle, &stages);
    assert!(plain.findings.is_empty(), "without its image nothing is wrong: {:?}", plain.findings);
    let again = as_noted(read.case, 0, &read.notes).expect("the image is there");
    let replayed = judged(nudged, &again, Chain::Oracle, &[RASTERIZE_BACKWARD]);
    let [Fault::Difference(seen), Fault::Difference(before)] =
        [&replayed.findings.first().expect("it disagrees again").fault, &finding.fault]
    else {
        panic!("a number is wrong");
    };
    assert_eq!(seen, before, "the same element, number and bound");
}

/// What a wrong image would make of the gradients says nothing of them.
#[test]
fn nothing_goes_on_from_a_forward_pass_that_disagrees() {
    let case = corpus().into_iter().find(|case| case.name == "tile-corner").expect("it is there");
    let stages: Vec<_> = [RASTERIZE, RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_REPLAY].into();
    let report = judged(Defect::NoBackground, &(Arc::new(case) as AnyCase), Chain::Own, &stages);
    assert_eq!(runs(&report, RASTERIZE, Verdict::Disagree), 1, "no background");
    assert_eq!(
        runs(&report, RASTERIZE_BACKWARD, Verdict::NotExercised),
        1,
        "nothing to go on from"
    );
    let told = report.unsupported.values().any(|reason| reason.starts_with("--chain own: "));
    assert!(told, "{:?}", report.unsupported);
    let summary = {
        let evidence = Evidence::new(std::slice::from_ref(&report), &[]);
        let conclusion = Gate::default().conclude(&evidence);
        let files = vec![vec!["out/it.safetensors".to_owned(); report.findings.len()]];
        Summary::new(&Gate::default(), &conclusion, &evidence, &files)
    };
    let (json, xml) = (summary.json(), junit(&summary));
    assert!(json.contains("\"chain\": \"own\""), "{json}");
    assert!(json.contains("\"formulation\": \"remainder = behind, final_t = stored,"), "{json}");
    assert!(xml.contains("name=\"chain\" value=\"own\""), "{xml}");
    assert!(xml.contains("name=\"formulation\" value=\"remainder = behind,"), "{xml}");
}

/// The mirror, whose forward pass fails so many times.
struct Failing {
    mirror: Mirror,
    error: EngineError,
    left: u32,
    asked: Arc<AtomicU32>,
}

impl Engine for Failing {
    fn info(&self) -> &DeviceInfo {
        self.mirror.info()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        if stage == RASTERIZE {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if let Some(left) = self.left.checked_sub(1) {
                self.left = left;
                return Err(self.error.clone());
            }
        }
        self.mirror.run(stage, work)
    }
}

/// What came of some copies of a case on a mirror whose forward pass fails, and how often that was asked for.
fn failing(error: EngineError, left: u32, copies: usize) -> (EngineReport, u32) {
    let case = corpus().into_iter().find(|case| case.name == "tile-corner").expect("it is there");
    let item = || Item::new(Arc::new(case.clone()), 0).expect("few pairs");
    let asked = Arc::<AtomicU32>::default();
    let mirror = Mirror::new(8, Defect::None);
    let contender = Contender {
        id: "failing".to_owned(),
        emulation: None,
        engine: Box::new(Failing { mirror, error, left, asked: Arc::clone(&asked) }),
        stages: vec![RASTERIZE, RASTERIZE_BACKWARD],
        settings: vec![Setting { reduction: Reduction::Subgroup, threshold: 0 }],
    };
    let items: Vec<_> = (0..copies).map(|_| item()).collect();
    let report = judge(contender, &items, Hooks { chain: Chain::Own, ..Hooks::new(&smaller) });
    (report, asked.load(Ordering::Relaxed))
}

#[test]
fn a_forward_pass_that_fails_is_one_run_that_fails() {
    let (report, _) = failing(EngineError::Device("planted".to_owned()), 1, 1);
    assert_eq!(runs(&report, RASTERIZE, Verdict::Disagree), 1, "{:?}", report.findings);
    assert_eq!(runs(&report, RASTERIZE, Verdict::Agree), 0, "it is not made again");
    assert_eq!(
        runs(&report, RASTERIZE_BACKWARD, Verdict::NotExercised),
        1,
        "nothing to go on from"
    );
    let counted: Vec<_> = report.findings.iter().map(|one| (one.stage, one.runs)).collect();
    assert_eq!(counted, [(RASTERIZE, 1)], "{:?}", report.findings);
}

#[test]
fn a_forward_pass_without_an_end_is_waited_for_once() {
    let (report, asked) = failing(EngineError::NoEnd("planted".to_owned()), u32::MAX, 3);
    assert!(report.given_up.is_some() && asked == 1, "asked {asked} times");
    assert_eq!(runs(&report, RASTERIZE, Verdict::Disagree), 1, "{:?}", report.findings);
    assert_eq!(runs(&report, RASTERIZE, Verdict::NotExercised), 2, "not judged");
    assert_eq!(runs(&report, RASTERIZE_BACKWARD, Verdict::NotExercised), 3, "not judged");
}

#[test]
fn the_command_line_says_whose_forward_pass_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |below: &str| root().join(below).to_str().expect("a plain name").to_owned();
    let case = path("corpora/splat/checkerboard.toml");
    let words = ["self-check", "--engine", "emulator", "--case", &case, "--chain", "own"];
    let said =
        say(folder.path(), &[&words[..], &["--schedule", "random:4", "-v"]].concat()).exits(0);
    said.prints("\nchain own: backward stages go on from ");
    for (stage, _) in [STANDARD].iter().chain(&FORMULATED) {
        let judged = said.out.lines().any(|line| line.contains(&format!(" {stage} ")));
        assert!(judged, "{stage}: {said:?}");
    }
    assert!(!said.out.contains("--chain own:"), "every image agrees: {said:?}");
    let kernel = path("gpu/tests/kernels/own_backward.ptx");
    let words = ["ptx", &kernel, "--kernel", "own_backward", "--case", &case];
    let said = say(folder.path(), &[&words[..], &["--chain", "own"]].concat()).exits(2);
    assert!(said.err.contains("unexpected argument '--chain'"), "it has no forward pass: {said:?}");
    say(folder.path(), &words).exits(0).prints("; formulation behind (3dgs); chain oracle");
}

/// A campaign of generated cases on a mirror, whose backward pass goes on from its own forward pass.
fn fuzzed(defect: Defect) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = FuzzPlan {
        engines: Vec::new(),
        missing: Vec::new(),
        plan: Plan::new(Arc::new(Splat(None)), 3, &[]).chained(Chain::Own),
        limit: Limit::Cases(8),
        share: Share::Everyone,
        shard: Shard::WHOLE,
        jobs: 1,
        out: folder.path().to_owned(),
        gate: GatePlan::default(),
        detail: Detail::default(),
        command: None,
        limits: Limits::default(),
    };
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, defect)),
        stages: vec![RASTERIZE, RASTERIZE_BACKWARD],
        settings: vec![Setting { reduction: Reduction::Subgroup, threshold: 0 }],
    };
    let results = fuzz::judge(&plan, vec![contender]).expect("it runs and writes");
    results.text(folder.path(), Detail::Engines)
}

#[test]
fn a_campaign_goes_on_from_the_engines_own_forward_pass_where_that_agrees() {
    let lost = "the engine's own forward pass gave no result that agrees";
    let right = fuzzed(Defect::None);
    assert!(right.contains("\nchain own: ") && !right.contains(lost), "{right}");
    let wrong = fuzzed(Defect::NoBackground);
    assert!(wrong.contains(lost), "{wrong}");
}
