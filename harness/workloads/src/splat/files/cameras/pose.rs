//! Poses in the ways that programs write them.

/// Rows of a matrix that maps points.
pub(super) type Matrix = [[f64; 4]; 4];

/// World to camera of a rotation and a translation.
pub(super) fn of_rows(rotation: [[f64; 3]; 3], translation: [f64; 3]) -> Matrix {
    let row = |i: usize| {
        let [a, b, c] = rotation[i];
        [a, b, c, translation[i]]
    };
    [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
}

/// World to camera of a camera's axes, the columns of `rotation`, and its place in the world: the inverse, where
/// the axes are a rotation, as is checked of the result.
pub(super) fn of_axes(rotation: [[f64; 3]; 3], place: [f64; 3]) -> Matrix {
    let transposed: [[f64; 3]; 3] = std::array::from_fn(|i| rotation.map(|row| row[i]));
    let along = |[a, b, c]: [f64; 3]| -(a * place[0] + b * place[1] + c * place[2]);
    of_rows(transposed, transposed.map(along))
}

/// World to camera of OpenGL's axes (x right, y up, z backward) and the camera's place.
pub(super) fn of_opengl_axes(rotation: [[f64; 3]; 3], place: [f64; 3]) -> Matrix {
    of_axes(rotation.map(|[right, up, back]| [right, -up, -back]), place)
}

/// The rotation of a quaternion w x y z of any length; `None` where it has none.
pub(super) fn rotation(quat: [f64; 4]) -> Option<[[f64; 3]; 3]> {
    let largest = quat.iter().fold(0.0, |largest: f64, q| largest.max(q.abs()));
    let scaled = quat.map(|q| q / largest);
    let length = scaled.iter().map(|q| q * q).sum::<f64>().sqrt();
    if !(largest > 0.0 && length.is_finite()) {
        return None;
    }
    let [w, x, y, z] = scaled.map(|q| q / length);
    Some([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ])
}
