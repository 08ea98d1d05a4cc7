//! Threads of the process that works. A child that `fork` makes, as `multiprocessing` does on Linux, has none of
//! its parent's: work that was handed to these would never be done.

use splatcheck_judge::threads::{Pool, cores};
use std::process;
use std::sync::OnceLock;

/// The threads of a process, and behind them those of the child that it became.
struct Link {
    process: u32,
    pool: Pool,
    next: OnceLock<Box<Link>>,
}

static FIRST: OnceLock<Link> = OnceLock::new();

impl Link {
    /// For this process; its threads are started where it has none yet.
    fn new() -> Self {
        Self { process: process::id(), pool: Pool::of(cores()), next: OnceLock::new() }
    }
}

/// The threads of this process. The parent's stay where they are: to end them would be to wait for them.
pub(crate) fn of_this_process() -> &'static Pool {
    let mut link = FIRST.get_or_init(Link::new);
    while let Some(next) = link.next.get() {
        link = next;
    }
    if link.process != process::id() {
        link = link.next.get_or_init(|| Box::new(Link::new()));
    }
    &link.pool
}
