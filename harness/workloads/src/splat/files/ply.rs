//! Trained scenes as 3D Gaussian Splatting writes them.
//!
//! A binary little-endian PLY with one element, `vertex`. Named properties, all `float`, in any
//! order: `x y z`, `f_dc_0..2`, `f_rest_0..` (0, 9, 24 or 45 of them, channel-major: all coefficients
//! of red, then green, then blue), `opacity` (a logit), `scale_0..2` (natural logarithms),
//! `rot_0..3` (w x y z, not normalized). Other scalar properties, among them `nx ny nz`, are skipped.
//!
//! The logit and the logarithms are undone in f64 with the oracle's own exp (the same bits on every
//! machine) and rounded once to f32. The declared size is compared with the file's before anything
//! is allocated.

mod header;
#[cfg(test)]
mod tests;

use std::path::Path;

use splatcheck_reference::arithmetic::exp;
use splatcheck_reference::splat::scene::{Colors, Gaussians};

use self::header::{Column, Header};
use super::validate::check_gaussians;
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::{notation, read};

/// Reads the Gaussians of a 3DGS `.ply`; colours are [`Colors::Harmonics`] with K = 1, 4, 9 or 16.
///
/// # Errors
/// Names the property and the vertex, or the header's line.
pub fn read_ply(file: &Path) -> Result<Gaussians<f32>, InputError> {
    parse(&read::bytes(file)?).map_err(|problem| problem.in_file(file))
}

/// [`read_ply`] of bytes already in memory.
///
/// # Errors
/// As [`read_ply`], without the file's name.
pub fn parse(bytes: &[u8]) -> Result<Gaussians<f32>, Problem> {
    let (header, data) = header::parse(bytes)?;
    check_length(&header, data.len())?;
    let columns = Columns::find(&header)?;
    let n = header.vertices;
    let coefficients = columns.rest.len() / 3 + 1;
    let mut means = Vec::with_capacity(n);
    let mut quats = Vec::with_capacity(n);
    let mut scales = Vec::with_capacity(n);
    let mut opacities = Vec::with_capacity(n);
    let mut values = Vec::with_capacity(n * coefficients * 3);
    for (vertex, bytes) in data.chunks_exact(header.stride).enumerate() {
        let row = Row { bytes, vertex };
        means.push(row.floats(&columns.mean)?);
        quats.push(row.quat(&columns.rot)?);
        let [a, b, c] = columns.scale;
        scales.push([row.scale(a)?, row.scale(b)?, row.scale(c)?]);
        opacities.push(sigmoid(row.float(columns.opacity)?));
        values.extend(row.floats(&columns.dc)?);
        for k in 0..coefficients - 1 {
            for channel in 0..3 {
                values.push(row.float(columns.rest[channel * (coefficients - 1) + k])?);
            }
        }
    }
    let colors = Colors::Harmonics { coefficients, values };
    let gaussians = Gaussians { means, quats, scales, opacities, colors };
    check_gaussians(&gaussians)?;
    Ok(gaussians)
}

fn check_length(header: &Header, found: usize) -> Result<(), Problem> {
    let declared = header.vertices.checked_mul(header.stride);
    if declared == Some(found) {
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

/// Where the named properties lie in a vertex.
struct Columns<'a> {
    mean: [&'a Column; 3],
    dc: [&'a Column; 3],
    rest: Vec<&'a Column>,
    opacity: &'a Column,
    scale: [&'a Column; 3],
    rot: [&'a Column; 4],
}

impl<'a> Columns<'a> {
    fn find(header: &'a Header) -> Result<Self, Problem> {
        let column = |name: &str| header.float_column(name);
        let found = header.columns.keys().filter(|name| name.starts_with("f_rest_")).count();
        if ![0, 9, 24, 45].contains(&found) {
            let advice = "expected 0, 9, 24 or 45 (degree 0 to 3, three channels)";
            return Err(Problem::new("the number of f_rest_ properties", found, advice));
        }
        Ok(Self {
            mean: [column("x")?, column("y")?, column("z")?],
            dc: [column("f_dc_0")?, column("f_dc_1")?, column("f_dc_2")?],
            rest: (0..found).map(|i| column(&format!("f_rest_{i}"))).collect::<Result<_, _>>()?,
            opacity: column("opacity")?,
            scale: [column("scale_0")?, column("scale_1")?, column("scale_2")?],
            rot: [column("rot_0")?, column("rot_1")?, column("rot_2")?, column("rot_3")?],
        })
    }
}

/// One vertex.
struct Row<'a> {
    bytes: &'a [u8],
    vertex: usize,
}

impl Row<'_> {
    fn field(&self, column: &Column) -> String {
        format!("property '{}' of vertex {}", column.name, self.vertex)
    }

    fn float(&self, column: &Column) -> Result<f32, Problem> {
        let bytes = self.bytes[column.offset..].first_chunk();
        let value = bytes.map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes));
        if value.is_finite() {
            return Ok(value);
        }
        Err(Problem::new(self.field(column), value, "every parameter must be finite"))
    }

    fn floats<const M: usize>(&self, columns: &[&Column; M]) -> Result<[f32; M], Problem> {
        let mut values = [0.0; M];
        for (value, column) in values.iter_mut().zip(columns) {
            *value = self.float(column)?;
        }
        Ok(values)
    }

    fn quat(&self, columns: &[&Column; 4]) -> Result<[f32; 4], Problem> {
        let quat = self.floats(columns)?;
        if quat.iter().all(|&q| q == 0.0) {
            let field = format!("properties 'rot_0' to 'rot_3' of vertex {}", self.vertex);
            return Err(Problem::new(field, "zero", "a rotation needs a direction"));
        }
        Ok(quat)
    }

    fn scale(&self, column: &Column) -> Result<f32, Problem> {
        let logarithm = self.float(column)?;
        let scale = notation::round(exp(f64::from(logarithm)));
        if scale.is_finite() && scale > 0.0 {
            return Ok(scale);
        }
        let advice = format!("its exponential {scale} must be finite and greater than 0 in f32");
        Err(Problem::new(self.field(column), logarithm, advice))
    }
}

fn sigmoid(logit: f32) -> f32 {
    notation::round(1.0 / (1.0 + exp(-f64::from(logit))))
}
