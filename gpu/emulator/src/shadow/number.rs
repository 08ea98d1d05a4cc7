//! What is known of a float beside its bits.

/// 2^-53, the largest relative error of a rounding to f64.
pub(super) const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The number beside a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shadow {
    /// The value of the same operations, on the same path, in real arithmetic (computed in f64).
    pub(crate) x: f64,
    /// How far a conforming execution may be from `x`, by the model of the language.
    pub(crate) r: f32,
    /// How far `x` itself is uncertain: rounded literals, polynomials in place of functions, open
    /// decisions, and the rounding of f64.
    pub(crate) c: f32,
    /// Where it comes from: a node of the tape, a constant of the tape, or [`UNRECORDED`].
    pub(crate) n: u32,
}

/// No input is in it, and the tape has not heard of it yet.
pub(crate) const UNRECORDED: u32 = 0;

/// The node that any input may be in: what was lost has come from there, if nobody knows from where.
pub(crate) const ANYTHING: u32 = 1;

/// Set in what names a constant of the tape.
pub(crate) const CONSTANT: u32 = 1 << 31;

/// Whether inputs of the tape are in what has this origin.
#[inline(always)]
pub(crate) fn depends(n: u32) -> bool {
    n.cast_signed() > 0
}

impl Shadow {
    /// An exact number.
    pub(crate) const fn exact(x: f64) -> Self {
        Self { x, r: 0.0, c: 0.0, n: UNRECORDED }
    }

    /// An f32 as it stands.
    pub(crate) fn single(bits: u32) -> Self {
        Self::exact(f64::from(f32::from_bits(bits)))
    }

    /// What nobody knows anything of.
    pub(crate) const UNKNOWN: Self = Self { x: 0.0, r: 0.0, c: f32::INFINITY, n: ANYTHING };

    /// What two numbers came to that can no longer be told from each other. What no input is in has no part in it.
    pub(crate) fn joined(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if one.n == other.n || other.is_plain() => Some(one),
            (Some(one), Some(other)) if one.is_plain() => Some(other),
            (Some(_), Some(_)) => Some(Self::UNKNOWN),
            (one, other) => one.or(other),
        }
    }

    /// Whether the bits of the float say all that integers may lose of it: no input is in it, and it is
    /// that float (`x` is never further from it than `r`). What a literal stands for is no matter of
    /// integers, which are literals too.
    pub(crate) fn is_plain(&self) -> bool {
        !depends(self.n) && self.r == 0.0 && self.c < f32::INFINITY
    }
}

impl Shadow {
    /// A number of 16 bits, of a format that nobody knows, that left an open lane with nothing beside it.
    pub(super) const DOUBTED: Self = Self { x: 1.0, r: 0.0, c: 1.0, n: UNRECORDED };

    /// A constant that left an open lane, as the number that its bits are in another format.
    pub(super) fn read_as(self, own: Self) -> Self {
        let doubted = self.is_plain() && self.c > 0.0 && f64::from(self.c) >= self.x.abs();
        if doubted { own.uncertain() } else { own }
    }

    /// A number that might have been another, or none.
    pub(crate) fn uncertain(self) -> Self {
        let c = up(f64::from(self.c) + self.x.abs() + f64::from(self.r));
        Self { c, ..self }
    }
}

/// The least positive f32.
const LEAST: f64 = 1.401_298_464_324_817e-45;

/// An f32 that is not less than a bound. One part in 2^22 is added, so that the roundings of the f64
/// operations that made the bound are in it too: each is below one part in 2^52.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "rounded up beforehand")]
pub(crate) fn up(bound: f64) -> f32 {
    // Among subnormals a rounding is half the least of them; a whole one is added. Nothing stays nothing.
    let more = if bound == 0.0 { 0.0 } else { LEAST };
    let raised = bound * (1.0 + 1.0 / 4_194_304.0) + more;
    // What is no number (0 times no bound) is no bound.
    let raised = if raised < f64::INFINITY { raised } else { f64::INFINITY };
    raised as f32
}

/// The bits of no float: what refers with them is never one again.
pub(crate) const NO_FLOAT: u32 = 0x7fff_ffff;

/// What is beside a word of 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Word {
    /// Nothing: its bits are all that there is.
    #[default]
    None,
    /// It is this f32.
    Float(Shadow),
    /// Its lower half is this f16 or bf16.
    Narrow(Shadow),
    /// Its halves are these f16 or bf16; one of them may have nothing beside it.
    Halves([Option<Shadow>; 2]),
    /// It was computed from the bits of this f32.
    Refers(Source<u32>),
    /// It is a whole number of units that was made from a float.
    Count(Count),
    /// Half of a number of 64 bits, or computed from one.
    Part(Part),
    /// It is an integer, and rounding leaves open which one.
    Field(Field),
}

/// What is beside 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Wide {
    /// Nothing.
    #[default]
    None,
    /// It is this f64.
    Double(Shadow),
    /// It was computed from the bits of this f64.
    Refers(Source<u64>),
    /// It is a whole number of units.
    Count(Count),
    /// Its lower and upper word.
    Words([Word; 2]),
}

/// A float and the bits it had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Source<B> {
    pub(crate) shadow: Shadow,
    pub(crate) bits: B,
}

/// A float that was rounded to a whole number of units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Count {
    /// Not rounded; `r` has the rounding.
    pub(crate) shadow: Shadow,
    /// Whether it is a sum: then it was rounded to be added up, and means what was rounded. What goes
    /// back to a float as it came is a floor, and means the whole number.
    pub(crate) summed: bool,
    pub(crate) known: Known,
}

/// How it is known that a whole number is one of units; of several the last that holds of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    /// By its size: it may be a cell's number.
    BySize,
    /// By its scale, or by the manifest: it is in fixed point, and each is as good as what it was rounded from.
    ByScale,
    /// Not: a sum of it may be a count as well.
    Unsure,
}

impl Count {
    /// Whether a whole number may be what it was rounded to.
    pub(crate) fn is_rounded_to(&self, whole: f64) -> bool {
        whole.fract() == 0.0 && (whole - self.shadow.x).abs() <= f64::from(self.shadow.r)
    }
}

/// An integer that was made of the exponent of a float, or of that and the sign. Its bits say all, but for what it decides:
/// near a power of two a conforming execution may have another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) shadow: Shadow,
    /// What it would be where the float is as small or large as rounding may make it.
    pub(crate) ends: [u32; 4],
}

/// Half of a number of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) of: Whole,
    /// All 64 bits that the number had.
    pub(crate) bits: u64,
    pub(crate) upper: bool,
}

/// The number that a [`Part`] is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Whole {
    /// An f64.
    Double(Shadow),
    /// A count of 64 bits.
    Count(Count),
}

impl Whole {
    pub(crate) fn shadow(self) -> Shadow {
        match self {
            Self::Double(shadow) | Self::Count(Count { shadow, .. }) => shadow,
        }
    }
}

impl Word {
    /// Its halves, if nothing but numbers of 16 bits is in it; `None` of a number that is the whole word, or of what
    /// became of one.
    pub(crate) fn halves(self) -> Option<[Option<Shadow>; 2]> {
        match self {
            Self::None | Self::Field(_) => Some([None; 2]),
            Self::Halves(halves) => Some(halves),
            Self::Narrow(low) => Some([Some(low), None]),
            Self::Float(_) | Self::Refers(_) | Self::Count(_) | Self::Part(_) => None,
        }
    }

    /// What refers to a number, and is never it again. Of a number whose bits say all, as a literal's, nothing is left.
    pub(crate) fn garbled(of: Option<Shadow>) -> Self {
        of.filter(|shadow| !shadow.is_plain())
            .map_or(Self::None, |shadow| Self::Refers(Source { shadow, bits: NO_FLOAT }))
    }

    /// The word with these halves.
    pub(crate) fn of_halves(halves: [Option<Shadow>; 2]) -> Self {
        if halves == [None; 2] { Self::None } else { Self::Halves(halves) }
    }

    /// The float that is in it, whatever became of it.
    pub(crate) fn source(&self) -> Option<Shadow> {
        match self {
            Self::None | Self::Field(_) => None,
            Self::Float(shadow) | Self::Narrow(shadow) => Some(*shadow),
            Self::Halves([low, high]) => Shadow::joined(*low, *high),
            Self::Refers(source) => Some(source.shadow),
            Self::Count(count) => Some(count.shadow),
            Self::Part(part) => Some(part.of.shadow()),
        }
    }
}

impl Word {
    /// Constants of another format, as the number that their bits are.
    pub(super) fn read_as(self, own: Shadow) -> Shadow {
        self.source().map_or(own, |shadow| shadow.read_as(own))
    }

    /// The same with every number in it replaced.
    pub(crate) fn each(self, mut f: impl FnMut(Shadow) -> Shadow) -> Self {
        match self {
            // An integer loses nothing.
            Self::None | Self::Field(_) => self,
            Self::Float(shadow) => Self::Float(f(shadow)),
            Self::Narrow(shadow) => Self::Narrow(f(shadow)),
            Self::Halves(halves) => Self::Halves(halves.map(|half| half.map(&mut f))),
            Self::Refers(source) => Self::Refers(Source { shadow: f(source.shadow), ..source }),
            Self::Count(count) => Self::Count(Count { shadow: f(count.shadow), ..count }),
            Self::Part(part) => {
                let of = match part.of {
                    Whole::Double(shadow) => Whole::Double(f(shadow)),
                    Whole::Count(count) => Whole::Count(Count { shadow: f(count.shadow), ..count }),
                };
                Self::Part(Part { of, ..part })
            }
        }
    }
}

impl Wide {
    /// The same with every number in it replaced.
    pub(crate) fn each(self, mut f: impl FnMut(Shadow) -> Shadow) -> Self {
        match self {
            Self::None => Self::None,
            Self::Double(shadow) => Self::Double(f(shadow)),
            Self::Refers(source) => Self::Refers(Source { shadow: f(source.shadow), ..source }),
            Self::Count(count) => Self::Count(Count { shadow: f(count.shadow), ..count }),
            Self::Words(words) => Self::Words(words.map(|word| word.each(&mut f))),
        }
    }

    /// The float that is in it, whatever became of it.
    pub(crate) fn source(&self) -> Option<Shadow> {
        match self {
            Self::None => None,
            Self::Double(shadow) => Some(*shadow),
            Self::Refers(source) => Some(source.shadow),
            Self::Count(count) => Some(count.shadow),
            Self::Words([low, high]) => Shadow::joined(low.source(), high.source()),
        }
    }

    /// Its halves; `bits` are the 64 it has.
    pub(crate) fn words(&self, bits: u64) -> [Word; 2] {
        let parts = |of| [false, true].map(|upper| Word::Part(Part { of, bits, upper }));
        match *self {
            Self::None => [Word::None; 2],
            Self::Words(words) => words,
            Self::Double(shadow) => parts(Whole::Double(shadow)),
            Self::Count(count) => parts(Whole::Count(count)),
            Self::Refers(Source { shadow, bits }) => [false, true]
                .map(|upper| Word::Part(Part { of: Whole::Double(shadow), bits, upper })),
        }
    }

    /// Of two words that become these 64 bits.
    pub(crate) fn of(words: [Word; 2], bits: u64) -> Self {
        // Of a literal that was moved the bits say all, as of an integer.
        let words = words.map(|word| match word {
            Word::Float(shadow) if shadow.is_plain() && shadow.c == 0.0 => Word::None,
            Word::Field(_) => Word::None,
            word => word,
        });
        match words {
            [Word::None, Word::None] => Self::None,
            [Word::Part(low), Word::Part(high)]
                if low.of == high.of && low.bits == high.bits && !low.upper && high.upper =>
            {
                match low.of {
                    Whole::Double(shadow) if low.bits == bits => Self::Double(shadow),
                    Whole::Double(shadow) => Self::Refers(Source { shadow, bits: low.bits }),
                    Whole::Count(count) if low.bits == bits => Self::Count(count),
                    Whole::Count(_) => Self::Words(words),
                }
            }
            _ => Self::Words(words),
        }
    }
}

/// Whether a number may be on either side of 0.
pub(super) fn is_near_zero(shadow: &Shadow) -> bool {
    shadow.x.abs() <= f64::from(shadow.r)
}

/// What is beside a word matters only where its bits do not say it.
pub(super) fn relevant((word, _): &(Word, u32)) -> bool {
    match word {
        Word::None | Word::Field(_) => false,
        // Constants that left an open lane are uncertain as numbers, and are what they are as integers.
        Word::Float(shadow) | Word::Narrow(shadow) => !shadow.is_plain(),
        Word::Halves(halves) => halves.iter().flatten().any(|shadow| !shadow.is_plain()),
        Word::Part(Part { of: Whole::Double(shadow), .. }) => !shadow.is_plain(),
        Word::Refers(_) | Word::Count(_) | Word::Part(_) => true,
    }
}

/// What is beside a word of which some bytes were stored, with `new` beside the whole of it as the thread saw it: the
/// other half is what it is by now. A number of which a byte alone is stored is lost.
pub(crate) fn landed(old: Word, new: Word, bytes: u8) -> Word {
    let of_half = |half: usize| bytes >> (2 * half) & 0b11;
    let is_cut = |half: usize| matches!(of_half(half), 0b01 | 0b10);
    let lost = || Word::garbled(Shadow::joined(old.source(), new.source()));
    match (old.halves(), new.halves()) {
        _ if bytes == 0b1111 => new,
        (Some(old), Some(_)) if [0, 1].iter().any(|&k| is_cut(k) && old[k].is_some()) => lost(),
        (Some(old), Some(new)) => {
            Word::of_halves([0, 1].map(|k| if of_half(k) == 0 { old[k] } else { new[k] }))
        }
        _ if is_cut(0) || is_cut(1) => lost(),
        _ => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up() {
        for exponent in -160..120 {
            for fraction in 0..40 {
                let bound = (1.0 + f64::from(fraction) / 39.3) * 2.0_f64.powi(exponent);
                let raised = f64::from(up(bound));
                assert!(raised >= bound, "{bound:e} became {raised:e}");
                let allowed = bound * (1.0 + 1e-6) + 3e-45;
                assert!(raised <= allowed, "{bound:e} became {raised:e}");
            }
        }
        assert_eq!(up(0.0), 0.0, "nothing stays nothing");
        assert_eq!(up(f64::INFINITY), f32::INFINITY, "no bound");
        assert_eq!(up(f64::NAN), f32::INFINITY, "what is no number is no bound");
    }

    #[test]
    fn what_lands_over_a_byte_of_a_number_loses_it() {
        let number = |n| Shadow { x: 0.1, r: 0.0, c: 1e-9, n };
        let halves = Word::Halves([Some(number(7)), Some(number(8))]);
        let lost = |word: Word| matches!(word, Word::Refers(Source { bits: NO_FLOAT, .. }));
        for bytes in [0b0001, 0b0010, 0b0100, 0b1000] {
            assert!(lost(landed(halves, Word::None, bytes)), "bytes {bytes:04b} of a half");
            assert!(lost(landed(Word::Float(number(7)), Word::None, bytes)), "of an f32");
            assert_eq!(landed(Word::None, Word::None, bytes), Word::None, "of nothing");
        }
        let upper = Word::Halves([None, Some(number(8))]);
        assert_eq!(landed(upper, Word::None, 0b0010), upper, "the other half");
        let both = landed(upper, Word::Narrow(number(7)), 0b0011);
        assert_eq!(both, halves, "a half beside another");
        assert_eq!(landed(halves, Word::None, 0b1111), Word::None, "a whole word");
    }

    #[test]
    fn halves_of_64_bits_find_one_another() {
        let shadow = Shadow { x: 0.1, r: 0.0, c: 1e-9, n: 7 };
        let bits = 0.1_f64.to_bits();
        for wide in [
            Wide::Double(shadow),
            Wide::Count(Count { shadow, summed: true, known: Known::ByScale }),
        ] {
            let [low, high] = wide.words(bits);
            assert_eq!(Wide::of([low, high], bits), wide, "as they were");
            assert_ne!(Wide::of([high, low], bits), wide, "the wrong way round");
            assert_ne!(Wide::of([low, Word::None], bits), wide, "one is another's");
        }
        let literal = Word::Float(Shadow::exact(0.0));
        assert_eq!(Wide::of([literal, Word::None], 0), Wide::None, "a literal below an integer");
        let [low, high] = Wide::Double(shadow).words(bits);
        let changed = Wide::of([low, high], bits ^ 1 << 60);
        assert_eq!(changed, Wide::Refers(Source { shadow, bits }), "its bits were changed");
    }
}
