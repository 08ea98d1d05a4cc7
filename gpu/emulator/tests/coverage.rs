//! Every mnemonic that the decoder knows stands in a filetest.

use std::collections::BTreeSet;

use splatcheck_emulator::MNEMONICS;
use splatcheck_filetests::{all, opcodes};

#[test]
fn every_mnemonic_is_tested() {
    let known = |mnemonic: &str| MNEMONICS.contains(&mnemonic);
    let mut tested = BTreeSet::new();
    for file in all() {
        let of_file = opcodes(&file.source, known);
        tested.extend(of_file.iter().map(|o| o.split('.').next().unwrap_or("").to_owned()));
    }
    let missing: Vec<_> = MNEMONICS.iter().filter(|&&name| !tested.contains(name)).collect();
    assert!(missing.is_empty(), "no filetest has {missing:?}");
}
