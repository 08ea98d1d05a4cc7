//! One test per driver: finds it, and runs `on_device` in a child process that sees only it.

use std::path::PathBuf;
use std::process::Command;

/// Environment variable that says for whom a child runs.
const DRIVER: &str = "SPLAT_GPU_TEST_DRIVER";

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

fn run(driver: &str, icd: Option<PathBuf>, environment: &[(&str, &str)]) {
    let Some(icd) = icd else {
        eprintln!("NOT EXERCISED: {driver} is not installed (tests/setup installs it)");
        return;
    };
    let mut child = test_program(driver);
    child.env("VK_DRIVER_FILES", &icd).envs(environment.iter().copied());
    finish(driver, child);
}

fn test_program(driver: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().expect("a test program has a path"));
    child.args(["wgpu::tests::on_device::", "--ignored", "--nocapture", "--test-threads=1"]);
    child.env(DRIVER, driver);
    // Mesa's cache on disk takes code for one warp size for that of another: each has its own.
    let cache = target().join("tmp/shaders").join(driver.replace([' ', ',', '\''], "-"));
    child.env("MESA_SHADER_CACHE_DIR", cache);
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
    run("lavapipe, 4 lanes", lavapipe(), &[("LP_NATIVE_VECTOR_WIDTH", "128")]);
}

#[test]
fn lavapipe_with_8_lanes() {
    run("lavapipe, 8 lanes", lavapipe(), &[("LP_NATIVE_VECTOR_WIDTH", "256")]);
}

#[test]
fn lavapipe_with_16_lanes() {
    run("lavapipe, 16 lanes", lavapipe(), &[("LP_NATIVE_VECTOR_WIDTH", "512")]);
}

#[test]
fn swiftshader_with_4_lanes() {
    run("SwiftShader", swiftshader(), &[]);
}

#[test]
fn whatever_the_environment_offers() {
    finish("the environment's driver", test_program("the environment's driver"));
}
