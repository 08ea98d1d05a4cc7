//! The pages of the documentation. `tests/docs` is no part of the workspace and takes this file by its path.

use std::fs;
use std::path::{Path, PathBuf};

/// The README, CONTRIBUTING, and all pages below these folders of the source tree.
///
/// # Panics
/// If a folder cannot be read.
#[must_use]
pub fn pages(root: &Path, folders: &[&str]) -> Vec<PathBuf> {
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in folders {
        below(&root.join(folder), &mut pages);
    }
    pages
}

/// All pages below a folder.
///
/// # Panics
/// If it cannot be read.
pub(crate) fn below(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            below(&path, pages);
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
}

/// Phrases that had to be read twice, from newcomers' reports. Each has a plain form in the pages.
const ODD: [&str; 44] = [
    "../shared",
    "a stranger",
    "are a program's",
    "as a whole or not at all",
    "as it is practised",
    "by turns",
    "cannot be asked",
    "come to in",
    "comes to in",
    "follow one by one",
    "go before it",
    "goes before it",
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
    "kinds of findings",
    "made wrong",
    "no output is right",
    "no word of",
    "not its convention's",
    "nobody learns of",
    "nobody thought of",
    "one fault is told",
    "one's own",
    "oracle's grouping",
    "otherwise than",
    "rules hold",
    "spelled otherwise",
    "strangers'",
    "thousand million",
    "typed in",
    "what cannot be said",
    "what it comes to",
    "what they come to",
    "where it is left out",
    "whole or not at all",
    "wrong are",
];

/// Those that a text has, in lower case or not.
pub fn odd_phrases(text: &str) -> impl Iterator<Item = &'static str> + use<> {
    let text = text.to_lowercase();
    ODD.into_iter().filter(move |phrase| text.contains(phrase))
}
