//! The `splatcheck` command. Everything is in [`splat_harness::cli`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    splat_harness::cli::main()
}
