//! A child process and its end: how it is killed, waited for, and what is said of it afterwards.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use super::patience::Patience;
use super::tail::Tail;

/// How long a child that has closed its output may take to end, and a killed one to disappear.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A child process. Dropping it kills it and takes its exit status, so that it leaves no zombie.
#[derive(Debug)]
pub(super) struct ChildGuard {
    child: Child,
    /// Whether it leads a process group of its own, which is killed with it.
    leads: bool,
    tail: Tail,
}

impl ChildGuard {
    /// A child whose standard error is collected in `tail`.
    pub(super) fn new(child: Child, tail: Tail) -> Self {
        Self { child, leads: false, tail }
    }

    /// A child that was started as the leader of a process group.
    pub(super) fn leading(child: Child, tail: Tail) -> Self {
        Self { child, leads: cfg!(unix), tail }
    }

    /// What it said on standard error.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Ends it, and those that it started where it leads their group.
    pub(super) fn kill(&mut self) {
        // Before its status is taken: the number of a group that is gone may be another's.
        if self.leads && matches!(self.child.try_wait(), Ok(None)) {
            kill_group(&self.child);
        }
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        // A process that is stuck inside a driver's system call cannot be waited for without end.
        self.wait(EXIT_TIMEOUT);
    }

    /// Its exit status, if it ends within the limit.
    pub(super) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let mut patience = Patience::of(limit);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if patience.sleeps(Duration::from_millis(2)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
fn kill_group(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // Its members may have ended by themselves, which is as good.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}

/// How a process ended, in words.
#[cfg(unix)]
pub(super) fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => match signal_name(signal) {
            Some(name) => format!("ended by signal {signal} ({name})"),
            None => format!("ended by signal {signal}"),
        },
        None => describe_code(status),
    }
}

/// The signals whose numbers are the same on every Unix.
#[cfg(unix)]
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        4 => "SIGILL: an instruction this processor does not have",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL: perhaps out of memory",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// How a process ended, in words.
#[cfg(not(unix))]
pub(super) fn describe(status: ExitStatus) -> String {
    describe_code(status)
}

fn describe_code(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with exit code {code} without an answer"),
        None => format!("ended without an answer: {status}"),
    }
}
