//! A camera, as it is read and as it is kept.

use splatcheck_reference::splat::camera::Camera;

use crate::splat::files::validate::{check_camera, check_size};
use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::io::notation;

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

/// A camera before its numbers are rounded.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) size: [u32; 2],
    /// fx, fy, cx, cy.
    pub(super) intrinsics: [f64; 4],
    /// World to camera.
    pub(super) viewmat: [[f64; 4]; 4],
}

impl Draft {
    /// Rounds and checks it. `matrix` is the pose's name in messages.
    pub(super) fn finish(self, matrix: &str) -> Result<NamedCamera, Problem> {
        let Self { name, size: [width, height], intrinsics, viewmat } = self;
        let prefixed = |problem: Problem| Problem {
            field: format!("camera {} {}", quoted(&name), problem.field),
            ..problem
        };
        check_size(width, height).map_err(prefixed)?;
        let [fx, fy, cx, cy] = intrinsics.map(|number| f64::from(notation::round(number)));
        let viewmat = viewmat.map(|row| row.map(notation::round));
        let camera = Camera { viewmat, fx, fy, cx, cy };
        check_camera(&camera, matrix, "").map_err(prefixed)?;
        Ok(NamedCamera { name, width, height, camera })
    }
}
