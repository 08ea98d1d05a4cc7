//! Where equal numbers are compared, `>` and `>=` are one function with two derivatives: neither kernel is wrong.

use super::{copies, elementwise, manifest_of_wgsl};
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

/// Where the other way leaves another output it is no kink but a jump. A test for a number that leaves the same one is
/// a branch that no derivative sees.
#[test]
fn a_jump_is_no_kink_and_an_equality_hides_no_derivative() {
    let folder = tempfile::tempdir().expect("a folder");
    let jump =
        "mov.f32 %f2, %f1;\n@!%p1 bra DONE;\nfma.rn.f32 %f2, %f1, 0f40400000, 0f3F800000;\nDONE:";
    let said = at_zero(folder.path(), ("gt", jump), 3.0);
    assert_eq!(said.code, Some(1), "a jump: {said:?}");
    let equal = "@%p1 bra DONE;\nmul.f32 %f2, %f1, 0f40400000;\nDONE:";
    let said = at_zero(folder.path(), ("eq", equal), 3.0);
    assert_eq!(said.code, Some(2), "3 x is skipped where it is 0: {said:?}");
    let said = at_zero(folder.path(), ("eq", equal), 3.001);
    assert_eq!(said.code, Some(1), "3 x is no steeper: {said:?}");
}

/// `z == 0 ? 1 : sin(z) / z + z`: where z is 0 the other branch has no value, and nobody knows the derivative. All
/// others are judged.
#[test]
fn a_number_that_stands_for_a_gap_has_no_known_derivative() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let buffers = [
        "read> x: array<f32>",
        "read> w: array<f32>",
        "read_write> y: array<f32>",
        "read> v_y: array<f32>",
        "read_write> v_w: array<f32>",
        "read> m: array<i32>",
    ];
    let bodies = [
        "let z = x[i] * f32(m[i]) + w[i];\n\
         if (z == 0.0) { y[i] = 1.0; } else { y[i] = sin(z) / z + z; }",
        "let z = x[i] * f32(m[i]) + w[i];\nv_w[i] = v_y[i];\n\
         if (z != 0.0) { v_w[i] += v_y[i] * (cos(z) - SIGN sin(z) / z) / z; }",
    ];
    let source = elementwise(&buffers, bodies);
    let tables = "[sizes]\nN = { from = 30, to = 64 }\n[inputs]\n\
                  x = { shape = [\"N\"] }\nw = { shape = [\"N\"], draw = { value = 0 } }\n\
                  m = { shape = [\"N\"], dtype = \"i32\", draw = { below = 4 } }\n\
                  [outputs]\ny = { shape = [\"N\"] }\n[gradients]\ny = \"v_y\"\nw = \"v_w\"\n";
    let manifest =
        manifest_of_wgsl(tables, [&["x", "w", "y", "m"], &["x", "w", "v_y", "v_w", "m"]]);
    std::fs::write(here.join("pair.toml"), manifest).expect("written");
    let judged = |sign: &str| {
        std::fs::write(here.join("pair.wgsl"), source.replace("SIGN", sign)).expect("written");
        say(here, &["gradcheck", "--manifest", "pair.toml", "--cases", "3"])
    };
    let right = judged("").exits(0);
    assert!(right.out.contains("equal numbers are compared"), "not all is judged: {right:?}");
    judged("1.01 *").exits(1);
}

/// The same kink by the bits of the number, and by a comparison that is combined with another predicate.
#[test]
fn a_tie_of_bits_and_a_combined_one_may_be_decided_either_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let times = "mul.f32 %f3, %f1, 0f40400000;\n";
    let chosen = "selp.f32 %f2, %f3, 0f00000000, %p1;";
    let all = [
        format!("{times}mov.b32 %r1, %f1;\nsetp.gt.s32 %p1, %r1, 0;\n{chosen}"),
        format!(
            "{times}mov.b32 %r1, %f1;\nshr.u32 %r2, %r1, 31;\nsetp.ne.u32 %p1, %r2, 0;\n{chosen}"
        ),
        format!(
            "{times}setp.eq.f32 %p0, %f3, %f3;\nsetp.gt.and.f32 %p1, %f1, 0f00000000, %p0;\n{chosen}"
        ),
    ];
    for branch in all {
        for right in [3.0, 1.0, 0.5] {
            let said = at_zero(folder.path(), ("gt", &branch), right);
            assert_eq!(said.code, Some(2), "{branch} times {right}: {said:?}");
        }
        let said = at_zero(folder.path(), ("gt", &branch), 3.001);
        assert_eq!(said.code, Some(1), "{branch}: {said:?}");
    }
}

/// A kernel whose module counts its launches runs twice: the second time, a tie is reversed with the count as it was.
#[test]
fn a_tie_of_the_second_run_is_reversed_with_its_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    let counts = "mul.f32 %f3, %f1, 0f40400000;\nselp.f32 %f2, %f3, 0f00000000, %p1;\n\
                  atom.global.add.u32 %r1, [count], 1;\ncvt.rn.f32.u32 %f4, %r1;\nadd.f32 %f2, %f2, %f4;";
    let file = Path::new("copy.ptx");
    let of = |factor: f32| {
        // Written once to have its files, then with the variable.
        at_zero(folder.path(), ("gt", "mov.f32 %f2, %f1;"), factor);
        let ptx = folder.path().join(file);
        let variable = ".address_size 64\n.global .align 4 .u32 count = 0;\n";
        change(&ptx, &ptx, &[[".address_size 64\n", variable], ["mov.f32 %f2, %f1;", counts]]);
        say(folder.path(), &["gradcheck", "--manifest", "copy.toml", "--cases", "3"])
    };
    of(3.0).exits(2);
    of(3.001).exits(1);
}
