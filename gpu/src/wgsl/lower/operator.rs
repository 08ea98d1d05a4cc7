//! Operators, component by component, and products of matrices.

use std::rc::Rc;

use naga::{BinaryOperator, TypeInner, UnaryOperator};

use super::code::Scalar;
use super::shape::{Kind, kind};
use super::{Lower, Lowered};

/// The kind of a value's numbers: of scalars, vectors and matrices, all have one.
pub(super) fn kind_of(ty: &TypeInner) -> Lowered<Kind> {
    match ty {
        TypeInner::Scalar(scalar)
        | TypeInner::Atomic(scalar)
        | TypeInner::Vector { scalar, .. }
        | TypeInner::Matrix { scalar, .. } => kind(*scalar),
        _ => Err("arithmetic on something else than numbers".to_owned()),
    }
}

impl Lower<'_> {
    pub(super) fn unary(
        &mut self,
        op: UnaryOperator,
        ty: &TypeInner,
        value: &[Scalar],
    ) -> Lowered<Rc<[Scalar]>> {
        let kind = kind_of(ty)?;
        let opcode = match (op, kind) {
            (UnaryOperator::Negate, Kind::F32) => "neg.f32",
            (UnaryOperator::Negate, _) => "neg.s32",
            (UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot, Kind::Bool) => {
                return Ok(value.iter().map(|&truth| self.code.not(truth)).collect());
            }
            (UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot, _) => "not.b32",
        };
        Ok(value.iter().map(|&number| self.code.op(opcode, &[number])).collect())
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOperator,
        types: &[TypeInner; 2],
        values: &[Rc<[Scalar]>; 2],
    ) -> Lowered<Rc<[Scalar]>> {
        let [a, b] = values;
        if op == BinaryOperator::Multiply
            && let Some(product) = self.matrix_product(types, a, b)
        {
            return Ok(product);
        }
        let kind = kind_of(&types[0])?;
        // A scalar goes with every component of a vector.
        let count = a.len().max(b.len());
        let pairs = a.iter().copied().cycle().zip(b.iter().copied().cycle()).take(count);
        pairs.map(|(a, b)| self.operate(op, kind, a, b)).collect()
    }

    /// One operation on two numbers of a kind; of a shift the second is unsigned.
    fn operate(&mut self, op: BinaryOperator, kind: Kind, a: Scalar, b: Scalar) -> Lowered<Scalar> {
        if let Some(comparison) = comparison(op) {
            return Ok(self.compare(comparison, kind, a, b));
        }
        if kind == Kind::Bool {
            return match op {
                BinaryOperator::And | BinaryOperator::LogicalAnd => Ok(self.code.and(a, b)),
                BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => Ok(self.code.or(a, b)),
                BinaryOperator::ExclusiveOr => Ok(self.code.xor(a, b)),
                _ => Err("arithmetic on truth values".to_owned()),
            };
        }
        let signed = kind == Kind::I32;
        let opcode = match (op, kind) {
            (BinaryOperator::Add, Kind::F32) => "add.f32",
            (BinaryOperator::Subtract, Kind::F32) => "sub.f32",
            (BinaryOperator::Multiply, Kind::F32) => "mul.f32",
            (BinaryOperator::Divide, Kind::F32) => "div.full.f32",
            (BinaryOperator::Modulo, Kind::F32) => return Ok(self.float_remainder(a, b)),
            (BinaryOperator::Add, _) => "add.u32",
            (BinaryOperator::Subtract, _) => "sub.u32",
            (BinaryOperator::Multiply, _) => "mul.lo.u32",
            (BinaryOperator::Divide, _) => return Ok(self.divide("div", signed, a, b)),
            (BinaryOperator::Modulo, _) => return Ok(self.divide("rem", signed, a, b)),
            (BinaryOperator::And, _) => "and.b32",
            (BinaryOperator::InclusiveOr, _) => "or.b32",
            (BinaryOperator::ExclusiveOr, _) => "xor.b32",
            (BinaryOperator::ShiftLeft, _) => return Ok(self.shift("shl.b32", a, b)),
            (BinaryOperator::ShiftRight, _) => {
                return Ok(self.shift(if signed { "shr.s32" } else { "shr.u32" }, a, b));
            }
            _ => return Err("an operation that numbers do not have".to_owned()),
        };
        Ok(self.code.op(opcode, &[a, b]))
    }

    /// A comparison as PTX names it.
    pub(super) fn compare(&mut self, comparison: &str, kind: Kind, a: Scalar, b: Scalar) -> Scalar {
        let ty = match kind {
            Kind::Bool => {
                let differ = self.code.xor(a, b);
                return if comparison == "eq" { self.code.not(differ) } else { differ };
            }
            // A float that is not a number differs from all.
            Kind::F32 if comparison == "ne" => return self.code.test("setp.neu.f32", &[a, b]),
            Kind::F32 => "f32",
            Kind::I32 => "s32",
            Kind::U32 => "u32",
        };
        self.code.test(&format!("setp.{comparison}.{ty}"), &[a, b])
    }

    /// x - y trunc(x / y), as WGSL defines it.
    fn float_remainder(&mut self, a: Scalar, b: Scalar) -> Scalar {
        let quotient = self.code.op("div.full.f32", &[a, b]);
        let whole = self.code.op("cvt.rzi.f32.f32", &[quotient]);
        let product = self.code.op("mul.f32", &[whole, b]);
        self.code.op("sub.f32", &[a, product])
    }

    /// WGSL: x / 0 is x and x % 0 is 0, and so for the least integer and -1. All are what a division by 1
    /// gives.
    fn divide(&mut self, op: &str, signed: bool, a: Scalar, b: Scalar) -> Scalar {
        let ty = if signed { "s32" } else { "u32" };
        let opcode = format!("{op}.{ty}");
        let least = Scalar::Bits(1 << 31);
        let divisor = match b {
            Scalar::Bits(divisor) if divisor != 0 && !(signed && divisor == u32::MAX) => b,
            _ => {
                let mut wrong = self.code.test("setp.eq.u32", &[b, Scalar::Bits(0)]);
                if signed {
                    let one_less = self.code.test("setp.eq.u32", &[b, Scalar::Bits(u32::MAX)]);
                    let is_least = self.code.test("setp.eq.u32", &[a, least]);
                    let overflows = self.code.and(one_less, is_least);
                    wrong = self.code.or(wrong, overflows);
                }
                self.code.select(wrong, Scalar::Bits(1), b)
            }
        };
        self.code.op(&opcode, &[a, divisor])
    }

    /// WGSL shifts by the distance modulo 32, PTX by at most 32.
    fn shift(&mut self, opcode: &str, a: Scalar, by: Scalar) -> Scalar {
        let by = match by {
            Scalar::Bits(by) => Scalar::Bits(by & 31),
            _ => self.code.op("and.b32", &[by, Scalar::Bits(31)]),
        };
        self.code.op(opcode, &[a, by])
    }

    /// The sum of products, from the first on: WGSL leaves the order open.
    pub(super) fn sum_of_products(&mut self, float: bool, pairs: &[(Scalar, Scalar)]) -> Scalar {
        let (mul, add) = if float { ("mul.f32", "add.f32") } else { ("mul.lo.u32", "add.u32") };
        let mut sum = None;
        for &(a, b) in pairs {
            let product = self.code.op(mul, &[a, b]);
            sum = Some(match sum {
                None => product,
                Some(sum) => self.code.op(add, &[sum, product]),
            });
        }
        sum.unwrap_or(Scalar::Bits(0))
    }

    /// A product with a matrix that is no product with a scalar. Matrices lie column by column.
    fn matrix_product(
        &mut self,
        types: &[TypeInner; 2],
        a: &[Scalar],
        b: &[Scalar],
    ) -> Option<Rc<[Scalar]>> {
        let (rows, inner, columns) = match *types {
            [TypeInner::Matrix { columns: inner, rows, .. }, TypeInner::Vector { .. }] => {
                (rows as usize, inner as usize, 1)
            }
            [TypeInner::Vector { size, .. }, TypeInner::Matrix { columns, .. }] => {
                (1, size as usize, columns as usize)
            }
            [TypeInner::Matrix { columns: inner, rows, .. }, TypeInner::Matrix { columns, .. }] => {
                (rows as usize, inner as usize, columns as usize)
            }
            _ => return None,
        };
        let mut all = Vec::with_capacity(rows * columns);
        for column in 0..columns {
            for row in 0..rows {
                let pairs: Vec<_> =
                    (0..inner).map(|k| (a[k * rows + row], b[column * inner + k])).collect();
                all.push(self.sum_of_products(true, &pairs));
            }
        }
        Some(all.into())
    }
}

fn comparison(op: BinaryOperator) -> Option<&'static str> {
    match op {
        BinaryOperator::Equal => Some("eq"),
        BinaryOperator::NotEqual => Some("ne"),
        BinaryOperator::Less => Some("lt"),
        BinaryOperator::LessEqual => Some("le"),
        BinaryOperator::Greater => Some("gt"),
        BinaryOperator::GreaterEqual => Some("ge"),
        BinaryOperator::Add
        | BinaryOperator::Subtract
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Modulo
        | BinaryOperator::And
        | BinaryOperator::ExclusiveOr
        | BinaryOperator::InclusiveOr
        | BinaryOperator::LogicalAnd
        | BinaryOperator::LogicalOr
        | BinaryOperator::ShiftLeft
        | BinaryOperator::ShiftRight => None,
    }
}
