//! Reproducers: what failed, as a file that `splatcheck replay` runs again.

use std::path::{Path, PathBuf};

use super::exit::CliError;
use super::expect;
use super::parts;
use crate::emulated;
use crate::user_kernel::UserKernel;
use splatcheck_judge::campaign::{EngineReport, Finding};
use splatcheck_judge::engines::parted::Parts;
use splatcheck_judge::report::reproducer::{notes as notes_of, set_aside};
use splatcheck_judge::report::reproducer_path;
use splatcheck_judge::workload::Notes;

/// Where a command leaves its reproducers.
#[derive(Clone, Debug)]
pub struct Reproducers {
    folder: PathBuf,
    /// The command.
    found_by: &'static str,
    /// In how many parts the kernels ran.
    parts: Parts,
}

impl Reproducers {
    /// Those of a command in a folder, perhaps still to be made. What the same command left there before is
    /// set aside; not where this run reads it, as a case or as a folder of them.
    ///
    /// # Errors
    /// A file that cannot be moved.
    pub fn begin(
        folder: &Path,
        found_by: &'static str,
        reads: Option<&Path>,
    ) -> Result<Self, CliError> {
        let is_within = |path: &Path| match (path.canonicalize(), folder.canonicalize()) {
            (Ok(path), Ok(folder)) => path.starts_with(folder),
            (Err(_), _) | (_, Err(_)) => false,
        };
        if !reads.is_some_and(is_within) {
            let cannot = |error| CliError::caused("--out", error);
            set_aside(folder, found_by).map_err(cannot)?;
        }
        Ok(Self { folder: folder.to_owned(), found_by, parts: Parts::default() })
    }

    /// The same of kernels that ran in parts.
    #[must_use]
    pub(super) fn in_parts(self, parts: Parts) -> Self {
        Self { parts, ..self }
    }

    /// Writes a finding's case with all that `replay` needs; returns its path. What failed on the
    /// emulator, perhaps with `kernel` in an artifact's place, is repeated and its decisions are kept.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn write(
        &self,
        finding: &mut Finding,
        kernel: Option<&UserKernel>,
    ) -> Result<String, CliError> {
        let mut notes = Notes::new();
        if let Some(repeated) = expect::notes(finding, kernel) {
            notes.extend(repeated);
        } else if !self.parts.is_whole() {
            // A recording is of one run.
            notes.extend(parts::notes(self.parts));
        } else if finding.emulation.is_some() {
            match emulated::record(finding, kernel) {
                Ok(recording) => notes.extend(recording.notes()),
                Err(error) => finding.notes.push(format!("NOT RECORDED: {error}")),
            }
        }
        self.write_case(finding, notes)
    }

    /// Writes a finding's case with these notes beside the usual ones into the folder, made where it is
    /// missing; returns its path.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub(super) fn write_case(&self, finding: &Finding, notes: Notes) -> Result<String, CliError> {
        let Self { folder, found_by, .. } = self;
        std::fs::create_dir_all(folder).map_err(|error| {
            CliError::caused(format!("cannot make the folder {}", folder.display()), error)
        })?;
        let path = reproducer_path(folder, finding);
        let mut all = notes_of(finding, found_by);
        all.extend(notes);
        let written = finding.case.write(&path, &all);
        written.map_err(|error| CliError::caused("cannot write a reproducer", error))?;
        Ok(path.display().to_string())
    }

    /// [`Self::write`] for all findings, report by report. What cannot be written has no name, and its finding
    /// says why: that a kernel is wrong is worth more than a file.
    #[must_use]
    pub fn write_all(
        &self,
        reports: &mut [EngineReport],
        kernel: Option<&UserKernel>,
    ) -> Vec<Vec<String>> {
        write_each(reports, |finding| self.write(finding, kernel))
    }
}

/// Writes the reproducer of every finding.
pub(super) fn write_each(
    reports: &mut [EngineReport],
    write: impl Fn(&mut Finding) -> Result<String, CliError>,
) -> Vec<Vec<String>> {
    let one = |finding: &mut Finding| match write(finding) {
        Ok(file) => file,
        Err(error) => {
            finding.notes.push(format!("NO REPRODUCER: {error}"));
            String::new()
        }
    };
    reports.iter_mut().map(|report| report.findings.iter_mut().map(one).collect()).collect()
}
