//! Signs and exponents that integer code takes from floats: decisions, however they are taken.

use super::run::{Outcome, check, elementwise, execute, numbers, reversed_ties};
use crate::{Decided, Schedule};

fn decided(outcome: &Outcome) -> Decided {
    let mut sum = Decided::default();
    for (_, decided) in outcome.memory.decisions() {
        sum.open += decided.open;
        sum.ties += decided.ties;
    }
    sum
}

/// `%f4 < 0 ? 5 : %f3`, where `taken` leaves a predicate `%p1` that holds for a number that is not below 0.
fn chosen(taken: &str) -> String {
    format!("{taken}\nmov.f32 %f9, 0f40A00000;\nselp.f32 %f2, %f3, %f9, %p1;")
}

/// Ways to take the sign of `%f4` with integers alone.
fn signs() -> Vec<String> {
    let word = |rest: &str| chosen(&format!("mov.b32 %r2, %f4;\n{rest}"));
    let half = |rest: &str| chosen(&format!("cvt.rn.f16.f32 %h1, %f4;\n{rest}"));
    // The number is the lower half, and the upper one is 1.
    let low = |rest: &str| {
        let pair = "mov.f32 %f8, 0f3F800000;\ncvt.rn.f16x2.f32 %r2, %f8, %f4;";
        chosen(&format!("{pair}\n{rest}"))
    };
    let high = |rest: &str| {
        let pair = "mov.f32 %f8, 0f3F800000;\ncvt.rn.bf16x2.f32 %r2, %f4, %f8;";
        chosen(&format!("{pair}\n{rest}"))
    };
    let wide = |rest: &str| chosen(&format!("cvt.f64.f32 %g1, %f4;\nmov.b64 %d5, %g1;\n{rest}"));
    let zero = "setp.eq.u32 %p1, %r3, 0;";
    let narrow_zero = "setp.eq.u16 %p1, %h2, 0;";
    let wide_zero = "setp.eq.u64 %p1, %d6, 0;";
    vec![
        word(&format!("bfe.u32 %r3, %r2, 31, 1;\n{zero}")),
        word(&format!("bfe.s32 %r3, %r2, 31, 1;\n{zero}")),
        word(&format!("bfe.u32 %r3, %r2, 31, 9;\n{zero}")),
        word(&format!("and.b32 %r3, %r2, -2147483648;\n{zero}")),
        word(&format!("shr.u32 %r3, %r2, 31;\n{zero}")),
        // With the exponent.
        word("shr.s32 %r3, %r2, 24;\nsetp.ge.s32 %p1, %r3, 0;"),
        word("and.b32 %r3, %r2, -8388608;\nsetp.ge.s32 %p1, %r3, 0;"),
        word("bfe.s32 %r3, %r2, 23, 9;\nsetp.gt.s32 %p1, %r3, -1;"),
        word("shr.u32 %r3, %r2, 23;\nsetp.lt.u32 %p1, %r3, 256;"),
        half(&format!("and.b16 %h2, %h1, 32768;\n{narrow_zero}")),
        half(&format!("and.b16 %h2, %h1, -32768;\n{narrow_zero}")),
        half(&format!("shr.u16 %h2, %h1, 15;\n{narrow_zero}")),
        half(&format!("shr.s16 %h2, %h1, 15;\n{narrow_zero}")),
        half(&format!("cvt.u32.u16 %r2, %h1;\nand.b32 %r3, %r2, 32768;\n{zero}")),
        half(&format!("cvt.u32.u16 %r2, %h1;\nbfe.u32 %r3, %r2, 15, 1;\n{zero}")),
        half(&format!("cvt.u32.u16 %r2, %h1;\nshr.u32 %r3, %r2, 15;\n{zero}")),
        low(&format!("and.b32 %r3, %r2, 32768;\n{zero}")),
        low(&format!("and.b32 %r3, %r2, -2147450880;\n{zero}")),
        low(&format!("bfe.u32 %r3, %r2, 15, 1;\n{zero}")),
        low(&format!("mov.b32 %r4, 0;\nprmt.b32 %r3, %r2, %r4, 39321;\n{zero}")),
        high(&format!("and.b32 %r3, %r2, -2147450880;\n{zero}")),
        high(&format!("and.b32 %r3, %r2, -2147483648;\n{zero}")),
        high(&format!("bfe.u32 %r3, %r2, 31, 1;\n{zero}")),
        high(&format!("shr.u32 %r3, %r2, 31;\n{zero}")),
        high(&format!("lop3.b32 %r3, %r2, -2147450880, 0, 192;\n{zero}")),
        wide(&format!("shr.u64 %d6, %d5, 63;\n{wide_zero}")),
        wide(&format!("shr.s64 %d6, %d5, 63;\n{wide_zero}")),
        wide(&format!("and.b64 %d6, %d5, -9223372036854775808;\n{wide_zero}")),
        wide(&format!("bfe.u64 %d6, %d5, 63, 1;\n{wide_zero}")),
        wide(&format!("bfe.s64 %d6, %d5, 63, 1;\n{wide_zero}")),
        wide(&format!("mov.b64 {{%r4, %r2}}, %d5;\nbfe.u32 %r3, %r2, 31, 1;\n{zero}")),
    ]
}

/// 1.1 0.1 10 less 1.1 is nothing but a rounding.
const NEAR: &str = "mul.f32 %f4, %f1, 0f3DCCCCCD;\nfma.rn.f32 %f4, %f4, 0fC1200000, %f1;\nmul.f32 %f3, %f1, 0f40400000;";

const OWN: &str = "mov.f32 %f4, %f1;\nmul.f32 %f3, %f1, 0f40400000;";

#[test]
fn a_sign_is_a_decision_however_it_is_taken() {
    let mut x = [0.5_f32; 32];
    x[7] = 0.0;
    x[8] = -0.5;
    for sign in signs() {
        let body = format!("{OWN}\n{sign}");
        let plain = execute(&elementwise(&body), &x, &Schedule::lockstep());
        assert_eq!(plain.memory.losses(), [], "{body}");
        let all = decided(&plain);
        assert_eq!((all.open, all.ties), (0, 1), "{body}: a tie alone");
        assert_eq!(plain.memory.ties().count(), 1, "{body}: it is kept");
        let turned = reversed_ties(&body, &x);
        assert_eq!(turned.memory.losses(), [], "{body}, reversed");
        let [before, after] = [&plain, &turned].map(|outcome| {
            let values = outcome.values();
            [6, 7, 8].map(|lane: usize| values[lane].value)
        });
        assert_eq!(before, [1.5, 0.0, 5.0], "{body}");
        assert_eq!(after, [1.5, 5.0, 5.0], "{body}: reversed at 0 alone");
        let near = format!("{NEAR}\n{sign}");
        let open = execute(&elementwise(&near), &[1.1; 32], &Schedule::lockstep());
        assert!(decided(&open).open >= 32, "{near}: {:?}", decided(&open));
        let value = open.values()[6];
        assert!(value.uncertainty >= value.value.abs(), "{near}: {value:?}");
    }
}

/// `|x| < 1 ? 5 : 3 x` and the like by exponents alone.
fn exponents() -> Vec<String> {
    let word = |rest: &str| chosen(&format!("mov.b32 %r2, %f4;\n{rest}"));
    vec![
        word("and.b32 %r3, %r2, 2139095040;\nsetp.ge.u32 %p1, %r3, 1065353216;"),
        word("and.b32 %r3, %r2, 2139095040;\nsetp.eq.u32 %p1, %r3, 1065353216;"),
        word("shr.u32 %r3, %r2, 23;\nand.b32 %r4, %r3, 255;\nsetp.gt.u32 %p1, %r4, 126;"),
        word("bfe.u32 %r3, %r2, 23, 8;\nadd.s32 %r4, %r3, -127;\nsetp.ge.s32 %p1, %r4, 0;"),
        word("bfe.u32 %r3, %r2, 23, 8;\nsub.s32 %r4, 127, %r3;\nsetp.le.s32 %p1, %r4, 0;"),
        word(
            "shl.b32 %r3, %r2, 1;\nshr.u32 %r4, %r3, 24;\nsetp.lt.u32 %p2, %r4, 127;\nnot.pred %p1, %p2;",
        ),
        word("and.b32 %r3, %r2, 2147483647;\nshr.u32 %r4, %r3, 23;\nsetp.ne.u32 %p1, %r4, 126;"),
    ]
}

#[test]
fn an_exponent_that_decides_is_a_decision() {
    let mut x = [1.5_f32; 32];
    x[7] = 1.0;
    x[8] = 0.75;
    for exponent in exponents() {
        let body = format!("{OWN}\n{exponent}");
        let plain = execute(&elementwise(&body), &x, &Schedule::lockstep());
        assert_eq!(plain.memory.losses(), [], "{body}");
        let all = decided(&plain);
        assert_eq!((all.open, all.ties), (0, 1), "{body}: a tie alone");
        let turned = reversed_ties(&body, &x);
        let [before, after] = [&plain, &turned].map(|outcome| {
            let values = outcome.values();
            [6, 7, 8].map(|lane: usize| values[lane].value)
        });
        assert_eq!(before, [4.5, 3.0, 5.0], "{body}");
        assert_eq!(after, [4.5, 5.0, 5.0], "{body}: reversed at 1 alone");
        // An eleventh times eleven, beside 1 and beside 2.
        let eleventh = "div.rn.f32 %f4, %f1, 0f41300000;\nmul.f32 %f4, %f4, 0f41300000;\nmul.f32 %f3, %f1, 0f40400000;";
        let near = format!("{eleventh}\n{exponent}");
        // One asks for the exponent of 1 alone, which that of 2 is not.
        let at_two = if exponent.contains("setp.eq") { 32 } else { 0 };
        for (x, open) in [(1.0_f32.next_down(), 32), (1.5, 0), (2.0_f32.next_down(), at_two)] {
            let outcome = execute(&elementwise(&near), &[x; 32], &Schedule::lockstep());
            assert_eq!(
                decided(&outcome).open,
                open,
                "{near} at {x}: {:?} {:?}",
                outcome.memory.decisions(),
                outcome.values()[6]
            );
            let value = outcome.values()[6];
            let is_doubted = value.uncertainty >= value.value.abs();
            assert_eq!(is_doubted, open > 0, "{near} at {x}: {value:?}");
        }
        let outcome =
            execute(&elementwise(&near), &[0.5_f32.next_down(); 32], &Schedule::lockstep());
        // Below or above a half, it is below 1 all the same; one of these asks for just that exponent.
        let expected = if exponent.contains("setp.ne") { 32 } else { 0 };
        assert_eq!(decided(&outcome).open, expected, "{near} near 0.5");
    }
}

/// What reduces a range, is hashed, packed or counted, decides nothing.
#[test]
fn ordinary_code_on_bits_is_not_open() {
    let fifth =
        "div.rn.f32 %f4, %f1, 0f40A00000;\nmul.f32 %f4, %f4, 0f40A00000;\nmov.b32 %r2, %f4;";
    let all = [
        // The exponent taken away, put back, and used as a number.
        "and.b32 %r3, %r2, 2139095040;\nsub.s32 %r4, %r2, %r3;\nadd.s32 %r5, %r4, %r3;\nmov.b32 %f2, %r5;",
        "bfe.u32 %r3, %r2, 23, 8;\nshl.b32 %r4, %r3, 23;\nmov.b32 %f5, %r4;\nmul.f32 %f2, %f5, %f4;",
        "shr.u32 %r3, %r2, 23;\nsub.s32 %r3, %r3, 127;\ncvt.rn.f32.s32 %f5, %r3;\nadd.f32 %f2, %f5, %f4;",
        // Is it a number?
        "and.b32 %r3, %r2, 2139095040;\nsetp.eq.u32 %p1, %r3, 2139095040;\nmov.f32 %f2, %f4;\n@%p1 mov.f32 %f2, %f1;",
        "bfe.u32 %r3, %r2, 23, 8;\nsetp.gt.u32 %p1, %r3, 254;\nmov.f32 %f2, %f4;\n@%p1 mov.f32 %f2, %f1;",
        // Is it subnormal or 0?
        "and.b32 %r3, %r2, 2139095040;\nsetp.eq.u32 %p1, %r3, 0;\nmov.f32 %f2, %f4;\n@%p1 mov.f32 %f2, %f1;",
        // Which of 32 values of a table, by the lane and the exponent.
        "bfe.u32 %r3, %r2, 23, 8;\nxor.b32 %r4, %r3, %r1;\nand.b32 %r5, %r4, 31;\nmad.wide.u32 %d5, %r5, 4, %d3;\n\
         ld.global.f32 %f2, [%d5];",
        // Bits of it alone.
        "bfe.u32 %r3, %r2, 0, 16;\nbfe.u32 %r4, %r2, 31, 0;\nadd.u32 %r4, %r4, %r1;\nmov.f32 %f2, %f4;",
    ];
    for body in all {
        let body = format!("{fifth}\n{body}");
        for x in [1.0_f32.next_down(), 1.0, 1.0_f32.next_up(), 2.0_f32.next_up(), 1.5] {
            let outcome = execute(&elementwise(&body), &[x; 32], &Schedule::lockstep());
            assert_eq!(outcome.memory.losses(), [], "{body}");
            assert_eq!(decided(&outcome).open, 0, "{body} at {x}");
            let value = outcome.values()[6];
            assert!(value.uncertainty < 1e-12, "{body} at {x}: {value:?}");
        }
    }
}

/// Signs that are turned and copied in numbers of 16 bits, alone and in pairs.
#[test]
fn signs_are_put_on_halves() {
    let pair = "cvt.rn.f16x2.f32 %r2, %f1, %f1;\n";
    let back = "\nmov.b32 {%h3, %h4}, %r5;\ncvt.f32.f16 %f2, %h4;";
    let negated = format!("{pair}xor.b32 %r5, %r2, -2147450880;{back}");
    check(&negated, &numbers(), |x| -x, |_| -1.0, 1e-14);
    let of_low = format!("{pair}xor.b32 %r5, %r2, 32768;{back}");
    check(&of_low, &numbers(), |x| x, |_| 1.0, 1e-14);
    let copied = format!(
        "{pair}and.b32 %r3, %r2, 2147450879;\nand.b32 %r4, %r2, -2147450880;\nor.b32 %r5, %r3, %r4;{back}"
    );
    check(&copied, &numbers(), |x| x, |_| 1.0, 1e-14);
    let opposite =
        format!("{pair}and.b32 %r3, %r2, 2147450879;\nor.b32 %r5, %r3, -2147450880;{back}");
    check(&opposite, &numbers(), |x| -x.abs(), |x| -x.signum(), 1e-14);
    let single = "cvt.rn.f16.f32 %h1, %f1;\nxor.b16 %h2, %h1, 32768;\ncvt.f32.f16 %f2, %h2;";
    check(single, &numbers(), |x| -x, |_| -1.0, 1e-14);
}

/// The signs of both halves at once: where each is 0, each is turned for itself.
#[test]
fn signs_of_both_halves_are_turned_together() {
    let body = "add.f32 %f3, %f1, %f1;\ncvt.rn.f16x2.f32 %r2, %f3, %f1;\nand.b32 %r3, %r2, -2147450880;\n\
                cvt.rn.f32.u32 %f4, %r3;\nfma.rn.f32 %f2, %f1, 0f40000000, %f4;";
    let mut x = [0.5_f32; 32];
    x[7] = 0.0;
    let plain = execute(&elementwise(body), &x, &Schedule::lockstep());
    let turned = reversed_ties(body, &x);
    let at = |outcome: &Outcome, lane: usize| outcome.values()[lane].value;
    assert_eq!([at(&plain, 6), at(&plain, 7)], [1.0, 0.0], "as they are");
    let both = 2_147_516_416.0;
    let off = (at(&turned, 7) - both).abs();
    assert!(at(&turned, 6) == 1.0 && off < 129.0, "both signs: {}", at(&turned, 7));
}
