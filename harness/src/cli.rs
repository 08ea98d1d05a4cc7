//! The command line: `splatcheck`.
//!
//! Arguments are parsed into what was typed ([`args`]), then resolved into a checked value, so
//! that nothing is started, and nothing written, for a command that cannot be carried out. Each
//! subcommand is a function from its checked value to an [`Outcome`]; [`exit`] is the one place
//! where outcomes and errors become exit codes and words.

pub mod acceptance;
pub mod args;
pub mod case;
pub mod cases;
pub mod chain;
pub mod check;
pub mod command;
pub mod compiler;
pub mod contender;
mod contract;
pub mod coverage;
pub mod devices;
pub mod doctor;
pub mod engine;
pub mod exit;
pub mod expect;
pub mod formulation;
pub mod formulations;
pub mod fuzz;
pub mod gallery;
pub mod gate;
pub mod generated;
pub mod gradcheck;
pub mod help;
pub mod judge;
mod language;
pub mod merge;
pub mod mutants;
mod number;
pub mod options;
pub mod oracle;
pub mod output;
mod own;
pub mod parts;
pub mod paths;
mod provenance;
pub mod ptx;
pub mod render;
pub mod replay;
mod replay_trace;
pub mod report;
pub mod reproducer;
pub mod scene;
pub mod schedule;
pub mod schedules;
pub mod setup;
mod sharpness;
mod sight;
mod stale;
pub mod sweep;
pub mod traffic;
pub mod train;
mod trials;
mod typing;
pub mod wgsl;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::FromArgMatches;

pub use args::{Cli, Command};
pub use exit::{CliError, Outcome};
use gate::GateArgs;
use output::OutputArgs;

use splatcheck_judge::engines::{Discovery, Program};
use splatcheck_judge::interrupt;
use splatcheck_judge::threads;

/// Parses the arguments of this process and runs them.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(code(std::env::args_os()))
}

/// Parses arguments, runs them and returns the exit code. Reports of an earlier run go first, so that none is left
/// when a run ends without its own.
fn code(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<_> = arguments.into_iter().collect();
    match parse(arguments.clone()) {
        Ok(mut cli) => {
            stale::remove_reports(&arguments);
            start_log(shared(&mut cli).1);
            exit::code(print(cli))
        }
        Err(words) => {
            let code = say(&words);
            if code != 0 {
                stale::remove_reports(&arguments);
            }
            code
        }
    }
}

/// Says what the parser of arguments says, and returns its exit code. Help goes to standard output and is no
/// error.
fn say(words: &clap::Error) -> u8 {
    let text = words.render().to_string();
    // Nobody is left to tell where the stream is closed.
    let _ = match text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        // What was typed has more than text.
        true => write!(output::standard_error(), "{text}"),
        false => words.print(),
    };
    u8::try_from(words.exit_code()).unwrap_or(2)
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let typed: Vec<_> = arguments.into_iter().collect();
    let typed = typing::with_command(typed, typing::is_run_by_cargo())?;
    let words: Vec<_> =
        typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let matches = help::command().try_get_matches_from(typed);
    let matches = matches.map_err(|error| typing::explained(error, &words))?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let (Some(command), _) = shared(&mut cli) {
        *command = words;
    }
    Ok(cli)
}

/// What commands that judge share: the words that their reports name, and how much they print.
fn shared(cli: &mut Cli) -> (Option<&mut Vec<String>>, OutputArgs) {
    fn of(gate: &mut GateArgs, shown: OutputArgs) -> (Option<&mut Vec<String>>, OutputArgs) {
        (Some(&mut gate.command), shown)
    }
    fn drawn(args: &mut gradcheck::DrawnArgs) -> (Option<&mut Vec<String>>, OutputArgs) {
        (Some(&mut args.command), OutputArgs::default())
    }
    match &mut cli.command {
        Command::Check(typed) => of(&mut typed.on.gate, typed.on.shown),
        Command::SelfCheck(typed) => of(&mut typed.on.gate, typed.on.shown),
        Command::Fuzz(typed) => of(&mut typed.gate, typed.shown),
        Command::Merge(typed) => of(&mut typed.gate, typed.shown),
        Command::Ptx(typed) => of(&mut typed.gate, typed.shown),
        Command::Wgsl(typed) => of(&mut typed.gate, typed.shown),
        Command::Gradcheck(typed) => drawn(&mut typed.drawn),
        Command::Compare(typed) => drawn(&mut typed.drawn),
        Command::Accuracy(typed) => drawn(&mut typed.drawn),
        Command::Replay(typed) => (None, typed.shown),
        Command::Doctor(typed) => (None, typed.shown),
        Command::Acceptance(_)
        | Command::Cases(_)
        | Command::Coverage(_)
        | Command::Devices
        | Command::Formulations(_)
        | Command::Gallery(_)
        | Command::Judge(_)
        | Command::Oracle(_)
        | Command::Render(_)
        | Command::Report(_)
        | Command::Traffic(_)
        | Command::Sweep(_)
        | Command::Train(_)
        | Command::Schedules(_)
        | Command::Setup(_)
        | Command::Mutants(_)
        | Command::Completions(_)
        | Command::Man
        | Command::Engine(_) => (None, OutputArgs::default()),
    }
}

/// As [`main`], for a host that has splatcheck for a library: runs the arguments, the program's name
/// first, with `child` for its child processes. Returns the exit code.
pub fn hosted(arguments: impl IntoIterator<Item = OsString>, child: Program) -> u8 {
    Program::stand_in(child);
    let code = code(arguments);
    // The host ends the process without what Rust's own programs do at their end.
    match io::stdout().flush() {
        Ok(()) => code,
        Err(_) => 2,
    }
}

/// Runs a command; what it finds goes to standard output.
fn print(cli: Cli) -> Result<Outcome, CliError> {
    let mut out: Box<dyn Write> = match cli.command {
        // A shell and a pager read these.
        Command::Completions(_) | Command::Man => Box::new(io::stdout()),
        _ => output::standard_output(),
    };
    let outcome = run(cli, &mut out);
    let flushed = out.flush();
    let outcome = outcome?;
    flushed?;
    Ok(outcome)
}

/// Runs a command; what it finds goes to `out`.
///
/// # Errors
/// See [`CliError`].
pub fn run(cli: Cli, out: &mut dyn Write) -> Result<Outcome, CliError> {
    threads::prepare();
    paths::temporary_folder()?;
    if is_long(&cli.command) {
        interrupt::listen();
    }
    match cli.command {
        Command::Acceptance(typed) => acceptance::run(&typed.resolve()?, out),
        Command::Check(typed) => match &typed.checkout {
            Some(folder) => {
                check::run_checkout(typed.command.contract.preset.as_deref(), folder, out)
            }
            None => check::run(&typed.resolve()?, out),
        },
        Command::SelfCheck(typed) => check::run(&typed.resolve(&devices::engines_here()?)?, out),
        Command::Cases(typed) => cases::run(&typed.resolve()?, out),
        Command::Coverage(typed) => coverage::run(&typed.resolve()?, out),
        Command::Devices => devices::run(&devices::engines_here()?, out),
        Command::Doctor(typed) => doctor::run(&typed.resolve(devices::engines_here()?)?, out),
        Command::Formulations(typed) => formulations::run(&typed.resolve()?, out),
        Command::Judge(typed) => judge::run(&typed.resolve()?, out),
        Command::Gallery(typed) => gallery::run(&typed, out),
        Command::Gradcheck(typed) => gradcheck::run(&typed.resolve()?, out),
        Command::Compare(typed) => gradcheck::run(&typed.resolve()?, out),
        Command::Accuracy(typed) => gradcheck::run(&typed.resolve()?, out),
        Command::Oracle(typed) => oracle::run(&typed.resolve()?, out),
        Command::Render(typed) => render::run(&typed.resolve()?, out),
        Command::Replay(typed) => {
            if let Some(plan) = gradcheck::replayed(&typed.file)? {
                return gradcheck::run(&plan, out);
            }
            let discovery = engines_unless(typed.program.command.is_some())?;
            replay::run(&typed.resolve(&discovery)?, out)
        }
        Command::Report(typed) => report::run(&typed.resolve()?, out),
        Command::Ptx(typed) => ptx::run(&typed.resolve()?, out),
        Command::Wgsl(typed) => {
            let read = typed.read()?;
            wgsl::run(&typed.resolve(read, &devices::engines_here()?)?, out)
        }
        Command::Completions(typed) => help::completions(typed.shell, out),
        Command::Man => help::man(out),
        Command::Sweep(typed) => {
            let discovery = engines_unless(typed.counts_alone())?;
            sweep::run(&typed.resolve(&discovery)?, out)
        }
        Command::Traffic(typed) => traffic::run(&typed.resolve()?, out),
        Command::Train(typed) => {
            let discovery = engines_unless(typed.oracle_alone())?;
            train::run(&typed.resolve(&discovery)?, out)
        }
        Command::Setup(typed) => setup::run(typed, out),
        Command::Schedules(typed) => schedules::run(&typed.resolve()?, out),
        Command::Mutants(typed) if typed.generate.is_some() => {
            generated::run(&typed.resolve_generated()?, out)
        }
        Command::Mutants(typed) => mutants::run(&typed.resolve(&devices::engines_here()?)?, out),
        Command::Fuzz(typed) => {
            let discovery = engines_unless(typed.command.is_given())?;
            fuzz::run(&typed.resolve(&discovery)?, out)
        }
        Command::Merge(typed) => merge::run(&typed.resolve()?, out),
        Command::Engine(typed) => engine::run(typed),
    }
}

/// Whether a command stops at Ctrl-C by itself, and says what it has done.
fn is_long(command: &Command) -> bool {
    match command {
        Command::Acceptance(_)
        | Command::Check(_)
        | Command::SelfCheck(_)
        | Command::Cases(_)
        | Command::Coverage(_)
        | Command::Doctor(_)
        | Command::Formulations(_)
        | Command::Fuzz(_)
        | Command::Gallery(_)
        | Command::Gradcheck(_)
        | Command::Compare(_)
        | Command::Accuracy(_)
        | Command::Mutants(_)
        | Command::Ptx(_)
        | Command::Replay(_)
        | Command::Schedules(_)
        | Command::Sweep(_)
        | Command::Traffic(_)
        | Command::Train(_)
        | Command::Wgsl(_) => true,
        Command::Completions(_)
        | Command::Devices
        | Command::Engine(_)
        | Command::Judge(_)
        | Command::Man
        | Command::Merge(_)
        | Command::Oracle(_)
        | Command::Render(_)
        | Command::Report(_)
        | Command::Setup(_) => false,
    }
}

/// The engines of this machine, which take a moment to find; none, where a program stands in for them.
fn engines_unless(program: bool) -> Result<Discovery, CliError> {
    if program { Ok(Discovery::default()) } else { devices::engines_here() }
}

/// What a user must know stands in the report. The log, on standard error, is for those who look for more:
/// `SPLATCHECK_LOG` or `RUST_LOG` choose what is in it (`debug`), `--verbose` lets warnings in.
fn start_log(shown: OutputArgs) {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    let usual = if shown.verbose { LevelFilter::WARN } else { LevelFilter::OFF };
    let named = ["SPLATCHECK_LOG", "RUST_LOG"].into_iter();
    let mut named = named.filter_map(|name| std::env::var(name).ok()?.parse::<Targets>().ok());
    let chosen = named.next().unwrap_or_else(|| Targets::new().with_default(usual));
    let lines = tracing_subscriber::fmt::layer().with_writer(output::standard_error);
    // A log that is already there is as good.
    let _ = tracing_subscriber::registry().with(lines).with(chosen).try_init();
}
