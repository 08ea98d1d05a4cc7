//! Signs and exponents that integer code takes from floats: right kernels in whichever spelling agree, and wrong ones are
//! found.

use splatcheck_tests::{Said, say};
use std::path::Path;

/// Two kernels of 64 threads, of which each leaves `%p1` and has x in `%f1`: `y = p ? x : x / 4`, and what that makes of
/// the given gradient times `slope`.
fn judged(folder: &Path, draw: &str, [forward, backward]: [&str; 2], slope: f32) -> Said {
    let kernel = |name: &str, body: &str, last: &str| {
        format!(
            ".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c)\n{{\n.reg .pred %p<9>;\n\
             .reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<20>;\n.reg .b64 %d<9>;\n.reg .f64 %g<9>;\n\
             ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nld.param.u64 %d3, [c];\nmov.u32 %r1, %tid.x;\n\
             mad.wide.u32 %d1, %r1, 4, %d1;\nmad.wide.u32 %d2, %r1, 4, %d2;\nmad.wide.u32 %d3, %r1, 4, %d3;\n\
             ld.global.f32 %f1, [%d1];\nmov.f32 %f4, %f1;\n{body}\n{last}\nret;\n}}\n"
        )
    };
    let first =
        "mul.f32 %f3, %f1, 0f3E800000;\nselp.f32 %f2, %f1, %f3, %p1;\nst.global.f32 [%d2], %f2;";
    let last = format!(
        "ld.global.f32 %f5, [%d2];\nmul.f32 %f5, %f5, 0f{:08X};\nmul.f32 %f6, %f5, 0f3E800000;\n\
         selp.f32 %f2, %f5, %f6, %p1;\nst.global.f32 [%d3], %f2;",
        slope.to_bits()
    );
    let ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{}{}",
        kernel("forward", forward, first),
        kernel("backward", backward, &last)
    );
    std::fs::write(folder.join("signs.ptx"), ptx).expect("written");
    let launch = |name: &str, parameters: &str| {
        format!(
            "[{name}]\nkernel = \"{name}\"\nblock = [64]\ngrid = [1]\nparameters = [{parameters}]\n"
        )
    };
    let manifest = format!(
        "ptx = \"signs.ptx\"\n[inputs.x]\nshape = [64]\ndraw = {draw}\n[outputs.y]\nshape = [64]\n[gradients]\n\
         y = \"v_y\"\nx = \"v_x\"\n{}{}",
        launch("forward", "\"x\", \"y\", { null = true }"),
        launch("backward", "\"x\", \"v_y\", \"v_x\"")
    );
    std::fs::write(folder.join("signs.toml"), manifest).expect("written");
    say(folder, &["gradcheck", "--manifest", "signs.toml", "--cases", "2"])
}

/// Whether `%f4` is not below 0.
const SIGNS: [&str; 11] = [
    "setp.ge.f32 %p1, %f4, 0f00000000;",
    "mov.b32 %r2, %f4;\nbfe.u32 %r3, %r2, 31, 1;\nsetp.eq.u32 %p1, %r3, 0;",
    "mov.b32 %r2, %f4;\nbfe.s32 %r3, %r2, 31, 1;\nsetp.ne.s32 %p1, %r3, -1;",
    "mov.b32 %r2, %f4;\nshr.s32 %r3, %r2, 24;\nsetp.ge.s32 %p1, %r3, 0;",
    "mov.b32 %r2, %f4;\nshr.s32 %r3, %r2, 31;\nsetp.eq.s32 %p1, %r3, 0;",
    "mov.b32 %r2, %f4;\nand.b32 %r3, %r2, -8388608;\nsetp.lt.u32 %p1, %r3, -2147483648;",
    "cvt.rn.f16.f32 %h1, %f4;\nand.b16 %h2, %h1, 32768;\nsetp.eq.u16 %p1, %h2, 0;",
    "cvt.rn.f16x2.f32 %r2, %f4, %f4;\nand.b32 %r3, %r2, -2147450880;\nsetp.eq.u32 %p1, %r3, 0;",
    "cvt.rn.bf16x2.f32 %r2, %f4, %f4;\nbfe.u32 %r3, %r2, 15, 1;\nsetp.eq.u32 %p1, %r3, 0;",
    "cvt.f64.f32 %g1, %f4;\nmov.b64 %d4, %g1;\nshr.u64 %d5, %d4, 63;\nsetp.eq.u64 %p1, %d5, 0;",
    "cvt.f64.f32 %g1, %f4;\nmov.b64 %d4, %g1;\nbfe.u64 %d5, %d4, 63, 1;\nsetp.eq.u64 %p1, %d5, 0;",
];

/// Whether `%f4` is 1 or more in magnitude.
const EXPONENTS: [&str; 4] = [
    "abs.f32 %f5, %f4;\nsetp.ge.f32 %p1, %f5, 0f3F800000;",
    "mov.b32 %r2, %f4;\nand.b32 %r3, %r2, 2139095040;\nsetp.ge.u32 %p1, %r3, 1065353216;",
    "mov.b32 %r2, %f4;\nbfe.u32 %r3, %r2, 23, 8;\nsub.s32 %r4, %r3, 127;\nsetp.ge.s32 %p1, %r4, 0;",
    "mov.b32 %r2, %f4;\nshr.u32 %r3, %r2, 23;\nand.b32 %r4, %r3, 255;\nsetp.gt.u32 %p1, %r4, 126;",
];

const NORMAL: &str = "{ normal = [0.0, 1.0] }";

#[test]
fn signs_and_exponents_are_judged_in_every_spelling() {
    let folder = tempfile::tempdir().expect("a folder");
    for all in [&SIGNS[..], &EXPONENTS[..]] {
        for (at, forward) in all.iter().enumerate() {
            let backward = all[(at + 1) % all.len()];
            for pair in [[forward, backward], [backward, forward], [forward, all[0]]] {
                let right = judged(folder.path(), NORMAL, pair, 1.0);
                assert_eq!(right.code, Some(0), "{pair:?}: {right:?}");
                assert!(right.out.contains(" 128 derivatives compared"), "{pair:?}: {right:?}");
            }
            let wrong = judged(folder.path(), NORMAL, [forward, backward], 1.000_01);
            assert_eq!(wrong.code, Some(1), "{forward}, times 1.00001: {wrong:?}");
            let turned = format!("{backward}\nnot.pred %p1, %p1;");
            let wrong = judged(folder.path(), NORMAL, [forward, &turned], 1.0);
            assert_eq!(wrong.code, Some(1), "{forward}, the other way: {wrong:?}");
        }
    }
}

/// At 0 a kernel may take either side, and nothing that lies beyond both.
#[test]
fn at_zero_either_side_of_a_sign_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let zero = "{ normal = [0.0, 0.0] }";
    for forward in SIGNS {
        for backward in ["setp.ge.f32 %p1, %f4, 0f00000000;", "setp.gt.f32 %p1, %f4, 0f00000000;"] {
            let said = judged(folder.path(), zero, [forward, backward], 1.0);
            assert_ne!(said.code, Some(1), "{forward}, {backward}: {said:?}");
        }
        let said = judged(folder.path(), zero, [forward, SIGNS[0]], 1.001);
        assert_eq!(said.code, Some(1), "{forward}, beyond both: {said:?}");
    }
}

/// Where rounding leaves a sign or an exponent open, another rounding is not wrong.
#[test]
fn another_rounding_of_what_is_open_is_not_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    // x / 10 10 - x in two ways, and a sum of it and 1, which lies about 1.
    let tenth = "mul.f32 %f7, %f1, 0f3DCCCCCD;\n";
    let fused = format!("{tenth}neg.f32 %f8, %f1;\nfma.rn.f32 %f4, %f7, 0f41200000, %f8;\n");
    let apart = format!("{tenth}mul.f32 %f7, %f7, 0f41200000;\nsub.f32 %f4, %f7, %f1;\n");
    let one = "add.f32 %f4, %f4, 0f3F800000;\n";
    for (all, then) in [(&SIGNS[..], ""), (&EXPONENTS[..], one)] {
        for question in all {
            let forward = format!("{fused}{then}{question}");
            let backward = format!("{apart}{then}{question}");
            for pair in [[&*forward, &*backward], [&*backward, &*forward]] {
                let said = judged(folder.path(), NORMAL, pair, 1.0);
                assert_ne!(said.code, Some(1), "{question}: {said:?}");
                assert!(said.out.contains("derivatives compared"), "it ran: {question}: {said:?}");
            }
        }
    }
}
