//! The `splatcheck` command.
fn main() {}
