//! The Python package: its own tests and its example, with the library that the workspace was built to.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use splatcheck_tests::root;

/// The build folder and its profile's, of this test program.
fn target() -> (PathBuf, PathBuf) {
    let own = env::current_exe().expect("a test program has a path");
    let profile = own.ancestors().nth(2).expect("target/PROFILE/deps/TEST").to_owned();
    (profile.parent().expect("target").to_owned(), profile)
}

/// The Python of `tests/setup` and the library that it is to load; where one of them is not there, says
/// so loudly.
fn package(test: &str) -> Option<(PathBuf, PathBuf)> {
    let (target, profile) = target();
    let python = target.join("python/bin/python");
    if !python.is_file() {
        println!("NOT EXERCISED: {test}: no {}: run tests/setup", python.display());
        return None;
    }
    let can = Command::new(&python).args(["-c", "import numpy, pytest"]).output();
    if !can.is_ok_and(|said| said.status.success()) {
        println!("NOT EXERCISED: {test}: no pytest beside {}: run tests/setup", python.display());
        return None;
    }
    let names = ["libsplatcheck_native.so", "libsplatcheck_native.dylib", "splatcheck_native.dll"];
    let built = names.map(|name| profile.join(name)).into_iter().find(|file| file.is_file());
    let Some(built) = built else {
        println!("NOT EXERCISED: {test}: build it: cargo build --release -p splatcheck-python");
        return None;
    };
    Some((python, built))
}

/// The package as it would be installed, from the sources of this tree.
fn installed(built: &Path, folder: &Path) {
    let package = folder.join("splatcheck");
    fs::create_dir(&package).expect("a folder");
    let sources = root().join("harness/python/python/splatcheck");
    for file in fs::read_dir(sources).expect("the package's sources") {
        let file = file.expect("a file").path();
        if file.is_file() {
            fs::copy(&file, package.join(file.file_name().expect("named"))).expect("copied");
        }
    }
    let extension = if cfg!(windows) { "pyd" } else { "abi3.so" };
    fs::copy(built, package.join(format!("_native.{extension}"))).expect("copied");
    // What pytest finds the plugin by.
    let about = folder.join("splatcheck-0.1.0.dist-info");
    fs::create_dir(&about).expect("a folder");
    fs::write(about.join("METADATA"), "Name: splatcheck\nVersion: 0.1.0\n").expect("written");
    let plugin = "[pytest11]\nsplatcheck = splatcheck.pytest_plugin\n";
    fs::write(about.join("entry_points.txt"), plugin).expect("written");
}

/// Runs pytest in a folder of `harness/python`.
fn pytest(test: &str, arguments: &[&str]) {
    let Some((python, built)) = package(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    installed(&built, folder.path());
    let said = Command::new(python)
        .args(["-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs"])
        .args(arguments)
        .current_dir(root().join("harness/python"))
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("SPLATCHECK_BIN")
        .output()
        .expect("Python starts");
    let out = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{out}{}", String::from_utf8_lossy(&said.stderr));
    for line in out.lines().filter(|line| line.contains("NOT EXERCISED")) {
        println!("{line}");
    }
}

#[test]
fn the_package_passes_its_own_tests() {
    pytest("the_package_passes_its_own_tests", &["tests"]);
}

#[test]
fn the_example_gates_a_right_kernel_and_finds_the_bug_of_a_wrong_one() {
    let test = "the_example_gates_a_right_kernel_and_finds_the_bug_of_a_wrong_one";
    pytest(test, &["examples", "--splatcheck-count", "5"]);
}

/// pip's words on a build of the package where `PATH` is this folder alone. Nothing is downloaded: the backend
/// speaks before it needs maturin.
#[cfg(unix)]
fn built_with(test: &str, path: &Path) -> Option<String> {
    let (python, _) = package(test)?;
    let folder = tempfile::tempdir().expect("a folder");
    let pip = ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index"];
    let said = Command::new(python)
        .args(pip)
        .arg("--target")
        .arg(folder.path())
        .arg(root().join("harness/python"))
        .env("PATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("pip starts");
    let words = [said.stdout, said.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(!said.status.success(), "{words:?}");
    Some(words.concat())
}

#[cfg(unix)]
#[test]
fn a_build_without_a_new_cargo_says_what_to_install() {
    use std::os::unix::fs::PermissionsExt;

    let test = "a_build_without_a_new_cargo_says_what_to_install";
    let folder = tempfile::tempdir().expect("a folder");
    let Some(said) = built_with(test, folder.path()) else { return };
    let wanted = concat!("needs cargo ", env!("CARGO_PKG_RUST_VERSION"), " or later");
    let advice = "install it from https://rustup.rs";
    for words in [wanted, advice, "there is no cargo in PATH"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("Traceback"), "{said}");
    let cargo = folder.path().join("cargo");
    for (script, reason) in [
        ("echo 'cargo 1.63.0 (fd9c4297c 2022-07-01)'", "cargo is 1.63;"),
        ("echo 'no such toolchain' >&2; exit 1", "--version fails: no such toolchain"),
    ] {
        fs::write(&cargo, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("executable");
        let said = built_with(test, folder.path()).expect("as before");
        assert!(said.contains(wanted) && said.contains(reason), "{reason}: {said}");
    }
}

#[test]
fn the_example_of_the_readme_is_that_of_the_package() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect("readable");
    let (readme, example) = (read("README.md"), read("harness/python/examples/test_my_kernel.py"));
    let block = readme.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut lines = example.lines();
    for line in block.expect("a block of Python").lines() {
        assert!(lines.any(|other| other == line), "not as it is in the file: '{line}'");
    }
}
