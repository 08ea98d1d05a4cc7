//! Comparisons of equal numbers, or of such that rounding leaves open, decided the other way.
//!
//! `x > 0 ? x : 0` and `x >= 0 ? x : 0` are one function of two spellings. At x = 0 they have the same value and
//! another derivative, and neither is wrong: the derivatives from both sides are the ends of the generalized one
//! (Clarke, *Optimization and Nonsmooth Analysis*, 1983, section 2.1). A launch whose ties are reversed is the
//! other spelling. So is one that finds equal numbers unequal, where a value has a branch of its own (`x == 1 ? 1`
//! in a power): the function has the derivative of the other branch there.
//!
//! What a launch leaves whose open decisions are reversed says which numbers depend on them.

use super::super::ir::Comparison;

/// A comparison, among those of all kernels that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site(pub(super) u32);

/// Which decisions are taken the other way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversed {
    /// Of equal numbers, of which one at least depends on an input.
    Ties(Which),
    /// Those that rounding leaves open: what a conforming execution may have taken.
    Open(Which),
}

/// At which comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// At all of them.
    All,
    /// At one.
    At(Site),
}

impl Which {
    pub(super) fn includes(self, site: Site) -> bool {
        match self {
            Self::All => true,
            Self::At(only) => only == site,
        }
    }
}

impl Comparison {
    /// Whether it compares the values of two numbers.
    pub(super) const fn is_of_values(self) -> bool {
        match self {
            Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::Eq | Self::Ne => true,
            Self::Ltu | Self::Leu | Self::Gtu | Self::Geu | Self::Equ | Self::Neu => true,
            Self::Num | Self::Nan => false,
        }
    }
}
