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

    /// The PTX of a file, with the lines of its source.
    ///
    /// # Errors
    /// What the compiler says of it.
    pub fn compile(&self, file: &Path, options: &Options) -> Result<String, NvccError> {
        let unwritten = |why: &dyn fmt::Display| {
            NvccError::cannot(format!("compile {} in a temporary folder", file.display()), why)
        };
        let text = |ptx: &Path| read::text(ptx).map_err(|error| unwritten(&error));
        let folder = tempfile::tempdir().map_err(|error| unwritten(&error))?;
        let ptx = folder.path().join("kernel.ptx");
        let run = |more: &[&OsStr]| {
            let mut command = Command::new(&self.program);
            command.args(["-ptx", "-lineinfo"]).args(options.words()).args(more);
            command.args(torch::includes(file)).arg("-o").arg(&ptx).arg(file);
            command.output().map_err(|error| {
                NvccError::cannot(format!("start {}", self.program.display()), error)
            })
        };
        if options.markers {
            let header = folder.path().join("markers.cuh");
            std::fs::write(&header, MARKERS).map_err(|error| unwritten(&error))?;
            // A source that has names of its own for these functions is compiled as it is.
            if run(&[OsStr::new("-include"), header.as_os_str()])?.status.success() {
                return text(&ptx);
            }
        }
        let output = run(&[])?;
        if !output.status.success() {
            let text = [output.stderr, output.stdout].concat();
            return Err(self.refused(file, &String::from_utf8_lossy(&text)));
        }
        text(&ptx)
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
    let headers = ["torch/", "ATen/", "c10/", "Python.h"];
    if has("No such file") && headers.iter().any(|header| has(header)) {
        return Some(
            ". These headers come with PyTorch: activate the environment that has it, and they are found",
        );
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
        assert_eq!(hint("k.cu(3): error: identifier"), None, "an error of the kernel");
    }
}
