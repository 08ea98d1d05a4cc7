//! Comparisons of equal numbers, decided the other way.
//!
//! `x > 0 ? x : 0` and `x >= 0 ? x : 0` are one function of two spellings. At x = 0 they have the same value and
//! another derivative, and neither is wrong: the derivatives from both sides are the ends of the generalized one
//! (Clarke, *Optimization and Nonsmooth Analysis*, 1983, section 2.1). A launch whose ties are reversed is the
//! other spelling. An equality (`==`) is no order and is left as it is.

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
    /// Whether it says which of two numbers is less.
    pub(super) const fn orders(self) -> bool {
        match self {
            Self::Lt | Self::Le | Self::Gt | Self::Ge => true,
            Self::Ltu | Self::Leu | Self::Gtu | Self::Geu => true,
            Self::Eq | Self::Ne | Self::Equ | Self::Neu | Self::Num | Self::Nan => false,
        }
    }
}
