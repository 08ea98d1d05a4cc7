//! The emulator's filetests: they cover the artifacts, and NVIDIA's assembler takes them.

use std::collections::BTreeSet;
use std::process::Command;

use splatcheck_emulator::MNEMONICS;
use splatcheck_filetests::{Filetest, Outcome, all, opcodes};

use crate::tools::{find, in_parallel};
use crate::{PTXAS, kernels};

fn of(source: &str) -> BTreeSet<String> {
    opcodes(source, |mnemonic| MNEMONICS.contains(&mnemonic))
}

#[test]
fn every_opcode_of_the_artifacts_is_tested() {
    let tested: BTreeSet<String> = all().iter().flat_map(|file| of(&file.source)).collect();
    let mut missing = BTreeSet::new();
    for (_, text) in kernels().iter() {
        missing.extend(of(text).difference(&tested).cloned());
    }
    assert!(missing.is_empty(), "no filetest has {missing:?}");
}

/// Whether the file has a launch that goes well, which a device is to run.
fn is_for_devices(file: &Filetest) -> bool {
    let expectations = file.expectations().unwrap_or_else(|e| panic!("{}.ptx: {e}", file.name));
    let words = |outcome: &Outcome| matches!(outcome, Outcome::Words(_));
    !file.is_of_wgsl() && expectations.iter().any(|expectation| words(&expectation.outcome))
}

/// A device could load them: there is none where most of these tests run.
#[test]
fn every_filetest_for_devices_assembles() {
    let Some(ptxas) = find(PTXAS) else { return };
    let files: Vec<Filetest> = all().into_iter().filter(is_for_devices).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let refused = in_parallel(&files, |file| {
        let path = folder.path().join(format!("{}.ptx", file.name));
        std::fs::write(&path, &file.source).expect("the folder can be written to");
        let mut command = Command::new(&ptxas);
        command.args(["--gpu-name=sm_90", "--output-file", "/dev/null"]).arg(&path);
        let output = command.output().expect("ptxas starts");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success()).then_some(log)
    });
    let refused: Vec<String> = refused.into_iter().flatten().collect();
    assert!(refused.is_empty(), "ptxas refuses:\n{}", refused.join("\n"));
}
