//! `--parts K`: every gradient is added up from parts of what is given, as several GPUs train.

use clap::Args;

use super::exit::CliError;
use splatcheck_judge::campaign::Contender;
use splatcheck_judge::engines::parted::{Parted, Parts};
use splatcheck_judge::workload::{NOTE_PREFIX, Notes};

const PARTS: &str = "parts";

/// Into how many parts, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct PartsArgs {
    /// Run each kernel that adds gradients up K times, each time with the given gradients of some pixels,
    /// points, elements or Gaussians, and judge the sum of all, added up as an all-reduce does
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = several)]
    pub parts: Option<Parts>,
}

/// A number of parts that leaves nothing whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 2 to 64")]
struct NotSeveral;

fn several(text: &str) -> Result<Parts, NotSeveral> {
    let parts = text.parse::<u32>().ok().and_then(|parts| Parts::try_from(parts).ok());
    parts.filter(|parts| !parts.is_whole()).ok_or(NotSeveral)
}

impl PartsArgs {
    /// Into how many.
    pub(super) fn resolve(self) -> Parts {
        self.parts.unwrap_or_default()
    }
}

/// A contender that runs in so many parts.
pub(super) fn contender(parts: Parts, contender: Contender<'_>) -> Contender<'_> {
    if parts.is_whole() {
        return contender;
    }
    let engine = Box::new(Parted::new(contender.engine, parts));
    Contender { engine, ..contender }
}

/// The notes by which `replay` runs in as many parts; none where a run is whole.
pub(super) fn notes(parts: Parts) -> Notes {
    let several = (!parts.is_whole()).then_some(parts);
    several.map(|parts| (format!("{NOTE_PREFIX}{PARTS}"), parts.to_string())).into_iter().collect()
}

/// Reads [`notes`].
///
/// # Errors
/// A note that is no number of parts.
pub(super) fn of_notes(notes: &Notes) -> Result<Parts, CliError> {
    let Some(text) = notes.get(&format!("{NOTE_PREFIX}{PARTS}")) else {
        return Ok(Parts::default());
    };
    let bad = |error| CliError::new(format!("metadata {NOTE_PREFIX}{PARTS} = '{text}': {error}"));
    several(text).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_say_how_many_parts_and_bad_ones_are_refused() {
        let three = Parts::try_from(3).expect("three");
        let read = of_notes(&notes(three)).expect("its own notes");
        assert_eq!(read, three, "as many");
        assert_eq!(notes(Parts::default()), Notes::new(), "a whole run has no note");
        for text in ["", "1", "65", "-2", "three"] {
            let notes = Notes::from([(format!("{NOTE_PREFIX}{PARTS}"), text.to_owned())]);
            let error = of_notes(&notes).expect_err("no number of parts").to_string();
            assert!(error.contains("expected 2 to 64"), "{error}");
        }
    }
}
