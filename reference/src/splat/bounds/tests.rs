//! Tests of the bounds that concern more than one file, and the scenes of these tests.

mod merge;
pub(super) mod views;
