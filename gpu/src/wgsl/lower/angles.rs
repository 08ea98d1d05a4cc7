//! Inverse functions of angles and of hyperbolic functions: by the formulas that their accuracy is inherited
//! from (WGSL, "Accuracy of Concrete Floating Point Expressions"), on the emulator's `atan2`.

use naga::MathFunction;

use super::Lower;
use super::code::Scalar;

const ONE: Scalar = Scalar::Bits(1.0_f32.to_bits());

impl Lower<'_> {
    /// A function of one number; `None` for any that is not of these.
    pub(super) fn angle(&mut self, fun: MathFunction, x: Scalar) -> Option<Scalar> {
        Some(match fun {
            MathFunction::Atan => self.atan2(x, ONE),
            MathFunction::Acos => {
                let other = self.other_side(x);
                self.atan2(other, x)
            }
            MathFunction::Asin => {
                let other = self.other_side(x);
                self.atan2(x, other)
            }
            MathFunction::Acosh => self.log_of_sum(x, "sub.f32"),
            MathFunction::Asinh => self.log_of_sum(x, "add.f32"),
            MathFunction::Atanh => {
                let [more, less] = ["add.f32", "sub.f32"].map(|op| self.code.op(op, &[ONE, x]));
                let ratio = self.code.op("div.full.f32", &[more, less]);
                let log = self.log(ratio);
                self.code.op("mul.f32", &[log, Scalar::float(0.5)])
            }
            _ => return None,
        })
    }

    /// The angle of (x, y).
    pub(super) fn atan2(&mut self, y: Scalar, x: Scalar) -> Scalar {
        self.code.op("atan2.wgsl.f32", &[y, x])
    }

    /// sqrt(1 - x x)
    fn other_side(&mut self, x: Scalar) -> Scalar {
        let square = self.code.op("mul.f32", &[x, x]);
        let rest = self.code.op("sub.f32", &[ONE, square]);
        self.code.op("sqrt.approx.f32", &[rest])
    }

    /// log(x + sqrt(x x + 1)), or with a difference in place of the inner sum.
    fn log_of_sum(&mut self, x: Scalar, inner: &str) -> Scalar {
        let square = self.code.op("mul.f32", &[x, x]);
        let inside = self.code.op(inner, &[square, ONE]);
        let root = self.code.op("sqrt.approx.f32", &[inside]);
        let sum = self.code.op("add.f32", &[x, root]);
        self.log(sum)
    }
}
