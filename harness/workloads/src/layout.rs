//! Arrays as other people's kernels have them: which numbers of a case they hold, in which order these
//! lie, and what a project's numbers mean where they are not gsplat's.
//!
//! Launch manifests and [presets](crate::presets) describe the arrays of a kernel by
//! these words alike; `docs/src/manifests.md` and `docs/src/presets.md` list them.

pub mod array;
pub(crate) mod axes;
pub(crate) mod expression;
pub mod held;
pub(crate) mod kind;
pub mod packed;
pub mod symbols;
pub mod tensor;
pub mod written;

pub use array::{Array, Field, Layout, Meaning};
pub use axes::Axes;
pub use expression::{Expression, ExpressionError, Function, Operator};
pub use kind::KernelKind;
pub use symbols::Symbols;
pub use tensor::{Rows, Tensor, Use, Width};
