//! The `transforms.json` of nerfstudio and instant-ngp: `w`, `h`, `fl_x`, `fl_y`, `cx`, `cy` for all frames or
//! for each, and `frames` with `file_path` and `transform_matrix`.
//!
//! `transform_matrix` is camera to world, by OpenGL's axes: x right, y up, z backward
//! ([nerfstudio's data conventions][source]).
//!
//! [source]: https://docs.nerf.studio/quickstart/data_conventions.html

use serde_json::{Map, Value};

use super::draft::{Draft, NamedCamera};
use super::entry::{Entry, shown};
use super::pose;
use splatcheck_judge::io::error::Problem;

/// Coefficients of distortion, all 0 for a pinhole camera.
const DISTORTION: [&str; 8] = ["k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2"];
/// Models that are a pinhole camera where the coefficients are 0.
const PERSPECTIVE: [&str; 5] =
    ["OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "PERSPECTIVE", "SIMPLE_RADIAL"];

pub(super) fn cameras(document: &Map<String, Value>) -> Result<Vec<NamedCamera>, Problem> {
    let Some(frames) = document.get("frames").and_then(Value::as_array) else {
        return Err(Problem::new("frames", "not a list", "expected a list of frames"));
    };
    frames.iter().enumerate().map(|(index, frame)| camera(document, index, frame)).collect()
}

fn camera(usual: &Map<String, Value>, index: usize, frame: &Value) -> Result<NamedCamera, Problem> {
    let mut entry = Entry { usual: Some(usual), ..Entry::new(format!("frames[{index}]"), frame)? };
    let name = entry.name("file_path")?;
    refuse_distortion(&entry)?;
    if entry.get("fl_x").is_none() && entry.get("camera_angle_x").is_some() {
        let advice = "write fl_x = w / 2 / tan(camera_angle_x / 2), and fl_y, w, h, cx, cy (half of w and h)";
        return Err(entry.problem("fl_x", "missing", advice));
    }
    let size = [entry.side("w")?, entry.side("h")?];
    let fx = entry.number("fl_x")?;
    let fy = if entry.get("fl_y").is_some() { entry.number("fl_y")? } else { fx };
    let intrinsics = [fx, fy, entry.number("cx")?, entry.number("cy")?];
    let [x, y, z, last] = entry.matrix("transform_matrix")?;
    if last != [0.0, 0.0, 0.0, 1.0] {
        let value = format!("{last:?}");
        return Err(entry.problem("transform_matrix[3]", value, "the last row must be 0 0 0 1"));
    }
    let rotation = [x, y, z].map(|[right, up, back, _]| [right, up, back]);
    let viewmat = pose::of_opengl_axes(rotation, [x[3], y[3], z[3]]);
    Draft { name, size, intrinsics, viewmat }.finish("transform_matrix")
}

fn refuse_distortion(entry: &Entry<'_>) -> Result<(), Problem> {
    let advice = "only pinhole cameras are read: undistort the images and write their cameras (ns-process-data \
                  or colmap image_undistorter), or set it to 0 to look at the scene without it";
    for field in DISTORTION {
        if entry.get(field).is_some_and(|value| value.as_f64() != Some(0.0)) {
            return Err(entry.problem(field, shown(entry.need(field)?), advice));
        }
    }
    let is_fisheye = entry.get("is_fisheye").is_some_and(|value| *value != Value::Bool(false));
    match entry.get("camera_model") {
        _ if is_fisheye => Err(entry.problem("is_fisheye", "set", advice)),
        Some(Value::String(model)) if PERSPECTIVE.contains(&model.as_str()) => Ok(()),
        Some(model) => Err(entry.problem("camera_model", shown(model), advice)),
        None => Ok(()),
    }
}
