//! The headers of `PyTorch`, for a kernel of one of its extensions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use splatcheck_judge::io::read;

use super::find::lines_of_python;

/// Where the active Python has its own headers and those of `PyTorch`, without starting `PyTorch`.
const SCRIPT: &str = "\
import importlib.util as u, os, sysconfig
s = u.find_spec('torch')
for p in (s.submodule_search_locations if s else ()):
    print(os.path.join(p, 'include'))
    print(os.path.join(p, 'include', 'torch', 'csrc', 'api', 'include'))
if s: print(sysconfig.get_path('include'))";

/// The options for a file that includes headers of `PyTorch`, where the active Python has them.
pub(super) fn includes(file: &Path) -> Vec<OsString> {
    // What is no text is the compiler's to refuse.
    if !asks(&read::text(file).unwrap_or_default()) {
        return Vec::new();
    }
    let folders = lines_of_python(SCRIPT).into_iter().map(PathBuf::from);
    folders.flat_map(|folder| [OsString::from("-I"), folder.into()]).collect()
}

/// Whether a source includes one of them.
fn asks(source: &str) -> bool {
    let header = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        Some(rest.trim_start().trim_start_matches(['<', '"']).to_owned())
    };
    let is_torch =
        |header: String| ["torch/", "ATen/", "c10/"].iter().any(|own| header.starts_with(own));
    source.lines().filter_map(header).any(is_torch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_asks_for_pytorch_by_its_headers() {
        for asked in
            ["#include <torch/extension.h>", "x\n # include \"ATen/ATen.h\"", "#include <c10/x.h>"]
        {
            assert!(asks(asked), "{asked}");
        }
        for other in ["#include <cuda_fp16.h>", "// torch/extension.h", "#include \"my/torch/x.h\""]
        {
            assert!(!asks(other), "{other}");
        }
    }
}
