//! The host's side on the emulator: arrays in its memory, and the parameters of a launch.

use std::collections::BTreeMap;

use splatcheck_emulator::{Argument, Buffer, DeviceMemory, RunError, Space};

use super::EmulatorEngine;
use super::programs::{self, Program};
use crate::artifact::{Artifact, Build};
use crate::engine::{EngineError, Work};
use crate::ptx_host::{Prepared, PtxDevice};
use crate::stage::Language;
use crate::stages::probe::PROBE;
use crate::tensor::{Data, Tensor, Tensors};
use crate::wgsl::lower::{Bound, arguments};

/// The names of the arrays of a run.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<Buffer, String>);

impl Names {
    pub(super) fn insert(&mut self, buffer: Buffer, name: &str) {
        self.0.insert(buffer, name.to_owned());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// An error in words, with the array that it is about. Of a program in WGSL it names the places in that, since
    /// its user has no PTX to look into.
    pub(super) fn told(&self, error: &RunError, of: (&Program, &DeviceMemory)) -> String {
        let (program, memory) = of;
        let mut told = error.to_string();
        let RunError::Program(fault) = error else { return told };
        let lines = if program.bindings.is_some() { fault.lines() } else { Vec::new() };
        for line in lines {
            let Some(place) = program.module.origin(&program.entry, line) else { continue };
            let named = told
                .replace(&format!("' line {line},"), &format!("' at {place},"))
                .replace(&format!("at line {line} "), &format!("at {place} "));
            told = if named == told { format!("{told} (line {line} is {place})") } else { named };
        }
        let at = match fault.address() {
            Some((Space::Global, address)) => memory.buffer_at(address),
            _ => None,
        };
        if let Some((buffer, byte)) = at
            && let Some(name) = self.0.get(&buffer)
        {
            let bytes = memory.bytes(buffer);
            told = format!("{told} (byte {byte} of '{name}', which has {bytes})");
        }
        told
    }
}

impl PtxDevice for EmulatorEngine {
    type Array = Buffer;

    fn build(&self) -> Build {
        Build { fast_math: self.options.fast_math }
    }

    fn language(&self) -> Language {
        self.options.language
    }

    fn upload(&mut self, what: &str, words: &[u32]) -> Result<Buffer, EngineError> {
        let buffer = self.memory.upload(bytemuck::cast_slice(words));
        self.names.insert(buffer, what);
        Ok(buffer)
    }

    fn upload_input(&mut self, what: &str, words: &[u32]) -> Result<Buffer, EngineError> {
        let buffer = EmulatorEngine::upload_input(self, what, bytemuck::cast_slice(words));
        self.names.insert(buffer, what);
        Ok(buffer)
    }

    fn poison(&mut self, what: &str, words: usize) -> Result<Buffer, EngineError> {
        let buffer = self.memory.allocate(4 * words);
        self.names.insert(buffer, what);
        Ok(buffer)
    }

    fn launch(&mut self, job: &mut Prepared<Buffer>) -> Result<(), EngineError> {
        let arguments = match self.options.language {
            Language::Ptx => {
                let record = (!job.record.is_empty())
                    .then(|| Argument::bytes(bytemuck::cast_slice(&job.record)));
                let arrays = job.inputs.iter().chain(&job.outputs).copied();
                record.into_iter().chain(arrays.map(Argument::from)).collect()
            }
            Language::Wgsl => self.bound(job)?,
        };
        self.execute(job.artifact, job.geometry, arguments)
    }

    fn download(
        &mut self,
        what: &str,
        from: &Buffer,
        _words: usize,
    ) -> Result<Vec<u32>, EngineError> {
        self.read_back(what, *from).map(|bytes| bytemuck::pod_collect_to_vec(&bytes))
    }
}

impl EmulatorEngine {
    /// The parameters of a kernel in WGSL: of what is bound, what it uses. Bindings are numbered as
    /// [`StageSpec::bindings`](crate::stage::StageSpec::bindings) has them.
    fn bound(&mut self, job: &Prepared<Buffer>) -> Result<Vec<Argument>, EngineError> {
        let mut all = Vec::new();
        if !job.record.is_empty() {
            all.push(PtxDevice::upload_input(self, "params", &job.record)?);
        }
        all.extend(job.inputs.iter().chain(&job.outputs));
        let program = programs::loaded(&mut self.programs, &job.artifact, &self.options)?;
        let bound = program.bindings.as_deref().unwrap_or_default();
        let buffer = |bound: &Bound| {
            let buffer = usize::try_from(bound.binding).ok().and_then(|number| all.get(number));
            buffer.copied().ok_or_else(|| {
                let message = format!("the stage binds nothing as '{}'", bound.name);
                EngineError::Compile { kernel: job.artifact.file(), message }
            })
        };
        let buffers = bound.iter().map(buffer).collect::<Result<Vec<_>, _>>()?;
        Ok(arguments(bound, &buffers, &self.memory))
    }

    /// Whether exp(+-0) is exactly 1, by the kernel in WGSL.
    pub(super) fn probe_wgsl(&mut self) -> Result<bool, EngineError> {
        let zeros = Data::F32(vec![0.0, -0.0]);
        let mut inputs = Tensors::new();
        let arguments = Tensor::new("arguments", vec![2], zeros).map_err(EngineError::output)?;
        inputs.insert("arguments", arguments);
        let work = [Work { inputs: &inputs, settings: &[None] }];
        let outputs = self.run_row(&PROBE, &work)?.concat();
        let outputs = outputs.first().ok_or_else(|| EngineError::Device("no answer".to_owned()))?;
        Ok(outputs.f32("exponentials")?.iter().all(|exp| exp.to_bits() == 1.0_f32.to_bits()))
    }

    /// The program of a stage and setting, as it runs.
    ///
    /// # Errors
    /// The program is none, or there is no artifact.
    pub fn ptx(artifact: &Artifact, language: Language, lanes: u32) -> Result<String, EngineError> {
        match language {
            Language::Wgsl => Ok(programs::lowered(artifact, (lanes, false), None)?.ptx),
            Language::Ptx => {
                let failed = |message| EngineError::Compile { kernel: artifact.file(), message };
                Ok(artifact.ptx().map_err(|error| failed(error.to_string()))?.to_owned())
            }
        }
    }
}
