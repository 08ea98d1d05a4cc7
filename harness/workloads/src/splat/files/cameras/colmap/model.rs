//! What the files of a model have in common.

use std::collections::BTreeMap;

/// A camera model: its name, how many parameters it has, and how many of them are focal lengths. The principal
/// point follows them, then the distortion. The number of a binary file is the place in this table.
pub(super) struct Model(pub(super) &'static str, pub(super) usize, pub(super) usize);

pub(super) const MODELS: [Model; 12] = [
    Model("SIMPLE_PINHOLE", 3, 1),
    Model("PINHOLE", 4, 2),
    Model("SIMPLE_RADIAL", 4, 1),
    Model("RADIAL", 5, 1),
    Model("OPENCV", 8, 2),
    Model("OPENCV_FISHEYE", 8, 2),
    Model("FULL_OPENCV", 12, 2),
    Model("FOV", 5, 2),
    Model("SIMPLE_RADIAL_FISHEYE", 4, 1),
    Model("RADIAL_FISHEYE", 5, 1),
    Model("THIN_PRISM_FISHEYE", 12, 2),
    Model("RAD_TAN_THIN_PRISM_FISHEYE", 16, 2),
];
/// What several images share.
pub(super) struct Shared {
    pub(super) model: &'static Model,
    pub(super) size: [u64; 2],
    pub(super) parameters: Vec<f64>,
}

/// An image's pose.
pub(super) struct Image {
    pub(super) name: String,
    /// w x y z, then the translation.
    pub(super) pose: [f64; 7],
    pub(super) camera: u32,
}

pub(super) type Cameras = BTreeMap<u32, Shared>;
