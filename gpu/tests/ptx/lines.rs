//! Which line of CUDA each line of an artifact comes from is what `-lineinfo` says; what it adds to
//! the PTX is `.loc`, `.file` and a section of names at the end, and nothing else.

use super::tools::{find, folder, in_parallel};
use super::{NVRTC, archive, artifacts, derive_with, kernels, pack, sources, writes};
use splatcheck_emulator::Module;
use splatcheck_gpu::artifact::{Artifact, sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The option of NVRTC.
const LINE_INFO: &str = "-lineinfo";

/// The PTX without what `-lineinfo` adds, and the text of `kernels/lines.tar.zst` for it.
fn separated(text: &str, sources: &BTreeSet<String>) -> (String, String) {
    let mut plain = String::new();
    let mut origins = String::new();
    let mut files = BTreeMap::new();
    let mut line = 1;
    let mut latest = String::new();
    for text in text.lines() {
        if text.starts_with("\t.section") {
            break;
        } else if let Some(file) = text.strip_prefix("\t.file\t") {
            let (number, path) = file.split_once(' ').expect("a number and a path");
            let path = path.trim_matches('"');
            let source = sources.iter().find(|source| path.ends_with(&format!("/{source}")));
            let source = source.unwrap_or_else(|| panic!("{path} is none of the sources"));
            let number: usize = number.parse().expect("a number");
            assert!(files.insert(number, source.clone()).is_none(), "two files {number}");
        } else if let Some(place) = text.strip_prefix("\t.loc\t") {
            let (at, inlined) = match place.split_once(", function_name") {
                Some((at, rest)) => (at, rest.split_once(", inlined_at ").map(|(_, at)| at)),
                None => (place, None),
            };
            let file_and_line = |place: &str| {
                let mut words = place.split_whitespace();
                let mut next = || words.next().expect("a file and a line");
                format!("{}:{}", next(), next())
            };
            latest = file_and_line(at);
            if latest.ends_with(":0") {
                "-".clone_into(&mut latest);
                continue;
            }
            if let Some(inlined) = inlined {
                let _ = write!(latest, " {}", file_and_line(inlined));
            }
        } else {
            if !latest.is_empty() && text.ends_with(';') {
                let _ = writeln!(origins, "{line} {latest}");
                latest.clear();
            }
            plain.push_str(text);
            plain.push('\n');
            line += 1;
        }
    }
    let mut lines = format!("sha256 {}\n", sha256(plain.trim_end().as_bytes()));
    for (expected, (number, file)) in (1..).zip(&files) {
        assert_eq!(*number, expected, "files are numbered from 1");
        let _ = writeln!(lines, "file {file}");
    }
    (plain, lines + &origins)
}

#[test]
fn every_line_map_derives_and_line_information_changes_no_instruction() {
    if find(NVRTC).is_none() {
        return;
    }
    let artifacts: Vec<_> = artifacts().into_iter().collect();
    let from = folder("kernels/cuda");
    let names: BTreeSet<String> = sources().into_keys().collect();
    let derive = |(name, _): &(String, Artifact)| {
        let text = derive_with(name, &from, LINE_INFO);
        if let Err(error) = Module::parse(&text) {
            panic!("{name}: the emulator refuses line information: {error}");
        }
        separated(&text, &names)
    };
    let derived = in_parallel(&artifacts, derive);
    let file = folder("kernels/lines.tar.zst");
    let expected: BTreeMap<_, _> = artifacts
        .iter()
        .zip(&derived)
        .map(|((name, _), (_, lines))| (format!("{name}.lines"), lines.as_str()))
        .collect();
    if writes() {
        pack(&file, expected.iter().map(|(name, lines)| (name.as_str(), *lines)));
    } else {
        let kernels = kernels();
        for ((name, _), (plain, _)) in artifacts.iter().zip(&derived) {
            let same = kernels.get(name).map(str::trim_end) == Some(plain.trim_end());
            assert!(same, "{name}: -lineinfo changes more than line information");
        }
    }
    let present = archive(&file);
    let same = present.iter().eq(expected.iter().map(|(name, lines)| (name.as_str(), *lines)));
    assert!(same, "{}: SPLAT_PTX=write derives all", file.display());
}
