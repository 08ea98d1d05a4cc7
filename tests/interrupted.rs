//! Ctrl-C in a command that takes long: it says what was done until then, leaves no file that looks whole, and
//! exits with 130.
#![cfg(unix)]

use splatcheck_tests::{own_kernel, path, say, splatcheck, text};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a command works before Ctrl-C comes: far less than it takes.
const BEFORE: Duration = Duration::from_secs(2);
/// How long a busy machine may take to start it.
const TO_START: Duration = Duration::from_secs(60);

/// Waits until a command hears Ctrl-C, which Linux says of every process, and lets it work.
fn let_it_work(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let hears = || {
        let Ok(text) = fs::read_to_string(&status) else { return true };
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        // SIGINT is 2, the second bit.
        caught
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_none_or(|mask| mask & 2 != 0)
    };
    let start = Instant::now();
    while !hears() && start.elapsed() < TO_START {
        sleep(Duration::from_millis(20));
    }
    sleep(BEFORE);
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success(), "it was to work for longer");
}

/// Runs splatcheck and presses Ctrl-C once; what it prints. Its exit code is 130.
fn interrupted(folder: &Path, words: &[&str]) -> String {
    let mut command = splatcheck();
    command.args(words).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let_it_work(&child);
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{words:?}: {said}\n{error}");
    assert!(error.contains("Ctrl-C: what runs now is finished"), "{words:?}: {error}");
    assert!(said.contains("interrupted"), "{words:?}: {said}");
    said
}

#[test]
fn a_part_of_a_campaign_is_not_taken_for_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let fuzz = ["fuzz", "--workload", "scatter", "--engine", "emulator", "--cases", "1000000"];
    for part in ["1/2", "2/2"] {
        let out = part.replace('/', "-");
        let said = interrupted(here, &[&fuzz[..], &["--shard", part, "--out", &out]].concat());
        // A busy machine may not have judged a case by then, and then none is counted.
        assert!(
            ["interrupted, ", "interrupted: "].iter().any(|first| said.starts_with(first)),
            "{said}"
        );
        assert!(said.contains("no result.json is written"), "{said}");
        assert!(!here.join(&out).join("result.json").exists(), "{said}");
    }
    let said = say(here, &["merge", "1-2", "2-2", "-o", "whole"]).exits(2);
    assert!(said.err.contains("result.json") && said.err.contains("Ctrl-C"), "{said:?}");
}

#[test]
fn cases_that_were_judged_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let pair = path("harness/examples/gradcheck/pair.toml");
    let own = own_kernel("own_backward.ptx");
    let gradcheck = ["gradcheck", "--manifest", &pair, "--json", "all.json"];
    let said = interrupted(here, &[&gradcheck[..], &["--cases", "1000000"]].concat());
    assert!(said.starts_with("interrupted, agree until then: "), "{said}");
    let ptx = ["ptx", &own, "--kernel", "own_backward", "--channels", "3"];
    let said = interrupted(here, &[&ptx[..], &["--cases", "300000"]].concat());
    assert!(said.starts_with("interrupted, "), "{said}");
    let coverage = ["coverage", "--kernel", "rasterize_backward", "--json", "all.json"];
    let said = interrupted(here, &[&coverage[..], &["--cases", "1000"]].concat());
    assert!(is_a_part(&said), "{said}");
    assert!(!here.join("all.json").exists(), "a file of a part is none");
}

/// Whether `interrupted after N of M` is said, of less than all.
fn is_a_part(said: &str) -> bool {
    let told = said.split("interrupted after ").nth(1).and_then(|rest| rest.split_once(" of "));
    let (done, rest) = told.unwrap_or_else(|| panic!("{said}"));
    let all: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let number = |digits: &str| digits.parse::<u64>().unwrap_or_else(|_| panic!("{said}"));
    number(done) < number(&all)
}

#[test]
fn files_and_counts_that_were_made_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let said = interrupted(here, &["cases", "--count", "100000", "--out", "all"]);
    assert!(said.starts_with("interrupted after ") && is_a_part(&said), "{said}");
    let cases = said.split(": ").nth(1).and_then(|rest| rest.split(" case").next());
    let there = fs::read_dir(here.join("all/cases")).expect("the folder").count();
    assert_eq!(cases, Some(there.to_string().as_str()), "{said}");
    let traffic = ["traffic", "--points", "524288", "--json", "all.json"];
    let said = interrupted(here, &traffic);
    assert!(is_a_part(&said) && said.contains("no file is written"), "{said}");
    assert!(!here.join("all.json").exists(), "a file of a part is none");
    let watched = ["active_mask_count.ptx", "active_mask_count.toml"];
    let [kernel, manifest] = watched.map(|name| path(&format!("corpora/published/{name}")));
    let watched = ["ptx", &kernel, "--manifest", &manifest, "--observe-only"];
    let orders = ["--schedule", "random", "--schedules", "1000000"];
    let said = interrupted(here, &[&watched[..], &orders].concat());
    assert!(
        said.starts_with("interrupted, misuse seen, no values compared until then: "),
        "{said}"
    );
    assert!(said.contains(" more runs, since Ctrl-C came\n"), "{said}");
}

#[test]
fn kernels_and_scenes_that_were_done_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let files = ["--out", "matrix"];
    let mutants = ["mutants", "--engine", "emulator", "--workload", "scatter", "--seeds", "2000"];
    interrupted(here, &[&mutants[..], &files].concat());
    interrupted(here, &[&["mutants", "--generate", "2000"], &files[..]].concat());
    assert!(!here.join("matrix").exists(), "a file of a part is none");
    interrupted(here, &["sweep", "--engine", "emulator", "--full", "--json", "all.json"]);
    assert!(!here.join("all.json").exists(), "a file of a part is none");
}

/// Ctrl-C in each, in an empty folder in which nothing may be left but what is named.
fn leaves_no_file(commands: &[&[&str]], left: &[&str]) {
    for words in commands {
        let folder = tempfile::tempdir().expect("a folder");
        interrupted(folder.path(), words);
        let entries = fs::read_dir(folder.path()).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let others: Vec<_> = names.filter(|name| left.iter().all(|known| name != known)).collect();
        assert!(others.is_empty(), "{words:?}: {others:?}");
    }
}

#[test]
fn reports_of_what_was_judged_say_that_they_are_no_whole() {
    let [corpus, case] = ["corpora/splat", "corpora/splat/one-to-sixteen-lanes.toml"].map(path);
    let [kernel, manifest] = ["packed_backward.wgsl", "packed_backward.toml"].map(own_kernel);
    let wgsl = ["wgsl", &kernel, "--manifest", &manifest, "--engine", "wgsl-emulator-32"];
    let mirror = env!("CARGO_BIN_EXE_splatcheck-mirror");
    let program = format!("'{mirror}' rasterize_backward_replay");
    let reports = ["splatcheck-out"];
    leaves_no_file(
        &[
            &[&wgsl[..], &["--cases", "3000"]].concat(),
            &["self-check", "--engine", "emulator", "--cases", "3000", "--corpus", &corpus],
            &["check", "--command", &program, "--cases", "3000"],
            &["doctor", "--engine", "emulator", "--runs", "1000"],
            &["schedules", "--seeds", "100000", "--corpus", &corpus],
        ],
        &reports,
    );
    let train = ["train", &case, "--engine", "emulator", "--steps", "100000", "--json", "all.json"];
    leaves_no_file(&[&train], &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let said = interrupted(folder.path(), &train);
    assert!(said.contains("  interrupted before step ") && !said.contains("STOPPED"), "{said}");
}

/// Cases are made ready while others run: those that no one ran are no cases of the campaign.
#[test]
fn cases_of_a_program_count_when_they_were_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let mirror = env!("CARGO_BIN_EXE_splatcheck-mirror");
    let program = format!("'{mirror}' rasterize_backward slow");
    let words = ["fuzz", "--command", &program, "--cases", "100000", "--generator", "finish"];
    let said = interrupted(folder.path(), &words);
    let counted = said.lines().find(|line| line.contains(" cases, ") && line.ends_with(" runs"));
    let numbers: Vec<u64> = counted
        .unwrap_or_else(|| panic!("{said}"))
        .split_whitespace()
        .filter_map(|word| word.replace(',', "").parse().ok())
        .collect();
    assert!(numbers.len() == 2 && numbers[0] <= numbers[1], "{said}");
}

/// The corpus of splats, each case so many times: all of it once takes seconds.
fn corpus_of(times: usize) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(path("corpora/splat")).expect("the corpus") {
        let file = entry.expect("an entry").path();
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        for copy in 0..times {
            fs::copy(&file, folder.path().join(format!("{copy}-{name}"))).expect("copied");
        }
    }
    folder
}

#[test]
fn tables_of_a_part_say_so() {
    let folder = corpus_of(20);
    let corpus = folder.path().display().to_string();
    leaves_no_file(
        &[
            &["formulations", "--corpus", &corpus],
            &["acceptance", "--out", "report", "--engine", "emulator", "--corpus", &corpus],
            &["gallery"],
        ],
        &[],
    );
}

#[test]
fn a_second_time_ends_it_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = splatcheck();
    command.args(["mutants", "--generate", "2000"]).current_dir(folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let_it_work(&child);
    interrupt(&child);
    sleep(Duration::from_millis(50));
    // It may have ended by itself.
    if child.try_wait().expect("its status").is_none() {
        interrupt(&child);
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
