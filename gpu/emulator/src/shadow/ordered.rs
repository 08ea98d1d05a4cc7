//! Comparisons of integers that are the bits of floats, or whole numbers that floats became.
//!
//! Integers with a sign order the bits of floats by their sign, and those without one the other way round; within a
//! sign both go by magnitude. Keys, of which the sign or all bits are turned, are ordered as the floats are, or the
//! other way round. In each of these orders a float that may lie anywhere in an interval is in an interval again, and
//! the comparison is open where two of them overlap, as one of floats is. Of integers that are none of this nobody
//! knows what they decide: such a comparison is open, and reported.

mod order;

use super::super::ir::{Compared, Comparison, Setp};
use super::super::lanes::Bits;
use super::fields::{Asked, is_tie, upper_bits_of};
use super::journal::{Journal, Loss};
use super::number::{
    Count, Field, Known, NO_FLOAT, Part, Shadow, Whole, Wide, Word, depends, relevant,
};
use super::registers::Beside;
use super::wides::{self, halves};
use order::{Compare, Format, Order};

/// What a comparison of one lane is; of several in one the last of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    /// Sure.
    Apart,
    /// One of equal numbers.
    Tie,
    /// Rounding leaves it open.
    Open,
    /// Nobody knows.
    Unknown,
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// An integer of which the bits say all.
    Plain(u64),
    /// Bits that were made from those of a float.
    Float {
        shadow: Shadow,
        had: u64,
        bits: u64,
        format: Option<Format>,
    },
    /// A whole number that a float became.
    Whole(Shadow),
    /// An integer that rounding leaves open.
    Field {
        field: Field,
        bits: u64,
    },
    Unknown,
}

impl Side {
    fn of_word((word, bits): (Word, u32)) -> Self {
        let wide = u64::from(bits);
        match word {
            Word::Field(field) => Self::Field { field, bits: wide },
            word if !relevant(&(word, bits)) => Self::Plain(wide),
            Word::None => Self::Plain(wide),
            Word::Float(shadow) => {
                Self::Float { shadow, had: wide, bits: wide, format: Some(Format::Single) }
            }
            Word::Refers(source) if source.bits == NO_FLOAT => Self::Unknown,
            Word::Refers(source) => Self::Float {
                shadow: source.shadow,
                had: source.bits.into(),
                bits: wide,
                format: Some(Format::Single),
            },
            Word::Count(count) => Self::of_count(count, wide),
            Word::Part(Part { of: Whole::Double(shadow), bits: had, upper: true }) => {
                let had = halves(had)[1];
                match moved(bits.wrapping_sub(had)) {
                    Some(by) => {
                        let ends = upper_bits_of(&shadow).map(|end| end.wrapping_add(by));
                        Self::Field { field: Field { shadow, ends }, bits: wide }
                    }
                    None => Self::Float {
                        shadow,
                        had: had.into(),
                        bits: wide,
                        format: Some(Format::Upper),
                    },
                }
            }
            // Of which format it is nobody says.
            Word::Narrow(shadow) if bits >> 16 == 0 => {
                Self::Float { shadow, had: wide, bits: wide, format: None }
            }
            Word::Narrow(_) | Word::Halves(_) | Word::Part(_) => Self::Unknown,
        }
    }

    /// The lower half of a word.
    fn of_half((word, bits): (Word, u32)) -> Self {
        let bits = bits & 0xffff;
        match word {
            Word::Halves([low, _]) => Self::of_word((low.map_or(Word::None, Word::Narrow), bits)),
            word => Self::of_word((word, bits)),
        }
    }

    fn of_wide((wide, bits): wides::Operand) -> Self {
        let format = Some(Format::Double);
        match wide {
            Wide::None => Self::Plain(bits),
            Wide::Double(shadow) if shadow.is_plain() => Self::Plain(bits),
            Wide::Double(shadow) => Self::Float { shadow, had: bits, bits, format },
            Wide::Refers(source) => {
                Self::Float { shadow: source.shadow, had: source.bits, bits, format }
            }
            Wide::Count(count) => Self::of_count(count, bits),
            Wide::Words(_) => Self::Unknown,
        }
    }

    /// What may be a cell was decided where it was rounded.
    fn of_count(count: Count, bits: u64) -> Self {
        match count {
            Count { summed: false, known: Known::BySize, .. } => Self::Plain(bits),
            Count { shadow, .. } => Self::Whole(shadow),
        }
    }

    fn shadow(&self) -> Option<Shadow> {
        match self {
            Self::Float { shadow, .. } | Self::Whole(shadow) => Some(*shadow),
            Self::Plain(_) | Self::Field { .. } | Self::Unknown => None,
        }
    }

    /// As an integer of which the bits say all.
    fn plain(self) -> Self {
        match self {
            Self::Field { bits, .. } => Self::Plain(bits),
            Self::Plain(_) | Self::Float { .. } | Self::Whole(_) | Self::Unknown => self,
        }
    }

    /// The integers that it may be, and the field that it is.
    fn integers(&self) -> (Vec<u32>, Option<Field>) {
        match *self {
            Self::Plain(bits) => (vec![halves(bits)[0]], None),
            Self::Field { field, bits } => {
                let all = field.ends.into_iter().chain([halves(bits)[0]]).collect();
                (all, Some(field))
            }
            Self::Float { .. } | Self::Whole(_) | Self::Unknown => (Vec::new(), None),
        }
    }

    /// The orders in which it may be compared.
    fn orders(&self, format: Format) -> &'static [Order] {
        match *self {
            Self::Plain(_) => &Order::ALL,
            Self::Float { had, bits, .. } => Order::of(had ^ bits, had, format.sign()),
            Self::Whole(_) | Self::Field { .. } | Self::Unknown => &[],
        }
    }
}

/// Which of the words of a lane are compared, and how many bits of them.
#[derive(Clone, Copy, Debug)]
struct Width {
    compare: Compare,
    comparison: Comparison,
    bits: i32,
}

impl Width {
    /// `None` of a comparison of floats.
    fn of(setp: &Setp) -> Option<Self> {
        let (signed, bits) = match setp.compared {
            Compared::Unsigned16 => (false, 16),
            Compared::Signed16 => (true, 16),
            Compared::Unsigned => (false, 32),
            Compared::Signed => (true, 32),
            Compared::Unsigned64 => (false, 64),
            Compared::Signed64 => (true, 64),
            Compared::Float { .. } | Compared::Double | Compared::Narrow { .. } => return None,
        };
        let equality = matches!(setp.comparison, Comparison::Eq | Comparison::Ne);
        let comparison = setp.comparison;
        Some(Self { compare: Compare { signed, equality }, comparison, bits })
    }

    fn decision(self, sides: [Side; 2]) -> Decision {
        let [a, b] = &sides;
        match (a, b) {
            (Side::Plain(_), Side::Plain(_)) => Decision::Apart,
            (Side::Field { .. }, Side::Field { .. } | Side::Plain(_))
            | (Side::Plain(_), Side::Field { .. }) => self.of_fields([a, b]),
            (Side::Field { .. }, _) | (_, Side::Field { .. }) => {
                self.decision(sides.map(Side::plain))
            }
            (Side::Unknown, _) | (_, Side::Unknown) => Decision::Unknown,
            (Side::Whole(_), _) | (_, Side::Whole(_)) => self.of_wholes([a, b]),
            (Side::Float { format, .. }, Side::Plain(_))
            | (Side::Plain(_), Side::Float { format, .. }) => self.of_floats([a, b], *format),
            (Side::Float { format: one, .. }, Side::Float { format: two, .. }) if one == two => {
                self.of_floats([a, b], *one)
            }
            (Side::Float { .. }, Side::Float { .. }) => Decision::Unknown,
        }
    }

    /// Of exponents.
    fn of_fields(self, sides: [&Side; 2]) -> Decision {
        let Self { compare, comparison, bits } = self;
        let [(a, one), (b, other)] = sides.map(Side::integers);
        let signed = compare.signed;
        let asked = Asked { comparison, signed, bits: bits.cast_unsigned().min(32) };
        let fields: Vec<Field> = [one, other].into_iter().flatten().collect();
        match asked.differs([&a, &b]) {
            false => Decision::Apart,
            true if is_tie(&fields) => Decision::Tie,
            true => Decision::Open,
        }
    }

    /// Of numbers of units.
    fn of_wholes(self, sides: [&Side; 2]) -> Decision {
        let turn = 2.0_f64.powi(self.bits);
        // A number below 0 lies beyond all others if it is compared without its sign.
        let place = |value: f64| {
            if value < 0.0 && !self.compare.signed { value + turn } else { value }
        };
        let ends = sides.map(|side| match side {
            Side::Whole(shadow) => {
                let r = f64::from(shadow.r);
                let (low, high) = (shadow.x - r, shadow.x + r);
                let all = low < 0.0 && high >= 0.0 && !self.compare.signed;
                Some(if all { [0.0, turn] } else { [place(low), place(high)] })
            }
            Side::Plain(bits) => {
                let bits = bits << (64 - self.bits) >> (64 - self.bits);
                let signed = (bits << (64 - self.bits)).cast_signed() >> (64 - self.bits);
                let value = if self.compare.signed { signed as f64 } else { bits as f64 };
                Some([value; 2])
            }
            Side::Float { .. } | Side::Field { .. } | Side::Unknown => None,
        });
        let [Some(a), Some(b)] = ends else { return Decision::Unknown };
        let equal = a[0] + a[1] == b[0] + b[1];
        match a[1] < b[0] || b[1] < a[0] {
            true => Decision::Apart,
            false if equal => Decision::Tie,
            false => Decision::Open,
        }
    }

    /// Of bits of floats, all of one format.
    fn of_floats(self, sides: [&Side; 2], format: Option<Format>) -> Decision {
        let fits = |format: &Format| {
            sides.iter().all(|side| match side {
                Side::Float { shadow, had, .. } => {
                    (format.value(*had) - shadow.x).abs() <= f64::from(shadow.r)
                }
                Side::Plain(_) | Side::Whole(_) | Side::Field { .. } | Side::Unknown => true,
            })
        };
        let of = |format: Format| self.of_format(sides, format);
        match format {
            Some(format) => of(format),
            None => {
                let all = [Format::Half, Format::Bfloat].into_iter().filter(fits);
                all.map(of).max().unwrap_or(Decision::Unknown)
            }
        }
    }

    fn of_format(self, sides: [&Side; 2], format: Format) -> Decision {
        let Self { compare, .. } = self;
        let [of_one, of_other] = sides.map(|side| side.orders(format));
        let mut orders = of_one.iter().filter(|order| of_other.contains(order));
        let Some(&order) = orders.find(|order| order.fits(compare)) else {
            return self.of_top_bit(sides, format);
        };
        let value = |side: &Side| match side {
            Side::Plain(bits) => format.value(order.undone(*bits, format.sign())),
            side => side.shadow().map_or(f64::NAN, |shadow| shadow.x),
        };
        let reach = |side: &Side| match side {
            Side::Plain(bits) => {
                let own = order.undone(*bits, format.sign());
                let negative = own & format.sign() != 0;
                [order.place(format.value(own), negative, compare); 2]
            }
            side => side
                .shadow()
                .map_or([(false, 0.0); 2], |shadow| order.reach(&shadow, format, compare)),
        };
        let ([x, y], [a, b]) = (sides.map(value), sides.map(reach));
        let sure = sides.iter().filter_map(|side| side.shadow()).all(|shadow| shadow.r == 0.0);
        let at_zero = sides.iter().filter_map(|side| side.shadow()).any(|shadow| shadow.x == 0.0);
        // What is no number is compared with others in no order of numbers.
        let is_none = sides.iter().filter_map(|side| side.shadow()).any(|s| s.x.is_nan());
        match a[1] < b[0] || b[1] < a[0] {
            true => Decision::Apart,
            false if is_none => Decision::Apart,
            false if x == y => Decision::Tie,
            // Of a zero either sign is right.
            false if sure && at_zero => Decision::Tie,
            false if sure => Decision::Apart,
            false => Decision::Open,
        }
    }

    /// Of a key whose highest bit alone is asked for, as what is below 0: that is a comparison without a sign as well.
    fn of_top_bit(self, sides: [&Side; 2], format: Format) -> Decision {
        let Self { compare, comparison, bits } = self;
        let (top, all) = (1 << (bits - 1), u64::MAX >> (64 - bits));
        let beside = |plain: u64, below: [Comparison; 2], above: [Comparison; 2]| match plain {
            0 if below.contains(&comparison) => Some(Side::Plain(top)),
            _ if plain == all && above.contains(&comparison) => Some(Side::Plain(top - 1)),
            _ => None,
        };
        let (below, above) = ([Comparison::Lt, Comparison::Ge], [Comparison::Le, Comparison::Gt]);
        let plain = match sides {
            [Side::Float { .. }, Side::Plain(plain)] => beside(*plain, below, above),
            [Side::Plain(plain), Side::Float { .. }] => beside(*plain, above, below),
            _ => None,
        };
        let float = sides.into_iter().find(|side| matches!(side, Side::Float { .. }));
        match (plain, float) {
            (Some(plain), Some(float)) if compare.signed => {
                let compare = Compare { signed: false, ..compare };
                Self { compare, ..self }.of_format([float, &plain], format)
            }
            _ => Decision::Unknown,
        }
    }

    /// Of keys of two words: the lower ones decide where the upper ones are equal.
    fn of_words(self, [a, b]: [wides::Operand; 2]) -> Decision {
        let [words, others] = [a, b].map(|(wide, bits)| wide.words(bits));
        let [bits, other_bits] = [a, b].map(|(_, bits)| halves(bits));
        let upper = Self { bits: 32, ..self };
        let compare = Compare { signed: false, ..self.compare };
        let lower = Self { compare, bits: 32, ..self };
        let of = |width: Self, at: usize| {
            let sides = [(words[at], bits[at]), (others[at], other_bits[at])].map(Side::of_word);
            width.decision(sides)
        };
        match (of(upper, 1), bits[1] == other_bits[1]) {
            // Numbers that differ by a rounding only.
            (Decision::Tie, false) => Decision::Open,
            (Decision::Apart | Decision::Tie, true) => of(lower, 0),
            (decision, _) => decision,
        }
    }
}

impl Journal {
    /// `setp` of integers. The lanes where they are equal and depend on an input.
    #[inline(always)]
    pub(super) fn compare_integers(
        &mut self,
        beside: &mut Beside,
        active: u32,
        setp: &Setp,
    ) -> u32 {
        let wide = matches!(setp.compared, Compared::Unsigned64 | Compared::Signed64);
        let lanes = match wide {
            false => beside.changed(setp.a) | beside.changed(setp.b),
            true if beside.has_wide(setp.a) || beside.has_wide(setp.b) => u32::MAX,
            true => 0,
        };
        if lanes & active == 0 || self.exchanges.contains(&self.pc) {
            return 0;
        }
        self.compare_bits(beside, lanes & active, setp)
    }

    #[cold]
    #[inline(never)]
    fn compare_bits(&mut self, beside: &mut Beside, lanes: u32, setp: &Setp) -> u32 {
        let Some(width) = Width::of(setp) else { return 0 };
        let mut tied = 0;
        for lane in Bits(lanes) {
            // What a library function decides says nothing of its result, which is that of the function.
            if beside.is_in_call(lane) {
                continue;
            }
            let (decision, sources) = self.decision_of(beside, lane, (setp, width));
            let decision = match decision {
                Decision::Unknown if Self::is_sure(beside, lane, setp, sources) => {
                    // Of one number alone a kernel may have a branch, as `x == 1 ? 1 : pow(x, y)`.
                    let equal = match width.bits {
                        64 => self.wides[0][lane] == self.wides[1][lane],
                        _ => self.words[0][lane] == self.words[1][lane],
                    };
                    if equal { Decision::Tie } else { Decision::Apart }
                }
                decision => decision,
            };
            // A number beside itself.
            let [a, b] = sources.map(|source| source.map_or(0, |shadow| shadow.n));
            let same = a == b && depends(a);
            if sources == [None, None] || same && decision != Decision::Unknown {
                continue;
            }
            let open = matches!(decision, Decision::Open | Decision::Unknown);
            if decision == Decision::Unknown {
                self.note(Loss::Decision);
            }
            let is_tie = decision == Decision::Tie;
            self.decide_in(beside, lane, open, is_tie);
            tied |= u32::from(is_tie && (depends(a) || depends(b))) << lane;
        }
        tied
    }

    /// Whether integers are the same wherever the floats may lie that they were made of, whatever was done to these. Of
    /// zeros and of equal numbers a kink is not known.
    fn is_sure(beside: &Beside, lane: usize, setp: &Setp, sources: [Option<Shadow>; 2]) -> bool {
        let [a, b] = sources.map(|source| source.map(|shadow| shadow.x));
        let is_wide = matches!(setp.compared, Compared::Unsigned64 | Compared::Signed64);
        let is_sure = |(slot, source): (u16, Option<Shadow>)| {
            let Some(shadow) = source else { return true };
            let is_known =
                shadow.r == 0.0 || !is_wide && is_part_sure(beside.word(slot, lane), setp);
            shadow.x != 0.0 && shadow.c < f32::INFINITY && is_known
        };
        a != b && [setp.a, setp.b].into_iter().zip(sources).all(is_sure)
    }

    /// What the comparison of a lane is, and the numbers that both sides were made from.
    fn decision_of(
        &self,
        beside: &Beside,
        lane: usize,
        (setp, width): (&Setp, Width),
    ) -> (Decision, [Option<Shadow>; 2]) {
        if width.bits == 64 {
            let both = [(setp.a, 0), (setp.b, 1)]
                .map(|(slot, k): (u16, usize)| (beside.wide(slot, lane), self.wides[k][lane]));
            let decision = match both {
                [(Wide::Words(_), _), _] | [_, (Wide::Words(_), _)] => width.of_words(both),
                both => width.decision(both.map(Side::of_wide)),
            };
            return (decision, both.map(|(wide, _)| wide.source()));
        }
        let both = [(setp.a, 0), (setp.b, 1)]
            .map(|(slot, k): (u16, usize)| (self.word(beside, slot, lane), self.words[k][lane]));
        let side = if width.bits == 16 { Side::of_half } else { Side::of_word };
        let source = |operand: (Word, u32)| match operand.0 {
            Word::Field(field) => Some(field.shadow),
            word => word.source().filter(|_| relevant(&operand)),
        };
        (width.decision(both.map(side)), both.map(source))
    }
}

/// How far the upper word of an f64 was moved, if that left its mantissa as it was, or next to it: another exponent or
/// sign, or one less, as a comparison with a range has it.
fn moved(by: u32) -> Option<u32> {
    let beside = by.wrapping_add(1) & 0xf_ffff;
    (by != 0 && beside <= 2).then_some(by)
}

/// Whether the word that a comparison takes of an f64 is the same wherever that may lie. Its lower word is 0 once in 2^32:
/// that is asked of what is infinite or whole.
fn is_part_sure(word: Word, setp: &Setp) -> bool {
    match word {
        Word::Part(Part { of: Whole::Double(shadow), upper: true, .. }) => {
            let ends = upper_bits_of(&shadow);
            ends.iter().all(|end| *end == ends[0])
        }
        Word::Part(Part { of: Whole::Double(_), upper: false, .. }) => {
            matches!(setp.comparison, Comparison::Eq | Comparison::Ne)
        }
        Word::None
        | Word::Float(_)
        | Word::Narrow(_)
        | Word::Halves(_)
        | Word::Refers(_)
        | Word::Count(_)
        | Word::Part(_)
        | Word::Field(_) => false,
    }
}
