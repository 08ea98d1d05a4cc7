//! Reproducers: what failed, as a file that `splatcheck replay` runs again.

use std::path::Path;

use super::exit::CliError;
use super::expect;
use crate::campaign::{EngineReport, Finding};
use crate::emulated;
use crate::report::reproducer::notes as notes_of;
use crate::report::reproducer_path;
use crate::user_kernel::UserKernel;
use crate::workload::Notes;

/// Writes a finding's case with all that `replay` needs; returns its path. What failed on the
/// emulator, perhaps with `kernel` in an artifact's place, is repeated and its decisions are kept.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn write(
    folder: &Path,
    finding: &mut Finding,
    kernel: Option<&UserKernel>,
) -> Result<String, CliError> {
    let mut notes = notes_of(finding);
    if let Some(repeated) = expect::notes(finding, kernel) {
        notes.extend(repeated);
    } else if finding.emulation.is_some() {
        match emulated::record(finding, kernel) {
            Ok(recording) => notes.extend(recording.notes()),
            Err(error) => finding.notes.push(format!("NOT RECORDED: {error}")),
        }
    }
    write_case(folder, finding, &notes)
}

/// Writes a finding's case with these notes into a folder, made where it is missing; returns its path.
///
/// # Errors
/// The folder or the file cannot be written.
pub(super) fn write_case(
    folder: &Path,
    finding: &Finding,
    notes: &Notes,
) -> Result<String, CliError> {
    std::fs::create_dir_all(folder).map_err(|error| {
        CliError::caused(format!("cannot make the folder {}", folder.display()), error)
    })?;
    let path = reproducer_path(folder, finding);
    let written = finding.case.write(&path, notes);
    written.map_err(|error| CliError::caused("cannot write a reproducer", error))?;
    Ok(path.display().to_string())
}

/// [`write()`] for all findings, report by report. What cannot be written has no name, and its finding says
/// why: that a kernel is wrong is worth more than a file.
#[must_use]
pub fn write_all(
    folder: &Path,
    reports: &mut [EngineReport],
    kernel: Option<&UserKernel>,
) -> Vec<Vec<String>> {
    write_each(reports, |finding| write(folder, finding, kernel))
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
