//! `splatcheck engine` (hidden): the child process of one engine. See [`crate::engines`].

use super::args::EngineArgs;
use super::exit::{CliError, Outcome};
use crate::engines::serve::{open_engine, serve_standard_streams};
use crate::user_wgsl;

/// Serves standard input and output until the input ends.
///
/// # Errors
/// The streams failed or did not carry frames.
pub fn run(typed: EngineArgs) -> Result<Outcome, CliError> {
    let adapter = typed.adapter.as_deref();
    let open = || match (&typed.wgsl, &typed.manifest) {
        (Some(program), Some(manifest)) => user_wgsl::open(adapter, program, manifest),
        (None, _) | (_, None) => open_engine(adapter),
    };
    serve_standard_streams(open)
        .map_err(|e| CliError::caused("splatcheck engine (started by splatcheck itself)", e))?;
    Ok(Outcome::Agree)
}
