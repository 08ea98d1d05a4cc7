//! The factor by which all elements of a gradient are off.

use std::fmt;

/// Digits that are shown at most: more tell nobody what the factor is.
const MOST_DIGITS: f64 = 4.0;

/// A factor, as the elements give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    value: f64,
    uncertainty: f64,
}

impl Factor {
    /// One of which it is known how far it may be off.
    pub(super) fn new(value: f64, uncertainty: f64) -> Self {
        Self { value, uncertainty }
    }

    /// Whether a kernel can have multiplied by it, or not have divided by it: then it has the factor or its inverse as
    /// a number, and both must be normal numbers of f32. That is so from 2^-126 to 2^126: the inverse of 2^-126 is
    /// far from overflow, and above 2^126 the inverse is subnormal. The largest float is no factor, but what
    /// a kernel stored in place of a result.
    pub(super) fn is_plausible(&self) -> bool {
        let least = f64::from(f32::MIN_POSITIVE);
        (least..=least.recip()).contains(&self.value.abs())
    }

    /// Whether one number may be all of these.
    pub(super) fn may_be_one(factors: &[Self]) -> bool {
        let low = factors.iter().map(|one| one.value - one.uncertainty);
        let high = factors.iter().map(|one| one.value + one.uncertainty);
        low.fold(f64::NEG_INFINITY, f64::max) <= high.fold(f64::INFINITY, f64::min)
    }

    /// The one that is known best.
    pub(super) fn best(factors: &[Self]) -> Option<&Self> {
        factors.iter().min_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty))
    }
}

/// With as many digits as are known, and none of the zeros behind them: 0.5, 1.649, 3.2e-9.
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The unit of the last digit is no smaller than the uncertainty.
        let known = self.value.abs().log10().floor() - self.uncertainty.log10().ceil() + 1.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 1 to MOST_DIGITS"
        )]
        let digits = known.clamp(1.0, MOST_DIGITS) as usize;
        let short = format!("{:.*e}", digits - 1, self.value);
        let value: f64 = short.parse().unwrap_or(self.value);
        match value.abs() {
            size if (1e-3..1e6).contains(&size) => write!(f, "{value}"),
            _ => write!(f, "{value:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_has_the_digits_that_are_known() {
        let e = 1.0_f64.exp().sqrt();
        for (value, uncertainty, words) in [
            (e, 0.0, "1.649"),
            (e, 1e-9, "1.649"),
            (e, 0.03, "1.6"),
            (e, 0.9, "2"),
            (0.500_000_1, 1e-6, "0.5"),
            (-2.0, 1e-3, "-2"),
            (32.0, 1e-3, "32"),
            (255.0, 1e-3, "255"),
            (1.0 / 255.0, 1e-9, "0.003922"),
            (3.21e-9, 2e-11, "3.2e-9"),
            (1e30, 1e20, "1e30"),
        ] {
            assert_eq!(Factor::new(value, uncertainty).to_string(), words);
        }
    }

    #[test]
    fn no_kernel_multiplies_by_the_largest_float() {
        let is_plausible = |value: f64| Factor::new(value, 0.0).is_plausible();
        for value in [0.5, -2.0, 255.0, 1e-30, -1e30, 2.0_f64.powi(126), 2.0_f64.powi(-126)] {
            assert!(is_plausible(value), "{value}");
        }
        let largest = f64::from(f32::MAX);
        for value in [largest, -largest, largest / 1.001, largest.recip(), 0.0, f64::INFINITY] {
            assert!(!is_plausible(value), "{value}");
        }
    }

    #[test]
    fn factors_that_are_uncertain_may_be_one() {
        let [rough, fine] = [(1.6, 0.1), (1.649, 1e-3)].map(|(a, b)| Factor::new(a, b));
        let other = Factor::new(1.7, 1e-3);
        assert!(Factor::may_be_one(&[rough, fine]) && Factor::may_be_one(&[rough, other]));
        assert!(!Factor::may_be_one(&[rough, fine, other]), "two of them are known well");
        assert_eq!(Factor::best(&[rough, fine]), Some(&fine));
    }
}
