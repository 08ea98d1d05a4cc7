//! The text before a PLY's data.

use std::collections::BTreeMap;

use splatcheck_judge::io::error::{Problem, quoted};

/// Longest line of a header, bytes. Written headers stay below 100; comments may be longer.
const MAX_LINE: usize = 1024;

/// One property of a vertex.
#[derive(Debug)]
pub(super) struct Column {
    /// As the file names it.
    pub(super) name: String,
    /// Bytes from the vertex's first.
    pub(super) offset: usize,
    /// Line of the header, from 1.
    line: usize,
    /// The type as the file names it.
    kind: String,
}

/// What a header declares.
#[derive(Debug)]
pub(super) struct Header {
    /// Number of vertices.
    pub(super) vertices: usize,
    /// Bytes of a vertex, at least 1.
    pub(super) stride: usize,
    /// The properties by name.
    pub(super) columns: BTreeMap<String, Column>,
}

impl Header {
    /// The property of that name, which must be a float.
    pub(super) fn float_column(&self, name: &str) -> Result<&Column, Problem> {
        let field = format!("property '{name}'");
        let Some(column) = self.columns.get(name) else {
            return Err(Problem::new(field, "missing", "a 3DGS vertex has it as float"));
        };
        if !matches!(column.kind.as_str(), "float" | "float32") {
            let value = format!("of type {}", column.kind);
            return Err(Problem::new(field, value, "must be float").at_line(column.line));
        }
        Ok(column)
    }
}

/// Bytes of a scalar type.
fn size_of(kind: &str) -> Option<usize> {
    Some(match kind {
        "char" | "uchar" | "int8" | "uint8" => 1,
        "short" | "ushort" | "int16" | "uint16" => 2,
        "int" | "uint" | "float" | "int32" | "uint32" | "float32" => 4,
        "double" | "float64" => 8,
        _ => return None,
    })
}

/// Cuts the first line off `rest`, without its end.
fn next_line<'a>(rest: &mut &'a [u8], number: usize) -> Result<&'a str, Problem> {
    let field = format!("header line {number}");
    let window = &rest[..rest.len().min(MAX_LINE + 1)];
    let Some(end) = window.iter().position(|&b| b == b'\n') else {
        return Err(if rest.len() > MAX_LINE {
            let value = format!("longer than {MAX_LINE} bytes");
            Problem::new(field, value, "is this a PLY file? shorten the comment or give another")
        } else {
            Problem::new("end_header", "missing", "the header is not finished: truncated file?")
        });
    };
    let line = std::str::from_utf8(&rest[..end])
        .map_err(|_| Problem::new(field, "not UTF-8", "a PLY header is plain text"))?;
    *rest = &rest[end + 1..];
    Ok(line.strip_suffix('\r').unwrap_or(line))
}

/// Reads the header; the second value is the data that follows.
pub(super) fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Problem> {
    let mut rest = bytes;
    if next_line(&mut rest, 1).map_err(|problem| problem.at_line(1))? != "ply" {
        return Err(Problem::new("the first line", "not 'ply'", "give a 3DGS .ply").at_line(1));
    }
    let mut draft = Draft::default();
    for line in 2.. {
        let text = next_line(&mut rest, line).map_err(|problem| problem.at_line(line))?;
        if text == "end_header" {
            break;
        }
        draft.line(text, line).map_err(|problem| problem.at_line(line))?;
    }
    Ok((draft.finish()?, rest))
}

/// A header being read.
#[derive(Default)]
struct Draft {
    format: bool,
    vertices: Option<usize>,
    stride: usize,
    columns: BTreeMap<String, Column>,
}

impl Draft {
    fn line(&mut self, text: &str, line: usize) -> Result<(), Problem> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["comment" | "obj_info", ..] => Ok(()),
            ["format", format, version] => self.format(format, version),
            ["element", name, count] => self.element(name, count),
            ["property", "list", .., name] => {
                let field = format!("property {}", quoted(name));
                Err(Problem::new(field, "a list", "a 3DGS vertex has scalar properties only"))
            }
            ["property", kind, name] => self.property(kind, name, line),
            _ => {
                let advice = "expected format, element, property, comment or end_header";
                Err(Problem::new("the header line", quoted(text), advice))
            }
        }
    }

    fn format(&mut self, format: &str, version: &str) -> Result<(), Problem> {
        if format != "binary_little_endian" || version != "1.0" {
            let value = quoted(&format!("{format} {version}"));
            let advice = "convert it to binary_little_endian 1.0, which 3DGS writes";
            return Err(Problem::new("format", value, advice));
        }
        if self.format {
            return Err(Problem::new("format", "given twice", "remove one"));
        }
        self.format = true;
        Ok(())
    }

    fn element(&mut self, name: &str, count: &str) -> Result<(), Problem> {
        if name != "vertex" {
            let advice = "a 3DGS file has the element vertex only (is it a compressed .ply?)";
            return Err(Problem::new("element", quoted(name), advice));
        }
        if self.vertices.is_some() {
            return Err(Problem::new("element vertex", "given twice", "remove one"));
        }
        let vertices = count.parse().map_err(|_| {
            Problem::new("the count of element vertex", quoted(count), "expected a whole number")
        })?;
        self.vertices = Some(vertices);
        Ok(())
    }

    fn property(&mut self, kind: &str, name: &str, line: usize) -> Result<(), Problem> {
        let field = format!("property {}", quoted(name));
        if self.vertices.is_none() {
            return Err(Problem::new(field, "before any element", "put it after element vertex"));
        }
        let Some(size) = size_of(kind) else {
            let value = format!("of type {}", quoted(kind));
            return Err(Problem::new(field, value, "expected a scalar type such as float"));
        };
        let column =
            Column { name: name.to_owned(), offset: self.stride, line, kind: kind.to_owned() };
        if self.columns.insert(name.to_owned(), column).is_some() {
            return Err(Problem::new(field, "given twice", "remove one"));
        }
        self.stride += size;
        Ok(())
    }

    fn finish(self) -> Result<Header, Problem> {
        if !self.format {
            return Err(Problem::new("format", "missing", "expected binary_little_endian 1.0"));
        }
        let Some(vertices) = self.vertices else {
            return Err(Problem::new("element vertex", "missing", "a 3DGS file has it"));
        };
        if self.columns.is_empty() {
            return Err(Problem::new("element vertex", "without properties", "give a 3DGS .ply"));
        }
        Ok(Header { vertices, stride: self.stride, columns: self.columns })
    }
}
