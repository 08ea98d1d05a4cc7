//! The `cameras.json` that 3D Gaussian Splatting's training writes beside its point clouds: a list of objects
//! with `id`, `img_name`, `width`, `height`, `position`, `rotation`, `fy`, `fx`.
//!
//! `rotation` (rows) and `position` are those of the inverse of the world-to-camera matrix: the columns of
//! `rotation` are the camera's axes in the world, by OpenCV's convention ([`camera_to_JSON`][source]). There is
//! no principal point: its renderer takes the image's middle.
//!
//! [source]: https://github.com/graphdeco-inria/gaussian-splatting/blob/main/utils/camera_utils.py

use std::collections::BTreeSet;

use serde_json::Value;

use super::draft::{Draft, NamedCamera};
use super::entry::Entry;
use super::pose;
use splatcheck_judge::io::error::Problem;

pub(super) fn cameras(list: &[Value]) -> Result<Vec<NamedCamera>, Problem> {
    let mut names = BTreeSet::new();
    let named = |(index, entry): (usize, &Value)| {
        let mut camera = camera(index, entry)?;
        if !names.insert(camera.name.clone()) {
            // It is the image's name up to the first dot, which several may share.
            camera.name = format!("{}-{index}", camera.name);
        }
        Ok(camera)
    };
    list.iter().enumerate().map(named).collect()
}

fn camera(index: usize, entry: &Value) -> Result<NamedCamera, Problem> {
    let mut entry = Entry::new(format!("cameras[{index}]"), entry)?;
    let name = entry.name("img_name")?;
    let size = [entry.side("width")?, entry.side("height")?];
    let [cx, cy] = size.map(|side| f64::from(side) / 2.0);
    let intrinsics = [entry.number("fx")?, entry.number("fy")?, cx, cy];
    let viewmat = pose::of_axes(entry.matrix("rotation")?, entry.numbers("position")?);
    Draft { name, size, intrinsics, viewmat }.finish("rotation")
}
