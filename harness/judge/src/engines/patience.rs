//! Waiting for another process, as long as a limit says: not by the clock, which goes on while this process stands
//! still (Ctrl-Z, a debugger, a machine that sleeps), but by many short waits. A wait counts as what was asked,
//! however long it took, so that a time in which nothing here runs counts as one short wait at most.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The longest single wait.
const SHORT: Duration = Duration::from_millis(20);

/// What is left of a limit.
#[derive(Debug)]
pub(super) struct Patience {
    left: Duration,
}

impl Patience {
    pub(super) fn of(limit: Duration) -> Self {
        Self { left: limit }
    }

    /// Takes the next wait, of `longest` or [`SHORT`] at most; none where nothing is left.
    fn next(&mut self, longest: Duration) -> Option<Duration> {
        let wait = self.left.min(longest).min(SHORT);
        self.left -= wait;
        (!wait.is_zero()).then_some(wait)
    }

    /// Sleeps for a moment; false where nothing is left.
    pub(super) fn sleeps(&mut self, moment: Duration) -> bool {
        self.next(moment).map(thread::sleep).is_some()
    }
}

/// What comes through a channel within the limit.
pub(super) fn receive<T>(from: &Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
    let mut patience = Patience::of(limit);
    while let Some(wait) = patience.next(SHORT) {
        match from.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            other => return other,
        }
    }
    Err(RecvTimeoutError::Timeout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    #[test]
    fn a_limit_is_kept_and_what_comes_in_time_is_received() {
        let (sender, receiver) = channel();
        let start = Instant::now();
        let limit = Duration::from_millis(90);
        assert_eq!(receive::<u8>(&receiver, limit), Err(RecvTimeoutError::Timeout), "nothing came");
        assert!(start.elapsed() >= limit, "not before its time: {:?}", start.elapsed());
        sender.send(7).expect("somebody listens");
        assert_eq!(receive(&receiver, limit), Ok(7), "it was there");
        assert_eq!(receive(&receiver, Duration::ZERO), Err(RecvTimeoutError::Timeout), "no time");
        drop(sender);
        assert_eq!(receive(&receiver, limit), Err(RecvTimeoutError::Disconnected), "nobody sends");
    }

    /// A process that stood still for an hour during one wait has waited that one.
    #[test]
    fn a_wait_counts_as_what_was_asked() {
        let mut patience = Patience::of(Duration::from_millis(50));
        let waits: Vec<_> = std::iter::from_fn(|| patience.next(SHORT)).collect();
        assert_eq!(waits.iter().sum::<Duration>(), Duration::from_millis(50), "{waits:?}");
        assert_eq!(waits.len(), 3, "20, 20 and 10 ms, whatever the clock says meanwhile");
    }
}
