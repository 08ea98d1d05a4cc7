//! What surrounds a run and fails: files that are damaged, a reader that goes away, a disk that is full.
//! Nothing panics, and nothing half written stays. `SPLATCHECK_FUZZ_CASES` says how many inputs are tried.
#![cfg(target_os = "linux")]

use splatcheck::manifest::{Manifest, ManifestKernel};
use splatcheck_filetests::damage::{Random, cases, damaged};
use splatcheck_gpu::Tensors;
use splatcheck_tests::{own_kernel, root, splatcheck, text};
use splatcheck_workloads::find;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};

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
        .map(|name| own_kernel(&format!("{name}.ptx")))
        .map(|file| fs::read_to_string(file).expect("a module"))
        .into();
    read_all(
        "manifests",
        &all,
        |line| line.contains('='),
        |text| {
            let manifest = Manifest::parse(text).map_err(|problem| problem.to_string())?;
            let symbols = manifest.symbols(&Tensors::new()).map_err(|error| error.to_string())?;
            let kernels: Vec<_> = ptx
                .iter()
                .filter_map(|ptx| ManifestKernel::new(manifest.clone(), ptx.clone()).ok())
                .collect();
            let Some(kernel) = kernels.first() else { return Err("no such kernel".to_owned()) };
            // What has no value without a case is told then.
            drop(kernel.evaluate(&symbols, &Tensors::new()));
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
        &["self-check", "--case", &case, "--engine", "emulator"],
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
        (&["self-check", "--case", &case, "--engine", "emulator", "--json"], "run.json"),
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
