//! The layers of the crates, read from their sources: the command line stands on top and nothing below imports
//! it, what judges names no workload, no path of the machine that builds is compiled in, and modules import
//! in one direction.
//!
//! What tests import does not count, except that they must not import the command line either.

use splatcheck_tests::{below, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The crates, by the folder of their sources.
const CRATES: [&str; 6] = [
    "reference/src",
    "gpu/emulator/src",
    "gpu/src",
    "harness/judge/src",
    "harness/workloads/src",
    "harness/src",
];

/// The most files of a circle of imports: a module and the files below it, which share its types, may be one.
const CIRCLE: usize = 6;

/// The most circles of all crates together: who breaks one lowers it.
const CIRCLES: usize = 10;

/// A module of a crate, by its path; the crate itself has none.
type Module = Vec<String>;

/// A source file: its module and its text without comments.
struct Source {
    module: Module,
    text: String,
}

impl Source {
    /// Whether the whole file is a test.
    fn is_test(&self) -> bool {
        self.module.iter().any(|part| part == "tests" || part == "toy" || part.ends_with("_tests"))
    }

    /// The text before the tests at its end, without the words that say who may see an item.
    fn program(&self) -> String {
        let end = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        self.text[..end].replace("pub(in crate::", "pub(in ").replace("pub(in super::", "pub(in ")
    }
}

/// All sources of a crate.
fn sources(folder: &str) -> Vec<Source> {
    let root = root().join(folder);
    let mut files = Vec::new();
    below(&root, "rs", &mut files);
    let source = |file: PathBuf| {
        let inside = file.strip_prefix(&root).expect("it is below").with_extension("");
        let mut module: Module =
            inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        module.retain(|part| part != "lib");
        let text = fs::read_to_string(&file).expect("a source is text");
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or(""));
        Source { module, text: lines.collect::<Vec<_>>().join("\n") }
    };
    let sources = files.into_iter().map(source);
    sources.filter(|source| source.module != ["main"]).collect()
}

/// The paths within the crate that a text names after `crate::` or, seen from the module `own`, after
/// `super::`, and those that begin with one of the modules below it.
fn named(text: &str, own: &[String], below: &BTreeSet<&str>) -> Vec<Module> {
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
    for (at, _) in text.match_indices("::") {
        let before = &text[..at];
        let start = before.rfind(|c| !is_word(c)).map_or(0, |before| before + 1);
        if below.contains(&before[start..]) && !before[..start].ends_with("::") {
            paths.push([own, &[before[start..].to_owned()]].concat());
        }
    }
    paths
}

/// Adds the paths that begin with `base` and go on as `rest` does; a group in braces counts member by member.
fn follow(base: &[String], rest: &str, paths: &mut Vec<Module>) {
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

/// Which files each file of a crate imports.
fn imports(folder: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let sources = sources(folder);
    let tested = |source: &Source| {
        let declared = source.text.match_indices("#[cfg(test)]\n");
        let names = declared.filter_map(|(at, mark)| {
            let line = source.text[at + mark.len()..].lines().next()?;
            let name = line.split("mod ").nth(1)?.strip_suffix(';')?;
            Some([source.module.as_slice(), &[name.to_owned()]].concat())
        });
        names.collect::<Vec<_>>()
    };
    let of_tests: Vec<Module> = sources.iter().flat_map(tested).collect();
    let is_program = |source: &&Source| {
        !source.is_test() && !of_tests.iter().any(|test| source.module.starts_with(test))
    };
    let programs: Vec<&Source> = sources.iter().filter(is_program).collect();
    let modules: BTreeSet<&Module> = programs.iter().map(|source| &source.module).collect();
    let mut all = BTreeMap::new();
    for source in &programs {
        let own = &source.module;
        let child = |module: &&&Module| module.len() == own.len() + 1 && module.starts_with(own);
        let below = modules.iter().filter(child).filter_map(|module| module.last());
        let below: BTreeSet<&str> = below.map(String::as_str).collect();
        let file = |path: Module| {
            let known = (0..=path.len()).rev().map(|length| &path[..length]);
            known.map(<[String]>::to_vec).find(|path| modules.contains(path))
        };
        let is_of_program = |path: &Module| !of_tests.iter().any(|test| path.starts_with(test));
        let paths = named(&source.program(), own, &below).into_iter().filter(is_of_program);
        let paths = paths.filter_map(file);
        all.insert(own.clone(), paths.filter(|path| path != own).collect());
    }
    all
}

/// The circles of a graph of imports: files each of which reaches all others.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<&Module>> {
    let reached = |from: &Module| {
        let mut reached: BTreeSet<&Module> = BTreeSet::new();
        let mut next: Vec<&Module> = imports[from].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(&imports[module]);
            }
        }
        reached
    };
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached(module))).collect();
    let circle = |module: &&Module| -> BTreeSet<&Module> {
        reach[module].iter().copied().filter(|other| reach[other].contains(module)).collect()
    };
    let all: BTreeSet<_> = reach.keys().map(circle).collect();
    all.into_iter().filter(|circle| circle.len() > 1).collect()
}

#[test]
fn nothing_imports_the_command_line() {
    let mut wrong = Vec::new();
    for source in sources("harness/src")
        .iter()
        .filter(|source| source.module.first().is_none_or(|part| part != "cli"))
    {
        let paths = named(&source.text, &source.module, &BTreeSet::new());
        if paths.iter().any(|path| path[0] == "cli") {
            wrong.push(source.module.join("/"));
        }
    }
    assert!(wrong.is_empty(), "these import crate::cli, which only main.rs may: {wrong:?}");
}

/// That it depends on no workload, its manifest says.
#[test]
fn what_judges_names_no_stage_of_a_workload() {
    let names = ["stages::splat", "stages::grid", "stages::scatter", "reference::splat"];
    let knows = |source: &&Source| {
        !source.is_test() && names.iter().any(|name| source.program().contains(name))
    };
    let sources = sources("harness/judge/src");
    let wrong: Vec<_> = sources.iter().filter(knows).map(|s| s.module.join("/")).collect();
    assert!(sources.len() > 50 && wrong.is_empty(), "workloads know their own stages: {wrong:?}");
}

#[test]
fn no_path_of_the_machine_that_builds_is_compiled_in() {
    let built_in = |source: &&Source| {
        !source.is_test() && source.program().contains("env!(\"CARGO_MANIFEST_DIR")
    };
    for folder in CRATES {
        let sources = sources(folder);
        let wrong: Vec<_> = sources.iter().filter(built_in).map(|s| s.module.join("/")).collect();
        assert!(wrong.is_empty(), "{folder}: look it up at run time (io::source_tree): {wrong:?}");
    }
}

#[test]
fn circles_of_imports_are_few_and_small() {
    let mut all = Vec::new();
    for folder in CRATES {
        let imports = imports(folder);
        let edges: usize = imports.values().map(BTreeSet::len).sum();
        assert!(edges > imports.len(), "{folder}: {edges} imports of {} files", imports.len());
        for circle in circles(&imports) {
            let lines = circle.iter().map(|module| {
                let others = imports[*module].iter().filter(|other| circle.contains(other));
                let others: Vec<_> = others.map(|other| other.join("::")).collect();
                format!("  {} imports {}\n", module.join("::"), others.join(", "))
            });
            let (files, lines) = (circle.len(), lines.collect::<String>());
            assert!(files <= CIRCLE, "{folder}: {files} files in a circle:\n{lines}");
            all.push(lines);
        }
    }
    let (count, all) = (all.len(), all.join("\n"));
    assert!(count <= CIRCLES, "{count} circles, at most {CIRCLES} may be:\n{all}");
}

/// A module is a folder; of a workload each of its parts is one.
#[test]
fn no_two_modules_import_each_other() {
    for folder in ["harness/judge/src", "harness/workloads/src"] {
        let mut tops: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, others) in imports(folder) {
            let top = |module: &Module| -> Module {
                let of_workload = ["splat", "grid", "scatter"].iter().any(|name| {
                    folder.ends_with("workloads/src") && module.first().is_some_and(|m| m == name)
                });
                module.iter().take(if of_workload { 2 } else { 1 }).cloned().collect()
            };
            // What a module's parts take from the module itself is counted with the files.
            let others = others.iter().map(top).filter(|other| !top(&module).starts_with(other));
            tops.entry(top(&module)).or_default().extend(others);
        }
        // The crate itself names its modules.
        tops.remove(&Module::new());
        let found = circles(&tops);
        assert!(found.is_empty(), "{folder}: {found:?}");
    }
}

#[test]
fn imports_are_read_from_every_form() {
    let own = ["a", "b", "c"].map(str::to_owned);
    let text = "use crate::x::{y, z::{self, w}}; super::super::d::f(); use super::e; mycrate::no(); \
                use below::It; other::below::no()";
    let below = BTreeSet::from(["below"]);
    let mut paths: Vec<_> = named(text, &own, &below).iter().map(|path| path.join("::")).collect();
    paths.sort();
    let all = ["a::b::c::below", "a::b::e", "a::d::f", "x::y", "x::z::self", "x::z::w"];
    assert_eq!(paths, all, "every form");
}

/// Where files are opened, and why beside the door for inputs.
const DOORS: [(&str, &str); 4] = [
    ("harness/judge/src", "io::read"),   // the door
    ("harness/judge/src", "io::memory"), // what the system makes up
    ("harness/judge/src", "io::write"),  // a folder, to sync it
    ("harness/src", "cli::gate"),        // the page that is appended to
];

/// Ways to open a file.
const OPENING: [&str; 5] =
    ["fs::read(", "fs::read_to_string(", "File::open(", "OpenOptions::new(", "File::options("];

#[test]
fn nobody_opens_a_file_but_the_one_door() {
    let mut met = 0;
    for folder in CRATES {
        for source in sources(folder).iter().filter(|source| !source.is_test()) {
            let module = source.module.join("::");
            let opens = OPENING.iter().find(|way| source.program().contains(**way));
            if DOORS.contains(&(folder, &*module)) {
                met += 1;
                continue;
            }
            assert_eq!(opens, None, "{folder}, {module}: use splatcheck_judge::io::read");
        }
    }
    assert_eq!(met, DOORS.len(), "each of them is there");
}
