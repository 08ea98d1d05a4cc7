//! Reproducers: what failed, as a file that `splatcheck replay` runs again.

use std::collections::BTreeMap;
use std::path::Path;

use super::exit::CliError;
use super::expect;
use crate::campaign::Finding;
use crate::emulated;
use crate::report::reproducer_path;
use crate::user_kernel::UserKernel;
use crate::workload::{NOTE_PREFIX, Notes};

/// The key of the note, behind [`NOTE_PREFIX`], with what the kernel may have got wrong.
const DIAGNOSIS: &str = "diagnosis";

/// What was said to be wrong when a reproducer was written: of the case as it was found, which tells more
/// than the smaller one that it holds.
pub(super) fn diagnosis(notes: &Notes) -> Option<&str> {
    notes.get(&format!("{NOTE_PREFIX}{DIAGNOSIS}")).map(String::as_str)
}

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
    std::fs::create_dir_all(folder).map_err(|error| {
        CliError::caused(format!("cannot make the folder {}", folder.display()), error)
    })?;
    let mut notes = BTreeMap::new();
    let mut put = |key: &str, value: String| {
        notes.insert(format!("{NOTE_PREFIX}{key}"), value);
    };
    put("engine", finding.engine.clone());
    put("stage", finding.stage.to_string());
    put("camera", finding.view.to_string());
    put("lane_width", finding.lane_width.to_string());
    if let Some(setting) = finding.setting {
        put("reduction", setting.reduction.to_string());
        put("threshold", setting.threshold.to_string());
    }
    if let Some(diagnosis) = &finding.diagnosis {
        put(DIAGNOSIS, diagnosis.headline.clone());
    }
    if let Some(repeated) = expect::notes(finding, kernel) {
        notes.extend(repeated);
    } else if finding.emulation.is_some() {
        match emulated::record(finding, kernel) {
            Ok(recording) => notes.extend(recording.notes()),
            Err(error) => finding.notes.push(format!("NOT RECORDED: {error}")),
        }
    }
    let path = reproducer_path(folder, finding);
    finding
        .case
        .write(&path, &notes)
        .map_err(|error| CliError::caused("cannot write a reproducer", error))?;
    Ok(path.display().to_string())
}

/// [`write()`] for all findings, report by report.
///
/// # Errors
/// As [`write()`].
pub fn write_all(
    folder: &Path,
    reports: &mut [crate::campaign::EngineReport],
    kernel: Option<&UserKernel>,
) -> Result<Vec<Vec<String>>, CliError> {
    reports
        .iter_mut()
        .map(|report| report.findings.iter_mut().map(|f| write(folder, f, kernel)).collect())
        .collect()
}
