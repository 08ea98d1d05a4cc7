//! The compiled kernels of this project, for tests that need large programs.

use std::collections::BTreeMap;
use std::io::Read;

/// The PTX of every kernel, by its path in `gpu/kernels/ptx.tar.zst`.
///
/// # Panics
/// The archive is not there, or is none: a test cannot go on.
#[must_use]
pub fn compiled() -> BTreeMap<String, String> {
    let bytes = include_bytes!("../../../kernels/ptx.tar.zst").as_slice();
    let plain = ruzstd::decoding::StreamingDecoder::new(bytes).expect("zstd");
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
