//! The options of `oracle`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use splatcheck_reference::splat::convention::Profile;

use crate::cli::contract::ModelName;
use crate::cli::exit::CliError;
use crate::cli::options::ConventionName;
use crate::cli::paths;
use splatcheck_judge::io::InputError;
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;

/// The arithmetic of the oracle, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScalarName {
    /// double precision: the value to compare with
    F64,
    /// single precision: what a kernel in f32 may get
    F32,
}

impl fmt::Display for ScalarName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
        })
    }
}

/// Options of `oracle`, as typed.
#[derive(Clone, Debug, Args)]
pub struct OracleArgs {
    /// The case (.safetensors or .toml)
    #[arg(value_name = "CASE")]
    pub case: PathBuf,
    /// The result to write (.safetensors)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Convention in place of the case's; fields that the case sets itself stay
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
    /// The arithmetic
    #[arg(long, value_name = "TYPE", default_value = "f64")]
    pub scalar: ScalarName,
    /// Write the projected Gaussians of each camera and their gradients as well
    #[arg(long)]
    pub stages: bool,
    /// Write for every number how far a conforming f32 program may lie from it
    #[arg(long)]
    pub bounds: bool,
    /// Of sparse convolution: print what making the map, grouping and gathering cost
    #[arg(long)]
    pub cost: bool,
    /// The arithmetic that the bounds assume
    #[arg(long, value_name = "NAME", default_value = "wgsl", requires = "bounds")]
    pub model: ModelName,
}

/// A checked `oracle`.
#[derive(Clone, Debug, PartialEq)]
pub struct OraclePlan {
    /// A case that can be opened.
    pub case: PathBuf,
    /// A .safetensors, not the case, in a folder that can be written to.
    pub output: PathBuf,
    /// The convention; `None` means the case's.
    pub profile: Option<Profile>,
    /// The arithmetic.
    pub scalar: ScalarName,
    /// Whether the projected Gaussians and their gradients are written as well.
    pub stages: bool,
    /// Whether the costs of a sparse convolution are printed.
    pub cost: bool,
    /// The arithmetic to bound, if bounds are written as well; the scalar is then f64.
    pub bounds: Option<ModelName>,
}

impl OracleArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<OraclePlan, CliError> {
        paths::expect_extension("oracle", &self.case, &EXTENSIONS)?;
        let case = paths::readable_file("oracle", &self.case)?;
        let output = paths::writable_file("--output", &self.output, "safetensors")?;
        if paths::are_same(&case, &output) {
            let what = format!("--output {}: is the case itself, give another", output.display());
            return Err(CliError::new(what));
        }
        if self.bounds && self.scalar == ScalarName::F32 {
            let what = "--bounds: bounds are radii about the values in f64, leave out --scalar f32";
            return Err(CliError::new(what));
        }
        Ok(OraclePlan {
            case,
            output,
            profile: self.convention.map(ConventionName::profile),
            scalar: self.scalar,
            stages: self.stages,
            cost: self.cost,
            bounds: self.bounds.then_some(self.model),
        })
    }
}

/// Refuses what only a case of splats has, of a case of something else.
pub(super) fn only_of_splats(plan: &OraclePlan, what: &str) -> Result<(), CliError> {
    for (option, given) in [("--convention", plan.profile.is_some()), ("--stages", plan.stages)] {
        if given {
            let case = plan.case.display();
            let problem = format!(
                "{option}: is of cases of splats, and {case} is one of {what}: leave it out"
            );
            return Err(CliError::new(problem));
        }
    }
    Ok(())
}

/// What became of the file of results.
pub(super) fn written(result: Result<(), InputError>) -> Result<(), CliError> {
    result.map_err(|error| CliError::caused("cannot write the result", error))
}
