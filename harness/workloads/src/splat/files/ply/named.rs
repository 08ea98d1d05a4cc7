//! Scenes in other formats, told by their first bytes.

use std::path::Path;

use splatcheck_judge::io::error::Problem;

/// Bytes of a Gaussian in a `.splat`, which has no header.
const SPLAT: usize = 32;

/// Refuses what is a known format and no PLY, with the way to one.
pub(super) fn refuse(file: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let is =
        |extension: &str| file.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
    // A .spz is a gzip, and since its version 4 begins with its own name.
    let (value, extension) = if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"NGSP") {
        ("a .spz (or another compressed file)", "spz")
    } else if bytes.starts_with(b"PK\x03\x04") {
        ("a .sog (or another archive)", "sog")
    } else if is("splat") && bytes.len().is_multiple_of(SPLAT) && !bytes.starts_with(b"ply") {
        ("a .splat", "splat")
    } else if is("ksplat") {
        ("a .ksplat", "ksplat")
    } else {
        return Ok(());
    };
    let advice = format!(
        "convert it to a .ply: npx @playcanvas/splat-transform scene.{extension} scene.ply"
    );
    Err(Problem::new("the file", value, advice))
}
