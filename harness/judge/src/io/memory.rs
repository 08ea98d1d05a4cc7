//! How much memory this process may still take: asked before what a file declares is allocated, since the
//! system's own answer to too much is to end the process.

use std::fmt;

use super::error::Problem;

/// Bytes that this process may still take: what the machine has left, what its control group grants, and what
/// `ulimit -v` grants, whichever is least. `u64::MAX` where nothing says how much.
#[must_use]
pub fn free() -> u64 {
    let known = [machine(), group(), address_space()];
    known.into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// That so many bytes may be had.
///
/// # Errors
/// Names what asks for them and both numbers.
pub fn expect(what: impl fmt::Display, bytes: u64) -> Result<(), Problem> {
    expect_of(free(), &what, bytes)
}

fn expect_of(free: u64, what: &dyn fmt::Display, bytes: u64) -> Result<(), Problem> {
    if bytes <= free {
        return Ok(());
    }
    let advice =
        format!("{} are free here: make it smaller, or take a larger machine", shown(free));
    let field = format!("the memory for {what}");
    Err(Problem::new(field, format!("about {}", shown(bytes)), advice))
}

/// Bytes in words.
fn shown(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mebibytes @ ..4096 => format!("{mebibytes} MiB"),
        mebibytes => format!("{} GiB", mebibytes >> 10),
    }
}

/// What Linux says of the machine: `MemAvailable` of proc(5).
fn machine() -> Option<u64> {
    kibibytes(&system_text("/proc/meminfo")?, "MemAvailable:")
}

/// What is left of a control group's grant: the files of cgroups(7), version 2.
fn group() -> Option<u64> {
    let own = system_text("/proc/self/cgroup")?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?.trim().to_owned();
    let number = |folder: &str, name: &str| -> Option<u64> {
        system_text(&format!("/sys/fs/cgroup{folder}/{name}"))?.trim().parse().ok()
    };
    let left = |folder: &str| {
        Some(number(folder, "memory.max")?.saturating_sub(number(folder, "memory.current")?))
    };
    // A container sees its own group as the root.
    [left(own.trim_end_matches('/')), left("")].into_iter().flatten().min()
}

/// What `ulimit -v` leaves.
fn address_space() -> Option<u64> {
    let most = address_limit()?;
    let taken = kibibytes(&system_text("/proc/self/status")?, "VmSize:")?;
    Some(most.saturating_sub(taken))
}

/// The limit of this process's address space, which its children have too; `None` where there is none.
#[cfg(target_os = "linux")]
pub(crate) fn address_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::As).current
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn address_limit() -> Option<u64> {
    None
}

/// A line of `NAME: NUMBER kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A file that the system makes up, which has no size to ask for.
fn system_text(path: &str) -> Option<String> {
    cfg!(target_os = "linux").then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_there_is_is_refused_with_both_numbers() {
        assert!(expect_of(1 << 30, &"a scene", 1 << 30).is_ok(), "as much as there is");
        let problem = expect_of(1 << 30, &"200 images", 6 << 30).expect_err("too much").to_string();
        assert!(
            problem.starts_with("the memory for 200 images is about 6 GiB: 1024 MiB are free"),
            "{problem}"
        );
        assert!(expect("nothing", 0).is_ok(), "nothing");
        assert_eq!([shown(12), shown(5 << 20)], ["12 bytes", "5 MiB"], "small ones");
    }

    #[test]
    fn a_line_of_the_system_is_read() {
        let text = "MemTotal:  16 kB\nMemAvailable:    3 kB\n";
        assert_eq!(kibibytes(text, "MemAvailable:"), Some(3072), "in bytes");
        assert_eq!(kibibytes(text, "VmSize:"), None, "none");
        if cfg!(target_os = "linux") {
            assert!(machine().is_some_and(|bytes| bytes > 1 << 20), "this machine has some");
        }
    }
}
