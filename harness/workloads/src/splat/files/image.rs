//! Pictures of rendered colours.
//!
//! 3DGS trains against display-referred pictures, so the colours need no transfer function: a value
//! is clamped to 0..=1, times 255, rounded to the nearest integer. For eyes only; no verdict is ever
//! taken from a picture.

use std::path::Path;

use super::validate::check_size;
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::write::write_file;

/// Writes `colors` `[H,W,3]` as an 8-bit RGB PNG without colour-space chunks.
///
/// # Errors
/// Where the size is not that of the colours, a colour is NaN, or the file cannot be written.
pub fn write_png(file: &Path, width: u32, height: u32, colors: &[f64]) -> Result<(), InputError> {
    let bytes = encode(width, height, colors).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes of the PNG that [`write_png`] writes.
///
/// # Errors
/// As [`write_png`], but for the file.
pub fn encode(width: u32, height: u32, colors: &[f64]) -> Result<Vec<u8>, Problem> {
    check_size(width, height)?;
    let expected = width as usize * height as usize * 3;
    if colors.len() != expected {
        let advice = format!("{width}x{height} pixels of 3 channels have {expected}");
        return Err(Problem::new("the number of colours", colors.len(), advice));
    }
    if let Some(i) = colors.iter().position(|c| c.is_nan()) {
        let (x, y) = ((i / 3) % width as usize, i / 3 / width as usize);
        let field = format!("channel {} of pixel x {x} y {y}", i % 3);
        return Err(Problem::new(field, "NaN", "a picture shows numbers only"));
    }
    let pixels: Vec<u8> = colors.iter().map(|&c| to_byte(c)).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|e| Problem::new("the PNG", e, "the picture could not be encoded"))?;
    Ok(bytes)
}

/// The byte of a colour in 0..=1; what lies outside is clamped.
#[expect(clippy::cast_possible_truncation, reason = "clamped and rounded: 0..=255")]
#[expect(clippy::cast_sign_loss, reason = "clamped: not negative")]
fn to_byte(color: f64) -> u8 {
    (color.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_and_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.png");
        let colors = [-1.0, 0.0, 0.5, 1.0, 7.0, f64::INFINITY];
        write_png(&file, 2, 1, &colors).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2, 1));
        assert_eq!(pixels, [0, 0, 128, 255, 255, 255]);
    }

    #[test]
    fn refuses_what_is_no_picture() {
        let message = |w, h, c: &[f64]| encode(w, h, c).unwrap_err().to_string();
        assert_eq!(
            message(2, 1, &[0.0; 5]),
            "the number of colours is 5: 2x1 pixels of 3 channels have 6"
        );
        assert_eq!(
            message(1, 2, &[0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0]),
            "channel 1 of pixel x 0 y 1 is NaN: a picture shows numbers only"
        );
        assert!(message(0, 1, &[]).starts_with("width is 0"), "size is checked");
    }
}
