//! PNG files as pictures to fit.

use std::io::BufReader;
use std::path::Path;

use png::{ColorType, Transformations};
use splatcheck_judge::io::{InputError, Problem, memory, read};

/// Most pixels of a file: more than any camera's, little enough to be held as numbers.
const MOST_PIXELS: u64 = 1 << 26;

/// What a pixel takes while it is read: at most four bytes, and three numbers.
const BYTES_OF_A_PIXEL: u64 = 4 + 3 * 8;

/// Colours in 0..=1, display-referred as 3DGS trains on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// `[H,W,3]`
    pub colors: Vec<f64>,
}

/// Why a file is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] InputError),
    /// It cannot be read as PNG.
    #[error("cannot be read as PNG")]
    Png(#[from] png::DecodingError),
    /// It is larger than what is read.
    #[error("{width}x{height} pixels are too large: at most {MOST_PIXELS} pixels are read")]
    TooLarge {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// There is no memory for it.
    #[error(transparent)]
    Memory(#[from] Problem),
}

impl Picture {
    /// Reads a PNG of any colour type; what is transparent is seen before black.
    ///
    /// # Errors
    /// [`PictureError`].
    pub fn read(file: &Path) -> Result<Self, PictureError> {
        let mut decoder = png::Decoder::new(BufReader::new(read::open(file)?));
        decoder.set_transformations(Transformations::normalize_to_color8());
        let info = decoder.read_header_info()?;
        let (width, height) = (info.width, info.height);
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return Err(PictureError::TooLarge { width, height });
        }
        let bytes = u64::from(width) * u64::from(height) * BYTES_OF_A_PIXEL;
        memory::expect(format!("{width}x{height} pixels"), bytes)?;
        let mut reader = decoder.read_info()?;
        let bytes = reader.output_buffer_size();
        let mut bytes = vec![0; bytes.ok_or(PictureError::TooLarge { width, height })?];
        let frame = reader.next_frame(&mut bytes)?;
        bytes.truncate(frame.buffer_size());
        Ok(Self { size: [frame.width, frame.height], colors: colors(&bytes, frame.color_type) })
    }

    /// Made smaller so that the longer side has at most so many pixels: each pixel is the mean of the area
    /// that it covers. A smaller picture stays as it is.
    #[must_use]
    pub fn at_most(self, longest: u32) -> Self {
        let size = fitted(self.size, longest);
        if size == self.size {
            return self;
        }
        let [width, height] = self.size.map(|side| side as usize);
        let across = shares(width, size[0] as usize);
        let down = shares(height, size[1] as usize);
        let mut colors = Vec::with_capacity(across.len() * down.len() * 3);
        for rows in &down {
            for columns in &across {
                let mut sum = [0.0; 3];
                for &(y, of_row) in rows {
                    for &(x, of_column) in columns {
                        let pixel = &self.colors[3 * (y * width + x)..][..3];
                        let share = of_row * of_column;
                        sum.iter_mut().zip(pixel).for_each(|(sum, color)| *sum += share * color);
                    }
                }
                colors.extend(sum);
            }
        }
        Self { size, colors }
    }
}

/// A size whose longer side has at most so many pixels, of the same proportions.
#[must_use]
pub fn fitted(size: [u32; 2], longest: u32) -> [u32; 2] {
    let side = u64::from(size[0].max(size[1]).max(1));
    if side <= u64::from(longest) {
        return size;
    }
    size.map(|pixels| {
        let scaled = (u64::from(pixels) * u64::from(longest) + side / 2) / side;
        u32::try_from(scaled.max(1)).unwrap_or(longest)
    })
}

/// For each of `to` equal parts of a line of `from` pixels, the pixels that it covers and their shares.
fn shares(from: usize, to: usize) -> Vec<Vec<(usize, f64)>> {
    let covered = |part: usize| {
        // In units of 1 / to pixel.
        let [start, end] = [part * from, (part + 1) * from];
        let pixels = start / to..end.div_ceil(to);
        let of_pixel = |pixel: usize| {
            let overlap = end.min((pixel + 1) * to) - start.max(pixel * to);
            (pixel, overlap as f64 / from as f64)
        };
        pixels.map(of_pixel).collect()
    };
    (0..to).map(covered).collect()
}

/// Bytes of an 8-bit frame as colours.
fn colors(bytes: &[u8], kind: ColorType) -> Vec<f64> {
    let unit = |byte: u8| f64::from(byte) / 255.0;
    let grey = |byte: u8| [unit(byte); 3];
    match kind {
        // An index has become RGB by the transformation.
        ColorType::Grayscale | ColorType::Indexed => bytes.iter().flat_map(|&x| grey(x)).collect(),
        ColorType::GrayscaleAlpha => {
            let of = |[x, alpha]: &[u8; 2]| grey(*x).map(|x| x * unit(*alpha));
            bytes.as_chunks().0.iter().flat_map(of).collect()
        }
        ColorType::Rgb => bytes.iter().map(|&x| unit(x)).collect(),
        ColorType::Rgba => {
            let of = |[r, g, b, alpha]: &[u8; 4]| [*r, *g, *b].map(|x| unit(x) * unit(*alpha));
            bytes.as_chunks().0.iter().flat_map(of).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_of_a_smaller_picture_are_means() {
        let colors: Vec<f64> = (0..8).flat_map(|pixel| [f64::from(pixel); 3]).collect();
        let small = Picture { size: [4, 2], colors }.at_most(2);
        assert_eq!(small.size, [2, 1]);
        assert_eq!(small.colors, [2.5, 2.5, 2.5, 4.5, 4.5, 4.5], "(0 1 4 5) and (2 3 6 7)");
        let thirds = shares(3, 2);
        let sums: Vec<f64> = thirds.iter().map(|part| part.iter().map(|p| p.1).sum()).collect();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-15), "{thirds:?}");
        assert_eq!((thirds[0][1].0, thirds[1][0].0), (1, 1), "the middle pixel is in both");
    }

    #[test]
    fn sizes_keep_their_proportions() {
        assert_eq!(fitted([640, 480], 128), [128, 96]);
        assert_eq!(fitted([64, 48], 128), [64, 48], "no larger");
        assert_eq!(fitted([1000, 1], 10), [10, 1], "at least a pixel");
    }

    #[test]
    fn every_colour_type_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.png");
        for (kind, bytes, expected) in [
            (ColorType::Grayscale, &[255][..], [1.0; 3]),
            (ColorType::GrayscaleAlpha, &[255, 0], [0.0; 3]),
            (ColorType::Rgb, &[255, 0, 51], [1.0, 0.0, 0.2]),
            (ColorType::Rgba, &[255, 255, 0, 51], [0.2, 0.2, 0.0]),
        ] {
            let out = std::fs::File::create(&file).expect("a file");
            let mut encoder = png::Encoder::new(out, 1, 1);
            encoder.set_color(kind);
            let mut writer = encoder.write_header().expect("a head");
            writer.write_image_data(bytes).expect("a pixel");
            writer.finish().expect("written");
            let picture = Picture::read(&file).expect("a picture");
            assert_eq!((picture.size, &picture.colors[..]), ([1, 1], &expected[..]), "{kind:?}");
        }
        std::fs::write(&file, "no picture").expect("written");
        assert!(matches!(Picture::read(&file), Err(PictureError::Png(_))));
    }
}
