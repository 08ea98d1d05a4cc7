//! What leaves a lane that an open decision has led to it is uncertain as a whole, of whichever kind it is.

use super::run::{elementwise, execute, execute_into, launch};
use crate::{Derivative, Exact, Module, Schedule, Seed};

/// The first number and its derivative after a launch whose lanes choose in between, and another one that reads what
/// they have left.
fn left(before: &str, after: &str, back: &str, limit: u32) -> (Exact, Derivative) {
    let body = format!(
        "mad.wide.u32 %d10, %r1, 8, %d4;\n{before}\ndiv.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\n\
         setp.lt.f32 %p1, %f4, 0f{limit:08X};\n{after}\nexit;"
    );
    let back = format!("mad.wide.u32 %d10, %r1, 8, %d3;\n{back}");
    let schedule = Schedule::lockstep();
    let mut zeros = [0.0; 64];
    zeros[63] = 2.0;
    let mut outcome = execute_into(&elementwise(&body), (&[1.1; 32], &zeros), &schedule);
    let result = outcome.memory.upload(&[0; 128]);
    let back = Module::parse(&elementwise(&back)).expect("the test's kernel");
    launch(&back, &mut outcome.memory, [outcome.output, result], &schedule);
    assert_eq!(outcome.memory.losses(), [], "{body}");
    let mut first = [0.0; 32];
    first[3] = 1.0;
    let seeds = [Seed { output: result, gradient: &first }];
    let gradient = outcome.memory.gradient(&seeds).expect("a tape");
    let slopes = gradient.of(outcome.input).expect("an input");
    (outcome.memory.exact(result)[3], slopes[3])
}

#[test]
fn everything_that_leaves_an_open_lane_is_uncertain() {
    let half = "cvt.rn.f16.f32 %h1, %f1;\nmov.b16 %h3, 0;";
    let half_back = "ld.global.b16 %h1, [%d10];\ncvt.f32.f16 %f2, %h1;";
    let pair = "cvt.rn.f16x2.f32 %r2, %f1, %f1;";
    let double = "cvt.f64.f32 %g1, %f1;\nmov.f64 %g2, 0d0000000000000000;";
    let double_back = "ld.global.f64 %g1, [%d10];\ncvt.rn.f32.f64 %f2, %g1;";
    let chosen_double = "selp.f64 %g3, %g1, %g2, %p1;\n";
    let units = "mul.f32 %f5, %f1, 0f49800000;\ncvt.rni.s32.f32 %r2, %f5;";
    let units_back =
        "ld.global.u32 %r2, [%d10];\ncvt.rn.f32.s32 %f3, %r2;\nmul.f32 %f2, %f3, 0f35800000;";
    let wide_units = "mul.f32 %f5, %f1, 0f49800000;\ncvt.rni.s64.f32 %d5, %f5;\nmov.u64 %d6, 0;";
    let wide_units_back =
        "ld.global.u64 %d5, [%d10];\ncvt.rn.f32.s64 %f3, %d5;\nmul.f32 %f2, %f3, 0f35800000;";
    let key = "mov.b32 %r2, %f1;\nnot.b32 %r2, %r2;";
    let key_back = "ld.global.u32 %r2, [%d10];\nnot.b32 %r2, %r2;\nmov.b32 %f2, %r2;";
    let word = "selp.b32 %r3, %r2, 0, %p1;\n";
    let all = [
        (
            "",
            "selp.f32 %f2, %f1, 0f00000000, %p1;\nst.global.f32 [%d10], %f2;".to_owned(),
            "ld.global.f32 %f2, [%d10];",
        ),
        (half, "selp.b16 %h2, %h1, %h3, %p1;\nst.global.b16 [%d10], %h2;".to_owned(), half_back),
        (
            half,
            "selp.b16 %h2, %h1, %h3, %p1;\natom.global.add.noftz.f16 %h4, [%d10], %h2;".to_owned(),
            half_back,
        ),
        (pair, format!("{word}st.global.b32 [%d10], %r3;"), half_back),
        (pair, format!("{word}red.global.add.noftz.f16x2 [%d10], %r3;"), half_back),
        (
            pair,
            format!("{word}shfl.sync.idx.b32 %r3, %r3, 3, 31, -1;\nst.global.b32 [%d10], %r3;"),
            half_back,
        ),
        (double, format!("{chosen_double}st.global.f64 [%d10], %g3;"), double_back),
        (double, format!("{chosen_double}red.global.add.f64 [%d10], %g3;"), double_back),
        (
            double,
            format!("{chosen_double}mov.b64 %d5, %g3;\natom.global.exch.b64 %d6, [%d10], %d5;"),
            double_back,
        ),
        (
            double,
            format!("{chosen_double}mov.b64 %d5, %g3;\natom.global.cas.b64 %d6, [%d10], 0, %d5;"),
            double_back,
        ),
        (
            double,
            format!("{chosen_double}mov.b64 %d5, %g3;\nred.global.max.s64 [%d10], %d5;"),
            double_back,
        ),
        (
            double,
            format!(
                "{chosen_double}mov.b64 {{%r2, %r3}}, %g3;\nshfl.sync.idx.b32 %r4, %r2, 3, 31, -1;\n\
                          shfl.sync.idx.b32 %r5, %r3, 3, 31, -1;\nmov.b64 %g3, {{%r4, %r5}};\n\
                          st.global.f64 [%d10], %g3;"
            ),
            double_back,
        ),
        (units, format!("{word}red.global.add.u32 [%d10], %r3;"), units_back),
        (
            wide_units,
            "selp.b64 %d7, %d5, %d6, %p1;\nred.global.add.u64 [%d10], %d7;".to_owned(),
            wide_units_back,
        ),
        (key, format!("{word}st.global.u32 [%d10], %r3;"), key_back),
        (key, format!("{word}atom.global.exch.b32 %r4, [%d10], %r3;"), key_back),
    ];
    for (before, after, back) in all {
        // One unit in the last place away, and far away.
        let (value, slope) = left(before, &after, back, 1.1_f32.to_bits() + 1);
        assert!(value.uncertainty >= 1.0, "{before}\n{after}: {value:?}");
        assert!(slope.value != 0.0, "{before}\n{after}: {slope:?}");
        assert!(slope.uncertainty >= slope.value.abs(), "{before}\n{after}: {slope:?}");
        let (value, slope) = left(before, &after, back, 2.0_f32.to_bits());
        assert!(value.uncertainty < 1e-9, "{before}\n{after}, decided: {value:?}");
        assert!((slope.value - 1.0).abs() < 1e-9, "{before}\n{after}, decided: {slope:?}");
        assert!(slope.uncertainty < 1e-9, "{before}\n{after}, decided: {slope:?}");
    }
}

/// A number that no input is in, and that nothing is beside.
#[test]
fn a_constant_that_leaves_an_open_lane_is_uncertain() {
    let load = "ld.global.f32 %f8, [%d4+252];";
    let half = "ld.global.f32 %f8, [%d4+252];\ncvt.rn.f16.f32 %h1, %f8;";
    let double = "ld.global.f32 %f8, [%d4+252];\ncvt.f64.f32 %g1, %f8;";
    let back = "ld.global.f32 %f2, [%d10];";
    let half_back = "ld.global.b16 %h1, [%d10];\ncvt.f32.f16 %f2, %h1;";
    let double_back = "ld.global.f64 %g1, [%d10];\ncvt.rn.f32.f64 %f2, %g1;";
    let all = [
        (load, "st.global.f32 [%d10], %f8;", back),
        (half, "st.global.b16 [%d10], %h1;", half_back),
        (
            half,
            "mov.u32 %r5, shared;\nst.shared.b16 [%r5], %h1;\nld.shared.b16 %h2, [%r5];\nst.global.b16 [%d10], %h2;",
            half_back,
        ),
        ("mov.b16 %h1, 16384;", "st.global.b16 [%d10], %h1;", half_back),
        (
            "mov.b16 %h1, 16384;",
            "st.global.b16 [%d10], %h1;",
            "ld.global.b16 %h1, [%d10];\ncvt.f32.bf16 %f2, %h1;",
        ),
        ("mov.b32 %r4, 1073758208;", "red.global.add.noftz.f16x2 [%d10], %r4;", half_back),
        (half, "mov.b32 %r4, {%h1, %h1};\nred.global.add.noftz.f16x2 [%d10], %r4;", half_back),
        (half, "mov.b32 %r4, {%h1, %h1};\nst.global.b32 [%d10], %r4;", half_back),
        (double, "st.global.f64 [%d10], %g1;", double_back),
        (double, "mov.b64 %d5, %g1;\natom.global.exch.b64 %d6, [%d10], %d5;", double_back),
        (double, "mov.b64 %d5, %g1;\natom.global.cas.b64 %d6, [%d10], 0, %d5;", double_back),
        (
            "",
            "mov.b64 %d5, 0d4000000000000000;\natom.global.exch.b64 %d6, [%d10], %d5;",
            double_back,
        ),
        (load, "red.global.add.f32 [%d10], %f8;", back),
        (load, "atom.global.add.f32 %f9, [%d10], %f8;", back),
        (load, "atom.global.exch.b32 %f9, [%d10], %f8;", back),
        (load, "shfl.sync.idx.b32 %f9, %f8, 3, 31, -1;\nst.global.f32 [%d10], %f9;", back),
        (half, "atom.global.add.noftz.f16 %h2, [%d10], %h1;", half_back),
        (double, "red.global.add.f64 [%d10], %g1;", double_back),
    ];
    for (before, after, back) in all {
        let (value, _) = left(before, after, back, 1.1_f32.to_bits() + 1);
        assert!(value.uncertainty >= 2.0, "{before}\n{after}: {value:?}");
        let (value, _) = left(before, after, back, 2.0_f32.to_bits());
        assert!(value.uncertainty < 1e-12, "{before}\n{after}, decided: {value:?}");
    }
}

/// An integer that leaves an open lane is what it was: a lock or a place in a table, of which no bits are a number.
#[test]
fn integers_that_leave_an_open_lane_lose_nothing() {
    let body = "atom.global.exch.b32 %r2, [%d10], -1;\natom.global.cas.b32 %r3, [%d10], -1, 7;\n\
                atom.global.add.u32 %r4, [%d10], %r1;\nld.global.u32 %r5, [%d10];\nshl.b32 %r5, %r5, 3;\n\
                or.b32 %r5, %r5, 1;\nst.global.u32 [%d10], %r5;\nshfl.sync.idx.b32 %r6, %r5, 3, 31, -1;\n\
                st.global.u32 [%d10+4], %r6;\nst.global.u16 [%d4+252], %r5;\nld.global.u64 %d7, [%d10];\n\
                st.global.u64 [%d4+240], %d7;";
    let back = "ld.global.u32 %r5, [%d10];\nld.global.u32 %r6, [%d10+4];\nld.global.u64 %d5, [%d10];\n\
                shr.u64 %d6, %d5, 32;\ncvt.u32.u64 %r7, %d6;\nsub.u32 %r8, %r5, %r7;\nadd.u32 %r8, %r8, 5;\n\
                ld.global.u64 %d7, [%d3+240];\nsetp.lt.u64 %p1, %d7, 9;\n@%p1 add.u32 %r8, %r8, 100;\n\
                ld.global.u16 %r9, [%d3+252];\nsetp.lt.u32 %p1, %r9, 1;\n@%p1 add.u32 %r8, %r8, 100;\n\
                cvt.rn.f32.u32 %f2, %r8;";
    let (value, _) = left("", body, back, 1.1_f32.to_bits() + 1);
    assert_eq!((value.value, value.uncertainty), (5.0, 0.0), "of lane 3");
}

/// A copy from memory to memory by a lane that an open decision has led there; the others are far from it.
#[test]
fn a_copy_by_an_open_lane_is_uncertain() {
    let of = |limit: u32| {
        format!(
            "div.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\nsetp.lt.f32 %p1, %f4, 0f{limit:08X};\n\
             mov.u32 %r5, shared;\nmad.lo.u32 %r6, %r1, 4, %r5;\ncp.async.ca.shared.global [%r6], [%d1], 4;\n\
             cp.async.wait_all;\nbar.sync 0;\nld.shared.f32 %f2, [%r5];"
        )
    };
    let mut x = [0.5; 32];
    x[0] = 1.1_f32;
    let open = execute(&elementwise(&of(x[0].to_bits() + 1)), &x, &Schedule::lockstep());
    let closed = execute(&elementwise(&of(2.0_f32.to_bits())), &x, &Schedule::lockstep());
    let slope = |outcome: &super::run::Outcome| {
        let mut third = [0.0; 32];
        third[3] = 1.0;
        let seeds = [Seed { output: outcome.output, gradient: &third }];
        let gradient = outcome.memory.gradient(&seeds).expect("a tape");
        gradient.of(outcome.input).expect("an input")[0]
    };
    assert!(open.values()[3].uncertainty >= 1.1, "{:?}", open.values()[3]);
    assert!(slope(&open).uncertainty >= 1.0, "{:?}", slope(&open));
    assert!(closed.values()[3].uncertainty < 1e-12, "{:?}", closed.values()[3]);
    assert!(slope(&closed).uncertainty < 1e-12, "{:?}", slope(&closed));
}
