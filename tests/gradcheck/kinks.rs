//! Where equal numbers are compared, `>` and `>=` are one function with two derivatives: neither kernel is wrong.

use super::copies;
use splatcheck_tests::{Said, change, say};
use std::path::Path;

/// `gradcheck` of `y = x > 0 ? 3 x : 0` at x = 0, spelled with this comparison and branch, and of a backward kernel
/// that returns so many times the given gradient.
fn at_zero(folder: &Path, (compare, branch): (&str, &str), factor: f32) -> Said {
    let forward = format!(
        ".reg .pred %p<2>;\nmov.f32 %f2, 0f00000000;\nsetp.{compare}.f32 %p1, %f1, 0f00000000;\n{branch}"
    );
    let manifest = copies(folder, &forward);
    let draw = ["[inputs.x]\n", "[inputs.x]\ndraw = { normal = [0.0, 0.0] }\n"];
    change(Path::new(&manifest), Path::new(&manifest), &[draw]);
    let bits = factor.to_bits();
    let times = format!("mul.f32 %f2, %f1, 0f{bits:08X};\nst.global.f32 [%d2], %f2;\nret;\n}}\n");
    let ptx = folder.join("copy.ptx");
    let text = std::fs::read_to_string(&ptx).expect("written");
    let (rest, _) = text.rsplit_once("mov.f32 %f2, %f1;").expect("the backward kernel");
    std::fs::write(&ptx, format!("{rest}{times}")).expect("written");
    say(folder, &["gradcheck", "--manifest", &manifest, "--cases", "3"])
}

#[test]
fn a_comparison_of_equals_may_be_decided_either_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let branch = "@!%p1 bra DONE;\nmul.f32 %f2, %f1, 0f40400000;\nDONE:";
    let selected = "mul.f32 %f3, %f1, 0f40400000;\nselp.f32 %f2, %f3, %f2, %p1;";
    for spelling in [("gt", branch), ("ge", branch), ("gt", selected), ("geu", selected)] {
        // From one side it is 0, from the other 3; what lies between is a derivative of the kink too. As a kernel that
        // returns nothing would be right, such an element says nothing.
        for right in [3.0, 1.0] {
            let said = at_zero(folder.path(), spelling, right);
            let same = spelling.0.starts_with("ge") && right == 3.0;
            let code = if same { 0 } else { 2 };
            assert_eq!(said.code, Some(code), "{spelling:?} times {right}: {said:?}");
            assert_eq!(said.out.contains("equal numbers are compared"), !same, "{said:?}");
        }
        for wrong in [3.001, -0.001] {
            let said = at_zero(folder.path(), spelling, wrong);
            assert_eq!(said.code, Some(1), "{spelling:?} times {wrong}: {said:?}");
        }
    }
}

/// Where the other way leaves another output it is no kink: a jump, or a test for a number.
#[test]
fn a_jump_and_an_equality_are_no_kinks() {
    let folder = tempfile::tempdir().expect("a folder");
    let jump =
        "mov.f32 %f2, %f1;\n@!%p1 bra DONE;\nfma.rn.f32 %f2, %f1, 0f40400000, 0f3F800000;\nDONE:";
    let said = at_zero(folder.path(), ("gt", jump), 3.0);
    assert_eq!(said.code, Some(1), "a jump: {said:?}");
    let equal = "@%p1 bra DONE;\nmul.f32 %f2, %f1, 0f40400000;\nDONE:";
    let said = at_zero(folder.path(), ("eq", equal), 3.0);
    assert_eq!(said.code, Some(1), "the forward kernel skips zeros: {said:?}");
}
