//! `splatcheck engine` (hidden): the child process of one engine. See [`splatcheck_judge::engines`].

use std::path::PathBuf;

use clap::Args;

use super::exit::{CliError, Outcome};
use crate::user_kernel::Observe;
use crate::user_wgsl;
use splatcheck_judge::engines::serve::{open_engine, serve_standard_streams};
use splatcheck_judge::interrupt;

/// Options of `engine`.
#[derive(Clone, Debug, Args)]
pub struct EngineArgs {
    /// The adapter to open [default: the first]
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// A user's program to run instead of its kernels
    #[arg(long, value_name = "FILE", requires = "manifest")]
    pub wgsl: Option<PathBuf>,
    /// What the program's bindings are
    #[arg(long, value_name = "FILE", requires = "wgsl")]
    pub manifest: Option<PathBuf>,
    /// The name of the program in findings
    #[arg(long, value_name = "NAME", requires = "wgsl")]
    pub named: Option<String>,
    /// What is watched of the program
    #[arg(long, value_name = "WHAT=off", requires = "wgsl")]
    pub observe: Option<Observe>,
    /// Round approximate instructions of the emulator correctly in whatever order
    #[arg(long, requires = "wgsl")]
    pub exact: bool,
}

/// Serves standard input and output until the input ends.
///
/// # Errors
/// The streams failed or did not carry frames.
pub fn run(typed: EngineArgs) -> Result<Outcome, CliError> {
    interrupt::ignore();
    let adapter = typed.adapter.as_deref();
    let observe = typed.observe.unwrap_or_default();
    let open = || match (&typed.wgsl, &typed.manifest) {
        (Some(program), Some(manifest)) => {
            let program = (typed.named.as_deref(), &**program);
            user_wgsl::open(adapter, program, manifest, (observe, typed.exact))
        }
        (None, _) | (_, None) => open_engine(adapter),
    };
    serve_standard_streams(open)
        .map_err(|e| CliError::caused("splatcheck engine (started by splatcheck itself)", e))?;
    Ok(Outcome::Agree)
}
