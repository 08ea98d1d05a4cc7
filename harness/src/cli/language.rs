//! In which language a kernel's file is written: its text says it, whatever its name says.

use std::path::Path;

use super::exit::CliError;

/// A language of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Ptx,
    Cuda,
    Wgsl,
}

impl Language {
    /// The language of a text, where it has what no other has.
    fn of(text: &str) -> Option<Self> {
        let lines = || text.lines().map(|line| line.split("//").next().unwrap_or("").trim());
        let is_cuda = |line: &str| {
            let directive = line.strip_prefix('#').map(str::trim_start);
            directive.is_some_and(|word| word.starts_with("include"))
                || line.starts_with("namespace ")
                || line.contains("__global__")
        };
        if lines().any(|line| line.starts_with(".version")) {
            Some(Self::Ptx)
        } else if lines().any(is_cuda) {
            Some(Self::Cuda)
        } else {
            lines().any(|line| line.contains("@compute")).then_some(Self::Wgsl)
        }
    }
}

/// That a file which nvcc is not asked to compile, for its name, is no CUDA C++.
///
/// # Errors
/// Says what to do about it.
pub(super) fn expect_compiled(file: &Path, text: &str) -> Result<(), CliError> {
    match Language::of(text) {
        Some(Language::Cuda) => Err(CliError::new(format!(
            "{}: it is CUDA C++, and its name does not end in .cu: name it so, and nvcc compiles it (where there is \
             no nvcc, 'splatcheck setup nvcc' fetches it), or give the PTX that nvcc -ptx -lineinfo makes of it",
            file.display()
        ))),
        Some(Language::Ptx | Language::Wgsl) | None => Ok(()),
    }
}

/// That a file for `ptx` is no WGSL.
///
/// # Errors
/// Says which command takes it.
pub(super) fn expect_ptx(file: &Path, text: &str) -> Result<(), CliError> {
    match Language::of(text) {
        Some(Language::Wgsl) => Err(CliError::new(format!(
            "{}: it is WGSL, no PTX: use splatcheck wgsl, or mutants --wgsl",
            file.display()
        ))),
        Some(Language::Ptx | Language::Cuda) | None => Ok(()),
    }
}

/// That a file for `wgsl` is neither PTX nor CUDA C++.
///
/// # Errors
/// Says which command takes it.
pub(super) fn expect_wgsl(file: &Path, text: &str) -> Result<(), CliError> {
    let what = match Language::of(text) {
        Some(Language::Ptx) => "PTX",
        Some(Language::Cuda) => "CUDA C++",
        Some(Language::Wgsl) | None => return Ok(()),
    };
    Err(CliError::new(format!(
        "{}: it is {what}, no WGSL: use splatcheck ptx, or mutants --ptx",
        file.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_in_which_language_it_is() {
        for (text, language) in [
            ("// #include\n .version 8.4\n// __global__", Some(Language::Ptx)),
            ("#pragma once\n# include <cuda.h>", Some(Language::Cuda)),
            ("namespace own {", Some(Language::Cuda)),
            ("extern \"C\" __global__ void k() {}", Some(Language::Cuda)),
            ("// a namespace\n@compute @workgroup_size(1) fn k() {}", Some(Language::Wgsl)),
            ("// __global__ and @compute\n.target sm_75", None),
            ("", None),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }
}
