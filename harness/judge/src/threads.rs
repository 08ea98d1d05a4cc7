//! Threads, of which a limit (`ulimit -u`, a container's) may leave few or none.
//!
//! `std::thread::spawn` and rayon's own pool panic there. Here a thread that cannot be had is an error
//! with a sentence, and work that fewer threads can do, or this one alone, is done by those.

use std::env;
use std::io;
use std::sync::mpsc::{self, Sender};
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

/// The processor cores that this process may use.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Starts rayon's pool: as many threads as rayon would start, or where there are fewer, half of those,
/// since engines need some, or this one alone. To be called before anything else of rayon.
pub fn prepare() {
    let wanted = match env::var("RAYON_NUM_THREADS").ok().and_then(|said| said.parse().ok()) {
        None | Some(0) => cores(),
        Some(wanted) => wanted.min(rayon::max_num_threads()),
    };
    let waiting = share(wanted);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(waiting.len().max(1));
    let pool = if waiting.is_empty() { pool.use_current_thread() } else { pool };
    // The pool takes threads that live already: one that it started itself might not be had any more.
    // It fails where a host of this library made the pool before.
    let _ = pool.spawn_handler(handing(waiting)).build_global();
}

/// Hands rayon's work to threads that wait for it, one after another.
fn handing(
    waiting: Vec<Sender<rayon::ThreadBuilder>>,
) -> impl FnMut(rayon::ThreadBuilder) -> io::Result<()> {
    let mut waiting = waiting.into_iter();
    move |work| {
        let thread = waiting.next().ok_or(io::ErrorKind::WouldBlock)?;
        thread.send(work).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Threads for work that any number of them can do, this one alone if there is no other.
#[derive(Debug)]
pub struct Pool(Option<rayon::ThreadPool>);

impl Pool {
    /// `wanted` threads, or where the machine has fewer, half of those.
    #[must_use]
    pub fn of(wanted: usize) -> Self {
        let waiting = share(wanted.min(rayon::max_num_threads()));
        if waiting.is_empty() {
            return Self(None);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(waiting.len());
        Self(pool.spawn_handler(handing(waiting)).build().ok())
    }

    /// Does the work on these threads; without any, on this one and on rayon's own pool.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// As many threads as are wanted, or where there are fewer, half of those: engines need some as well.
fn share(wanted: usize) -> Vec<Sender<rayon::ThreadBuilder>> {
    let mut waiting = waiting(wanted);
    if waiting.len() < wanted {
        waiting.truncate(waiting.len() / 2);
    }
    waiting
}

/// Up to so many threads, alive at the same time; each waits for the work that rayon has for it and ends
/// when it can come no more.
fn waiting(wanted: usize) -> Vec<Sender<rayon::ThreadBuilder>> {
    let one = || {
        let (give, take) = mpsc::channel::<rayon::ThreadBuilder>();
        start(move || take.recv().map(rayon::ThreadBuilder::run)).map(|_| give)
    };
    (0..wanted).map_while(|_| one().ok()).collect()
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
    fn the_pool_has_threads_that_lived_before_it() {
        assert_eq!(waiting(0).len(), 0, "none asked for");
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(3).spawn_handler(handing(waiting(3)));
        let pool = pool.build().expect("three were started");
        assert_eq!(pool.broadcast(|_| thread::current().id()).len(), 3, "each does its part");
        assert_eq!(Pool::of(2).install(rayon::current_num_threads), 2, "as many as are wanted");
        let here = thread::current().id();
        assert_eq!(Pool(None).install(|| thread::current().id()), here, "this one alone");
    }
}
