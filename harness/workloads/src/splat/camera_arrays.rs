//! A camera as the arrays that kernels are given of it, each number computed in f64 and rounded once.

use splatcheck_judge::io::notation::round;
use splatcheck_reference::splat::camera::Camera;

/// Near and far plane of 3D Gaussian Splatting's projection matrix, scene units: no pixel depends on them.
const DEPTHS: [f64; 2] = [0.01, 100.0];

/// `[3,3]`.
pub(crate) fn intrinsics(k: &Camera<f32>) -> Vec<f32> {
    let [fx, fy, cx, cy] = [k.fx, k.fy, k.cx, k.cy].map(round);
    vec![fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
}

/// World to normalized device coordinates: a point's x and y are divided by its last number, which is its
/// depth, and are -1 and 1 at the image's borders.
pub(crate) fn projection(k: &Camera<f32>, [width, height]: [u32; 2]) -> Vec<f32> {
    let [width, height] = [width, height].map(f64::from);
    let [near, far] = DEPTHS;
    let of_camera = [
        [2.0 * k.fx / width, 0.0, (2.0 * k.cx - width) / width, 0.0],
        [0.0, 2.0 * k.fy / height, (2.0 * k.cy - height) / height, 0.0],
        [0.0, 0.0, far / (far - near), -far * near / (far - near)],
        [0.0, 0.0, 1.0, 0.0],
    ];
    let view = k.viewmat.map(|row| row.map(f64::from));
    let number = |row: [f64; 4], column: usize| (0..4).map(|i| row[i] * view[i][column]).sum();
    of_camera
        .iter()
        .flat_map(|&row| [0, 1, 2, 3].map(|column| round(number(row, column))))
        .collect()
}

/// -R^T t.
pub(crate) fn position(k: &Camera<f32>) -> Vec<f32> {
    let view = k.viewmat.map(|row| row.map(f64::from));
    let number = |column: usize| -(0..3).map(|i| view[i][column] * view[i][3]).sum::<f64>();
    [0, 1, 2].map(|column| round(number(column))).to_vec()
}
