//! Kernels in WGSL: each compute entry point is lowered to the machine, and its bindings are the parameters.

use std::collections::HashMap;
use std::path::Path;

use splatcheck_emulator::Module;
use splatcheck_gpu::wgsl::lower::{Bound, SourceFile, Target, lower};
use splatcheck_gpu::wgsl::program;

use super::program::{File, ProgramError};

/// Lanes of a subgroup: those of a warp.
const LANES: u32 = 32;

/// What a launch of an entry point needs to know.
#[derive(Debug)]
pub(super) struct Bindings {
    /// The buffers that it uses, in the order of group and binding.
    pub(super) bound: Vec<Bound>,
    /// `@workgroup_size`.
    pub(super) workgroup: [u32; 3],
}

impl Bindings {
    /// The buffers in words: `x (0, 1), y (0, 2)`.
    pub(super) fn words(&self) -> String {
        let one = |bound: &Bound| format!("{} ({}, {})", bound.name, bound.group, bound.binding);
        self.bound.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a file is WGSL, by its name.
pub(super) fn is_wgsl(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wgsl"))
}

/// The entry points of a program, whose indices end a run beyond an array where `bounds` are watched. One that needs
/// what the machine does not have is there with why.
pub(super) fn files(name: &str, text: &str, bounds: bool) -> Result<Vec<File>, ProgramError> {
    let wrong = |why: String| ProgramError::Wgsl { file: name.to_owned(), why };
    let program = program::Program::parse(text).map_err(|error| wrong(error.to_string()))?;
    let own = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sources = [SourceFile { name: own, first: 1 }];
    let file = |entry: &str| {
        let target = Target { bounds, ..Target::of_user(LANES) };
        let (ptx, bindings) = match lower(text, &sources, entry, &HashMap::new(), target) {
            Err(error) => (Err(error.to_string()), None),
            Ok(kernel) => {
                let bindings = Bindings { bound: kernel.buffers, workgroup: kernel.workgroup };
                (Ok(kernel.ptx), Some(bindings))
            }
        };
        let module = ptx.and_then(|text| Module::parse(&text).map_err(|error| error.to_string()));
        Ok(File { name: name.to_owned(), module, entries: vec![entry.to_owned()], bindings })
    };
    program.names().map(file).collect()
}
