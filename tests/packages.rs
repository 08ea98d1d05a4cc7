//! What is released: the crates' descriptions of themselves, and what their packages hold. That they build
//! from their packages alone, `tests/release` tries.

use serde_json::Value;
use splatcheck_tests::root;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The crates that are published, each with a file that it cannot do without.
const PUBLISHED: [(&str, &str); 6] = [
    ("splatcheck-emulator", "src/lib.rs"),
    ("splatcheck-gpu", "kernels/ptx.tar.zst"),
    ("splatcheck-reference", "src/splat.rs"),
    ("splatcheck-judge", "built-in/corpora/splat/two-cameras.toml"),
    ("splatcheck-workloads", "src/presets/brush.toml"),
    ("splatcheck", "src/main.rs"),
];

/// What cargo prints in the source tree.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(root()).output();
    let output = output.expect("cargo starts");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn packages() -> Vec<Value> {
    let text = cargo(&["metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"]);
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all["packages"].as_array().expect("packages").clone()
}

#[test]
fn published_crates_describe_themselves_and_depend_on_published_versions() {
    let is_published = |name: &str| PUBLISHED.iter().any(|(one, _)| *one == name);
    let mut seen = 0;
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        if !is_published(name) {
            assert_eq!(package["publish"], Value::Array(Vec::new()), "{name} is for our tests");
            continue;
        }
        seen += 1;
        assert_eq!(package["publish"], Value::Null, "{name} is published");
        for field in ["description", "license", "readme", "rust_version"] {
            assert!(package[field].is_string(), "{name} has no {field}");
        }
        for (field, most) in [("keywords", 5), ("categories", 5)] {
            let count = package[field].as_array().map_or(0, Vec::len);
            assert!((1..=most).contains(&count), "{name}: {count} {field}");
        }
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let other = dependency["name"].as_str().expect("a name");
            let ours = dependency["path"].is_string();
            // What only tests need is left out of the package where it has no version.
            if ours && dependency["kind"] != "dev" {
                assert!(is_published(other), "{name} needs {other}, which is not published");
                assert_ne!(dependency["req"], "*", "{name} needs some version of {other}");
            }
        }
    }
    assert_eq!(seen, PUBLISHED.len(), "all of them are here");
}

#[test]
fn packages_hold_what_the_crates_need() {
    for (name, needed) in PUBLISHED {
        let text = cargo(&["package", "--list", "--allow-dirty", "--offline", "-p", name]);
        let files: Vec<_> = text.lines().map(|line| line.replace('\\', "/")).collect();
        for file in [needed, "LICENSE-MIT", "LICENSE-APACHE", "README.md", "Cargo.toml"] {
            assert!(files.iter().any(|one| one == file), "{name} lacks {file}: {files:?}");
        }
    }
}

#[test]
fn the_toolchain_is_the_oldest_that_the_crates_promise() {
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml")).expect("there");
    for package in packages() {
        let promised = package["rust_version"].as_str().expect("a version");
        assert!(toolchain.contains(&format!("channel = \"{promised}.")), "{promised}: {toolchain}");
    }
}

/// Every part of `tests/release` that the workflow asks for is one of it, and a tag must name the version.
#[test]
fn the_release_workflow_asks_for_parts_that_there_are() {
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("there");
    let asked = workflow.lines().filter_map(|line| line.split("run: tests/release ").nth(1));
    let asked: Vec<_> = asked.filter_map(|rest| rest.split(' ').next()).collect();
    let parts = ["version", "licences", "minimal", "crates", "wheel", "sdist", "binary", "publish"];
    assert_eq!(asked, parts, "in {workflow}");
    let script = fs::read_to_string(root().join("tests/release")).expect("there");
    for part in asked {
        assert!(script.contains(&format!("\n    {part}) ")), "tests/release has no part {part}");
    }
    let version = packages()[0]["version"].as_str().expect("a version").to_owned();
    let check = |reference: &str| {
        let script = root().join("tests/release");
        let output = Command::new("bash").arg(script).args(["version", reference]).output();
        output.expect("bash starts").status.code()
    };
    assert_eq!(check(&format!("refs/tags/v{version}")), Some(0), "the version of the crates");
    assert_eq!(check("refs/heads/main"), Some(0), "a rehearsal");
    assert_eq!(check("refs/tags/v999.0.0"), Some(1), "another version");
}

/// Packs a stand-in for the program as `tests/release` does; what lies in the folder then, by name.
fn packed(folder: &Path, program: &str, triple: &str) -> Vec<String> {
    let program = folder.join(program);
    fs::write(&program, "a program").expect("written");
    let script = root().join("tests/release");
    let output = Command::new("bash")
        .arg(script)
        .arg("archive")
        .args([program.as_os_str(), triple.as_ref()])
        .env("CARGO_TARGET_DIR", folder)
        .output()
        .expect("bash starts");
    assert!(output.status.success(), "{output:?}");
    let files = fs::read_dir(folder.join("release-binaries")).expect("archives");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn cargo_binstall_looks_for_what_is_packed() {
    let test = "cargo_binstall_looks_for_what_is_packed";
    if Command::new("python3").arg("--version").output().is_err() {
        println!("NOT EXERCISED: {test}: there is no python3, which packs");
        return;
    }
    let all = packages();
    let package = all.iter().find(|package| package["name"] == "splatcheck").expect("it");
    let version = package["version"].as_str().expect("a version");
    let asked = &package["metadata"]["binstall"];
    let windows = "x86_64-pc-windows-msvc";
    for (program, triple, asked) in [
        ("splatcheck", "x86_64-unknown-linux-gnu", asked),
        ("splatcheck.exe", windows, &asked["overrides"][windows]),
    ] {
        let url = asked["pkg-url"].as_str().expect("a template");
        let name = url.strip_prefix("{ repo }/releases/download/v{ version }/").expect("GitHub's");
        let name = name.replace("{ name }", "splatcheck").replace("{ version }", version);
        let name = name.replace("{ target }", triple);
        let folder = tempfile::tempdir().expect("a folder");
        let found = packed(folder.path(), program, triple);
        assert_eq!(found, [name.clone(), format!("{name}.sha256")], "{triple}");
        let read = |file: &str| fs::read(folder.path().join("release-binaries").join(file));
        let once = read(&name).expect("an archive");
        packed(folder.path(), program, triple);
        assert!(once == read(&name).expect("an archive"), "{name}: the same files, other bytes");
    }
}
