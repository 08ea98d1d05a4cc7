//! splatcheck's own file: `{"cameras": [{"name", "width", "height", "fx", "fy", "cx", "cy",
//! "world_to_camera"}]}` with a row-major 4x4 matrix. What else stands beside `cameras` (provenance) is not
//! read; an unknown field of a camera is refused.

use serde_json::Value;

use super::draft::{Draft, NamedCamera};
use super::entry::Entry;
use splatcheck_judge::io::error::{Problem, quoted};

pub(super) fn cameras(document: &Value) -> Result<Vec<NamedCamera>, Problem> {
    let Some(list) = document.get("cameras").and_then(Value::as_array) else {
        let advice = "expected {\"cameras\": [...]}, the cameras.json of 3DGS (a list), a transforms.json of \
                      nerfstudio (with frames), or a folder of COLMAP";
        return Err(Problem::new("cameras", "missing", advice));
    };
    list.iter().enumerate().map(|(index, entry)| camera(index, entry)).collect()
}

fn camera(index: usize, entry: &Value) -> Result<NamedCamera, Problem> {
    const FIELDS: [&str; 8] =
        ["name", "width", "height", "fx", "fy", "cx", "cy", "world_to_camera"];
    let mut entry = Entry::new(format!("cameras[{index}]"), entry)?;
    let name = entry.name("name")?;
    if let Some(key) = entry.map.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        let advice = format!("a camera has {}", FIELDS.join(", "));
        return Err(entry.problem("field", quoted(key), &advice));
    }
    let size = [entry.side("width")?, entry.side("height")?];
    let number = |field| entry.number(field);
    let intrinsics = [number("fx")?, number("fy")?, number("cx")?, number("cy")?];
    let viewmat = entry.matrix("world_to_camera")?;
    Draft { name, size, intrinsics, viewmat }.finish("world_to_camera")
}
