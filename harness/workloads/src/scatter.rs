//! Sums by key: its cases, how they are drawn, read and made smaller, which lanes of a kernel add to
//! which row, and what a conforming kernel may return.

pub mod case;
mod case_file;
mod diagnosis;
pub mod generators;
mod judged;
pub mod minimize;
pub mod result_file;
mod space;
mod steps;
mod text;
mod workload;

pub use workload::Scatter;
