//! The CUDA engine's host side against a driver without a GPU (`fake_cuda/libcuda.c`): every error
//! of the driver is met through cudarc, launches have the geometry they should, and the timing of
//! `splatcheck acceptance` comes out right. The driver's kernels do nothing but what a test here needs.

#![cfg(target_os = "linux")]

use super::workload::SPLATCHECK;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{Data, Engine, Reduction, Setting, Tensors, Work};
use splatcheck_judge::engines::{CUDA, ENGINE};
use splatcheck_judge::engines::{EngineProcess, EngineSpec, Identity, Limits, Program};
use tempfile::TempDir;

/// A folder with the library; `None`, loudly, where there is no C compiler.
fn driver(test: &str) -> Option<TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda/libcuda.c");
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(folder.path().join("libcuda.so"))
        .arg(source)
        .output();
    match built {
        Ok(built) if built.status.success() => Some(folder),
        Ok(built) => panic!("gcc: {}", String::from_utf8_lossy(&built.stderr)),
        Err(error) => {
            println!("NOT EXERCISED: {test}: gcc does not start: {error}");
            None
        }
    }
}

/// Exit code, standard output, standard error.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs splatcheck in the folder, with the driver there and no Vulkan driver.
fn say(folder: &Path, set: &[(&str, &str)], words: &[&str]) -> Said {
    let said = Command::new(SPLATCHECK)
        .args(words)
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", folder)
        .env("VK_DRIVER_FILES", folder.join("none.json"))
        .envs(set.iter().copied())
        .output()
        .expect("splatcheck starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Said { code: said.status.code(), out: text(said.stdout), err: text(said.stderr) }
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../corpora/splat/{name}.toml"))
}

/// Judges the scene of 33 x 31 pixels.
fn check(folder: &Path, set: &[(&str, &str)], more: &[&str]) -> Said {
    let case = corpus("image-33x31");
    let case = case.to_str().expect("a plain name");
    let words =
        [&["self-check", "--engine", "cuda", "--case", case, "--out", "found"], more].concat();
    say(folder, set, &words)
}

fn reproducers(folder: &Path) -> usize {
    fs::read_dir(folder.join("found")).map_or(0, Iterator::count)
}

#[test]
fn the_device_is_found_and_described() {
    let Some(folder) = driver("the_device_is_found_and_described") else { return };
    let said = say(folder.path(), &[], &["devices"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["cuda ", "cuda-fast ", "Fake GPU", "CUDA 12.4, sm_89"] {
        assert!(said.out.contains(words), "no '{words}': {}", said.out);
    }
}

#[test]
fn without_a_driver_it_is_not_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let devices = say(folder.path(), &[], &["devices"]);
    if devices.out.lines().any(|line| line.starts_with("cuda ")) {
        println!("NOT EXERCISED: without_a_driver_it_is_not_found: there is a CUDA driver here");
        return;
    }
    assert!(devices.out.contains("cuda: the CUDA driver is not found"), "{}", devices.out);
    let said = check(folder.path(), &[], &[]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let words = "engine 'cuda' is not available here: the CUDA driver is not found (libcuda.so.1)";
    assert!(said.err.contains(words), "unhelpful: {}", said.err);
}

#[test]
fn a_device_that_cannot_be_used_says_why() {
    let Some(folder) = driver("a_device_that_cannot_be_used_says_why") else { return };
    for (name, value, words) in [
        ("FAKE_CUDA_FAIL", "cuModuleLoadData=222", "the driver (CUDA 12.4, sm_89) is too old"),
        ("FAKE_CUDA_FAIL", "cuModuleLoadData=209", "this is the wrong architecture"),
        ("FAKE_CUDA_FAIL", "cuModuleLoadData=218", "refuses it (CUDA_ERROR_INVALID_PTX)"),
        ("FAKE_CUDA_FAIL", "cuModuleGetFunction=500", "it has no such entry point"),
        ("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain=2", "out of GPU memory"),
        ("FAKE_CUDA_FAIL", "cuInit=803", "reinstall the NVIDIA driver"),
        ("FAKE_CUDA_FAIL", "cuInit=100", "CUDA_VISIBLE_DEVICES"),
        ("FAKE_CUDA_CAPABILITY", "7.0", "compute capability 7.5 or above (it has 7.0)"),
    ] {
        let said = check(folder.path(), &[(name, value)], &[]);
        assert_eq!(said.code, Some(2), "{value}: {said:?}");
        assert!(said.err.contains("engine 'cuda' is not available here"), "{value}: {}", said.err);
        assert!(said.err.contains(words), "{value} does not say '{words}': {}", said.err);
        assert!(!said.err.contains("panicked"), "{value} panics: {}", said.err);
    }
}

/// What fails after the device was opened: the machine is an error, a kernel that faults disagrees,
/// and both leave a reproducer.
#[test]
fn what_fails_in_the_middle_leaves_a_reproducer() {
    let Some(folder) = driver("what_fails_in_the_middle_leaves_a_reproducer") else { return };
    let setting = ["--reduction", "sw-b", "--threshold", "8"];
    for (fail, code, words) in [
        ("cuMemAlloc_v2=2@4", 2, "out of GPU memory: end other programs"),
        ("cuLaunchKernel=214@2", 2, "the device was lost (CUDA_ERROR_ECC_UNCORRECTABLE)"),
        ("cuModuleLoadData=222@2", 2, "is too old for this PTX"),
        ("cuMemcpyDtoHAsync_v2=700@2", 1, "a kernel faulted (CUDA_ERROR_ILLEGAL_ADDRESS)"),
        ("cuLaunchKernel=719@2", 1, "a kernel faulted (CUDA_ERROR_LAUNCH_FAILED)"),
    ] {
        let said = check(folder.path(), &[("FAKE_CUDA_FAIL", fail)], &setting);
        assert_eq!(said.code, Some(code), "{fail}: {said:?}");
        let told = if code == 2 { &said.err } else { &said.out };
        assert!(told.contains(words), "{fail} does not say '{words}': {said:?}");
        assert!(reproducers(folder.path()) > 0, "{fail} left no reproducer: {}", said.out);
        fs::remove_dir_all(folder.path().join("found")).expect("removed");
    }
}

/// Kernels that do nothing leave poison in the image and zeros in the gradients: both are seen.
#[test]
fn kernels_that_write_nothing_disagree() {
    let Some(folder) = driver("kernels_that_write_nothing_disagree") else { return };
    let said = check(folder.path(), &[], &["--reduction", "atomic"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("DISAGREE cuda: rasterize,"), "the image: {}", said.out);
    assert!(said.out.contains(" was not written, oracle"), "poison was not seen: {}", said.out);
    assert!(
        said.out.contains("DISAGREE cuda: rasterize_backward, atomic"),
        "the gradients: {}",
        said.out
    );
}

#[test]
fn launches_have_the_tiles_and_thresholds_of_the_scene() {
    let Some(folder) = driver("launches_have_the_tiles_and_thresholds") else { return };
    let log = folder.path().join("log");
    let set = [("FAKE_CUDA_LOG", log.to_str().expect("a plain name"))];
    // A fault that ends the runs of a stage at once would hide the others: nothing fails here.
    let said = check(folder.path(), &set, &["--reduction", "sw-s", "--threshold", "33"]);
    assert_eq!(said.code, Some(1), "the kernels do nothing: {said:?}");
    let log = fs::read_to_string(log).expect("launches");
    let shape = "image 33x31 grid 3,2,1 block 256,1,1 shared 0 threshold";
    for line in [format!("rasterize {shape} 0"), format!("rasterize_backward_sw_s {shape} 33")] {
        assert!(log.lines().any(|found| found == line), "no '{line}' in {log}");
    }
}

/// Every run of a timing adds to what the job gives: not to zeros, nor to the sums of the last run.
#[test]
fn timed_runs_start_from_the_given_sums() {
    let Some(folder) = driver("timed_runs_start_from_the_given_sums") else { return };
    let log = folder.path().join("log");
    let env = [("LD_LIBRARY_PATH", folder.path()), ("FAKE_CUDA_LOG", &log)];
    let mut spec = EngineSpec::new(
        Identity::Cuda { fast_math: false },
        vec![(ENGINE.to_owned(), CUDA.into())],
    );
    spec.env.extend(env.map(|(name, value)| (name.to_owned(), value.into())));
    let program = Program::splatcheck(SPLATCHECK);
    let mut engine =
        EngineProcess::start(spec, program, Limits::default()).expect("the driver works");
    let mut inputs = Tensors::new();
    let mut array = |name, shape: &[usize], data| {
        inputs.array(name, shape, data).expect("the numbers fill the shape");
    };
    array("keys", &[1], Data::U32(vec![0]));
    array("values", &[1, 2], Data::F32(vec![1.0, 1.0]));
    array("initial", &[1, 2], Data::F32(vec![7.0, 8.0]));
    let settings = [Some(Setting { reduction: Reduction::Atomic, threshold: 0 })];
    let work = Work { inputs: &inputs, settings: &settings };
    let timing = engine.time(SCATTER, work, 2).expect("the clock works");
    assert_eq!(timing.milliseconds, [vec![8.0; 2]], "two runs of one setting");
    let log = fs::read_to_string(log).expect("launches");
    let adds: Vec<_> = log.lines().filter(|line| line.starts_with("scatter")).collect();
    assert_eq!(adds, ["scatter_atomic adds to 7"; 3], "the first run is not counted: {log}");
}

/// The driver's clock says 8 ms for `atomic`, at best 2 for DISTWAR's reductions, 1 for `per-gaussian`.
#[test]
fn acceptance_finds_the_best_settings() {
    let Some(folder) = driver("acceptance_finds_the_best_settings") else { return };
    let here = folder.path();
    fs::create_dir(here.join("corpus")).expect("a folder");
    fs::copy(corpus("one-pixel"), here.join("corpus/one-pixel.toml")).expect("a scene");
    let words = ["acceptance", "--quick", "--out", "report", "--engine", "cuda", "--engine"];
    let words = [&words[..], &["emulator", "--cases", "0", "--corpus", "corpus"]].concat();
    let said = say(here, &[], &words);
    assert_eq!(said.code, Some(1), "the kernels do nothing: {said:?}");
    let report = fs::read_to_string(here.join("report/report.md")).expect("the report");
    for words in [
        "**DISAGREE**",
        "the best DISTWAR setting is 4.00 times faster than `atomic`",
        "reaches the paper's 2.44; the best reduction of all 8.00 times, faster than both",
        "arithmetic 0.",
        "at 25.6 Tflop/s",
        "at 960 GB/s",
        "sw-b threshold 8",
        "**NOT EXERCISED**: times on emulator",
        "splatcheck replay report/findings/",
    ] {
        assert!(report.contains(words), "no '{words}' in {report}");
    }
    let json = fs::read_to_string(here.join("report/report.json")).expect("the figures");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["speed"][0]["distwar_to_atomic"], 4.0, "{}", json["speed"]);
    assert!(fs::read_dir(here.join("report/findings")).expect("findings").count() > 0, "none");
    let again = say(here, &[], &words);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("name a new folder"), "unhelpful: {}", again.err);

    // A clock that fails: the rest of the report is there, and the command is no success.
    let fail = [("FAKE_CUDA_FAIL", "cuEventElapsedTime=2")];
    let words: Vec<_> = words.iter().map(|&w| if w == "report" { "second" } else { w }).collect();
    let said = say(here, &fail, &words);
    assert_ne!(said.code, Some(0), "{said:?}");
    let report = fs::read_to_string(here.join("second/report.md")).expect("the report");
    assert!(report.contains("**FAULT**: timing on cuda: device not available"), "{report}");
}
