//! `--parts K`: every gradient is added up from parts of what is given, as several GPUs train.

use clap::Args;

use super::exit::CliError;
use splatcheck_judge::campaign::Contender;
use splatcheck_judge::engines::parted::Parted;
use splatcheck_judge::workload::{NOTE_PREFIX, Notes};

const PARTS: &str = "parts";

/// Into how many parts, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct PartsArgs {
    /// Run each kernel that adds gradients up K times, each time with the given gradients of some pixels,
    /// points, elements or Gaussians, and judge the sum of all, added up as an all-reduce does
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=64))]
    pub parts: Option<u32>,
}

impl PartsArgs {
    /// A contender that runs in so many parts.
    pub(super) fn contender<'a>(self, contender: Contender<'a>) -> Contender<'a> {
        let Some(parts) = self.parts else { return contender };
        let Contender { engine, .. } = contender;
        Contender { engine: Box::new(Parted::new(engine, parts)), ..contender }
    }

    /// What a report says of it.
    pub(super) fn described(self) -> Option<String> {
        let parts = self.parts?;
        Some(format!("gradients added up from {parts} parts; bounds for sums in any order"))
    }

    /// The notes by which `replay` runs in as many parts; none where a run is whole.
    pub(super) fn notes(self) -> Notes {
        let parts = self.parts.into_iter();
        parts.map(|parts| (format!("{NOTE_PREFIX}{PARTS}"), parts.to_string())).collect()
    }

    /// Reads [`Self::notes`].
    ///
    /// # Errors
    /// A note that is no number of parts.
    pub(super) fn of_notes(notes: &Notes) -> Result<Self, CliError> {
        let Some(text) = notes.get(&format!("{NOTE_PREFIX}{PARTS}")) else {
            return Ok(Self::default());
        };
        match text.parse() {
            Ok(parts @ 2..=64) => Ok(Self { parts: Some(parts) }),
            _ => Err(CliError::new(format!(
                "metadata {NOTE_PREFIX}{PARTS} = '{text}': expected 2 to 64"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_say_how_many_parts_and_bad_ones_are_refused() {
        let three = PartsArgs { parts: Some(3) };
        let read = PartsArgs::of_notes(&three.notes()).expect("its own notes");
        assert_eq!(read.parts, Some(3), "as many");
        assert_eq!(PartsArgs::default().notes(), Notes::new(), "a whole run has no note");
        for text in ["", "1", "65", "-2", "three"] {
            let notes = Notes::from([(format!("{NOTE_PREFIX}{PARTS}"), text.to_owned())]);
            let error = PartsArgs::of_notes(&notes).expect_err("no number of parts").to_string();
            assert!(error.contains("expected 2 to 64"), "{error}");
        }
    }
}
