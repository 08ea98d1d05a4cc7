//! Several numbers in one word: packing, unpacking, and dot products of four bytes.

use std::rc::Rc;

use naga::MathFunction;

use super::Lower;
use super::code::Scalar;

/// Integers of which a word holds several.
#[derive(Clone, Copy, Debug)]
struct Part {
    bits: u32,
    signed: bool,
}

const I8: Part = Part { bits: 8, signed: true };
const U8: Part = Part { bits: 8, signed: false };
const I16: Part = Part { bits: 16, signed: true };
const U16: Part = Part { bits: 16, signed: false };

impl Part {
    /// The largest.
    fn most(self) -> u32 {
        u32::MAX >> (32 - self.bits + u32::from(self.signed))
    }

    /// How many a word holds.
    fn count(self) -> u32 {
        32 / self.bits
    }

    fn word(self) -> &'static str {
        if self.signed { "s32" } else { "u32" }
    }

    /// What 1 becomes ("normalized" numbers).
    fn scale(self) -> Scalar {
        #[expect(clippy::cast_precision_loss, reason = "below 2^16")]
        Scalar::float(self.most() as f32)
    }
}

impl Lower<'_> {
    /// A function that packs or unpacks; `None` for any other.
    pub(super) fn packing(
        &mut self,
        fun: MathFunction,
        values: &[Rc<[Scalar]>],
    ) -> Option<Rc<[Scalar]>> {
        let value = values.first()?;
        Some(match fun {
            MathFunction::Pack4x8snorm => [self.packed_normals(I8, value)].into(),
            MathFunction::Pack4x8unorm => [self.packed_normals(U8, value)].into(),
            MathFunction::Pack2x16snorm => [self.packed_normals(I16, value)].into(),
            MathFunction::Pack2x16unorm => [self.packed_normals(U16, value)].into(),
            MathFunction::Pack4xI8 => [self.packed(I8, value)].into(),
            MathFunction::Pack4xU8 => [self.packed(U8, value)].into(),
            MathFunction::Pack4xI8Clamp => [self.packed_clamped(I8, value)].into(),
            MathFunction::Pack4xU8Clamp => [self.packed_clamped(U8, value)].into(),
            // PTX has the upper half first.
            MathFunction::Pack2x16float => {
                [self.code.op("cvt.rn.f16x2.f32", &[*value.get(1)?, value[0]])].into()
            }
            MathFunction::Unpack4x8snorm => self.unpacked_normals(I8, value[0]),
            MathFunction::Unpack4x8unorm => self.unpacked_normals(U8, value[0]),
            MathFunction::Unpack2x16snorm => self.unpacked_normals(I16, value[0]),
            MathFunction::Unpack2x16unorm => self.unpacked_normals(U16, value[0]),
            MathFunction::Unpack4xI8 => self.unpacked(I8, value[0]).into(),
            MathFunction::Unpack4xU8 => self.unpacked(U8, value[0]).into(),
            MathFunction::Unpack2x16float => {
                let upper = self.code.op("shr.u32", &[value[0], Scalar::Bits(16)]);
                [value[0], upper].map(|half| self.of_half(half)).into()
            }
            MathFunction::Dot4I8Packed => {
                [self.dot_of_bytes(I8, value[0], values.get(1)?[0])].into()
            }
            MathFunction::Dot4U8Packed => {
                [self.dot_of_bytes(U8, value[0], values.get(1)?[0])].into()
            }
            MathFunction::QuantizeToF16 => {
                let zero = Scalar::float(0.0);
                let half = |&x: &Scalar| {
                    let half = self.code.op("cvt.rn.f16x2.f32", &[zero, x]);
                    self.of_half(half)
                };
                value.iter().map(half).collect()
            }
            _ => return None,
        })
    }

    /// The f16 in the lower half of a word.
    fn of_half(&mut self, word: Scalar) -> Scalar {
        let word = self.code.copied(word);
        self.code.op("cvt.f32.f16", &[word])
    }

    /// The lowest bits of each number, the first one lowest.
    fn packed(&mut self, part: Part, numbers: &[Scalar]) -> Scalar {
        let place = |(number, &x): (u32, &Scalar)| {
            let fields = [Scalar::Bits(number * part.bits), Scalar::Bits(part.bits)];
            (x, fields)
        };
        let mut word = Scalar::Bits(0);
        for (x, [at, bits]) in (0..).zip(numbers).map(place) {
            word = self.code.op("bfi.b32", &[x, word, at, bits]);
        }
        word
    }

    fn packed_clamped(&mut self, part: Part, numbers: &[Scalar]) -> Scalar {
        let least = if part.signed { !part.most() } else { 0 };
        let [max, min] = ["max", "min"].map(|op| format!("{op}.{}", part.word()));
        let clamp = |&x: &Scalar| {
            let above = self.code.op(&max, &[x, Scalar::Bits(least)]);
            self.code.op(&min, &[above, Scalar::Bits(part.most())])
        };
        let clamped: Vec<Scalar> = numbers.iter().map(clamp).collect();
        self.packed(part, &clamped)
    }

    /// floor(1/2 + scale x), of x within -1..1 or 0..1.
    fn packed_normals(&mut self, part: Part, numbers: &[Scalar]) -> Scalar {
        let least = if part.signed { -1.0 } else { 0.0 };
        let opcode = if part.signed { "cvt.rmi.s32.f32" } else { "cvt.rmi.u32.f32" };
        let number = |&x: &Scalar| {
            let within = self.clamp_float(x, [least, 1.0]);
            let scaled = self.code.op("mul.f32", &[within, part.scale()]);
            let raised = self.code.op("add.f32", &[scaled, Scalar::float(0.5)]);
            self.code.op(opcode, &[raised])
        };
        let whole: Vec<Scalar> = numbers.iter().map(number).collect();
        self.packed(part, &whole)
    }

    fn unpacked(&mut self, part: Part, word: Scalar) -> Vec<Scalar> {
        let opcode = format!("bfe.{}", part.word());
        let one = |number: u32| {
            let fields = [word, Scalar::Bits(number * part.bits), Scalar::Bits(part.bits)];
            self.code.op(&opcode, &fields)
        };
        (0..part.count()).map(one).collect()
    }

    /// x / scale, and no less than -1.
    fn unpacked_normals(&mut self, part: Part, word: Scalar) -> Rc<[Scalar]> {
        let convert = format!("cvt.rn.f32.{}", part.word());
        let whole = self.unpacked(part, word);
        let normal = |&x: &Scalar| {
            let float = self.code.op(&convert, &[x]);
            let normal = self.code.op("div.full.f32", &[float, part.scale()]);
            self.code.op("max.f32", &[normal, Scalar::float(-1.0)])
        };
        whole.iter().map(normal).collect()
    }

    fn dot_of_bytes(&mut self, part: Part, a: Scalar, b: Scalar) -> Scalar {
        let pairs: Vec<_> =
            self.unpacked(part, a).into_iter().zip(self.unpacked(part, b)).collect();
        self.sum_of_products(false, &pairs)
    }
}
