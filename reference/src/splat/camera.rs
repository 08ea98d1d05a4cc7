//! The pinhole camera, in OpenCV axes: x right, y down, z forward.

/// A pinhole camera without skew or distortion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera<S> {
    /// World to camera, row-major: `p_cam = viewmat [p_world; 1]`. Rigid: the upper left 3x3 block
    /// is a rotation, the last row 0 0 0 1.
    pub viewmat: [[S; 4]; 4],
    /// Focal lengths, pixels.
    pub fx: f64,
    /// See `fx`.
    pub fy: f64,
    /// Principal point, pixels, with pixel centres at +0.5.
    pub cx: f64,
    /// See `cx`.
    pub cy: f64,
}

impl<S: Copy> Camera<S> {
    /// The same camera over another scalar.
    pub fn map<R>(&self, mut f: impl FnMut(S) -> R) -> Camera<R> {
        Camera {
            viewmat: self.viewmat.map(|row| row.map(&mut f)),
            fx: self.fx,
            fy: self.fy,
            cx: self.cx,
            cy: self.cy,
        }
    }
}
