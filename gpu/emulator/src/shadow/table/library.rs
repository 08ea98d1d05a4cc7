//! Functions of CUDA's library: what a call means, whatever the compiler makes of it.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI, SQRT_2};

use super::super::number::UNIT;
use super::special::bessel::{Bessel, modified};
use super::special::{
    digamma, erf, erf_inverse, erfc, erfc_inverse, erfcx, erfcx_slope, inverse_slope, ln_gamma,
    normal_inverse,
};

/// A function of CUDA's library (CUDA Math API, "Single Precision Mathematical Functions", and fmod and remainder of
/// double precision).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(in super::super) enum Library {
    Exp,
    Exp10,
    Expm1,
    Ln,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    SinPi,
    CosPi,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    NormCdf,
    LnGamma,
    Gamma,
    Cbrt,
    ReciprocalCbrt,
    Exp2,
    Log2,
    Power,
    Atan2,
    Hypot,
    ReciprocalHypot,
    Fmod,
    Remainder,
    ErfInverse,
    ErfcInverse,
    Erfcx,
    NormalInverse,
    I0,
    I1,
    J0,
    J1,
    Y0,
    Y1,
}

impl Library {
    /// By number.
    pub(in super::super) const ALL: [Self; 45] = [
        Self::Exp,
        Self::Exp10,
        Self::Expm1,
        Self::Ln,
        Self::Log10,
        Self::Log1p,
        Self::Sin,
        Self::Cos,
        Self::Tan,
        Self::SinPi,
        Self::CosPi,
        Self::Asin,
        Self::Acos,
        Self::Atan,
        Self::Sinh,
        Self::Cosh,
        Self::Tanh,
        Self::Asinh,
        Self::Acosh,
        Self::Atanh,
        Self::Erf,
        Self::Erfc,
        Self::NormCdf,
        Self::LnGamma,
        Self::Gamma,
        Self::Cbrt,
        Self::ReciprocalCbrt,
        Self::Exp2,
        Self::Log2,
        Self::Power,
        Self::Atan2,
        Self::Hypot,
        Self::ReciprocalHypot,
        Self::Fmod,
        Self::Remainder,
        Self::ErfInverse,
        Self::ErfcInverse,
        Self::Erfcx,
        Self::NormalInverse,
        Self::I0,
        Self::I1,
        Self::J0,
        Self::J1,
        Self::Y0,
        Self::Y1,
    ];

    pub(in super::super) const fn operands(self) -> usize {
        match self {
            Self::Power
            | Self::Atan2
            | Self::Hypot
            | Self::ReciprocalHypot
            | Self::Fmod
            | Self::Remainder => 2,
            _ => 1,
        }
    }

    pub(in super::super) fn value(self, [a, b, _]: [f64; 3]) -> f64 {
        match self {
            Self::Exp => a.exp(),
            Self::Exp10 => (a * LN_10).exp(),
            Self::Expm1 => a.exp_m1(),
            Self::Ln => a.ln(),
            Self::Log10 => a.log10(),
            Self::Log1p => a.ln_1p(),
            Self::Sin => a.sin(),
            Self::Cos => a.cos(),
            Self::Tan => a.tan(),
            Self::SinPi => sin_of_half_turns(a),
            Self::CosPi => sin_of_half_turns(a.abs() + 0.5),
            Self::Asin => a.asin(),
            Self::Acos => a.acos(),
            Self::Atan => a.atan(),
            Self::Sinh => a.sinh(),
            Self::Cosh => a.cosh(),
            Self::Tanh => a.tanh(),
            Self::Asinh => a.asinh(),
            Self::Acosh => a.acosh(),
            Self::Atanh => a.atanh(),
            Self::Erf => erf(a),
            Self::Erfc => erfc(a),
            Self::NormCdf => 0.5 * erfc(-a / SQRT_2),
            Self::LnGamma => ln_gamma(a),
            Self::Gamma => {
                let sign = if a < 0.0 && a.floor() % 2.0 != 0.0 { -1.0 } else { 1.0 };
                sign * ln_gamma(a).exp()
            }
            Self::Cbrt => a.cbrt(),
            Self::ReciprocalCbrt => 1.0 / a.cbrt(),
            Self::Exp2 => a.exp2(),
            Self::Log2 => a.log2(),
            Self::Power => a.powf(b),
            Self::Atan2 => a.atan2(b),
            Self::Hypot => a.hypot(b),
            Self::ReciprocalHypot => 1.0 / a.hypot(b),
            Self::Fmod => a % b,
            Self::Remainder => remainder(a, b),
            Self::ErfInverse => erf_inverse(a),
            Self::ErfcInverse => erfc_inverse(a),
            Self::Erfcx => erfcx(a),
            Self::NormalInverse => normal_inverse(a),
            Self::I0 => modified(a)[0],
            Self::I1 => a * modified(a)[1],
            Self::J0 => Bessel::at(a.abs()).j[0],
            Self::J1 => a.signum() * Bessel::at(a.abs()).j[1],
            Self::Y0 => Bessel::at(a).y[0],
            Self::Y1 => Bessel::at(a).y[1],
        }
    }

    /// How far a value may be from the real one.
    #[inline(always)]
    pub(in super::super) fn error(self, value: f64) -> f64 {
        let size = match self {
            // Its terms are up to 30, and cancel where it is 0.
            Self::LnGamma => value.abs().max(32.0),
            // They swing about 0.
            Self::J0 | Self::J1 | Self::Y0 | Self::Y1 => value.abs().max(1.0),
            _ => value.abs(),
        };
        self.own_error() * size
    }

    /// How far [`value`](Self::value) may be from the function, relative to it: the platform's functions
    /// are within a unit in the last place or two; an argument that is rounded first adds its own part.
    pub(in super::super) const fn own_error(self) -> f64 {
        match self {
            // Of 10^a: a ln 10 is rounded, up to 100 here. Of gamma: ln gamma up to 90 is.
            Self::Exp10 => 256.0 * UNIT,
            Self::Gamma => 1024.0 * UNIT,
            // Near zeros of ln gamma the absolute error is what counts: see `special`.
            Self::LnGamma => 8.0 * UNIT,
            Self::Erf | Self::Erfc => 64.0 * UNIT,
            // -a/sqrt(2) is rounded twice, up to 40: erfc's exponent changes by 2 a^2 times that.
            Self::NormCdf => 4096.0 * UNIT,
            Self::SinPi | Self::CosPi => 8.0 * UNIT,
            Self::Asinh | Self::Acosh | Self::Atanh => 64.0 * UNIT,
            Self::Erfcx => 64.0 * UNIT,
            // Of x the logarithm of erfc is within 64 units and x^2 of them, and its derivative above x.
            Self::ErfInverse | Self::ErfcInverse | Self::NormalInverse => 256.0 * UNIT,
            // The terms about |x|/2 are within 3/2 |x| units, and f64 ends at 714.
            Self::I0 | Self::I1 => 2048.0 * UNIT,
            // Each step of the recurrence, up to 70, adds some units.
            Self::J0 | Self::J1 | Self::Y0 | Self::Y1 => 256.0 * UNIT,
            _ => 4.0 * UNIT,
        }
    }

    pub(in super::super) fn partials(self, x: [f64; 3], y: f64) -> [f64; 3] {
        let [a, b, _] = x;
        let one = |d: f64| [d, 0.0, 0.0];
        match self {
            Self::Exp => one(y),
            Self::Exp10 => one(y * LN_10),
            Self::Expm1 => one(a.exp()),
            Self::Ln => one(1.0 / a),
            Self::Log10 => one(1.0 / (a * LN_10)),
            Self::Log1p => one(1.0 / (1.0 + a)),
            Self::Sin => one(a.cos()),
            Self::Cos => one(-a.sin()),
            Self::Tan => one(1.0 + y * y),
            Self::SinPi => one(PI * Self::CosPi.value(x)),
            Self::CosPi => one(-PI * Self::SinPi.value(x)),
            Self::Asin => one(1.0 / ((1.0 - a) * (1.0 + a)).sqrt()),
            Self::Acos => one(-1.0 / ((1.0 - a) * (1.0 + a)).sqrt()),
            Self::Atan => one(1.0 / (1.0 + a * a)),
            Self::Sinh => one(a.cosh()),
            Self::Cosh => one(a.sinh()),
            // 1 - y^2 loses its digits where y is near 1.
            Self::Tanh => one(1.0 / a.cosh().powi(2)),
            Self::Asinh => one(1.0 / a.hypot(1.0)),
            Self::Acosh => one(1.0 / ((a - 1.0) * (a + 1.0)).sqrt()),
            Self::Atanh => one(1.0 / ((1.0 - a) * (1.0 + a))),
            Self::Erf => one(FRAC_2_SQRT_PI * (-a * a).exp()),
            Self::Erfc => one(-FRAC_2_SQRT_PI * (-a * a).exp()),
            Self::NormCdf => one((-0.5 * a * a).exp() / (2.0 * PI).sqrt()),
            Self::LnGamma => one(digamma(a)),
            Self::Gamma => one(y * digamma(a)),
            Self::Cbrt => one(y / (3.0 * a)),
            Self::ReciprocalCbrt => one(-y / (3.0 * a)),
            Self::Exp2 => one(y * LN_2),
            Self::Log2 => one(1.0 / (a * LN_2)),
            // Where the base is 0 the quotient is none; of a whole exponent it is the power below.
            Self::Power => {
                [if a == 0.0 { b * a.powf(b - 1.0) } else { b * y / a }, by_exponent(a, y), 0.0]
            }
            Self::Atan2 => {
                let square = a * a + b * b;
                [b / square, -a / square, 0.0]
            }
            Self::Hypot => [a / y, b / y, 0.0],
            Self::ReciprocalHypot => [-a * y.powi(3), -b * y.powi(3), 0.0],
            // a less a whole number of b.
            Self::Fmod | Self::Remainder => [1.0, -self.times(a, b), 0.0],
            Self::ErfInverse => one(inverse_slope(1.0 - a.abs())),
            Self::ErfcInverse => one(-inverse_slope(a.min(2.0 - a))),
            Self::Erfcx => one(erfcx_slope(a)),
            Self::NormalInverse => one(2.0 * SQRT_2 * inverse_slope(2.0 * a.min(1.0 - a))),
            Self::I0 => one(a * modified(a)[1]),
            Self::I1 => {
                let [zero, over] = modified(a);
                one(zero - over)
            }
            // Of J0 it is odd and of J1 even.
            Self::J0 => one(a.signum() * Bessel::at(a.abs()).slopes(a.abs())[0]),
            Self::J1 => one(Bessel::at(a.abs()).slopes(a.abs())[1]),
            Self::Y0 => one(Bessel::at(a).slopes(a)[2]),
            Self::Y1 => one(Bessel::at(a).slopes(a)[3]),
        }
    }

    /// The value at the ends of what the operands reach: exact where the function is monotone in each, and
    /// enough where it is convex, since one end then is further away than the extremum. Those that swing
    /// have a bound of their own.
    pub(in super::super) fn spread(self, x: [f64; 3], y: f64, r: [f64; 3]) -> f64 {
        if r[0] == 0.0 && r[1] == 0.0 {
            return 0.0;
        }
        if self.reaches_a_pole(x, r) {
            return f64::INFINITY;
        }
        let own = 2.0 * self.error(y);
        own + match self {
            Self::Sin | Self::Cos => r[0].min(2.0),
            Self::SinPi | Self::CosPi => (PI * r[0]).min(2.0),
            Self::J0 | Self::J1 | Self::Y0 | Self::Y1 => self.steepest(x[0], r[0])[0] * r[0],
            _ => self.ends(x, r, |at| (self.value(at) - y).abs()),
        }
    }

    /// How far the derivatives go: at the ends of what is reached, which is exact where they are monotone
    /// or a parabola there, with the rounding of f64.
    pub(in super::super) fn doubts(self, x: [f64; 3], d: [f64; 3], c: [f64; 3]) -> [f64; 3] {
        if self.reaches_a_pole(x, c) {
            return [f64::INFINITY; 3];
        }
        [0, 1, 2].map(|k| {
            let moved = match self {
                Self::Sin | Self::Cos => c[0].min(2.0),
                Self::SinPi | Self::CosPi => PI * (PI * c[0]).min(2.0),
                Self::J0 | Self::J1 | Self::Y0 | Self::Y1 if k > 0 => 0.0,
                // Their derivatives are such functions too, whose own error is absolute where they are small.
                Self::J0 | Self::J1 | Self::Y0 | Self::Y1 => {
                    self.steepest(x[0], c[0])[1] * c[0] + self.error(d[0])
                }
                _ => self.ends(x, c, |at| (self.partials(at, self.value(at))[k] - d[k]).abs()),
            };
            moved + 2.0 * self.own_error() * d[k].abs() + 8.0 * UNIT * d[k].abs()
        })
    }

    /// The most that the first and the second derivative of a function of Bessel's are within reach. Those of J are
    /// integrals over a quarter of a turn (DLMF 10.9.1, differentiated): 2/pi of the sine, its square and its cube. Those
    /// of Y are by what bounds Y from the nearest number on (DLMF 10.6.2 and 10.6.3).
    fn steepest(self, a: f64, r: f64) -> [f64; 2] {
        let of_y = || {
            let nearest = a - r;
            let [zero, one] = Bessel::at(nearest).moduli();
            let first = zero + one / nearest;
            [one, first, one + first / nearest + one / (nearest * nearest)]
        };
        match self {
            Self::J0 => [2.0 / PI, 0.5],
            Self::J1 => [0.5, 4.0 / (3.0 * PI)],
            Self::Y0 => {
                let [first, second, _] = of_y();
                [first, second]
            }
            Self::Y1 => {
                let [_, first, second] = of_y();
                [first, second]
            }
            _ => [f64::INFINITY; 2],
        }
    }

    /// Whether a pole, or the end of a branch, is within reach.
    fn reaches_a_pole(self, [a, b, _]: [f64; 3], [r, s, _]: [f64; 3]) -> bool {
        let holds_origin = a.abs() <= r && b.abs() <= s;
        match self {
            Self::Tan => {
                let branch = |at: f64| (at / PI + 0.5).floor();
                branch(a - r) != branch(a + r)
            }
            Self::ReciprocalCbrt => a.abs() <= r,
            Self::LnGamma | Self::Gamma | Self::Y0 | Self::Y1 => a - r <= 0.0,
            Self::ErfInverse => a.abs() + r >= 1.0,
            Self::ErfcInverse => a - r <= 0.0 || a + r >= 2.0,
            Self::NormalInverse => a - r <= 0.0 || a + r >= 1.0,
            Self::Atan2 => holds_origin || b - s < 0.0 && a.abs() <= r,
            Self::ReciprocalHypot => holds_origin,
            // The whole number is another one, or b may be 0.
            Self::Fmod | Self::Remainder => {
                let ends = [(-r, -s), (-r, s), (r, -s), (r, s)];
                let all = ends.map(|(r, s)| self.times(a + r, b + s));
                b.abs() <= s || all.iter().any(|times| *times != all[0])
            }
            _ => false,
        }
    }

    /// How many times b is in a: what the whole number is that fmod and remainder take away.
    fn times(self, a: f64, b: f64) -> f64 {
        ((a - self.value([a, b, 0.0])) / b).round_ties_even()
    }

    /// The most of `f` at the ends of what the operands reach.
    fn ends(self, x: [f64; 3], r: [f64; 3], f: impl Fn([f64; 3]) -> f64) -> f64 {
        let mut most: f64 = 0.0;
        for a in [x[0] - r[0], x[0] + r[0]] {
            let others = if self.operands() == 1 { [x[1]; 2] } else { [x[1] - r[1], x[1] + r[1]] };
            for b in others {
                let at = f([a, b, x[2]]);
                // Outside the domain there is no bound.
                most = if at.is_nan() { f64::INFINITY } else { most.max(at) };
            }
        }
        most
    }
}

/// The derivative of a power by its exponent; of a base of 0 the power stays 0.
fn by_exponent(base: f64, power: f64) -> f64 {
    if power == 0.0 { 0.0 } else { power * base.ln() }
}

/// a less the nearest multiple of b, of two the even one (IEEE 754-2019, 5.3.1). The remainder by 2 b, of which the
/// quotient is even, is exact, and so is what is taken from it.
fn remainder(a: f64, b: f64) -> f64 {
    let (rest, b) = (a % (2.0 * b), b.abs());
    let (size, sign) = (rest.abs(), rest.signum());
    // Between b and 2 b the difference is exact (Sterbenz).
    if size - b >= 0.5 * b {
        sign * (size - 2.0 * b)
    } else if size > 0.5 * b {
        sign * (size - b)
    } else {
        rest
    }
}

/// sin(pi a): the nearest whole number is taken away first, exactly.
fn sin_of_half_turns(a: f64) -> f64 {
    let whole = a.round_ties_even();
    let rest = (PI * (a - whole)).sin();
    if whole % 2.0 == 0.0 { rest } else { -rest }
}
