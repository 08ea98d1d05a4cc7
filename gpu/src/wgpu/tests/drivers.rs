//! One test per driver: finds it, and runs `on_device` in a child process that sees only it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Environment variable that says for whom a child runs.
pub(super) const DRIVER: &str = "SPLAT_GPU_TEST_DRIVER";
/// What it says for the driver that this machine chooses by itself.
pub(super) const ENVIRONMENT: &str = "the environment's driver";

/// The repository's build folder, where tests/setup puts drivers of its own.
fn target() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

fn lavapipe() -> Option<PathBuf> {
    let folder = std::fs::read_dir("/usr/share/vulkan/icd.d").ok()?;
    folder.filter_map(Result::ok).map(|e| e.path()).find(|path| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with("lvp_icd"))
    })
}

fn swiftshader() -> Option<PathBuf> {
    let file = target().join("drivers/swiftshader/vk_swiftshader_icd.json");
    file.canonicalize().ok()
}

/// Where splatcheck keeps the shaders that lavapipe compiled for so many lanes: the same are compiled here. Mesa's
/// cache on disk takes code for one warp size for that of another, so each has its own; of a path that is not
/// there it makes no more than the last folder.
fn shader_cache(lanes: u32) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    let folder = caches.join(format!("splatcheck/shaders/lavapipe-{lanes}"));
    std::fs::create_dir_all(&folder).ok().map(|()| folder)
}

fn run_lavapipe(lanes: u32) {
    let cache = shader_cache(lanes).map(|folder| ("MESA_SHADER_CACHE_DIR", folder.into()));
    let width = ("LP_NATIVE_VECTOR_WIDTH", (32 * lanes).to_string().into());
    let environment: Vec<(&str, OsString)> = [width].into_iter().chain(cache).collect();
    run(&format!("lavapipe, {lanes} lanes"), lavapipe(), &environment);
}

fn run(driver: &str, icd: Option<PathBuf>, environment: &[(&str, OsString)]) {
    let Some(icd) = icd else {
        eprintln!("NOT EXERCISED: {driver} is not installed (tests/setup installs it)");
        return;
    };
    let mut child = test_program(driver);
    child.env("VK_DRIVER_FILES", &icd).envs(environment.iter().cloned());
    finish(driver, child);
}

fn test_program(driver: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().expect("a test program has a path"));
    child.args(["wgpu::tests::on_device::", "--ignored", "--nocapture", "--test-threads=1"]);
    child.env(DRIVER, driver);
    child
}

fn finish(driver: &str, mut child: Command) {
    let output = child.output().expect("the test program starts again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    eprintln!("{text}");
    assert!(output.status.success(), "{driver}: {}\n{text}", output.status);
    assert!(!text.contains("running 0 tests"), "{driver}: no test of on_device was found");
}

#[test]
fn lavapipe_with_4_lanes() {
    run_lavapipe(4);
}

#[test]
fn lavapipe_with_8_lanes() {
    run_lavapipe(8);
}

#[test]
fn lavapipe_with_16_lanes() {
    run_lavapipe(16);
}

#[test]
fn swiftshader_with_4_lanes() {
    run("SwiftShader", swiftshader(), &[]);
}

#[test]
fn whatever_the_environment_offers() {
    finish(ENVIRONMENT, test_program(ENVIRONMENT));
}
