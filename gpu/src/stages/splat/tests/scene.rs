//! Scenes on which f32 arithmetic is exact (see [`super::oracle`]), made to meet the hazards.
//!
//! Every quaternion and every camera turns axes into axes, depths and scales are powers of two, and
//! so is the determinant of every 2D covariance, by the choice of a [`Shape`].

use super::inputs::{camera, constants};
use crate::exact::{hash, small};
use crate::stages::splat::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectInputs,
};

/// A Gaussian in a camera's axes: x/z and y/z, and scales along x, y and z. The comments give the
/// 2D covariance xx, xy, yy in units of (f/z)^2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) slope: [f32; 2],
    pub(super) scales: [f32; 3],
}

fn shape(seed: usize) -> Shape {
    let sign = [-1.0, 1.0][hash(seed, 11) % 2];
    let (slope, scales) = match hash(seed, 12) % 7 {
        // 1, 0, 4 and the like
        0 => ([0.0, 0.0], [1.0, 2.0, 1.0]),
        1 => ([0.0, 0.0], [2.0, 2.0, 0.0]),
        // 2, 0, 1: at the limit of the slope, which does not limit it.
        2 => ([0.5 * sign, 0.0], [1.0, 1.0, 2.0]),
        // 1, 0, 2: beyond the limit.
        3 => ([0.0, 2.0 * sign], [1.0, 1.0, 2.0]),
        // 5, 1, 1
        4 => ([0.5 * sign, 0.5], [2.0, 0.0, 2.0]),
        // The same beyond the limit in x.
        5 => ([sign, -0.5], [2.0, 0.0, 2.0]),
        // No area.
        _ => ([0.0, 0.0], [0.0, 0.0, 1.0]),
    };
    Shape { slope, scales }
}

/// Quaternions, not all of length 1, that turn axes into axes.
const QUATS: [[f32; 4]; 6] = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 2.0, 0.0, 0.0],
    [0.0, 0.0, 0.5, 0.0],
    [0.0, 0.0, 0.0, -1.0],
    [1.0, 1.0, 1.0, 1.0],
    [0.5, -0.5, 0.5, 0.5],
];

/// Column j of R(q), q as above: the axis that j is turned into.
fn axis_of(quat: [f32; 4], j: usize) -> usize {
    let [w, x, y, z] = quat;
    if [w, x, y, z].iter().filter(|&&q| q != 0.0).count() == 1 {
        return j;
    }
    // Right-handed for an even number of minus signs among x, y, z relative to w.
    let turns_forward = w * x * y * z > 0.0;
    if turns_forward { (j + 1) % 3 } else { (j + 2) % 3 }
}

pub(super) fn turned(r: [[f32; 3]; 3], t: [f32; 3]) -> Camera {
    let viewmat = std::array::from_fn(|i| [r[i][0], r[i][1], r[i][2], t[i]]);
    Camera { viewmat, focal: [2.0, 4.0], low: [-0.5; 2], high: [0.5; 2], ..camera() }
}

/// The point that a camera sees at p: R^T (p - t).
pub(super) fn world(camera: &Camera, p: [f32; 3]) -> [f32; 3] {
    let v = camera.viewmat;
    std::array::from_fn(|k| (0..3).map(|i| v[i][k] * (p[i] - v[i][3])).sum())
}

/// Looks along z; looks back; is rolled by 90 degrees.
fn cameras() -> [Camera; 3] {
    [
        turned([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]),
        turned([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]], [1.0, -2.0, 1.0]),
        turned([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]),
    ]
}

/// What varies between scenes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) gaussians: usize,
    pub(crate) cameras: usize,
    pub(crate) channels: u32,
    pub(crate) near_inclusive: bool,
    pub(crate) clamp_has_gradient: bool,
    /// With blur, antialiasing, and every epsilon.
    pub(crate) antialiased: bool,
}

impl Plan {
    fn constants(&self) -> ProjectConstants {
        let Self { near_inclusive, clamp_has_gradient, antialiased, .. } = *self;
        let plain = ProjectConstants {
            near_inclusive,
            clamp_has_gradient,
            near: 1.0,
            far: 2.0,
            ..constants()
        };
        if antialiased {
            // The covariance is 1, 0, 1 without blur, so that its determinant becomes 4 with it;
            // every depth is 2.
            let (eps2d, inverse_eps, w_eps) = (1.0, 16.0, 2.0);
            ProjectConstants { antialiased, eps2d, inverse_eps, w_eps, far: f32::INFINITY, ..plain }
        } else {
            plain
        }
    }

    /// Depth and shape of a Gaussian.
    fn place(&self, k: usize) -> (f32, Shape) {
        if self.antialiased {
            let sign = [-1.0, 1.0][hash(k, 13) % 2];
            let (slope, scales) = match hash(k, 14) % 3 {
                0 => ([0.0, 0.0], [1.0, 1.0, 4.0]),
                1 => ([0.5 * sign, 0.0], [0.0, 1.0, 2.0]),
                _ => ([0.0, 2.0 * sign], [1.0, 0.0, 2.0]),
            };
            return (2.0, Shape { slope, scales });
        }
        // At the near plane, at the far plane, before the one, behind the other.
        let depth = [1.0, 2.0, 1.0, 2.0, 1.0, 0.5, 4.0][hash(k, 15) % 7];
        (depth, shape(k))
    }

    fn scene(&self) -> ProjectInputs {
        let mut all = cameras();
        if self.antialiased {
            all.iter_mut().for_each(|camera| camera.focal = [2.0; 2]);
        }
        let n = self.gaussians;
        let mut inputs = ProjectInputs {
            means: Vec::with_capacity(n),
            quats: Vec::with_capacity(n),
            scales: Vec::with_capacity(n),
            opacities: (0..n).map(|k| 0.25 * small(k, 16, 0, 4)).collect(),
            colors: ProjectColors::Direct {
                channels: self.channels,
                values: (0..n * self.channels as usize).map(|i| small(i, 17, -2, 2)).collect(),
            },
            cameras: all[..self.cameras].to_vec(),
            constants: self.constants(),
        };
        for k in 0..n {
            // A third is made for the camera that looks back, whether it is there or not.
            let camera = &all[usize::from(hash(k, 18).is_multiple_of(3))];
            let (z, Shape { slope, scales }) = self.place(k);
            let quat = QUATS[hash(k, 19) % QUATS.len()];
            inputs.means.push(world(camera, [slope[0] * z, slope[1] * z, z]));
            inputs.quats.push(quat);
            // The cameras of which one is meant leave the axes in their order.
            inputs.scales.push(std::array::from_fn(|j| scales[axis_of(quat, j)]));
        }
        inputs
    }

    /// The scene with a loss. What belongs to a Gaussian that is culled is NaN: it must not be
    /// read, nor multiplied by zero.
    pub(crate) fn backward(&self) -> ProjectBackwardInputs {
        let project = self.scene();
        let visible = super::oracle::project(&project).visible;
        let value = |row: usize, salt: usize, one_in: usize| {
            let kept = hash(row, salt + 100).is_multiple_of(one_in);
            match visible[row] {
                0 => f32::NAN,
                _ if kept => small(row, salt, -1, 1),
                _ => 0.0,
            }
        };
        let rows = project.projections();
        let channels = self.channels as usize;
        ProjectBackwardInputs {
            v_means2d: (0..rows).map(|r| [value(r, 20, 1), value(r, 21, 1)]).collect(),
            v_conics: (0..rows).map(|r| [22, 23, 24].map(|salt| value(r, salt, 3))).collect(),
            v_opacities: (0..rows).map(|r| value(r, 25, 1)).collect(),
            v_colors: (0..rows * channels)
                .map(|i| value(i / channels, 26 + i % channels, 1))
                .collect(),
            project,
        }
    }
}

/// The plans every engine runs: no Gaussian, borders of lanes and workgroups, several D, cameras
/// that see all, some or none.
pub(crate) fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for antialiased in [false, true] {
        for (place, gaussians) in [0, 1, 5, 33, 255, 256, 257].into_iter().enumerate() {
            plans.push(Plan {
                gaussians,
                cameras: 1 + place % 3,
                channels: [1, 5, 32][place / 2 % 3],
                near_inclusive: place % 2 == 1,
                clamp_has_gradient: place % 3 != 1,
                antialiased,
            });
        }
    }
    plans
}
