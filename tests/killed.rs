//! Engines whose processes are killed, stopped or garbled in the middle of a campaign: nothing that the kernel
//! has wrong is lost, and every death is said. `SPLATCHECK_FUZZ_CASES` says how many cases the campaigns have:
//! 36,000 are thirteen minutes of the random killer on two cores (212 deaths, each of them told, 2026-11-25).
#![cfg(target_os = "linux")]

use serde_json::Value;
use splatcheck_filetests::damage::{Random, cases};
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{DeviceInfo, Engine, EngineError, Setting, Stage, Tensors, Work};
use splatcheck_judge::campaign::{
    Contender, EngineReport, Finding, Hooks, Share, as_it_is, run_in_chunks,
};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{Defect, Mirror, root, splatcheck, text};
use splatcheck_workloads::fuzz::{Plan, Shard};
use splatcheck_workloads::splat::Splat;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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

/// What happens to an engine's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// A signal, by its name without "SIG".
    Signal(&'static str),
    /// Bytes that are no frame, on the pipe of its answers.
    Garbage,
}

impl Harm {
    /// Does it; whether the process was there.
    fn harm(self, victim: u32) -> bool {
        let Self::Signal(signal) = self else { return garble(victim).is_some() };
        let id = victim.to_string();
        let kill = || {
            let sent =
                Command::new("kill").args(["-s", signal, &id]).stderr(Stdio::null()).status();
            sent.expect("kill is there").success()
        };
        if !kill() {
            return false;
        }
        if signal == "SEGV" {
            // Rust's handler takes one that no stack overflow has sent for a fault that will come again,
            // and gives the default action back (library/std/src/sys/pal/unix/stack_overflow.rs): so here
            // it comes again.
            sleep(Duration::from_millis(50));
            kill();
        }
        true
    }
}

/// Writes into the pipe that an engine's process answers on: the one that it writes to and that is not its
/// standard error.
fn garble(victim: u32) -> Option<()> {
    let of = |name: &str| format!("/proc/{victim}/{name}");
    let errors = fs::read_link(of("fd/2")).ok()?;
    let answers = |entry: &PathBuf| {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let link = fs::read_link(entry).unwrap_or_default();
        let info = fs::read_to_string(of(&format!("fdinfo/{name}"))).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
        // proc(5); O_WRONLY is 1 of the two lowest bits.
        let written = flags.is_some_and(|flags| flags & 3 == 1);
        link.to_string_lossy().starts_with("pipe:") && link != errors && written
    };
    let pipe = fs::read_dir(of("fd")).ok()?.flatten().map(|entry| entry.path()).find(answers)?;
    // A full pipe is one that nobody reads any more.
    let mut opened = fs::OpenOptions::new();
    let mut pipe = opened.write(true).custom_flags(0o4000 /* O_NONBLOCK */).open(pipe).ok()?;
    pipe.write_all(b"this is not a frame").ok()
}

/// Starts a campaign that is to be harmed.
fn started(folder: &Path, words: &[&str]) -> Child {
    let mut command = splatcheck();
    command.args(["fuzz", "--jobs", "1", "--timeout", "20", "--out", "out"]).args(words);
    command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// An engine of a campaign that has worked for a while: discovery tries engines for a moment, and one that has
/// computed for half a second is the campaign's.
fn working(child: &mut Child) -> u32 {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(300), "no engine works");
        assert!(child.try_wait().expect("ours").is_none(), "it ended before an engine worked");
        if let Some(id) = engines(child).into_iter().find(|&id| ticks(id) >= 50) {
            return id;
        }
        sleep(Duration::from_millis(5));
    }
}

fn reproducers(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("out")).expect("findings").flatten();
    files.filter(|file| file.path().extension().is_some_and(|e| e == "safetensors")).count()
}

#[test]
fn an_engine_that_is_killed_is_a_finding_with_its_reproducer() {
    for (harm, words) in [
        (Harm::Signal("KILL"), "ended by signal 9 (SIGKILL"),
        (Harm::Signal("ABRT"), "ended by signal 6 (SIGABRT"),
        (Harm::Signal("SEGV"), "ended by signal 11 (SIGSEGV"),
        (Harm::Signal("STOP"), "no answer within 20 s: killed"),
        (Harm::Garbage, "this is"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        // Some three seconds of work, of which half a second is awaited.
        let mut child = started(folder.path(), &["--engine", "emulator", "--cases", "600"]);
        let victim = working(&mut child);
        assert!(harm.harm(victim), "{harm:?}: the engine was gone");
        let said = child.wait_with_output().expect("it ends");
        let (out, err) = (text(&said.stdout), text(&said.stderr));
        assert_eq!(said.status.code(), Some(1), "{harm:?}: {out}{err}");
        assert!(out.starts_with("disagree: "), "{harm:?}: {out}");
        assert!(out.contains("no result: ") && out.contains(words), "{harm:?}: {out}");
        assert!(out.contains("run it again: splatcheck replay out/"), "{harm:?}: {out}");
        assert!(reproducers(folder.path()) > 0, "{harm:?}: no reproducer");
    }
}

/// The wrong kernel of the killer's campaign, and where it runs: a mutant of WGSL needs a device for it.
const WRONG: &str = "tests/mutants/splat/wgsl/reduce.patch/lane-0-must-contribute";
const DEVICE: &str = "lavapipe-8";

/// A campaign on the wrong kernel in that folder.
fn on_a_wrong_kernel(folder: &Path, count: u64) -> Child {
    let mut command = splatcheck();
    command
        .args(["fuzz", "--engine", DEVICE, "--timeout", "20", "--out", "out"])
        .args(["--cases", &count.to_string()])
        .env("SPLATCHECK_MUTANT", root().join(WRONG))
        .current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// What came of a campaign.
struct Told {
    /// The kinds of what the kernel has wrong, with their runs.
    kinds: BTreeMap<String, u64>,
    /// Runs without a result, of each stage and reduction.
    without: BTreeMap<String, u64>,
    /// How many deaths were told.
    deaths: u64,
    given_up: Value,
}

impl Told {
    fn in_folder(folder: &Path) -> Self {
        let file = folder.join("out/result.json");
        let text = fs::read_to_string(&file).expect("it has written what it found");
        let whole: Value = serde_json::from_str(&text).expect("JSON");
        let engine = &whole["engines"][0];
        let (mut kinds, mut without) = (BTreeMap::new(), BTreeMap::new());
        for finding in engine["findings"].as_array().expect("findings") {
            let key = finding["key"].as_str().expect("a key").to_owned();
            let runs = finding["runs"].as_u64().expect("a number");
            if key.contains("no result") {
                *without.entry(kernel(&key)).or_default() += runs;
            } else {
                kinds.insert(key, runs);
            }
        }
        let deaths = engine["deaths"].as_u64().unwrap_or(0);
        Self { kinds, without, deaths, given_up: engine["given_up"].clone() }
    }
}

/// Stage and reduction, which a kind's key begins with.
fn kernel(key: &str) -> String {
    key.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// How many failed runs a finding's note speaks of.
fn deaths_of(note: &str) -> u64 {
    let number = note.split(' ').next().and_then(|word| word.parse().ok());
    if note.contains(" failed") { number.unwrap_or(1) } else { 0 }
}

#[test]
fn a_campaign_under_a_random_killer_loses_no_finding_and_hides_no_death() {
    let devices = text(&splatcheck().arg("devices").output().expect("it starts").stdout);
    if !devices.lines().any(|line| line.starts_with(&format!("{DEVICE} "))) {
        println!("NOT EXERCISED: the random killer: there is no {DEVICE}\n{devices}");
        return;
    }
    let count = cases(50);
    let [quiet, killed] = ["quiet", "killed"].map(|_| tempfile::tempdir().expect("a folder"));
    let code = on_a_wrong_kernel(quiet.path(), count).wait().expect("it ends").code();
    assert_eq!(code, Some(1), "the kernel is wrong");
    let quiet = Told::in_folder(quiet.path());

    let mut child = on_a_wrong_kernel(killed.path(), count);
    working(&mut child);
    let mut random = Random::new(count);
    let mut harmed = BTreeMap::<u32, Harm>::new();
    let mut last_was_young = false;
    let start = Instant::now();
    while child.try_wait().expect("ours").is_none() {
        sleep(Duration::from_millis(300 + random.below(1500) as u64));
        let Some(victim) = engines(&child).into_iter().find(|id| !harmed.contains_key(id)) else {
            continue;
        };
        // Three deaths without an answer between them would end the engine's part. A second of processor time
        // is enough to start and to compile a kernel, however busy the machine: of two victims in a row one
        // had it.
        let is_young = ticks(victim) < 100;
        if is_young && last_was_young {
            continue;
        }
        let harm = match random.below(13) {
            0 => Harm::Signal("STOP"),
            1..4 => Harm::Garbage,
            4..7 => Harm::Signal("ABRT"),
            7..10 => Harm::Signal("SEGV"),
            _ => Harm::Signal("KILL"),
        };
        if harm.harm(victim) {
            harmed.insert(victim, harm);
            last_was_young = is_young;
        }
    }
    let seconds = start.elapsed().as_secs();
    assert_eq!(child.wait().expect("it ended").code(), Some(1), "the kernel is wrong");
    let told = Told::in_folder(killed.path());
    println!("{count} cases in {seconds} s, {} deaths, {} told", harmed.len(), told.deaths);
    assert_eq!(told.given_up, Value::Null, "it never died three times in a row");
    // The last one may have had nothing to do any more.
    let sent = harmed.len() as u64;
    assert!(
        sent > 1 && (sent - 1..=sent).contains(&told.deaths),
        "{sent} deaths, {} told: {harmed:?}",
        told.deaths
    );
    let page =
        splatcheck().args(["report", "-o", "page.html", "out"]).current_dir(killed.path()).status();
    assert!(page.expect("it starts").success(), "the page is written");
    let page = fs::read_to_string(killed.path().join("page.html")).expect("a page");
    assert!(page.contains(&format!("{DEVICE}: its process ended ")), "the page hides the deaths");
    // A run that died is told as such; only all runs of a kind may have died.
    let died = |kind: &str| told.without.get(&kernel(kind)).copied().unwrap_or(0);
    let is_lost =
        |(kind, runs): &(&String, &u64)| !told.kinds.contains_key(*kind) && **runs > died(kind);
    let lost: Vec<_> = quiet.kinds.iter().filter(is_lost).collect();
    assert!(lost.is_empty(), "{lost:?}");
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

/// How many deaths a report tells of.
fn told(report: &EngineReport) -> u64 {
    let of = |finding: &Finding| {
        let own = if finding.key.contains("no result") { finding.runs } else { 0 };
        own + finding.notes.iter().map(|note| deaths_of(note)).sum::<u64>()
    };
    report.findings.iter().map(of).sum()
}

/// What the kernel has wrong is found all the same, and that it died is said.
#[test]
fn an_engine_that_dies_now_and_then_loses_no_finding_and_hides_no_death() {
    let count = cases(300);
    let (quiet, _) = mortal(0, count);
    let (killed, deaths) = mortal(23, count);
    assert!(deaths > 3, "nothing died in {count} cases");
    assert_eq!(killed.given_up, None, "it never died twice in a row");
    let kinds = |report: &EngineReport| -> BTreeMap<String, u64> {
        report.findings.iter().map(|f| (f.key.clone(), f.runs)).collect()
    };
    let (quiet, report, killed) = (kinds(&quiet), &killed, kinds(&killed));
    for (kind, runs) in &quiet {
        // What failed in two runs alone may have died in both.
        assert!(
            *runs < 3 || killed.contains_key(kind),
            "lost in {deaths} deaths: {kind}, {runs} runs"
        );
    }
    // A request that died and one of whose jobs dies again by itself is one crash.
    let told = told(report);
    assert!(told > 0 && told <= deaths, "{told} of {deaths} deaths were told");
}
