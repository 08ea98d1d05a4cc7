//! The corpora as they were when this program was built, for a copy of it that lies in no source tree. Their
//! files have paths that no system has, and are read like others (`super::read`).

use std::path::{Component, Path, PathBuf};

use include_dir::{Dir, include_dir};

/// What paths of files within the program begin with.
const ROOT: &str = "built-in:";

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/built-in");

/// A folder by its path within the source tree.
#[must_use]
pub fn folder(within: &str) -> Option<PathBuf> {
    FILES.get_dir(within).map(|_| Path::new(ROOT).join(within))
}

/// The path within the source tree, of a file within the program.
fn within(path: &Path) -> Option<&Path> {
    let mut parts = path.components();
    let root = parts.next().is_some_and(|part| part == Component::Normal(ROOT.as_ref()));
    root.then_some(parts.as_path())
}

/// A file of the program.
pub(super) fn bytes(file: &Path) -> Option<&'static [u8]> {
    FILES.get_file(within(file)?).map(include_dir::File::contents)
}

/// The files of a folder of the program, in no order.
pub(super) fn files(folder: &Path) -> Option<impl Iterator<Item = PathBuf>> {
    let files = FILES.get_dir(within(folder)?)?.files();
    Some(files.map(|file| Path::new(ROOT).join(file.path())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_paths_are_none_of_the_program() {
        assert_eq!(folder("corpora/none"), None);
        assert_eq!(bytes(Path::new("corpora/splat/empty.toml")), None, "a path of the system");
        assert_eq!(bytes(Path::new("built-in:/corpora/../../secret")), None, "nor above it");
        assert!(bytes(Path::new("built-in:/corpora/splat/empty.toml")).is_some(), "one of its own");
    }
}
