//! Bessel functions of orders 0 and 1 in f64.
//!
//! Sources: NIST Digital Library of Mathematical Functions (DLMF): 10.6.1 (recurrence), 10.12.4 (sum of those of even
//! order), 10.14.4 (size), 10.17.3 and 10.17.4 with 10.17(iii) (far from 0), 10.25.2 (series of the modified ones);
//! Abramowitz and Stegun: 9.1.88 and 9.1.89 (Y by J of higher orders), 9.12 (J. C. P. Miller's recurrence).

use std::f64::consts::{FRAC_1_PI, FRAC_1_SQRT_2};

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// From here on the series of 10.17 with [`TERMS`] terms is within 2^-62: the first one left out bounds what is left
/// out, and is below 1.5e-19 at 25 for both orders.
const FAR: f64 = 25.0;
const TERMS: u32 = 24;

/// Below 2^-30 the first terms are all: the next are 2^-62 of them.
const NEAR: f64 = 1.0 / 1_073_741_824.0;

/// J and Y of orders 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Bessel {
    pub(in super::super) j: [f64; 2],
    pub(in super::super) y: [f64; 2],
}

impl Bessel {
    /// At a number that is not negative. J is within some 2^-47 of its value or of 1, and Y of its value or of 1.
    pub(in super::super) fn at(x: f64) -> Self {
        if x < NEAR {
            let y = [2.0 * FRAC_1_PI * ((0.5 * x).ln() + EULER), -2.0 * FRAC_1_PI / x];
            Self { j: [1.0, 0.5 * x], y }
        } else if x < FAR {
            Self::by_recurrence(x)
        } else {
            let [zero, one] = [far(0.0, x), far(1.0, x)];
            Self { j: [zero[0], one[0]], y: [zero[1], one[1]] }
        }
    }

    /// Miller's recurrence: from an order n of which J is nothing downwards, J is that by which all are too large, since
    /// J0 + 2 J2 + 2 J4 + ... = 1. At n = 20 + 2 x it is at most (x/2)^n/n!, below 2^-65.
    fn by_recurrence(x: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "it is a whole number below 26")]
        let first = 20 + 2 * x.ceil() as i32;
        let (mut above, mut at) = (0.0, 1.0);
        let (mut all, mut even, mut odd) = (0.0, 0.0, 0.0);
        for n in (1..=first).rev() {
            let (half, order) = (f64::from(n / 2), f64::from(n));
            let sign = if n / 2 % 2 == 0 { 1.0 } else { -1.0 };
            if n % 2 == 0 {
                all += 2.0 * at;
                even += sign * at / half;
            } else if n > 1 {
                odd += sign * order * at / (half * (half + 1.0));
            }
            (above, at) = (at, 2.0 * order / x * at - above);
        }
        let all = all + at;
        let j = [at / all, above / all];
        let log = (0.5 * x).ln() + EULER;
        let zero = log * j[0] - 2.0 * even / all;
        let one = (log - 1.0) * j[1] - j[0] / x - odd / all;
        Self { j, y: [2.0 * FRAC_1_PI * zero, 2.0 * FRAC_1_PI * one] }
    }

    /// The derivatives of J0, J1, Y0 and Y1 (10.6.2 and 10.6.3).
    pub(in super::super) fn slopes(self, x: f64) -> [f64; 4] {
        // Of J1 the quotient is 1/2 at 0.
        let over_x = if x == 0.0 { 0.5 } else { self.j[1] / x };
        [-self.j[1], self.j[0] - over_x, -self.y[1], self.y[0] - self.y[1] / x]
    }

    /// The roots of J^2 + Y^2 of both orders. They fall (Nicholson's integral, 10.9.30), so that they bound J and Y from
    /// here on.
    pub(in super::super) fn moduli(self) -> [f64; 2] {
        [0, 1].map(|n| self.j[n].hypot(self.y[n]))
    }
}

/// J and Y of an order by the series of 10.17.
fn far(order: f64, x: f64) -> [f64; 2] {
    let (mut term, mut even, mut odd) = (1.0, 1.0, 0.0);
    for k in 1..TERMS {
        let root = f64::from(2 * k - 1);
        term *= (4.0 * order * order - root * root) / (f64::from(8 * k) * x);
        let sign = if k / 2 % 2 == 0 { 1.0 } else { -1.0 };
        if k % 2 == 0 {
            even += sign * term;
        } else {
            odd += sign * term;
        }
    }
    // Sine and cosine of x - pi/4, and of x - 3 pi/4, without a phase that is rounded.
    let (sin, cos) = x.sin_cos();
    let (sin, cos) = (FRAC_1_SQRT_2 * (sin - cos), FRAC_1_SQRT_2 * (cos + sin));
    let (sin, cos) = if order == 0.0 { (sin, cos) } else { (-cos, sin) };
    let size = (2.0 * FRAC_1_PI / x).sqrt();
    [size * (cos * even - sin * odd), size * (sin * even + cos * odd)]
}

/// I0(x), and I1(x)/x. All terms of (x/2)^2k/k!^2 and (x/2)^2k/(k! (k + 1)!) are positive: the k-th is within 3 k
/// roundings, and those near k = |x|/2 are the largest.
pub(in super::super) fn modified(x: f64) -> [f64; 2] {
    let square = 0.25 * x * x;
    let (mut zero, mut one) = ([1.0; 2], [1.0; 2]);
    let mut k = 0.0;
    loop {
        k += 1.0;
        zero[1] *= square / (k * k);
        one[1] *= square / (k * (k + 1.0));
        let (more, other) = (zero[0] + zero[1], one[0] + one[1]);
        // Of what is not a number too there is no more.
        if more > zero[0] {
            (zero[0], one[0]) = (more, other);
        } else {
            return [more, 0.5 * other];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// 10.5.2.
    #[test]
    fn the_wronskian_is_2_over_pi_x() {
        for step in 1..4000 {
            let x = f64::from(step) * 0.017;
            let Bessel { j, y } = Bessel::at(x);
            let off = (j[1] * y[0] - j[0] * y[1]) * PI * x / 2.0 - 1.0;
            assert!(off.abs() < 2e-14, "at {x}: {off:e}");
        }
    }

    /// The trapezoid rule on 10.9.1 and 10.9.2, of 4 m points in a turn, is off by J of orders about 4 m.
    #[test]
    fn they_are_the_integrals() {
        let mean = |f: &dyn Fn(f64) -> f64| {
            let m = 64_u32;
            let at = |i: u32| f(f64::from(i) * PI / (2.0 * f64::from(m)));
            ((1..m).map(at).sum::<f64>() + 0.5 * (at(0) + at(m))) / f64::from(m)
        };
        for step in 0..2000 {
            let x = f64::from(step) * 0.02;
            let j = [
                mean(&|angle| (x * angle.sin()).cos()),
                mean(&|angle| angle.sin() * (x * angle.sin()).sin()),
            ];
            let own = Bessel::at(x);
            for (n, (own, integral)) in own.j.into_iter().zip(j).enumerate() {
                let off = (own - integral).abs();
                assert!(off < 1e-14, "J{n}({x}) is off by {off:e}");
            }
            let modified = [
                mean(&|angle| (x * angle.sin()).cosh()),
                mean(&|angle| angle.sin() * (x * angle.sin()).sinh()),
            ];
            let [zero, one] = super::modified(x);
            for (n, (own, integral)) in [zero, one * x].into_iter().zip(modified).enumerate() {
                let off = (own - integral).abs();
                assert!(off <= 1e-13 * integral, "I{n}({x}) is off by {off:e}");
            }
        }
    }

    /// To 15 digits, Abramowitz and Stegun, table 9.1, and both formulas where they meet.
    #[test]
    fn they_are_those_of_the_tables() {
        let Bessel { j, y } = Bessel::at(1.0);
        let known = [
            (j[0], 0.765_197_686_557_966_6),
            (j[1], 0.440_050_585_744_933_5),
            (y[0], 0.088_256_964_215_676_96),
            (y[1], -0.781_212_821_300_288_7),
        ];
        for (own, known) in known {
            assert!((own - known).abs() < 4e-16, "{own} not {known}");
        }
        let (near, far) = (Bessel::by_recurrence(FAR), Bessel::at(FAR));
        for n in 0..2 {
            assert!((near.j[n] - far.j[n]).abs() < 1e-15, "J{n}");
            assert!((near.y[n] - far.y[n]).abs() < 1e-15, "Y{n}");
        }
        let (near, above) = (Bessel::at(NEAR * 0.999_999_999), Bessel::by_recurrence(NEAR));
        for (near, above) in near.y.into_iter().zip(above.y) {
            assert!((near / above - 1.0).abs() < 2e-9, "{near} not {above}");
        }
    }
}
