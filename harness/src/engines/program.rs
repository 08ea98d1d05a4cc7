//! Which program a child process runs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

    /// `splatcheck engine` with the executable that `SPLATCHECK_BIN` names, else this very
    /// program if it is splatcheck, else the one built beside it (for test programs, which cargo
    /// puts one folder deeper).
    ///
    /// # Errors
    /// Says what was looked for and how to name it.
    pub fn find() -> Result<Self, String> {
        if let Some(path) = env::var_os("SPLATCHECK_BIN") {
            let path = PathBuf::from(path);
            if !path.is_file() {
                return Err(format!("SPLATCHECK_BIN names no file: {}", path.display()));
            }
            return Ok(Self::splatcheck(path));
        }
        let own = env::current_exe()
            .map_err(|e| format!("cannot tell which program is running ({e}): {SET_IT}"))?;
        beside(&own).map(Self::splatcheck).ok_or_else(|| {
            format!("{} is not splatcheck and has none beside it: {SET_IT}", own.display())
        })
    }
}

const SET_IT: &str = "set SPLATCHECK_BIN to the splatcheck executable";

/// The splatcheck executable seen from a running program.
fn beside(own: &Path) -> Option<PathBuf> {
    if own.file_stem().is_some_and(|stem| stem == "splatcheck") {
        return Some(own.to_owned());
    }
    let name = format!("splatcheck{}", env::consts::EXE_SUFFIX);
    own.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.is_file())
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
    }
}
