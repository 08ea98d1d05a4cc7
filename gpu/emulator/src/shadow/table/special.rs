//! The error function and the gamma function in f64, which Rust's library does not have.
//!
//! Sources: Abramowitz and Stegun, "Handbook of Mathematical Functions": 7.1.6 (series of erf), 7.1.14
//! (continued fraction of erfc), 6.1.40 and 6.1.41 (Stirling's series of ln gamma), 6.3.18
//! (of its derivative), 6.1.15 and 6.1.17 (recurrence and reflection).

pub(super) mod bessel;

use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

/// erf(x). Below 2.5 by 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1)/(2n+1)!!, whose terms are all positive,
/// so that rounding adds up to some 2^-49 and nothing cancels.
pub(super) fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() {
        return x;
    }
    if a > 2.5 {
        return x.signum() * (1.0 - erfc(a));
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-18 * sum.abs() {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// 1 - erf(x), without cancelling where x is large: exp(-x^2)/sqrt(pi) times the continued fraction
/// 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))), from behind. n steps leave some
/// exp(-2 x sqrt(2 n)) of it (the tests compare both formulas).
pub(super) fn erfc(x: f64) -> f64 {
    if x < 1.0 {
        return 1.0 - erf(x);
    }
    0.5 * FRAC_2_SQRT_PI * square_exp(x) / (x + behind(x))
}

/// What the continued fraction adds to x, from 1 on.
fn behind(x: f64) -> f64 {
    let steps = if x < 2.0 { 500 } else { 120 };
    0.5 / (2..=steps).rev().fold(x, |rest, k| x + 0.5 * f64::from(k) / rest)
}

/// exp(x^2) erfc(x).
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 0.0 {
        2.0 / square_exp(x) - erfcx(-x)
    } else if x < 1.0 {
        erfc(x) / square_exp(x)
    } else {
        0.5 * FRAC_2_SQRT_PI / (x + behind(x))
    }
}

/// The derivative of erfcx, 2 x erfcx(x) - 2/sqrt(pi); from 1 on without what cancels there.
pub(super) fn erfcx_slope(x: f64) -> f64 {
    if x < 1.0 {
        2.0 * x * erfcx(x) - FRAC_2_SQRT_PI
    } else {
        let more = behind(x);
        -FRAC_2_SQRT_PI * more / (x + more)
    }
}

/// The inverse of erf. The complement of what is above 1/2 is exact.
pub(super) fn erf_inverse(y: f64) -> f64 {
    if y.abs() > 0.5 {
        return y.signum() * erfc_inverse(1.0 - y.abs());
    }
    // Newton's rule. erf is concave and below 2 x/sqrt(pi), so that it starts too low and only rises; where it no longer
    // does, the rounding of erf is reached.
    let (size, mut x) = (y.abs(), y.abs() / FRAC_2_SQRT_PI);
    loop {
        let next = x + (size - erf(x)) / (FRAC_2_SQRT_PI * square_exp(x));
        if next > x {
            x = next;
        } else {
            return x.copysign(y);
        }
    }
}

/// The inverse of erfc. 1 - z and 2 - z are exact where they are used.
pub(super) fn erfc_inverse(z: f64) -> f64 {
    if z > 1.0 {
        return -erfc_inverse(2.0 - z);
    }
    if z >= 0.5 {
        return erf_inverse(1.0 - z);
    }
    if z == 0.0 {
        return f64::INFINITY;
    }
    // Newton's rule on ln erfc, which is concave and below -x^2, so that it starts too high and only falls.
    let log = z.ln();
    let mut x = (-log).sqrt();
    loop {
        let scaled = erfcx(x);
        let above = scaled.ln() - x * x - log;
        let next = x + above * scaled / FRAC_2_SQRT_PI;
        if next < x {
            x = next;
        } else {
            return x;
        }
    }
}

/// The derivative of the inverse of erf where erfc is `tail`, at most 1: sqrt(pi)/2 exp(x^2), the exponential by
/// erfcx(x)/tail, since erfcx hardly changes with the rounding of x.
pub(super) fn inverse_slope(tail: f64) -> f64 {
    erfcx(erfc_inverse(tail)) / (FRAC_2_SQRT_PI * tail)
}

/// The inverse of the normal distribution's function.
pub(super) fn normal_inverse(p: f64) -> f64 {
    -SQRT_2 * erfc_inverse(2.0 * p)
}

/// exp(-x^2), the square by its two halves: the rounding of x^2 alone would be x^2 parts in 2^53.
fn square_exp(x: f64) -> f64 {
    let square = x * x;
    let rest = x.mul_add(x, -square);
    (-square).exp() * (1.0 - rest)
}

/// Coefficients B_2k/(2k(2k-1)) of Stirling's series.
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];

/// From here on Stirling's series with 8 terms is within 2^-53: the first one left out is 43867/244188
/// x^-17, below 1e-19 here.
const LARGE: f64 = 12.0;

/// ln |gamma(x)|. The error is some 2^-50 of the largest term, which is what counts near the zeros at 1
/// and 2.
pub(super) fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        // gamma(x) gamma(1 - x) = pi/sin(pi x).
        return (PI / (PI * x).sin().abs()).ln() - ln_gamma(1.0 - x);
    }
    let (mut at, mut product) = (x, 1.0);
    while at < LARGE {
        product *= at;
        at += 1.0;
    }
    let inverse = 1.0 / at;
    let series = STIRLING.iter().rev().fold(0.0, |sum, c| sum * inverse * inverse + c) * inverse;
    (at - 0.5) * at.ln() - at + 0.5 * (2.0 * PI).ln() + series - f64::ln(product)
}

/// The derivative of ln gamma.
pub(super) fn digamma(x: f64) -> f64 {
    if x < 0.5 {
        return digamma(1.0 - x) - PI / (PI * x).tan();
    }
    let (mut at, mut sum) = (x, 0.0);
    while at < LARGE {
        sum += 1.0 / at;
        at += 1.0;
    }
    let inverse = 1.0 / at;
    // The derivative of each term c_k x^(1 - 2k).
    let series = (1..=8_u8)
        .zip(STIRLING)
        .rev()
        .fold(0.0, |all, (k, c)| all * inverse * inverse - c * (2.0 * f64::from(k) - 1.0));
    at.ln() - 0.5 * inverse + series * inverse * inverse - sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    /// Values from Abramowitz and Stegun, tables 7.1, 6.1 and 26.1, and by the integral: Simpson's rule
    /// with 4096 intervals, whose error is below 1e-15 here.
    #[test]
    fn the_error_function_is_its_integral() {
        let density = |t: f64| FRAC_2_SQRT_PI * (-t * t).exp();
        for step in 1..=60 {
            let x = f64::from(step) * 0.1;
            let width = x / 4096.0;
            let simpson: f64 = (0..=4096_u32)
                .map(|i| {
                    let weight = match i {
                        0 | 4096 => 1.0,
                        odd if odd % 2 == 1 => 4.0,
                        _ => 2.0,
                    };
                    weight * density(f64::from(i) * width)
                })
                .sum();
            let integral = simpson * width / 3.0;
            assert_abs_diff_eq!(erf(x), integral, epsilon = 1e-14);
            assert_eq!(erf(-x), -erf(x), "it is odd");
        }
        assert_relative_eq!(erfc(10.0), 2.088_487_583_762_545e-45, max_relative = 1e-14);
        // To 16 digits, Abramowitz and Stegun, table 7.1.
        for (x, known) in [
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (2.5, 0.999_593_047_982_555),
        ] {
            assert_abs_diff_eq!(erf(x), known, epsilon = 2e-15);
        }
        for step in 0..40 {
            // Where both formulas hold.
            let x = 1.0 + f64::from(step) * 0.0375;
            let difference = (erfc(x) - (1.0 - erf(x))).abs();
            assert!(difference < 1e-15, "erfc({x}) differs by {difference:e}");
        }
    }

    #[test]
    fn inverses_lead_back() {
        for step in 1..2000 {
            let z = f64::from(step) * 0.001;
            let x = erfc_inverse(z);
            // By what erfc changes within the rounding of x.
            let allowed = 2e-15 * z + 1e-15 * x.abs() * FRAC_2_SQRT_PI * square_exp(x);
            assert!((erfc(x) - z).abs() <= allowed, "erfc of the inverse of {z}: {}", erfc(x));
            let x = erf_inverse(1.0 - z);
            let off = (erf(x) - (1.0 - z)).abs();
            assert!(off <= 4e-15 * (1.0 - z).abs(), "erf of the inverse of {}", 1.0 - z);
        }
        // Far out, by logarithms.
        for power in 1..130 {
            let z = 2.0_f64.powi(-power);
            let x = erfc_inverse(z);
            assert!((erfc(x) / z - 1.0).abs() < 1e-13, "erfc of the inverse of {z}");
        }
        // Tables 7.1 and 26.5.
        assert_abs_diff_eq!(erf_inverse(0.842_700_792_949_714_9), 1.0, epsilon = 4e-15);
        assert_abs_diff_eq!(normal_inverse(0.975), 1.959_963_984_540_054, epsilon = 4e-15);
        assert_eq!(erf_inverse(0.0), 0.0, "at 0");
        assert_eq!(erfc_inverse(0.0), f64::INFINITY, "at the end");
        assert!(erfc_inverse(-0.1).is_nan() && erfc_inverse(2.1).is_nan(), "outside");
    }

    #[test]
    fn erfcx_is_the_same_by_both_formulas() {
        for step in 0..80 {
            let x = -3.0 + f64::from(step) * 0.05;
            let direct = (x * x).exp() * erfc(x);
            assert_relative_eq!(erfcx(x), direct, max_relative = 1e-14);
            assert_relative_eq!(
                erfcx_slope(x),
                2.0 * x * direct - FRAC_2_SQRT_PI,
                max_relative = 4e-14
            );
        }
        // 7.1.23: 1/(sqrt(pi) x) (1 - 1/(2 x^2) + 3/(4 x^4) - 15/(8 x^6) ...).
        let (x, q) = (1000.0, 1e-6);
        let far = 0.5 * FRAC_2_SQRT_PI / x;
        assert_relative_eq!(erfcx(x), far * (1.0 - 0.5 * q + 0.75 * q * q), max_relative = 1e-15);
        let slope = -far / x * (1.0 - 1.5 * q + 3.75 * q * q);
        assert_relative_eq!(erfcx_slope(x), slope, max_relative = 1e-15);
    }

    #[test]
    fn the_gamma_function_is_the_factorial() {
        let mut factorial = 1.0_f64;
        for n in 1..=30 {
            let at = f64::from(n) + 1.0;
            factorial *= f64::from(n);
            let expected = factorial.ln();
            assert!((ln_gamma(at) - expected).abs() < 1e-14 * (1.0 + expected), "ln gamma({at})");
        }
        let root = PI.sqrt();
        assert_abs_diff_eq!(ln_gamma(0.5), root.ln(), epsilon = 8e-15);
        assert_abs_diff_eq!(ln_gamma(-0.5), (2.0 * root).ln(), epsilon = 1e-14);
        assert_abs_diff_eq!(digamma(1.0), -0.577_215_664_901_532_9, epsilon = 1e-15);
        for step in -30..100 {
            let x = 0.037 + f64::from(step) * 0.1;
            let recurrence = digamma(x + 1.0) - digamma(x) - 1.0 / x;
            let size = 1.0 + digamma(x).abs();
            assert!(recurrence.abs() < 1e-13 * size * size, "digamma({x}): {recurrence:e}");
        }
    }
}
