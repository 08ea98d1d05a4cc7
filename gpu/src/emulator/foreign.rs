//! A user's program with parameters and launches of its own, in place of a stage's artifacts.
//!
//! The stage says what goes in and what comes out; everything between, what the kernels' parameters
//! are and how they are launched, the program's own host side does ([`ForeignProgram::run`]).

use std::fmt;
use std::sync::Arc;

use splatcheck_emulator::{Argument, Buffer, Fault, Launch, Module};

use super::engine::EmulatorEngine;
use crate::engine::EngineError;
use crate::reduction::Reduction;
use crate::stages::Stage;
use crate::tensor::Tensors;
use crate::wgsl::lower::{Bound, arguments};

/// A program that brings its own host side.
pub trait ForeignProgram: fmt::Debug + Send + Sync {
    /// Runs on the inputs of a job and returns the stage's outputs.
    ///
    /// # Errors
    /// Those of the device; [`EngineError::Input`] where the inputs do not fit the program.
    fn run(&self, device: &mut ForeignDevice<'_>, inputs: &Tensors)
    -> Result<Tensors, EngineError>;
}

/// What a [`ForeignProgram`] does on the emulator: memory, and launches.
#[derive(Debug)]
pub struct ForeignDevice<'e> {
    engine: &'e mut EmulatorEngine,
}

impl ForeignDevice<'_> {
    /// An array that holds these bytes.
    pub fn upload(&mut self, bytes: &[u8]) -> Buffer {
        self.engine.memory_mut().upload(bytes)
    }

    /// An array that holds these bytes and that the kernels only read; a write to it is told by the name.
    pub fn upload_input(&mut self, name: &str, bytes: &[u8]) -> Buffer {
        self.engine.upload_input(name, bytes)
    }

    /// An array of bytes that were never written.
    pub fn allocate(&mut self, bytes: usize) -> Buffer {
        self.engine.memory_mut().allocate(bytes)
    }

    /// The arguments of a kernel that was lowered from WGSL, whose buffers are these.
    #[must_use]
    pub fn arguments(&self, bound: &[Bound], buffers: &[Buffer]) -> Vec<Argument> {
        arguments(bound, buffers, self.engine.memory())
    }

    /// Runs an entry point of a module.
    ///
    /// # Errors
    /// [`EngineError::Input`] where the launch does not fit the kernel, [`EngineError::Device`] for a
    /// misuse of the machine.
    pub fn launch(
        &mut self,
        module: &Module,
        entry: &str,
        launch: &Launch,
    ) -> Result<(), EngineError> {
        self.engine.launch_foreign(module, entry, launch)
    }

    /// The misuse that ended the latest launch, if one did.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.engine.fault()
    }

    /// The array that an address is nearest to, and by how many bytes the address lies after its
    /// first one: a negative number where it lies before.
    #[must_use]
    pub fn buffer_at(&self, address: u64) -> Option<(Buffer, i64)> {
        self.engine.memory().buffer_at(address)
    }

    /// What an array holds. `what` is its name for the message.
    ///
    /// # Errors
    /// [`EngineError::Device`] where part of it was never written.
    pub fn read(&mut self, what: &str, from: Buffer) -> Result<Vec<u8>, EngineError> {
        self.engine.read_back(what, from)
    }

    /// The first bytes of an array, so many or as many as it has.
    ///
    /// # Errors
    /// As [`Self::read`], of these bytes.
    pub fn read_first(
        &mut self,
        what: &str,
        from: Buffer,
        bytes: usize,
    ) -> Result<Vec<u8>, EngineError> {
        self.engine.read_first(what, from, bytes)
    }

    /// What an array holds, with 0xff where nothing was ever written, and how many bytes these are.
    #[must_use]
    pub fn read_marked(&self, from: Buffer) -> (Vec<u8>, usize) {
        self.engine.memory().read_marked(from)
    }
}

impl EmulatorEngine {
    /// Runs a program of a user in place of the artifacts of a stage and reduction, for every number
    /// of channels. A stage that adds nothing up has no reduction.
    pub fn replace_by(
        &mut self,
        (stage, reduction): (Stage, Option<Reduction>),
        program: Arc<dyn ForeignProgram>,
    ) {
        self.insert_foreign((stage.spec().name, reduction), program);
    }

    /// Runs a program of a user on these inputs, whatever stage it may stand in for.
    ///
    /// # Errors
    /// As [`ForeignProgram::run`].
    pub fn run_foreign(
        &mut self,
        program: &dyn ForeignProgram,
        inputs: &Tensors,
    ) -> Result<Tensors, EngineError> {
        self.in_one_process(|engine| program.run(&mut ForeignDevice { engine }, inputs))
    }
}
