//! A case that a person names.

use std::path::Path;

use splat_reference::convention::Profile;

use super::exit::CliError;
use crate::case::Case;
use crate::io::{case_file, corpus};

/// File names of cases.
pub const EXTENSIONS: [&str; 2] = ["safetensors", "toml"];

/// Reads a case by its file name's extension, under another profile where one is given.
///
/// # Errors
/// What is wrong with the file.
pub fn read_case(path: &Path, profile: Option<Profile>) -> Result<Case, CliError> {
    let toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let case = if toml {
        corpus::read_corpus_case_as(path, profile)
    } else {
        case_file::read_case_as(path, profile).map(|file| file.case)
    };
    case.map_err(|error| CliError::caused("cannot read the case", error))
}
