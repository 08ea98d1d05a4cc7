//! Comparisons of integers that are the bits of floats.

use super::run::{Outcome, elementwise, execute, reversed_ties};
use crate::{Loss, Schedule};

/// The input, of which two roundings may have left another.
const NEAR: &str = "add.f32 %f3, %f1, 0f41800000;\nadd.f32 %f4, %f3, 0fC1800000;\n";

fn run(body: &str, x: f32) -> Outcome {
    execute(&elementwise(body), &[x; 32], &Schedule::lockstep())
}

fn open(outcome: &Outcome) -> u64 {
    outcome.memory.decisions().iter().map(|(_, decided)| decided.open).sum()
}

/// `x > limit` by the bits of both, in every way that compares them.
fn comparisons(limit: f32) -> Vec<String> {
    let bits = limit.to_bits();
    let key = if limit < 0.0 { !bits } else { bits | 1 << 31 };
    let choose = "selp.f32 %f2, %f1, 0f00000000, %p1;";
    let sortable = "mov.b32 %r2, %f4;\nshr.s32 %r3, %r2, 31;\nor.b32 %r3, %r3, -2147483648;\nxor.b32 %r4, %r2, %r3;\n";
    let wide = "cvt.f64.f32 %g1, %f4;\nmov.b64 %d5, %g1;\n";
    let double = f64::from(limit).to_bits();
    vec![
        format!("{NEAR}mov.b32 %r2, %f4;\nsetp.gt.s32 %p1, %r2, {};\n{choose}", bits.cast_signed()),
        format!("{NEAR}mov.b32 %r2, %f4;\nsetp.ge.u32 %p1, %r2, {bits};\n{choose}"),
        format!("{NEAR}{sortable}setp.gt.u32 %p1, %r4, {key};\n{choose}"),
        format!("{NEAR}{sortable}not.b32 %r5, %r4;\nsetp.lt.u32 %p1, %r5, {};\n{choose}", !key),
        format!("{NEAR}{wide}setp.gt.s64 %p1, %d5, {};\n{choose}", double.cast_signed()),
    ]
}

#[test]
fn bits_compare_as_their_floats_do() {
    for limit in [1.1_f32, -1.1] {
        for body in comparisons(limit) {
            let beside = limit + 2.0_f32.powi(-20);
            let near = run(&body, beside);
            assert_eq!(open(&near), 32, "{body} at {beside}");
            assert!(
                near.values()[0].uncertainty >= 1.09 || near.values()[0].value == 0.0,
                "{body}"
            );
            for far in [2.0, 0.9, -0.9, -2.0, 1e-3, -1e-3] {
                let sure = run(&body, far);
                assert_eq!(open(&sure), 0, "{body} at {far}");
                assert_eq!(sure.memory.losses(), [], "{body} at {far}");
            }
        }
    }
}

/// Where a sign is asked for, a number that may be on either side of 0 decides it.
#[test]
fn a_sign_is_a_decision_near_zero() {
    let small =
        "mul.f32 %f4, %f1, 0f3DCCCCCD;\nfma.rn.f32 %f4, %f4, 0fC1200000, %f1;\nmov.b32 %r2, %f4;\n";
    let choose = "selp.f32 %f2, %f1, 0f00000000, %p1;";
    let asks = [
        "setp.lt.s32 %p1, %r2, 0;",
        "setp.gt.s32 %p1, %r2, 0;",
        "setp.gt.u32 %p1, %r2, -2147483648;",
        "shr.u32 %r3, %r2, 31;\nsetp.ne.u32 %p1, %r3, 0;",
        "and.b32 %r3, %r2, -2147483648;\nsetp.eq.u32 %p1, %r3, 0;",
        "lop3.b32 %r3, %r2, -2147483648, 0, 192;\nsetp.eq.u32 %p1, %r3, 0;",
        "prmt.b32 %r3, %r2, 0, 48059;\nsetp.eq.u32 %p1, %r3, 0;",
    ];
    for ask in asks {
        let near = run(&format!("{small}{ask}\n{choose}"), 1.1);
        assert!(open(&near) >= 32, "{ask}");
        let far = run(&format!("mov.b32 %r2, %f1;\n{ask}\n{choose}"), 1.1);
        assert_eq!(open(&far), 0, "{ask}");
        assert_eq!(far.memory.losses(), [], "{ask}");
    }
}

/// `|x|` and `max(x, 0)` by the sign of the bits: at 0 either derivative is right.
#[test]
fn ties_of_bits_are_reversed() {
    let relu = |ask: &str| format!("mov.b32 %r2, %f1;\n{ask}\nselp.f32 %f2, %f1, 0f00000000, %p1;");
    let all = [
        relu("setp.gt.s32 %p1, %r2, 0;"),
        relu("setp.ge.s32 %p1, %r2, 0;"),
        relu("shr.u32 %r3, %r2, 31;\nsetp.eq.u32 %p1, %r3, 0;"),
        relu("and.b32 %r3, %r2, -2147483648;\nsetp.eq.u32 %p1, %r3, 0;"),
        "mov.b32 %r2, %f1;\nshr.s32 %r3, %r2, 31;\nnot.b32 %r3, %r3;\nand.b32 %r4, %r2, %r3;\nmov.b32 %f2, %r4;"
            .to_owned(),
    ];
    let mut x = [0.5_f32; 32];
    x[7] = 0.0;
    for body in all {
        let plain = execute(&elementwise(&body), &x, &Schedule::lockstep());
        assert_eq!(plain.memory.ties().count(), 1, "{body}: a tie");
        let turned = reversed_ties(&body, &x);
        let slopes = [&plain, &turned].map(|outcome| outcome.slopes()[7].value);
        assert_eq!((slopes[0] - slopes[1]).abs(), 1.0, "{body}: {slopes:?}");
        assert_eq!(plain.slopes()[6].value, turned.slopes()[6].value, "{body}: no tie");
        assert_eq!(turned.memory.losses(), [], "{body}");
    }
}

/// What no rule follows is uncertain, and said; but not of a float that nothing has rounded, and that is not 0.
#[test]
fn what_scrambled_bits_decide_is_reported() {
    let body = |of: &str| {
        format!(
            "{NEAR}mov.b32 %r2, {of};\nmad.lo.u32 %r3, %r2, 1664525, 77;\nsetp.lt.u32 %p1, %r3, 12345;\n\
             selp.f32 %f2, 0f00000000, %f1, %p1;"
        )
    };
    let sure = run(&body("%f1"), 1.1);
    assert_eq!((open(&sure), sure.memory.losses()), (0, vec![]), "its bits are what they are");
    assert_eq!(open(&run(&body("%f1"), 0.0)), 32, "perhaps a kink");
    let outcome = run(&body("%f4"), 1.1);
    assert_eq!(open(&outcome), 32);
    assert!(outcome.memory.losses().iter().all(|lost| lost.loss == Loss::Decision));
    assert_eq!(outcome.memory.losses().len(), 1, "it is said");
    assert!(outcome.slopes()[0].uncertainty >= 1.0, "{:?}", outcome.slopes()[0]);
}

/// A loop of compare-and-exchange asks whether it succeeded, and decides nothing.
#[test]
fn an_exchange_that_succeeds_is_no_decision() {
    let body = "ld.global.b32 %r2, [%d4+4];\n$again:\nmov.b32 %f3, %r2;\nadd.f32 %f4, %f3, %f1;\nmov.b32 %r3, %f4;\n\
                atom.global.cas.b32 %r4, [%d4+4], %r2, %r3;\nsetp.ne.s32 %p1, %r4, %r2;\nmov.b32 %r2, %r4;\n\
                @%p1 bra $again;\nmov.f32 %f2, %f1;\nsetp.eq.u32 %p2, %r1, 1;\n@%p2 exit;";
    for schedule in super::run::schedules() {
        let outcome = execute(&elementwise(body), &[1e-8; 32], &schedule);
        assert_eq!(open(&outcome), 0, "{:?}", schedule.policy);
        assert_eq!(outcome.memory.ties().count(), 0, "{:?}", schedule.policy);
        assert_eq!(outcome.memory.losses(), [], "{:?}", schedule.policy);
    }
}

/// Whole numbers that are cells were decided where they were rounded; sums in fixed point are numbers.
#[test]
fn numbers_of_units_are_compared() {
    let cell = "mul.f32 %f3, %f1, 0f43960000;\ncvt.rmi.s32.f32 %r2, %f3;\nsetp.lt.s32 %p1, %r2, 330;\n\
                selp.f32 %f2, %f1, 0f00000000, %p1;";
    assert_eq!(open(&run(cell, 1.0983)), 0, "a cell");
    let units = "mul.f32 %f3, %f1, 0f49800000;\ncvt.rni.s32.f32 %r2, %f3;\nsetp.lt.s32 %p1, %r2, LIMIT;\n\
                 selp.f32 %f2, %f1, 0f00000000, %p1;";
    let limit = |limit: i32| units.replace("LIMIT", &limit.to_string());
    // 1.1 times 2^20, to nearest.
    let rounded = 1_153_434;
    assert_eq!(open(&run(&limit(rounded), 1.1)), 32, "a unit away");
    assert_eq!(open(&run(&limit(rounded + 100), 1.1)), 0, "far away");
}
