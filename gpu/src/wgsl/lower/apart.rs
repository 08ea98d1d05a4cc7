//! Functions that take a float apart or put one together, and those of matrices and rays that are sums of many
//! products.

use std::rc::Rc;

use super::Lower;
use super::code::Scalar;

/// Powers of two beyond which every f32 becomes 0 or infinity.
const FARTHEST: u32 = 400;

impl Lower<'_> {
    /// `modf`: fractions, then whole numbers.
    pub(super) fn fraction_and_whole(&mut self, all: &[Scalar]) -> Rc<[Scalar]> {
        let whole: Vec<_> = all.iter().map(|&x| self.code.op("cvt.rzi.f32.f32", &[x])).collect();
        let rest = all.iter().zip(&whole).map(|(&x, &w)| self.code.op("sub.f32", &[x, w]));
        let mut both: Vec<_> = rest.collect();
        both.extend(whole);
        both.into()
    }

    /// `frexp`: fractions in 1/2..1, or 0, then powers of two.
    pub(super) fn fraction_and_exponent(&mut self, all: &[Scalar]) -> Rc<[Scalar]> {
        let parts: Vec<_> = all.iter().map(|&x| self.fraction_and_exponent_of(x)).collect();
        let (fractions, powers): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        fractions.into_iter().chain(powers).collect()
    }

    fn fraction_and_exponent_of(&mut self, x: Scalar) -> (Scalar, Scalar) {
        let zero = Scalar::float(0.0);
        // A subnormal number has its power only after it was made a normal one.
        let size = self.code.op("abs.f32", &[x]);
        let least = Scalar::float(f32::MIN_POSITIVE);
        let small = self.code.test("setp.lt.f32", &[size, least]);
        let raised = self.code.op("mul.f32", &[x, Scalar::float(16_777_216.0)]);
        let normal = self.code.select(small, raised, x);
        let bias = self.code.select(small, Scalar::Bits(126 + 24), Scalar::Bits(126));
        let field = [normal, Scalar::Bits(23), Scalar::Bits(8)];
        let biased = self.code.op("bfe.u32", &field);
        let power = self.code.op("sub.u32", &[biased, bias]);
        // The exponent of a half in place of its own.
        let fields = [Scalar::Bits(126), normal, Scalar::Bits(23), Scalar::Bits(8)];
        let fraction = self.code.op("bfi.b32", &fields);
        let none = self.code.test("setp.eq.f32", &[normal, zero]);
        let fraction = self.code.select(none, normal, fraction);
        (fraction, self.code.select(none, Scalar::Bits(0), power))
    }

    /// `ldexp`: x 2^power, in f64, so that it is rounded once.
    pub(super) fn scaled(&mut self, x: Scalar, power: Scalar) -> Scalar {
        let above = self.code.op("max.s32", &[power, Scalar::Bits(FARTHEST.wrapping_neg())]);
        let power = self.code.op("min.s32", &[above, Scalar::Bits(FARTHEST)]);
        let biased = self.code.op("add.u32", &[power, Scalar::Bits(1023)]);
        let high = self.code.op("shl.b32", &[biased, Scalar::Bits(20)]);
        let low = self.code.copied(Scalar::Bits(0));
        let [factor, number, product] = [(); 3].map(|()| self.code.address());
        self.code.line(format_args!("mov.b64 {factor}, {{{low}, {high}}}"));
        let x = self.code.copied(x);
        self.code.line(format_args!("cvt.f64.f32 {number}, {x}"));
        self.code.line(format_args!("mul.rn.f64 {product}, {number}, {factor}"));
        let d = self.code.word();
        self.code.line(format_args!("cvt.rn.f32.f64 {d}, {product}"));
        d
    }

    /// Along the first row, where a number of each column meets the determinant of what is left.
    pub(super) fn determinant(&mut self, all: &[Scalar], side: usize) -> Scalar {
        if side == 1 {
            return all[0];
        }
        let mut pairs = Vec::with_capacity(side);
        for column in 0..side {
            let others = (0..side).filter(|&other| other != column);
            let rest: Vec<_> =
                others.flat_map(|other| (1..side).map(move |row| other * side + row)).collect();
            let rest: Vec<_> = rest.into_iter().map(|at| all[at]).collect();
            let minor = self.determinant(&rest, side - 1);
            let minor = match column % 2 {
                0 => minor,
                _ => self.code.op("neg.f32", &[minor]),
            };
            pairs.push((all[column * side], minor));
        }
        self.sum_of_products(true, &pairs)
    }

    /// `refract`: with k = 1 - r r (1 - (n i) (n i)), r i - (r (n i) + sqrt(k)) n, or zeros where k is negative.
    pub(super) fn refracted(
        &mut self,
        ray: &[Scalar],
        normal: &[Scalar],
        r: Scalar,
    ) -> Rc<[Scalar]> {
        let (zero, one) = (Scalar::float(0.0), Scalar::float(1.0));
        let along = self.dot(true, normal, ray);
        let square = self.code.op("mul.f32", &[along, along]);
        let across = self.code.op("sub.f32", &[one, square]);
        let ratio = self.code.op("mul.f32", &[r, r]);
        let bent = self.code.op("mul.f32", &[ratio, across]);
        let k = self.code.op("sub.f32", &[one, bent]);
        let total = self.code.test("setp.lt.f32", &[k, zero]);
        let root = self.code.op("sqrt.approx.f32", &[k]);
        let kept = self.code.op("mul.f32", &[r, along]);
        let by = self.code.op("add.f32", &[kept, root]);
        let one = |(&i, &n): (&Scalar, &Scalar)| {
            let [first, second] = [(r, i), (by, n)].map(|(a, b)| self.code.op("mul.f32", &[a, b]));
            let through = self.code.op("sub.f32", &[first, second]);
            self.code.select(total, zero, through)
        };
        ray.iter().zip(normal).map(one).collect()
    }
}
