//! Arrays that frameworks pass as structures by value.

use std::fs;

use splatcheck_tests::{Said, say};

use super::kernel;

/// Each structure by its program; of another the parameters' bytes differ, or what is read is.
#[test]
fn structures_of_frameworks_are_said_by_one_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = kernel("array_types.toml");
    let text = fs::read_to_string(text).expect("readable");
    let on = |variant: &str, accessor: &str| -> Said {
        let own = text.replace("torch32", accessor);
        fs::write(here.join("m.toml"), own).expect("written");
        let program = kernel(&format!("array_types{variant}.ptx"));
        let cases = ["--generator", "typical", "--cases", "12", "--seed", "3"];
        say(here, &[&["ptx", &program, "--manifest", "m.toml"][..], &cases].concat())
    };
    for (variant, accessor) in
        [("", "torch32"), ("_wide", "torch64"), ("_warp", "warp"), ("_slang", "slang")]
    {
        on(variant, accessor).exits(0);
    }
    for (variant, accessor) in [("", "torch64"), ("_wide", "torch32"), ("_warp", "torch32")] {
        on(variant, accessor).exits(2).complains("takes 10 parameters of");
    }
    // Of these two the bytes are as many.
    on("_warp", "slang").exits(1);
    on("_slang", "warp").exits(1);
}
