//! `splatcheck devices`: the engines of this machine, and why others are missing.

use std::io::Write;

use super::exit::{CliError, Outcome};
use splatcheck_judge::engines::{Discovery, Program, discover};
use splatcheck_judge::report::devices::describe;

/// Prints the engines. That there is none is a finding, not an error.
///
/// # Errors
/// Standard output failed.
pub fn run(discovery: &Discovery, out: &mut dyn Write) -> Result<Outcome, CliError> {
    out.write_all(describe(discovery).as_bytes())?;
    out.flush()?;
    Ok(Outcome::Agree)
}

/// The engines of this machine, tried with this program as the child.
pub(super) fn engines_here() -> Result<Discovery, CliError> {
    Program::find().map(|program| discover(&program)).map_err(CliError::of)
}
