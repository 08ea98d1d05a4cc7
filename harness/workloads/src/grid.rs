//! Grid encodings: their cases, how they are drawn, read and made smaller, which lanes of the table's
//! gradient add to which entry, and what a conforming kernel may return.

pub mod case;
pub mod case_file;
mod constants;
mod diagnosis;
mod expectation;
mod fields;
pub mod gate;
mod gated;
pub mod generators;
pub mod growth;
mod judged;
pub mod locality;
pub mod minimize;
pub mod points;
pub mod result_file;
mod space;
mod steps;
mod text;
mod workload;

pub use fields::NAME;
pub use workload::Grids;
