//! `splatcheck engine` (hidden): the child process of one engine. See [`crate::engines`].

use super::args::EngineArgs;
use super::exit::{CliError, Outcome};
use crate::engines::serve::{open_engine, serve_standard_streams};

/// Serves standard input and output until the input ends.
///
/// # Errors
/// The streams failed or did not carry frames.
pub fn run(typed: EngineArgs) -> Result<Outcome, CliError> {
    serve_standard_streams(|| open_engine(typed.adapter.as_deref()))
        .map_err(|e| CliError::caused("splatcheck engine (started by splatcheck itself)", e))?;
    Ok(Outcome::Agree)
}
