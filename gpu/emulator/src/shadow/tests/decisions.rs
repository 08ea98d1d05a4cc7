//! Decisions that rounding leaves open.

use super::run::{check, elementwise, execute, numbers};
use crate::{Decided, Schedule};

fn decided(body: &str, x: &[f32]) -> (Vec<Decided>, super::run::Outcome) {
    let outcome = execute(&elementwise(body), x, &Schedule::lockstep());
    let all = outcome.memory.decisions().into_iter().map(|(_, decided)| decided).collect();
    (all, outcome)
}

/// A fifth times five against the whole: either side is possible. Against 0.9 it is not.
#[test]
fn a_comparison_is_open_where_intervals_overlap() {
    let body = |limit: &str| {
        format!(
            "div.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\nsetp.lt.f32 %p1, %f4, {limit};\n\
             mov.f32 %f2, %f1;\n@%p1 mul.f32 %f2, %f1, 0f40000000;"
        )
    };
    let x = [1.1_f32; 32];
    let limit = format!("0f{:08X}", 1.1_f32.to_bits());
    // In f64 5 (1.1/5) is 1.1, or half a unit beside it.
    let (all, open) = decided(&body(&limit), &x);
    assert_eq!(all[0].all, 32, "{all:?}");
    assert_eq!(all[0].open + all[0].ties, 32, "{all:?}");
    let beside = format!("0f{:08X}", 1.1_f32.to_bits() + 1);
    let (all, open_beside) = decided(&body(&beside), &x);
    assert_eq!(all, [Decided { all: 32, open: 32, ties: 0 }], "one unit in the last place away");
    let far = format!("0f{:08X}", 0.9_f32.to_bits());
    let (all, closed) = decided(&body(&far), &x);
    assert_eq!(all, [Decided { all: 32, open: 0, ties: 0 }], "far away");
    assert!(closed.values()[0].uncertainty < 1e-15, "decided");
    assert!(
        open_beside.values()[0].uncertainty >= 1.1,
        "what an open lane stores is uncertain as a whole"
    );
    assert!(open_beside.slopes()[0].uncertainty >= 1.0, "and its derivative");
    assert!(closed.slopes()[0].uncertainty < 1e-15, "decided");
    let _ = open;
}

/// Exact numbers decide for sure, be they equal or not.
#[test]
fn exact_comparisons_are_never_open() {
    let body =
        "setp.lt.f32 %p1, %f1, 0f3F800000;\nadd.f32 %f2, %f1, 0f3F000000;\n@%p1 mov.f32 %f2, %f1;";
    let mut x = [0.5_f32; 32];
    x[0] = 1.0;
    let (all, outcome) = decided(body, &x);
    assert_eq!(all, [Decided { all: 32, open: 0, ties: 1 }], "one is equal");
    assert!(outcome.slopes().iter().all(|slope| slope.uncertainty < 1e-15), "sure");
}

/// `ReLU` of exact zeros ties, as does |0|: the value is sure, and either derivative is right.
#[test]
fn at_a_kink_either_derivative_is_right() {
    let (all, outcome) = decided("max.f32 %f2, %f1, 0f00000000;", &[0.0; 32]);
    assert_eq!(all, [Decided { all: 32, open: 0, ties: 32 }], "all are equal");
    let slopes = outcome.slopes();
    assert!(slopes.iter().all(|slope| slope.uncertainty >= 1.0), "{slopes:?}");
    assert!(outcome.values().iter().all(|value| value.uncertainty == 0.0), "the value is sure");
    let (_, absolute) = decided("abs.f32 %f2, %f1;", &[0.0; 32]);
    assert!(absolute.slopes().iter().all(|slope| slope.uncertainty >= 2.0), "from -1 to 1");
    let (all, same) = decided("max.f32 %f2, %f1, %f1;", &[0.5; 32]);
    assert_eq!(all, [Decided { all: 32, open: 0, ties: 32 }], "a number beside itself");
    assert!(same.slopes().iter().all(|slope| slope.uncertainty < 1e-15), "has one derivative");
}

/// The lesser of two that rounding cannot tell apart: the value is sure, the derivative may be either's.
#[test]
fn an_open_choice_doubts_the_derivative_and_not_the_value() {
    let body = "div.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\nadd.f32 %f5, %f1, 0f33800000;\n\
                min.f32 %f2, %f4, %f5;";
    let (all, outcome) = decided(body, &[1.1_f32; 32]);
    assert_eq!(all.last(), Some(&Decided { all: 32, open: 32, ties: 0 }), "{all:?}");
    assert!(outcome.values()[0].uncertainty < 1e-14, "{:?}", outcome.values()[0]);
    assert!(outcome.slopes()[0].uncertainty >= 1.0, "{:?}", outcome.slopes()[0]);
}

/// The logarithm of a sum of powers, less their largest: which of both that is does not matter.
#[test]
fn an_open_choice_that_cancels_doubts_nothing() {
    let body = "div.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\nadd.f32 %f5, %f1, 0f33800000;\n\
                max.f32 %f6, %f4, %f5;\nsub.f32 %f7, %f4, %f6;\nsub.f32 %f8, %f5, %f6;\n\
                ex2.approx.f32 %f7, %f7;\nex2.approx.f32 %f8, %f8;\nadd.f32 %f7, %f7, %f8;\n\
                lg2.approx.f32 %f7, %f7;\nadd.f32 %f2, %f6, %f7;";
    let (all, outcome) = decided(body, &[1.1_f32; 32]);
    assert_eq!(all.last(), Some(&Decided { all: 32, open: 32, ties: 0 }), "{all:?}");
    let slope = outcome.slopes()[0];
    assert!((slope.value - 1.0).abs() <= slope.uncertainty, "{slope:?}");
    assert!(slope.uncertainty < 1e-13, "{slope:?}");
}

/// Between the choice and the store there is only a copy: the derivative is doubted all the same.
#[test]
fn an_open_choice_that_is_only_copied_doubts_the_derivative() {
    let beside = 1.1_f32.to_bits() + 1;
    // The last of four numbers too, behind an address in a word.
    let four = "mov.u32 %r5, shared;\nshl.b32 %r6, %r1, 4;\nadd.s32 %r5, %r5, %r6;\n\
                st.shared.v4.f32 [%r5], {%f3, %f3, %f3, %f2};\nld.shared.f32 %f2, [%r5+12];\n";
    for leaves in ["", "shfl.sync.idx.b32 %f2, %f2, 3, 31, -1;\n", four] {
        let body = format!(
            "div.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\nsetp.lt.f32 %p1, %f4, 0f{beside:08X};\n\
             selp.f32 %f2, %f1, 0f00000000, %p1;\n{leaves}"
        );
        let (all, outcome) = decided(&body, &[1.1_f32; 32]);
        assert_eq!(all[0].open, 32, "{all:?}");
        let slope = outcome.slopes()[3];
        assert!(
            slope.uncertainty >= slope.value.abs() && slope.value != 0.0,
            "{leaves}: {slope:?}"
        );
    }
}

#[test]
fn a_choice_has_the_derivative_of_what_it_takes() {
    let clamp = "min.f32 %f3, %f1, 0f40000000;\nmax.f32 %f2, %f3, 0fBF800000;";
    let inside = |x: f64| if (-1.0..2.0).contains(&x) { 1.0 } else { 0.0 };
    check(clamp, &numbers(), |x| x.clamp(-1.0, 2.0), inside, 1e-15);
    let nan = "max.f32 %f2, %f1, 0f7FC00000;";
    check(nan, &numbers(), |x| x, |_| 1.0, 1e-15);
}

/// A floor near a whole number leaves open which cell it is; a rounding to the nearest one reduces a
/// range, and marks nothing.
#[test]
fn floors_are_decisions() {
    let scaled = "div.rn.f32 %f3, %f1, 0f40A00000;\nmul.f32 %f4, %f3, 0f40A00000;\n";
    let below = 3.0_f32.next_down();
    let floor = format!("{scaled}cvt.rmi.f32.f32 %f5, %f4;\nsub.f32 %f2, %f1, %f5;");
    let (all, outcome) = decided(&floor, &[below; 32]);
    assert_eq!(all, [Decided { all: 32, open: 32, ties: 0 }], "near a whole number");
    assert!(outcome.slopes()[0].uncertainty >= 1.0, "{:?}", outcome.slopes()[0]);
    let nearest = format!(
        "{scaled}cvt.rni.s32.f32 %r2, %f4;\ncvt.rn.f32.s32 %f5, %r2;\nsub.f32 %f2, %f1, %f5;"
    );
    let (all, outcome) = decided(&nearest, &[below; 32]);
    assert_eq!(all, [Decided { all: 32, open: 0, ties: 0 }], "near no half");
    assert!(outcome.slopes()[0].uncertainty < 1e-14, "{:?}", outcome.slopes()[0]);
    let (all, outcome) = decided(&nearest, &[2.5_f32.next_down(); 32]);
    assert_eq!(all[0].open, 32, "near a half");
    assert!(
        outcome.slopes()[0].uncertainty < 1e-14,
        "it reduces a range: {:?}",
        outcome.slopes()[0]
    );
}
