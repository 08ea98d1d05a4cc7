//! A case that a person names.

use std::path::Path;

use splatcheck_reference::splat::convention::Profile;

use super::exit::CliError;
use splatcheck_judge::workload::CaseFile;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::files::corpus::read_any_case;

/// Reads a case of any workload with the notes of its file.
///
/// # Errors
/// What is wrong with the file.
pub fn read_case(path: &Path) -> Result<CaseFile, CliError> {
    splatcheck_workloads::read_case(path)
        .map_err(|error| CliError::caused("cannot read the case", error))
}

/// Reads a case of splats by its file name's extension, under another profile where one is given.
///
/// # Errors
/// What is wrong with the file.
pub fn read_splats(path: &Path, profile: Option<Profile>) -> Result<Case, CliError> {
    read_any_case(path, profile).map_err(|error| CliError::caused("cannot read the case", error))
}
