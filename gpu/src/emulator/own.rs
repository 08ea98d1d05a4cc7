//! A user's own kernel with the interface of a backward rasterization stage, in place of an artifact.

mod interface;

pub use interface::{Interface, Parameter};

use splatcheck_emulator::{Module, ParseError};

use super::engine::EmulatorEngine;
use crate::engine::EngineError;
use crate::reduction::{Reduction, WORKGROUP_SIZE};
use crate::stages::Stage;

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
        interface.parameters().len(),
        interface.described()
    )]
    Parameters {
        /// The entry point.
        entry: String,
        /// What was expected.
        interface: Interface,
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
    sizes: Vec<u32>,
    unfilled: Vec<String>,
    flushes: bool,
}

impl OwnKernel {
    /// Checks a program against an interface.
    ///
    /// # Errors
    /// What does not fit, with the line of the program, its entry points or the parameters expected.
    pub fn new(interface: Interface, ptx: String, entry: String) -> Result<Self, OwnKernelError> {
        let module = Module::parse(&ptx).map_err(|error| {
            // Without the directive that every module begins with it is something else.
            if ptx.contains(".version") {
                OwnKernelError::Ptx(error)
            } else {
                OwnKernelError::NotPtx(error)
            }
        })?;
        if let Some(refusal) = module.refusal(&entry) {
            return Err(OwnKernelError::Ptx(refusal.clone()));
        }
        let Some(sizes) = module.parameter_sizes(&entry) else {
            let names = module.kernels().map(str::to_owned).collect();
            return Err(OwnKernelError::NoEntry { entry, names });
        };
        if sizes != interface.sizes() {
            return Err(OwnKernelError::Parameters { entry, interface, found: sizes });
        }
        fits_a_block(&entry, module.max_threads(&entry))?;
        let unfilled = module.unfilled(&entry).into_iter().map(str::to_owned).collect();
        let flushes = module.flushes(&entry);
        Ok(Self { ptx, entry, sizes, unfilled, flushes })
    }

    /// Whether its parameters are as many and as large as those of an interface. Pointers are all of
    /// one size, so that it may take them for other arrays.
    #[must_use]
    pub fn fits(&self, interface: Interface) -> bool {
        self.sizes == interface.sizes()
    }

    /// See [`Module::unfilled`].
    #[must_use]
    pub fn unfilled(&self) -> &[String] {
        &self.unfilled
    }

    /// See [`Module::flushes`].
    #[must_use]
    pub fn flushes(&self) -> bool {
        self.flushes
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

    /// Lets an engine run it in place of the artifacts of a stage and reduction.
    ///
    /// # Errors
    /// [`EngineError::Input`] for a stage whose arrays are not its parameters; as
    /// [`EmulatorEngine::replace`].
    pub fn install(
        &self,
        engine: &mut EmulatorEngine,
        (stage, reduction): (Stage, Option<Reduction>),
    ) -> Result<(), EngineError> {
        if !Interface::of(stage).is_some_and(|interface| self.fits(interface)) {
            let entry = &self.entry;
            let message = format!("{stage} hands other arrays to a kernel than '{entry}' takes");
            return Err(EngineError::Input(message));
        }
        engine.replace(stage.spec().name, reduction, &self.ptx, &self.entry)
    }
}

/// Whether an entry point takes the stage's blocks.
fn fits_a_block(entry: &str, max_threads: Option<[u32; 3]>) -> Result<(), OwnKernelError> {
    let Some(sizes) = max_threads else { return Ok(()) };
    // Three numbers of 32 bits: a source may say any.
    let threads = sizes.iter().map(|&side| u128::from(side)).product::<u128>();
    match u32::try_from(threads) {
        Ok(threads) if threads < WORKGROUP_SIZE => {
            Err(OwnKernelError::Threads { entry: entry.to_owned(), threads })
        }
        Ok(_) | Err(_) => Ok(()),
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
    fn what_does_not_fit_is_said() {
        let refused = |ptx: &str, entry: &str| {
            OwnKernel::new(Interface::Standard, ptx.to_owned(), entry.to_owned())
                .expect_err("it does not fit")
                .to_string()
        };
        let good = program(&parameters(), "");
        let kernel = OwnKernel::new(Interface::Standard, good.clone(), "mine".to_owned());
        let kernel = kernel.expect("it fits");
        let fits = Interface::ALL.map(|interface| kernel.fits(interface));
        assert_eq!(fits, [true, false, true], "two interfaces have nine parameters");
        let image = OwnKernel::new(Interface::Image, good.clone(), "mine".to_owned());
        let text = image.expect_err("seven parameters").to_string();
        assert!(text.contains("expected 7:") && text.contains("const float* v_image"), "{text}");
        assert_eq!(refused(&good, "yours"), "no entry point is named 'yours': there are mine");
        assert!(refused("PNG and so on", "mine").starts_with("not PTX: PTX line 1"), "no PTX");
        let unknown = good.replace("ret;", "wgmma.fence;\nret;");
        assert!(refused(&unknown, "mine").contains("PTX line 15"), "{}", refused(&unknown, "mine"));
        let second =
            good.replace(".entry mine(", ".entry other(").replace("ret;", "wgmma.fence;\nret;");
        let both = good.clone() + &second[second.find(".visible").expect("an entry")..];
        let kernel = OwnKernel::new(Interface::Standard, both.clone(), "mine".to_owned());
        assert!(kernel.is_ok(), "another entry is not its concern: {kernel:?}");
        let text = refused(&both, "other");
        assert!(
            text.contains("entry 'other' is refused") && text.contains("wgmma.fence"),
            "{text}"
        );
        let short = program(".param .u64 p0", "");
        let text = refused(&short, "mine");
        assert!(text.contains("takes 1 parameters of [8] bytes, expected 9"), "{text}");
        assert!(text.contains("float* gradients (8 bytes): [N,6+D]"), "the list: {text}");
        let small = program(&parameters(), ".maxntid 128, 1, 1");
        assert!(
            refused(&small, "mine").contains("128 threads a block, the stage has 256"),
            "block"
        );
        let vast = program(&parameters(), ".maxntid 65536, 65536, 1");
        let kernel = OwnKernel::new(Interface::Standard, vast, "mine".to_owned());
        assert!(kernel.is_ok(), "2^32 threads are enough, and 0 in 32 bits: {kernel:?}");
    }
}
