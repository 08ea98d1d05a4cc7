//! Files in an archive: a tar of texts, compressed by zstd.
//!
//! Compiled kernels, their line tables and the mutants' kernels are derived texts that nobody reads as a
//! difference: each kind is one file of the tree. Names are sorted and no time stands in it, so that equal texts
//! are equal bytes.

use std::collections::BTreeMap;
use std::io::{self, Read};

/// What one archive may unpack to. The largest of ours has 5 MB.
const MOST: u64 = 1 << 28;

/// The texts of an archive, by their paths in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive(BTreeMap<String, String>);

/// What unpacking takes at once: the window that `zstd` asks for at its level 19 (8 MiB), twice while it grows, and
/// the texts beside it.
const ROOM: usize = 1 << 26;

/// What keeps an archive from being unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Bytes that are no archive of texts: truncated, changed, or of more than 256 MiB.
    #[error(
        "it is truncated or was changed ({0}): take the file as it was committed, or derive it anew"
    )]
    Damaged(#[from] io::Error),
    /// The decoder panics where it gets no memory, so it is asked for before.
    #[error("unpacking it takes {} MiB of memory, which are not there", ROOM >> 20)]
    Memory,
}

impl Archive {
    /// Unpacks an archive.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        Vec::<u8>::new().try_reserve_exact(ROOM).map_err(|_| ArchiveError::Memory)?;
        let plain = ruzstd::decoding::StreamingDecoder::new(bytes).map_err(io::Error::other)?;
        let mut tar = tar::Archive::new(plain.take(MOST));
        let mut texts = BTreeMap::new();
        for entry in tar.entries()? {
            let mut entry = entry?;
            let name = entry.path()?.to_string_lossy().into_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            texts.insert(name, text);
        }
        Ok(Self(texts))
    }

    /// The text of that path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// All paths and texts, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One file `a/b.txt` that says `text`, by `tar` and `zstd`.
    const SMALL: &[u8] = include_bytes!("archive/small.tar.zst");

    #[test]
    fn texts_are_found_by_their_paths() {
        let archive = Archive::read(SMALL).expect("an archive");
        assert_eq!(archive.get("a/b.txt"), Some("text\n"), "a file in a folder");
        assert_eq!(archive.get("b.txt"), None, "no such path");
        assert_eq!(archive.iter().collect::<Vec<_>>(), [("a/b.txt", "text\n")], "all of it");
    }

    #[test]
    fn what_is_truncated_or_changed_is_refused_with_what_to_do() {
        let changed = |at: usize| {
            let mut bytes = SMALL.to_vec();
            bytes[at] ^= 0x55;
            bytes
        };
        for bytes in [Vec::new(), SMALL[..SMALL.len() / 2].to_vec(), b"text\n".to_vec(), changed(0)]
        {
            let error = Archive::read(&bytes).expect_err("no archive").to_string();
            assert!(error.contains("take the file as it was committed"), "{error}");
        }
        // A changed byte of the content is found here, or by the hash of the manifest.
        for at in 0..SMALL.len() {
            if let Ok(archive) = Archive::read(&changed(at)) {
                assert!(archive.iter().count() <= 1, "byte {at}");
            }
        }
    }
}
