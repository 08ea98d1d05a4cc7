//! A sparse model of COLMAP: `cameras` and `images`, both `.bin` or both `.txt`, in one folder.
//!
//! An image has a quaternion w x y z and a translation that map the world to the camera, whose axes are
//! OpenCV's; a pixel's centre is at +0.5 ([COLMAP's output format][source]). Points and tracks are skipped.
//!
//! [source]: https://colmap.github.io/format.html

mod binary;
mod model;
mod text;

use std::path::Path;

use self::model::{Cameras, Image, Model, Shared};
use super::draft::{Draft, NamedCamera};
use super::pose;
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::io::read;

/// Models that are a pinhole camera where all of the distortion is 0.
const PERSPECTIVE: [&str; 6] =
    ["SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV", "FULL_OPENCV"];

/// Reads the model that a path leads to: its folder, or one of its files. `None` where it is no such path.
///
/// # Errors
/// Names the file and the camera or image.
pub(super) fn read(path: &Path) -> Result<Option<Vec<NamedCamera>>, InputError> {
    let is = |name: &str| path.file_name().is_some_and(|own| own == name);
    let folder = if path.is_dir() {
        path
    } else if ["cameras.bin", "images.bin", "cameras.txt", "images.txt"].into_iter().any(is) {
        path.parent().unwrap_or(Path::new(""))
    } else {
        return Ok(None);
    };
    let is_binary = folder.join("images.bin").is_file() && !is("cameras.txt") && !is("images.txt");
    if !is_binary && !folder.join("images.txt").is_file() {
        let advice =
            "a folder of COLMAP has images.bin and cameras.bin, or both as .txt (sparse/0)";
        return Err(Problem::new("images.bin", "missing", advice).in_file(folder));
    }
    let extension = if is_binary { "bin" } else { "txt" };
    let [cameras, images] =
        ["cameras", "images"].map(|name| folder.join(format!("{name}.{extension}")));
    let at = |file: &Path| {
        let file = file.to_owned();
        move |problem: Problem| problem.in_file(&file)
    };
    let (known, all) = if is_binary {
        let known = binary::cameras(&read::bytes(&cameras)?).map_err(at(&cameras))?;
        (known, binary::images(&read::bytes(&images)?).map_err(at(&images))?)
    } else {
        let known = text::cameras(&read::text(&cameras)?).map_err(at(&cameras))?;
        (known, text::images(&read::text(&images)?).map_err(at(&images))?)
    };
    let named = all.into_iter().map(|image| named(&known, image)).collect::<Result<_, _>>();
    named.map(Some).map_err(at(&images))
}

/// An image as a camera.
fn named(known: &Cameras, image: Image) -> Result<NamedCamera, Problem> {
    let Image { name, pose, camera } = image;
    let place = format!("camera {}", quoted(&name));
    let Some(shared) = known.get(&camera) else {
        let field = format!("{place} CAMERA_ID");
        return Err(Problem::new(field, camera, "the file of cameras has no such one"));
    };
    let intrinsics = pinhole(shared, &place)?;
    // Too large a side is refused with the others.
    let size = shared.size.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let [w, x, y, z, translation @ ..] = pose;
    let Some(rotation) = pose::rotation([w, x, y, z]) else {
        let advice = "a rotation needs a direction";
        return Err(Problem::new(format!("{place} quaternion"), "zero or not finite", advice));
    };
    let viewmat = pose::of_rows(rotation, translation);
    Draft { name, size, intrinsics, viewmat }.finish("pose")
}

/// fx, fy, cx, cy of a camera without distortion.
fn pinhole(shared: &Shared, place: &str) -> Result<[f64; 4], Problem> {
    let Model(name, _, focal) = *shared.model;
    let advice = "only pinhole cameras are read: colmap image_undistorter writes the images without distortion \
                  and a model for them";
    let (pinhole, distortion) = shared.parameters.split_at(focal + 2);
    if !PERSPECTIVE.contains(&name) {
        return Err(Problem::new(format!("{place} MODEL"), name, advice));
    }
    if let Some(at) = distortion.iter().position(|&number| number != 0.0) {
        let field = format!("{place} distortion {} of {name}", at + 1);
        return Err(Problem::new(field, distortion[at], advice));
    }
    match *pinhole {
        [fx, fy, cx, cy] => Ok([fx, fy, cx, cy]),
        [f, cx, cy] => Ok([f, f, cx, cy]),
        _ => Err(Problem::new(format!("{place} MODEL"), name, "it has other parameters")),
    }
}
