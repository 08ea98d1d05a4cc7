//! Which expression of the gradient is meant: the same mathematics with other roundings.
//!
//! Public kernels compute one gradient of alpha by different expressions. Over the reals they are
//! equal; in f32 they err differently, some of them far more than others. So the expression is named,
//! like a [`Convention`](super::Convention), and has bounds of its own. What each name stands for, and
//! how far an f32 evaluation of it may stray, is in [`super::formulated`].
//!
//! The named sets ([`NAMED`]) say which expression a public project uses. They were written from the
//! mathematics of those projects' papers and sources; none of their code is contained.

mod parse;
#[cfg(test)]
mod tests;

use crate::arithmetic::{ExtraRoundings, NoRoundings};
use std::fmt;

/// An enum whose values have names in files, reports and on the command line: values, list and names from one text.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$value_doc])* $value),+ }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// The name in files, reports and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $text),+ }
            }
        }
    };
}

named! {
    /// How a walk knows what lies behind the Gaussian that it is at.
    Remainder {
        /// The colour seen through the Gaussian: `behind = alpha c + (1 - alpha) behind`, and alpha's
        /// gradient is `(c - behind) T v`.
        Behind = "behind",
        /// The light that arrives from behind it: `buffer += c alpha T`, and alpha's gradient is
        /// `(c T - buffer / (1 - alpha)) v`.
        Buffer = "buffer",
        /// What is left of the rendered image: `rest -= alpha T c`, and alpha's gradient is
        /// `(c T - rest / (1 - alpha)) v`.
        Image = "image",
        /// The step forward is undone and differentiated: the transmittance's own gradient is carried,
        /// `v_T = alpha c v + (1 - alpha) v_T`, and alpha's is `T (c v - v_T)`.
        State = "state",
    }
}

named! {
    /// In which order a walk meets a pixel's Gaussians.
    WalkOrder {
        /// From the last contributor to the front; the transmittance is divided by `1 - alpha`.
        Back = "back",
        /// From the front again, with a transmittance of 1; the stop is decided again.
        Front = "front",
    }
}

named! {
    /// Where the transmittance behind the last contributor comes from.
    FinalT {
        /// The walk forward stored it.
        Stored = "stored",
        /// It is 1 minus the rendered opacity, rounded: see [`super::formulated::one_minus_alpha`].
        OneMinusAlpha = "one-minus-alpha",
        /// The walk begins in front with a transmittance of 1, as automatic differentiation of the blending loop
        /// does, and what was stored is not read: its bounds hold what the walk forward may come to.
        Recomputed = "recomputed",
    }
}

named! {
    /// How something is divided by `1 - alpha`.
    Divide {
        /// `x / (1 - alpha)`.
        Direct = "direct",
        /// `x ra` with `ra = 1 / (1 - alpha)`.
        Reciprocal = "reciprocal",
    }
}

named! {
    /// The least divisor.
    Floor {
        /// `1 - alpha` as it is.
        None = "none",
        /// `max(1e-6, 1 - alpha)`: another number only where a convention's `alpha_max` is above
        /// `1 - 1e-6`.
        Millionth = "1e-6",
    }
}

named! {
    /// The format that each pair's terms are rounded to before they are added up.
    #[derive(Default)]
    TermFormat {
        /// None: they are f32, as the expression gives them.
        #[default]
        F32 = "f32",
        /// IEEE 754 binary16, to nearest: mixed precision, where the sums stay f32.
        F16 = "f16",
    }
}

impl Remainder {
    /// The order in which this remainder can be known.
    #[must_use]
    #[inline(always)]
    pub const fn walk(self) -> WalkOrder {
        match self {
            Self::Behind | Self::Buffer | Self::State => WalkOrder::Back,
            Self::Image => WalkOrder::Front,
        }
    }

    /// How kernels with this remainder divide as a rule.
    const fn usual_divide(self) -> Divide {
        match self {
            Self::Behind | Self::State => Divide::Direct,
            Self::Buffer | Self::Image => Divide::Reciprocal,
        }
    }
}

impl FinalT {
    /// Those that are read.
    pub const READ: [Self; 2] = [Self::Stored, Self::OneMinusAlpha];
}

/// An expression of the gradient that exists: its order is that of its remainder. With it goes how
/// often a program's own spelling of its intermediates may round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Formulation {
    remainder: Remainder,
    final_t: FinalT,
    divide: Divide,
    floor: Floor,
    extra: ExtraRoundings,
    terms: TermFormat,
}

/// Why fields are not a formulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormulationError(String);

impl From<NoRoundings> for FormulationError {
    fn from(error: NoRoundings) -> Self {
        Self(format!("formulation: {error}"))
    }
}

/// The named sets in one line.
fn names() -> String {
    NAMED.iter().map(|named| named.name).collect::<Vec<_>>().join(", ")
}

impl Formulation {
    /// This project's own kernels, and 3D Gaussian Splatting of 2023.
    pub const STANDARD: Self = Self::of(Remainder::Behind, FinalT::Stored);

    const fn of(remainder: Remainder, final_t: FinalT) -> Self {
        let (divide, extra) = (remainder.usual_divide(), ExtraRoundings::NONE);
        Self { remainder, final_t, divide, floor: Floor::None, extra, terms: TermFormat::F32 }
    }

    /// The formulation of these fields.
    ///
    /// # Errors
    /// [`FormulationError`]: `image` is known from front to back alone, what lies behind a
    /// Gaussian from back to front alone.
    pub fn new(
        remainder: Remainder,
        walk: WalkOrder,
        final_t: FinalT,
        divide: Divide,
        floor: Floor,
    ) -> Result<Self, FormulationError> {
        if walk != remainder.walk() {
            let known = match remainder.walk() {
                WalkOrder::Back => "on a walk from back to front",
                WalkOrder::Front => "on a walk from front to back",
            };
            let (remainder, walk) = (remainder.name(), remainder.walk().name());
            return Err(FormulationError(format!(
                "formulation: remainder = {remainder} is known {known} only: leave walk out or write walk = {walk}"
            )));
        }
        Ok(Self { divide, floor, ..Self::of(remainder, final_t) })
    }

    /// Every expression that exists, its terms f32 and without extra roundings; with a transmittance that is
    /// recomputed, those that walk back and divide as is usual.
    pub fn all() -> impl Iterator<Item = Self> {
        let read = Remainder::ALL.into_iter().flat_map(|remainder| {
            FinalT::READ.into_iter().flat_map(move |final_t| {
                Divide::ALL.into_iter().flat_map(move |divide| {
                    let usual = Self::of(remainder, final_t);
                    Floor::ALL.map(|floor| Self { divide, floor, ..usual })
                })
            })
        });
        let back = Remainder::ALL.into_iter().filter(|one| one.walk() == WalkOrder::Back);
        read.chain(back.map(|remainder| Self::of(remainder, FinalT::Recomputed)))
    }

    /// Those that kernels are known to use: one for each remainder and final transmittance that is read, each divided
    /// by as is usual for it.
    pub fn practised() -> impl Iterator<Item = Self> {
        Remainder::ALL
            .into_iter()
            .flat_map(|remainder| FinalT::READ.map(|final_t| Self::of(remainder, final_t)))
    }

    /// How it knows what lies behind.
    #[must_use]
    #[inline(always)]
    pub const fn remainder(self) -> Remainder {
        self.remainder
    }

    /// In which order it walks.
    #[must_use]
    #[inline(always)]
    pub const fn walk(self) -> WalkOrder {
        self.remainder.walk()
    }

    /// Where its final transmittance comes from.
    #[must_use]
    #[inline(always)]
    pub const fn final_t(self) -> FinalT {
        self.final_t
    }

    /// How it divides.
    #[must_use]
    #[inline(always)]
    pub const fn divide(self) -> Divide {
        self.divide
    }

    /// Its least divisor.
    #[must_use]
    #[inline(always)]
    pub const fn floor(self) -> Floor {
        self.floor
    }

    /// How often a program's spelling of an intermediate may round a term.
    #[must_use]
    #[inline(always)]
    pub const fn extra_roundings(self) -> ExtraRoundings {
        self.extra
    }

    /// The same expression, with so many roundings on a term's way into each intermediate.
    #[must_use]
    pub const fn with_extra_roundings(self, extra: ExtraRoundings) -> Self {
        Self { extra, ..self }
    }

    /// The format that its terms are rounded to.
    #[must_use]
    pub const fn terms(self) -> TermFormat {
        self.terms
    }

    /// The same expression, with its terms rounded to this format.
    #[must_use]
    pub const fn with_terms(self, terms: TermFormat) -> Self {
        Self { terms, ..self }
    }

    /// The named sets that are this expression, however often and to whatever format it rounds.
    pub fn named(self) -> impl Iterator<Item = &'static NamedFormulation> {
        let same = move |named: &&NamedFormulation| {
            named.formulation.with_extra_roundings(self.extra).with_terms(self.terms) == self
        };
        NAMED.iter().filter(same)
    }
}

impl Default for Formulation {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// The remainder, and the fields that are not as usual for it: `buffer, final_t = one-minus-alpha`.
impl fmt::Display for Formulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.remainder.name())?;
        if self.final_t != FinalT::Stored {
            write!(f, ", final_t = {}", self.final_t.name())?;
        }
        if self.divide != self.remainder.usual_divide() {
            write!(f, ", divide = {}", self.divide.name())?;
        }
        if self.floor != Floor::None {
            write!(f, ", floor_1_minus_alpha = {}", self.floor.name())?;
        }
        if self.terms != TermFormat::F32 {
            write!(f, ", terms = {}", self.terms.name())?;
        }
        if !self.extra.is_none() {
            write!(f, ", extra_roundings = {}", self.extra)?;
        }
        Ok(())
    }
}

/// A formulation under the name of the project that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFormulation {
    /// The name on the command line.
    pub name: &'static str,
    /// Its fields.
    pub formulation: Formulation,
    /// The project.
    pub project: &'static str,
    /// Which version of it.
    pub version: &'static str,
}

/// The formulations of public projects.
///
/// Their extra roundings are none: the expressions above are the projects' own, so there is nothing to
/// count on the walk itself. What surrounds it (the power, alpha, the gradients of mean and conic) was
/// not counted in their sources; whoever has such a source beside him gives the count.
pub const NAMED: [NamedFormulation; 7] = [
    NamedFormulation {
        name: "3dgs",
        formulation: Formulation::STANDARD,
        project: "diff-gaussian-rasterization (Kerbl et al.), DISTWAR",
        version: "2023",
    },
    NamedFormulation {
        name: "gsplat-1.5",
        formulation: Formulation::of(Remainder::Buffer, FinalT::OneMinusAlpha),
        project: "gsplat",
        version: "1.5",
    },
    NamedFormulation {
        name: "gsplat-main",
        formulation: Formulation {
            floor: Floor::Millionth,
            ..Formulation::of(Remainder::Buffer, FinalT::OneMinusAlpha)
        },
        project: "gsplat",
        version: "main, 2026",
    },
    NamedFormulation {
        name: "brush",
        formulation: Formulation::of(Remainder::Image, FinalT::OneMinusAlpha),
        project: "Brush",
        version: "since 2025-07",
    },
    NamedFormulation {
        name: "fastgs",
        formulation: Formulation::of(Remainder::Image, FinalT::Stored),
        project: "Taming-3DGS and the fastgs rasterizer of LichtFeld Studio, one lane per Gaussian \
                  with checkpoints of colour and transmittance every 32",
        version: "2024 and 2025",
    },
    NamedFormulation {
        name: "taichi",
        formulation: Formulation {
            divide: Divide::Direct,
            ..Formulation::of(Remainder::Image, FinalT::OneMinusAlpha)
        },
        project: "taichi-splatting",
        version: "2025",
    },
    NamedFormulation {
        name: "slang",
        formulation: Formulation::of(Remainder::State, FinalT::Stored),
        project: "slang-gaussian-rasterization",
        version: "2024",
    },
];
