//! What surrounds a run and fails: engines that are killed, files that are damaged, a reader that goes
//! away, a disk that is full. Nothing panics, nothing half written stays, and nothing that was lost is
//! passed over in silence. `SPLATCHECK_FUZZ_CASES` says how many inputs are tried.
#![cfg(target_os = "linux")]

use splatcheck::campaign::{Contender, EngineReport, Hooks, Share, as_it_is, run_in_chunks};
use splatcheck::fuzz::{Plan, Shard};
use splatcheck::manifest::{Manifest, ManifestKernel, Symbols};
use splatcheck::workloads::find;
use splatcheck::workloads::splat::Splat;
use splatcheck_filetests::damage::{Random, cases, damaged};
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{DeviceInfo, Engine, EngineError, Setting, Stage, Tensors, Work};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{Defect, Mirror, root, splatcheck};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The engines that a process runs: its children whose first argument says so.
fn engines(of: &Child) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", of.id())) else { return Vec::new() };
    let children =
        tasks.flatten().filter_map(|t| fs::read_to_string(t.path().join("children")).ok());
    let all: Vec<u32> = children
        .flat_map(|text| text.split(' ').filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    let is_engine = |id: &u32| {
        fs::read(format!("/proc/{id}/cmdline"))
            .is_ok_and(|words| words.split(|b| *b == 0).nth(1) == Some(b"engine"))
    };
    all.into_iter().filter(is_engine).collect()
}

/// The processor time of a process in hundredths of a second (proc(5): field 14, behind the name in
/// parentheses).
fn ticks(id: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default();
    behind.split_whitespace().nth(11).and_then(|time| time.parse().ok()).unwrap_or(0)
}

/// Starts a campaign on the emulator and does `harm` to an engine that has worked for a while; what it said
/// in the end.
fn harmed(folder: &Path, signal: &str, count: u64, more: &[&str]) -> Output {
    let number = count.to_string();
    let mut child = splatcheck()
        .args(["fuzz", "--engine", "emulator", "--jobs", "1", "--cases", &number, "--out", "out"])
        .args(more)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Discovery tries engines for a moment; one that has computed for half a second is the campaign's.
    let start = Instant::now();
    let victim = loop {
        assert!(start.elapsed() < Duration::from_secs(300), "no engine works");
        assert!(child.try_wait().expect("ours").is_none(), "it ended before an engine worked");
        if let Some(id) = engines(&child).into_iter().find(|&id| ticks(id) >= 50) {
            break id;
        }
        sleep(Duration::from_millis(5));
    };
    let kill = || Command::new("kill").args(["-s", signal, &victim.to_string()]).status();
    assert!(kill().expect("kill is there").success(), "the engine was gone");
    if signal == "SEGV" {
        // Rust's handler takes one that no stack overflow has sent for a fault that will come again, and
        // gives the default action back (library/std/src/sys/pal/unix/stack_overflow.rs): so here it comes
        // again.
        sleep(Duration::from_millis(50));
        assert!(kill().expect("kill is there").success(), "the engine was gone after the first");
    }
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn reproducers(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("out")).expect("findings").flatten();
    files.filter(|file| file.path().extension().is_some_and(|e| e == "safetensors")).count()
}

#[test]
fn an_engine_that_is_killed_is_a_finding_with_its_reproducer() {
    for (signal, words) in [
        ("KILL", "ended by signal 9 (SIGKILL"),
        ("ABRT", "ended by signal 6 (SIGABRT"),
        ("SEGV", "ended by signal 11 (SIGSEGV"),
        ("STOP", "no answer within 20 s: killed"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let said = harmed(folder.path(), signal, 1200, &["--timeout", "20"]);
        let (out, err) = (text(&said.stdout), text(&said.stderr));
        assert_eq!(said.status.code(), Some(1), "{signal}: {out}{err}");
        assert!(out.starts_with("disagree: "), "{signal}: {out}");
        assert!(out.contains("no result: ") && out.contains(words), "{signal}: {out}");
        assert!(err.contains(words), "said when it happened: {err}");
        assert!(out.contains("run it again: splatcheck replay out/"), "{signal}: {out}");
        assert!(reproducers(folder.path()) > 0, "{signal}: no reproducer");
    }
}

/// The mirror with a defect, whose process dies in one of so many requests.
struct Mortal {
    mirror: Mirror,
    random: Random,
    one_in: usize,
    /// Whether it died in the last request: never twice in a row, or it would be given up.
    died: bool,
    deaths: Arc<AtomicU64>,
}

impl Engine for Mortal {
    fn info(&self) -> &DeviceInfo {
        self.mirror.info()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        self.died = !self.died && self.one_in > 0 && self.random.below(self.one_in) == 0;
        if self.died {
            self.deaths.fetch_add(1, Ordering::Relaxed);
            return Err(EngineError::Device("ended by signal 9 (SIGKILL".to_owned()));
        }
        self.mirror.run(stage, work)
    }
}

/// A campaign on it; its report, and how often it died.
fn mortal(one_in: usize, count: u64) -> (EngineReport, u64) {
    let deaths = Arc::<AtomicU64>::default();
    let engine = Mortal {
        mirror: Mirror::new(8, Defect::LostLane(3)),
        random: Random::new(5),
        one_in,
        died: false,
        deaths: Arc::clone(&deaths),
    };
    let contender = Contender {
        id: "mortal".to_owned(),
        emulation: None,
        engine: Box::new(engine),
        stages: vec![RASTERIZE_BACKWARD],
        settings: Setting::all(8).into_iter().take(2).collect(),
    };
    let plan = Plan::new(Arc::new(Splat(Some(Profile::Inria))), 7, &[]);
    let of_plan = plan.cases(Shard::WHOLE).take(usize::try_from(count).expect("few"));
    let hooks = Hooks { policy: &plan, ..Hooks::new(&as_it_is) };
    let reports = run_in_chunks((1, Share::Everyone), of_plan, vec![contender], hooks);
    let report = reports.expect("legal cases").pop().expect("one engine");
    (report, deaths.load(Ordering::Relaxed))
}

/// What the kernel has wrong is found all the same, and that it died is said.
#[test]
fn a_campaign_under_a_killer_loses_no_finding_and_hides_no_crash() {
    let count = cases(300);
    let (quiet, _) = mortal(0, count);
    let (killed, deaths) = mortal(23, count);
    assert!(deaths > 3, "nothing died in {count} cases");
    assert_eq!(killed.given_up, None, "it never died twice in a row");
    let kinds = |report: &EngineReport| -> BTreeMap<String, u64> {
        report.findings.iter().map(|f| (f.key.clone(), f.runs)).collect()
    };
    let (quiet, killed) = (kinds(&quiet), kinds(&killed));
    for (kind, runs) in &quiet {
        // What failed in two runs alone may have died in both.
        assert!(
            *runs < 3 || killed.contains_key(kind),
            "lost in {deaths} deaths: {kind}, {runs} runs"
        );
    }
    let crashes: u64 =
        killed.iter().filter(|(kind, _)| kind.contains("no result")).map(|(_, runs)| runs).sum();
    assert!(crashes > 0 && crashes <= deaths, "{crashes} of {deaths} deaths were said");
}

/// Reads a damaged text; whether it was accepted. A failure names the seed.
fn read_all(
    what: &str,
    texts: &[String],
    declares: fn(&str) -> bool,
    read: impl Fn(&str) -> Result<(), String>,
) {
    let count = cases(1500);
    let mut accepted = 0;
    for seed in 0..count {
        let mut random = Random::new(seed);
        let text = damaged(&texts[random.below(texts.len())], declares, &mut random);
        let tried = catch_unwind(AssertUnwindSafe(|| read(&text)));
        match tried.unwrap_or_else(|_| panic!("{what}, seed {seed}: it panicked\n{text}")) {
            Ok(()) => accepted += 1,
            Err(message) => assert!(message.len() < 4000, "{what}, seed {seed}: {message}"),
        }
    }
    println!("{what}: {accepted} of {count} accepted");
    assert!(accepted > 0 && accepted < count, "{what}: {accepted} of {count} accepted");
}

fn texts(folder: &str, extension: &str) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(root().join(folder))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|own| own == extension));
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).expect("a text")).collect()
}

#[test]
fn damaged_manifests_are_refused_or_have_values() {
    let mut all = texts("gpu/tests/kernels", "toml");
    // Those of WGSL kernels are read as such.
    all.retain(|text| Manifest::parse(text).is_ok());
    let ptx: Vec<_> = ["gsplat_backward", "gsplat_project", "gsplat_rasterize", "own_backward"]
        .map(|name| root().join(format!("gpu/tests/kernels/{name}.ptx")))
        .map(|file| fs::read_to_string(file).expect("a module"))
        .into();
    read_all(
        "manifests",
        &all,
        |line| line.contains('='),
        |text| {
            let manifest = Manifest::parse(text).map_err(|problem| problem.to_string())?;
            let symbols = Symbols::without_a_case(&manifest.sizes);
            let kernels: Vec<_> = ptx
                .iter()
                .filter_map(|ptx| ManifestKernel::new(manifest.clone(), ptx.clone()).ok())
                .collect();
            let Some(kernel) = kernels.first() else { return Err("no such kernel".to_owned()) };
            // What has no value without a case is told then.
            drop(kernel.evaluate(&symbols));
            Ok(())
        },
    );
}

#[test]
fn damaged_scenes_are_refused_or_have_jobs() {
    for name in ["splat", "scatter"] {
        let workload = find(name).expect("there");
        let mut all = texts(&format!("corpora/{name}"), "toml");
        // The long ones would be read slowly, and say nothing else.
        all.retain(|text| text.len() < 4000);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("case.toml");
        read_all(
            name,
            &all,
            |line| line.contains('='),
            |text| {
                fs::write(&file, text).expect("there is room");
                workload.read(&file).map(drop).map_err(|error| error.to_string())
            },
        );
    }
}

/// What a command says that has nowhere to write.
fn without_output(words: &[&str], stdout: Stdio) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = splatcheck();
    command.args(words).current_dir(folder.path()).stdout(stdout).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    let said = child.wait_with_output().expect("it ends");
    (said.status.code(), text(&said.stderr))
}

#[test]
fn output_that_cannot_be_written_is_exit_code_2() {
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let all: [&[&str]; 7] = [
        &["check", "--case", &case, "--engine", "emulator"],
        &["fuzz", "--cases", "2", "--engine", "emulator"],
        &["oracle", &case, "-o", "out.safetensors", "--bounds"],
        &["traffic", "--points", "64"],
        &["cases", "--count", "2", "--out", "made"],
        &["man"],
        &["--help"],
    ];
    for words in all {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        for (what, stdout) in [("closed", Stdio::piped()), ("full", full.into())] {
            let (code, err) = without_output(words, stdout);
            assert!(!err.contains("panicked"), "{what}, {words:?}: {err}");
            assert!(matches!(code, Some(0 | 2)), "{what}, {words:?}: {code:?} {err}");
        }
    }
}

/// A file system of 256 KiB; `None` where none can be mounted, which is said loudly.
struct Small(tempfile::TempDir);

impl Small {
    fn new(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(folder.path());
        if mount.output().is_ok_and(|said| said.status.success()) {
            return Some(Self(folder));
        }
        println!("NOT EXERCISED: {test}: a file system that is soon full takes root and mount");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // What is not unmounted keeps the folder, and the next boot clears both.
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_leaves_no_half_of_a_file() {
    let Some(small) = Small::new("a_full_disk_leaves_no_half_of_a_file") else { return };
    let folder = small.0.path();
    let case = root().join("corpora/splat/list-of-513.toml").display().to_string();
    let at = |name: &str| folder.join(name).display().to_string();
    // As much as fits, but for a little.
    let mut room = vec![0; 256 << 10];
    while fs::write(at("filler"), &room).is_err() {
        room.truncate(room.len() - 4096);
    }
    fs::write(at("filler"), &room[..room.len() - 8192]).expect("it fits");
    let before = fs::read_dir(folder).expect("it is there").count();
    let all: [(&[&str], &str); 2] = [
        (&["oracle", &case, "-o"], "out.safetensors"),
        (&["check", "--case", &case, "--engine", "emulator", "--json"], "run.json"),
    ];
    for (words, name) in &all {
        let said = splatcheck().args(*words).arg(at(name)).current_dir(root()).output();
        let said = said.expect("it starts");
        let err = text(&said.stderr);
        assert!(!err.contains("panicked"), "{words:?}: {err}");
        match said.status.code() {
            Some(2) => assert!(err.contains("error: ") && err.contains(name), "{words:?}: {err}"),
            code => assert!(code == Some(0) && Path::new(&at(name)).is_file(), "{words:?}: {err}"),
        }
    }
    let left = fs::read_dir(folder).expect("it is there").flatten().map(|e| e.path());
    let whole = |file: &Path| fs::metadata(file).is_ok_and(|data| data.len() > 0);
    let left: Vec<_> = left.collect();
    assert!(left.iter().all(|file| whole(file)), "empty files: {left:?}");
    assert!(
        !Path::new(&at("out.safetensors")).exists(),
        "the oracle's result had room: nothing tried"
    );
    assert!(left.len() <= before + 1, "something was left: {left:?}");
}
