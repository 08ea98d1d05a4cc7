//! Which program a child process runs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// See [`Program::stand_in`].
static STAND_IN: OnceLock<Program> = OnceLock::new();

/// A program that speaks [`protocol`](super::protocol) on its standard input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments, before those that choose the adapter.
    pub args: Vec<OsString>,
}

impl Program {
    /// `splatcheck engine` with the given executable.
    #[must_use]
    pub fn splatcheck(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), args: vec!["engine".into()] }
    }

    /// Names the program for the child processes of a host whose own executable is none, as an
    /// interpreter that has splatcheck for a library. The first one named holds.
    pub fn stand_in(program: Self) {
        // A second call comes from the same host, with the same program.
        let _ = STAND_IN.set(program);
    }

    /// `splatcheck engine` with the executable that `SPLATCHECK_BIN` names, else the program that
    /// [`Self::stand_in`] named, else the executable built beside this program if this is a test program (which cargo puts in a folder `deps`), else
    /// this very program, whatever it was renamed to.
    ///
    /// # Errors
    /// Says what was looked for and how to name it.
    pub fn find() -> Result<Self, NoProgram> {
        if let Some(path) = env::var_os("SPLATCHECK_BIN") {
            let path = PathBuf::from(path);
            if !path.is_file() {
                let what = format!("SPLATCHECK_BIN names no file: {}", path.display());
                return Err(NoProgram(what));
            }
            return Ok(Self::splatcheck(path));
        }
        if let Some(program) = STAND_IN.get() {
            return Ok(program.clone());
        }
        let set = "set SPLATCHECK_BIN to the splatcheck executable";
        let own = env::current_exe().map_err(|error| {
            NoProgram(format!("cannot tell which program is running ({error}): {set}"))
        })?;
        let none = || NoProgram(format!("no splatcheck was built beside {}: {set}", own.display()));
        beside(&own).map(Self::splatcheck).ok_or_else(none)
    }
}

/// Why there is no program for the child processes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoProgram(String);

/// The splatcheck executable seen from a running program.
fn beside(own: &Path) -> Option<PathBuf> {
    let folder = own.parent()?;
    if folder.file_name().is_none_or(|name| name != "deps") {
        return Some(own.to_owned());
    }
    let path = folder.parent()?.join(format!("splatcheck{}", env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_test_program_finds_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("splatcheck{}", env::consts::EXE_SUFFIX);
        let deps = folder.path().join("deps");
        fs::create_dir(&deps).unwrap();
        let test = deps.join("some_test-0123");
        assert_eq!(beside(&test), None, "there is none yet");
        fs::write(folder.path().join(&name), "").unwrap();
        assert_eq!(beside(&test), Some(folder.path().join(&name)), "one folder up");
        let own = folder.path().join(&name);
        assert_eq!(beside(&own), Some(own.clone()), "itself");
        let renamed = folder.path().join("sc");
        assert_eq!(beside(&renamed), Some(renamed.clone()), "itself under another name");
    }
}
