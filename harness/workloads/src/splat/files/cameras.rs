//! The cameras beside a trained scene: `NAME.cameras.json`.
//!
//! `{"cameras": [{"name", "width", "height", "fx", "fy", "cx", "cy", "world_to_camera"}]}` with a
//! row-major 4x4 matrix, OpenCV axes (x right, y down, z forward) and pixel centres at +0.5. What
//! else stands beside `cameras` (provenance) is not read; an unknown field of a camera is refused.
//! All numbers are rounded to f32 once, as in case files; so are the intrinsics, which the
//! [`Camera`] then holds as f64.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};
use splatcheck_reference::splat::camera::Camera;

use super::validate::{check_camera, check_size};
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::io::{notation, read};

/// One view of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCamera {
    /// Unique in its file.
    pub name: String,
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// The pinhole camera.
    pub camera: Camera<f32>,
}

/// Reads all cameras of a file, at least one.
///
/// # Errors
/// Names the camera and the field.
pub fn read_cameras(file: &Path) -> Result<Vec<NamedCamera>, InputError> {
    parse(read::text(file)?.as_bytes()).map_err(|problem| problem.in_file(file))
}

/// [`read_cameras`] of bytes already in memory.
///
/// # Errors
/// As [`read_cameras`], without the file's name.
pub fn parse(bytes: &[u8]) -> Result<Vec<NamedCamera>, Problem> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| {
        let value = format!("not readable ({error})");
        Problem::new("the JSON", value, "mend it there").at_line(error.line())
    })?;
    let Some(list) = document.get("cameras").and_then(Value::as_array) else {
        return Err(Problem::new("cameras", "missing", "expected a list of cameras"));
    };
    if list.is_empty() {
        return Err(Problem::new("cameras", "empty", "give at least one camera"));
    }
    let mut cameras: Vec<NamedCamera> = Vec::with_capacity(list.len());
    let mut names = BTreeSet::new();
    for (index, entry) in list.iter().enumerate() {
        let camera = parse_camera(index, entry)?;
        if !names.insert(camera.name.clone()) {
            let advice = "another camera has that name: names tell them apart";
            let field = format!("cameras[{index}] name");
            return Err(Problem::new(field, quoted(&camera.name), advice));
        }
        cameras.push(camera);
    }
    Ok(cameras)
}

fn parse_camera(index: usize, entry: &Value) -> Result<NamedCamera, Problem> {
    const FIELDS: [&str; 8] =
        ["name", "width", "height", "fx", "fy", "cx", "cy", "world_to_camera"];
    let place = format!("cameras[{index}]");
    let Some(map) = entry.as_object() else {
        return Err(Problem::new(place, shown(entry), "expected an object"));
    };
    let mut entry = Entry { place, map };
    let name = match entry.need("name")? {
        Value::String(name) if !name.trim().is_empty() => name.clone(),
        other => return Err(entry.problem("name", shown(other), "expected a text")),
    };
    entry.place = format!("camera {}", quoted(&name));
    if let Some(key) = map.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        let advice = format!("a camera has {}", FIELDS.join(", "));
        return Err(entry.problem("field", quoted(key), &advice));
    }
    let (width, height) = (entry.side("width")?, entry.side("height")?);
    check_size(width, height).map_err(|problem| entry.prefixed(problem))?;
    let camera = Camera {
        viewmat: entry.matrix("world_to_camera")?,
        fx: entry.intrinsic("fx")?,
        fy: entry.intrinsic("fy")?,
        cx: entry.intrinsic("cx")?,
        cy: entry.intrinsic("cy")?,
    };
    check_camera(&camera, "world_to_camera", "").map_err(|problem| entry.prefixed(problem))?;
    Ok(NamedCamera { name, width, height, camera })
}

/// One camera's object and how messages call it.
struct Entry<'a> {
    place: String,
    map: &'a Map<String, Value>,
}

impl<'a> Entry<'a> {
    fn problem(&self, field: &str, value: impl std::fmt::Display, advice: &str) -> Problem {
        Problem::new(format!("{} {field}", self.place), value, advice)
    }

    fn prefixed(&self, problem: Problem) -> Problem {
        Problem { field: format!("{} {}", self.place, problem.field), ..problem }
    }

    fn need(&self, field: &str) -> Result<&'a Value, Problem> {
        self.map.get(field).ok_or_else(|| self.problem(field, "missing", "every camera has it"))
    }

    fn side(&self, field: &str) -> Result<u32, Problem> {
        let value = self.need(field)?;
        let side = value.as_u64().and_then(|side| u32::try_from(side).ok());
        side.ok_or_else(|| self.problem(field, shown(value), "expected a whole number of pixels"))
    }

    fn number(&self, field: &str, value: &Value) -> Result<f32, Problem> {
        let number = value.as_f64().map(notation::round);
        number
            .filter(|x| x.is_finite())
            .ok_or_else(|| self.problem(field, shown(value), "expected a number within f32"))
    }

    fn intrinsic(&self, field: &str) -> Result<f64, Problem> {
        self.number(field, self.need(field)?).map(f64::from)
    }

    fn matrix(&self, field: &str) -> Result<[[f32; 4]; 4], Problem> {
        let value = self.need(field)?;
        let four = |value: &'a Value, field: &str| -> Result<&'a [Value; 4], Problem> {
            let items = value.as_array().and_then(|items| items.as_slice().try_into().ok());
            items.ok_or_else(|| self.problem(field, shown(value), "expected 4 rows of 4 numbers"))
        };
        let mut matrix = [[0.0; 4]; 4];
        for (i, (row, out)) in four(value, field)?.iter().zip(&mut matrix).enumerate() {
            let row = four(row, &format!("{field}[{i}]"))?;
            for (j, (value, out)) in row.iter().zip(out).enumerate() {
                *out = self.number(&format!("{field}[{i}][{j}]"), value)?;
            }
        }
        Ok(matrix)
    }
}

/// A JSON value in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
