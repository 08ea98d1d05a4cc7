//! The report's folder: there as a whole, or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder under construction, beside the place where it shall be. Dropping it without
/// [`Staged::publish`] leaves nothing behind.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    around: TempDir,
}

impl Staged {
    /// Begins a folder that shall be `target`, which must not exist or be empty.
    ///
    /// # Errors
    /// Something is there already, or the place cannot be written to.
    pub fn new(target: &Path) -> io::Result<Self> {
        if occupied(target)? {
            return Err(io::Error::other("something is there already: name a new folder"));
        }
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let around = tempfile::Builder::new().prefix(".splatcheck-").tempdir_in(parent)?;
        // Made by hand and not by tempfile, so that it gets the permissions of any folder.
        fs::create_dir(around.path().join("report"))?;
        Ok(Self { target: target.to_owned(), around })
    }

    /// Where to write for now.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.around.path().join("report")
    }

    /// Moves the folder to its place, in one step.
    ///
    /// # Errors
    /// Something appeared there meanwhile, or the system refuses.
    pub fn publish(self) -> io::Result<()> {
        // An empty folder is in the way on some systems; one with contents must not be removed, and
        // is not by this.
        if self.target.is_dir() {
            fs::remove_dir(&self.target)?;
        }
        fs::rename(self.path(), &self.target)
    }
}

fn occupied(target: &Path) -> io::Result<bool> {
    match fs::read_dir(target) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(_) if target.exists() => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let here = tempfile::tempdir().expect("a folder");
        let target = here.path().join("deep/report");
        let staged = Staged::new(&target).expect("nothing is there");
        fs::write(staged.path().join("a.txt"), "a").expect("written");
        assert!(!target.exists(), "it appeared too early");
        drop(staged);
        let left = fs::read_dir(here.path().join("deep")).expect("the folder above").count();
        assert_eq!(left, 0, "an abandoned report left something behind");

        fs::create_dir(&target).expect("an empty folder");
        let staged = Staged::new(&target).expect("an empty folder is no report");
        fs::write(staged.path().join("a.txt"), "a").expect("written");
        staged.publish().expect("moved");
        assert_eq!(fs::read(target.join("a.txt")).expect("it is there"), b"a", "contents");

        let error = Staged::new(&target).expect_err("a report is there").to_string();
        assert!(error.contains("name a new folder"), "unhelpful: {error}");
        let file = here.path().join("file");
        fs::write(&file, "x").expect("written");
        assert!(Staged::new(&file).is_err(), "a file is no folder");
    }

    #[test]
    fn what_appeared_meanwhile_is_not_overwritten() {
        let here = tempfile::tempdir().expect("a folder");
        let target = here.path().join("report");
        let staged = Staged::new(&target).expect("nothing is there");
        fs::create_dir(&target).expect("somebody else");
        fs::write(target.join("theirs.txt"), "theirs").expect("written");
        assert!(staged.publish().is_err(), "it is occupied");
        assert_eq!(fs::read(target.join("theirs.txt")).expect("still there"), b"theirs", "theirs");
    }
}
