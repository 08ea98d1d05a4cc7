//! The layers of the crate, read from its sources: the command line stands on top and nothing below
//! imports it, what judges knows no workload, no two modules import each other, directly or through
//! others, and no path of the machine that builds is compiled in.
//!
//! A module is a file or folder directly below `src`; of a workload, each of its parts is one. What
//! tests import does not count, except that they must not import the command line either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The command line: only `main.rs` may import it.
const TOP: &str = "cli";

/// A source file: its module path and its text without comments.
struct Source {
    path: Vec<String>,
    text: String,
}

impl Source {
    /// Whether the whole file is a test.
    fn is_test(&self) -> bool {
        self.path.iter().any(|part| part == "tests" || part.ends_with("_tests"))
    }

    /// The text before the tests at its end.
    fn program(&self) -> &str {
        let end = self.text.find("#[cfg(test)]\nmod tests {");
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

/// All sources of the crate's library.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let source = |file: PathBuf| {
        let below = file.strip_prefix(&root).expect("it is below").with_extension("");
        let path = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let text = fs::read_to_string(&file).expect("a source is text");
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or(""));
        Source { path, text: lines.collect::<Vec<_>>().join("\n") }
    };
    let sources = files.into_iter().map(source);
    sources.filter(|source| !["lib", "main"].contains(&source.path[0].as_str())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The module that a path within the crate belongs to.
fn module(path: &[String]) -> String {
    let parts = if path.first().is_some_and(|first| first == "workloads") { 3 } else { 1 };
    path[..parts.min(path.len())].join("::")
}

/// The paths within the crate that a text names after `crate::` or, seen from the module `own`,
/// after `super::`; a group in braces counts member by member.
fn named(text: &str, own: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for keyword in ["crate::", "super::"] {
        for (at, _) in text.match_indices(keyword) {
            // Not `some_crate::`, and of `super::super::` only the first.
            let before = &text[..at];
            if before.ends_with(is_word) || before.ends_with("super::") {
                continue;
            }
            let rest = text[at..].trim_start_matches(keyword);
            let base = match keyword {
                "super::" => {
                    let up = (text.len() - at - rest.len()) / keyword.len();
                    &own[..own.len().saturating_sub(up)]
                }
                _ => &[],
            };
            follow(base, rest, &mut paths);
        }
    }
    paths
}

/// Adds the paths that begin with `base` and go on as `rest` does.
fn follow(base: &[String], rest: &str, paths: &mut Vec<Vec<String>>) {
    if let Some(group) = rest.strip_prefix('{') {
        let mut depth = 0;
        let mut start = 0;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '}' | ',' if depth == 0 => {
                    follow(base, group[start..at].trim(), paths);
                    start = at + 1;
                    if c == '}' {
                        return;
                    }
                }
                _ => (),
            }
        }
        return;
    }
    let word: String = rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
    if word.is_empty() {
        return;
    }
    let path = [base, std::slice::from_ref(&word)].concat();
    match rest[word.len()..].strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| c == '{' || c.is_alphabetic()) => {
            follow(&path, rest, paths);
        }
        _ => paths.push(path),
    }
}

/// Which modules each module imports, and in which file.
fn imports() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut edges: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        let own = module(&source.path);
        for path in named(source.program(), &source.path) {
            let other = module(&path);
            // `crate::workloads` alone holds nothing but its parts.
            if other != own && !own.starts_with(&format!("{other}::")) {
                edges.entry(own.clone()).or_default().insert(other, source.path.join("/"));
            }
        }
    }
    edges
}

#[test]
fn nothing_imports_the_command_line() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.path[0] != TOP) {
        if named(&source.text, &source.path).iter().any(|path| path[0] == TOP) {
            wrong.push(source.path.join("/"));
        }
    }
    assert!(wrong.is_empty(), "these import crate::cli, which only main.rs may: {wrong:?}");
}

/// What knows workloads only through [`splatcheck::workload`] and their registry.
const BLIND: [&str; 18] = [
    "campaign",
    "coverage",
    "diagnosis",
    "emulated",
    "engines",
    "fuzz",
    "gate",
    "io",
    "judge",
    "kernel_coverage",
    "minimize",
    "mutants",
    "report",
    "scatter_step",
    "table",
    "traffic",
    "verdict",
    "workload",
];

#[test]
fn what_judges_knows_no_workload() {
    let sources = sources();
    let blind = |source: &&Source| BLIND.contains(&source.path[0].as_str()) && !source.is_test();
    let met: BTreeSet<_> = sources.iter().filter(blind).map(|s| s.path[0].clone()).collect();
    assert_eq!(met.len(), BLIND.len(), "a module is gone or has another name: {met:?}");
    let workloads: BTreeSet<_> = sources
        .iter()
        .filter(|source| source.path[0] == "workloads")
        .filter_map(|source| source.path.get(1).cloned())
        .filter(|part| part != "tests")
        .collect();
    assert!(workloads.len() >= 2, "the workloads are not found: {workloads:?}");
    let mut wrong = Vec::new();
    for source in sources.iter().filter(blind) {
        let paths = named(source.program(), &source.path);
        let of_one = |path: &Vec<String>| {
            path[0] == "workloads" && path.get(1).is_some_and(|part| workloads.contains(part))
        };
        let of_gpu = source.program().contains("stages::splat")
            || source.program().contains("splatcheck_reference::splat");
        if of_gpu || paths.iter().any(of_one) {
            wrong.push(source.path.join("/"));
        }
    }
    assert!(wrong.is_empty(), "these name one workload, which is its own to know: {wrong:?}");
}

#[test]
fn no_path_of_the_machine_that_builds_is_compiled_in() {
    let built_in = |source: &&Source| {
        !source.is_test() && source.program().contains("env!(\"CARGO_MANIFEST_DIR")
    };
    let wrong: Vec<_> = sources().iter().filter(built_in).map(|s| s.path.join("/")).collect();
    assert!(wrong.is_empty(), "look it up at run time (io::source_tree): {wrong:?}");
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let edges = imports();
    let parts = ["campaign", "engines", "io", "report", TOP];
    assert!(parts.iter().all(|part| edges.contains_key(*part) || *part == "io"), "{edges:?}");
    // Whoever imports nothing that is still here is taken away; what stays is in a circle or above.
    let mut left: BTreeSet<&String> = edges.keys().collect();
    loop {
        let free = |m: &&&String| edges[**m].keys().all(|other| !left.contains(other));
        let free: Vec<&String> = left.iter().filter(free).copied().collect();
        if free.is_empty() {
            break;
        }
        left.retain(|module| !free.contains(module));
    }
    let circle: Vec<_> = left
        .iter()
        .flat_map(|module| edges[*module].iter().map(move |(other, file)| (module, other, file)))
        .filter(|(_, other, _)| left.contains(other))
        .map(|(module, other, file)| format!("{module} imports {other} in {file}.rs"))
        .collect();
    assert!(circle.is_empty(), "modules import each other in a circle:\n{}", circle.join("\n"));
}

#[test]
fn imports_are_read_from_every_form() {
    let own = ["a", "b", "c"].map(str::to_owned);
    let text = "use crate::x::{y, z::{self, w}}; super::super::d::f(); use super::e; mycrate::no()";
    let mut paths: Vec<String> = named(text, &own).iter().map(|path| path.join("::")).collect();
    paths.sort();
    assert_eq!(paths, ["a::b::e", "a::d::f", "x::y", "x::z::self", "x::z::w"], "every form");
}
