//! How the numbers of a WGSL type lie in a buffer, word by word: alignment and strides are the language's.

use std::fmt;

use naga::proc::Layouter;
use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner};

/// Words up to which a type is spelled out: nothing that is larger is given number by number.
const MOST: u32 = 1 << 14;

/// What four bytes of a buffer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A float.
    F32,
    /// A signed integer, perhaps an atomic one.
    I32,
    /// An unsigned integer, perhaps an atomic one.
    U32,
    /// A part of a number of another size.
    Other,
    /// Nothing: alignment.
    Padding,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "f32",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::Other => "a number of other than 32 bits",
            Self::Padding => "padding",
        })
    }
}

/// The array that a type is, or ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The words of an element, padded to the stride.
    pub element: Vec<Word>,
    /// How many elements there are; `None` where the buffer says so.
    pub count: Option<u32>,
}

/// The words of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Those in front of the array; all of them where there is none.
    pub head: Vec<Word>,
    /// The array.
    pub array: Option<Repeated>,
    /// Bytes that a buffer of the type has at least.
    pub least_bytes: u32,
}

impl Layout {
    /// That of a type in a module which was validated.
    pub(super) fn of(module: &Module, ty: Handle<Type>) -> Self {
        let mut layouter = Layouter::default();
        // A validated module's types have layouts.
        let _ = layouter.update(module.to_ctx());
        let least_bytes = layouter[ty].size;
        let spell = Spell { module, layouter: &layouter };
        match &module.types[ty].inner {
            TypeInner::Array { base, size, stride } => {
                let array = Some(spell.array(*base, *size, *stride));
                Self { head: Vec::new(), array, least_bytes }
            }
            TypeInner::Struct { members, .. } => {
                let last = members.last().map(|member| &module.types[member.ty].inner);
                let (fixed, array) = match (last, members.split_last()) {
                    (
                        Some(TypeInner::Array { base, size: ArraySize::Dynamic, stride }),
                        Some((last, fixed)),
                    ) => {
                        let array = spell.array(*base, ArraySize::Dynamic, *stride);
                        (fixed, Some((array, last.offset)))
                    }
                    _ => (&members[..], None),
                };
                let mut head = Vec::new();
                for member in fixed {
                    spell.pad_to(&mut head, in_words(member.offset));
                    spell.words(member.ty, &mut head);
                }
                let end = array.as_ref().map_or(least_bytes, |(_, offset)| *offset);
                spell.pad_to(&mut head, in_words(end));
                Self { head, array: array.map(|(array, _)| array), least_bytes }
            }
            _ => {
                let mut head = Vec::new();
                spell.words(ty, &mut head);
                Self { head, array: None, least_bytes }
            }
        }
    }

    /// All words of a type of fixed size; `None` for one that has none, or is huge.
    #[must_use]
    pub fn fixed(&self) -> Option<Vec<Word>> {
        if self.head.len() >= MOST as usize {
            return None;
        }
        let Some(Repeated { element, count }) = &self.array else { return Some(self.head.clone()) };
        let count = (*count)?;
        let words = u64::from(count).saturating_mul(element.len() as u64);
        let all = element.iter().copied().cycle();
        let repeated = all.take(usize::try_from(words).ok().filter(|_| words <= MOST.into())?);
        Some(self.head.iter().copied().chain(repeated).collect())
    }
}

struct Spell<'m> {
    module: &'m Module,
    layouter: &'m Layouter,
}

impl Spell<'_> {
    /// Pads to so many words.
    fn pad_to(&self, words: &mut Vec<Word>, end: usize) {
        let end = end.min(MOST as usize);
        if words.len() < end {
            words.resize(end, Word::Padding);
        }
    }

    fn array(&self, base: Handle<Type>, size: ArraySize, stride: u32) -> Repeated {
        let mut element = Vec::new();
        self.words(base, &mut element);
        self.pad_to(&mut element, in_words(stride));
        let count = match size {
            ArraySize::Constant(count) => Some(count.get()),
            ArraySize::Pending(_) | ArraySize::Dynamic => None,
        };
        Repeated { element, count }
    }

    /// Adds the words of a type.
    fn words(&self, ty: Handle<Type>, words: &mut Vec<Word>) {
        let end = words.len() + in_words(self.layouter[ty].size);
        match &self.module.types[ty].inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => {
                words.extend(number(*scalar));
            }
            TypeInner::Vector { size, scalar } => {
                (0..*size as u8).for_each(|_| words.extend(number(*scalar)));
            }
            TypeInner::Matrix { columns, rows, scalar } => {
                // Columns lie as vectors do: three numbers take the place of four.
                let stride = if *rows as u8 == 2 { 2 } else { 4 };
                for _ in 0..*columns as u8 {
                    let start = words.len();
                    (0..*rows as u8).for_each(|_| words.extend(number(*scalar)));
                    words.resize(start + stride, Word::Padding);
                }
            }
            TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
                let element = self.array(*base, ArraySize::Dynamic, *stride).element;
                for _ in 0..count.get() {
                    if words.len() >= MOST as usize {
                        break;
                    }
                    words.extend_from_slice(&element);
                }
            }
            TypeInner::Struct { members, .. } => {
                let start = words.len();
                for member in members {
                    self.pad_to(words, start + in_words(member.offset));
                    self.words(member.ty, words);
                }
            }
            _ => words.push(Word::Other),
        }
        self.pad_to(words, end);
    }
}

/// Bytes as words.
fn in_words(bytes: u32) -> usize {
    (bytes / 4) as usize
}

/// The words of a number.
fn number(scalar: Scalar) -> Vec<Word> {
    let word = match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => Word::F32,
        (ScalarKind::Sint, 4) => Word::I32,
        (ScalarKind::Uint, 4) => Word::U32,
        _ => Word::Other,
    };
    vec![word; usize::from(scalar.width).div_ceil(4)]
}
