//! Kinks and ties of what is no f32: either derivative is right there, and beside them one alone.

use super::run::{elementwise, execute};
use crate::Schedule;

/// The derivatives at numbers of one value.
fn slope(body: &str, x: f32) -> crate::Derivative {
    let outcome = execute(&elementwise(body), &[x; 32], &Schedule::lockstep());
    assert_eq!(outcome.memory.losses(), [], "{body}");
    outcome.slopes()[7]
}

/// Whether a number is among what a derivative may be.
fn may_be(slope: crate::Derivative, right: f64) -> bool {
    (slope.value - right).abs() <= slope.uncertainty
}

#[test]
fn an_absolute_value_has_either_slope_at_zero() {
    let all = [
        "cvt.rn.f16.f32 %h1, %f1;\nabs.f16 %h2, %h1;\ncvt.f32.f16 %f2, %h2;",
        "cvt.rn.bf16.f32 %h1, %f1;\nabs.bf16 %h2, %h1;\ncvt.f32.bf16 %f2, %h2;",
        "cvt.rn.f16x2.f32 %r2, %f1, %f1;\nabs.f16x2 %r3, %r2;\nmov.b32 {%h1, %h2}, %r3;\ncvt.f32.f16 %f2, %h2;",
        "cvt.f64.f32 %g1, %f1;\nabs.f64 %g2, %g1;\ncvt.rn.f32.f64 %f2, %g2;",
        "abs.f32 %f2, %f1;",
        "mov.b32 %r2, %f1;\nand.b32 %r3, %r2, 2147483647;\nmov.b32 %f2, %r3;",
        "cvt.rn.f16.f32 %h1, %f1;\nand.b16 %h2, %h1, 32767;\ncvt.f32.f16 %f2, %h2;",
        "cvt.rn.f16x2.f32 %r2, %f1, %f1;\nand.b32 %r3, %r2, 2147450879;\nmov.b32 {%h1, %h2}, %r3;\ncvt.f32.f16 %f2, %h2;",
    ];
    for body in all {
        let at_zero = slope(body, 0.0);
        for right in [-1.0, 0.0, 1.0] {
            assert!(may_be(at_zero, right), "{body}: {at_zero:?} may be {right}");
        }
        for (x, sign) in [(0.5, 1.0), (-0.5, -1.0)] {
            let sure = slope(body, x);
            assert!(may_be(sure, sign) && sure.uncertainty < 1e-12, "{body} at {x}: {sure:?}");
        }
    }
}

/// 1 and 2^-12, which is a quarter of the last place of f16 there: the sum rounds to 1.
#[test]
fn a_clamp_has_either_slope_at_its_ends() {
    let quarter = 1.0 / 4096.0_f32;
    let sum = "cvt.rn.f16.f32 %h1, %f1;\nmov.b16 %h3, 3072;\nadd.sat.f16 %h2, %h1, %h3;\ncvt.f32.f16 %f2, %h2;";
    let pair = "cvt.rn.f16x2.f32 %r2, %f1, %f1;\nmov.b32 %r4, 201329664;\nadd.sat.f16x2 %r3, %r2, %r4;\n\
                mov.b32 {%h1, %h2}, %r3;\ncvt.f32.f16 %f2, %h2;";
    let converted = "cvt.rn.sat.f16.f32 %h1, %f1;\ncvt.f32.f16 %f2, %h1;";
    let single = "cvt.sat.f32.f32 %f2, %f1;";
    let ends = [
        (sum, 1.0),
        (sum, -quarter),
        (pair, 1.0),
        (pair, -quarter),
        (converted, 1.0 + quarter),
        (converted, 0.0),
        (single, 1.0),
        (single, 0.0),
    ];
    for (body, x) in ends {
        let at_end = slope(body, x);
        assert!(may_be(at_end, 0.0) && may_be(at_end, 1.0), "{body} at {x}: {at_end:?}");
    }
    for body in [sum, pair, converted, single] {
        for (x, right) in [(0.5, 1.0), (2.0, 0.0), (-0.5, 0.0)] {
            let sure = slope(body, x);
            assert!(may_be(sure, right) && sure.uncertainty < 1e-12, "{body} at {x}: {sure:?}");
        }
    }
}
