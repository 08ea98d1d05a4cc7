//! Ctrl-Z and fg: a process that stands still longer than any of its limits goes on as if nothing had been.
#![cfg(unix)]

use splatcheck_tests::{own_kernel, path, splatcheck, text};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How long splatcheck works before it is stopped, and how long it then stands still: longer than the limit of
/// 1 s that it is given.
const BEFORE: Duration = Duration::from_millis(700);
const STILL: Duration = Duration::from_millis(2500);

/// Runs splatcheck and stops it once; its exit code and output.
fn stopped(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = splatcheck();
    command.args(args).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let id = child.id().to_string();
    let send = |signal: &str| {
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill is there").success(), "{signal}");
    };
    sleep(BEFORE);
    assert!(child.try_wait().expect("its status").is_none(), "it was to work for longer: {args:?}");
    send("STOP");
    sleep(STILL);
    send("CONT");
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), format!("{}\n{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_right_kernel_on_the_emulator_agrees() {
    let folder = tempfile::tempdir().expect("a folder");
    let (kernel, corpus) = (own_kernel("own_backward.ptx"), path("corpora/splat"));
    let words = ["ptx", &kernel, "--kernel", "own_backward", "--channels", "3"];
    let cases = ["--corpus", &corpus, "--cases", "300", "--jobs", "1", "--schedule", "random"];
    let (code, said) = stopped(folder.path(), &[&words[..], &cases, &["--timeout", "1"]].concat());
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_right_program_agrees() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = format!("'{}' rasterize_backward slow", env!("CARGO_BIN_EXE_splatcheck-mirror"));
    let case = path("corpora/splat/two-cameras.toml");
    let words = ["check", "--command", &slow, "--model", "ieee", "--jobs", "1", "--case", &case];
    let (code, said) = stopped(folder.path(), &[&words[..], &["--timeout", "1"]].concat());
    assert_eq!(code, Some(0), "{said}");
}
