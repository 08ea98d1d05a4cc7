//! The pages of the documentation. `tests/docs` is no part of the workspace and takes this file by its path.

use std::fs;
use std::path::{Path, PathBuf};

/// The README, CONTRIBUTING, the changelog, and all pages below these folders of the source tree.
///
/// # Panics
/// If a folder cannot be read.
#[must_use]
pub fn pages(root: &Path, folders: &[&str]) -> Vec<PathBuf> {
    let mut pages =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|page| root.join(page)).to_vec();
    for folder in folders {
        below(&root.join(folder), "md", &mut pages);
    }
    pages
}

/// All files below a folder with this extension.
///
/// # Panics
/// If the folder cannot be read.
pub fn below(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            below(&path, extension, files);
        } else if path.extension().is_some_and(|end| end == extension) {
            files.push(path);
        }
    }
}

/// Phrases that had to be read twice, from newcomers' reports. Each has a plain form in the pages.
const ODD: [&str; 61] = [
    "../shared",
    "a stranger",
    "all kernels came to",
    "any is any",
    "are a program's",
    "as a whole or not at all",
    "as it is practised",
    "blended otherwise",
    "by turns",
    "cannot be asked",
    "come to in",
    "comes to in",
    "count on through",
    "counts more than",
    "denies its findings",
    "deny its findings",
    "follow one by one",
    "go before it",
    "go on behind",
    "goes before it",
    "goes on behind",
    "held to account",
    "in the place of",
    "in vain",
    "inside the hypothesis's",
    "is gated",
    "is not here",
    "is otherwise",
    "is said beside",
    "is said to whoever",
    "is the input, unless",
    "is the one the",
    "kinds of findings",
    "made wrong",
    "narrower than what is added",
    "no output is right",
    "no word of",
    "nobody learns of",
    "nobody thought of",
    "not its convention's",
    "one fault is told",
    "one's own",
    "oracle's grouping",
    "otherwise than",
    "rounds otherwise",
    "rules hold",
    "run 1 came to",
    "spelled otherwise",
    "stops being one",
    "strangers'",
    "takes them on",
    "thousand million",
    "told by what",
    "typed in",
    "what cannot be said",
    "what it comes to",
    "what that came to",
    "what they come to",
    "where it is left out",
    "whole or not at all",
    "wrong are",
];

/// Those that a text has, in lower case or not. Their words are whole words of the text.
pub fn odd_phrases(text: &str) -> impl Iterator<Item = &'static str> + use<> {
    let text = text.to_lowercase();
    ODD.into_iter().filter(move |phrase| {
        text.match_indices(phrase).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            !before.into_iter().chain(after).any(char::is_alphanumeric)
        })
    })
}
