//! Shadow execution: beside every float, its value in real arithmetic on the same path, how far rounding
//! may take an execution from it, how far it is uncertain itself, and where it comes from.
//!
//! An observer as coverage is one: nothing is paid for it unless [`Observers::shadow`](super::Observers)
//! asks for it. What it finds is asked of the [`DeviceMemory`](super::DeviceMemory) after a launch.
//!
//! Modules use only those before them: `number` (what is beside a word), `table` (operations), `spare`, `tape`,
//! `sweep`, `terms`, `cells` (memory), `registers`, `polynomials`, `marker`, `constants`, `horner`, `literals`, `conventions`, `ties`, `plan`, `succeeded`, `study` (of a kernel), `journal` (what
//! is kept), then what follows instructions: `magic`, `floats`, `fields`, `bits`, `wides`, `calls`, `ordered`, `signs`, `decide`, `extremes`, `depart`, `atomics`,
//! `rare`, `follow`, `access`, `elements` (of buffers), and what callers ask, `ask`.

pub(super) mod access;
mod ask;
pub(super) mod atomics;
mod bits;
mod calls;
pub(super) mod cells;
mod constants;
mod conventions;
mod decide;
mod depart;
mod elements;
mod endless;
mod extremes;
mod fields;
mod fixed_point;
mod floats;
pub(super) mod follow;
mod horner;
mod host;
pub(super) mod journal;
mod literals;
mod magic;
mod marker;
pub(super) mod number;
mod ordered;
mod plan;
mod polynomials;
mod rare;
pub(super) mod registers;
mod rounded;
mod rounding;
mod signs;
mod spare;
mod study;
mod succeeded;
mod sweep;
mod table;
mod tape;
mod terms;
mod ties;
mod wides;

pub use ask::{Contribution, Derivative, Exact, Gradient, Seed, ShadowError, Shadowing, Share};
pub use calls::MARKERS;
pub use conventions::Conventions;
pub use journal::{Decided, Loss, Lost, Place};
pub use literals::UNKNOWN_FUNCTION;
pub use ties::{Reversed, Site, Which};

#[cfg(test)]
mod tests;
