//! The data of a PLY: a row of numbers for each vertex, however they are written.

use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::io::{notation, read};

use super::header::{Column, Float, Format, Header};

/// Calls `take` with the numbers of these columns for each vertex, in the file's order.
///
/// # Errors
/// That the data is not as long as declared, before anything is taken, or has no number where one belongs;
/// and those of `take`.
pub(super) fn for_each(
    header: &Header,
    data: &[u8],
    columns: &[&Column],
    mut take: impl FnMut(usize, &[f64]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut row = vec![0.0; columns.len()];
    let is_big = match header.format {
        Format::Ascii => return for_each_line(header, data, columns, take),
        Format::LittleEndian => false,
        Format::BigEndian => true,
    };
    check_length(header, data.len())?;
    for (vertex, bytes) in data.chunks_exact(header.stride).take(header.vertices).enumerate() {
        for (number, column) in row.iter_mut().zip(columns) {
            *number = of_bytes(&bytes[column.offset..], column.float(), is_big);
        }
        take(vertex, &row)?;
    }
    Ok(())
}

/// The number at the beginning of these bytes, which are enough for it.
fn of_bytes(bytes: &[u8], float: Option<Float>, is_big: bool) -> f64 {
    match float {
        Some(Float::Single) => bytes.first_chunk().map_or(f64::NAN, |&bytes| {
            f64::from(if is_big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) })
        }),
        Some(Float::Double) => bytes.first_chunk().map_or(f64::NAN, |&bytes| {
            if is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
        }),
        None => f64::NAN,
    }
}

fn check_length(header: &Header, found: usize) -> Result<(), Problem> {
    let declared = header.vertices.checked_mul(header.stride);
    if declared == Some(found) || header.is_followed && declared.is_some_and(|own| own <= found) {
        return Ok(());
    }
    let asked = declared.map_or("more than any file's".to_owned(), |bytes| bytes.to_string());
    let fault = if declared.is_some_and(|bytes| bytes < found) {
        "the file is longer than declared"
    } else {
        "the file is truncated or its count is wrong"
    };
    let advice = format!(
        "'element vertex {}' with {} bytes each asks for {asked} bytes; {fault}",
        header.vertices, header.stride
    );
    Err(Problem::new("the size of the data after end_header", format!("{found} bytes"), advice))
}

/// [`for_each`] where a vertex is a line.
fn for_each_line(
    header: &Header,
    data: &[u8],
    columns: &[&Column],
    mut take: impl FnMut(usize, &[f64]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let text = read::utf8(data)?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (mut row, width) = (vec![0.0; columns.len()], header.columns.len());
    // Counted first, so that nothing is taken of a file that is cut off.
    let found = lines.clone().count();
    if found < header.vertices || (found > header.vertices && !header.is_followed) {
        let advice = format!("'element vertex {}' asks for as many", header.vertices);
        return Err(Problem::new("the number of lines after end_header", found, advice));
    }
    let mut words = Vec::new();
    for (vertex, line) in lines.by_ref().take(header.vertices).enumerate() {
        words.clear();
        // One more than there may be, and no more of a long line.
        words.extend(line.split_ascii_whitespace().take(width + 1));
        if words.len() != width {
            let field = format!("the line of vertex {vertex}");
            let value = if words.len() > width { "too long" } else { "too short" };
            return Err(Problem::new(field, value, format!("expected {width} numbers")));
        }
        for (number, column) in row.iter_mut().zip(columns) {
            *number = of_text(words[column.place], column.float()).ok_or_else(|| {
                let field = format!("property '{}' of vertex {vertex}", column.name);
                Problem::new(field, quoted(words[column.place]), "expected a number")
            })?;
        }
        take(vertex, &row)?;
    }
    Ok(())
}

fn of_text(word: &str, float: Option<Float>) -> Option<f64> {
    let number: f64 = word.parse().ok()?;
    Some(match float {
        Some(Float::Single) => f64::from(notation::round(number)),
        Some(Float::Double) | None => number,
    })
}
