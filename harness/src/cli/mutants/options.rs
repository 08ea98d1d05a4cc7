//! The options of `splatcheck mutants`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::exit::CliError;
use crate::cli::options::{Workloads, parse_workloads};
use crate::cli::own::OwnArgs;
use crate::cli::paths;
use crate::mutants::matrix::Budget;
use splatcheck_judge::engines::EMULATOR;
use splatcheck_judge::engines::{Discovery, Found};
use splatcheck_judge::io::source_tree;

/// Options of `mutants`, as typed.
#[derive(Clone, Debug, Args)]
pub struct MutantsArgs {
    /// Use this engine only, by its id or its family; repeatable [default: the emulator for CUDA's
    /// mutants, every other engine but CUDA's own for WGSL's]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Run the mutants of this workload's kernels only: splat, scatter, grid or all
    #[arg(long, value_name = "NAME", default_value = "all", value_parser = parse_workloads)]
    pub workload: Workloads,
    /// Run this mutant only; repeatable
    #[arg(long, value_name = "NAME")]
    pub mutant: Vec<String>,
    /// Number of cases of each generator
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub cases: u32,
    /// Number of random and of adversarial schedules on the emulator
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub seeds: u32,
    /// Find a case that shows each of CUDA's mutants on the emulator, then run that case alone with
    /// every seed; prints Markdown
    #[arg(long)]
    pub rates: bool,
    /// Change one instruction at a time of splatcheck's kernels, run N of these mutants on the emulator, as many of
    /// each kernel, and list the survivors. The kernels are those in CUDA, or with '--engine wgsl-emulator-32' those
    /// in WGSL
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        conflicts_with_all = ["mutant", "rates", "seeds"]
    )]
    pub generate: Option<usize>,
    /// Seed of the choice among the mutants that --generate makes
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        allow_negative_numbers = true,
        requires = "generate"
    )]
    pub seed: u64,
    /// Generate mutants of this kernel only, by its entry point; repeatable
    #[arg(long, value_name = "NAME", requires = "generate")]
    pub kernel: Vec<String>,
    /// Options of `--generate` for a kernel of the user's own.
    #[command(flatten)]
    pub own: OwnArgs,
    /// Write every cell of the matrix, every rate, or every generated mutant to DIR/mutants.json
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder of mutants, with a folder for each workload [default: tests/mutants]
    #[arg(long, value_name = "DIR")]
    pub mutants: Option<PathBuf>,
}

/// A checked `mutants`.
#[derive(Clone, Debug, PartialEq)]
pub struct MutantsPlan {
    /// Whether CUDA's mutants run on the emulator.
    pub emulator: bool,
    /// Whether only the case that shows a mutant is run with every seed.
    pub rates: bool,
    /// The engines for WGSL's.
    pub engines: Vec<Found>,
    /// The workloads of the kernels, by name.
    pub workloads: Vec<&'static str>,
    /// The mutants by name; none means all.
    pub mutants: Vec<String>,
    /// How much is run.
    pub budget: Budget,
    /// Folder for the matrix.
    pub out: Option<PathBuf>,
    /// Folder of the mutants.
    pub folder: PathBuf,
}

impl MutantsArgs {
    /// Checks every option, against the engines of this machine.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self, discovery: &Discovery) -> Result<MutantsPlan, CliError> {
        self.own.refuse()?;
        let selected = if self.engine.is_empty() {
            discovery.found.clone()
        } else {
            discovery.select(&self.engine).map_err(CliError::of)?
        };
        let folder = match &self.mutants {
            Some(folder) => paths::readable_folder("--mutants", folder)?,
            None => default_folder()?,
        };
        let out = self.out.map(|out| paths::writable_folder("--out", &out)).transpose()?;
        let emulator = selected.iter().any(|found| found.spec.id() == EMULATOR);
        if self.rates && !emulator {
            return Err(CliError::new("--rates is for the emulator, whose schedules have seeds"));
        }
        Ok(MutantsPlan {
            emulator,
            rates: self.rates,
            engines: selected.into_iter().filter(Found::runs_wgsl).collect(),
            workloads: self.workload.names(),
            mutants: self.mutant,
            budget: Budget { seeds: self.seeds, cases: self.cases, limit: usize::MAX },
            out,
            folder,
        })
    }
}

/// The mutants of the working folder, else those of the source tree that this program lies in.
pub(in crate::cli) fn default_folder() -> Result<PathBuf, CliError> {
    let none = || CliError::new("no folder tests/mutants here (--mutants names another)");
    source_tree::folder("tests/mutants").ok_or_else(none)
}
