//! Reading a whole file.

use std::path::{Path, PathBuf};

use super::built_in;
use super::error::{InputError, Problem};

/// The bytes of a regular file. Pipes and devices are refused: they have no size to check
/// declared counts against.
///
/// # Errors
/// Where the file is missing, not a regular file, or not readable.
pub fn bytes(file: &Path) -> Result<Vec<u8>, InputError> {
    let failed = |source| InputError::System {
        file: file.to_owned(),
        action: "read the file".to_owned(),
        source,
        advice: "check the path and its permissions".to_owned(),
    };
    if let Some(bytes) = built_in::bytes(file) {
        return Ok(bytes.to_vec());
    }
    if !std::fs::metadata(file).map_err(failed)?.is_file() {
        return Err(Problem::new("the path", "not a regular file", "give a file").in_file(file));
    }
    std::fs::read(file).map_err(failed)
}

/// The files of a folder with one of these extensions, sorted by name: a corpus.
///
/// # Errors
/// Where the folder is not readable or has no such file.
pub fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, InputError> {
    let failed = |source| InputError::System {
        file: folder.to_owned(),
        action: "list the folder".to_owned(),
        source,
        advice: "give the folder of a corpus".to_owned(),
    };
    let mut files: Vec<PathBuf> = match built_in::files(folder) {
        Some(files) => files.collect(),
        None => std::fs::read_dir(folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(failed)?,
    };
    files.retain(|file| {
        file.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension))
    });
    if files.is_empty() {
        let known: Vec<_> = extensions.iter().rev().map(|known| format!(".{known}")).collect();
        let advice = format!("a corpus is a folder of {} files", known.join(" or "));
        return Err(Problem::new("the number of cases", 0, advice).in_file(folder));
    }
    files.sort();
    Ok(files)
}

/// Bytes as text.
///
/// # Errors
/// Where they are none.
pub fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let value = format!("not UTF-8 from byte {}", error.valid_up_to());
        Problem::new("the text", value, "save it as UTF-8")
    })
}

/// Whether a file is a text case, by its name's extension; else it is a `.safetensors`.
pub fn is_text(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// The name of a case that its file does not carry: the file's name without its extension.
pub fn stem(file: &Path) -> String {
    file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_file_and_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.ply");
        let message = bytes(&missing).unwrap_err().to_string();
        assert!(message.contains("missing.ply: cannot read the file"), "{message}");
        let message = bytes(folder.path()).unwrap_err().to_string();
        assert!(message.ends_with("is not a regular file: give a file"), "{message}");
    }
}
