//! The `splatcheck` command. Everything is in [`splatcheck::cli`].
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

fn main() -> ExitCode {
    keep_freed_memory();
    splatcheck::cli::main()
}

/// Lets the allocator keep what is freed: every case needs the same blocks again.
///
/// glibc gives the free end of its heap back to the system, and takes blocks of more than 128 KiB
/// from it one by one, so that each case would fault its memory in anew (a quarter of the time on the
/// emulator). Both limits rise to the size of the largest block that was ever given back (mallopt(3),
/// `M_MMAP_THRESHOLD`). This one is never touched and so costs nothing; other allocators do not mind.
fn keep_freed_memory() {
    drop(black_box(Vec::<u8>::with_capacity(16 << 20)));
}
