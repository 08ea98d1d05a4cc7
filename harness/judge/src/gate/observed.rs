//! Runs that were only watched: what was seen in them, with no value compared.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::campaign::Place;
use crate::io::Excerpt;
use crate::words::count;

/// The verdict on runs that were watched, where nothing was seen.
pub const NO_MISUSE: &str = "no misuse seen, no values compared";
/// The verdict on runs that were watched, where something was.
pub const MISUSE: &str = "misuse seen, no values compared";

/// Runs that were watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// How many there were.
    pub runs: u64,
    /// What was seen, each fault once.
    pub misuse: Vec<Misuse>,
}

/// One fault that was seen, as often as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misuse {
    /// Id of the engine that saw it first.
    pub engine: String,
    /// What it ran on.
    pub case: String,
    /// What kind it is: a word or a few.
    pub kind: String,
    /// What was seen, in a sentence.
    pub what: String,
    /// More for the reader, a line each.
    pub notes: Vec<String>,
    /// The option with which it is seen again.
    pub again: String,
    /// Runs that failed in this way.
    pub runs: u64,
    /// The lines of source that have a part in it, the first one its own.
    pub places: Vec<(String, u32)>,
    /// The source around them, as far as it could be read.
    pub source: Vec<Excerpt>,
}

impl Observation {
    /// How many runs, and what was seen in them.
    #[must_use]
    pub fn counted(&self) -> String {
        format!("{}, {} of misuse", count(self.runs, "run"), count(self.misuse.len(), "kind"))
    }
}

impl Misuse {
    /// With its places in a program's file, and the source around them.
    #[must_use]
    pub fn at(self, places: &[Place], program: &str) -> Self {
        let places: Vec<_> = places.iter().map(|place| place.in_program(program)).collect();
        let excerpt = |(file, line): &(String, u32)| Excerpt::of(Path::new(file), *line as usize);
        let source = places.iter().filter_map(excerpt).take(Excerpt::PLACES).collect();
        Self { places, source, ..self }
    }

    /// Its kind and its place: a name that is short enough for a list.
    #[must_use]
    pub fn name(&self) -> String {
        match self.places.first() {
            Some((file, line)) => format!("{} at {file}:{line}", self.kind),
            None => self.kind.clone(),
        }
    }

    /// All that is said of it, a line each.
    pub(super) fn lines(&self) -> String {
        let Self { engine, case, what, notes, again, .. } = self;
        let seen = format!("{engine}, {case}, {}", count(self.runs, "run"));
        let again = format!("run it again with {again}");
        let lines = [what, &seen].into_iter().chain(notes).chain([&again]);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_in_the_program_and_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.cu"), "a\nb\nc\n").expect("written");
        let program = folder.path().join("k.ptx").display().to_string();
        let misuse = Misuse {
            engine: "emulator".to_owned(),
            case: "no case".to_owned(),
            kind: "race".to_owned(),
            what: "two writes".to_owned(),
            notes: vec!["line 7: st".to_owned()],
            again: "--schedule lockstep".to_owned(),
            runs: 2,
            places: Vec::new(),
            source: Vec::new(),
        };
        assert_eq!(misuse.name(), "race", "nobody knows where");
        let said = "two writes\nemulator, no case, 2 runs\nline 7: st\nrun it again with --schedule lockstep";
        assert_eq!(misuse.lines(), said, "all of it");
        let place = |file: Option<&str>, line| Place { file: file.map(str::to_owned), line };
        let places = [place(Some("k.cu"), 2), place(None, 9), place(Some("gone.cu"), 4)];
        let at = misuse.at(&places, &program);
        let cuda = folder.path().join("k.cu").display().to_string();
        let found = [(cuda.clone(), 2), (program, 9), ("gone.cu".to_owned(), 4)];
        assert_eq!(at.places, found, "beside the program, where it is");
        assert_eq!(at.name(), format!("race at {cuda}:2"), "its first place");
        assert_eq!(at.source.len(), 1, "what can be read: {:?}", at.source);
    }
}
