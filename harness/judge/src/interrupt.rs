//! Ctrl-C in a command that judges: the first one asks it to stop and to say what was judged so far, the second
//! ends it at once.

use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

/// The exit code of a program that Ctrl-C ended, as shells count it: 128 and the signal's number.
pub const CODE: u8 = 130;

/// Whether Ctrl-C was pressed.
static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on the first Ctrl-C is one that [`is_asked`] knows of. A command that never asks must not call
/// this: it would not end.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let second = flag::register_conditional_shutdown(SIGINT, CODE.into(), Arc::clone(&ASKED));
        // The second handler only where the first is there: without it nothing would end the program.
        let first = second.and_then(|_| flag::register(SIGINT, Arc::clone(&ASKED)));
        if let Err(error) = first {
            tracing::warn!("Ctrl-C ends splatcheck without a summary: {error}");
        }
    });
}

/// Lets Ctrl-C pass by in a child process: all of a terminal hear it, and the parent ends this one.
pub fn ignore() {
    if let Err(error) = flag::register(SIGINT, Arc::default()) {
        tracing::warn!("Ctrl-C ends this process at once: {error}");
    }
}

/// A part of the work, or nothing where Ctrl-C came before it.
///
/// # Errors
/// Those of the work.
pub fn until_interrupted<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<Option<T>, E> {
    if is_asked() { Ok(None) } else { work().map(Some) }
}

/// A verdict as it is told where it is one of what was judged until Ctrl-C came.
#[must_use]
pub fn until_then(verdict: &str) -> String {
    format!("interrupted, {verdict} until then")
}

/// Whether the command is to stop. The first to notice says so on standard error.
#[must_use]
pub fn is_asked() -> bool {
    static TOLD: Once = Once::new();
    let asked = ASKED.load(Ordering::Relaxed);
    if asked {
        TOLD.call_once(|| {
            // Nobody is left to tell where standard error is closed.
            let text = "Ctrl-C: what runs now is finished; press it again to end at once";
            let _ = writeln!(io::stderr(), "{text}");
        });
    }
    asked
}
