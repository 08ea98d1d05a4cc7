//! The headers of `PyTorch`, for a kernel of one of its extensions.

use std::ffi::OsString;
use std::path::PathBuf;

use super::find::lines_of_python;

/// Where the active Python has its own headers and those of `PyTorch`, without starting `PyTorch`.
const SCRIPT: &str = "\
import importlib.util as u, os, sysconfig
s = u.find_spec('torch')
for p in (s.submodule_search_locations if s else ()):
    print(os.path.join(p, 'include'))
    print(os.path.join(p, 'include', 'torch', 'csrc', 'api', 'include'))
if s: print(sysconfig.get_path('include'))";

/// What its headers' names begin with, and Python's own, which they include.
const HEADERS: [&str; 4] = ["torch/", "ATen/", "c10/", "Python.h"];

/// The options for its headers, where the active Python has them.
pub(super) fn includes() -> Vec<OsString> {
    let folders = lines_of_python(SCRIPT).into_iter().map(PathBuf::from);
    folders.flat_map(|folder| [OsString::from("-I"), folder.into()]).collect()
}

/// The header of them that a compiler did not find, whichever file includes it.
pub(super) fn missing(said: &str) -> Option<&str> {
    let mut missing = said.lines().filter(|line| line.contains("No such file"));
    // The header is named behind the file that includes it.
    missing.find_map(|line| {
        let mut words = line.rsplit([' ', ':', '\'', '"']);
        words.find(|word| HEADERS.iter().any(|own| word.starts_with(own)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_says_which_header_of_pytorch_it_misses() {
        let said = |header: &str| {
            format!(
                "In file included from k.cu:1:\nmy/k.h:2:10: fatal error: {header}: No such file or directory\n"
            )
        };
        for header in ["torch/extension.h", "ATen/ATen.h", "c10/util/Half.h", "Python.h"] {
            assert_eq!(missing(&said(header)), Some(header));
        }
        for other in ["my/torch/x.h", "glm/glm.hpp"] {
            assert_eq!(missing(&said(other)), None, "{other}");
        }
        let python = "torch/extension.h:3:10: fatal error: Python.h: No such file or directory";
        assert_eq!(missing(python), Some("Python.h"), "what it includes");
        assert_eq!(missing("torch/extension.h(7): error: x is undefined"), None, "it is there");
    }
}
