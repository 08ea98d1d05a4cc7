//! Where a compiler may be: on `PATH`, in a toolkit, in the packages of Python, in our cache.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NvccError(pub(super) String);

impl NvccError {
    /// Something that could not be done, and why.
    pub(super) fn cannot(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self(format!("cannot {what}: {why}"))
    }
}

/// Characters of nvcc's words that are shown.
pub(super) const SHOWN: usize = 2000;

/// The compiler's file.
const NVCC: &str = if cfg!(windows) { "nvcc.exe" } else { "nvcc" };

/// Where NVIDIA's packages of version 13 lie in a folder of Python's packages.
const PACKAGES: &str = "nvidia/cu13";

/// What a compiler from `PyPI` cannot do without, and the package that has it.
const PARTS: [(&str, &str); 4] = [
    ("nvvm/bin/cicc", "nvidia-nvvm"),
    ("include/crt/host_config.h", "nvidia-cuda-crt"),
    ("include/cuda_runtime.h", "nvidia-cuda-runtime"),
    ("include/cccl/cuda/std/version", "nvidia-cuda-cccl"),
];

/// The first compiler that there is.
pub(super) fn first() -> Result<PathBuf, NvccError> {
    let (mut looked, mut broken) = (Vec::new(), Vec::new());
    looked.push("on PATH".to_owned());
    let folders = env::var_os("PATH").unwrap_or_default();
    if let Some(found) =
        env::split_paths(&folders).map(|folder| folder.join(NVCC)).find(|file| file.is_file())
    {
        return Ok(found);
    }
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        looked.push(format!("below {name}"));
        let toolkit = env::var_os(name).map(|folder| Path::new(&folder).join("bin").join(NVCC));
        if let Some(found) = toolkit.filter(|file| file.is_file()) {
            return Ok(found);
        }
    }
    looked.push("in /usr/local/cuda".to_owned());
    let usual = Path::new("/usr/local/cuda/bin").join(NVCC);
    if usual.is_file() {
        return Ok(usual);
    }
    looked.push("in the packages of the active Python".to_owned());
    let cache = cached();
    looked.extend(cache.iter().map(|folder| format!("in {}", folder.display())));
    for packages in python_packages().into_iter().chain(cache) {
        match whole(&packages) {
            Ok(found) => return Ok(found),
            Err(why) => broken.extend(why),
        }
    }
    looked.extend(broken);
    Err(NvccError(format!(
        "no nvcc was found ({}). Either run 'splatcheck setup nvcc', which fetches NVIDIA's compiler from PyPI, or \
         install the CUDA Toolkit and name its compiler with --nvcc FILE",
        looked.join(", ")
    )))
}

/// The compiler in a folder of packages; where a part of it is missing, which, and nothing where there is none.
pub(super) fn whole(packages: &Path) -> Result<PathBuf, Option<String>> {
    let toolkit = packages.join(PACKAGES);
    let nvcc = toolkit.join("bin").join(NVCC);
    if !nvcc.is_file() {
        return Err(None);
    }
    let part = |file: &str| {
        toolkit.join(file).exists() || toolkit.join(file).with_extension("exe").exists()
    };
    match PARTS.iter().find(|(file, _)| !part(file)) {
        None => Ok(nvcc),
        Some((_, package)) => {
            Err(Some(format!("{} lacks a part: pip install '{package}==13.*'", nvcc.display())))
        }
    }
}

/// Our own folder of packages, where the system says what may be made again goes.
pub(super) fn cached() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = if cfg!(windows) { set("LOCALAPPDATA") } else { set("XDG_CACHE_HOME") };
    let folder = own.or_else(|| Some(env::home_dir()?.join(".cache")))?;
    Some(folder.join("splatcheck/nvcc-13.0"))
}

/// The folders of packages of the active Python that have some of NVIDIA's.
fn python_packages() -> Vec<PathBuf> {
    let script = "import importlib.util as u, os\ns = u.find_spec('nvidia')\n\
                  for p in (s.submodule_search_locations if s else ()): print(os.path.dirname(p))";
    lines_of_python(script).into_iter().map(PathBuf::from).collect()
}

/// What a script prints in the active Python; nothing where there is none, or it fails.
pub(super) fn lines_of_python(script: &str) -> Vec<String> {
    let run = |python: &OsString| {
        let output = Command::new(python).args(["-c", script]).output().ok()?;
        output.status.success().then_some(output.stdout)
    };
    let said = pythons().iter().find_map(run).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().map(str::to_owned).collect()
}

/// The names of the active Python, the likeliest first.
pub(super) fn pythons() -> Vec<OsString> {
    let own = env::var_os("VIRTUAL_ENV").map(|folder| {
        let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        Path::new(&folder).join(program).into_os_string()
    });
    own.into_iter().chain(["python3".into(), "python".into()]).collect()
}

/// The lines of an answer that name errors, or all where none does.
pub(super) fn errors(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("error") || line.contains("fatal")
    };
    let some = lines().any(|line| is_error(&line));
    let kept: Vec<&str> = lines().filter(|line| !some || is_error(line)).collect();
    match kept.is_empty() {
        true => "it says nothing".to_owned(),
        false => kept.join("; ").chars().take(SHOWN).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn packages_are_used_where_all_parts_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let put = |file: &str| {
            let file = folder.path().join(PACKAGES).join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        };
        assert_eq!(whole(folder.path()), Err(None), "no compiler");
        put(&format!("bin/{NVCC}"));
        for (file, package) in PARTS {
            let why = whole(folder.path()).unwrap_err().unwrap();
            assert!(why.contains(package), "{why}");
            put(file);
        }
        assert!(whole(folder.path()).unwrap().ends_with(format!("bin/{NVCC}")), "whole");
    }
}
