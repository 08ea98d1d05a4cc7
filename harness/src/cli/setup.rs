//! `splatcheck setup`: fetches what a user's kernel needs and this machine lacks.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use super::exit::{CliError, Outcome};
use crate::nvcc::install;

/// Options of `setup`.
#[derive(Clone, Copy, Debug, Args)]
pub struct SetupArgs {
    /// What is fetched
    #[arg(value_enum)]
    pub what: Wanted,
}

/// What can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// NVIDIA's compiler, fetched by pip or uv into splatcheck's cache (about 270 MB): it compiles .cu files
    Nvcc,
}

/// Fetches it, and says where it is.
///
/// # Errors
/// Nothing can fetch it, or the cache cannot be written.
pub fn run(typed: SetupArgs, out: &mut dyn Write) -> Result<Outcome, CliError> {
    match typed.what {
        Wanted::Nvcc => {
            let mut say = |what: &str| {
                // Nobody is left to tell where standard error is closed.
                let _ = writeln!(io::stderr(), "{what}");
            };
            let installed =
                install(&mut say).map_err(|error| CliError::caused("setup nvcc", error))?;
            let how = installed.by.map_or("was there".to_owned(), |by| format!("fetched by {by}"));
            writeln!(out, "nvcc {how}: {}", installed.program.display())?;
        }
    }
    Ok(Outcome::Agree)
}
