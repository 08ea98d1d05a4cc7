//! f32 and f64: one number, one rounding per operation, no uncertainty.

use super::elementary;
use super::numbers::{Arith, Lanes, Scalar, Tristate};
use super::one_lane::one_lane;

macro_rules! ieee {
    ($float:ty, $from_f64:expr, $exp:expr, $ln:expr, $mul_add:expr) => {
        impl Arith for $float {
            #[inline(always)]
            fn like(self, c: f64) -> Self {
                $from_f64(c)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $mul_add(self, factor, term)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
        }

        impl Scalar for $float {
            const SLACK: f64 = 8.0 * <$float>::EPSILON as f64;

            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                Self::from(x)
            }

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                $from_f64(x)
            }

            #[inline(always)]
            fn value(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn less(self, other: Self) -> Tristate {
                Tristate::known(self < other)
            }

            fn ln(self) -> Self {
                $ln(self)
            }
        }

        impl Lanes for $float {
            one_lane!();

            #[inline(always)]
            fn abs(self) -> Self {
                <$float>::abs(self)
            }

            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
        }
    };
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
#[inline(always)]
fn to_f32(x: f64) -> f32 {
    x as f32
}

ieee!(f64, |x: f64| x, elementary::exp, elementary::ln, f64::mul_add);
// exp and ln in f32 round the f64 result once: within 0.5 + 2^-28 ulp.
ieee!(
    f32,
    to_f32,
    |x: f32| to_f32(elementary::exp(f64::from(x))),
    |x: f32| to_f32(elementary::ln(f64::from(x))),
    |x, factor, term| x * factor + term
);
