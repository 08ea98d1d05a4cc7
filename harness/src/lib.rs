//! The harness.
pub mod case;
