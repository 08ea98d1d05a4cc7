//! The host's side of a kernel, once for every device that takes arrays as pointers (CUDA's driver, and the
//! emulator, also of kernels in WGSL): a job's arrays are uploaded
//! in the order of the kernel's parameters, outputs hold poison or what is added to, the kernel is
//! launched, and the outputs come back by name.

use crate::artifact::{Artifact, Build};
use crate::engine::EngineError;
use crate::reduction::Setting;
use crate::stage::{Buffer, Language, Role, Sizes, StageSpec};
use crate::tensor::{TensorError, Tensors};

/// Blocks of a launch and threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) grid: [u32; 2],
    pub(crate) block: u32,
}

/// Blocks in y and z of a grid (CUDA C++ Programming Guide, table of technical specifications).
const MOST_ROWS: u32 = 65_535;

impl Geometry {
    /// The launch of a stage under a setting.
    ///
    /// # Errors
    /// [`EngineError::Input`] for more rows of blocks than CUDA launches.
    pub(crate) fn new(
        stage: &StageSpec,
        setting: Option<Setting>,
        sizes: &Sizes,
    ) -> Result<Self, EngineError> {
        let [x, y] = stage.workgroups(sizes)?;
        if y > MOST_ROWS {
            return Err(EngineError::Input(format!(
                "{} takes {y} rows of blocks, but CUDA launches at most {MOST_ROWS}",
                stage.name
            )));
        }
        let block = stage.workgroup_size(setting.map(|setting| setting.reduction));
        Ok(Self { grid: [x, y], block })
    }
}

/// A device that runs PTX: the CUDA driver's, or the emulator.
pub(crate) trait PtxDevice {
    /// An array on the device.
    type Array;

    /// The kernels that it runs.
    fn build(&self) -> Build;

    /// The language that they are written in.
    fn language(&self) -> Language {
        Language::Ptx
    }

    /// An array with these words. An empty one may hold a word that no kernel reads.
    fn upload(&mut self, what: &str, words: &[u32]) -> Result<Self::Array, EngineError>;

    /// The same of an array that kernels only read. A device may notice a write to it.
    fn upload_input(&mut self, what: &str, words: &[u32]) -> Result<Self::Array, EngineError> {
        self.upload(what, words)
    }

    /// An array of so many words that a kernel is to write: whatever it leaves is noticed.
    fn poison(&mut self, what: &str, words: usize) -> Result<Self::Array, EngineError>;

    /// Runs a kernel; its parameters are the record, by value in PTX, the inputs, the outputs.
    fn launch(&mut self, job: &mut Prepared<Self::Array>) -> Result<(), EngineError>;

    /// The first so many words of an array.
    fn download(
        &mut self,
        what: &str,
        from: &Self::Array,
        words: usize,
    ) -> Result<Vec<u32>, EngineError>;
}

/// A kernel together with its arrays on a device.
#[derive(Debug)]
pub(crate) struct Prepared<A> {
    pub(crate) artifact: Artifact,
    pub(crate) geometry: Geometry,
    /// The record of settings, to be passed by value.
    pub(crate) record: Vec<u32>,
    pub(crate) inputs: Vec<A>,
    pub(crate) outputs: Vec<A>,
}

/// One stage of one job, checked, on its way to a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PtxJob<'a> {
    pub(crate) stage: &'static StageSpec,
    pub(crate) inputs: &'a Tensors,
    pub(crate) sizes: &'a Sizes,
    pub(crate) setting: Option<Setting>,
}

impl PtxJob<'_> {
    /// The kernel that it runs.
    pub(crate) fn artifact(&self, device: &impl PtxDevice) -> Artifact {
        let Self { stage, sizes, setting, .. } = *self;
        let artifact = device.build().artifact(stage, setting, sizes);
        artifact.written_in(device.language(), stage, sizes)
    }

    /// Uploads everything that the kernel takes.
    pub(crate) fn prepare<D: PtxDevice>(
        &self,
        device: &mut D,
    ) -> Result<Prepared<D::Array>, EngineError> {
        let Self { stage, inputs, sizes, setting } = *self;
        let threshold = setting.map_or(0, |setting| setting.threshold);
        let language = device.language();
        let buffers = stage.buffers(language);
        let mut read = Vec::with_capacity(buffers.inputs.len());
        for buffer in buffers.inputs {
            let words = buffer.pack(stage.inputs, sizes, inputs)?;
            read.push(device.upload_input(buffer.name, &words)?);
        }
        let mut written = Vec::with_capacity(buffers.outputs.len());
        for buffer in buffers.outputs {
            written.push(self.output(device, buffer)?);
        }
        Ok(Prepared {
            artifact: self.artifact(device),
            geometry: Geometry::new(stage, setting, sizes)?,
            record: stage.record(inputs, sizes, threshold, language)?,
            inputs: read,
            outputs: written,
        })
    }

    /// The array of an output before the kernel runs.
    fn output<D: PtxDevice>(
        &self,
        device: &mut D,
        buffer: &Buffer,
    ) -> Result<D::Array, EngineError> {
        let words = buffer.words(self.stage.outputs, self.sizes);
        match buffer.role(self.stage.outputs) {
            Role::Write
            | Role::MayWrite
            | Role::Read
            | Role::MayRead
            | Role::BuiltIn(_)
            | Role::Size(_) => device.poison(buffer.name, words),
            Role::Accumulate => device.upload(buffer.name, &vec![0; words]),
            Role::AccumulateOnto(start) => {
                device.upload(buffer.name, self.inputs.get(start)?.words())
            }
        }
    }

    /// Runs the kernel and reads its outputs.
    pub(crate) fn run<D: PtxDevice>(&self, device: &mut D) -> Result<Tensors, EngineError> {
        let mut prepared = self.prepare(device)?;
        device.launch(&mut prepared)?;
        let Self { stage, sizes, .. } = *self;
        let buffers = stage.buffers(device.language());
        let mut outputs = Tensors::new();
        for (buffer, array) in buffers.outputs.iter().zip(&prepared.outputs) {
            let count = buffer.words(stage.outputs, sizes);
            let words = device.download(buffer.name, array, count)?;
            let unpacked = buffer.unpack(stage.outputs, sizes, &words, &mut outputs);
            unpacked.map_err(|error| EngineError::output(TensorError::from(error)))?;
        }
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests;
