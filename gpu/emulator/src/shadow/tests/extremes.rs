//! The least or greatest of numbers by their bits: of equal ones either may have the derivative.

use super::run::{Outcome, elementwise, execute, execute_into, launch, positive, schedules};
use crate::{Derivative, Module, Schedule, Seed};

/// Two of these are the largest.
const EQUAL: [usize; 2] = [5, 17];

fn numbers() -> Vec<f32> {
    let mut x = positive();
    for lane in EQUAL {
        x[lane] = 32.0;
    }
    x
}

/// Checks that the equal ones may have all of a derivative or none of it, and that nobody else has any of it.
fn check(slopes: &[Derivative], whole: f64, what: &str) {
    for (lane, slope) in slopes.iter().enumerate() {
        let may_be = |right: f64| (slope.value - right).abs() <= slope.uncertainty;
        if EQUAL.contains(&lane) {
            assert!(may_be(0.0) && may_be(whole), "{what}: {slope:?} of lane {lane}");
        } else {
            assert!(slope.value == 0.0 && slope.uncertainty == 0.0, "{what}: {slope:?} of {lane}");
        }
    }
    let sum: f64 = slopes.iter().map(|slope| slope.value).sum();
    assert!((sum - whole).abs() < 1e-12 * whole, "{what}: {sum} in all");
}

/// The slopes of the first element of another launch's result.
fn first_of(back: &str, mut outcome: Outcome, schedule: &Schedule) -> Vec<Derivative> {
    let back = Module::parse(&elementwise(back)).expect("the test's kernel");
    let result = outcome.memory.upload(&[0; 128]);
    launch(&back, &mut outcome.memory, [outcome.output, result], schedule);
    let mut first = [0.0; 32];
    first[0] = 1.0;
    let seeds = [Seed { output: result, gradient: &first }];
    let gradient = outcome.memory.gradient(&seeds).expect("a tape");
    assert_eq!((&*gradient.lost, &*gradient.unknown), (&[][..], &[][..]), "all is known");
    gradient.of(outcome.input).expect("an input")
}

const KEY: &str = "mov.b32 %r2, %f1;\nshr.s32 %r3, %r2, 31;\nor.b32 %r4, %r3, -2147483648;\nxor.b32 %r5, %r2, %r4;\n";
const KEY_BACK: &str = "shr.s32 %r7, %r6, 31;\nnot.b32 %r8, %r7;\nor.b32 %r9, %r8, -2147483648;\n\
                        xor.b32 %r10, %r6, %r9;\nmov.b32 %f2, %r10;";

#[test]
fn equal_numbers_in_memory_are_undecided() {
    let key_back = format!("ld.global.u32 %r6, [%d3];\n{KEY_BACK}");
    let load = "ld.global.f32 %f2, [%d3];";
    let all = [
        ("mov.b32 %r2, %f1;\nred.global.max.s32 [%d4], %r2;\nexit;".to_owned(), load),
        // Whichever number has the larger index.
        (
            "mov.b32 %r2, %f1;\nmov.b64 %d5, {%r1, %r2};\nred.global.max.u64 [%d4], %d5;\nexit;".to_owned(),
            "ld.global.f32 %f2, [%d3+4];",
        ),
        // The same index.
        (
            "mov.b32 %r2, %f1;\nmov.u32 %r3, 3;\nmov.b64 %d5, {%r3, %r2};\nred.global.max.u64 [%d4], %d5;\nexit;"
                .to_owned(),
            "ld.global.f32 %f2, [%d3+4];",
        ),
        (
            "cvt.f64.f32 %g1, %f1;\nmov.b64 %d5, %g1;\nred.global.max.s64 [%d4], %d5;\nexit;".to_owned(),
            "ld.global.f64 %g1, [%d3];\ncvt.rn.f32.f64 %f2, %g1;",
        ),
        (format!("{KEY}red.global.max.u32 [%d4], %r5;\nexit;"), &key_back),
    ];
    for (body, back) in &all {
        for schedule in schedules() {
            let outcome = execute_into(&elementwise(body), (&numbers(), &[0.0; 64]), &schedule);
            check(&first_of(back, outcome, &schedule), 1.0, body);
        }
    }
}

/// Numbers of units: those that a unit lies between may change places too.
#[test]
fn equal_numbers_of_units_are_undecided() {
    let body = "mul.f32 %f3, %f1, 0f44800000;\ncvt.rni.s32.f32 %r2, %f3;\nred.global.max.s32 [%d4], %r2;\n\
                add.u64 %d5, %d4, 4;\nred.global.add.u32 [%d5], %r2;\nexit;";
    let back = "ld.global.u32 %r2, [%d3];\nadd.u32 %r2, %r2, %r2;\ncvt.rn.f32.s32 %f3, %r2;\nmul.f32 %f2, %f3, 0f3A000000;";
    for schedule in schedules() {
        let outcome = execute_into(&elementwise(body), (&numbers(), &[0.0; 64]), &schedule);
        check(&first_of(back, outcome, &schedule), 1.0, body);
    }
}

#[test]
fn equal_numbers_in_registers_are_undecided() {
    // The greater of an own number and another lane's, of which lanes 5 and 17 have equal ones.
    let other = "add.u32 %r20, %r1, 12;\nshfl.sync.idx.b32 %f9, %f1, %r20, 31, -1;\nsetp.ne.u32 %p2, %r1, 5;\n";
    let all = [
        "mov.b32 %r2, %f1;\nmov.b32 %r3, %f9;\nmax.s32 %r4, %r2, %r3;\nmov.b32 %f2, %r4;",
        "mov.b32 %r2, %f1;\nmov.b32 %r3, %f9;\nmov.b64 %d5, {%r1, %r2};\nmov.b64 %d6, {%r1, %r3};\n\
         max.u64 %d7, %d5, %d6;\nmov.b64 {%r4, %r5}, %d7;\nmov.b32 %f2, %r5;",
        "cvt.rn.f16.f32 %h1, %f1;\ncvt.rn.f16.f32 %h2, %f9;\nmax.s16 %h3, %h1, %h2;\ncvt.f32.f16 %f2, %h3;",
        "cvt.rn.f16.f32 %h1, %f1;\ncvt.rn.f16.f32 %h2, %f9;\nmax.f16 %h3, %h1, %h2;\ncvt.f32.f16 %f2, %h3;",
        "max.f32 %f2, %f1, %f9;",
        "abs.f32 %f3, %f1;\nneg.f32 %f4, %f9;\nmov.b32 %r2, %f3;\nmov.b32 %r3, %f4;\nand.b32 %r3, %r3, 2147483647;\n\
         max.s32 %r4, %r2, %r3;\nmov.b32 %f2, %r4;",
    ];
    for body in all {
        let body = format!("{other}{body}\n@%p2 mov.f32 %f2, 0f00000000;");
        let outcome = execute(&elementwise(&body), &numbers(), &Schedule::lockstep());
        assert_eq!(outcome.memory.losses(), [], "{body}");
        check(&outcome.slopes(), 1.0, &body);
    }
}

#[test]
fn equal_numbers_of_a_warp_are_undecided() {
    for op in ["max.s32", "max.u32"] {
        let body = format!("mov.b32 %r2, %f1;\nredux.sync.{op} %r3, %r2, -1;\nmov.b32 %f2, %r3;");
        for schedule in schedules() {
            let outcome = execute(&elementwise(&body), &numbers(), &schedule);
            check(&outcome.slopes(), 32.0, &body);
        }
    }
    // All bits of equal numbers.
    let body = "setp.eq.u32 %p1, %r1, 5;\nsetp.eq.u32 %p2, %r1, 17;\nor.pred %p1, %p1, %p2;\nmov.b32 %r2, %f1;\n\
                @!%p1 mov.b32 %r2, 0;\nredux.sync.or.b32 %r3, %r2, -1;\nmov.b32 %f2, %r3;";
    let outcome = execute(&elementwise(body), &numbers(), &Schedule::lockstep());
    check(&outcome.slopes(), 32.0, body);
}

/// At 0 the least that is taken is the number or a constant.
#[test]
fn a_number_and_a_constant_that_are_equal_are_undecided() {
    let all = [
        "mov.b32 %r2, %f1;\nmax.s32 %r3, %r2, 0;\nmov.b32 %f2, %r3;",
        "cvt.rn.f16.f32 %h1, %f1;\nmax.s16 %h2, %h1, 0;\ncvt.f32.f16 %f2, %h2;",
    ];
    for body in all {
        let mut x = [0.0; 32];
        (x[1], x[2]) = (0.5, -0.5);
        let outcome = execute(&elementwise(body), &x, &Schedule::lockstep());
        let slopes = outcome.slopes();
        assert!(slopes[0].uncertainty >= 1.0, "{body}: {:?}", slopes[0]);
        assert!((slopes[1].value, slopes[2].value) == (1.0, 0.0), "{body}: {slopes:?}");
        assert!(slopes[1].uncertainty + slopes[2].uncertainty < 1e-12, "{body}: {slopes:?}");
    }
}

/// Of floats that were rounded to units the one that is taken has the derivative, and of equal ones either.
#[test]
fn the_greater_of_rounded_floats_is_the_one_that_is_taken() {
    // Of its own number and the first thread's, in units.
    let body = "ld.global.f32 %f8, [%d3];\nmul.f32 %f3, %f1, 0f49800000;\nmul.f32 %f4, %f8, 0f49800000;\n\
                cvt.rni.f32.f32 %f5, %f3;\ncvt.rni.f32.f32 %f6, %f4;\nmax.f32 %f7, ORDER;\n\
                cvt.rni.s32.f32 %r2, %f7;\nmul.wide.u32 %d7, %r1, 4;\nadd.s64 %d8, %d4, %d7;\n\
                red.global.add.u32 [%d8], %r2;\nexit;";
    let back = "ld.global.u32 %r2, [%d1];\ncvt.rn.f32.s32 %f3, %r2;\nmul.f32 %f2, %f3, 0f35800000;";
    let mut x = [1.0_f32; 32];
    (x[0], x[3], x[4]) = (1.5, 2.5, 1.5);
    for order in ["%f5, %f6", "%f6, %f5"] {
        let body = body.replace("ORDER", order);
        for (thread, own, first) in [(2, 0.0, 1.0), (3, 1.0, 0.0)] {
            let slopes = slopes_of(&body, back, &x, thread);
            assert!((slopes[0].value - first).abs() < 1e-9, "{order}: {:?} of {thread}", slopes[0]);
            assert!((slopes[thread].value - own).abs() < 1e-9, "{order}: {:?}", slopes[thread]);
            assert!(slopes[0].uncertainty < 1e-9, "{order}: {:?} of {thread}", slopes[0]);
        }
        let tied = slopes_of(&body, back, &x, 4);
        for slope in [tied[0], tied[4]] {
            for right in [0.0, 1.0] {
                assert!((slope.value - right).abs() <= slope.uncertainty, "{order}: {slope:?}");
            }
        }
    }
}

/// The slopes of one thread's result after another launch.
fn slopes_of(body: &str, back: &str, x: &[f32], thread: usize) -> Vec<Derivative> {
    let schedule = Schedule::lockstep();
    let mut outcome = execute_into(&elementwise(body), (x, &[0.0; 64]), &schedule);
    let back = Module::parse(&elementwise(back)).expect("the test's kernel");
    let result = outcome.memory.upload(&[0; 128]);
    launch(&back, &mut outcome.memory, [outcome.output, result], &schedule);
    let mut seed = [0.0; 32];
    seed[thread] = 1.0;
    let gradient =
        outcome.memory.gradient(&[Seed { output: result, gradient: &seed }]).expect("a tape");
    assert_eq!(outcome.memory.losses(), [], "{body}");
    gradient.of(outcome.input).expect("an input")
}
