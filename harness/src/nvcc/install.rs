//! Fetches a compiler from `PyPI` into our cache, by pip or uv, when a person asks for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::find::{NvccError, cached, errors, pythons, whole};

/// The compiler, and what it needs to make PTX, in versions that go together.
const WANTED: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
];

/// A compiler in our cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The compiler.
    pub program: PathBuf,
    /// What fetched it; `None` where it was there.
    pub by: Option<String>,
}

/// Fetches the compiler, unless it is in the cache. `say` is told what is about to be done.
///
/// # Errors
/// There is neither pip nor uv, it cannot fetch, or the cache cannot be written.
pub fn install(say: &mut dyn FnMut(&str)) -> Result<Installed, NvccError> {
    let nowhere = || NvccError("no folder for it: set HOME or XDG_CACHE_HOME".to_owned());
    let cache = cached().ok_or_else(nowhere)?;
    if let Ok(program) = whole(&cache) {
        return Ok(Installed { program, by: None });
    }
    let installer = Installer::find()?;
    say(&format!("{} fetches {} into {}", installer.name, WANTED.join(", "), cache.display()));
    let cannot = |error| NvccError::cannot(format!("write {}", cache.display()), error);
    let above = cache.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(above).map_err(cannot)?;
    // Beside its place, so that a download that was cut off never stands there.
    let folder = tempfile::Builder::new().prefix("nvcc-").tempdir_in(above).map_err(cannot)?;
    let fetched = folder.path().join("packages");
    installer.run(&fetched)?;
    whole(&fetched).map_err(|why| {
        let why = why.unwrap_or_else(|| "there is no nvcc".to_owned());
        NvccError(format!("what {} fetched cannot compile: {why}", installer.name))
    })?;
    if cache.exists() {
        std::fs::remove_dir_all(&cache).map_err(cannot)?;
    }
    std::fs::rename(&fetched, &cache).map_err(cannot)?;
    let missing = || NvccError(format!("{} was removed", cache.display()));
    let program = whole(&cache).map_err(|_| missing())?;
    Ok(Installed { program, by: Some(installer.name) })
}

/// A program that fetches packages.
struct Installer {
    /// As a person knows it.
    name: String,
    program: OsString,
    words: &'static [&'static str],
}

impl Installer {
    /// The active Python's pip, else uv.
    fn find() -> Result<Self, NvccError> {
        let pip = &["-m", "pip"][..];
        let all =
            pythons().into_iter().map(|python| (python, pip)).chain([("uv".into(), &["pip"][..])]);
        let works = |(program, words): &(OsString, &[&str])| {
            let mut command = Command::new(program);
            let output = command.args(*words).arg("--version").stdin(Stdio::null()).output();
            output.is_ok_and(|output| output.status.success())
        };
        let found = all.into_iter().find(works);
        let (program, words) = found.ok_or_else(|| {
            let what = "neither python3 with pip nor uv is there, which would fetch it: install one (on Debian \
                        and Ubuntu: apt install python3-pip), or the CUDA Toolkit";
            NvccError(what.to_owned())
        })?;
        let name = match words {
            ["pip"] => "uv".to_owned(),
            _ => format!("pip of {}", program.to_string_lossy()),
        };
        Ok(Self { name, program, words })
    }

    /// Fetches all packages into a folder.
    fn run(&self, folder: &Path) -> Result<(), NvccError> {
        let mut command = Command::new(&self.program);
        command.args(self.words).args(["install", "--quiet", "--target"]).arg(folder).args(WANTED);
        let output = command.stdin(Stdio::null()).output().map_err(|error| {
            NvccError::cannot(format!("start {}", Path::new(&self.program).display()), error)
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = errors(&String::from_utf8_lossy(&output.stderr));
        Err(NvccError(format!("{} cannot fetch it: {said}", self.name)))
    }
}
