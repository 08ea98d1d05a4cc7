//! What a stage is run on.

use crate::reduction::Setting;
use crate::tensor::Tensors;

/// Inputs of a stage, and the settings to run it with: `None` for a stage that reduces nothing.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The arrays that the stage's table lists.
    pub inputs: &'a Tensors,
    /// The settings.
    pub settings: &'a [Option<Setting>],
}
