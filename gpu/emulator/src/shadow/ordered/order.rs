//! The orders in which integers that are the bits of floats are compared.

use super::super::super::ir::NarrowFormat;
use super::super::super::rare::narrow::single;
use super::super::number::Shadow;

/// How integers are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compare {
    pub(super) signed: bool,
    /// Whether only their equality counts, which is the same in every order.
    pub(super) equality: bool,
}

/// Of which floats bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Single,
    Double,
    /// The upper word of an f64.
    Upper,
    Half,
    Bfloat,
}

impl Format {
    /// The bit that is the sign.
    pub(super) fn sign(self) -> u64 {
        match self {
            Self::Single | Self::Upper => 1 << 31,
            Self::Double => 1 << 63,
            Self::Half | Self::Bfloat => 1 << 15,
        }
    }

    /// The number that bits are.
    pub(super) fn value(self, bits: u64) -> f64 {
        match self {
            Self::Single => f64::from(f32::from_bits((bits & 0xffff_ffff) as u32)),
            Self::Double => f64::from_bits(bits),
            Self::Upper => f64::from_bits(bits << 32),
            Self::Half => f64::from(single(NarrowFormat::F16, false, bits & 0xffff)),
            Self::Bfloat => f64::from(single(NarrowFormat::Bf16, false, bits & 0xffff)),
        }
    }

    /// What bits hold of a number.
    fn held(self, value: f64) -> f64 {
        match self {
            Self::Single | Self::Double | Self::Half | Self::Bfloat => value,
            Self::Upper => f64::from_bits(value.to_bits() >> 32 << 32),
        }
    }
}

/// An order of integers by which floats are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Of their bits as they are.
    Bits,
    /// Of bits of which the sign is turned, or of negative numbers all.
    Key,
    /// The same with all bits turned.
    Falling,
    /// Of bits of which all are turned.
    Opposite,
    /// Of bits of which all but the sign are turned where they are negative.
    Signed,
}

/// Where a number lies in an order: in its lower or upper part, and how far up there.
type Place = (bool, f64);

impl Order {
    pub(super) const ALL: [Self; 5] =
        [Self::Bits, Self::Key, Self::Falling, Self::Opposite, Self::Signed];

    /// In which orders bits may be of which these are turned, of those that a float `had`.
    pub(super) fn of(turned: u64, had: u64, sign: u64) -> &'static [Self] {
        let (rest, all) = (sign - 1, sign | (sign - 1));
        match (turned, had & sign != 0) {
            (0, false) => &[Self::Bits, Self::Signed],
            (0, true) => &[Self::Bits, Self::Falling],
            (turned, false) if turned == sign => &[Self::Key],
            (turned, false) if turned == rest => &[Self::Falling],
            (turned, true) if turned == rest => &[Self::Signed],
            (turned, false) if turned == all => &[Self::Opposite],
            (turned, true) if turned == all => &[Self::Key, Self::Opposite],
            _ => &[],
        }
    }

    /// The bits of the float that an integer stands for.
    pub(super) fn undone(self, bits: u64, sign: u64) -> u64 {
        let (above, rest) = (bits & sign != 0, sign - 1);
        match self {
            Self::Bits => bits,
            Self::Signed => bits ^ if above { rest } else { 0 },
            Self::Key => bits ^ (sign | if above { 0 } else { rest }),
            Self::Falling => bits ^ if above { 0 } else { rest },
            Self::Opposite => bits ^ (sign | rest),
        }
    }

    /// Whether a comparison goes by it.
    pub(super) fn fits(self, compare: Compare) -> bool {
        compare.equality
            || match self {
                Self::Bits | Self::Opposite => true,
                Self::Signed => compare.signed,
                Self::Key | Self::Falling => !compare.signed,
            }
    }

    /// Where a float lies. Which way round the whole order goes does not matter.
    pub(super) fn place(self, value: f64, negative: bool, compare: Compare) -> Place {
        // What is no number lies behind what is infinite.
        let size = if value.is_nan() { f64::INFINITY } else { value.abs().min(f64::MAX) };
        match self {
            Self::Bits | Self::Opposite => (negative != compare.signed, size),
            Self::Key | Self::Falling | Self::Signed => {
                (false, if negative { -size } else { size })
            }
        }
    }

    /// Where a float may lie: the lowest and the highest place. A zero may have either sign.
    pub(super) fn reach(self, shadow: &Shadow, format: Format, compare: Compare) -> [Place; 2] {
        let r = f64::from(shadow.r);
        let [low, high] = [shadow.x - r, shadow.x + r].map(|end| format.held(end));
        let of = |value: f64, negative: bool| self.place(value, negative, compare);
        let zeros = [of(0.0, false), of(0.0, true)];
        let zeros = if low <= 0.0 && high >= 0.0 { &zeros[..] } else { &[] };
        let first = of(low, low < 0.0);
        let others = zeros.iter().copied().chain([of(high, high < 0.0)]);
        others.fold([first; 2], |[least, most], at| {
            [if at < least { at } else { least }, if at > most { at } else { most }]
        })
    }
}
