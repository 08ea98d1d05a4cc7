//! Where tests/setup puts NVIDIA's compilers, and how work is dealt to the processors.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// A folder of this crate.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A file below `target/cuda`, if it is there; else says what was not exercised.
pub(crate) fn find(file: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = folder("..").join(target).join("cuda").join(file);
    let found = path.canonicalize().ok();
    if found.is_none() {
        eprintln!("NOT EXERCISED: {} is not there (tests/setup installs it)", path.display());
    }
    found
}

/// Does `work` on every item, as many at a time as there are processors; results are in the order
/// of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (next, work, sender) = (&next, &work, sender.clone());
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    sender.send((at, work(item))).expect("the receiver outlives the workers");
                }
            });
        }
    });
    drop(sender);
    let mut results: Vec<_> = receiver.into_iter().collect();
    results.sort_by_key(|&(at, _)| at);
    results.into_iter().map(|(_, result)| result).collect()
}
