//! A kernel that never ends costs its time limit, and not that of every case and of every attempt to make one
//! smaller.

use splatcheck_tests::{root, say};
use std::fs;

#[test]
fn gradcheck_runs_no_other_case_once_a_kernel_did_not_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = root().join("harness/examples/gradcheck");
    let right = fs::read_to_string(examples.join("pair.ptx")).expect("a kernel");
    let entry = right.find(".entry splat_backward").expect("its name");
    let body = entry + right[entry..].find('{').expect("its body") + 1;
    // A fence lets the machine's other warps go on, as an ordinary loop does not.
    let endless = format!("{}\nL_F: membar.gl;\nbra L_F;\n{}", &right[..body], &right[body..]);
    fs::write(folder.path().join("endless.ptx"), endless).expect("written");
    let manifest = examples.join("pair.toml").display().to_string();
    let words = ["gradcheck", "endless.ptx", "--manifest", &manifest, "--timeout", "0.5"];
    let said = say(folder.path(), &[&words[..], &["--cases", "1000"]].concat()).exits(1);
    said.prints("no end within 0.5 s of processor time");
    let line = said.out.lines().find(|line| line.starts_with("NOT EXERCISED: "));
    let line = line.expect("the others are named");
    let more: u64 = line.split(' ').nth(2).and_then(|count| count.parse().ok()).expect("a count");
    assert!(line.ends_with("more cases, since a kernel did not end in one"), "{line}");
    // One on each thread begins before the first has ended.
    assert!(more > 500, "{line}");
}
