//! Exit codes and the last words of a command.
//!
//! 0: every judged kernel agrees (or the command has nothing to judge and succeeded); 1: at least
//! one disagrees; 2: the command could not do what it was told, wrong usage included. A standard
//! output that was closed early (`splatcheck devices | head -1`) is code 2 without a message:
//! the reader has seen enough, but nobody may take the command for finished.

use std::error::Error;
use std::io::{self, Write};

pub use splatcheck_judge::gate::Outcome;
use splatcheck_judge::gate::{Evidence, Gate, Inconclusive};
use splatcheck_judge::words::{MOST_SHOWN, shown};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A message for a person: what, where, what to do.
    #[error("{what}")]
    Message {
        /// The message.
        what: String,
        /// What it follows from.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Standard output failed.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl CliError {
    /// An error that stands for itself.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self::Message { what: what.into(), source: None }
    }

    /// An error of the library, which says what, where and what to do itself.
    #[must_use]
    pub fn of(error: impl Error) -> Self {
        Self::new(error.to_string())
    }

    /// An error with its cause: `what` says what was being done, the cause why it failed.
    #[must_use]
    pub fn caused(
        what: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Message { what: what.into(), source: Some(source.into()) }
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<Inconclusive> for CliError {
    fn from(why: Inconclusive) -> Self {
        Self::of(why)
    }
}

/// The end of a command without the options of a gate: any disagreement fails.
///
/// # Errors
/// See [`Conclusion::outcome`](splatcheck_judge::gate::Conclusion::outcome).
pub fn conclude(evidence: &Evidence<'_>) -> Result<Outcome, CliError> {
    Ok(Gate::default().conclude(evidence).outcome()?)
}

/// The exit code of a command; an error is printed on standard error.
#[must_use]
pub fn code(result: Result<Outcome, CliError>) -> u8 {
    match result {
        Ok(outcome) => outcome.code(),
        Err(error) => {
            if !error.is_broken_pipe() {
                // Nothing is left to tell it to if standard error is closed as well.
                let _ = writeln!(io::stderr(), "error: {}", one_line(&error));
            }
            2
        }
    }
}

/// The error and its causes on one line. A cause whose words the error already ends with is not
/// repeated. Whatever a file or a driver put into it is text, and no more than people read.
#[must_use]
pub fn one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !line.ends_with(&words) {
            line = format!("{line}: {words}");
        }
        cause = error.source();
    }
    let words: Vec<_> = line.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shown(&words.join(" "), MOST_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_on_one_line() {
        let cause = io::Error::other("first\n  second");
        let error = CliError::caused("cannot read scene.ply", cause);
        assert_eq!(one_line(&error), "cannot read scene.ply: first second", "the chain");
        assert_eq!(one_line(&CliError::new("alone")), "alone", "no cause");
    }

    #[test]
    fn a_closed_pipe_is_no_message_but_no_success() {
        let closed = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(closed.is_broken_pipe(), "{closed:?}");
        assert_eq!(code(Err(closed)), 2, "not finished");
        assert_eq!(code(Ok(Outcome::Disagree)), 1, "disagree");
        assert_eq!(code(Ok(Outcome::Agree)), 0, "agree");
    }
}
