//! Functions that the compiler makes of a few instructions, of which none needs a marker.

use super::*;
use crate::Loss;

/// The other operands of norms.
const THIRD: f64 = 0.600_000_023_841_857_9;
const FOURTH: f64 = 0.400_000_005_960_464_5;

fn norm(x: f64, others: &[f64]) -> f64 {
    others.iter().fold(x * x, |sum, other| sum + other * other).sqrt()
}

/// The exponent that logb gives.
fn exponent(x: f64) -> f64 {
    x.abs().log2().floor()
}

fn remainder(x: f64) -> f64 {
    own(Library::Remainder, x)
}

/// A step has no slope.
const fn flat(_: f64) -> f64 {
    0.0
}

const fn one(_: f64) -> f64 {
    1.0
}

pub(super) const ALGEBRAIC: [Known; 42] = [
    known("norm3df", [-5.0, 5.0], |x| norm(x, &[SECOND, THIRD]), |x| x / norm(x, &[SECOND, THIRD])),
    known(
        "norm4df",
        [-5.0, 5.0],
        |x| norm(x, &[SECOND, THIRD, FOURTH]),
        |x| x / norm(x, &[SECOND, THIRD, FOURTH]),
    ),
    known(
        "rnorm3df",
        [-5.0, 5.0],
        |x| 1.0 / norm(x, &[SECOND, THIRD]),
        |x| -x / norm(x, &[SECOND, THIRD]).powi(3),
    ),
    known(
        "rnorm4df",
        [-5.0, 5.0],
        |x| 1.0 / norm(x, &[SECOND, THIRD, FOURTH]),
        |x| -x / norm(x, &[SECOND, THIRD, FOURTH]).powi(3),
    ),
    known("fdimf", [-5.0, 5.0], |x| (x - SECOND).max(0.0), |x| f64::from(x > SECOND)),
    known("fdividef", [-5.0, 5.0], |x| x / SECOND, |_| 1.0 / SECOND),
    known("fdividef_second", [0.1, 5.0], |x| SECOND / x, |x| -SECOND / (x * x)),
    known("roundf", [-5.0, 5.0], f64::round, flat),
    known("rintf", [-5.0, 5.0], f64::round_ties_even, flat),
    known("truncf", [-5.0, 5.0], f64::trunc, flat),
    known("nearbyintf", [-5.0, 5.0], f64::round_ties_even, flat),
    known("floorf", [-5.0, 5.0], f64::floor, flat),
    known("ceilf", [-5.0, 5.0], f64::ceil, flat),
    known("fmodf", [-5.0, 5.0], |x| x % SECOND, one),
    known(
        "fmodf_second",
        [0.5, 5.0],
        |x| 9.300_000_190_734_863 % x,
        |x| -(9.300_000_190_734_863 / x).trunc(),
    ),
    known("remainderf", [-5.0, 5.0], remainder, one),
    known("remquof", [-5.0, 5.0], |x| remainder(x) + ((x - remainder(x)) / SECOND).round(), one),
    known(
        "frexpf",
        [0.1, 9.0],
        |x| x / (exponent(x) + 1.0).exp2() + exponent(x) + 1.0,
        |x| (-exponent(x) - 1.0).exp2(),
    ),
    known("ldexpf", [-5.0, 5.0], |x| 8.0 * x, |_| 8.0),
    known("scalbnf", [-5.0, 5.0], |x| 0.125 * x, |_| 0.125),
    known("modff", [-5.0, 5.0], f64::fract, one),
    known("modff_whole", [-5.0, 5.0], f64::trunc, flat),
    known("logbf", [0.1, 9.0], exponent, flat),
    known("sincospif", [-3.0, 3.0], |x| 0.5 * (2.0 * PI * x).sin(), |x| PI * (2.0 * PI * x).cos()),
    known("nextafterf", [-5.0, 5.0], |x| x, one),
    known("copysignf", [-5.0, 5.0], |x| -x.abs(), |x| -x.signum()),
    known("copysignf_second", [-5.0, 5.0], |x| SECOND.copysign(x), flat),
    known("fabsf", [-5.0, 5.0], f64::abs, f64::signum),
    known("fmaxf", [-5.0, 5.0], |x| x.max(SECOND), |x| f64::from(x > SECOND)),
    known("fminf", [-5.0, 5.0], |x| x.min(SECOND), |x| f64::from(x < SECOND)),
    known("__expf", [-20.0, 20.0], f64::exp, f64::exp),
    known("__exp10f", [-8.0, 8.0], |x| 10.0_f64.powf(x), |x| LN_10 * 10.0_f64.powf(x)),
    known("__powf", [0.01, 20.0], |x| x.powf(SECOND), |x| SECOND * x.powf(SECOND - 1.0)),
    known("__powf_second", [-5.0, 5.0], |x| SECOND.powf(x), |x| SECOND.ln() * SECOND.powf(x)),
    known("__sinf", [-3.0, 3.0], f64::sin, f64::cos),
    known("__cosf", [-3.0, 3.0], f64::cos, |x| -x.sin()),
    known("__tanf", [-1.4, 1.4], f64::tan, |x| 1.0 / x.cos().powi(2)),
    known("__logf", [0.01, 50.0], f64::ln, |x| 1.0 / x),
    known("__log2f", [0.01, 50.0], f64::log2, |x| 1.0 / (x * LN_2)),
    known("__log10f", [0.01, 50.0], f64::log10, |x| 1.0 / (x * LN_10)),
    known("__fdividef", [-5.0, 5.0], |x| x / SECOND, |_| 1.0 / SECOND),
    known("__saturatef", [-0.5, 1.5], |x| x.clamp(0.0, 1.0), |x| f64::from(x > 0.0 && x < 1.0)),
];

/// Both as they are and between the markers of others, which leave them as they are.
#[test]
fn functions_of_a_few_instructions_are_right_and_nothing_is_lost() {
    for name in ["bare", "bare_fast", "marked", "marked_fast"] {
        let text = ptx(name);
        for function in ALGEBRAIC.iter().filter(|function| function.name != "nextafterf") {
            for schedule in schedules().into_iter().take(3) {
                let found = compare(function, &text, 4, &schedule);
                let Compared { value, slope, value_c, slope_c, ratio } = found;
                let what = format!("{name} {}", function.name);
                assert!(
                    ratio <= 1.0,
                    "{what}: {ratio} times its uncertainty, {value:e}, {slope:e}"
                );
                // The literal 1.7 is rounded, and so are log2 e and its like. Of a remainder next to 0 that is more of
                // it; of sincospif the slope is one of the polynomials of sinpif and cospif.
                let sharp = match function.name {
                    "fdimf" | "fmodf" | "fmodf_second" | "remainderf" => [2e-4, 1e-14],
                    "sincospif" => [1e-5, 3e-2],
                    _ => [2e-6, 2e-6],
                };
                assert!(
                    value_c < sharp[0] && slope_c < sharp[1],
                    "{what}: uncertain by {value_c:e}, {slope_c:e}"
                );
            }
        }
    }
}

/// nextafterf adds 1 to the bits of a number. No rule follows that, so the machine must say that the number is lost.
#[test]
fn the_next_number_is_lost_aloud() {
    let function = ALGEBRAIC.iter().find(|function| function.name == "nextafterf");
    let function = function.expect("it is one of them");
    for name in ["bare", "bare_fast", "marked", "marked_fast"] {
        let ran =
            outcome(&renamed(&ptx(name), function), &operands(function, 0), &Schedule::lockstep());
        let losses: Vec<_> = ran.memory.losses().iter().map(|lost| lost.loss).collect();
        assert!(!losses.is_empty(), "{name}: the place of the loss is named");
        assert!(losses.iter().all(|loss| *loss == Loss::Bits), "{name}: {losses:?}");
        let seeds = [Seed { output: ran.output, gradient: &[1.0; 32] }];
        let gradient = ran.memory.gradient(&seeds).expect("there is a tape");
        assert!(!gradient.unknown.is_empty() || !gradient.lost.is_empty(), "{name}: {gradient:?}");
        for value in ran.values() {
            assert_eq!(value.uncertainty, f64::INFINITY, "{name}: nobody judges it");
        }
    }
}
