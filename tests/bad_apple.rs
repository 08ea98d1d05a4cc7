//! One bad apple: a file of many that cannot be read, a patch that is none or does not apply, a kernel that does
//! not compile. It is named and counted, all others are judged, and the run is no pass.

use splatcheck_gpu::mutation::each;
use splatcheck_tests::{Said, files, own_kernel, root, say};
use std::fs;
use std::path::Path;

/// A folder with two cases of the corpus, a text that is no case, and one whose colours are missing.
fn corpus(here: &Path) -> String {
    let folder = here.join("corpus");
    fs::create_dir(&folder).expect("a folder");
    for case in ["tile-corner.toml", "one-pixel.toml"] {
        fs::copy(root().join("corpora/splat").join(case), folder.join(case)).expect("copied");
    }
    let whole = fs::read_to_string(folder.join("one-pixel.toml")).expect("a case");
    fs::write(folder.join("half.toml"), &whole[..whole.len() / 2]).expect("written");
    fs::write(folder.join("noise.safetensors"), [0xff; 9]).expect("written");
    folder.display().to_string()
}

/// Both bad files are named on either stream, and counted.
fn names_both(what: &str, said: &Said) {
    assert_eq!(said.code, Some(2), "{what}: {said:?}");
    let lines = said.out.lines().filter(|line| line.starts_with("NOT JUDGED: "));
    assert_eq!(lines.count(), 2, "{what}: a line each: {said:?}");
    for name in ["half.toml", "noise.safetensors"] {
        assert!(said.out.contains(name) && said.err.contains(name), "{what}, {name}: {said:?}");
    }
    assert!(said.err.starts_with("error: 2 of 4 files of the corpus"), "{what}: {said:?}");
}

#[test]
fn of_a_corpus_all_others_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = corpus(here);
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(own_kernel);
    let own = ["ptx", &ptx, "--manifest", &manifest, "--corpus", &corpus];
    let check = ["self-check", "--engine", "emulator", "--corpus", &corpus, "--cases", "0"];
    let check = [&check[..], &["--json", "run.json", "--junit", "run.xml"]].concat();
    let cases = ["cases", "--level", "raster", "--corpus", &corpus, "--count", "0", "--out", "out"];
    let schedules = ["schedules", "--kind", "lockstep", "--seeds", "1", "--corpus", &corpus];
    let formulations = ["formulations", "--corpus", &corpus];
    let observed = [&own[..], &["--observe-only"]].concat();
    for words in [&own[..], &observed, &check, &cases, &schedules, &formulations] {
        let said = say(here, words);
        names_both(&format!("{words:?}"), &said);
        let first = said.out.lines().next().unwrap_or_default();
        assert!(!first.starts_with("agree:"), "no plain agreement: {first}");
        if words == own || words == check {
            assert!(first.starts_with("agree on what could be judged: "), "{first}");
        }
    }
    assert_eq!(files(&here.join("out/cases")).len(), 2, "the good ones were written");
    let text = fs::read_to_string(here.join("run.json")).expect("written");
    let run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(run["pass"], false, "{text}");
    assert!(text.contains("half.toml"), "the files say which: {text}");
    let elements = run["engines"][0]["rows"][0]["elements"].as_u64();
    assert!(elements.is_some_and(|elements| elements > 0), "the others were judged: {text}");
    // A kernel that disagrees does so, whatever else could not be read.
    let broken = own_kernel("gsplat_backward_broken.ptx");
    let said = say(here, &["ptx", &broken, "--manifest", &manifest, "--corpus", &corpus]).exits(1);
    assert!(said.out.contains("NOT JUDGED: ") && said.out.contains("half.toml"), "{said:?}");
}

/// The folder of a workload's mutants with some of its patches, a file each.
fn mutants(here: &Path, cuda: &[&str], wgsl: &[&str]) -> std::path::PathBuf {
    let from = root().join("tests/mutants/scatter");
    let to = here.join("mutants/scatter");
    for (language, names) in [("cuda", cuda), ("wgsl", wgsl)] {
        fs::create_dir_all(to.join(language)).expect("a folder");
        for file in fs::read_dir(from.join(language)).expect("a folder of patches") {
            let all = fs::read_to_string(file.expect("an entry").path()).expect("patches");
            for (name, patch) in each("", &all).into_iter().filter(|(name, _)| names.contains(name))
            {
                fs::write(to.join(format!("{language}/{name}.patch")), patch).expect("copied");
            }
        }
    }
    for file in ["ptx.json", "ptx.tar.zst"] {
        fs::copy(from.join(file), to.join(file)).expect("copied");
    }
    to
}

#[test]
fn of_mutants_all_others_are_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let scatter = mutants(here, &["plain-add"], &["overwrite-for-accumulate", "list-one-short"]);
    fs::write(scatter.join("cuda/noise.patch"), "no patch").expect("written");
    fs::write(scatter.join("cuda/bytes.patch"), [0xff; 9]).expect("written");
    // One whose lines are nowhere, and one that makes no WGSL of WGSL.
    let good =
        fs::read_to_string(scatter.join("wgsl/overwrite-for-accumulate.patch")).expect("a patch");
    let is_taken = |line: &&str| line.starts_with('-') && !line.starts_with("---");
    let taken = good.lines().find(is_taken).expect("a line that goes").to_owned();
    let is_given = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    let given = good.lines().find(is_given).expect("a line that comes").to_owned();
    fs::write(scatter.join("wgsl/nowhere.patch"), good.replace(&taken, "-no such line"))
        .expect("written");
    fs::write(scatter.join("wgsl/no-wgsl.patch"), good.replace(&given, "+)(")).expect("written");
    let words = ["mutants", "--mutants", "mutants", "--workload", "scatter", "--cases", "1"];
    let engines = ["--seeds", "1", "--engine", "emulator", "--engine", "wgsl-emulator-8"];
    let said = say(here, &[&words[..], &engines].concat()).exits(2);
    for name in ["noise", "bytes", "nowhere", "no-wgsl"] {
        let line = |line: &&str| line.starts_with("NOT JUDGED: ") && line.contains(name);
        assert_eq!(said.out.lines().filter(line).count(), 1, "{name}: {said:?}");
        said.complains(name);
    }
    for name in ["plain-add", "overwrite-for-accumulate", "list-one-short"] {
        assert!(said.out.contains(name), "{name} was run: {said:?}");
    }
    // After a minute its progress is told before.
    said.complains("error: 4 of ");
    // What was not asked for is nobody's matter, but any mutant may stand in what cannot be read.
    let one = say(here, &[&words[..], &["--mutant", "plain-add", "--engine", "emulator"]].concat())
        .exits(2);
    one.prints("bytes.patch");
    fs::remove_file(scatter.join("cuda/bytes.patch")).expect("it was there");
    say(here, &[&words[..], &["--mutant", "plain-add", "--engine", "emulator"]].concat()).exits(0);
    fs::remove_file(scatter.join("ptx.tar.zst")).expect("it was there");
    let wgsl = ["--mutant", "overwrite-for-accumulate", "--engine", "wgsl-emulator-8"];
    let said = say(here, &[&words[..], &wgsl].concat()).exits(2);
    assert!(
        said.out.contains("ptx.tar.zst") && said.out.contains("overwrite-for-accumulate"),
        "{said:?}"
    );
}
