//! The parts of a campaign, joined, are the campaign: byte for byte.

use splatcheck::cli::exit::Outcome;
use splatcheck::cli::fuzz::{FuzzPlan, Limit, judge};
use splatcheck::cli::gate::{GateArgs, GatePlan};
use splatcheck::cli::merge::{self, MergeArgs};
use splatcheck::cli::output::OutputArgs;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::campaign::{Contender, Finding, Hooks, Share, as_it_is, run_in_chunks};
use splatcheck_judge::engines::Limits;
use splatcheck_judge::report::Detail;
use splatcheck_judge::workload::{AnyCase, views};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{Defect, Mirror, files, say};
use splatcheck_workloads::find;
use splatcheck_workloads::fuzz::{Plan, REPORT, RESULT};
use splatcheck_workloads::splat::Splat;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CASES: u64 = 14;

/// Runs a part of a campaign on the mirror with a defect, into `out`.
fn fuzz(defect: Defect, shard: &str, seed: u64, out: &Path) {
    let plan = FuzzPlan {
        engines: Vec::new(),
        missing: Vec::new(),
        plan: Plan::new(Arc::new(Splat(Some(Profile::Inria))), seed, &[]),
        limit: Limit::Cases(CASES),
        share: Share::Everyone,
        shard: shard.parse().expect("a part"),
        jobs: 2,
        out: out.to_owned(),
        gate: GatePlan::default(),
        detail: Detail::default(),
        command: None,
        limits: Limits::default(),
    };
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, defect)),
        stages: Stage::all().collect(),
        settings: [Reduction::Atomic, Reduction::SwB]
            .map(|reduction| Setting { reduction, threshold: 4 })
            .to_vec(),
    };
    judge(&plan, vec![contender]).expect("it runs and writes");
}

/// Runs all parts, each into a folder of its own under `around`.
fn fuzz_in_parts(defect: Defect, of: u32, around: &Path) -> Vec<PathBuf> {
    (1..=of)
        .map(|number| {
            let folder = around.join(format!("part-{number}-of-{of}"));
            fuzz(defect, &format!("{number}/{of}"), 5, &folder);
            folder
        })
        .collect()
}

fn merge(parts: Vec<PathBuf>, output: &Path) -> Result<(Outcome, String), String> {
    // As the report file has it.
    let shown = OutputArgs { verbose: true, quiet: false };
    let args = MergeArgs { parts, output: output.to_owned(), gate: GateArgs::default(), shown };
    let plan = args.resolve();
    let plan = plan.map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let outcome = merge::run(&plan, &mut out).map_err(|error| error.to_string())?;
    Ok((outcome, String::from_utf8(out).expect("text")))
}

#[test]
fn any_number_of_parts_is_the_whole() {
    // A lost lane is wrong in several outputs, of which another may be the worst in a smaller case.
    for defect in [Defect::None, Defect::LostChannel(0), Defect::LostLane(5)] {
        let around = tempfile::tempdir().expect("a folder");
        // The report names its folder, so the single run and the joined ones have the same.
        let whole = around.path().join("whole");
        fuzz(defect, "1/1", 5, &whole);
        let single = files(&whole);
        let text = String::from_utf8(single[REPORT].clone()).expect("text");
        assert!(text.contains("14 cases, "), "{text}");
        // One Gaussian is enough to lose a channel of, also in a list as long as a batch.
        let mut sizes = text.lines().filter(|line| line.starts_with("  case "));
        let small = sizes.all(|line| line.contains(": 1 Gaussian, "));
        assert!(small || defect != Defect::LostChannel(0), "not made small: {text}");
        for of in 1..=3 {
            let parts = fuzz_in_parts(defect, of, around.path());
            fs::remove_dir_all(&whole).expect("it was written");
            let (outcome, said) = merge(parts.into_iter().rev().collect(), &whole).expect("joined");
            let joined = files(&whole);
            let verdict = said.strip_prefix(&text).expect("the report comes first");
            let reasons: BTreeSet<_> = verdict.lines().collect();
            assert_eq!(reasons.len(), verdict.lines().count(), "each once: {verdict}");
            assert_eq!(joined[REPORT], single[REPORT], "{defect:?}: its file");
            assert_eq!(joined[RESULT], single[RESULT], "{defect:?}: the result of {of} parts");
            let names =
                |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&joined), names(&single), "{defect:?}: the files of {of} parts");
            for (name, bytes) in &joined {
                assert_eq!(single.get(name), Some(bytes), "{defect:?}: {name} of {of} parts");
            }
            let findings = joined.len() - 2;
            if defect == Defect::None {
                assert_eq!((outcome, findings, verdict), (Outcome::Agree, 0, ""), "{said}");
            } else {
                assert_eq!(outcome, Outcome::Disagree, "{said}");
                assert!(reasons.iter().all(|reason| reason.starts_with("FAILS: ")), "{verdict}");
                assert!(findings > 3, "too few findings to have joined any: {said}");
            }
        }
    }
}

/// One Gaussian on an image of that size, which every lane of it sees. The seed is one of which the gradient
/// that is lost is larger than the bound of a sum over so many pixels, in any order.
fn one_gaussian(name: &str, side: u32) -> AnyCase {
    let text = format!(
        "purpose = \"an image\"\nconvention = \"inria\"\nwidth = {side}\nheight = {side}\n\
         loss = {{ seed = 4, magnitude = 1.0 }}\n\n[[camera]]\nfx = 16.0\nfy = 16.0\ncx = 8.0\n\
         cy = 8.0\n\n[[gaussian]]\nmean = [0.0, 0.0, 4.0]\nquat = [1.0, 0.0, 0.0, 0.0]\n\
         scale = [64.0, 64.0, 64.0]\nopacity = 0.5\ncolor = [0.5, 0.5, 0.5]\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("case.toml");
    fs::write(&file, text).expect("it is written");
    let case = find("splat").expect("there").read(&file).expect("a case").case;
    case.renamed(name.to_owned(), None)
}

/// A large case is run after the small ones of its chunk, which parts of a campaign have other chunks of.
#[test]
fn of_a_kind_the_first_case_is_kept_whatever_its_size() {
    let cases = || [("large", 144), ("small", 16)].map(|(name, side)| one_gaussian(name, side));
    let kept = |chunk: usize| {
        let contender = Contender {
            id: "mirror".to_owned(),
            emulation: None,
            engine: Box::new(Mirror::new(8, Defect::LostChannel(0))),
            stages: vec![RASTERIZE_BACKWARD],
            settings: vec![Setting { reduction: Reduction::Atomic, threshold: 0 }],
        };
        let (share, hooks) = ((chunk, Share::Everyone), Hooks::new(&as_it_is));
        let reports = run_in_chunks(share, views(cases()), vec![contender], hooks).expect("legal");
        let name = |finding: &Finding| (finding.case.name().to_owned(), finding.runs);
        reports[0].findings.iter().map(name).collect::<Vec<_>>()
    };
    let apart = kept(1);
    assert!(apart.iter().any(|(name, runs)| name == "large" && *runs == 2), "both fail: {apart:?}");
    assert_eq!(kept(2), apart, "what is kept depends on the chunk");
}

/// Runs of every kind of finding in the result of a folder.
fn kinds(folder: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(folder.join(RESULT)).expect("it is there");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let findings = json["engines"][0]["findings"].as_array().expect("a list");
    let kind = |finding: &serde_json::Value| {
        let key = finding["key"].as_str().expect("a text").to_owned();
        (key, finding["runs"].as_u64().expect("a count"))
    };
    findings.iter().map(kind).collect()
}

#[test]
fn findings_of_one_kind_are_joined() {
    let around = tempfile::tempdir().expect("a folder");
    let parts = fuzz_in_parts(Defect::LostChannel(0), 3, around.path());
    let mut sum = BTreeMap::new();
    let mut apart = 0;
    for (kind, runs) in parts.iter().flat_map(|folder| kinds(folder)) {
        *sum.entry(kind).or_default() += runs;
        apart += 1;
    }
    assert!(sum.len() < apart, "no kind was found in two parts: nothing was tried");
    let whole = around.path().join("whole");
    merge(parts, &whole).expect("joined");
    assert_eq!(kinds(&whole), sum, "each kind once, with the runs of all parts");
}

#[test]
fn parts_that_are_not_the_whole_are_refused() {
    let around = tempfile::tempdir().expect("a folder");
    let whole = around.path().join("whole");
    let parts = fuzz_in_parts(Defect::LostChannel(0), 3, around.path());
    let refused = |parts: &[&PathBuf], words: &[&str]| {
        let parts = parts.iter().map(|&part| part.clone()).collect();
        let error = merge(parts, &whole).expect_err("it is not the whole");
        for word in words {
            assert!(error.contains(word), "does not say '{word}': {error}");
        }
        assert!(!whole.exists(), "something was written: {error}");
    };
    let [one, two, three] = [0, 1, 2].map(|i| &parts[i]);
    refused(&[one, three], &["part 2/3 is missing (1 of 3)"]);
    refused(&[one], &["part 2/3, 3/3 is missing"]);
    refused(&[one, two, two, three], &["part 2/3 is there twice", "part-2-of-3"]);
    let other = around.path().join("other");
    fuzz(Defect::None, "2/3", 6, &other);
    refused(&[one, &other, three], &["different campaigns", "seed 5", "seed 6"]);
    let nowhere = around.path().join("nowhere");
    refused(&[&nowhere, &nowhere], &["2 of 2 parts could not be used", "nowhere", "no such file"]);
    refused(&[one, &nowhere], &["part 2/3, 3/3 is missing"]);
}

/// One bad apple: the other parts are judged, and what could not be read is named.
#[test]
fn a_part_that_cannot_be_read_is_named_and_the_others_are_joined() {
    let around = tempfile::tempdir().expect("a folder");
    let whole = around.path().join("whole");
    let parts = fuzz_in_parts(Defect::LostChannel(0), 3, around.path());
    let [one, two, three] = [0, 1, 2].map(|i| &parts[i]);
    let without = |parts: &[&PathBuf], words: &[&str]| {
        let parts = parts.iter().map(|&part| part.clone()).collect();
        let (outcome, said) = merge(parts, &whole).expect("the others are joined");
        assert_eq!(outcome, Outcome::Disagree, "a kernel that disagrees does: {said}");
        for word in words {
            assert!(said.contains(word), "does not say '{word}': {said}");
        }
        assert!(
            said.starts_with("not all was judged; of the parts that could be read: "),
            "{said}"
        );
        assert!(said.contains("NOT JUDGED: the cases of part 2/3"), "{said}");
        assert!(said.contains("9 cases, "), "those of two parts: {said}");
        assert!(!whole.join(RESULT).exists(), "no result that looks whole: {said}");
        assert!(whole.join(REPORT).exists(), "the report is there: {said}");
        fs::remove_dir_all(&whole).expect("it was written");
    };
    without(&[one, &around.path().join("nowhere"), three], &["nowhere", "no such file"]);

    // What a reproducer's file holds and its name are checked, and so are the counts.
    let result = two.join(RESULT);
    let text = fs::read_to_string(&result).expect("it was written");
    for (from, to, words) in [
        ("\"reproducer\":\"", "\"reproducer\":\"../", "is no file name"),
        ("\"shard\":\"2/3\"", "\"shard\":\"0/3\"", "K from 1 to N"),
        ("\"shard\":\"2/3\"", "\"shard\":\"3/3\"", "of part 3/3"),
        ("\"bins\":[", "\"bins\":[0,", "bins, expected"),
        ("\"lane_width\":8", "\"lane_width\":4000000000", "expected 1 to 128"),
        ("\"key\":", "\"kez\":", "key"),
        ("\"workload\":\"splat\"", "\"workload\":\"mesh\"", "no workload 'mesh': expected splat"),
        ("\"convention\":\"inria\"", "\"convention\":\"brush\"", "no convention 'brush'"),
        ("{", "", "result.json"),
    ] {
        assert!(text.contains(from), "{from} is not there to be damaged");
        fs::write(&result, text.replacen(from, to, 1)).expect("written");
        without(&[one, two, three], &["result.json", words]);
    }
    fs::write(&result, text).expect("written");
    let lost = files(two).into_keys().find(|name| name.ends_with(".safetensors"));
    let lost = lost.expect("it has a finding");
    fs::remove_file(two.join(&lost)).expect("it was there");
    without(&[one, two, three], &[&lost]);
}

#[test]
fn the_command_divides_and_joins() {
    let [whole, parts] = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let fuzz = ["fuzz", "--engine", "emulator", "--cases", "9", "--seed", "3", "--out"];
    let oracle = [&fuzz[..], &["oracle", "--shard", "1/2"]].concat();
    assert_eq!(say(parts.path(), &oracle).code, Some(0), "a part");
    let fuzz = [&["fuzz", "--chain", "own"], &fuzz[1..]].concat();
    let single = say(whole.path(), &[&fuzz[..], &["out"]].concat());
    single.prints("\nchain own: backward stages go on from ");
    for shard in ["1/2", "2/2"] {
        let folder = shard.replace('/', "-");
        let part = say(parts.path(), &[&fuzz[..], &[&folder, "--shard", shard]].concat());
        part.prints(&format!(" of part {shard}, "));
        say(parts.path(), &["report", &folder, "-o", "part.html"]).exits(0);
        let page = fs::read_to_string(parts.path().join("part.html")).expect("written");
        assert!(
            page.contains(&format!(" of part {shard}, ")),
            "it would pass for the whole: {page}"
        );
    }
    let joined = say(parts.path(), &["merge", "2-2", "1-2", "-o", "out"]);
    assert_eq!((joined.code, &joined.out), (single.code, &single.out), "{}", joined.err);
    let [single, joined] = [&whole, &parts].map(|folder| files(&folder.path().join("out")));
    assert_eq!(joined[RESULT], single[RESULT], "the result");

    let mixed = say(parts.path(), &["merge", "2-2", "oracle", "-o", "mixed"]);
    assert_eq!(mixed.code, Some(2), "one went on from the oracle's forward pass: {mixed:?}");
    for chain in ["chain own", "chain oracle"] {
        mixed.complains(chain);
    }
    let again = say(parts.path(), &["merge", "2-2", "1-2", "-o", "out"]);
    assert_eq!(again.code, Some(2), "it is occupied: {again:?}");
    let alone = say(parts.path(), &["merge", "2-2", "-o", "alone"]);
    assert_eq!((alone.code, alone.out.as_str()), (Some(2), ""), "{alone:?}");
    alone.complains("part 1/2 is missing");
    // Nothing disagrees, and yet it is no pass.
    let some = say(parts.path(), &["merge", "2-2", "nowhere", "-o", "some", "--json", "some.json"])
        .exits(2);
    some.prints("\nNOT JUDGED: the cases of part 1/2\n");
    assert!(some.err.starts_with("error: 1 of 2 parts could not be used: nowhere"), "{some:?}");
    let json = fs::read_to_string(parts.path().join("some.json")).expect("written");
    assert!(json.contains("\"pass\": false"), "{json}");
    for args in [
        &["--cases", "3", "--shard", "0/2"][..],
        &["--time", "1s", "--shard", "1/2"],
        &["--cases", "3", "--shard", "1/2", "--deal"],
        &["--cases", "3", "--lane-width", "5"],
    ] {
        let refused = say(parts.path(), &[&["fuzz"], args].concat());
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(args.iter().any(|a| a.starts_with("--") && refused.err.contains(a)), "{refused:?}");
    }
}
