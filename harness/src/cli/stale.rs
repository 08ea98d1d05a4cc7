//! Reports that an earlier run left: a command that ends with an error writes none, and what is read in its place must
//! not say that everything passes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The options that name a report, each with the end of its file's name.
const REPORTS: [(&str, &str); 4] =
    [("--json", "json"), ("--junit", "xml"), ("--sarif", "sarif"), ("--html", "html")];

/// Reports that are there before a command runs, each with when it was written.
pub(super) struct Reports(Vec<(PathBuf, SystemTime)>);

impl Reports {
    /// Those that a command line names.
    pub(super) fn named(words: &[OsString]) -> Self {
        let following = words.iter().zip(words.iter().skip(1));
        let apart = following.map(|(option, file)| (option.to_string_lossy(), file.clone()));
        let joined = words.iter().filter_map(|word| {
            let (option, file) = word.to_str()?.split_once('=')?;
            Some((option.into(), file.into()))
        });
        let all = apart.chain(joined).filter_map(|(option, file)| {
            let (_, extension) = REPORTS.iter().find(|(name, _)| *name == option)?;
            let file = PathBuf::from(file);
            let is_report = file.extension().is_some_and(|end| end.eq_ignore_ascii_case(extension));
            let written = written(&file)?;
            is_report.then_some((file, written))
        });
        Self(all.collect())
    }

    /// Removes those that the command has left as they were.
    pub(super) fn remove(self) {
        for (file, before) in self.0 {
            if written(&file) == Some(before) {
                // One that cannot be removed cannot be written either, which is the error that was told.
                let _ = fs::remove_file(&file);
            }
        }
    }
}

/// When a file was written; `None` of what is no file.
fn written(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok().filter(fs::Metadata::is_file)?.modified().ok()
}
