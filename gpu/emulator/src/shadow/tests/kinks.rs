//! Kinks and ties of what is no f32: either derivative is right there, and beside them one alone.

use super::run::{Outcome, bytes, elementwise, execute, launch};
use crate::{DeviceMemory, Module, Reversed, Schedule, Which};

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

/// The same with all ties decided the other way.
fn reversed(body: &str, x: &[f32]) -> Outcome {
    let module = Module::parse(&elementwise(body)).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let [input, output] = [memory.upload(&bytes(x)), memory.upload(&[0; 128])];
    memory.follow(Some(1 << 26));
    memory.differentiate(input).expect("there is a tape");
    memory.reverse(Reversed::Ties(Which::All)).expect("there is a tape");
    launch(&module, &mut memory, [input, output], &Schedule::lockstep());
    Outcome { memory, input, output }
}

/// Masks and choices by comparisons that leave no predicate. Of two halves the upper one compares another number.
#[test]
fn ties_of_every_comparison_are_reversed() {
    let pair = |compare: &str| {
        format!(
            "add.f32 %f3, %f1, 0f3F800000;\ncvt.rn.f16x2.f32 %r2, %f3, %f1;\nmov.b32 %r3, 0;\n\
             set.{compare}.f16x2.f16x2 %r4, %r2, %r3;\nmul.f16x2 %r5, %r2, %r4;\nmov.b32 {{%h1, %h2}}, %r5;\n\
             cvt.f32.f16 %f4, %h1;\ncvt.f32.f16 %f5, %h2;\nfma.rn.f32 %f2, %f5, 0f40800000, %f4;"
        )
    };
    let one = |kind: &str| {
        format!(
            "cvt.rn.{kind}.f32 %h1, %f1;\nmov.b16 %h2, 0;\nset.gt.{kind}.{kind} %h3, %h1, %h2;\n\
             mul.{kind} %h4, %h1, %h3;\ncvt.f32.{kind} %f2, %h4;"
        )
    };
    let bits = "set.gt.u32.f32 %r2, %f1, 0f00000000;\nmov.b32 %r3, %f1;\nand.b32 %r4, %r2, %r3;\nmov.b32 %f2, %r4;";
    let onto_itself =
        "mul.f32 %f3, %f1, 0f40400000;\nmov.f32 %f2, 0f00000000;\nslct.f32.f32 %f2, %f3, %f2, %f1;";
    let wide = "cvt.f64.f32 %g1, %f1;\nmov.f64 %g2, 0d0000000000000000;\nslct.f64.f32 %g3, %g1, %g2, %f1;\n\
                cvt.rn.f32.f64 %f2, %g3;";
    // The slope at 0 as it is taken, and the other.
    let all = [
        (pair("gt"), 4.0, 5.0),
        (pair("ge"), 5.0, 4.0),
        (one("f16"), 0.0, 1.0),
        (one("bf16"), 0.0, 1.0),
        ("set.ge.f32.f32 %f3, %f1, 0f00000000;\nmul.f32 %f2, %f1, %f3;".to_owned(), 1.0, 0.0),
        (bits.to_owned(), 0.0, 1.0),
        (
            "mul.f32 %f3, %f1, 0f40400000;\nslct.f32.f32 %f2, %f3, 0f00000000, %f1;".to_owned(),
            3.0,
            0.0,
        ),
        (onto_itself.to_owned(), 3.0, 0.0),
        (wide.to_owned(), 1.0, 0.0),
    ];
    let mut x = [0.5_f32; 32];
    x[7] = 0.0;
    for (body, taken, other) in all {
        let plain = execute(&elementwise(&body), &x, &Schedule::lockstep());
        assert_eq!(plain.memory.ties().count(), 1, "{body}: a tie");
        assert_eq!(plain.slopes()[7].value, taken, "{body}");
        let turned = reversed(&body, &x);
        assert_eq!(turned.slopes()[7].value, other, "{body}, reversed");
        assert_eq!(turned.memory.losses(), [], "{body}");
        assert_eq!(turned.values(), plain.values(), "{body}: the same function");
        assert_eq!(turned.slopes()[6].value, plain.slopes()[6].value, "{body}: no tie");
        let none = execute(&elementwise(&body), &[0.5; 32], &Schedule::lockstep());
        assert_eq!(none.memory.ties().count(), 0, "{body}: no tie");
    }
}

/// `slct` takes what its third operand says, also where both have the same bits.
#[test]
fn a_selected_number_is_its_own_among_equals() {
    let body =
        "ld.global.f32 %f3, [%d3];\nmov.f32 %f4, 0fBF800000;\nslct.f32.f32 %f2, %f1, %f3, %f4;";
    let outcome = execute(&elementwise(body), &[0.5; 32], &Schedule::lockstep());
    let slopes: Vec<f64> = outcome.slopes().iter().map(|slope| slope.value).collect();
    assert_eq!(slopes[0], 32.0, "all took the first number: {slopes:?}");
    assert!(slopes[1..].iter().all(|&slope| slope == 0.0), "and not their own: {slopes:?}");
}
