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
