//! What was tried of a machine's state: load, stops, clocks, memory, files, language, time zone. In each a right
//! pair of kernels and a wrong one are judged. What is printed is the same but for the time that it took; where
//! the machine does not give what a run needs, the run may be refused, and then neither accuses the right pair nor
//! passes the wrong one.
//!
//! The short form is `gradcheck` alone. `SPLATCHECK_SURROUNDINGS=long` adds the emulator under a limit of time,
//! and engines in processes of their own.
#![cfg(target_os = "linux")]

use crate::pages::plain;
use splatcheck_tests::{Said, ended_within, own_kernel, root, splatcheck, text};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// What a run comes to in a surrounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// The same exit code and the same output.
    Same,
    /// The same, or no verdict at all.
    MayRefuse,
}

use Expected::{MayRefuse, Same};

/// What a surrounding is made with.
#[derive(Clone, Copy, Debug)]
enum How {
    /// These variables.
    Variables(&'static [(&'static str, &'static str)]),
    /// No variable but what a program of another compiler profile needs.
    Bare,
    /// A clock that libfaketime makes: the wall clock, or the monotonic one as well.
    Clock { starts: &'static str, all: bool },
    /// `prlimit` with this limit.
    Limit(&'static str),
    /// So many other processes that use a processor.
    Busy(usize),
    /// Stopped and continued, again and again.
    Stopped,
    /// The lowest priority.
    Nice,
}

/// After this time a run waits for ever, whatever the load.
const LONGEST: Duration = Duration::from_secs(60);

/// The table.
const TABLE: [(&str, How, Expected); 37] = [
    ("8 busy processes", How::Busy(8), Same),
    ("SIGSTOP and SIGCONT", How::Stopped, Same),
    ("nice", How::Nice, Same),
    ("wall clock 40 years ago", How::Clock { starts: "-40y", all: false }, Same),
    ("wall clock in 100 years", How::Clock { starts: "+100y", all: false }, Same),
    ("wall clock before 1970", How::Clock { starts: "@1960-01-01 00:00:00", all: false }, Same),
    ("wall clock 1000 times as fast", How::Clock { starts: "+0 x1000", all: false }, Same),
    ("wall clock that goes back", How::Clock { starts: "-1d i-10", all: false }, Same),
    ("wall clock that leaps", How::Clock { starts: "+0 i1000", all: false }, Same),
    ("every clock 40 years ago", How::Clock { starts: "-40y", all: true }, MayRefuse),
    ("every clock that leaps", How::Clock { starts: "+0 i1000", all: true }, MayRefuse),
    ("every clock that goes back", How::Clock { starts: "-1d i-10", all: true }, MayRefuse),
    ("every clock that stands still", How::Clock { starts: "+0 x0", all: true }, MayRefuse),
    ("100 MB of addresses", How::Limit("--as=100000000"), MayRefuse),
    ("200 MB of addresses", How::Limit("--as=200000000"), MayRefuse),
    ("400 MB of addresses", How::Limit("--as=400000000"), MayRefuse),
    ("800 MB of addresses", How::Limit("--as=800000000"), MayRefuse),
    ("3 files", How::Limit("--nofile=3"), MayRefuse),
    ("4 files", How::Limit("--nofile=4"), MayRefuse),
    ("5 files", How::Limit("--nofile=5"), MayRefuse),
    ("8 files", How::Limit("--nofile=8"), MayRefuse),
    ("16 kB of stack", How::Limit("--stack=16384"), MayRefuse),
    ("256 kB of stack", How::Limit("--stack=262144"), MayRefuse),
    ("files of no byte", How::Limit("--fsize=0"), MayRefuse),
    ("1 s of processor time", How::Limit("--cpu=1"), MayRefuse),
    ("no variable", How::Bare, Same),
    ("Turkish", How::Variables(&[("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8")]), Same),
    ("German numbers", How::Variables(&[("LC_ALL", "de_DE.UTF-8"), ("LC_NUMERIC", "de_DE")]), Same),
    ("GB 18030", How::Variables(&[("LC_ALL", "zh_CN.GB18030")]), Same),
    ("no such language", How::Variables(&[("LC_ALL", "\u{1b}[2J"), ("LANGUAGE", "::")]), Same),
    ("Kathmandu", How::Variables(&[("TZ", "Asia/Kathmandu")]), Same),
    ("no such time zone", How::Variables(&[("TZ", "UTC+999:::/dev/zero")]), Same),
    ("one thread", How::Variables(&[("RAYON_NUM_THREADS", "1")]), Same),
    ("no such number of threads", How::Variables(&[("RAYON_NUM_THREADS", "-3")]), Same),
    ("no temporary folder", How::Variables(&[("TMPDIR", "/nonexistent")]), MayRefuse),
    ("a terminal of one column", How::Variables(&[("COLUMNS", "1"), ("TERM", "\u{1b}")]), Same),
    (
        "a log of everything",
        How::Variables(&[("SPLATCHECK_LOG", "trace,[[["), ("RUST_LOG", "a=b=c")]),
        Same,
    ),
];

/// What is judged: a right subject and a wrong one, which differ in a file.
fn subjects() -> Vec<[Vec<String>; 2]> {
    let at = |path: &str| root().join(path).display().to_string();
    let pair = |name: &str| at(&format!("harness/examples/gradcheck/{name}"));
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let gradcheck = |ptx: &str| {
        words(&["gradcheck", &pair(ptx), "--manifest", &pair("pair.toml"), "--cases", "5"])
    };
    let mut all = vec![["pair.ptx", "pair_broken.ptx"].map(gradcheck)];
    if std::env::var("SPLATCHECK_SURROUNDINGS").is_ok_and(|form| form == "long") {
        let case = at("corpora/splat/tile-corner.toml");
        let kernel = |ptx: &str| {
            let head = ["ptx", &own_kernel(ptx), "--kernel", "own_backward", "--channels", "3"];
            let more = ["--case", &case, "--schedule", "random", "--timeout", "3"];
            words(&[&head[..], &more].concat())
        };
        all.push(["own_backward.ptx", "own_backward_broken.ptx"].map(kernel));
        let grads = own_kernel("gsplat_backward.toml");
        let engines = |ptx: &str| {
            words(&[
                "ptx",
                &own_kernel(ptx),
                "--manifest",
                &grads,
                "--case",
                &case,
                "--timeout",
                "3",
            ])
        };
        all.push(["gsplat_backward.ptx", "gsplat_backward_broken.ptx"].map(engines));
    }
    all
}

/// The library that makes clocks; where it is not there, says so loudly.
fn clock_maker() -> Option<&'static str> {
    const PLACES: [&str; 3] = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib64/faketime/libfaketimeMT.so.1",
    ];
    PLACES.into_iter().find(|place| Path::new(place).is_file())
}

/// A command, in the folder, in a surrounding; `None` where this machine cannot make it.
fn command(folder: &Path, words: &[String], how: How) -> Option<Command> {
    let program = splatcheck();
    let within = |wrapper: &[&str]| {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(program.get_program());
        command
    };
    let mut command = match how {
        How::Limit(limit) => within(&["prlimit", limit]),
        How::Nice => within(&["nice", "-n", "19"]),
        How::Variables(_) | How::Bare | How::Clock { .. } | How::Busy(_) | How::Stopped => {
            Command::new(program.get_program())
        }
    };
    match how {
        How::Variables(variables) => drop(command.envs(variables.iter().copied())),
        How::Bare => {
            command.env_clear();
            let kept = std::env::var_os("RUST_MIN_STACK");
            command.envs(kept.map(|stack| ("RUST_MIN_STACK", stack)));
        }
        How::Clock { starts, all } => {
            let real = if all { "0" } else { "1" };
            command.env("LD_PRELOAD", clock_maker()?).env("FAKETIME", starts);
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", real).env("DONT_FAKE_MONOTONIC", real);
        }
        How::Limit(_) | How::Busy(_) | How::Stopped | How::Nice => {}
    }
    command.args(words).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

/// What it says; it ends within a minute, however the clocks go.
fn run(words: &[String], how: How) -> Option<Said> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = command(folder.path(), words, how)?.spawn().expect("it starts");
    if let How::Stopped = how {
        for _ in 0..4 {
            sleep(Duration::from_millis(15));
            signal("STOP", &child);
            sleep(Duration::from_millis(120));
            signal("CONT", &child);
        }
    }
    // Its output is short, so that no pipe is full before it ends.
    let status = ended_within(&mut child, LONGEST)
        .unwrap_or_else(|| panic!("{how:?}: it waits for ever: {words:?}"));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let all = |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("what it wrote");
        text(&bytes)
    };
    let (out, err) = (all(&mut out.expect("piped")), all(&mut err.expect("piped")));
    Some(Said { code: status.code(), out, err })
}

/// Sends a signal; one that ended meanwhile does not mind.
fn signal(name: &str, child: &Child) {
    let id = child.id().to_string();
    let mut sent = Command::new("kill");
    sent.args(["-s", name, &id]).stderr(Stdio::null()).status().expect("kill is there");
}

#[test]
fn no_surrounding_changes_what_is_judged() {
    let mut not_here = Vec::new();
    for subject in subjects() {
        let plain = subject.each_ref().map(|words| run(words, How::Variables(&[])).expect("plain"));
        let codes = plain.each_ref().map(|said| said.code);
        assert_eq!(codes, [Some(0), Some(1)], "a right one and a wrong one: {plain:?}");
        for (name, how, expected) in TABLE {
            let busy: Vec<_> = match how {
                How::Busy(count) => (0..count).map(|_| idle_loop()).collect(),
                _ => Vec::new(),
            };
            let said = subject.each_ref().map(|words| run(words, how));
            for mut process in busy {
                process.kill().expect("it is ours");
                process.wait().expect("it is ours");
            }
            let [Some(right), Some(wrong)] = said else {
                not_here.push(name);
                continue;
            };
            for (said, plain) in [(right, &plain[0]), (wrong, &plain[1])] {
                let judged = matches!(said.code, Some(0 | 1));
                if judged || expected == Same {
                    let same = (said.code, timeless(&said)) == (plain.code, timeless(plain));
                    assert!(same, "{name}: {said:?}\nplain: {plain:?}");
                } else {
                    assert!(!said.err.contains("panicked"), "{name}: {said:?}");
                }
            }
        }
    }
    if !not_here.is_empty() {
        println!(
            "NOT EXERCISED: {not_here:?}: there is no libfaketime (Debian's package libfaketime)"
        );
    }
}

/// What it printed, but for how long it took: a table of engines has that in a last column, where a clock tells.
fn timeless(said: &Said) -> Vec<String> {
    let without = |line: String| {
        let line =
            line.strip_suffix(" TIME s").or_else(|| line.strip_suffix(" time")).unwrap_or(&line);
        line.to_owned()
    };
    said.out.lines().map(plain).map(without).collect()
}

/// A process that does nothing but use a processor.
fn idle_loop() -> Child {
    Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh starts")
}
