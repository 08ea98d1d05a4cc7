//! Compiled kernels, for tests that need large programs.

use std::collections::BTreeMap;
use std::io::Read;

/// The PTX of every kernel of this project, by its path in `gpu/kernels/ptx.tar.zst`.
///
/// # Panics
/// The archive is none: a test cannot go on.
#[must_use]
pub fn compiled() -> BTreeMap<String, String> {
    unpacked(include_bytes!("../../../kernels/ptx.tar.zst"))
}

/// The PTX of users' kernels, by its name in `gpu/tests/kernels/ptx.tar.zst`.
///
/// # Panics
/// The archive is none: a test cannot go on.
#[must_use]
pub fn users() -> BTreeMap<String, String> {
    unpacked(include_bytes!("../../../tests/kernels/ptx.tar.zst"))
}

fn unpacked(archive: &[u8]) -> BTreeMap<String, String> {
    let plain = ruzstd::decoding::StreamingDecoder::new(archive).expect("zstd");
    let mut tar = tar::Archive::new(plain);
    let entries = tar.entries().expect("a tar");
    let text = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.expect("a file");
        let path = entry.path().expect("its path").to_string_lossy().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("a text");
        (path, text)
    };
    entries.map(text).collect()
}
