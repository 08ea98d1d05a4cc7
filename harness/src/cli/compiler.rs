//! A kernel's file as it is typed: PTX, or a `.cu` file that NVIDIA's compiler makes PTX of.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use splatcheck_judge::engines::command::CommandLine;

use super::exit::CliError;
use super::{language, paths};
use crate::nvcc::{Nvcc, Options};

/// How a `.cu` file is compiled, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Of a .cu file")]
pub struct CompilerArgs {
    /// NVIDIA's compiler [default: the first on PATH, below `CUDA_HOME`, of Python's packages, or of
    /// `splatcheck setup nvcc`]
    #[arg(long, value_name = "FILE")]
    pub nvcc: Option<PathBuf>,
    /// A folder of headers, as nvcc takes it; repeatable
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// A macro, as nvcc takes it; repeatable
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// The version of C++; -std=c++20 is the same
    #[arg(long, value_name = "VERSION")]
    pub std: Option<String>,
    /// More options of nvcc, as one text: `-arch=compute_90 --expt-relaxed-constexpr`
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub nvcc_args: Option<CommandLine>,
}

/// What reads a kernel's file.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Compiler {
    nvcc: Option<PathBuf>,
    options: Options,
}

impl CompilerArgs {
    /// The compiler for these files of kernels. `fast_math` says whether they are judged as compiled so; `None` where
    /// they are followed in real arithmetic, with their functions marked.
    ///
    /// # Errors
    /// Options of the compiler, and no file is for it; fast math, and bounds that are not for it.
    pub(in crate::cli) fn of<'f>(
        self,
        mut files: impl Iterator<Item = &'f Path>,
        fast_math: Option<bool>,
    ) -> Result<Compiler, CliError> {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(self.include.iter().flat_map(|folder| ["-I".into(), folder.into()]));
        words.extend(self.define.iter().flat_map(|name| ["-D".into(), name.into()]));
        words.extend(self.std.iter().map(|version| format!("-std={version}").into()));
        let more = self.nvcc_args.iter();
        words.extend(more.flat_map(|line| {
            let words =
                [line.program()].into_iter().chain(line.arguments().iter().map(String::as_str));
            words.map(OsString::from).collect::<Vec<_>>()
        }));
        if (self.nvcc.is_some() || !words.is_empty()) && !files.any(is_cuda) {
            return Err(CliError::new(
                "--nvcc, -I, -D, --std and --nvcc-args are for a .cu file, and no kernel's file is one: leave them out",
            ));
        }
        if let Some(nvcc) = &self.nvcc {
            paths::readable_file("--nvcc", nvcc)?;
        }
        let is_fast = words.iter().any(|word| word.to_string_lossy().ends_with("use_fast_math"));
        if is_fast && fast_math == Some(false) {
            return Err(CliError::new(
                "--nvcc-args: say --fast-math in place of --use_fast_math: it compiles so, and allows the \
                 errors that CUDA documents for it",
            ));
        }
        let markers = fast_math.is_none();
        let fast_math = fast_math == Some(true) && !is_fast;
        Ok(Compiler { nvcc: self.nvcc, options: Options { words, fast_math, markers } })
    }
}

impl Compiler {
    /// One that is told nothing but whether to compile with fast math.
    pub(in crate::cli) fn plain(fast_math: bool) -> Self {
        Self { nvcc: None, options: Options { fast_math, ..Options::default() } }
    }

    /// The PTX of a kernel's file, or its WGSL.
    ///
    /// # Errors
    /// The file is no text, or does not compile.
    pub(in crate::cli) fn text(&self, option: &str, file: &Path) -> Result<String, CliError> {
        if !is_cuda(file) {
            let text = paths::program(option, file, "PTX")?;
            return language::expect_compiled(file, &text).map(|()| text);
        }
        let file = paths::readable_file(option, file)?;
        let compiled =
            Nvcc::find(self.nvcc.as_deref()).and_then(|nvcc| nvcc.compile(&file, &self.options));
        compiled.map_err(|error| CliError::new(format!("{}: {error}", file.display())))
    }
}

/// Whether a file is a source in CUDA, by its name.
fn is_cuda(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("cu"))
}
