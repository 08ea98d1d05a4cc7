//! Rows of f64 and of f32 in the processor's vector registers, chosen at run time.
//!
//! Every operation is the IEEE 754 operation of the scalar, lane by lane, so rows of any width give
//! the same bits. Nothing is fused but [`Arith::mul_add`] of f64, by name.

use super::elementary::{Exponent, exp_lanes, exp_of_power};
use super::numbers::{Arith, LaneJob, Lanes, Scalar, Vectorized};
use pulp::{Arch, Simd, WithSimd, bytemuck};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A row of f64.
#[derive(Clone, Copy, Debug)]
struct Row<S: Simd> {
    simd: S,
    lanes: S::f64s,
}

/// A row of f32.
#[derive(Clone, Copy, Debug)]
struct Row32<S: Simd> {
    simd: S,
    lanes: S::f32s,
}

macro_rules! operator {
    ($row:ident, $trait:ident, $method:ident, $simd:ident) => {
        impl<S: Simd> $trait for $row<S> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.with(self.simd.$simd(self.lanes, other.lanes))
            }
        }
    };
}

/// What is the same for both kinds of rows but for pulp's names: all of it but `exp` and `mul_add`.
macro_rules! row {
    (
        $row:ident of $float:ty: $lanes:ident, $mask:ident, $count:ident,
        $exp:expr, $exp_of_power:expr, $mul_add:expr;
        $add:ident $sub:ident $mul:ident $div:ident $neg:ident $sqrt:ident $abs:ident;
        $splat:ident $less:ident $and:ident $not:ident $first:ident $select:ident
    ) => {
        operator!($row, Add, add, $add);
        operator!($row, Sub, sub, $sub);
        operator!($row, Mul, mul, $mul);
        operator!($row, Div, div, $div);

        impl<S: Simd> $row<S> {
            #[inline(always)]
            fn new(simd: S) -> Self {
                Self { simd, lanes: simd.$splat(0.0) }
            }

            #[inline(always)]
            fn with(self, lanes: S::$lanes) -> Self {
                Self { lanes, ..self }
            }
        }

        impl<S: Simd> Neg for $row<S> {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                self.with(self.simd.$neg(self.lanes))
            }
        }

        impl<S: Simd> Arith for $row<S> {
            #[inline(always)]
            fn like(self, c: f64) -> Self {
                self.splat(<$float>::from_f64(c))
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }

            #[inline(always)]
            fn exp_of_power(self) -> Self {
                $exp_of_power(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.with(self.simd.$sqrt(self.lanes))
            }

            #[inline(always)]
            fn apart<R>(self, part: impl FnOnce() -> R) -> R {
                Simd::vectorize(self.simd, Part(part))
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $mul_add(self, factor, term)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                self.or_else(self.lt(other), other)
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.or_else(other.lt(self), other)
            }
        }

        impl<S: Simd> Lanes for $row<S> {
            type Elem = $float;
            type Mask = S::$mask;
            const LANES: usize = S::$count;

            #[inline(always)]
            fn splat(self, x: $float) -> Self {
                self.with(self.simd.$splat(x))
            }

            #[inline(always)]
            fn load(self, from: &[$float]) -> Self {
                self.with(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&from[..Self::LANES])))
            }

            #[inline(always)]
            fn store(self, to: &mut [$float]) {
                let lanes = bytemuck::cast_slice(std::slice::from_ref(&self.lanes));
                to[..Self::LANES].copy_from_slice(lanes);
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.with(self.simd.$abs(self.lanes))
            }

            #[inline(always)]
            fn lt(self, other: Self) -> S::$mask {
                self.simd.$less(self.lanes, other.lanes)
            }

            #[inline(always)]
            fn and(self, a: S::$mask, b: S::$mask) -> S::$mask {
                self.simd.$and(a, b)
            }

            #[inline(always)]
            fn not(self, a: S::$mask) -> S::$mask {
                self.simd.$not(a)
            }

            #[inline(always)]
            fn any(self, a: S::$mask) -> bool {
                self.simd.$first(a) < Self::LANES
            }

            #[inline(always)]
            fn or_else(self, mask: S::$mask, other: Self) -> Self {
                self.with(self.simd.$select(mask, self.lanes, other.lanes))
            }
        }
    };
}

row!(
    Row of f64: f64s, m64s, F64_LANES, exp_lanes, exp_of_power, fused;
    add_f64s sub_f64s mul_f64s div_f64s neg_f64s sqrt_f64s abs_f64s;
    splat_f64s less_than_f64s and_m64s not_m64s first_true_m64s select_f64s
);

row!(
    Row32 of f32: f32s, m32s, F32_LANES, exp_of_singles, exp_of_singles, unfused;
    add_f32s sub_f32s mul_f32s div_f32s neg_f32s sqrt_f32s abs_f32s;
    splat_f32s less_than_f32s and_m32s not_m32s first_true_m32s select_f32s
);

#[inline(always)]
fn fused<S: Simd>(x: Row<S>, factor: Row<S>, term: Row<S>) -> Row<S> {
    x.with(x.simd.mul_add_f64s(x.lanes, factor.lanes, term.lanes))
}

#[inline(always)]
fn unfused<S: Simd>(x: Row32<S>, factor: Row32<S>, term: Row32<S>) -> Row32<S> {
    x * factor + term
}

/// The most numbers of a row of f32: a block of pixels has no more.
const SINGLES: usize = 8;

/// [`exp_lanes`] in f64, rounded once, as the scalar has it.
#[inline(always)]
fn exp_of_singles<S: Simd>(x: Row32<S>) -> Row32<S> {
    let (mut singles, mut doubles) = ([0.0f32; SINGLES], [0.0f64; SINGLES]);
    x.store(&mut singles);
    for (double, single) in doubles.iter_mut().zip(singles) {
        *double = f64::from(single);
    }
    let row = Row::new(x.simd);
    for lane in (0..S::F32_LANES).step_by(S::F64_LANES) {
        exp_lanes(row.load(&doubles[lane..])).store(&mut doubles[lane..]);
    }
    for (single, double) in singles.iter_mut().zip(doubles) {
        *single = f32::from_f64(double);
    }
    x.load(&singles)
}

impl<S: Simd> Exponent for Row<S> {
    #[inline(always)]
    fn shift_exponent(self, by: Self) -> Self {
        let mut amount = by.lanes;
        // No 64-bit shift in pulp; the loop over the row becomes one.
        for bits in bytemuck::cast_slice_mut::<_, u64>(std::slice::from_mut(&mut amount)) {
            *bits <<= 52;
        }
        let (simd, amount) = (self.simd, self.simd.transmute_u64s_f64s(amount));
        let moved = simd.add_u64s(simd.transmute_u64s_f64s(self.lanes), amount);
        self.with(simd.transmute_f64s_u64s(moved))
    }
}

/// A part of a job that pulp runs with the registers of the whole.
struct Part<F>(F);

impl<R, F: FnOnce() -> R> WithSimd for Part<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> R {
        (self.0)()
    }
}

/// A job that pulp runs with the registers it found.
pub(super) struct Dispatched<J>(pub(super) J);

impl<J: LaneJob<f64>> WithSimd for Dispatched<J> {
    type Output = J::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> J::Output {
        self.0.run(Row::new(simd))
    }
}

/// The same of f32.
pub(super) struct Dispatched32<J>(pub(super) J);

impl<J: LaneJob<f32>> WithSimd for Dispatched32<J> {
    type Output = J::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> J::Output {
        self.0.run(Row32::new(simd))
    }
}

/// Runs a job in the widest registers that the processor has.
pub(crate) fn dispatch<J: LaneJob<f64>>(job: J) -> J::Output {
    Arch::new().dispatch(Dispatched(job))
}

/// The same of f32, in registers of up to [`SINGLES`]: on a processor that has AVX-512's, which hold
/// 16, in AVX2's.
fn dispatch32<J: LaneJob<f32>>(job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, Dispatched32(job));
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(simd) = pulp::aarch64::Neon::try_new() {
        return Simd::vectorize(simd, Dispatched32(job));
    }
    job.run(0.0f32)
}

impl Vectorized for f64 {
    fn with_lanes<J: LaneJob<Self>>(job: J) -> J::Output {
        #[cfg(test)]
        if let Some(registers) = super::registers::Registers::chosen() {
            return registers.run(job);
        }
        dispatch(job)
    }
}

impl Vectorized for f32 {
    fn with_lanes<J: LaneJob<Self>>(job: J) -> J::Output {
        #[cfg(test)]
        if let Some(registers) = super::registers::Registers::chosen() {
            return registers.run_singles(job);
        }
        dispatch32(job)
    }
}
