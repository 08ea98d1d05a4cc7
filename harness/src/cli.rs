//! The command line: `splatcheck`.
//!
//! Arguments are parsed into what was typed ([`args`]), then resolved into a checked value, so
//! that nothing is started, and nothing written, for a command that cannot be carried out. Each
//! subcommand is a function from its checked value to an [`Outcome`]; [`exit`] is the one place
//! where outcomes and errors become exit codes and words.

pub mod acceptance;
pub mod args;
pub mod case;
pub mod chain;
pub mod check;
pub mod contender;
pub mod coverage;
pub mod devices;
pub mod engine;
pub mod exit;
pub mod expect;
pub mod formulation;
pub mod formulations;
pub mod fuzz;
pub mod gate;
pub mod generated;
pub mod merge;
pub mod mutants;
pub mod oracle;
pub mod paths;
pub mod ptx;
pub mod render;
pub mod replay;
mod replay_trace;
pub mod reproducer;
pub mod scene;
pub mod schedule;
pub mod schedules;
mod sharpness;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

pub use args::{Cli, Command};
pub use exit::{CliError, Outcome};

use crate::engines::{Discovery, Program, discover};

/// Parses the arguments of this process and runs them.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log();
    exit::finish(run(cli, &mut io::stdout()))
}

/// Runs a command; what it finds goes to `out`.
///
/// # Errors
/// See [`CliError`].
pub fn run(cli: Cli, out: &mut dyn Write) -> Result<Outcome, CliError> {
    match cli.command.unwrap_or(Command::Check(Box::new(cli.check))) {
        Command::Acceptance(typed) => acceptance::run(&typed.resolve()?, out),
        Command::Check(typed) => check::run(&typed.resolve(&engines_here()?)?, out),
        Command::Coverage(typed) => coverage::run(&typed.resolve()?, out),
        Command::Devices => devices::run(&engines_here()?, out),
        Command::Formulations(typed) => formulations::run(&typed.resolve()?, out),
        Command::Oracle(typed) => oracle::run(&typed.resolve()?, out),
        Command::Render(typed) => render::run(&typed.resolve()?, out),
        Command::Replay(typed) => replay::run(&typed.resolve(&engines_here()?)?, out),
        Command::Ptx(typed) => ptx::run(&typed.resolve()?, out),
        Command::Schedules(typed) => schedules::run(&typed.resolve()?, out),
        Command::Mutants(typed) if typed.generate.is_some() => {
            generated::run(&typed.resolve_generated()?, out)
        }
        Command::Mutants(typed) => mutants::run(&typed.resolve(&engines_here()?)?, out),
        Command::Fuzz(typed) => fuzz::run(&typed.resolve(&engines_here()?)?, out),
        Command::Merge(typed) => merge::run(&typed.resolve()?, out),
        Command::Engine(typed) => engine::run(typed),
    }
}

/// The engines of this machine, tried with this program as the child.
pub(crate) fn engines_here() -> Result<Discovery, CliError> {
    Program::find().map(|program| discover(&program)).map_err(CliError::of)
}

/// Warnings of libraries go to standard error; `SPLATCHECK_LOG` chooses others (`debug`, `off`).
fn start_log() {
    use tracing_subscriber::EnvFilter;
    let filter =
        EnvFilter::try_from_env("SPLATCHECK_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A log that is already there is as good.
    let _ = log.try_init();
}
