//! What stands for the engine over drivers in a build without the feature `wgpu`, which has none.

use crate::adapter::{AdapterChoice, Options};
use crate::engine::{DeviceInfo, Engine, EngineError, Work};
use crate::stages::Stage;
use crate::tensor::Tensors;
use crate::wgsl::program::Program;
use crate::wgsl::run::ForeignRun;

/// No engine is of this type.
#[derive(Debug)]
pub enum WgpuEngine {}

impl WgpuEngine {
    /// Whether this build has the drivers of wgpu.
    pub const BUILT_IN: bool = false;

    /// Opens none.
    ///
    /// # Errors
    /// Always [`EngineError::NoDevice`].
    pub fn open(_: &AdapterChoice, _: &Options) -> Result<Self, EngineError> {
        Err(EngineError::NoDevice("this build of splatcheck is without wgpu".to_owned()))
    }

    /// There is none to run it.
    ///
    /// # Errors
    /// None, since there is no engine.
    pub fn run_foreign(
        &mut self,
        _: &Program,
        _: &ForeignRun<'_>,
    ) -> Result<Vec<Vec<u32>>, EngineError> {
        match *self {}
    }
}

impl Engine for WgpuEngine {
    fn info(&self) -> &DeviceInfo {
        match *self {}
    }

    fn run(&mut self, _: Stage, _: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        match *self {}
    }
}
