//! A case: one scene with its convention, and why it exists.

use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::scene::Scene;

/// One scene to judge kernels on. All values are f32, exactly those in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Short name, unique in its corpus.
    pub name: String,
    /// One line: what the case is there to catch.
    pub purpose: String,
    /// Numbers of the hazards (1..=20) that it aims at.
    pub hazards: Vec<u8>,
    /// Whose rules hold.
    pub convention: Convention,
    /// The numbers.
    pub scene: Scene<f32>,
}
