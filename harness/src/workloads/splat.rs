//! Splat rendering: its cases, how they are drawn, read and made smaller, what goes into its stages
//! and what a conforming kernel may return.

pub mod case;
pub mod contributions;
pub mod expectation;
pub mod files;
pub mod generators;
pub mod minimize;
pub mod stage;
