//! The stages in f64, for scenes on which f32 arithmetic makes no rounding error but that of a
//! constant of the harmonics, so that a kernel must return these very numbers.
//!
//! Backward projection is the derivative of forward projection by [`Dual`] numbers, not a second
//! set of formulas; only what a convention defines otherwise is put in.

use super::dual::{CAMERA, COLOR, Dual, MEAN, OPACITY, QUAT, SCALE, Vector, dot};
use crate::exact::{Sum, f, single};
use crate::stages::splat::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectGradients, ProjectInputs, ProjectOutputs,
};

/// One Gaussian as one camera sees it.
struct Seen {
    /// Mean (2), conic (3), opacity (1), colour (D).
    row: Vec<Dual>,
    covariance: [f64; 3],
    depth: f64,
}

fn variables<const K: usize>(place: usize, values: [f32; K]) -> [Dual; K] {
    std::array::from_fn(|i| Dual::variable(place + i, values[i]))
}

/// The rows of the rotation matrix of a unit quaternion.
fn rotation([w, x, y, z]: [Dual; 4]) -> [Vector; 3] {
    let one = Dual::constant(1.0);
    [
        [one - (y * y + z * z) * 2.0, (x * y - w * z) * 2.0, (x * z + w * y) * 2.0],
        [(x * y + w * z) * 2.0, one - (x * x + z * z) * 2.0, (y * z - w * x) * 2.0],
        [(x * z - w * y) * 2.0, (y * z + w * x) * 2.0, one - (x * x + y * y) * 2.0],
    ]
}

/// x/z or y/z within its limits.
fn limited(inputs: &ProjectInputs, camera: &Camera, i: usize, mean: Vector) -> Dual {
    let slope = mean[i] / mean[2];
    let within = slope.x.clamp(f64::from(camera.low[i]), f64::from(camera.high[i]));
    if slope.x.to_bits() == within.to_bits() {
        slope
    } else if inputs.constants.clamp_has_gradient {
        Dual::constant(within)
    } else {
        Dual::constant(within * mean[2].x) / mean[2]
    }
}

fn seen(inputs: &ProjectInputs, id: usize, camera: &Camera) -> Option<Seen> {
    let constants = &inputs.constants;
    let view: [[Dual; 4]; 3] =
        std::array::from_fn(|i| variables(CAMERA + 4 * i, camera.viewmat[i]));
    let turn = view.map(|[a, b, c, _]| [a, b, c]);
    let world = variables(MEAN, inputs.means[id]);
    let mean: Vector = std::array::from_fn(|i| dot(turn[i], world) + view[i][3]);
    let (z, near) = (mean[2].x, f64::from(constants.near));
    let in_front = if constants.near_inclusive { z > near } else { z >= near };
    if !in_front || z > f64::from(constants.far) {
        return None;
    }
    let quat = variables(QUAT, inputs.quats[id]);
    let norm = quat.iter().map(|&q| q * q).reduce(|a, b| a + b).expect("four").sqrt();
    let scale = variables(SCALE, inputs.scales[id]);
    let scaled = rotation(quat.map(|q| q / norm)).map(|r| [0, 1, 2].map(|k| r[k] * scale[k]));
    let focal = camera.focal.map(f64::from);
    let root: [Vector; 2] = std::array::from_fn(|i| {
        let slope = limited(inputs, camera, i, mean);
        let inverse = Dual::constant(focal[i]) / mean[2];
        let jacobian: Vector =
            std::array::from_fn(|k| inverse * turn[i][k] - inverse * slope * turn[2][k]);
        std::array::from_fn(|k| dot(jacobian, scaled.map(|row| row[k])))
    });
    let blur = Dual::constant(f64::from(constants.eps2d));
    let sharp = [dot(root[0], root[0]), dot(root[0], root[1]), dot(root[1], root[1])];
    let [a, b, c] = [sharp[0] + blur, sharp[1], sharp[2] + blur];
    let det = a * c - b * b;
    if !(det.x > 0.0) {
        return None;
    }
    let square = det.x * det.x;
    let factor = square / (square + f64::from(constants.inverse_eps));
    let w = mean[2] + Dual::constant(f64::from(constants.w_eps));
    let at = |i: usize| mean[i] / w * focal[i] + Dual::constant(f64::from(camera.principal[i]));
    let mut row = vec![at(0), at(1)];
    row.extend([c / det, -b / det, a / det].map(|x| x.with_gradient_times(factor)));
    let opacity = Dual::variable(OPACITY, inputs.opacities[id]);
    let sharp_det = sharp[0] * sharp[2] - sharp[1] * sharp[1];
    row.push(if constants.antialiased { opacity * (sharp_det / det).sqrt() } else { opacity });
    row.extend(color(inputs, id, &view, world));
    Some(Seen { row, covariance: [a.x, b.x, c.x], depth: z })
}

fn color(inputs: &ProjectInputs, id: usize, view: &[[Dual; 4]; 3], mean: Vector) -> Vec<Dual> {
    let stride = inputs.colors.stride() as usize;
    let given = &inputs.colors.values()[id * stride..(id + 1) * stride];
    let given: Vec<_> =
        given.iter().enumerate().map(|(i, &x)| Dual::variable(COLOR + i, x)).collect();
    let ProjectColors::Harmonics { coefficients, .. } = inputs.colors else { return given };
    // The camera is at -R^T t.
    let offset: Vector =
        std::array::from_fn(|k| mean[k] + dot(view.map(|row| row[k]), view.map(|row| row[3])));
    let length = dot(offset, offset).sqrt();
    let basis = basis(offset.map(|x| x / length));
    (0..3)
        .map(|channel| {
            let mut sum = Dual::constant(0.5);
            for (k, &b) in basis.iter().take(coefficients as usize).enumerate() {
                sum = sum + b * given[3 * k + channel];
            }
            // No gradient at 0 either.
            if sum.x > 0.0 { sum } else { Dual::constant(0.0) }
        })
        .collect()
}

/// Real spherical harmonics with the Condon-Shortley phase, as every implementation of Gaussian
/// splatting orders and signs them.
///
/// Kernels multiply polynomials by constants that were rounded to f32. In the derivatives of the
/// functions 9 and 15 they round multiples of the constants instead (`times_rounded`); it is no
/// matter where the multiple is a power of two.
fn basis([x, y, z]: Vector) -> [Dual; 16] {
    let pi = std::f64::consts::PI;
    let c = |a: f64, b: f64| (a / (b * pi)).sqrt();
    let rounded = |c: f64| f64::from(single(c));
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let one = Dual::constant(1.0);
    [
        one.times_rounded(c(1.0, 4.0)),
        y.times_rounded(-c(3.0, 4.0)),
        z.times_rounded(c(3.0, 4.0)),
        x.times_rounded(-c(3.0, 4.0)),
        (x * y).times_rounded(c(15.0, 4.0)),
        (y * z).times_rounded(-c(15.0, 4.0)),
        (zz * 2.0 - xx - yy).times_rounded(c(5.0, 16.0)),
        (x * z).times_rounded(-c(15.0, 4.0)),
        (xx - yy).times_rounded(c(15.0, 16.0)),
        (y * (xx * 3.0 - yy)).times_rounded(-c(35.0, 32.0)),
        (x * y * z).times_rounded(c(105.0, 4.0)),
        (y * (zz * 4.0 - xx - yy)) * rounded(-c(21.0, 32.0)),
        (z * (zz * 2.0 - xx * 3.0 - yy * 3.0)) * rounded(c(7.0, 16.0)),
        (x * (zz * 4.0 - xx - yy)) * rounded(-c(21.0, 32.0)),
        (z * (xx - yy)).times_rounded(c(105.0, 16.0)),
        (x * (xx - yy * 3.0)).times_rounded(-c(35.0, 32.0)),
    ]
}

/// The forward stage.
pub(crate) fn project(inputs: &ProjectInputs) -> ProjectOutputs {
    let channels = inputs.colors.channels();
    let rows = inputs.projections();
    let mut out = ProjectOutputs {
        means2d: Vec::with_capacity(rows),
        conics: Vec::with_capacity(rows),
        opacities: Vec::with_capacity(rows),
        colors: Vec::with_capacity(rows * channels as usize),
        covars2d: Vec::with_capacity(rows),
        depths: Vec::with_capacity(rows),
        visible: Vec::with_capacity(rows),
    };
    for camera in &inputs.cameras {
        for id in 0..inputs.len() {
            let seen = seen(inputs, id, camera);
            out.visible.push(u32::from(seen.is_some()));
            let zeros = || Seen {
                row: vec![Dual::constant(0.0); 6 + channels as usize],
                covariance: [0.0; 3],
                depth: 0.0,
            };
            let Seen { row, covariance, depth } = seen.unwrap_or_else(zeros);
            let number = |at: usize| single(f(row[at].x));
            out.means2d.push([0, 1].map(number));
            out.conics.push([2, 3, 4].map(number));
            out.opacities.push(number(5));
            out.colors.extend((6..row.len()).map(number));
            out.covars2d.push(covariance.map(|v| single(f(v))));
            out.depths.push(single(f(depth)));
        }
    }
    out
}

/// The gradients of one projection in the order of [`Seen::row`].
fn gradient_row(inputs: &ProjectBackwardInputs, at: usize) -> Vec<f32> {
    let channels = inputs.project.colors.channels() as usize;
    let mut row = inputs.v_means2d[at].to_vec();
    row.extend(inputs.v_conics[at]);
    row.push(inputs.v_opacities[at]);
    row.extend(&inputs.v_colors[at * channels..][..channels]);
    row
}

/// The backward stage.
pub(crate) fn project_backward(inputs: &ProjectBackwardInputs) -> ProjectGradients {
    let project = &inputs.project;
    let (n, stride) = (project.len(), project.colors.stride() as usize);
    // Harmonics are rounded when a constant is; other numbers must need no rounding.
    let exact = |x: f64| match project.colors {
        ProjectColors::Direct { .. } => f(x),
        ProjectColors::Harmonics { .. } => f64::from(single(x)),
    };
    // Sums over the cameras, in their order.
    let mut sums = vec![vec![0.0; COLOR + stride]; n];
    let mut cameras = vec![[Sum::EMPTY; 16]; project.cameras.len()];
    for (c, camera) in project.cameras.iter().enumerate() {
        for (id, sum) in sums.iter_mut().enumerate() {
            let Some(seen) = seen(project, id, camera) else { continue };
            let v_row = gradient_row(inputs, c * n + id);
            let along = |place: usize| -> f64 {
                let products = seen.row.iter().zip(&v_row);
                products
                    .map(|(out, &v)| if v == 0.0 { 0.0 } else { f64::from(v) * out.d[place] })
                    .sum()
            };
            for (place, sum) in sum.iter_mut().enumerate() {
                *sum = exact(*sum + exact(along(place)));
            }
            for (slot, total) in cameras[c][..12].iter_mut().enumerate() {
                total.add(exact(along(CAMERA + slot)));
            }
        }
    }
    let part = |sum: &[f64], from: usize, i: usize| single(sum[from + i]);
    let columns = sums.iter().map(Vec::as_slice);
    ProjectGradients {
        v_means: columns.clone().map(|s| [0, 1, 2].map(|i| part(s, MEAN, i))).collect(),
        v_quats: columns.clone().map(|s| [0, 1, 2, 3].map(|i| part(s, QUAT, i))).collect(),
        v_scales: columns.clone().map(|s| [0, 1, 2].map(|i| part(s, SCALE, i))).collect(),
        v_opacities: columns.clone().map(|s| part(s, OPACITY, 0)).collect(),
        v_colors: columns.flat_map(|s| s[COLOR..].iter().map(|&x| single(x))).collect(),
        v_viewmats: cameras
            .iter()
            .map(|sums| std::array::from_fn(|i| std::array::from_fn(|k| sums[4 * i + k].exact())))
            .collect(),
    }
}

/// The basis functions in a direction along an axis.
pub(super) fn basis_along(direction: [f64; 3]) -> [f64; 16] {
    basis(direction.map(Dual::constant)).map(|b| b.x)
}
