//! Every opcode of the artifacts, and every mnemonic the decoder knows, stands in a filetest.

use std::collections::BTreeSet;
use std::path::Path;

use splatcheck_emulator::MNEMONICS;

use super::files;

/// The opcodes of a source, without operands.
fn opcodes(source: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in source.lines() {
        let code = line.split("//").next().unwrap_or("");
        for statement in code.split([';', '{', '}']) {
            let mut words = statement.split_whitespace();
            let mut word = words.next().unwrap_or("");
            if word.ends_with(':') {
                word = words.next().unwrap_or("");
            }
            if word.starts_with('@') {
                word = words.next().unwrap_or("");
            }
            let mnemonic = word.split('.').next().unwrap_or("");
            if MNEMONICS.contains(&mnemonic) {
                all.insert(word.to_owned());
            }
        }
    }
    all
}

fn tested() -> BTreeSet<String> {
    files().iter().flat_map(|(_, source)| opcodes(source)).collect()
}

#[test]
fn every_mnemonic_is_tested() {
    let tested = tested();
    let known =
        |mnemonic: &&str| !tested.iter().any(|opcode| opcode.split('.').next() == Some(mnemonic));
    let missing: Vec<_> = MNEMONICS.iter().filter(|m| known(m)).collect();
    assert!(missing.is_empty(), "no filetest has {missing:?}");
}

#[test]
fn every_opcode_of_the_artifacts_is_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/ptx");
    let tested = tested();
    let mut missing = BTreeSet::new();
    let mut artifacts = 0;
    for entry in std::fs::read_dir(&folder).into_iter().flatten() {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let source = std::fs::read_to_string(&path).expect("a readable artifact");
            missing.extend(opcodes(&source).difference(&tested).cloned());
            artifacts += 1;
        }
    }
    println!("{artifacts} artifacts in {}", folder.display());
    assert!(missing.is_empty(), "no filetest has {missing:?}");
}
