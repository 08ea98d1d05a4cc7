//! sin.approx and cos.approx.
//!
//! Bounds: PTX ISA 8.4, "sin" and "cos": the error is at most 2^-20.5 for operands in -2 pi..2 pi and
//! 2^-14.7 in -100 pi..100 pi. Beyond these it is not given: perturbed results then differ by the
//! latter at most, and a program that uses them relies on nothing.

use super::super::ir::Wave;
use super::super::mix::mix;
use super::approximate::{ApproximationMode, choose};

/// The function's value as `mode` rounds; zeros and what is infinite or not a number are special.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
pub(in super::super) fn wave(op: Wave, a: f32, mode: ApproximationMode) -> f32 {
    if a == 0.0 {
        return match op {
            Wave::Sin => a,
            Wave::Cos => 1.0,
        };
    }
    if !a.is_finite() {
        return f32::NAN;
    }
    let exact = exact(op, f64::from(a));
    let nearest = exact as f32;
    match mode {
        ApproximationMode::Perturbed(seed) if nearest.abs() >= 2.0 * f32::MIN_POSITIVE => {
            let hash = mix(mix(mix(seed) ^ u64::from(a.to_bits())) ^ (op as u64 + 64));
            choose(exact, nearest, bound(a), hash)
        }
        ApproximationMode::Perturbed(_) | ApproximationMode::Nearest => nearest,
    }
}

/// 2^-20.5 and 2^-14.7, less 2^-40 for the evaluation in f64, rounded down.
const NEAR: f64 = 6.743_4e-7;
const FAR: f64 = 3.757_0e-5;

fn bound(a: f32) -> f64 {
    // The constant is the first f32 above 2 pi.
    if a.abs() < std::f32::consts::TAU { NEAR } else { FAR }
}

/// In f64 by +, - and * alone, which give the same bits on every machine; the error is below 2^-46
/// for operands in -100 pi..100 pi.
///
/// The operand is t full turns, of which the nearest quarter is taken away: the rest is within an eighth
/// of a turn, where the Taylor polynomials of degree 17 and 16 are exact to 2^-53.
fn exact(op: Wave, a: f64) -> f64 {
    let turns = a * (0.5 * std::f64::consts::FRAC_1_PI);
    let quarter = (4.0 * turns).round_ties_even();
    let angle = (turns - 0.25 * quarter) * (2.0 * std::f64::consts::PI);
    let square = angle * angle;
    let polynomial = |first: u32| {
        // 1 - x^2/((n+1)(n+2)) (1 - x^2/((n+3)(n+4)) (1 - ...)).
        (0..8).rev().fold(1.0, |sum, step| {
            let n = f64::from(first + 2 * step);
            1.0 - square / ((n + 1.0) * (n + 2.0)) * sum
        })
    };
    let sin = angle * polynomial(1);
    let cos = polynomial(0);
    // A quarter turn on, sin is cos and cos is -sin.
    let shift = match op {
        Wave::Sin => 0.0,
        Wave::Cos => 1.0,
    };
    match (quarter + shift).rem_euclid(4.0) {
        0.0 => sin,
        1.0 => cos,
        2.0 => -sin,
        _ => -cos,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_within_the_documented_bounds() {
        for op in [Wave::Sin, Wave::Cos] {
            let mut moved = 0;
            for sample in 0..40_000_u64 {
                let fraction = (mix(sample) >> 40) as f32 / (1 << 24) as f32 - 0.5;
                let (a, allowed) = match sample % 2 {
                    0 => (fraction * 12.56, (-20.5_f64).exp2()),
                    _ => (fraction * 628.0, (-14.7_f64).exp2()),
                };
                let value = match op {
                    Wave::Sin => f64::from(a).sin(),
                    Wave::Cos => f64::from(a).cos(),
                };
                let exact = wave(op, a, ApproximationMode::Nearest);
                let half_ulp = f64::from(exact.abs().next_up() - exact.abs());
                let error = (f64::from(exact) - value).abs();
                assert!(error <= half_ulp, "{op:?}({a:e}) is {exact:e}, not {value:e}");
                let other = wave(op, a, ApproximationMode::Perturbed(sample % 7));
                let error = (f64::from(other) - value).abs();
                assert!(error <= allowed, "{op:?}({a:e}): {error:e} above {allowed:e}");
                moved += u32::from(other != exact);
            }
            assert!(moved > 1000, "{op:?} was perturbed {moved} times only");
        }
    }

    #[test]
    fn special_values_are_those_of_the_tables() {
        for seed in 0..20 {
            let mode = ApproximationMode::Perturbed(seed);
            assert_eq!(wave(Wave::Sin, -0.0, mode).to_bits(), 0x8000_0000, "sin(-0)");
            assert_eq!(wave(Wave::Cos, -0.0, mode), 1.0, "cos(-0)");
            assert!(wave(Wave::Sin, f32::INFINITY, mode).is_nan(), "sin(inf)");
            assert!(wave(Wave::Cos, f32::NAN, mode).is_nan(), "cos(nan)");
        }
    }
}
