//! Comparisons of equal numbers, decided the other way.
//!
//! `x > 0 ? x : 0` and `x >= 0 ? x : 0` are one function of two spellings. At x = 0 they have the same value and
//! another derivative, and neither is wrong: the derivatives from both sides are the ends of the generalized one
//! (Clarke, *Optimization and Nonsmooth Analysis*, 1983, section 2.1). A launch whose ties are reversed is the
//! other spelling. So is one that finds equal numbers unequal, where a value has a branch of its own (`x == 1 ? 1`
//! in a power): the function has the derivative of the other branch there.

use super::super::ir::Comparison;

/// A comparison at which equal numbers met, of which one at least depends on an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tie(pub(super) u32);

/// Which ties are decided the other way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversed {
    /// All of them.
    All,
    /// Those of one comparison.
    At(Tie),
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
