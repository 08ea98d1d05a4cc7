//! A finding as a case file that `splatcheck replay` runs again.

use crate::campaign::Finding;
use crate::io::case_file;
use crate::io::error::InputError;
use crate::report::reproducer_path;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes a finding's case with all that `replay` needs into `folder`, which is made where it is
/// missing; returns its path. The file is there whole or not at all, and survives a crash.
///
/// # Errors
/// That the folder cannot be made, or as [`case_file::write_case`].
pub fn write(folder: &Path, finding: &Finding) -> Result<PathBuf, InputError> {
    let path = reproducer_path(folder, finding);
    std::fs::create_dir_all(folder).map_err(|source| InputError::System {
        file: folder.to_owned(),
        action: "make the folder".to_owned(),
        source,
        advice: "give another with --out".to_owned(),
    })?;
    let mut notes = BTreeMap::new();
    let mut put = |key: &str, value: String| {
        notes.insert(format!("{}{key}", case_file::NOTE_PREFIX), value);
    };
    put("engine", finding.engine.clone());
    put("stage", finding.stage.to_string());
    put("camera", finding.camera.to_string());
    put("lane_width", finding.lane_width.to_string());
    if let Some(setting) = finding.setting {
        put("reduction", setting.reduction.to_string());
        put("threshold", setting.threshold.to_string());
    }
    case_file::write_case(&path, &finding.case, &notes)?;
    Ok(path)
}
