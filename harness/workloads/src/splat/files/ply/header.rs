//! The text before a PLY's data.

use std::collections::BTreeMap;

use splatcheck_judge::io::error::{Problem, quoted};

/// Longest line of a header, bytes. Written headers stay below 100; comments may be longer.
const MAX_LINE: usize = 1 << 16;

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// In digits, a vertex in a line.
    Ascii,
    /// In bytes, the lowest first.
    LittleEndian,
    /// In bytes, the highest first.
    BigEndian,
}

/// How the trainer rendered, as a comment has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing is said, or that it is as usual.
    #[default]
    Usual,
    /// `SplatRenderMode: mip`, of Brush.
    Mip,
    /// `antialiased 1`, of Postshot.
    Antialiased,
    /// Surfels.
    Flat,
    /// Something else.
    Unknown(String),
}

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    Single,
    Double,
}

/// One property of a vertex.
#[derive(Debug)]
pub(super) struct Column {
    /// As the file names it.
    pub(super) name: String,
    /// Bytes from the vertex's first.
    pub(super) offset: usize,
    /// How many properties stand before it.
    pub(super) place: usize,
    /// Line of the header, from 1.
    line: usize,
    /// The type as the file names it.
    kind: String,
}

impl Column {
    /// Its type; `None` for a whole number.
    pub(super) fn float(&self) -> Option<Float> {
        match self.kind.as_str() {
            "float" | "float32" => Some(Float::Single),
            "double" | "float64" => Some(Float::Double),
            _ => None,
        }
    }
}

/// What a header declares.
#[derive(Debug)]
pub(super) struct Header {
    /// How the data is written.
    pub(super) format: Format,
    /// Number of vertices.
    pub(super) vertices: usize,
    /// Bytes of a vertex, at least 1.
    pub(super) stride: usize,
    /// The properties by name.
    pub(super) columns: BTreeMap<String, Column>,
    /// Whether other elements stand behind the vertices.
    pub(super) is_followed: bool,
    /// How the trainer rendered.
    pub(super) mode: Mode,
}

impl Header {
    /// The property of that name, which must be a float or a double.
    pub(super) fn float_column(&self, name: &str) -> Result<&Column, Problem> {
        let field = format!("property '{name}'");
        let Some(column) = self.columns.get(name) else {
            let advice = match name {
                "scale_2" => "2D Gaussians have two scales; splatcheck's are 3D",
                _ => "a 3DGS vertex has it as float",
            };
            return Err(Problem::new(field, "missing", advice));
        };
        if column.float().is_none() {
            let value = format!("of type {}", column.kind);
            return Err(Problem::new(field, value, "must be float or double").at_line(column.line));
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
fn next_line<'a>(rest: &mut &'a [u8], number: usize) -> Result<&'a [u8], Problem> {
    let window = &rest[..rest.len().min(MAX_LINE + 1)];
    let Some(end) = window.iter().position(|&b| b == b'\n') else {
        return Err(if rest.len() > MAX_LINE {
            let (field, value) =
                (format!("header line {number}"), format!("longer than {MAX_LINE} bytes"));
            Problem::new(field, value, "is this a PLY file? shorten the comment or give another")
        } else {
            Problem::new("end_header", "missing", "the header is not finished: truncated file?")
        });
    };
    let line = &rest[..end];
    *rest = &rest[end + 1..];
    Ok(line.strip_suffix(b"\r").unwrap_or(line))
}

/// Reads the header; the second value is the data that follows.
pub(super) fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Problem> {
    let mut rest = bytes;
    if next_line(&mut rest, 1).map_err(|problem| problem.at_line(1))? != b"ply" {
        return Err(Problem::new("the first line", "not 'ply'", "give a 3DGS .ply").at_line(1));
    }
    let mut draft = Draft::default();
    for line in 2.. {
        let text = next_line(&mut rest, line).map_err(|problem| problem.at_line(line))?;
        if text == b"end_header" {
            break;
        }
        draft.line(text, line).map_err(|problem| problem.at_line(line))?;
    }
    Ok((draft.finish()?, rest))
}

/// A header being read.
#[derive(Default)]
struct Draft {
    format: Option<Format>,
    vertices: Option<usize>,
    stride: usize,
    columns: BTreeMap<String, Column>,
    /// The properties are those of an element behind the vertices.
    is_followed: bool,
    mode: Mode,
}

impl Draft {
    fn line(&mut self, bytes: &[u8], line: usize) -> Result<(), Problem> {
        // Programs write names of files and people there, in any encoding.
        if let Some(comment) = bytes.strip_prefix(b"comment") {
            self.comment(&String::from_utf8_lossy(comment));
            return Ok(());
        }
        if bytes.starts_with(b"obj_info") {
            return Ok(());
        }
        let text = str::from_utf8(bytes).map_err(|_| {
            Problem::new(format!("header line {line}"), "not UTF-8", "only comments may be")
        })?;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["format", format, version] => self.format(format, version),
            ["element", name, count] => self.element(name, count),
            ["property", ..] if self.is_followed => Ok(()),
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

    /// The last comment about it counts.
    fn comment(&mut self, text: &str) {
        let text = text.trim().to_ascii_lowercase();
        if let Some(mode) = text.strip_prefix("splatrendermode:") {
            self.mode = match mode.trim() {
                "default" => Mode::Usual,
                "mip" => Mode::Mip,
                "2dgs" => Mode::Flat,
                other => Mode::Unknown(quoted(other)),
            };
        } else if let Some(flag) = text.strip_prefix("antialiased ") {
            match flag.trim() {
                "0" => self.mode = Mode::Usual,
                "1" => self.mode = Mode::Antialiased,
                // A sentence that begins with the word.
                _ => (),
            }
        }
    }

    fn format(&mut self, format: &str, version: &str) -> Result<(), Problem> {
        let known = match (format, version) {
            ("ascii", "1.0") => Format::Ascii,
            ("binary_little_endian", "1.0") => Format::LittleEndian,
            ("binary_big_endian", "1.0") => Format::BigEndian,
            _ => {
                let value = quoted(&format!("{format} {version}"));
                let advice =
                    "expected binary_little_endian 1.0, binary_big_endian 1.0 or ascii 1.0";
                return Err(Problem::new("format", value, advice));
            }
        };
        if self.format.replace(known).is_some() {
            return Err(Problem::new("format", "given twice", "remove one"));
        }
        Ok(())
    }

    fn element(&mut self, name: &str, count: &str) -> Result<(), Problem> {
        if name == "vertex" && self.vertices.is_some() {
            return Err(Problem::new("element vertex", "given twice", "remove one"));
        }
        if name == "vertex" {
            let bad = |_| {
                let field = "the count of element vertex";
                Problem::new(field, quoted(count), "expected a whole number")
            };
            self.vertices = Some(count.parse().map_err(bad)?);
        } else if self.vertices.is_some() {
            self.is_followed = true;
        } else {
            let advice = match name {
                "chunk" => "a compressed .ply: npx @playcanvas/splat-transform IN.ply OUT.ply",
                _ => "the vertices must be the first element",
            };
            return Err(Problem::new("element", quoted(name), advice));
        }
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
        let (offset, place) = (self.stride, self.columns.len());
        let column = Column { name: name.to_owned(), offset, place, line, kind: kind.to_owned() };
        if self.columns.insert(name.to_owned(), column).is_some() {
            return Err(Problem::new(field, "given twice", "remove one"));
        }
        self.stride += size;
        Ok(())
    }

    fn finish(self) -> Result<Header, Problem> {
        let Some(format) = self.format else {
            return Err(Problem::new("format", "missing", "expected binary_little_endian 1.0"));
        };
        let Some(vertices) = self.vertices else {
            return Err(Problem::new("element vertex", "missing", "a 3DGS file has it"));
        };
        if self.columns.is_empty() {
            return Err(Problem::new("element vertex", "without properties", "give a 3DGS .ply"));
        }
        let Self { stride, columns, is_followed, mode, .. } = self;
        Ok(Header { format, vertices, stride, columns, is_followed, mode })
    }
}
