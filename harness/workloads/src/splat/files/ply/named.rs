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
    } else if begins_as_a_ply(bytes) {
        return Ok(());
    } else if is("splat") || has_rows_of_a_splat(bytes) {
        if !bytes.len().is_multiple_of(SPLAT) {
            return Err(cut(bytes.len()));
        }
        ("a .splat", "splat")
    } else if is("ksplat") {
        ("a .ksplat", "ksplat")
    } else {
        return Err(Problem::new("the first line", "not 'ply'", "give a 3DGS .ply").at_line(1));
    };
    let advice = format!(
        "convert it to a .ply: npx @playcanvas/splat-transform scene.{extension} scene.ply"
    );
    Err(Problem::new("the file", value, advice))
}

/// Whether a file may be a PLY, of which perhaps not even the first word is whole.
fn begins_as_a_ply(bytes: &[u8]) -> bool {
    bytes.starts_with(b"ply") || b"ply".starts_with(bytes)
}

/// A `.splat` whose last Gaussian is not whole.
fn cut(bytes: usize) -> Problem {
    let advice = format!(
        "a Gaussian has {SPLAT}, so the last one is not whole: fetch the file again, then convert it to a \
         .ply: npx @playcanvas/splat-transform scene.splat scene.ply"
    );
    Problem::new("the file", format!("a .splat of {bytes} bytes"), advice)
}

/// Whether all whole rows are those of a `.splat`, whatever the file is called: three finite numbers of a place, three
/// of an extent, four bytes of a colour, and four of a rotation of length 1. Writers cut a rotation's parts to 1/128,
/// and 1.0 to 127/128, so each of four is off by at most 1/128, and the length by at most twice that.
fn has_rows_of_a_splat(bytes: &[u8]) -> bool {
    let is_row = |row: &[u8]| {
        let number = |at: usize| {
            let bytes = [row[4 * at], row[4 * at + 1], row[4 * at + 2], row[4 * at + 3]];
            f32::from_le_bytes(bytes)
        };
        let turn = row[28..].iter().map(|&byte| (f64::from(byte) - 128.0) / 128.0);
        let length = turn.map(|part| part * part).sum::<f64>().sqrt();
        (0..3).all(|at| number(at).is_finite())
            && (3..6).all(|at| number(at).is_finite() && number(at) >= 0.0)
            && (length - 1.0).abs() <= 2.0 / 128.0
    };
    let rows = bytes.chunks_exact(SPLAT);
    rows.len() > 0 && rows.clone().all(is_row)
}
