//! Threads, of which a limit (`ulimit -u`, a container's) may leave few or none.
//!
//! `std::thread::spawn` and rayon's own pool panic there. Here a thread that cannot be had is an error
//! with a sentence, and work that fewer threads can do, or this one alone, is done by those.

use std::io;
use std::sync::Mutex;
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};

/// A thread that cannot be had, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot start a thread: {0}: end other programs, or raise the limit of processes (ulimit -u; in a \
     container, its limit of pids)"
)]
pub struct NoThread(String);

impl From<io::Error> for NoThread {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Makes rayon's pool smaller where there are fewer threads than it would start: half of those that there
/// are, since engines need some, or this one alone. Where there are enough, rayon does as it always does.
/// To be called before anything else of rayon.
pub fn prepare() {
    let wanted = thread::available_parallelism().map_or(1, usize::from);
    let had = how_many(wanted);
    if had == wanted {
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads((had / 2).max(1));
    let pool = if had < 2 { pool.use_current_thread() } else { pool };
    // It fails where a host of this library made the pool before.
    let _ = pool.build_global();
}

/// How many threads can live at the same time, up to so many.
fn how_many(wanted: usize) -> usize {
    // They wait for this lock until all are started.
    let (lock, mut had) = (Mutex::new(()), 0);
    let held = lock.lock();
    thread::scope(|scope| {
        let wait = || drop(lock.lock());
        while had < wanted && in_scope(scope, wait).is_ok() {
            had += 1;
        }
        drop(held);
    });
    had
}

/// As [`thread::spawn`].
///
/// # Errors
/// There is no thread to be had.
pub fn start<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, NoThread> {
    Ok(Builder::new().spawn(work)?)
}

/// As [`Scope::spawn`].
///
/// # Errors
/// There is no thread to be had.
pub fn in_scope<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, NoThread> {
    Ok(Builder::new().spawn_scoped(scope, work)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_while_all_of_them_live() {
        assert_eq!(how_many(0), 0, "none asked for");
        assert_eq!(how_many(3), 3, "three asked for");
    }
}
