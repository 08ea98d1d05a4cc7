//! What arrays of a manifest's own hold when its launches have ended: without a case there are no other outputs.

use std::sync::{Mutex, PoisonError};

use splatcheck_gpu::emulator::{ForeignDevice, ForeignProgram};
use splatcheck_gpu::{EngineError, Tensors};

use super::program::{Arrays, ManifestKernel};
use crate::manifest::types::{Contents, Fill, Number};
use crate::manifest::values::count;

/// An array of the manifest's own, behind the last launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The buffer's name, or the place of the parameter.
    pub name: String,
    /// The type of its numbers.
    pub number: Number,
    /// Its sides.
    pub shape: Vec<usize>,
    /// Its numbers; 0xff where nothing was ever written.
    pub bytes: Vec<u8>,
    /// How many bytes were never written.
    pub unwritten: usize,
}

/// A kernel whose arrays of its own are kept.
#[derive(Debug)]
pub struct Keeping<'k> {
    kernel: &'k ManifestKernel,
    kept: Mutex<Vec<Kept>>,
}

impl<'k> Keeping<'k> {
    /// Of this kernel.
    #[must_use]
    pub fn of(kernel: &'k ManifestKernel) -> Self {
        Self { kernel, kept: Mutex::default() }
    }

    /// The arrays of the latest run; none where it was stopped.
    #[must_use]
    pub fn into_kept(self) -> Vec<Kept> {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ForeignProgram for Keeping<'_> {
    fn run(
        &self,
        device: &mut ForeignDevice<'_>,
        inputs: &Tensors,
    ) -> Result<Tensors, EngineError> {
        let arrays = self.kernel.launched(device, inputs)?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = arrays.kept(device)?;
        Ok(Tensors::new())
    }
}

impl Arrays<'_> {
    fn kept(&self, device: &ForeignDevice<'_>) -> Result<Vec<Kept>, EngineError> {
        let named = self.named.iter().filter_map(|(name, buffer)| {
            let contents = self.kernel.buffers.get(*name)?;
            Some((*name, contents, *buffer))
        });
        let own = self.own.iter().map(|own| (own.place, own.contents, own.buffer));
        let mut kept: Vec<Kept> = Vec::new();
        for (name, contents, buffer) in named.chain(own) {
            let (bytes, unwritten) = device.read_marked(buffer);
            let shape = self.sides(contents, bytes.len())?;
            // A structure's members have the place of the structure.
            let same = kept.iter().filter(|one| one.name.split(", array ").next() == Some(name));
            let name = match same.count() {
                0 => name.to_owned(),
                before => format!("{name}, array {}", before + 1),
            };
            kept.push(Kept { name, number: contents.shape.number, shape, bytes, unwritten });
        }
        Ok(kept)
    }

    /// The sides of an array of so many bytes.
    fn sides(&self, contents: &Contents, bytes: usize) -> Result<Vec<usize>, EngineError> {
        if let Fill::Cumsum(_) = contents.fill {
            return Ok(vec![bytes / contents.shape.number.bytes() as usize]);
        }
        let side = |side| Ok(count(side, &self.symbols)? as usize);
        contents.shape.sides.iter().map(side).collect()
    }
}
