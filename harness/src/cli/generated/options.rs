//! The options of `splatcheck mutants --generate`.

use std::path::PathBuf;

use crate::cli::exit::CliError;
use crate::cli::mutants::{MutantsArgs, default_folder};
use crate::cli::own::OwnPlan;
use crate::cli::paths;
use splatcheck_emulator::WARP;
use splatcheck_judge::engines::{Emulation, Order};

/// A checked `mutants --generate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedPlan {
    /// How many mutants are run.
    pub count: usize,
    /// Which of all.
    pub seed: u64,
    /// The kernels by name; none means all.
    pub kernels: Vec<String>,
    /// The kernels in WGSL, for subgroups of so many lanes, in place of those in CUDA.
    pub wgsl: Option<u32>,
    /// A user's own kernel, in place of ours.
    pub own: Option<OwnPlan>,
    /// Number of cases of each generator.
    pub cases: u32,
    /// Folder for the records.
    pub out: Option<PathBuf>,
    /// Folder of the mutants, with what is argued to be equivalent; `None` where a user's kernel is
    /// changed and there is none.
    pub folder: Option<PathBuf>,
}

/// The lanes of `--engine wgsl-emulator-LANES`; none for the kernels in CUDA on the emulator.
fn wgsl_lanes(engines: &[String]) -> Result<Option<u32>, CliError> {
    let refused = |found: &str| {
        let known = "emulator (CUDA), or wgsl-emulator-4, -8, -16, -32, -64 or -128";
        CliError::new(format!(
            "--engine {found}: --generate runs on one emulator: expected {known}"
        ))
    };
    match engines {
        [] => Ok(None),
        [one] => match one.parse::<Emulation>() {
            Ok(Emulation { wgsl_lanes, fast_math: false, launches: 1, order: Order::Lockstep }) => {
                Ok(wgsl_lanes)
            }
            _ => Err(refused(one)),
        },
        several => Err(refused(&several.join(" --engine "))),
    }
}

impl MutantsArgs {
    /// Checks the options of `--generate`.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve_generated(self) -> Result<GeneratedPlan, CliError> {
        let wgsl = wgsl_lanes(&self.engine)?;
        if self.own.ptx.is_some() && wgsl.is_some() {
            return Err(CliError::new("--engine names subgroups of WGSL, and --ptx is no WGSL"));
        }
        let own = self.own.resolve(&self.kernel, wgsl.unwrap_or(WARP))?;
        let folder = match &self.mutants {
            Some(folder) => Some(paths::readable_folder("--mutants", folder)?),
            None => match default_folder() {
                Ok(folder) => Some(folder),
                Err(_) if own.is_some() => None,
                Err(error) => return Err(error),
            },
        };
        let out = self.out.map(|out| paths::writable_folder("--out", &out)).transpose()?;
        Ok(GeneratedPlan {
            count: self.generate.unwrap_or(0),
            seed: self.seed,
            kernels: self.kernel,
            wgsl,
            own,
            cases: self.cases,
            out,
            folder,
        })
    }
}
