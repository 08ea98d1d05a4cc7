//! `--parts K`: gradients are added up from parts, as several GPUs train.

use splatcheck_tests::{again, root, say};
use std::fs;
use std::path::Path;

use super::command::refuses;

/// The oracle's f32 instance as a program.
fn mirror(defect: &str) -> String {
    format!("'{}' rasterize_backward {defect}", env!("CARGO_BIN_EXE_splatcheck-mirror"))
}

const SAID: &str = "gradients added up from 3 parts; bounds for sums in any order";

#[test]
fn right_kernels_of_every_workload_agree_in_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--engine", "emulator", "--parts", "3", "--reduction", "sw-b", "--threshold", "8"];
    let check = ["self-check", "--workload", "all", "--cases", "4"];
    say(folder.path(), &[&check[..], &words].concat()).exits(0).prints(SAID);
    let said = say(
        folder.path(),
        &["fuzz", "--engine", "emulator", "--parts", "3", "--workload", "grid", "--cases", "6"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    said.prints(SAID);
}

/// It does not clear its gradients between parts of a batch: a part is counted twice. No whole run shows it.
#[test]
fn a_program_that_counts_parts_twice_is_found_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let case = root().join("corpora/splat/checkerboard.toml");
    let case = case.to_str().expect("a plain name");
    let keeps = mirror("keeps");
    let check = |command: &str, more: &[&str]| {
        say(here, &[&["check", "--command", command, "--case", case], more].concat())
    };
    assert_eq!(check(&keeps, &[]).code, Some(0), "whole it is right");
    check(&mirror(""), &["--parts", "3"]).exits(0);
    let said = check(&keeps, &["--parts", "3"]).exits(1);
    said.prints(SAID);
    let file = again(&said.out)[1];
    for (command, code) in [(keeps, 1), (mirror(""), 0)] {
        say(here, &["replay", file, "--command", &command]).exits(code);
    }
    damaged(here, file);
}

/// A note that is no number of parts.
fn damaged(folder: &Path, file: &str) {
    let bytes = fs::read(folder.join(file)).expect("readable");
    let (from, to) = (&b"splatcheck.parts\":\"3\""[..], &b"splatcheck.parts\":\"x\""[..]);
    let at = bytes.windows(from.len()).position(|window| window == from).expect("the note");
    let bytes = [&bytes[..at], to, &bytes[at + from.len()..]].concat();
    fs::write(folder.join("bad.safetensors"), bytes).expect("written");
    let command = mirror("");
    let words = ["replay", "bad.safetensors", "--command", &command];
    refuses(folder, &words, &["splatcheck.parts = 'x'", "expected 2 to 64"]);
}

#[test]
fn what_cannot_be_done_in_parts_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    refuses(here, &["self-check", "--parts", "1"], &["--parts", "expected 2 to 64"]);
    refuses(here, &["fuzz", "--parts", "65"], &["--parts", "expected 2 to 64"]);
    let words = ["self-check", "--parts", "2", "--expect", "deterministic"];
    refuses(here, &words, &["--parts", "leave out --expect"]);
}

/// Machines that each run a share of the cases must cut runs into as many parts.
#[test]
fn shares_of_a_campaign_in_parts_are_joined_if_they_are_cut_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let fuzz = |parts: &str, shard: &str, out: &str| {
        let words = ["fuzz", "--engine", "emulator", "--workload", "scatter", "--cases", "8"];
        say(here, &[&words[..], &["--parts", parts, "--shard", shard, "--out", out]].concat())
    };
    for (parts, shard, out) in [("3", "1/2", "a"), ("3", "2/2", "b"), ("2", "2/2", "c")] {
        fuzz(parts, shard, out).exits(0);
    }
    say(here, &["merge", "a", "b", "-o", "whole"]).exits(0).prints(SAID);
    let again = fs::read_to_string(here.join("whole/result.json")).expect("written");
    assert!(again.contains("\"parts\":3"), "{again}");
    let words = ["merge", "a", "c", "-o", "other"];
    refuses(here, &words, &["different campaigns", "3 parts a run", "2 parts a run"]);
    let bad = again.replace("\"parts\":3", "\"parts\":65");
    fs::write(here.join("whole/result.json"), bad).expect("written");
    refuses(here, &["merge", "whole", "-o", "other"], &["65 parts: expected 1 to 64"]);
}
