//! Where the system gives few threads or none: a sentence and exit code 2, or the work done by fewer.
#![cfg(target_os = "linux")]

use splatcheck_tests::{Said, root, splatcheck};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A user with no process of its own, for root has no limit of processes.
const NOBODY: &str = "65534";

/// A folder for anybody, with the program and a case; `None` where the limit cannot be set,
/// which is said loudly.
fn folder(test: &str) -> Option<tempfile::TempDir> {
    let can = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--clear-groups", "prlimit", "--nproc=1", "true"])
        .output();
    if !can.is_ok_and(|said| said.status.success()) {
        println!("NOT EXERCISED: {test}: it takes root, setpriv and prlimit to limit threads");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = || Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), all()).expect("it is ours");
    let program = folder.path().join("splatcheck");
    fs::copy(splatcheck().get_program(), &program).expect("there is room");
    fs::set_permissions(&program, all()).expect("it is ours");
    let copies = [
        ("corpora/splat/tile-corner.toml", "case.toml"),
        ("gpu/tests/kernels/own_backward.ptx", "kernel.ptx"),
    ];
    for (from, to) in copies {
        fs::copy(root().join(from), folder.path().join(to)).expect("there is room");
    }
    Some(folder)
}

/// Runs the program as a user who may have so many processes and threads in all.
fn limited(folder: &Path, threads: u32, words: &str) -> Said {
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--clear-groups", "prlimit", &format!("--nproc={threads}")])
        .arg(folder.join("splatcheck"))
        .args(words.split(' '))
        .current_dir(folder)
        .output()
        .expect("setpriv is there");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn what_one_thread_can_do_is_done_by_one() {
    let Some(folder) = folder("what_one_thread_can_do_is_done_by_one") else { return };
    for threads in 1..=4 {
        let said = limited(folder.path(), threads, "oracle case.toml -o out.safetensors");
        assert_eq!(said.code, Some(0), "{threads} threads: {said:?}");
    }
}

/// Threads that were there when the program counted them are gone when it uses them.
#[test]
fn runs_may_take_each_others_threads() {
    let Some(folder) = folder("runs_may_take_each_others_threads") else { return };
    std::thread::scope(|scope| {
        for place in 0..6 {
            let (folder, out) = (folder.path(), format!("oracle case.toml -o {place}.safetensors"));
            scope.spawn(move || {
                for threads in (2..=5).cycle().take(20) {
                    let said = limited(folder, threads, &out);
                    assert_eq!(said.code, Some(0), "{threads} threads: {said:?}");
                }
            });
        }
    });
}

#[test]
fn what_takes_more_threads_says_so() {
    let Some(folder) = folder("what_takes_more_threads_says_so") else { return };
    for words in [
        "self-check --case case.toml --engine emulator",
        "fuzz --cases 2 --engine emulator --jobs 4 --out .",
        "ptx kernel.ptx --kernel own_backward --case case.toml --schedules 3 --jobs 4",
        "cases --count 2 --out made",
        "traffic --points 64",
        "check --case case.toml --command cat",
        "devices",
    ] {
        for threads in 1..=6 {
            let said = limited(folder.path(), threads, words);
            let told = said.code == Some(2) && said.err.starts_with("error: ");
            // `cat` is no engine and disagrees; devices that do not start are listed.
            let done = matches!(said.code, Some(0 | 1)) && !said.out.is_empty();
            assert!(told || done, "{words}, {threads} threads: {said:?}");
            assert!(!said.err.contains("panicked"), "{words}, {threads} threads: {said:?}");
        }
    }
    let said = limited(folder.path(), 1, "check --case case.toml --command cat");
    said.complains("Resource temporarily unavailable");
}
