//! The error function and the gamma function in f64, which Rust's library does not have.
//!
//! Sources: Abramowitz and Stegun, "Handbook of Mathematical Functions": 7.1.6 (series of erf), 7.1.14
//! (continued fraction of erfc), 6.1.40 and 6.1.41 (Stirling's series of ln gamma), 6.3.18
//! (of its derivative), 6.1.15 and 6.1.17 (recurrence and reflection).

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

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
    let steps = if x < 2.0 { 500 } else { 120 };
    let fraction = (1..=steps).rev().fold(x, |rest, k| x + 0.5 * f64::from(k) / rest);
    0.5 * FRAC_2_SQRT_PI * square_exp(x) / fraction
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
