//! The options of `splatcheck mutants --generate`.

use std::path::PathBuf;

use crate::cli::exit::CliError;
use crate::cli::mutants::{MutantsArgs, default_folder};
use crate::cli::own::OwnPlan;
use crate::cli::paths;

/// A checked `mutants --generate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedPlan {
    /// How many mutants are run.
    pub count: usize,
    /// Which of all.
    pub seed: u64,
    /// The kernels by name; none means all.
    pub kernels: Vec<String>,
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

impl MutantsArgs {
    /// Checks the options of `--generate`.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve_generated(self) -> Result<GeneratedPlan, CliError> {
        let own = self.own.resolve(&self.kernel)?;
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
            own,
            cases: self.cases,
            out,
            folder,
        })
    }
}
