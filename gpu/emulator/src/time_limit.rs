//! How long launches may take, by the processor's time: it stands still with a process that is stopped, and
//! goes on slowly on a busy machine.

use std::time::Duration;

/// A limit of time that has begun. It is of the thread that made it, which must run the launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    limit: Duration,
    start: Duration,
}

impl TimeLimit {
    /// A limit that begins now.
    #[must_use]
    pub fn from_now(limit: Duration) -> Self {
        Self { limit, start: now() }
    }

    /// How long it is.
    #[must_use]
    pub fn limit(self) -> Duration {
        self.limit
    }

    /// Whether all of it has passed.
    pub(super) fn is_over(self) -> bool {
        now().saturating_sub(self.start) > self.limit
    }
}

/// The processor time of this thread.
#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_vendor = "apple"
))]
fn now() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // Neither is ever negative.
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Where the system has no clock of a thread: time.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_vendor = "apple"
)))]
fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_passes_with_work_and_not_with_sleep() {
        let limit = TimeLimit::from_now(Duration::from_millis(20));
        std::thread::sleep(Duration::from_millis(60));
        assert!(!limit.is_over(), "a thread that sleeps takes none of the processor's time");
        let mut sum = 0_u64;
        while !limit.is_over() {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(sum > 0, "it took work to reach the end");
    }
}
