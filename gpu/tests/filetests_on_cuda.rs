//! Runs the emulator's filetests on a CUDA device, one test per file: `filetest_on_cuda::add` runs
//! `add.ptx`. Results must be the expected ones bit by bit, where PTX leaves nothing open (see
//! [`Tolerance`]).
//!
//! Launches that are misused are left out: PTX gives a device no duty to notice. Without a CUDA
//! driver every file's test is listed as ignored, and `the_device` says NOT EXERCISED. A kernel that
//! hangs the device can only be ended with its process.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaModule, CudaSlice, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use splatcheck_filetests::{
    Argument, DYNAMIC_SHARED, Filetest, Invocation, NEVER_WRITTEN, Outcome, Tolerance, all,
};
use splatcheck_gpu::EngineError;
use splatcheck_gpu::cuda::{CudaDevice, devices};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let device = devices().and_then(|devices| {
        devices.into_iter().next().ok_or_else(|| EngineError::NoDevice("no CUDA device".to_owned()))
    });
    let files: Vec<Filetest> =
        all().into_iter().filter(|file| !file.is_of_wgsl() && !runs(file).is_empty()).collect();
    let count = files.len();
    let ignored = device.is_err();
    let mut trials = Vec::new();
    for file in files {
        let name = format!("filetest_on_cuda::{}", file.name);
        let device = device.clone();
        let run = move || run_file(&file, &device.map_err(|e| e.to_string())?);
        trials.push(Trial::ignorable_test(name, run).with_ignored_flag(ignored));
    }
    trials.push(Trial::test("the_device", move || {
        match &device {
            Ok(device) => println!("{count} filetests are for {device:?}"),
            Err(why) => println!("NOT EXERCISED: {count} filetests on a CUDA device: {why}"),
        }
        Ok(())
    }));
    #[cfg(target_os = "linux")]
    trials.push(Trial::ignorable_test(
        "kernels_that_do_nothing_are_noticed",
        without_gpu::kernels_that_do_nothing_are_noticed,
    ));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The launches of a file that go well: line, launch and the words expected.
fn runs(file: &Filetest) -> Vec<(usize, Invocation, Vec<u32>)> {
    let expectations = file.expectations().unwrap_or_else(|e| panic!("{}.ptx: {e}", file.name));
    let run = |expectation: splatcheck_filetests::Expectation| match expectation.outcome {
        Outcome::Words(words) => Some((expectation.line, expectation.invocation?, words)),
        Outcome::Error(_) => None,
    };
    expectations.into_iter().filter_map(run).collect()
}

/// The files' target. What does not fit an older device is refused by its driver.
const TARGET: (&str, u32) = (".target sm_90", 90);

fn run_file(file: &Filetest, device: &CudaDevice) -> Result<Completion, Failed> {
    let context = CudaContext::new(device.ordinal)?;
    let (major, minor) = device.capability;
    let capability = 10 * major + minor;
    let older = capability < TARGET.1;
    let source = if older {
        file.source.replacen(TARGET.0, &format!(".target sm_{capability}"), 1)
    } else {
        file.source.clone()
    };
    let module = match context.load_module(Ptx::from_src(source)) {
        Ok(module) => module,
        Err(error) if older => {
            let why = format!("{}.ptx for sm_{capability} is refused: {error}", file.name);
            println!("NOT EXERCISED: {why}");
            return Ok(Completion::ignored_with(why));
        }
        Err(error) => return Err(format!("{}.ptx is refused: {error}", file.name).into()),
    };
    let mut failures = Vec::new();
    for (line, invocation, expected) in runs(file) {
        let at = |message: String| format!("{}.ptx:{line}: {message}", file.name);
        let found = launch(&context, &module, &invocation, expected.len());
        let found = found.map_err(|error| at(error.to_string()))?;
        let tolerance = file.tolerance(&invocation.kernel);
        if let Err(message) = compare(&expected, &found, tolerance) {
            failures.push(at(message));
        }
    }
    if failures.is_empty() { Ok(Completion::Completed) } else { Err(failures.join("\n").into()) }
}

fn compare(expected: &[u32], found: &[u32], tolerance: Tolerance) -> Result<(), String> {
    let allowed = |(&expected, &found)| tolerance.allows(expected, found);
    if expected.len() == found.len() && expected.iter().zip(found).all(allowed) {
        return Ok(());
    }
    Err(format!("expected {expected:08x?}, found {found:08x?} ({tolerance:?})"))
}

/// An argument on the device: its bytes, or an array.
enum Placed {
    Number(u64),
    Array(CudaSlice<u32>),
}

/// Runs one launch and returns what `out` holds, poison where nothing was written.
fn launch(
    context: &Arc<CudaContext>,
    module: &Arc<CudaModule>,
    invocation: &Invocation,
    length: usize,
) -> Result<Vec<u32>, cudarc::driver::DriverError> {
    let stream = context.default_stream();
    let function = module.load_function(&invocation.kernel)?;
    let mut out = None;
    let mut placed = Vec::new();
    for (index, argument) in invocation.arguments.iter().enumerate() {
        placed.push(match argument {
            // The driver takes as many bytes as the parameter has, the lowest first.
            Argument::Number(value) => Placed::Number(*value),
            Argument::Buffer(words) | Argument::Input(words) => {
                Placed::Array(stream.clone_htod(words)?)
            }
            Argument::Out(initial) => {
                out = Some(index);
                let poison = vec![NEVER_WRITTEN; length];
                Placed::Array(stream.clone_htod(initial.as_ref().unwrap_or(&poison))?)
            }
        });
    }
    let mut builder = stream.launch_builder(&function);
    for argument in &placed {
        match argument {
            Placed::Number(value) => builder.arg(value),
            Placed::Array(array) => builder.arg(array),
        };
    }
    let config = LaunchConfig {
        grid_dim: (invocation.blocks, 1, 1),
        block_dim: (invocation.threads, 1, 1),
        shared_mem_bytes: DYNAMIC_SHARED,
    };
    // SAFETY: the emulator has run this launch under every kind of schedule with every access
    // checked: no access leaves its buffer, and the arguments are the kernel's.
    unsafe { builder.launch(config) }?;
    stream.synchronize()?;
    match out.map(|index| &placed[index]) {
        Some(Placed::Array(array)) => stream.clone_dtoh(array),
        Some(Placed::Number(_)) | None => Ok(Vec::new()),
    }
}

/// The host's side against the driver without a GPU of the harness's tests, whose kernels do nothing.
#[cfg(target_os = "linux")]
mod without_gpu {
    use std::path::Path;
    use std::process::Command;

    use libtest_mimic::{Completion, Failed};

    /// This program again with that driver: the file's words must be missed, not its absence.
    pub(crate) fn kernels_that_do_nothing_are_noticed() -> Result<Completion, Failed> {
        let folder = tempfile::tempdir()?;
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/tests/fake_cuda/libcuda.c");
        let built = Command::new("gcc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(folder.path().join("libcuda.so"))
            .arg(source)
            .output();
        let built = match built {
            Ok(built) => built,
            Err(error) => {
                let why = format!("gcc does not start: {error}");
                println!("NOT EXERCISED: the host side of the filetests on CUDA: {why}");
                return Ok(Completion::ignored_with(why));
            }
        };
        if !built.status.success() {
            return Err(format!("gcc: {}", String::from_utf8_lossy(&built.stderr)).into());
        }
        let log = folder.path().join("launches");
        let said = Command::new(std::env::current_exe()?)
            .args(["--exact", "filetest_on_cuda::special_registers"])
            .env("LD_LIBRARY_PATH", folder.path())
            .env("FAKE_CUDA_CAPABILITY", "9.0")
            .env("FAKE_CUDA_LOG", &log)
            .output()?;
        let text = String::from_utf8_lossy(&said.stdout);
        let launches = std::fs::read_to_string(&log).unwrap_or_default();
        let tid = launches.lines().find(|line| line.starts_with("special_tid "));
        let shape = "grid 2,1,1 block 40,1,1 shared 256";
        if said.status.success()
            || !text.contains("found [7fc0dead, 7fc0dead")
            || tid.is_none_or(|line| !line.contains(shape))
        {
            return Err(format!("{:?}, launches: {launches}\n{text}", said.status).into());
        }
        Ok(Completion::Completed)
    }
}
