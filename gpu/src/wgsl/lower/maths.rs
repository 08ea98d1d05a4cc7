//! WGSL's functions of numbers. Those whose accuracy WGSL inherits from a formula are that formula (WGSL,
//! "Accuracy of Concrete Floating Point Expressions"); those that it bounds by themselves are operations of
//! the emulator, which perturbs them within these bounds.
//!
//! Those of angles are in [`angles`](super::angles), those that take words apart in [`packing`](super::packing),
//! those that take floats apart, and determinants, in [`apart`](super::apart).

use std::f32::consts::PI;
use std::rc::Rc;

use naga::{MathFunction, TypeInner};

use super::code::Scalar;
use super::operator::kind_of;
use super::shape::Kind;
use super::{Lower, Lowered};

/// Beyond it tanh is 1, and its derivative 1 / cosh(x)^2, below 2^-127, is no normal f32. A limit cuts the derivative
/// off, so that it must not be where tanh is first 1 in f32, at 9.02; and the formula by way of e^x has infinities
/// from x = 88.7 on.
const TANH_IS_ONE: f32 = 45.0;

impl Lower<'_> {
    pub(super) fn math(
        &mut self,
        fun: MathFunction,
        ty: &TypeInner,
        values: &[Rc<[Scalar]>],
    ) -> Lowered<Rc<[Scalar]>> {
        let kind = kind_of(ty)?;
        let whole = self.of_vectors(fun, kind, ty, values);
        if let Some(whole) = whole.or_else(|| self.packing(fun, values)) {
            return Ok(whole);
        }
        let count = values.iter().map(|value| value.len()).max().unwrap_or(0);
        let mut all = Vec::with_capacity(count);
        for at in 0..count {
            // A scalar goes with every component of a vector.
            let one: Vec<Scalar> = values.iter().map(|value| value[at % value.len()]).collect();
            all.push(self.of_numbers(fun, kind, &one)?);
        }
        Ok(all.into())
    }

    /// Functions of whole vectors and matrices.
    fn of_vectors(
        &mut self,
        fun: MathFunction,
        kind: Kind,
        ty: &TypeInner,
        values: &[Rc<[Scalar]>],
    ) -> Option<Rc<[Scalar]>> {
        let float = kind == Kind::F32;
        let (a, b) = (values.first()?.clone(), values.get(1).cloned().unwrap_or_default());
        Some(match fun {
            MathFunction::Dot => [self.dot(float, &a, &b)].into(),
            MathFunction::Cross => self.cross(&a, &b),
            MathFunction::Length => [self.length(&a)].into(),
            MathFunction::Distance => {
                let between = self.each("sub.f32", &a, &b);
                [self.length(&between)].into()
            }
            MathFunction::Normalize => {
                let length = self.length(&a);
                self.each("div.full.f32", &a, &[length])
            }
            MathFunction::FaceForward => {
                let side = self.dot(true, &b, values.get(2)?);
                let faces = self.code.test("setp.lt.f32", &[side, Scalar::float(0.0)]);
                let turned: Vec<_> = a.iter().map(|&x| self.code.op("neg.f32", &[x])).collect();
                a.iter().zip(turned).map(|(&x, t)| self.code.select(faces, x, t)).collect()
            }
            MathFunction::Reflect => {
                let along = self.dot(true, &a, &b);
                let twice = self.code.op("add.f32", &[along, along]);
                let taken = self.each("mul.f32", &b, &[twice]);
                self.each("sub.f32", &a, &taken)
            }
            MathFunction::Refract => self.refracted(&a, &b, *values.get(2)?.first()?),
            MathFunction::Determinant => {
                let TypeInner::Matrix { columns, .. } = *ty else { return None };
                [self.determinant(&a, columns as usize)].into()
            }
            MathFunction::Modf => self.fraction_and_whole(&a),
            MathFunction::Frexp => self.fraction_and_exponent(&a),
            MathFunction::Ldexp => {
                a.iter().zip(b.iter()).map(|(&x, &power)| self.scaled(x, power)).collect()
            }
            MathFunction::Transpose => {
                let TypeInner::Matrix { columns, rows, .. } = *ty else { return None };
                let (columns, rows) = (columns as usize, rows as usize);
                let at = |row: usize| (0..columns).map(move |column| column * rows + row);
                (0..rows).flat_map(at).map(|at| a[at]).collect()
            }
            _ => return None,
        })
    }

    /// An operation component by component; a scalar goes with every component.
    fn each(&mut self, opcode: &str, a: &[Scalar], b: &[Scalar]) -> Rc<[Scalar]> {
        a.iter().zip(b.iter().cycle()).map(|(&a, &b)| self.code.op(opcode, &[a, b])).collect()
    }

    pub(super) fn dot(&mut self, float: bool, a: &[Scalar], b: &[Scalar]) -> Scalar {
        let pairs: Vec<_> = a.iter().copied().zip(b.iter().copied()).collect();
        self.sum_of_products(float, &pairs)
    }

    fn length(&mut self, a: &[Scalar]) -> Scalar {
        if let [alone] = a {
            return self.code.op("abs.f32", &[*alone]);
        }
        let square = self.dot(true, a, a);
        self.code.op("sqrt.approx.f32", &[square])
    }

    pub(super) fn cross(&mut self, a: &[Scalar], b: &[Scalar]) -> Rc<[Scalar]> {
        let axes = [(1, 2), (2, 0), (0, 1)];
        let one = |(i, j): (usize, usize)| {
            let first = self.code.op("mul.f32", &[a[i], b[j]]);
            let second = self.code.op("mul.f32", &[a[j], b[i]]);
            self.code.op("sub.f32", &[first, second])
        };
        axes.map(one).into()
    }

    fn of_numbers(&mut self, fun: MathFunction, kind: Kind, all: &[Scalar]) -> Lowered<Scalar> {
        let result = match (kind, all) {
            (Kind::F32, [x]) => self.of_float(fun, *x),
            (Kind::F32, _) => self.of_floats(fun, all),
            (Kind::I32 | Kind::U32, _) => self.of_integers(fun, kind == Kind::I32, all),
            (Kind::Bool, _) => None,
        };
        result.ok_or_else(|| format!("the function {fun:?} of {kind:?}"))
    }

    fn of_float(&mut self, fun: MathFunction, x: Scalar) -> Option<Scalar> {
        let opcode = match fun {
            MathFunction::Abs => "abs.f32",
            MathFunction::Ceil => "cvt.rpi.f32.f32",
            MathFunction::Floor => "cvt.rmi.f32.f32",
            MathFunction::Round => "cvt.rni.f32.f32",
            MathFunction::Trunc => "cvt.rzi.f32.f32",
            MathFunction::Exp => return Some(self.exp(x)),
            MathFunction::Exp2 => "ex2.wgsl.f32",
            MathFunction::Log => return Some(self.log(x)),
            MathFunction::Log2 => "lg2.wgsl.f32",
            MathFunction::Sqrt => "sqrt.approx.f32",
            MathFunction::InverseSqrt => "rsqrt.wgsl.f32",
            MathFunction::Sin => "sin.approx.f32",
            MathFunction::Cos => "cos.approx.f32",
            MathFunction::Tan => {
                let (sin, cos) = (self.of_float(MathFunction::Sin, x)?, self.cosine(x));
                return Some(self.code.op("div.full.f32", &[sin, cos]));
            }
            MathFunction::Sinh | MathFunction::Cosh => return Some(self.hyperbolic(fun, x)),
            MathFunction::Tanh => {
                let above = self.code.op("max.f32", &[x, Scalar::float(-TANH_IS_ONE)]);
                let within = self.code.op("min.f32", &[above, Scalar::float(TANH_IS_ONE)]);
                let sinh = self.hyperbolic(MathFunction::Sinh, within);
                let cosh = self.hyperbolic(MathFunction::Cosh, within);
                return Some(self.code.op("div.full.f32", &[sinh, cosh]));
            }
            MathFunction::Saturate => return Some(self.clamp_float(x, [0.0, 1.0])),
            MathFunction::Fract => {
                let floor = self.code.op("cvt.rmi.f32.f32", &[x]);
                return Some(self.code.op("sub.f32", &[x, floor]));
            }
            MathFunction::Radians => {
                return Some(self.code.op("mul.f32", &[x, Scalar::float(PI / 180.0)]));
            }
            MathFunction::Degrees => {
                return Some(self.code.op("mul.f32", &[x, Scalar::float(180.0 / PI)]));
            }
            MathFunction::Sign => {
                let zero = Scalar::float(0.0);
                let (above, below) = (
                    self.code.test("setp.gt.f32", &[x, zero]),
                    self.code.test("setp.lt.f32", &[x, zero]),
                );
                let negative = self.code.select(below, Scalar::float(-1.0), zero);
                return Some(self.code.select(above, Scalar::float(1.0), negative));
            }
            _ => return self.angle(fun, x),
        };
        Some(self.code.op(opcode, &[x]))
    }

    /// log2(x) ln(2).
    pub(super) fn log(&mut self, x: Scalar) -> Scalar {
        let log2 = self.code.op("lg2.wgsl.f32", &[x]);
        self.times(log2, std::f64::consts::LN_2)
    }

    /// 2^(x log2(e)).
    fn exp(&mut self, x: Scalar) -> Scalar {
        let power = self.times(x, std::f64::consts::LOG2_E);
        self.code.op("ex2.wgsl.f32", &[power])
    }

    /// A number times a constant, whose high and low part are literals, as in CUDA's library: so it is known what
    /// the constant is, and not only its rounding to f32.
    fn times(&mut self, x: Scalar, constant: f64) -> Scalar {
        #[expect(clippy::cast_possible_truncation, reason = "the high part, and then the low part")]
        let [high, low] = [constant as f32, (constant - f64::from(constant as f32)) as f32];
        let least = self.code.op("mul.f32", &[x, Scalar::float(low)]);
        self.code.op("fma.rn.f32", &[x, Scalar::float(high), least])
    }

    fn cosine(&mut self, x: Scalar) -> Scalar {
        self.code.op("cos.approx.f32", &[x])
    }

    /// (e^x - e^-x) / 2, (e^x + e^-x) / 2.
    fn hyperbolic(&mut self, fun: MathFunction, x: Scalar) -> Scalar {
        let opposite = self.code.op("neg.f32", &[x]);
        let [up, down] = [x, opposite].map(|x| self.exp(x));
        let opcode = if fun == MathFunction::Sinh { "sub.f32" } else { "add.f32" };
        let twice = self.code.op(opcode, &[up, down]);
        self.code.op("mul.f32", &[twice, Scalar::float(0.5)])
    }

    pub(super) fn clamp_float(&mut self, x: Scalar, [low, high]: [f32; 2]) -> Scalar {
        let above = self.code.op("max.f32", &[x, Scalar::float(low)]);
        self.code.op("min.f32", &[above, Scalar::float(high)])
    }

    fn of_floats(&mut self, fun: MathFunction, all: &[Scalar]) -> Option<Scalar> {
        Some(match (fun, all) {
            (MathFunction::Min, &[a, b]) => self.code.op("min.f32", &[a, b]),
            (MathFunction::Max, &[a, b]) => self.code.op("max.f32", &[a, b]),
            (MathFunction::Clamp, &[x, low, high]) => {
                let above = self.code.op("max.f32", &[x, low]);
                self.code.op("min.f32", &[above, high])
            }
            (MathFunction::Pow, &[x, y]) => self.code.op("pow.wgsl.f32", &[x, y]),
            (MathFunction::Atan2, &[y, x]) => self.atan2(y, x),
            (MathFunction::Fma, &[a, b, c]) => self.code.op("fma.rn.f32", &[a, b, c]),
            // x (1 - a) + y a
            (MathFunction::Mix, &[x, y, a]) => {
                let rest = self.code.op("sub.f32", &[Scalar::float(1.0), a]);
                let first = self.code.op("mul.f32", &[x, rest]);
                let second = self.code.op("mul.f32", &[y, a]);
                self.code.op("add.f32", &[first, second])
            }
            (MathFunction::Step, &[edge, x]) => {
                let there = self.code.test("setp.le.f32", &[edge, x]);
                self.code.select(there, Scalar::float(1.0), Scalar::float(0.0))
            }
            // t t (3 - 2 t) of t = clamp((x - low) / (high - low), 0, 1)
            (MathFunction::SmoothStep, &[low, high, x]) => {
                let from = self.code.op("sub.f32", &[x, low]);
                let whole = self.code.op("sub.f32", &[high, low]);
                let part = self.code.op("div.full.f32", &[from, whole]);
                let t = self.clamp_float(part, [0.0, 1.0]);
                let twice = self.code.op("mul.f32", &[Scalar::float(2.0), t]);
                let rest = self.code.op("sub.f32", &[Scalar::float(3.0), twice]);
                let square = self.code.op("mul.f32", &[t, t]);
                self.code.op("mul.f32", &[square, rest])
            }
            _ => return None,
        })
    }

    fn of_integers(&mut self, fun: MathFunction, signed: bool, all: &[Scalar]) -> Option<Scalar> {
        let ty = if signed { "s32" } else { "u32" };
        Some(match (fun, all) {
            (MathFunction::Abs, &[x]) if signed => self.code.op("abs.s32", &[x]),
            (MathFunction::Abs, &[x]) => x,
            (MathFunction::Sign, &[x]) if signed => {
                let above = self.code.op("max.s32", &[x, Scalar::Bits(u32::MAX)]);
                self.code.op("min.s32", &[above, Scalar::Bits(1)])
            }
            (MathFunction::Min, &[a, b]) => self.code.op(&format!("min.{ty}"), &[a, b]),
            (MathFunction::Max, &[a, b]) => self.code.op(&format!("max.{ty}"), &[a, b]),
            (MathFunction::Clamp, &[x, low, high]) => {
                let above = self.code.op(&format!("max.{ty}"), &[x, low]);
                self.code.op(&format!("min.{ty}"), &[above, high])
            }
            (MathFunction::CountOneBits, &[x]) => self.code.op("popc.b32", &[x]),
            (MathFunction::CountLeadingZeros, &[x]) => self.code.op("clz.b32", &[x]),
            (MathFunction::CountTrailingZeros, &[x]) => {
                let turned = self.code.op("brev.b32", &[x]);
                self.code.op("clz.b32", &[turned])
            }
            (MathFunction::ReverseBits, &[x]) => self.code.op("brev.b32", &[x]),
            // All ones where there is none, in PTX as in WGSL.
            (MathFunction::FirstLeadingBit, &[x]) => self.code.op(&format!("bfind.{ty}"), &[x]),
            // x & -x keeps the lowest bit.
            (MathFunction::FirstTrailingBit, &[x]) => {
                let negative = self.code.op("neg.s32", &[x]);
                let lowest = self.code.op("and.b32", &[x, negative]);
                self.code.op("bfind.u32", &[lowest])
            }
            (MathFunction::ExtractBits, &[x, offset, count]) => {
                let [offset, count] = self.field(offset, count);
                self.code.op(&format!("bfe.{ty}"), &[x, offset, count])
            }
            (MathFunction::InsertBits, &[x, bits, offset, count]) => {
                let [offset, count] = self.field(offset, count);
                self.code.op("bfi.b32", &[bits, x, offset, count])
            }
            _ => return None,
        })
    }

    /// WGSL: o = min(offset, 32), c = min(count, 32 - o).
    fn field(&mut self, offset: Scalar, count: Scalar) -> [Scalar; 2] {
        let whole = Scalar::Bits(32);
        let offset = self.code.op("min.u32", &[offset, whole]);
        let rest = self.code.op("sub.u32", &[whole, offset]);
        [offset, self.code.op("min.u32", &[count, rest])]
    }
}
