//! What concerns more than one stage: each kind of check that the oracle is believed for, and the
//! scenes and roundoff bounds that these tests share.

mod autodiff;
pub(crate) mod containment;
mod coverage;
pub(crate) mod derivative;
mod extra_roundings;
pub(crate) mod finite_difference;
mod formulations;
pub(crate) mod identity;
mod on_image;
mod pair_spellings;
mod pipeline;
mod planted;
pub(crate) mod projection_containment;
mod projection_spellings;
pub(crate) mod roundoff;
pub(crate) mod scenes;
