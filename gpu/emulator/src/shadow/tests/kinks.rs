//! Kinks and ties of what is no f32: either derivative is right there, and beside them one alone.

use super::run::{elementwise, execute, reversed_ties};
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
        "mov.b32 %r2, %f1;\nlop3.b32 %r3, %r2, 2147483647, 0, 192;\nmov.b32 %f2, %r3;",
        "mov.b32 %r2, %f1;\nlop3.b32 %r3, %r2, 2147483647, -2147483648, 234;\nxor.b32 %r3, %r3, -2147483648;\nmov.b32 %f2, %r3;",
        "copysign.f32 %f2, 0f3F800000, %f1;",
        "cvt.f64.f32 %g1, %f1;\nmov.f64 %g3, 0d3FF0000000000000;\ncopysign.f64 %g2, %g3, %g1;\ncvt.rn.f32.f64 %f2, %g2;",
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
        let turned = reversed_ties(&body, &x);
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

/// A comparison that is combined with another predicate decides where that one does not do so alone.
#[test]
fn a_combined_comparison_decides_with_the_other_predicate() {
    let of = |combine: &str, other: &str, result: &str| {
        format!(
            "setp.{other}.u32 %p2, %r1, 99;\nsetp.gt.{combine}.f32 {result}, %f1, 0f00000000, %p2;\n\
             selp.f32 %f2, %f1, 0f00000000, %p1;"
        )
    };
    let mut x = [0.5_f32; 32];
    x[7] = 0.0;
    // The other predicate is true by `lt`, and false by `gt`.
    let all = [
        (of("and", "lt", "%p1"), true),
        (of("and", "lt", "%p3|%p1"), true),
        (of("and", "gt", "%p1"), false),
        (of("or", "gt", "%p1"), true),
        (of("or", "lt", "%p1"), false),
        (of("xor", "lt", "%p1"), true),
        (of("xor", "gt", "%p1"), true),
        // The result is written over the other.
        (of("and", "lt", "%p2").replace("%p1;", "%p2;"), true),
    ];
    for (body, decides) in all {
        let plain = execute(&elementwise(&body), &x, &Schedule::lockstep());
        assert_eq!(plain.memory.ties().count(), usize::from(decides), "{body}: a tie");
        let [before, after] = [plain.slopes(), reversed_ties(&body, &x).slopes()];
        assert_eq!(before[7].value != after[7].value, decides, "{body}");
        assert_eq!(before[6].value, after[6].value, "{body}: no tie");
    }
}

/// The sign of one number for another: where the first is 0 the other one is as right, and near 0 nobody knows.
#[test]
fn a_copied_sign_is_a_decision() {
    let constant = "mov.f32 %f5, 0f40400000;\nmul.f32 %f6, %f5, %f7;\n";
    let bits = format!("{constant}mov.b32 %r2, %f4;\nmov.b32 %r3, %f6;\n");
    let all = [
        format!("{constant}copysign.f32 %f2, %f4, %f6;"),
        format!(
            "{constant}cvt.f64.f32 %g1, %f4;\ncvt.f64.f32 %g2, %f6;\ncopysign.f64 %g3, %g1, %g2;\n\
             cvt.rn.f32.f64 %f2, %g3;"
        ),
        format!("{bits}lop3.b32 %r4, %r2, %r3, 2147483647, 202;\nmov.b32 %f2, %r4;")
            .replace("202", "216"),
        format!("{bits}lop3.b32 %r4, 2147483647, %r3, %r2, 202;\nmov.b32 %f2, %r4;"),
        format!("{bits}lop3.b32 %r4, %r2, -2147483648, %r3, 106;\nmov.b32 %f2, %r4;"),
        format!(
            "{bits}and.b32 %r4, %r2, -2147483648;\nand.b32 %r5, %r3, 2147483647;\nor.b32 %r6, %r4, %r5;\n\
             mov.b32 %f2, %r6;"
        ),
    ];
    // The second number is 3 times what another thread's input is.
    let own = "mad.wide.u32 %d5, 1, 4, %d3;\nld.global.f32 %f7, [%d5];\nmov.f32 %f4, %f1;\n";
    let near = "mad.wide.u32 %d5, 1, 4, %d3;\nld.global.f32 %f7, [%d5];\nmul.f32 %f4, %f1, 0f3DCCCCCD;\n\
                fma.rn.f32 %f4, %f4, 0fC1200000, %f1;\n";
    let mut x = [0.5_f32; 32];
    x[7] = 0.0;
    for body in all {
        let exact = format!("{own}{body}");
        let plain = execute(&elementwise(&exact), &x, &Schedule::lockstep());
        assert_eq!(plain.memory.losses(), [], "{body}");
        assert_eq!(plain.memory.ties().count(), 1, "{body}: a tie");
        let turned = reversed_ties(&exact, &x);
        assert_eq!(turned.memory.losses(), [], "{body}, reversed");
        let [one, other] = [&plain, &turned].map(|outcome| outcome.values()[7].value);
        assert_eq!(one, -other, "{body}");
        assert_eq!(one.abs(), 1.5, "{body}");
        assert_eq!(plain.values()[6], turned.values()[6], "{body}: no tie");
        let open =
            execute(&elementwise(&format!("{near}{body}")), &[1.1; 32], &Schedule::lockstep());
        assert!(open.values()[6].uncertainty >= 3.0, "{body}: {:?}", open.values()[6]);
    }
}
