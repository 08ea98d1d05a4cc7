//! Fuzzing campaigns: repeatable, and nothing that was found is ever lost.

use splatcheck::cli::reproducer::Reproducers;
use splatcheck_gpu::Setting;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_judge::campaign::{
    Contender, Finding, Hooks, Observer, Policy, Share, as_it_is, run_in_chunks,
};
use splatcheck_judge::workload::{Case, views};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{Defect, Mirror, files, say};
use splatcheck_workloads::fuzz::{Plan, Shard};
use splatcheck_workloads::splat::Splat;
use splatcheck_workloads::splat::files::case_file;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names the folder of the process that is to be killed.
const FOLDER: &str = "SPLAT_TESTS_KILLED_IN";

/// Writes every finding and says so on standard output. Every case is a kind of its own.
struct Announcer {
    reproducers: Reproducers,
}

impl Policy for Announcer {
    fn class(&self, case: &dyn Case) -> String {
        case.name().to_owned()
    }

    fn settings(&self, _: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        all[..1].to_vec()
    }
}

impl Observer for Announcer {
    fn done(&self, _: u64) {}

    fn found(&self, finding: &Finding, _: bool) {
        let path = self.reproducers.write(&mut finding.clone(), None);
        let path = path.expect("the folder is writable");
        let mut out = std::io::stdout();
        writeln!(out, "FOUND {path}").expect("someone listens");
        out.flush().expect("someone listens");
    }
}

/// The process that is killed: a campaign on a defective engine. Without a folder it is no test.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let reproducers = Reproducers::begin(Path::new(&folder), "fuzz", None);
    let watch = Announcer { reproducers: reproducers.expect("the folder is empty") };
    let plan = Plan::new(Arc::new(Splat(Some(Profile::Inria))), 4, &[]);
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, Defect::LostChannel(0))),
        stages: vec![RASTERIZE_BACKWARD],
        settings: Setting::all(8),
    };
    let hooks = Hooks { policy: &watch, observer: &watch, ..Hooks::new(&as_it_is) };
    // It is killed long before.
    let cases = plan.cases(Shard::WHOLE).take(100_000);
    run_in_chunks((8, Share::Everyone), cases, vec![contender], hooks)
        .expect("the cases are legal");
}

/// Starts the victim, kills it after `time`, and returns what it had announced by then.
fn killed_after(time: Duration, folder: &Path) -> Vec<PathBuf> {
    let own = std::env::current_exe().expect("a test program has a path");
    let mut child = Command::new(own)
        .args(["--exact", "fuzzing::victim", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let lines = std::thread::spawn(move || {
        let lines = out.lines().map_while(Result::ok);
        let found = |line: String| Some(line.split_once("FOUND ")?.1.into());
        lines.filter_map(found).collect::<Vec<PathBuf>>()
    });
    // From the first finding on, so that a loaded machine kills as often in the midst of writing.
    let start = Instant::now();
    while !has_file(folder) && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(time);
    child.kill().expect("it runs");
    child.wait().expect("it is gone");
    lines.join().expect("no panic")
}

fn has_file(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a folder").next().is_some()
}

/// Kills the victim at that many moments.
fn nothing_is_lost(moments: u32) {
    let mut total = 0;
    for moment in 0..moments {
        let folder = tempfile::tempdir().expect("a folder");
        // Spread over 0.2 s by the golden ratio: near and far, never the same.
        let share = f64::from(moment) * 0.618_033_988_749_895;
        let announced = killed_after(Duration::from_secs_f64(0.2 * share.fract()), folder.path());
        for path in &announced {
            assert!(path.is_file(), "{} was announced and is lost", path.display());
        }
        total += announced.len();
        let mut whole = 0;
        for entry in std::fs::read_dir(folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "safetensors") {
                let read = case_file::read_case(&path).expect("no file is half written");
                assert_eq!(read.notes["splatcheck.engine"], "mirror", "notes are there too");
                whole += 1;
            }
        }
        println!("moment {moment}: {} announced, {whole} whole files", announced.len());
    }
    assert!(total > 0, "nothing was found before it was killed: nothing was tried");
}

#[test]
fn killing_it_loses_nothing() {
    nothing_is_lost(5);
}

#[test]
#[ignore = "fifty moments take a minute: cargo test --release -p splatcheck-tests -- --ignored fifty"]
fn killing_it_at_fifty_moments_loses_nothing() {
    nothing_is_lost(50);
}

#[test]
fn any_number_of_jobs_gives_the_same_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["fuzz", "--engine", "emulator", "--cases", "24", "--seed", "3", "--jobs"];
    let [one, three] = ["1", "3"].map(|jobs| say(folder.path(), &[&args[..], &[jobs]].concat()));
    assert_eq!(one.code, Some(0), "{one:?}");
    one.prints("agree: 2 engines");
    assert_eq!(one.out, three.out, "the report depends on the number of jobs");
}

/// Of a wrong program: its reports, its result and its reproducers.
#[test]
fn any_number_of_jobs_gives_the_same_findings() {
    let program = format!("'{}' rasterize_backward lane", env!("CARGO_BIN_EXE_splatcheck-mirror"));
    let fuzz = |jobs: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let args = ["fuzz", "--command", &program, "--cases", "40", "--seed", "3", "--out", "out"];
        let said = say(folder.path(), &[&args[..], &["--jobs", jobs]].concat()).exits(1);
        (said.out, files(&folder.path().join("out")))
    };
    let (said, one) = fuzz("1");
    assert!(one.len() > 5, "too few findings to differ: {said}");
    for jobs in ["2", "3"] {
        let (out, other) = fuzz(jobs);
        assert_eq!(out, said, "{jobs} jobs: the report");
        assert!(other.keys().eq(one.keys()), "{jobs} jobs: other files");
        for (name, bytes) in &other {
            assert!(one.get(name) == Some(bytes), "{jobs} jobs: {name} has other bytes");
        }
    }
}

#[test]
fn as_many_runs_are_foreseen_as_are_made() {
    let plan = Plan::new(Arc::new(Splat(Some(Profile::Inria))), 4, &[]);
    let cases: Vec<_> = (0..20).filter_map(|i| Some(plan.tree(i)?.current())).collect();
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, Defect::None)),
        stages: vec![RASTERIZE_BACKWARD],
        settings: Setting::all(8),
    };
    let foreseen: u64 = cases.iter().map(|case| contender.runs(case.as_ref(), &plan)).sum();
    let hooks = Hooks { policy: &plan, ..Hooks::new(&as_it_is) };
    let all = views(cases);
    let reports = run_in_chunks((8, Share::Everyone), all, vec![contender], hooks);
    assert_eq!(reports.expect("the cases are legal")[0].runs(), foreseen, "what a bar counts to");
}
