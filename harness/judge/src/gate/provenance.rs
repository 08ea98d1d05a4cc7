//! What was judged, with which options and when: what every report names, so that nobody takes one report
//! for another.

use crate::words::shell_word;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::artifact;
use std::fmt;

/// What a report is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// What was judged, in a few words: `render_bwd of my.ptx`.
    pub subject: String,
    /// The kernels of a program that were run, by their names in it.
    pub entry_points: Vec<String>,
    /// The files that the subject was read from.
    pub files: Vec<SourceFile>,
    /// Name of the preset, where one was given.
    pub preset: Option<String>,
    /// The words of the command line, without the program's name.
    pub command: Vec<String>,
    /// Seed of the cases that were drawn.
    pub seed: Option<u64>,
    /// When the report was written: UTC, as RFC 3339 has it.
    pub date: Option<String>,
    /// As what it was judged, a line each.
    pub about: Vec<String>,
    /// What was not judged and why, beside what the engines left out: a line each, as the text report says
    /// it.
    pub not_judged: Vec<String>,
}

/// A file that the subject was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// What it is.
    pub role: Role,
    /// Its path, as it was typed.
    pub path: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// What a file is to the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The program, or a part of it.
    Program,
    /// How it is launched.
    Manifest,
    /// What a project's kernels look like.
    Preset,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "program",
            Self::Manifest => "manifest",
            Self::Preset => "preset",
        })
    }
}

impl SourceFile {
    /// A file with these bytes.
    #[must_use]
    pub fn new(role: Role, path: impl Into<String>, bytes: &[u8]) -> Self {
        Self { role, path: path.into(), sha256: artifact::sha256(bytes) }
    }
}

impl Provenance {
    /// A subject by its name alone.
    #[must_use]
    pub fn of(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..Self::default() }
    }

    /// With the lines of the text report that no count has: `about`, and what was not judged beside other
    /// `notes`.
    #[must_use]
    pub fn told(self, about: &[String], notes: &[String]) -> Self {
        let (not_judged, others): (Vec<_>, Vec<_>) =
            notes.iter().cloned().partition(|line| line.starts_with("NOT "));
        let about = about.iter().cloned().chain(others).collect();
        Self { about, not_judged, ..self }
    }

    /// A name within the report, which no report of another subject has.
    #[must_use]
    pub fn named(&self, name: &str) -> String {
        match &*self.subject {
            "" => name.to_owned(),
            subject => format!("{subject}: {name}"),
        }
    }

    /// The command line as a shell reads it; nothing where it is not known.
    #[must_use]
    pub fn command_line(&self) -> Option<String> {
        let words = || self.command.iter().map(|word| shell_word(word));
        let line = || words().fold("splatcheck".to_owned(), |line, word| line + " " + &word);
        (!self.command.is_empty()).then(line)
    }

    /// All that is known of it, each with its name, for a table.
    #[must_use]
    pub fn facts(&self, version: &str) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
        if !self.subject.is_empty() {
            add("judged", self.subject.clone());
        }
        for entry in &self.entry_points {
            add("entry point", entry.clone());
        }
        for SourceFile { role, path, sha256 } in &self.files {
            add(&role.to_string(), format!("{path}, SHA-256 {sha256}"));
        }
        self.preset.iter().for_each(|preset| add("preset name", preset.clone()));
        self.command_line().into_iter().for_each(|line| add("command", line));
        self.seed.iter().for_each(|seed| add("seed", seed.to_string()));
        add("splatcheck", version.to_owned());
        self.date.iter().for_each(|date| add("date", date.clone()));
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_named_and_what_is_not_is_left_out() {
        let nothing = Provenance::default();
        assert_eq!(nothing.facts("0.1"), [("splatcheck".to_owned(), "0.1".to_owned())], "alone");
        assert_eq!(nothing.named("emulator"), "emulator", "without a subject");
        let all = Provenance {
            files: vec![SourceFile::new(Role::Program, "k.ptx", b"abc")],
            command: vec!["ptx".to_owned(), "my k.ptx".to_owned()],
            seed: Some(3),
            ..Provenance::of("k of k.ptx")
        };
        let facts = all.facts("0.1");
        // FIPS 180-4's example.
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(facts[1].1, format!("k.ptx, SHA-256 {hash}"), "its bytes");
        assert_eq!(facts[2].1, "splatcheck ptx 'my k.ptx'", "as a shell reads it");
        assert_eq!(all.named("emulator"), "k of k.ptx: emulator", "which kernel's");
    }
}
