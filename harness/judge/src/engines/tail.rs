//! The last words of a child process: the end of its standard error, kept while it runs.

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::patience::receive;
use crate::threads::{self, NoThread};

/// Bytes kept.
const KEPT: usize = 4096;
/// Lines shown, at most.
const LINES: usize = 6;
/// How long the last words are waited for after the child's end. A grandchild that inherited the
/// pipe may keep it open for ever.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same while the child lives: what it said before its answer is on its way.
const MOMENT: Duration = Duration::from_millis(10);

/// Collects a stream in a thread of its own and remembers its end.
#[derive(Debug)]
pub(super) struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Tail {
    /// Starts collecting.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(super) fn of(mut stream: impl Read + Send + 'static) -> Result<Self, NoThread> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (on_end, ended) = channel();
        let shared = Arc::clone(&kept);
        threads::start(move || {
            let mut block = [0; 1024];
            while let Ok(n @ 1..) = stream.read(&mut block) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&block[..n]);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
            // The receiver is gone when nobody asks for the last words any more.
            let _ = on_end.send(());
        })?;
        Ok(Self { kept, ended })
    }

    /// The last lines of a child that has ended, on one line; `None` if it said nothing.
    pub(super) fn last_words(&self) -> Option<String> {
        self.after(PATIENCE)
    }

    /// The last lines of a child that goes on.
    pub(super) fn words_so_far(&self) -> Option<String> {
        self.after(MOMENT)
    }

    fn after(&self, patience: Duration) -> Option<String> {
        // Either the stream has ended or it is not worth waiting for.
        let _ = receive(&self.ended, patience);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.replace(char::is_control, " ").trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        let shown = &lines[lines.len().saturating_sub(LINES)..];
        (!shown.is_empty()).then(|| shown.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let text: String = (0..10_000).map(|i| format!("line {i}\n\n")).collect();
        let words = Tail::of(std::io::Cursor::new(text))
            .expect("a thread")
            .last_words()
            .expect("it said something");
        assert!(words.ends_with("line 9998 | line 9999"), "not the end: {words}");
        assert_eq!(words.split(" | ").count(), LINES, "{words}");
    }

    #[test]
    fn silence_is_none() {
        let tail = Tail::of(std::io::empty()).expect("a thread");
        assert_eq!(tail.last_words(), None, "nothing was said");
    }
}
