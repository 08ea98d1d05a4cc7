//! A user's own kernel with the interface of `rasterize_backward`, in place of an artifact.

use std::fmt::Write as _;

use splatcheck_emulator::Module;

use super::engine::EmulatorEngine;
use crate::engine::EngineError;
use crate::reduction::Reduction;
use crate::reduction::WORKGROUP_SIZE;
use crate::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_emulator::ParseError;

/// Bytes of a pointer.
const POINTER: u32 = 8;

/// The parameters of the interface, in order, as CUDA C++ declares them, with their shapes: N
/// Gaussians, D channels, T tiles of 16x16 pixels, M (tile, Gaussian) pairs, image H x W.
pub const PARAMETERS: [(&str, &str); 9] = [
    ("Params params", "by value, 176 bytes: see the struct"),
    ("const float* gaussians", "[N,6+D] rows: mean (2), conic (3), opacity, colour (D)"),
    ("const unsigned* tile_offsets", "[T+1] tile t owns flatten_ids[offsets[t]..offsets[t+1]]"),
    ("const unsigned* flatten_ids", "[M] Gaussians of each tile, front to back"),
    ("const float* render_transmittance", "[H,W] after the last contributor"),
    ("const int* last_ids", "[H,W] place in flatten_ids of the last contributor, -1 for none"),
    ("const float* v_render_colors", "[H,W,D]"),
    ("const float* v_render_alphas", "[H,W]"),
    ("float* gradients", "[N,6+D] rows as in gaussians: zeros, to be added to"),
];

/// The bytes that a kernel of the interface takes for each parameter.
fn parameter_sizes() -> [u32; PARAMETERS.len()] {
    let mut sizes = [POINTER; PARAMETERS.len()];
    sizes[0] = u32::try_from(4 * RASTERIZE_BACKWARD.record_words()).unwrap_or(u32::MAX);
    sizes
}

/// The interface in words, a line for each parameter.
fn interface() -> String {
    let mut text = String::new();
    for ((declaration, shape), size) in PARAMETERS.iter().zip(parameter_sizes()) {
        // Writing to a text does not fail.
        let _ = write!(text, "\n  {declaration} ({size} bytes): {shape};");
    }
    text
}

/// Why a program does not fit the interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnKernelError {
    /// Something else than PTX.
    #[error("not PTX: {0}")]
    NotPtx(ParseError),
    /// PTX that cannot be used.
    #[error(transparent)]
    Ptx(ParseError),
    /// The entry point is not there.
    #[error(
        "no entry point is named '{entry}': there are {}",
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    )]
    NoEntry {
        /// What was asked for.
        entry: String,
        /// The entry points there are.
        names: Vec<String>,
    },
    /// The entry point takes other parameters.
    #[error(
        "entry point '{entry}' takes {} parameters of {found:?} bytes, expected {}:{}",
        found.len(),
        PARAMETERS.len(),
        interface()
    )]
    Parameters {
        /// The entry point.
        entry: String,
        /// The bytes of each of its parameters.
        found: Vec<u32>,
    },
    /// The entry point cannot be launched with the stage's blocks.
    #[error(
        "entry point '{entry}' allows {threads} threads a block, the stage has {WORKGROUP_SIZE}"
    )]
    Threads {
        /// The entry point.
        entry: String,
        /// The threads of its largest block.
        threads: u32,
    },
}

/// A kernel that fits the interface: its program parses, has the entry point, and that takes the
/// parameters and the blocks of 256 threads. What it does is not known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnKernel {
    ptx: String,
    entry: String,
}

impl OwnKernel {
    /// Checks a program.
    ///
    /// # Errors
    /// What does not fit, with the line of the program, its entry points or the parameters expected.
    pub fn new(ptx: String, entry: String) -> Result<Self, OwnKernelError> {
        let module = Module::parse(&ptx).map_err(|error| {
            // Without the directive that every module begins with it is something else.
            if ptx.contains(".version") {
                OwnKernelError::Ptx(error)
            } else {
                OwnKernelError::NotPtx(error)
            }
        })?;
        let Some(sizes) = module.parameter_sizes(&entry) else {
            let names = module.kernels().map(str::to_owned).collect();
            return Err(OwnKernelError::NoEntry { entry, names });
        };
        fits(&entry, &sizes, module.max_threads(&entry))?;
        Ok(Self { ptx, entry })
    }

    /// The program.
    #[must_use]
    pub fn ptx(&self) -> &str {
        &self.ptx
    }

    /// The name of its entry point.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Lets an engine run it in place of the artifacts of a reduction.
    ///
    /// # Errors
    /// As [`EmulatorEngine::replace`].
    pub fn install(
        &self,
        engine: &mut EmulatorEngine,
        reduction: Reduction,
    ) -> Result<(), EngineError> {
        engine.replace(RASTERIZE_BACKWARD.spec().name, Some(reduction), &self.ptx, &self.entry)
    }
}

/// Whether an entry point takes parameters of the `found` sizes and blocks of up to `max_threads`.
fn fits(entry: &str, found: &[u32], max_threads: Option<[u32; 3]>) -> Result<(), OwnKernelError> {
    let name = || entry.to_owned();
    if found != parameter_sizes() {
        return Err(OwnKernelError::Parameters { entry: name(), found: found.to_vec() });
    }
    match max_threads.map(|sizes| sizes.iter().product::<u32>()) {
        Some(threads) if threads < WORKGROUP_SIZE => {
            Err(OwnKernelError::Threads { entry: name(), threads })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(parameters: &str, more: &str) -> String {
        format!(
            ".version 8.4\n.target sm_75\n.address_size 64\n\
             .visible .entry mine({parameters})\n{more}\n{{\nret;\n}}\n"
        )
    }

    fn parameters() -> String {
        let mut text = ".param .align 4 .b8 p0[176]".to_owned();
        (1..9).for_each(|i| text += &format!(",\n.param .u64 p{i}"));
        text
    }

    #[test]
    fn the_structure_has_the_size_that_is_told() {
        assert!(PARAMETERS[0].1.contains(&format!("{} bytes", parameter_sizes()[0])), "its words");
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let refused = |ptx: &str, entry: &str| {
            OwnKernel::new(ptx.to_owned(), entry.to_owned())
                .expect_err("it does not fit")
                .to_string()
        };
        let good = program(&parameters(), "");
        assert!(OwnKernel::new(good.clone(), "mine".to_owned()).is_ok(), "it fits");
        assert_eq!(refused(&good, "yours"), "no entry point is named 'yours': there are mine");
        assert!(refused("PNG and so on", "mine").starts_with("not PTX: PTX line 1"), "no PTX");
        let unknown = good.replace("ret;", "wgmma.fence;\nret;");
        assert!(refused(&unknown, "mine").contains("PTX line 15"), "{}", refused(&unknown, "mine"));
        let short = program(".param .u64 p0", "");
        let text = refused(&short, "mine");
        assert!(text.contains("takes 1 parameters of [8] bytes, expected 9"), "{text}");
        assert!(text.contains("float* gradients (8 bytes): [N,6+D]"), "the list: {text}");
        let small = program(&parameters(), ".maxntid 128, 1, 1");
        assert!(
            refused(&small, "mine").contains("128 threads a block, the stage has 256"),
            "block"
        );
    }
}
