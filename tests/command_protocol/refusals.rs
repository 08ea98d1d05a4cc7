//! Programs that answer badly, or not at all, and options that do not go with one.

use super::{SMALL, command, corpus, counts, mirror, python, reproducer, scene};
use splatcheck_tests::say;
use std::fs;

/// What the program's answer to its third request is, and what the report says of it.
const BAD: [(&str, &str); 23] = [
    (
        "crash",
        "the program: ended with exit code 1 without an answer; its last words: the kernel divided by zero",
    ),
    ("abort", "the program: ended by signal 6 (SIGABRT)"),
    ("hang", "the program: no answer within 20 s: killed"),
    ("closed", "the program: closed its standard output without an answer: killed"),
    (
        "garbage",
        "the program: its standard output says 'loading the model ...', expected {\"id\": 3, \"ok\": true}",
    ),
    ("long-line", "the program: its standard output says 'xxxxxxxx"),
    ("binary", "the program: its standard output says '"),
    ("wrong-id", "the program: it answered request 4, but was asked 3: killed"),
    ("talks-on", "the program: its standard output says 'done'"),
    (
        "failed",
        "the program says that it failed: 'kernel launch failed'; its standard error ends: CUDA error: an illegal memory access",
    ),
    ("not-written", "the program's output: there is none, although it answered ok"),
    ("folder", "the program's output: it is a folder, expected a file"),
    ("link", "the program's output: it is a symbolic link, expected a file"),
    ("pipe", "the program's output: it is a pipe, a socket or a device"),
    ("huge", "the program's output: it has 1099511627776 bytes, more than"),
    (
        "no-safetensors",
        "the program's output: the file's size is 5 bytes: a .safetensors starts with 8 bytes",
    ),
    ("changes-its-input", "the program changed its input file"),
    ("missing", "the program's output: tensor 'v_conics' is missing: must be there, F32 [1, 3]"),
    (
        "unknown",
        "the program's output: tensor 'v_mean2d' is not expected: there are v_means2d, v_conics",
    ),
    ("shape", "the program's output: the shape of tensor 'v_conics' is [3]: must be [1, 3]"),
    ("doubles", "the program's output: tensor 'v_means2d' is of type F64: must be F32"),
    ("integers", "the program's output: tensor 'v_colors' is of type I32: must be F32"),
    ("not-finite", "v_colors[0, 0] = NaN"),
];

#[test]
fn a_bad_answer_is_a_failure_with_a_reproducer_and_the_run_goes_on() {
    let test = "a_bad_answer_is_a_failure_with_a_reproducer_and_the_run_goes_on";
    let Some(python) = python(test) else { return };
    let corpus = corpus(&SMALL);
    let corpus = corpus.path().to_str().expect("a plain name");
    for (kind, words) in BAD {
        let folder = tempfile::tempdir().expect("a folder");
        let bad = command(&python, "bad.py", kind);
        // Long enough for Python and numpy to start on a busy machine: only "hang" waits for it.
        let args = ["check", "-v", "--command", &bad, "--model", "ieee", "--timeout", "20"];
        let more = ["--corpus", corpus, "--cases", "0"];
        let said = say(folder.path(), &[&args[..], &more].concat());
        assert_eq!(said.code, Some(1), "{kind}: {said:?}");
        assert!(!said.err.contains("panicked"), "{kind}: {said:?}");
        assert!(said.out.contains(&format!("\n  {words}")), "{kind}: {said:?}");
        assert_eq!(counts(&said), [7, 5, 1], "{kind}: the others agree: {said:?}");
        let case = if kind == "talks-on" { "tile-corner" } else { "one-pixel" };
        assert!(said.out.contains(&format!("case {case}: ")), "{kind}: which case: {said:?}");
        let explained = said.out.contains("\nformulation: ") && kind != "not-finite";
        assert!(!explained, "{kind}: no other inputs cure what happens once: {said:?}");
        reproducer(folder.path(), &said);
    }
}

#[test]
fn a_program_that_floods_its_standard_error_is_judged_as_any_other() {
    let test = "a_program_that_floods_its_standard_error_is_judged_as_any_other";
    let Some(python) = python(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = corpus(&SMALL);
    let corpus = corpus.path().to_str().expect("a plain name");
    let floods = command(&python, "bad.py", "floods");
    let args = ["check", "-v", "--command", &floods, "--model", "ieee", "--corpus", corpus];
    let said = say(folder.path(), &[&args[..], &["--cases", "0"]].concat());
    assert_eq!((said.code, counts(&said)), (Some(0), [7, 6, 0]), "{said:?}");
    // The same program, made to repeat itself.
    let repeated = ["--cases", "0", "--expect", "deterministic", "--repeats", "2"];
    say(folder.path(), &[&args[..], &repeated].concat()).exits(0);
}

#[test]
fn a_program_that_keeps_failing_is_given_up() {
    // The program ends at every other request, so that these scenes decide when it fails three times in a row.
    let corpus = corpus(&SMALL);
    let corpus = corpus.path().to_str().expect("a plain name");
    let given_up = |bad: &str, words: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let args = ["check", "-v", "--command", bad, "--corpus", corpus, "--cases", "100"];
        let said = say(folder.path(), &args);
        assert_eq!(said.code, Some(1), "{bad}: a failure: {said:?}");
        assert!(said.out.contains("command-cuda was given up: "), "{bad}: {said:?}");
        assert!(said.out.contains(words), "{bad}: {said:?}");
        let [runs, agree, disagree] = counts(&said);
        assert!(agree + disagree < runs, "{bad}: it is asked no more: {said:?}");
        reproducer(folder.path(), &said);
    };
    given_up(
        &mirror("rasterize_backward crashes"),
        "was started again 30 times and failed once more",
    );
    let Some(python) = python("a_program_that_keeps_failing_is_given_up") else { return };
    given_up(&command(&python, "bad.py", "crash always"), "the kernel divided by zero");
}

#[test]
fn what_cannot_be_started_is_an_error_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = scene("tile-corner");
    let python = python("an interpreter without its script");
    let missing = python.map(|python| format!("'{python}' nowhere.py"));
    let mut all = vec![
        ("splatcheck-no-such-program x", "cannot start"),
        ("false", "it ended with exit code 1"),
        ("", "give the command that starts your program"),
        ("'a b", "a ' has no end"),
    ];
    all.extend(missing.as_deref().map(|command| (command, "nowhere.py")));
    for (command, words) in all {
        let said = say(folder.path(), &["check", "--command", command, "--case", &case]);
        assert_eq!(said.code, Some(2), "{command}: {said:?}");
        assert!(said.err.contains(words) && said.err.contains("--command"), "{command}: {said:?}");
        assert!(!said.err.contains("panicked"), "{command}: {said:?}");
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "{command} left something behind");
    }
}

#[test]
fn options_that_do_not_go_with_a_program_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let refuses = |args: &[&str], words: &[&str]| {
        let said = say(folder.path(), args);
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(words.iter().all(|word| said.err.contains(word)), "{args:?}: {said:?}");
    };
    refuses(&["check", "--command", "cat", "--engine", "emulator"], &["--engine", "--command"]);
    refuses(&["check", "--command", "cat", "--reduction", "sw-b"], &["--reduction"]);
    refuses(&["check", "--command", "cat", "--chain", "own"], &["--chain"]);
    refuses(&["check", "--command", "cat", "--workload", "scatter"], &["scatter"]);
    refuses(&["check", "--command", "cat", "--level", "rasta"], &["rasta", "project-backward"]);
    refuses(&["check", "--command", "cat", "--timeout", "0"], &["--timeout", "seconds above 0"]);
    refuses(&["check", "--command", "cat", "--jobs", "0"], &["--jobs"]);
    refuses(&["check", "--command", "cat", "--formulation", "mine"], &["mine"]);
    let full = ["check", "--command", "cat", "--level", "full", "--formulation", "brush"];
    refuses(&full, &["level full has no formulation"]);
    refuses(&["check", "--level", "full"], &["--command"]);
    refuses(&["check", "--jobs", "2"], &["--command"]);
    refuses(&["fuzz", "--command", "cat", "--engine", "emulator"], &["--engine"]);
    refuses(&["fuzz", "--level", "full"], &["--command"]);
    refuses(&["cases", "--out", "x", "--count", "0"], &["--count"]);
    refuses(&["cases", "--out", "x", "--generator", "nobody"], &["nobody"]);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is written");
}
