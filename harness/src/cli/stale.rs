//! Reports that an earlier run left: a command that fails, or is killed, writes none, and what is read in its place must
//! not say that everything passes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The options that name a report, each with the end of its file's name.
const REPORTS: [(&str, &str); 4] =
    [("--json", "json"), ("--junit", "xml"), ("--sarif", "sarif"), ("--html", "html")];

/// Removes the reports that a command line names.
pub(super) fn remove_reports(words: &[OsString]) {
    let following = words.iter().zip(words.iter().skip(1));
    let apart = following.map(|(option, file)| (option.to_string_lossy(), file.clone()));
    let joined = words.iter().filter_map(|word| {
        let (option, file) = word.to_str()?.split_once('=')?;
        Some((option.into(), file.into()))
    });
    for (option, file) in apart.chain(joined) {
        let report = REPORTS.iter().find(|(name, _)| *name == option);
        let end = Path::new(&file).extension();
        let is_report =
            report.zip(end).is_some_and(|((_, own), end)| end.eq_ignore_ascii_case(own));
        if is_report {
            remove(Path::new(&file));
        }
    }
}

/// Removes the reports of a command that ends with an error: none of them may say that everything passes.
pub(super) fn remove_own<'f>(files: impl IntoIterator<Item = &'f Option<PathBuf>>) {
    files.into_iter().flatten().for_each(|file| remove(file));
}

fn remove(file: &Path) {
    if fs::metadata(file).is_ok_and(|file| file.is_file()) {
        // One that cannot be removed cannot be written either, and that is told.
        let _ = fs::remove_file(file);
    }
}
