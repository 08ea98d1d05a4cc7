//! f64: functions between their markers, and sums that are rounded towards one side.

use super::run::{check, numbers, positive};

const SHARP: f64 = 1e-13;

/// A call of a function of f64 by its number, whose body gives something else, of operands up to 1.
fn call(number: u32, scale: f64) -> String {
    format!(
        "cvt.f64.f32 %g1, %f1;\nmul.f64 %g1, %g1, 0d{:016X};\n\
         max.f64 %g2, %g1, 0d7FF800007FC100{number:02X};\nmul.f64 %g3, %g2, 0d3FE3333333333333;\n\
         max.f64 %g4, %g3, 0d7FF800007FC200{number:02X};\ncvt.rn.f32.f64 %f2, %g4;",
        scale.to_bits()
    )
}

/// The same of two operands, of which the second is 1.75 and half the first.
fn call_of_two(number: u32) -> String {
    format!(
        "cvt.f64.f32 %g1, %f1;\nfma.rn.f64 %g5, %g1, 0d3FE0000000000000, 0d3FFC000000000000;\n\
         max.f64 %g2, %g1, 0d7FF800007FC100{number:02X};\n\
         max.f64 %g6, %g5, 0d7FF800007FC101{number:02X};\n\
         mul.f64 %g3, %g2, %g6;\n\
         max.f64 %g4, %g3, 0d7FF800007FC200{number:02X};\ncvt.rn.f32.f64 %f2, %g4;"
    )
}

#[test]
fn functions_are_exact_between_their_markers() {
    check(&call(17, 1.0), &numbers(), f64::asinh, |x| 1.0 / x.hypot(1.0), SHARP);
    let beyond_one: Vec<f32> = positive().iter().map(|x| 1.5 + x.abs()).collect();
    let slope = |x: f64| 1.0 / (x * x - 1.0).sqrt();
    check(&call(18, 1.0), &beyond_one, f64::acosh, slope, SHARP);
    let below_one: Vec<f32> = numbers().iter().map(|x| x.clamp(-0.9, 0.9)).collect();
    check(&call(19, 1.0), &below_one, f64::atanh, |x| 1.0 / (1.0 - x * x), SHARP);
    let power = |x: f64| x.powf(1.75 + 0.5 * x);
    let slope = |x: f64| x.powf(1.75 + 0.5 * x) * (0.5 * x.ln() + (1.75 + 0.5 * x) / x);
    let few: Vec<f32> = positive().iter().map(|x| x.clamp(0.1, 9.0)).collect();
    check(&call_of_two(29), &few, power, slope, SHARP);
}

#[test]
fn remainders_have_the_slope_of_their_whole_number() {
    // Of a and 1.75 + a/2: the whole numbers are -1 to 2.
    let x: Vec<f32> =
        (0..32).map(|lane| -1.0 + 0.37 * f32::from(u8::try_from(lane).expect("small"))).collect();
    let second = |x: f64| 1.75 + 0.5 * x;
    check(
        &call_of_two(33),
        &x,
        move |x| x % (1.75 + 0.5 * x),
        move |x| 1.0 - 0.5 * (x / (1.75 + 0.5 * x)).trunc(),
        SHARP,
    );
    assert!(x.iter().any(|&x| f64::from(x) / second(x.into()) > 1.0), "more than once");
    check(
        &call_of_two(34),
        &x,
        |x| x - (x / (1.75 + 0.5 * x)).round_ties_even() * (1.75 + 0.5 * x),
        |x| 1.0 - 0.5 * (x / (1.75 + 0.5 * x)).round_ties_even(),
        SHARP,
    );
}

#[test]
fn sums_that_are_rounded_towards_one_side_are_within_a_unit() {
    for rounding in ["rz", "rm", "rp"] {
        let body = format!(
            "cvt.f64.f32 %g1, %f1;\nmul.{rounding}.f64 %g2, %g1, 0d3FD5555555555555;\n\
             add.{rounding}.f64 %g3, %g2, %g1;\nfma.{rounding}.f64 %g4, %g3, %g3, %g1;\n\
             cvt.rn.f32.f64 %f2, %g4;"
        );
        let f = |x: f64| (x + x / 3.0).powi(2) + x;
        let slope = |x: f64| 2.0 * (x + x / 3.0) * (1.0 + 1.0 / 3.0) + 1.0;
        check(&body, &numbers(), f, slope, 1e-11);
    }
}
