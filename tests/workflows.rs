//! The files for GitHub keep these rules: an action is pinned by a commit, a job has no right that it does not
//! name, a checkout leaves no password behind, a job ends by itself, and a tool is installed in one version.
//! Beside these rules zizmor, a linter for such files, finds nothing.

use splatcheck_tests::{python, root};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workflows, the action, and the workflow that users copy.
fn files() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join(".github/workflows")).expect("workflows");
    let mut files: Vec<_> = folder.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.extend([root().join("action.yml"), root().join("tests/jobs/github-actions.yml")]);
    files
}

/// What an action is used as, such as `actions/checkout@HASH # v7.0.1`, or nothing.
fn used(line: &str) -> Option<&str> {
    line.trim_start().trim_start_matches("- ").strip_prefix("uses: ")
}

/// Whether it names a commit, and behind it the version that the commit has.
fn is_pinned(action: &str) -> bool {
    let Some((_, rest)) = action.split_once('@') else { return action.starts_with("./") };
    let Some((commit, version)) = rest.split_once(" # v") else { return false };
    commit.len() == 40
        && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && version.split('.').count() == 3
        && version.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// What of the rules a workflow breaks.
fn complaints(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(action) = used(line) {
            if !is_pinned(action) {
                all.push(format!("{action} is not pinned by a commit and its version"));
            }
            let with = ["        with:", "          persist-credentials: false"];
            if action.starts_with("actions/checkout@")
                && lines.get(number + 1..number + 3) != Some(&with)
            {
                all.push(format!("line {}: the checkout keeps its credentials", number + 1));
            }
        }
        if line.contains("write-all") || line.contains("read-all") {
            all.push(format!("line {}: rights that are not named one by one", number + 1));
        }
    }
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    let jobs = count("    runs-on: ");
    if jobs > 0 {
        if count("permissions: {}") != 1 {
            all.push("no line 'permissions: {}'".to_owned());
        }
        for of_each in ["    permissions:", "    timeout-minutes: "] {
            if count(of_each) != jobs {
                all.push(format!("{} of {jobs} jobs have '{}'", count(of_each), of_each.trim()));
            }
        }
    }
    all
}

/// The tools that a shell's text installs without a version.
fn unpinned_tools(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let mut all = Vec::new();
    // What a script says to a person where it could not install something names no versions.
    let is_said = |line: &str| line.trim_start().starts_with('#') || line.contains("MISSING: ");
    for line in text.lines().filter(|line| !is_said(line)) {
        let words = |command: &str| {
            let (_, words) = line.split_once(command)?;
            let words = words.split([';', '&', '>', ')', '|', '}']).next().unwrap_or("");
            let words = words.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            Some(words.filter(|word| !word.starts_with('-')).map(str::to_owned).collect::<Vec<_>>())
        };
        if let Some(words) = words("cargo install ")
            && !line.contains("--path")
        {
            all.extend(words.into_iter().filter(|word| !word.contains('@')));
        }
        if let Some(words) = words("pip install ").or_else(|| words("/pip\" install ")) {
            let is_ours = |word: &str| word.starts_with(['.', '$', '/']);
            all.extend(words.into_iter().filter(|word| !word.contains("==") && !is_ours(word)));
        }
    }
    all
}

#[test]
fn the_files_for_github_keep_the_rules() {
    let mut commits: BTreeMap<String, String> = BTreeMap::new();
    for file in files() {
        let text = fs::read_to_string(&file).expect("a text");
        assert_eq!(complaints(&text), [""; 0], "{}", file.display());
        assert_eq!(unpinned_tools(&text), [""; 0], "{}", file.display());
        for action in text.lines().filter_map(used) {
            if let Some((name, commit)) = action.split_once('@') {
                let first = commits.entry(name.to_owned()).or_insert_with(|| commit.to_owned());
                assert_eq!(first, commit, "{name} is used in two versions");
            }
        }
    }
    assert_eq!(commits.len(), 6, "the actions of others: {commits:?}");
}

#[test]
fn the_scripts_install_tools_in_one_version() {
    for script in ["action", "release", "run", "setup"] {
        let text = fs::read_to_string(root().join("tests").join(script)).expect("there");
        // What is typed are lines of the pages, where a reader names no version.
        let own = text.lines().filter(|line| !line.trim_start().starts_with("typed "));
        let own = own.collect::<Vec<_>>().join("\n");
        assert_eq!(unpinned_tools(&own), [""; 0], "tests/{script}");
    }
}

#[test]
fn every_rule_finds_what_breaks_it() {
    let right = fs::read_to_string(root().join(".github/workflows/ci.yml")).expect("there");
    let hash = "3d3c42e5aac5ba805825da76410c181273ba90b1";
    for (from, to, complaint) in [
        (hash, "v7", "is not pinned"),
        (hash, &hash[..39], "is not pinned"),
        (" # v7.0.1", "", "is not pinned"),
        ("persist-credentials: false", "persist-credentials: true", "keeps its credentials"),
        ("permissions: {}\n", "", "no line 'permissions: {}'"),
        ("permissions: {}\n", "permissions: write-all\n", "not named one by one"),
        ("    timeout-minutes: 90\n", "", "0 of 1 jobs have 'timeout-minutes:'"),
    ] {
        assert!(right.contains(from), "ci.yml lacks {from}");
        let found = complaints(&right.replace(from, to)).join("\n");
        assert!(found.contains(complaint), "{from} -> {to}: {found}");
    }
    for (line, tool) in [
        ("  cargo install --locked cargo-deny", "cargo-deny"),
        ("python3 -m pip install --quiet \\\n  numpy==1.26.4 scipy >/dev/null", "scipy"),
        ("\"$root/cuda/bin/pip\" install --quiet 'maturin>=1.7,<2'", "maturin"),
    ] {
        let found = unpinned_tools(line);
        assert!(matches!(&found[..], [one] if one.starts_with(tool)), "{line}: {found:?}");
    }
    assert_eq!(unpinned_tools("cargo install --locked cargo-deny@0.20.2"), [""; 0], "pinned");
}

/// What zizmor says of these files, at its strictest, and whether it found anything.
fn zizmor(program: &Path, files: &[PathBuf]) -> (bool, String) {
    let output = Command::new(program)
        .args(["--offline", "--persona=auditor", "--no-progress", "--color=never"])
        .args(["--strict-collection", "--no-config"])
        .args(files)
        .output()
        .expect("it starts");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.success(), said.concat())
}

#[test]
fn zizmor_finds_nothing() {
    let test = "zizmor_finds_nothing";
    let Some(python) = python(test) else { return };
    let program = Path::new(&python).with_file_name("zizmor");
    if !program.is_file() {
        println!("NOT EXERCISED: {test}: no {}: run tests/setup", program.display());
        return;
    }
    let (is_clean, said) = zizmor(&program, &files());
    assert!(is_clean && said.contains("No findings to report"), "{said}");
    // That it would: a text of the user's in the text of a shell.
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("action.yml");
    let right = fs::read_to_string(root().join("action.yml")).expect("there");
    let run = "'\"$GITHUB_ACTION_PATH/tests/action\"'";
    assert!(right.contains(run), "action.yml runs tests/action");
    fs::write(&bad, right.replace(run, "splatcheck ${{ inputs.args }}")).expect("written");
    let (is_clean, said) = zizmor(&program, &[bad]);
    assert!(!is_clean && said.contains("template-injection"), "{said}");
}
