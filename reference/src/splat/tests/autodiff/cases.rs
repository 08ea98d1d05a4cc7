//! Random cases of the projection in which much is 0, equal or in line.

use super::one_of;
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::camera::Camera;
use crate::splat::convention::Convention;
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::synthetic::Random;
use std::array::from_fn;

/// A case: what is projected, by which cameras, and the gradients to begin with.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) gaussians: Gaussians<f32>,
    pub(super) cameras: Vec<Camera<f32>>,
    pub(super) size: [u32; 2],
    pub(super) v: Vec<SplatGradients<f32>>,
    pub(super) convention: Convention,
}

/// A number over some powers of two, either sign.
fn number(random: &mut Random) -> f32 {
    let scale = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
    random.within(-1.0, 1.0) * one_of(random, &scale)
}

/// 0 as often as not.
fn sparse(random: &mut Random) -> f32 {
    if random.unit() < 0.5 { 0.0 } else { number(random) }
}

pub(super) fn draw(random: &mut Random) -> Case {
    let n = one_of(random, &[1, 1, 2, 3]);
    let views = one_of(random, &[1, 1, 1, 2]);
    let size = from_fn(|_| one_of(random, &[1, 2, 16, 17, 64]));
    let convention = convention(random);
    let colors = colors(random, n);
    let gaussians = Gaussians {
        means: (0..n).map(|_| mean(random)).collect(),
        quats: (0..n).map(|_| quat(random)).collect(),
        scales: (0..n).map(|_| scales(random)).collect(),
        opacities: (0..n).map(|_| random.unit()).collect(),
        colors,
    };
    let cameras = (0..views).map(|_| camera(random, size)).collect();
    let v = (0..views).map(|_| gradients(random, n, gaussians.colors.channels())).collect();
    Case { gaussians, cameras, size, v, convention }
}

fn convention(random: &mut Random) -> Convention {
    let (inria, gsplat) = (Convention::inria(), Convention::gsplat());
    let all = [
        inria,
        Convention { inverse_eps: 1e-7, w_eps: 1e-7, ..inria },
        gsplat,
        Convention { antialiased: true, ..gsplat },
        Convention { eps2d: 0.1, ..gsplat },
    ];
    one_of(random, &all).rounded_to_f32()
}

fn colors(random: &mut Random, n: usize) -> Colors<f32> {
    let coefficients = one_of(random, &[0, 0, 1, 4, 9, 16]);
    if coefficients == 0 {
        let channels = one_of(random, &[1, 3, 5]);
        let values = (0..n * channels).map(|_| random.within(-0.5, 1.0)).collect();
        return Colors::Direct { channels, values };
    }
    let values = (0..3 * n * coefficients).map(|_| sparse(random)).collect();
    Colors::Harmonics { coefficients, values }
}

/// In front of a camera at the origin, on its axis, on a plane of it, or beyond its limits.
fn mean(random: &mut Random) -> [f32; 3] {
    let z = one_of(random, &[0.5, 1.0, 2.0, 3.0, 10.0]) * one_of(random, &[1.0, 1.1, 0.7]);
    let mut axis = || {
        let wide = one_of(random, &[0.0, 0.3, 0.3, 2.0]);
        random.within(-wide, wide) * z
    };
    let (x, y) = (axis(), axis());
    one_of(random, &[[x, y, z], [x, y, z], [x, x, z], [0.0, y, z], [x, 0.0, z], [0.0, 0.0, z]])
}

fn quat(random: &mut Random) -> [f32; 4] {
    let length = one_of(random, &[1.0, 1.0, 0.5, 3.0, 1e-3, 1e3]);
    let other = number(random);
    let mut q: [f32; 4] = match random.bits() % 6 {
        0 => [1.0, 0.0, 0.0, 0.0],
        1 => [0.0, 0.0, 1.0, 0.0],
        2 => [1.0, 1.0, 0.0, 0.0],
        3 => [0.5, 0.5, -0.5, 0.5],
        4 => [1.0, 0.0, 0.0, other],
        _ => from_fn(|_| random.within(-1.0, 1.0)),
    };
    q.rotate_left(one_of(random, &[0, 0, 1, 2, 3]));
    q.map(|x| x * length)
}

fn scales(random: &mut Random) -> [f32; 3] {
    let mut one = || one_of(random, &[0.01, 0.1, 0.25, 0.5, 1.0]) * random.within(0.5, 2.0);
    let (a, b, c) = (one(), one(), one());
    let all = [
        [a, b, c],
        [a, b, c],
        [a, a, a],
        [a, a, b],
        [a, b, 0.0],
        [a, 1e-6, b],
        [0.01 * a, 0.01 * a, 4.0 * b],
        [0.25, 0.25, 0.25],
    ];
    let mut scales = one_of(random, &all);
    scales.rotate_left(one_of(random, &[0, 1, 2]));
    scales
}

/// Straight, turned by a right angle about its axis, or turned by a little, moved or not.
#[expect(clippy::cast_possible_truncation, reason = "what a program is given")]
fn camera(random: &mut Random, size: [u32; 2]) -> Camera<f32> {
    let (s, c) = one_of(random, &[(0.0, 1.0), (1.0, 0.0), (0.28, 0.96), (0.6, 0.8)]);
    let about_z = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]];
    // By the tangent of half the angle.
    let t = random.within(-0.15, 0.15);
    let [sin, cos] = [2.0 * t, 1.0 - t * t].map(|x| x / (1.0 + t * t));
    let about_x = [[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]];
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let r = one_of(random, &[identity, identity, about_z, about_x]);
    let moved = [sparse(random) * 0.1, sparse(random) * 0.1, sparse(random) * 0.1];
    let t = one_of(random, &[[0.0; 3], [0.0; 3], moved]);
    let row = |i: usize| [r[i][0], r[i][1], r[i][2], t[i]];
    let [w, h] = size.map(f64::from);
    let focal = one_of(random, &[16.0, 40.0, 55.7]) * f64::from(random.within(0.5, 2.0));
    let focals =
        one_of(random, &[[focal, focal], [focal, 1.25 * focal]]).map(|f| f64::from(f as f32));
    let center =
        one_of(random, &[[0.5 * w, 0.5 * h], [0.5 * w, 0.5 * h], [0.25 * w + 1.5, 0.625 * h]]);
    Camera {
        viewmat: [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]],
        fx: focals[0],
        fy: focals[1],
        cx: center[0],
        cy: center[1],
    }
}

fn gradients(random: &mut Random, n: usize, channels: usize) -> SplatGradients<f32> {
    let conic = |random: &mut Random| {
        let [a, b, c] = from_fn(|_| number(random));
        one_of(
            random,
            &[
                [a, b, c],
                [a, b, c],
                [a, 0.0, 0.0],
                [0.0, b, 0.0],
                [0.0, 0.0, c],
                [a, 0.0, a],
                [0.0; 3],
            ],
        )
    };
    let v_means2d = (0..n).map(|_| from_fn(|_| sparse(random))).collect();
    let v_conics = (0..n).map(|_| conic(random)).collect();
    SplatGradients {
        v_means2d,
        v_conics,
        v_opacities: (0..n).map(|_| sparse(random)).collect(),
        v_colors: (0..n * channels).map(|_| sparse(random)).collect(),
        v_background: Vec::new(),
    }
}
