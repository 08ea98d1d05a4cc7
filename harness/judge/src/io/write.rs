//! Writing a file so that nobody sees a part of it.
//!
//! The bytes go to a temporary file in the same folder, are synced to the disk, and take the name by
//! a rename; then the folder is synced. A reader sees the old file or the new one, a crash leaves
//! no half file under the name. What a killed process leaves behind is a hidden file, which
//! [`remove_leftovers`] takes away.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::error::InputError;

/// Writes `bytes` as `file`, replacing what was there.
///
/// # Errors
/// Names the folder where it is missing or not writable, the file otherwise.
pub fn write_file(file: &Path, bytes: &[u8]) -> Result<(), InputError> {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = temporary_in(folder).map_err(|source| InputError::System {
        file: file.to_owned(),
        action: format!("create a file in folder '{}'", folder.display()),
        source,
        advice: "choose an existing folder that you may write to".to_owned(),
    })?;
    let failed = |action: &str, source| InputError::System {
        file: file.to_owned(),
        action: action.to_owned(),
        source,
        advice: "nothing was replaced; check the disk's free space and the path".to_owned(),
    };
    temporary.write_all(bytes).map_err(|e| failed("write the content", e))?;
    temporary.as_file().sync_all().map_err(|e| failed("sync the content", e))?;
    temporary.persist(file).map_err(|e| failed("give the file its name", e.error))?;
    sync_folder(folder).map_err(|source| InputError::System {
        file: file.to_owned(),
        action: format!("sync folder '{}'", folder.display()),
        source,
        advice: "the file is written, but may be lost in a power failure".to_owned(),
    })
}

/// How temporary files' names begin.
const PREFIX: &str = ".splatcheck-";
/// Age from which on a temporary file is nobody's: writing one takes moments.
const ABANDONED: Duration = Duration::from_secs(600);

/// Removes the temporary files of processes that were killed while they wrote into `folder`, not
/// those of one that may still be writing: they are younger than ten minutes.
///
/// Nothing depends on it, so that what cannot be read or removed stays.
pub fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|data| data.modified()).map(|time| time.elapsed());
        let abandoned = matches!(age, Ok(Ok(age)) if age > ABANDONED);
        if abandoned && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A temporary file with the permissions of an ordinary new file (tempfile's own are 0600).
fn temporary_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The process's umask still applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Makes the rename durable. Only Unix has folders that can be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.bin");
        write_file(&file, b"old and longer").unwrap();
        write_file(&file, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_a_missing_folder() {
        let folder = tempfile::tempdir().unwrap();
        let message = write_file(&folder.path().join("no/a.bin"), b"x").unwrap_err().to_string();
        assert!(message.contains("a.bin: cannot create a file in folder '"), "{message}");
        assert!(message.contains("/no'"), "{message}");
        assert!(message.ends_with("choose an existing folder that you may write to"), "{message}");
    }

    #[test]
    fn keeps_the_old_file_where_the_name_cannot_be_given() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        std::fs::create_dir(&taken).unwrap();
        let message = write_file(&taken, b"x").unwrap_err().to_string();
        assert!(message.contains("taken: cannot give the file its name"), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "temporary file left");
    }

    #[test]
    fn only_old_temporary_files_are_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * ABANDONED;
        for (name, old) in [(".splatcheck-a", true), (".splatcheck-b", false), ("mine", true)] {
            let file = File::create(folder.path().join(name)).unwrap();
            if old {
                file.set_modified(long_ago).unwrap();
            }
        }
        remove_leftovers(folder.path());
        remove_leftovers(&folder.path().join("nowhere"));
        let left = std::fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".splatcheck-b", "mine"]);
    }

    #[cfg(unix)]
    #[test]
    fn has_ordinary_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_file(&ours, b"x").unwrap();
        std::fs::write(&plain, b"x").unwrap();
        let mode = |file| std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
