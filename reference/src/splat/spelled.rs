//! The projection and a (pixel, Gaussian) pair as public programs spell them: the same mathematics, other
//! roundings.
//!
//! Each [`EvaluationOrder`] is a small program of the stages `project` and `project_backward` that shares no
//! expression of a matrix, a quotient or a polynomial that it spells otherwise with the oracle's. In f64
//! it gives the oracle's numbers but for roundings; in f32 it lies inside the oracle's bounds with as many
//! extra roundings as it states ([`CameraParams::spellings`](crate::splat::project::CameraParams::spellings)), and not inside those without any.

mod backward;
mod forward;
mod pair;

pub use backward::project_backward;
pub use forward::{CovarianceIn, EvaluationOrder, KNOWN_ORDERS, project};
pub use pair::{PRACTISED_PAIRS, Pair, PairInOrder, PairSpelling, PowerAs};
