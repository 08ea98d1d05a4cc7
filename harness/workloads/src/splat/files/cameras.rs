//! The cameras beside a trained scene, as five programs write them.
//!
//! | file | of | pose |
//! |---|---|---|
//! | [`NAME.cameras.json`](own) | splatcheck | world to camera |
//! | [`cameras.json`](inria), a list | 3D Gaussian Splatting | camera to world |
//! | [`transforms.json`](nerfstudio) | nerfstudio, instant-ngp | camera to world, OpenGL's axes |
//! | [`images.bin`, `images.txt`](colmap) with `cameras.*`, or their folder | COLMAP | world to camera |
//!
//! All of them are turned into OpenCV's axes (x right, y down, z forward) with pixel centres at +0.5. Poses are
//! inverted in f64. All numbers are rounded to f32 once, as in case files; so are the intrinsics, which the
//! [`Camera`](splatcheck_reference::splat::camera::Camera) then holds as f64. Only pinhole cameras are read: a distortion that is not 0 is refused by name.

pub mod colmap;
mod draft;
mod entry;
pub mod inria;
pub mod nerfstudio;
pub mod own;
mod pose;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

pub use self::draft::NamedCamera;
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::io::read;

/// Reads all cameras of a file or of a COLMAP folder, at least one.
///
/// # Errors
/// Names the camera and the field.
pub fn read_cameras(path: &Path) -> Result<Vec<NamedCamera>, InputError> {
    if let Some(cameras) = colmap::read(path)? {
        return checked(cameras).map_err(|problem| problem.in_file(path));
    }
    parse(read::text(path)?.as_bytes()).map_err(|problem| problem.in_file(path))
}

/// [`read_cameras`] of JSON already in memory.
///
/// # Errors
/// As [`read_cameras`], without the file's name.
pub fn parse(bytes: &[u8]) -> Result<Vec<NamedCamera>, Problem> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| {
        let value = format!("not readable ({error})");
        Problem::new("the JSON", value, "mend it there").at_line(error.line())
    })?;
    checked(match &document {
        Value::Array(list) => inria::cameras(list)?,
        Value::Object(map) if map.contains_key("frames") => nerfstudio::cameras(map)?,
        _ => own::cameras(&document)?,
    })
}

/// That there are cameras, and that their names tell them apart.
fn checked(cameras: Vec<NamedCamera>) -> Result<Vec<NamedCamera>, Problem> {
    if cameras.is_empty() {
        return Err(Problem::new("cameras", "empty", "give at least one camera"));
    }
    let mut names = BTreeSet::new();
    for (index, camera) in cameras.iter().enumerate() {
        if !names.insert(&camera.name) {
            let advice = "another camera has that name: names tell them apart";
            let field = format!("cameras[{index}] name");
            return Err(Problem::new(field, quoted(&camera.name), advice));
        }
    }
    Ok(cameras)
}
