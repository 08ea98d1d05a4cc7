//! What the whole-program tests share: where things are, and engines that need no device.

mod mirror;
mod pages;

pub use mirror::{Defect, Mirror};
pub use pages::{below, odd_phrases, pages};

use splatcheck_gpu::archive::Archive;
use splatcheck_gpu::{Setting, Stage, artifact};
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, Item, run};
use splatcheck_judge::workload::{AnyCase, Workload, views};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::minimize::drop_gaussians;
use splatcheck_workloads::splat::{Splat, splat_case};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// A file of the tree, by its path from the root.
///
/// # Panics
/// The tree lies in a folder of no plain name.
#[must_use]
pub fn path(below: &str) -> String {
    root().join(below).to_str().expect("a plain name").to_owned()
}

/// Writes `m.toml` into a folder: a manifest of the users' kernels with these changes, each at the first place that
/// has the old text.
///
/// # Panics
/// The manifest is not there, or has not the old text.
pub fn changed_manifest(folder: &Path, name: &str, changes: &[[&str; 2]]) {
    change(Path::new(&own_kernel(name)), &folder.join("m.toml"), changes);
}

/// Writes a text of a file with these changes, each of which has the old text, to the same or another file.
///
/// # Panics
/// The file is not there, or has not the old text.
pub fn change(from: &Path, to: &Path, changes: &[[&str; 2]]) {
    let mut text = fs::read_to_string(from).expect("readable");
    for [old, new] in changes {
        assert!(text.contains(old), "{} has {old}", from.display());
        text = text.replacen(old, new, 1);
    }
    fs::write(to, text).expect("written");
}

/// A file of the users' kernels (`gpu/tests/kernels`): as it lies there, or unpacked from `ptx.tar.zst` beside it.
///
/// # Panics
/// There is no such file.
#[must_use]
pub fn own_kernel(name: &str) -> String {
    let kernels = root().join("gpu/tests/kernels");
    if kernels.join(name).exists() {
        return path(&format!("gpu/tests/kernels/{name}"));
    }
    let packed = fs::read(kernels.join("ptx.tar.zst")).expect("it is there");
    let archive = Archive::read(&packed).expect("an archive");
    let text = archive.get(name).unwrap_or_else(|| panic!("no kernel {name}"));
    let folder = programs().join("users-kernels");
    fs::create_dir_all(&folder).expect("a folder beside the programs");
    let file = folder.join(name);
    if !fs::read_to_string(&file).is_ok_and(|present| present == text) {
        // Tests run side by side, and none may see half a file.
        let mut new = tempfile::NamedTempFile::new_in(&folder).expect("the folder is writable");
        new.write_all(text.as_bytes()).expect("there is room");
        new.persist(&file).expect("it takes the place");
    }
    file.to_str().expect("a plain name").to_owned()
}

/// The PTX of one of this project's kernels, by its path in the archive.
///
/// # Panics
/// There is no such kernel.
#[must_use]
pub fn compiled(path: &str) -> &'static str {
    let artifact = artifact::all().into_iter().find(|artifact| artifact.path() == path);
    artifact.expect("an artifact").ptx().expect("it is built in")
}

/// Unpacks the PTX of a mutant of the kernels of splats into a folder; its path.
///
/// # Panics
/// There is no such mutant.
#[must_use]
pub fn mutant(folder: &Path, file: &str) -> String {
    let packed = fs::read(root().join("tests/mutants/splat/ptx.tar.zst")).expect("it is there");
    let archive = Archive::read(&packed).expect("an archive");
    let path = folder.join(file);
    fs::write(&path, archive.get(file).expect("a mutant")).expect("the folder is writable");
    path.to_str().expect("a plain name").to_owned()
}

/// The corpus, in the order of names.
///
/// # Panics
/// If a scene cannot be read: the test cannot go on.
#[must_use]
pub fn corpus() -> Vec<Case> {
    let corpus = Splat::default().read_corpus(&root().join("corpora/splat"));
    let corpus = corpus.expect("the corpus is readable");
    assert_eq!(corpus.unread.gap("files"), None, "all of it");
    corpus.cases.iter().map(|case| splat_case(case).expect("a case of splats").clone()).collect()
}

/// Judges the mirror with a defect on the cases, in the standard formulation; findings keep the fewest
/// Gaussians that fail.
///
/// # Panics
/// Where a case is not legal.
#[must_use]
pub fn judge(defect: Defect, cases: &[Case], settings: Vec<Setting>) -> EngineReport {
    let standard = Stage::all().filter(|stage| stage.text.formulation_of.is_none());
    judge_stages(defect, cases, (standard.collect(), settings))
}

/// As [`judge`], with these stages.
///
/// # Panics
/// As [`judge`].
#[must_use]
pub fn judge_stages(
    defect: Defect,
    cases: &[Case],
    (stages, settings): (Vec<Stage>, Vec<Setting>),
) -> EngineReport {
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, defect)),
        stages,
        settings,
    };
    let all = views(cases.iter().map(|case| Arc::new(case.clone()) as AnyCase));
    let minimize = |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| -> AnyCase {
        let case = splat_case(&item.case).expect("the cases are splats");
        Arc::new(drop_gaussians(case, &mut |case| fails(&(Arc::new(case.clone()) as AnyCase))))
    };
    let mut reports =
        run(all, vec![contender], Hooks::new(&minimize)).expect("the cases are legal");
    reports.pop().expect("one engine, one report")
}

/// The folder of the programs that were built with the tests.
fn programs() -> PathBuf {
    let own = std::env::current_exe().expect("a test program has a path");
    own.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST").to_path_buf()
}

/// The command under test, built beside the test programs.
///
/// # Panics
/// If it has not been built.
#[must_use]
pub fn splatcheck() -> Command {
    let program = programs().join(format!("splatcheck{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is missing: cargo build --workspace", program.display());
    Command::new(program)
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Assertions, each of which fails with all that the command said.
impl Said {
    /// It ended with this code.
    ///
    /// # Panics
    /// With another code, or by a signal.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "the exit code of\n{}\n{}", self.out, self.err);
        self
    }

    /// Its standard output has these words.
    ///
    /// # Panics
    /// Where it has not.
    #[track_caller]
    pub fn prints(&self, words: &str) -> &Self {
        assert!(
            self.out.contains(words),
            "it does not print '{words}':\n{}\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Its standard error has these words.
    ///
    /// # Panics
    /// Where it has not.
    #[track_caller]
    pub fn complains(&self, words: &str) -> &Self {
        assert!(self.err.contains(words), "it does not say '{words}':\n{}\n{}", self.out, self.err);
        self
    }
}

/// The arguments of the line of a report that runs its first finding again.
///
/// # Panics
/// Where no line does.
#[must_use]
pub fn again(report: &str) -> Vec<&str> {
    let line = report.lines().find_map(|line| line.split_once("run it again: splatcheck "));
    line.expect("a reproducer is told").1.split_whitespace().collect()
}

/// The file of that finding.
///
/// # Panics
/// Where no line tells of one, or it is not there.
pub fn reproducer(folder: &Path, said: &Said) -> PathBuf {
    let file = folder.join(again(&said.out)[1]);
    assert!(file.is_file(), "{} is not there: {said:?}", file.display());
    file
}

/// Runs splatcheck with these arguments in that folder.
///
/// # Panics
/// If it cannot be started.
#[must_use]
pub fn say(folder: &Path, args: &[&str]) -> Said {
    let output = splatcheck().args(args).current_dir(folder).output().expect("it starts");
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// What a program wrote, as text.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every file of a folder by name.
///
/// # Panics
/// If it is no folder, or a file cannot be read.
#[must_use]
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_str().expect("a plain name").to_owned();
        (name, fs::read(entry.path()).expect("it is there"))
    };
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| read(entry.expect("an entry"))).collect()
}

/// How a child ends within a time; `None` where it does not, and is killed.
///
/// # Panics
/// If the child is another's.
pub fn ended_within(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() <= limit {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return Some(status);
        }
        sleep(Duration::from_millis(2));
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    None
}

/// Whether this machine has an engine; where not, says so loudly, because the caller then tests
/// less than it could.
#[must_use]
pub fn has_engine(test: &str) -> bool {
    let devices = say(Path::new("."), &["devices"]);
    let found = !devices.out.starts_with("No engine");
    if !found {
        println!("NOT EXERCISED: {test}: no engine on this machine\n{}", devices.out);
    }
    found
}

/// The folder of trained scenes, where it is there; where not, says so loudly.
#[must_use]
pub fn trained_scenes(test: &str) -> Option<PathBuf> {
    let folder = root().join("../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("NOT EXERCISED: {test}: {} is not there", folder.display());
    None
}

/// The Python of `tests/setup` with numpy; where it is not there, says so loudly.
#[must_use]
pub fn python(test: &str) -> Option<String> {
    let own = std::env::current_exe().expect("a test program has a path");
    let target = own.ancestors().nth(3).expect("target/PROFILE/deps/TEST");
    let python = target.join("python/bin/python");
    if !python.is_file() {
        println!("NOT EXERCISED: {test}: no {}: run tests/setup", python.display());
        return None;
    }
    Some(python.to_str().expect("a plain name").to_owned())
}

/// A scene of three Gaussians, as trainers write it.
#[must_use]
pub fn small_ply() -> Vec<u8> {
    let names =
        "x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3";
    let lines: String = names.split(' ').map(|name| format!("property float {name}\n")).collect();
    let head = "ply\nformat binary_little_endian 1.0\nelement vertex 3\n";
    let mut bytes = format!("{head}{lines}end_header\n").into_bytes();
    for number in [0.0_f32, 0.1, 0.2] {
        let row = [number, 0.0, 4.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 0.0, 0.0, 0.0];
        bytes.extend(row.iter().flat_map(|number: &f32| number.to_le_bytes()));
    }
    bytes
}
