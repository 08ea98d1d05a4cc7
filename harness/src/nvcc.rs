//! A user's `.cu` file: NVIDIA's compiler makes the PTX of it that everything else takes.
//!
//! [`Nvcc::find`] looks where a compiler may be, [`Nvcc::compile`] runs it, [`install()`] fetches one from `PyPI`
//! when a person asks for it. Nothing is fetched otherwise.

mod find;
mod install;
mod torch;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use splatcheck_emulator::MARKERS;
use splatcheck_judge::io::read;

pub use find::NvccError;
use find::errors;
pub use install::{Installed, install};

/// A compiler, and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    program: PathBuf,
}

/// What a compiler is told beside the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Words of nvcc, in its own form.
    pub words: Vec<OsString>,
    /// Whether the PTX is that of `--use_fast_math`.
    pub fast_math: bool,
    /// Whether calls of CUDA's functions are marked ([`MARKERS`]) in what compiles so too.
    pub markers: bool,
}

/// A device of compute capability 8.0: every nvcc of today knows it, and the emulator executes its text.
const ARCHITECTURE: &str = "-arch=compute_80";

impl Nvcc {
    /// The compiler that was named, or the first that is found.
    ///
    /// # Errors
    /// [`NvccError`]: there is none.
    pub fn find(named: Option<&Path>) -> Result<Self, NvccError> {
        match named {
            Some(program) => Ok(Self { program: program.to_owned() }),
            None => find::first().map(|program| Self { program }),
        }
    }

    /// Its path.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The PTX of a file, with the lines of its source. Where a header of `PyTorch` is missed, it is compiled again
    /// with the folders of the one that the active Python has.
    ///
    /// # Errors
    /// What the compiler says of it.
    pub fn compile(&self, file: &Path, options: &Options) -> Result<String, NvccError> {
        let unwritten = |why: &dyn fmt::Display| {
            NvccError::cannot(format!("compile {} in a temporary folder", file.display()), why)
        };
        let folder = tempfile::tempdir().map_err(|error| unwritten(&error))?;
        let (ptx, header) = (folder.path().join("kernel.ptx"), folder.path().join("markers.cuh"));
        if options.markers {
            std::fs::write(&header, MARKERS).map_err(|error| unwritten(&error))?;
        }
        let marked = [OsStr::new("-include"), header.as_os_str()];
        let run = |includes: &[OsString]| -> Result<_, NvccError> {
            // A source that has names of its own for these functions is compiled as it is.
            if options.markers && self.run(file, options, (&marked, includes), &ptx)?.is_ok() {
                return Ok(Ok(()));
            }
            self.run(file, options, (&[], includes), &ptx)
        };
        let mut compiled = run(&[])?;
        if compiled.as_ref().is_err_and(|said| torch::missing(said).is_some()) {
            let includes = torch::includes();
            if !includes.is_empty() {
                compiled = run(&includes)?;
            }
        }
        compiled.map_err(|said| self.refused(file, &said))?;
        read::text(&ptx).map_err(|error| unwritten(&error))
    }

    /// Starts it; the inner error is what it says of the file.
    fn run(
        &self,
        file: &Path,
        options: &Options,
        (more, includes): (&[&OsStr], &[OsString]),
        ptx: &Path,
    ) -> Result<Result<(), String>, NvccError> {
        let mut command = Command::new(&self.program);
        command.args(["-ptx", "-lineinfo"]).args(options.words()).args(more).args(includes);
        let output = command.arg("-o").arg(ptx).arg(file).output().map_err(|error| {
            NvccError::cannot(format!("start {}", self.program.display()), error)
        })?;
        let said = || String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into();
        Ok(if output.status.success() { Ok(()) } else { Err(said()) })
    }

    fn refused(&self, file: &Path, text: &str) -> NvccError {
        let (said, hint) = (errors(text), hint(text).unwrap_or_default());
        let (program, file) = (self.program.display(), file.display());
        NvccError(format!("{program} does not compile {file}: {said}{hint}"))
    }
}

impl Options {
    /// As nvcc takes them.
    fn words(&self) -> Vec<OsString> {
        let names = |word: &OsString| {
            let word = word.to_string_lossy();
            ["-arch", "--gpu-architecture", "-gencode", "--generate-code"]
                .iter()
                .any(|option| word.starts_with(option))
        };
        let mut all = self.words.clone();
        if !all.iter().any(names) {
            all.push(ARCHITECTURE.into());
        }
        if self.fast_math {
            all.push("--use_fast_math".into());
        }
        all
    }
}

/// What helps against an error that has nothing to do with the kernel.
fn hint(text: &str) -> Option<&'static str> {
    let has = |words: &str| text.contains(words);
    // gcc without g++ says that it cannot execute cc1plus.
    let no_host = ["preprocess host compiler", "gcc: not found", "Cannot find compiler", "cc1plus"];
    if no_host.iter().any(|words| has(words)) {
        return Some(
            ". nvcc works with a C++ compiler beside it: install g++ (on Debian and Ubuntu: apt install g++)",
        );
    }
    if has("unsupported GNU version") || has("unsupported Microsoft Visual Studio version") {
        return Some(
            ". Name an older C++ compiler with --nvcc-args '-ccbin g++-13', or let nvcc try with --nvcc-args \
             -allow-unsupported-compiler",
        );
    }
    match torch::missing(text) {
        Some("Python.h") => {
            return Some(
                ". Python's headers are a package of their own: on Debian and Ubuntu, apt install python3-dev; or \
                 name their folder with -I DIR",
            );
        }
        Some(_) => {
            return Some(
                ". The active Python has no PyTorch with this header: activate the environment that has it, or name \
                 its folder with -I DIR",
            );
        }
        None => {}
    }
    has("No such file").then_some(". Name the folder of the header with -I DIR")
}

#[cfg(test)]
mod tests {
    use super::find::SHOWN;
    use super::*;

    #[test]
    fn an_architecture_is_added_unless_one_is_named() {
        let of = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            let words = Options { words, ..Options::default() }.words();
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(&["-I", "include"]), ["-I", "include", ARCHITECTURE], "none");
        for named in ["-arch=compute_90", "--gpu-architecture", "-gencode=arch=compute_80"] {
            assert_eq!(of(&[named]), [named], "{named}");
        }
        let fast = Options { fast_math: true, ..Options::default() };
        assert!(fast.words().contains(&"--use_fast_math".into()), "{fast:?}");
    }

    #[test]
    fn what_nvcc_says_is_told_by_its_errors() {
        let said =
            "k.cu(2): warning #177-D: unused\n\nk.cu(3): error: identifier \"x\" is undefined\n";
        assert_eq!(errors(said), "k.cu(3): error: identifier \"x\" is undefined");
        assert_eq!(errors("nothing known\n"), "nothing known");
        assert_eq!(errors("\n"), "it says nothing");
        assert!(errors(&"error ".repeat(5000)).len() <= SHOWN, "short");
        let missing = "k.cu:1:10: fatal error: glm/glm.hpp: No such file or directory";
        assert!(hint(missing).is_some_and(|hint| hint.contains("-I DIR")), "a header");
        let torch = "k.cu:1:10: fatal error: torch/extension.h: No such file or directory";
        assert!(hint(torch).is_some_and(|hint| hint.contains("PyTorch")), "torch's");
        let python = torch.replace("torch/extension.h", "Python.h");
        assert!(hint(&python).is_some_and(|hint| hint.contains("python3-dev")), "Python's");
        assert_eq!(hint("k.cu(3): error: identifier"), None, "an error of the kernel");
    }
}
