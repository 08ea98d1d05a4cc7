//! The source tree that this program was built in, found when it runs: no path of the machine that
//! built it is part of the program, and a copy of it elsewhere finds nothing that is not there, or what is
//! [built in](super::built_in).

use std::env;
use std::path::{Path, PathBuf};

use super::built_in;

/// The folder by which the tree is known.
const CORPUS: &str = "corpora/splat";

/// The tree's root: above the executable, which cargo puts below `target`, or above the manifest that
/// cargo names to the programs that it runs, for a target folder that is elsewhere.
#[must_use]
pub fn root() -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    own.iter().chain(&manifest).find_map(|path| above(path))
}

/// Whether the tree is there and has this file: who has installed the program alone is not to be sent to one.
#[must_use]
pub fn has(within: &str) -> bool {
    root().is_some_and(|root| root.join(within).is_file())
}

/// The nearest folder above `path`, or `path` itself, that holds the corpus.
fn above(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| folder.join(CORPUS).is_dir()).map(Path::to_owned)
}

/// A folder of the tree by its path within it: that of the working folder if there is one, so that
/// whoever stands in a tree uses its files, else that of [`root`], else what is built in.
#[must_use]
pub fn folder(within: &str) -> Option<PathBuf> {
    let here = Some(PathBuf::new());
    let roots = [here, root()].into_iter().flatten();
    let there = roots.map(|root| root.join(within)).find(|folder| folder.is_dir());
    there.or_else(|| built_in::folder(within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_tree_above_is_found_and_none_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("target/release/deps/program");
        assert_eq!(above(&program), None, "no tree");
        fs::create_dir_all(folder.path().join(CORPUS)).expect("it is made");
        assert_eq!(above(&program).as_deref(), Some(folder.path()), "above the program");
        assert_eq!(above(folder.path()).as_deref(), Some(folder.path()), "the folder itself");
        let own = root().expect("this test was built in the tree");
        assert!(own.join(CORPUS).is_dir(), "{}", own.display());
        assert!(has("tests/setup") && !has("tests/no such file"), "files of the tree");
    }
}
