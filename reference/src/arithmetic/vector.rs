//! Rows of f64 in the processor's vector registers, chosen at run time.
//!
//! Every operation is the IEEE 754 operation of the scalar, lane by lane, so rows of any width give
//! the same bits. Nothing is fused: `mul_add` is not used.

use super::elementary::{Exponent, exp_lanes};
use super::{Arith, LaneJob, Lanes, Walk};
use pulp::{Arch, Simd, WithSimd, bytemuck};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A row of f64.
#[derive(Clone, Copy, Debug)]
struct Row<S: Simd> {
    simd: S,
    lanes: S::f64s,
}

impl<S: Simd> Row<S> {
    #[inline(always)]
    fn with(self, lanes: S::f64s) -> Self {
        Self { lanes, ..self }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $simd:ident) => {
        impl<S: Simd> $trait for Row<S> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.with(self.simd.$simd(self.lanes, other.lanes))
            }
        }
    };
}

operator!(Add, add, add_f64s);
operator!(Sub, sub, sub_f64s);
operator!(Mul, mul, mul_f64s);
operator!(Div, div, div_f64s);

impl<S: Simd> Neg for Row<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.with(self.simd.neg_f64s(self.lanes))
    }
}

impl<S: Simd> Arith for Row<S> {
    #[inline(always)]
    fn like(self, c: f64) -> Self {
        self.splat(c)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        exp_lanes(self)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.with(self.simd.sqrt_f64s(self.lanes))
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

impl<S: Simd> Lanes for Row<S> {
    type Elem = f64;
    type Mask = S::m64s;
    const LANES: usize = S::F64_LANES;

    #[inline(always)]
    fn splat(self, x: f64) -> Self {
        self.with(self.simd.splat_f64s(x))
    }

    #[inline(always)]
    fn load(self, from: &[f64]) -> Self {
        self.with(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&from[..Self::LANES])))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[..Self::LANES].copy_from_slice(bytemuck::cast_slice(std::slice::from_ref(&self.lanes)));
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.with(self.simd.abs_f64s(self.lanes))
    }

    #[inline(always)]
    fn lt(self, other: Self) -> S::m64s {
        self.simd.less_than_f64s(self.lanes, other.lanes)
    }

    #[inline(always)]
    fn and(self, a: S::m64s, b: S::m64s) -> S::m64s {
        self.simd.and_m64s(a, b)
    }

    #[inline(always)]
    fn not(self, a: S::m64s) -> S::m64s {
        self.simd.not_m64s(a)
    }

    #[inline(always)]
    fn any(self, a: S::m64s) -> bool {
        self.simd.first_true_m64s(a) < Self::LANES
    }

    #[inline(always)]
    fn or_else(self, mask: S::m64s, other: Self) -> Self {
        self.with(self.simd.select_f64s(mask, self.lanes, other.lanes))
    }
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

/// A job that pulp runs with the registers it found.
pub(super) struct Dispatched<J>(pub(super) J);

impl<J: LaneJob<f64>> WithSimd for Dispatched<J> {
    type Output = J::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> J::Output {
        self.0.run(Row { simd, lanes: simd.splat_f64s(0.0) })
    }
}

/// Runs a job in the widest registers that the processor has.
pub(crate) fn dispatch<J: LaneJob<f64>>(job: J) -> J::Output {
    Arch::new().dispatch(Dispatched(job))
}

impl Walk for f64 {
    fn with_lanes<J: LaneJob<Self>>(job: J) -> J::Output {
        #[cfg(test)]
        if let Some(registers) = super::registers::Registers::chosen() {
            return registers.run(job);
        }
        dispatch(job)
    }
}
