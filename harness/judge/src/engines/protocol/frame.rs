//! Frames on a byte stream.

use std::io::{self, Read, Write};

/// The largest frame that is read or written, bytes.
pub const MAX_FRAME: u64 = 1 << 30;

/// Why no frame came.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream failed.
    #[error("stream failed: {0}")]
    Io(#[from] io::Error),
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame, after {got} of {expected} bytes")]
    Truncated {
        /// Bytes that came.
        got: u64,
        /// Bytes that should have come.
        expected: u64,
    },
    /// The length is beyond reason: whoever wrote it does not speak the protocol.
    #[error("not a frame: it would have {length} bytes (first bytes: \"{}\")", bytes.escape_ascii())]
    Length {
        /// The length read.
        length: u64,
        /// The bytes that it was read from.
        bytes: [u8; 8],
    },
}

/// Reads one frame; `None` means that the stream ended between frames.
///
/// # Errors
/// [`FrameError`]. Memory is taken as bytes arrive, so that a lying length costs nothing.
pub fn read_frame(stream: &mut impl Read) -> Result<Option<Vec<u8>>, FrameError> {
    let mut head = Vec::with_capacity(8);
    stream.by_ref().take(8).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(None);
    }
    let Ok(bytes) = <[u8; 8]>::try_from(head.as_slice()) else {
        return Err(FrameError::Truncated { got: head.len() as u64, expected: 8 });
    };
    let length = u64::from_le_bytes(bytes);
    if length > MAX_FRAME {
        return Err(FrameError::Length { length, bytes });
    }
    let mut body = Vec::new();
    stream.by_ref().take(length).read_to_end(&mut body)?;
    if body.len() as u64 == length {
        Ok(Some(body))
    } else {
        Err(FrameError::Truncated { got: body.len() as u64, expected: length })
    }
}

/// Writes one frame and flushes.
///
/// # Errors
/// [`FrameError::Length`] above [`MAX_FRAME`], else what the stream says.
pub fn write_frame(stream: &mut impl Write, body: &[u8]) -> Result<(), FrameError> {
    let length = body.len() as u64;
    let bytes = length.to_le_bytes();
    if length > MAX_FRAME {
        return Err(FrameError::Length { length, bytes });
    }
    stream.write_all(&bytes)?;
    stream.write_all(body)?;
    Ok(stream.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_and_end() {
        let mut stream = Vec::new();
        for body in [b"abc".as_slice(), b"", b"0123456789"] {
            write_frame(&mut stream, body).unwrap();
        }
        let mut stream = stream.as_slice();
        for body in [b"abc".as_slice(), b"", b"0123456789"] {
            let read = read_frame(&mut stream).unwrap();
            assert_eq!(read.as_deref(), Some(body), "a frame changed");
        }
        assert!(read_frame(&mut stream).unwrap().is_none(), "the end is not a frame");
    }

    #[test]
    fn garbage_and_truncation_are_told_apart() {
        let garbage = read_frame(&mut b"hello world, no frame".as_slice()).unwrap_err();
        assert!(garbage.to_string().contains("hello wo"), "unhelpful: {garbage}");
        let mut stream = Vec::new();
        write_frame(&mut stream, b"abcdef").unwrap();
        for cut in 1..stream.len() {
            let error = read_frame(&mut &stream[..cut]).unwrap_err();
            assert!(matches!(error, FrameError::Truncated { .. }), "cut at {cut}: {error}");
        }
    }
}
