//! How far the result of an instruction may be from the function of its operands.
//!
//! Sources: IEEE 754 for what PTX rounds; PTX ISA 8.4, the sections of the instructions' names, for
//! what it gives up to a bound. A bound in units of the last place is one in parts of 2^-23 of the
//! result here, which it is never above.

use super::super::super::ir::{Approximation, Rounding};

/// 2^-24, half a unit in the last place of an f32, relative to it.
const HALF: f64 = 1.0 / 16_777_216.0;

/// The least normal f32: what `.ftz` may take away.
pub(in super::super) const NORMAL: f64 = 1.175_494_350_822_287_5e-38;

/// 2^-149, the distance of subnormal f32.
const SUBNORMAL: f64 = 1.401_298_464_324_817e-45;

/// The error is at most `relative` times the larger of `floor` and the result, plus `absolute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Accuracy {
    pub(in super::super) relative: f64,
    pub(in super::super) floor: f64,
    pub(in super::super) absolute: f64,
    /// Whether a result that is an f32 is given as it is.
    pub(in super::super) correct: bool,
    /// Whether subnormal operands are taken for zeros.
    pub(in super::super) flush: bool,
}

impl Accuracy {
    /// The result is the function's.
    pub(in super::super) const EXACT: Self =
        Self { relative: 0.0, floor: 0.0, absolute: 0.0, correct: true, flush: false };

    /// Rounded once to f32.
    pub(in super::super) const fn rounded(rounding: Rounding) -> Self {
        let (relative, absolute) = match rounding {
            Rounding::Nearest => (HALF, 0.5 * SUBNORMAL),
            Rounding::Zero | Rounding::Down | Rounding::Up => (2.0 * HALF, SUBNORMAL),
        };
        Self { relative, absolute, ..Self::EXACT }
    }

    /// Rounded once to nearest to a format of so many bits, whose least number is `least`.
    pub(in super::super) fn narrow(precision: i32, least: f64) -> Self {
        Self { relative: 2.0_f64.powi(-precision), absolute: 0.5 * least, ..Self::EXACT }
    }

    /// Of an approximate function.
    pub(in super::super) const fn approximate(function: Approximation) -> Self {
        let (relative, floor) = match function {
            Approximation::Ex2 => (4.0 * HALF, 0.0),
            // 2^-22 of the result, but 2^-22 for operands in 0.5..2, where the result is below 1.
            Approximation::Lg2 | Approximation::Lg2Wgsl => (4.0 * HALF, 1.0),
            Approximation::Ex2Wgsl => (3.0 * HALF, 0.0),
            Approximation::RsqrtWgsl => (2.0 * HALF, 0.0),
            Approximation::Rcp | Approximation::Sqrt => (2.0 * HALF, 0.0),
            // 2^-22.9, rounded up.
            Approximation::Rsqrt => (1.2777e-7, 0.0),
            Approximation::Div | Approximation::DivFull => (4.0 * HALF, 0.0),
            Approximation::Atan2Wgsl => (8192.0 * HALF, 0.0),
            Approximation::Tanh => (8192.0 * HALF, 0.0),
        };
        Self { relative, floor, absolute: SUBNORMAL, correct: false, flush: false }
    }

    /// sin.approx and cos.approx of an operand up to `largest` in magnitude. Beyond 100 pi PTX gives no
    /// bound: two values of the function are at most 2 apart.
    pub(in super::super) fn wave(largest: f64) -> Self {
        let error = if largest <= 2.0 * std::f64::consts::PI {
            // 2^-20.5, rounded up.
            6.744e-7
        } else if largest <= 100.0 * std::f64::consts::PI {
            // 2^-14.7, rounded up.
            3.758e-5
        } else {
            2.0
        };
        Self { relative: 0.0, floor: 0.0, absolute: error, correct: false, flush: false }
    }

    /// WGSL's pow, of a base and an exponent that are within `r` of these.
    ///
    /// WGSL ("Accuracy of Concrete Floating Point Expressions") says of pow(x, y): inherited from exp2(y * log2(x)).
    /// There log2 is within 2^-21 for operands in 0.5..2 and within 3 units in the last place elsewhere, which is at
    /// most 3 2^-23 of it. A product is rounded to either neighbour: by 2^-23 of it. exp2(p) is within 3 + 2 |p| units.
    /// Let l be the largest |log2(x)|, and h the largest |y|. Then log2 is off by at most e = 2^-23 max(4, 3 l), the
    /// product by d = h e + 2^-23 h (l + e), and the power by 2^d - 1 of itself, and by exp2's own error, of
    /// 2^d (3 + 2 (h l + d)) 2^-23 of it.
    ///
    /// The domain is x > 0. At x = 0 log2 is -infinity, and exp2 of a negative multiple of that is 0: nothing is rounded.
    /// Where only a part of what the base may be is above 0, there is no bound.
    pub(in super::super) fn power([a, b]: [f64; 2], [r, s]: [f64; 2]) -> Self {
        /// 2^-23, which a unit in the last place of a normal f32 is at most, relative to it.
        const UNIT: f64 = 2.0 * HALF;
        if a == 0.0 && r == 0.0 {
            return Self::EXACT;
        }
        let l = (a - r).log2().abs().max((a + r).log2().abs());
        let h = b.abs() + s;
        let e = UNIT * (3.0 * l).max(4.0);
        let d = h * e + UNIT * h * (l + e);
        let own = d.exp2() * (3.0 + 2.0 * (h * l + d)) * UNIT;
        let relative =
            if a > r { (d * std::f64::consts::LN_2).exp_m1() + own } else { f64::INFINITY };
        Self { relative, floor: 0.0, absolute: SUBNORMAL, correct: false, flush: false }
    }

    /// The same with `.ftz` or without.
    #[must_use]
    pub(in super::super) const fn flushing(self, flush: bool) -> Self {
        let lost = if flush { NORMAL } else { 0.0 };
        Self { absolute: self.absolute + lost, flush, ..self }
    }

    /// The bound for results up to `largest` in magnitude.
    #[inline(always)]
    pub(in super::super) fn bound(self, largest: f64) -> f64 {
        self.relative * if largest > self.floor { largest } else { self.floor } + self.absolute
    }

    /// How far an operand may be from `x`, its radius `r` and the flushing of subnormals taken together.
    #[inline(always)]
    pub(in super::super) fn reach(self, x: f64, r: f64) -> f64 {
        let flushed = self.flush && x.abs() < NORMAL + r && x.abs() + r > 0.0;
        r + if flushed { NORMAL } else { 0.0 }
    }
}
