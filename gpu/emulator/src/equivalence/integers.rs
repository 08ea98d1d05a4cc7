//! What is known of an integer: the least and the largest it can be, and its bits.
//!
//! Every operation here gives a superset: of what the concrete one gives for any integers that its
//! operands may be. The tests try that exhaustively on 8 bits.

/// A set of integers of `width` bits: those of `least..=largest`, read without sign, that have the known
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integers {
    pub(super) least: u64,
    pub(super) largest: u64,
    /// Bits that are 0 in each of them.
    pub(super) zeros: u64,
    /// Bits that are 1 in each of them.
    pub(super) ones: u64,
    pub(super) width: u32,
}

/// All bits of a width.
pub(super) fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl Integers {
    /// Any integer.
    pub(super) fn any(width: u32) -> Self {
        Self { least: 0, largest: mask(width), zeros: 0, ones: 0, width }
    }

    /// One integer.
    pub(super) fn one(value: u64, width: u32) -> Self {
        let value = value & mask(width);
        Self { least: value, largest: value, zeros: !value & mask(width), ones: value, width }
    }

    /// Those between two, both included.
    pub(super) fn between(least: u64, largest: u64, width: u32) -> Self {
        let Self { least, largest, .. } =
            Self { least, largest: largest.min(mask(width)), ..Self::any(width) };
        Self { least, largest, ..Self::any(width) }.tight().unwrap_or(Self::any(width))
    }

    /// Those with these bits.
    pub(super) fn with_bits(zeros: u64, ones: u64, width: u32) -> Self {
        let (zeros, ones) = (zeros & mask(width), ones & mask(width));
        let all = Self { zeros, ones, ..Self::any(width) };
        all.tight().unwrap_or(Self::any(width))
    }

    /// The one that it is, where there is no other.
    pub(super) fn value(self) -> Option<u64> {
        (self.least == self.largest).then_some(self.least)
    }

    /// Makes bounds and bits say what follows from each other; `None` where no integer is left.
    pub(super) fn tight(mut self) -> Option<Self> {
        let all = mask(self.width);
        self.least = self.least.max(self.ones);
        self.largest = self.largest.min(!self.zeros & all);
        if self.least > self.largest || self.zeros & self.ones != 0 {
            return None;
        }
        // The bits above the first in which the bounds differ are those of all between them.
        let differ = self.least ^ self.largest;
        let common = if differ == 0 { all } else { all & !(u64::MAX >> differ.leading_zeros()) };
        self.ones |= self.least & common;
        self.zeros |= !self.least & common;
        (self.zeros & self.ones == 0).then_some(self)
    }

    /// Those of either.
    pub(super) fn or_of(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            largest: self.largest.max(other.largest),
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            width: self.width,
        }
    }

    /// Those of both; `None` where there are none.
    pub(super) fn and_of(self, other: Self) -> Option<Self> {
        Self {
            least: self.least.max(other.least),
            largest: self.largest.min(other.largest),
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
            width: self.width,
        }
        .tight()
    }

    /// Whether none is in both.
    pub(super) fn is_apart_from(self, other: Self) -> bool {
        self.and_of(other).is_none()
    }

    /// The least and the largest, read with a sign.
    pub(super) fn signed(self) -> (i64, i64) {
        let half = 1_u64 << (self.width - 1);
        let sign = |x: u64| (x << (64 - self.width)).cast_signed() >> (64 - self.width);
        if self.largest < half || self.least >= half {
            (sign(self.least), sign(self.largest))
        } else {
            (sign(half), sign(half - 1))
        }
    }

    /// Those between two with a sign.
    pub(super) fn between_signed(least: i64, largest: i64, width: u32) -> Self {
        if (least < 0) == (largest < 0) {
            let bits = |x: i64| x.cast_unsigned() & mask(width);
            Self::between(bits(least), bits(largest), width)
        } else {
            Self::any(width)
        }
    }

    /// Low bits that are known one after the other.
    fn known_low(self) -> u32 {
        (self.zeros | self.ones).trailing_ones().min(self.width)
    }

    /// The bounds of a sum or product of bounds, where it does not wrap or wraps as often for all, with the
    /// low bits that are known.
    fn of_exact(least: u128, largest: u128, low: (u32, u64), width: u32) -> Self {
        let wraps = |x: u128| x >> width;
        let bounds = if wraps(least) == wraps(largest) {
            #[expect(clippy::cast_possible_truncation, reason = "the mask leaves the low bits")]
            let cut = |x: u128| x as u64 & mask(width);
            Self::between(cut(least), cut(largest), width)
        } else {
            Self::any(width)
        };
        let (known, value) = low;
        let low = if known == 0 { 0 } else { mask(known.min(width)) };
        let bits = Self::with_bits(!value & low, value & low, width);
        bounds.and_of(bits).unwrap_or(bits)
    }

    pub(super) fn add(self, other: Self) -> Self {
        let low = self.known_low().min(other.known_low());
        let [a, b] = [self, other];
        let least = u128::from(a.least) + u128::from(b.least);
        let largest = u128::from(a.largest) + u128::from(b.largest);
        Self::of_exact(least, largest, (low, a.ones.wrapping_add(b.ones)), a.width)
    }

    pub(super) fn negate(self) -> Self {
        let one = Self::one(1, self.width);
        match self.value() {
            Some(0) => self,
            _ => self.not().add(one),
        }
    }

    pub(super) fn sub(self, other: Self) -> Self {
        let low = self.known_low().min(other.known_low());
        let width = self.width;
        let base = u128::from(mask(width)) + 1;
        let least = base + u128::from(self.least) - u128::from(other.largest);
        let largest = base + u128::from(self.largest) - u128::from(other.least);
        Self::of_exact(least, largest, (low, self.ones.wrapping_sub(other.ones)), width)
    }

    pub(super) fn mul(self, other: Self) -> Self {
        let known = self.known_low().min(other.known_low());
        let zeros = self.zeros.trailing_ones() + other.zeros.trailing_ones();
        let value = self.ones.wrapping_mul(other.ones);
        let low = if zeros > known { (zeros.min(self.width), 0) } else { (known, value) };
        let least = u128::from(self.least) * u128::from(other.least);
        let largest = u128::from(self.largest) * u128::from(other.largest);
        Self::of_exact(least, largest, low, self.width)
    }

    pub(super) fn not(self) -> Self {
        let all = mask(self.width);
        Self {
            least: !self.largest & all,
            largest: !self.least & all,
            zeros: self.ones,
            ones: self.zeros,
            width: self.width,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        let bits = Self::with_bits(self.zeros | other.zeros, self.ones & other.ones, self.width);
        let most = Self::between(0, self.largest.min(other.largest), self.width);
        bits.and_of(most).unwrap_or(bits)
    }

    pub(super) fn or(self, other: Self) -> Self {
        let bits = Self::with_bits(self.zeros & other.zeros, self.ones | other.ones, self.width);
        let least = self.least.max(other.least);
        bits.and_of(Self::between(least, mask(self.width), self.width)).unwrap_or(bits)
    }

    pub(super) fn xor(self, other: Self) -> Self {
        let zeros = self.zeros & other.zeros | self.ones & other.ones;
        let ones = self.zeros & other.ones | self.ones & other.zeros;
        Self::with_bits(zeros, ones, self.width)
    }

    /// Shifted left by an amount that clamps at the width.
    pub(super) fn shl(self, amount: Self) -> Self {
        match amount.value() {
            Some(by) if by >= u64::from(self.width) => Self::one(0, self.width),
            Some(by) => self.mul(Self::one(1 << by, self.width)),
            None if amount.largest < u64::from(self.width) => {
                let power = Self::between(1 << amount.least, 1 << amount.largest, self.width);
                self.mul(power)
            }
            None => Self::any(self.width),
        }
    }

    /// Shifted right without a sign by an amount that clamps at the width.
    pub(super) fn shr(self, amount: Self) -> Self {
        let by = |x: u64, by: u64| if by >= u64::from(self.width) { 0 } else { x >> by };
        let bounds = Self::between(
            by(self.least, amount.largest),
            by(self.largest, amount.least),
            self.width,
        );
        let Some(amount) = amount.value().filter(|&by| by < u64::from(self.width)) else {
            return bounds;
        };
        let above = mask(self.width) & !(mask(self.width) >> amount);
        let bits = Self::with_bits(self.zeros >> amount | above, self.ones >> amount, self.width);
        bounds.and_of(bits).unwrap_or(bits)
    }

    /// Shifted right with a sign.
    pub(super) fn shr_signed(self, amount: Self) -> Self {
        let (least, largest) = self.signed();
        if least >= 0 {
            return self.shr(amount);
        }
        match amount.value() {
            Some(by) if largest < 0 => {
                let by = by.min(u64::from(self.width) - 1);
                Self::between_signed(least >> by, largest >> by, self.width)
            }
            Some(_) | None => Self::any(self.width),
        }
    }

    pub(super) fn div(self, other: Self) -> Self {
        if other.least == 0 {
            return Self::any(self.width);
        }
        Self::between(self.least / other.largest, self.largest / other.least, self.width)
    }

    pub(super) fn rem(self, other: Self) -> Self {
        if other.least == 0 {
            Self::any(self.width)
        } else if self.largest < other.least {
            self
        } else {
            Self::between(0, self.largest.min(other.largest - 1), self.width)
        }
    }

    pub(super) fn min(self, other: Self) -> Self {
        let (least, largest) = (self.least.min(other.least), self.largest.min(other.largest));
        self.either_between(other, Self::between(least, largest, self.width))
    }

    pub(super) fn max(self, other: Self) -> Self {
        let (least, largest) = (self.least.max(other.least), self.largest.max(other.largest));
        self.either_between(other, Self::between(least, largest, self.width))
    }

    /// Signed extremes, where one sign is known.
    pub(super) fn extreme_signed(self, other: Self, f: fn(i64, i64) -> i64) -> Self {
        let ((a, b), (c, d)) = (self.signed(), other.signed());
        self.either_between(other, Self::between_signed(f(a, c), f(b, d), self.width))
    }

    /// One of the two, within bounds.
    fn either_between(self, other: Self, bounds: Self) -> Self {
        self.or_of(other).and_of(bounds).unwrap_or(bounds)
    }

    /// The number of ones.
    pub(super) fn count_ones(self) -> Self {
        let most = u64::from(self.width - (self.zeros & mask(self.width)).count_ones());
        Self::between(u64::from(self.ones.count_ones()), most, 32)
    }

    /// The number of zeros above the highest one.
    pub(super) fn leading_zeros(self) -> Self {
        let of = |x: u64| u64::from(x.leading_zeros() - (64 - self.width));
        Self::between(of(self.largest), of(self.least), 32)
    }

    /// The bits in the other order.
    pub(super) fn reversed(self) -> Self {
        let by = 64 - self.width;
        let reverse = |x: u64| x.reverse_bits() >> by;
        Self::with_bits(reverse(self.zeros), reverse(self.ones), self.width)
    }

    /// The same without a sign in more bits.
    pub(super) fn widened(self, width: u32) -> Self {
        let above = mask(width) & !mask(self.width);
        Self { zeros: self.zeros | above, width, ..self }
    }

    /// The same with its sign in more bits.
    pub(super) fn extended(self, width: u32) -> Self {
        let (least, largest) = self.signed();
        if least >= 0 { self.widened(width) } else { Self::between_signed(least, largest, width) }
    }

    /// The low bits.
    pub(super) fn low(self, width: u32) -> Self {
        let bits = Self::with_bits(self.zeros, self.ones, width);
        if self.largest <= mask(width) {
            let bounds = Self::between(self.least, self.largest, width);
            bounds.and_of(bits).unwrap_or(bits)
        } else {
            bits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets of 8 bits of every kind, and their members.
    fn sets() -> Vec<(Integers, Vec<u64>)> {
        let mut all = Vec::new();
        let bounds = [0, 1, 2, 5, 63, 127, 128, 129, 200, 254, 255];
        let bits = [(0, 0), (3, 0), (0, 1), (0xf0, 0), (0, 0x80), (0x81, 0x10), (0, 0x7f)];
        for least in bounds {
            for largest in bounds {
                for (zeros, ones) in bits {
                    let set = Integers { least, largest, zeros, ones, width: 8 };
                    let Some(set) = set.tight() else { continue };
                    let is_in = |&x: &u64| {
                        (least..=largest).contains(&x) && x & zeros == 0 && x & ones == ones
                    };
                    let members: Vec<_> = (0..256).filter(is_in).collect();
                    if !members.is_empty() {
                        all.push((set, members));
                    }
                }
            }
        }
        all
    }

    fn holds(set: Integers, value: u64) -> bool {
        let in_bounds = (set.least..=set.largest).contains(&value);
        in_bounds && value & set.zeros == 0 && value & set.ones == set.ones
    }

    fn sign(x: u64) -> i64 {
        (x << 56).cast_signed() >> 56
    }

    #[test]
    fn operations_of_one_operand_leave_nothing_out() {
        type Case = (&'static str, fn(Integers) -> Integers, fn(u64) -> u64);
        let cases: [Case; 8] = [
            ("not", Integers::not, |x| !x & 0xff),
            ("negate", Integers::negate, |x| x.wrapping_neg() & 0xff),
            ("ones", Integers::count_ones, |x| u64::from(x.count_ones())),
            ("zeros", Integers::leading_zeros, |x| u64::from(x.leading_zeros()) - 56),
            ("reversed", Integers::reversed, |x| x.reverse_bits() >> 56),
            ("widened", |x| x.widened(32), |x| x),
            ("extended", |x| x.extended(16), |x| sign(x).cast_unsigned() & 0xffff),
            ("low", |x| x.low(4), |x| x & 15),
        ];
        for (set, members) in sets() {
            for (name, of_set, of_value) in cases {
                let result = of_set(set);
                for &x in &members {
                    let value = of_value(x);
                    assert!(holds(result, value), "{name} of {x} in {set:?}: {value}, {result:?}");
                }
            }
        }
    }

    #[test]
    fn operations_of_two_operands_leave_nothing_out() {
        type Case = (&'static str, fn(Integers, Integers) -> Integers, fn(u64, u64) -> Option<u64>);
        let cases: [Case; 18] = [
            ("add", Integers::add, |a, b| Some((a + b) & 0xff)),
            ("sub", Integers::sub, |a, b| Some(a.wrapping_sub(b) & 0xff)),
            ("mul", Integers::mul, |a, b| Some((a * b) & 0xff)),
            ("and", Integers::and, |a, b| Some(a & b)),
            ("or", Integers::or, |a, b| Some(a | b)),
            ("xor", Integers::xor, |a, b| Some(a ^ b)),
            ("shl", Integers::shl, |a, b| Some(if b > 7 { 0 } else { a << b & 0xff })),
            ("shr", Integers::shr, |a, b| Some(if b > 7 { 0 } else { a >> b })),
            ("sar", Integers::shr_signed, |a, b| {
                Some((sign(a) >> b.min(7)).cast_unsigned() & 0xff)
            }),
            ("div", Integers::div, |a, b| a.checked_div(b)),
            ("rem", Integers::rem, |a, b| a.checked_rem(b)),
            ("min", Integers::min, |a, b| Some(a.min(b))),
            ("max", Integers::max, |a, b| Some(a.max(b))),
            (
                "mins",
                |a, b| a.extreme_signed(b, i64::min),
                |a, b| Some(if sign(a) < sign(b) { a } else { b }),
            ),
            (
                "maxs",
                |a, b| a.extreme_signed(b, i64::max),
                |a, b| Some(if sign(a) > sign(b) { a } else { b }),
            ),
            ("either", Integers::or_of, |a, _| Some(a)),
            ("or the other", Integers::or_of, |_, b| Some(b)),
            ("both", |a, b| a.and_of(b).unwrap_or(Integers::any(8)), |a, b| (a == b).then_some(a)),
        ];
        let sets: Vec<_> = sets().into_iter().step_by(3).collect();
        for (name, of_sets, of_values) in cases {
            for (a, members) in &sets {
                for (b, others) in &sets {
                    let result = of_sets(*a, *b);
                    for &x in members.iter().step_by(7) {
                        for value in others.iter().step_by(5).filter_map(|&y| of_values(x, y)) {
                            assert!(holds(result, value), "{name} of {x} in {a:?}, {b:?}: {value}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_apart_has_no_member_in_common() {
        let sets = sets();
        for (a, members) in sets.iter().step_by(5) {
            for (b, others) in &sets {
                if a.is_apart_from(*b) {
                    assert!(!members.iter().any(|x| others.contains(x)), "{a:?} and {b:?}");
                }
            }
        }
    }
}
