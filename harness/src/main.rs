//! The `splatcheck` command. Everything is in [`splatcheck::cli`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    splatcheck::cli::main()
}
