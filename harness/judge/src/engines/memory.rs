//! Whether a process may have ended for lack of memory, which says nothing of what it ran.

use crate::io::memory::address_limit;
use std::process::ExitStatus;

/// What allocators and drivers say at their end.
const WORDS: [&str; 4] =
    ["memory allocation of ", "bad_alloc", "Cannot allocate memory", "out of memory"];

/// What there may have been too little of for a process that ended so; `None` where nothing speaks for it.
/// Under a limit of the address space a driver that was refused memory crashes as one does that reads at a
/// wrong address: nobody can tell the two apart.
pub(super) fn lacked(status: ExitStatus, last_words: Option<&str>) -> Option<String> {
    lacked_within(status, last_words, address_limit())
}

fn lacked_within(
    status: ExitStatus,
    last_words: Option<&str>,
    limit: Option<u64>,
) -> Option<String> {
    if last_words.is_some_and(|said| WORDS.iter().any(|words| said.contains(words))) {
        return Some("it lacked memory".to_owned());
    }
    let limit = limit.filter(|_| crashed(status))? >> 20;
    Some(format!(
        "its address space is limited to {limit} MiB (ulimit -v), so that it may have lacked memory: \
         raise the limit, or leave this engine out"
    ))
}

/// Whether it ended by a signal that a failed allocation leads to as well.
#[cfg(unix)]
fn crashed(status: ExitStatus) -> bool {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let signals = [Signal::SEGV, Signal::BUS, Signal::ABORT, Signal::TRAP, Signal::ILL];
    status.signal().is_some_and(|signal| signals.iter().any(|one| one.as_raw() == signal))
}

#[cfg(not(unix))]
fn crashed(_: ExitStatus) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_crash_under_a_limit_may_be_for_lack_of_memory() {
        let ended = |raw| ExitStatus::from_raw(raw);
        let said = lacked_within(ended(11), None, Some(800_000 << 10)).expect("it may be");
        assert!(said.contains("limited to 781 MiB (ulimit -v)"), "{said}");
        assert_eq!(lacked_within(ended(11), None, None), None, "nothing is limited");
        assert_eq!(lacked_within(ended(9), None, Some(1)), None, "somebody killed it");
        assert_eq!(lacked_within(ended(256), None, Some(1)), None, "exit code 1");
        let words = Some("memory allocation of 4096 bytes failed");
        assert_eq!(lacked_within(ended(6), words, None).as_deref(), Some("it lacked memory"));
    }
}
