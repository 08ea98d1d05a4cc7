//! What was compiled of a program that is not ours.

use std::collections::BTreeMap;
use std::rc::Rc;

use wgpu::{BindGroupLayout, ComputePipeline};

/// A pipeline and the layouts of its groups, the first ones without bindings where a program skips them.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) pipeline: ComputePipeline,
    pub(super) groups: Vec<BindGroupLayout>,
    /// Group and binding of the loop guard, where there is one.
    pub(super) guard: Option<(u32, u32)>,
}

/// What was compiled of a program, by entry point and constants.
#[derive(Debug, Default)]
pub(super) struct ForeignKernels {
    pub(super) compiled: BTreeMap<(String, String), Rc<Compiled>>,
}
