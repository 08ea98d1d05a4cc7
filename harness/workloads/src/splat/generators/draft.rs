//! A scene as it is drawn.
//!
//! A Gaussian is drawn as its observer sees it (where on the screen, how deep, how many pixels
//! wide) and then placed in the world, because hardly any scene drawn in world coordinates puts
//! anything on the screen.

use super::changes::Change;
use super::sheet::single;
use crate::splat::case::Case;
use crate::splat::files::loss::{loss_gradient, loss_gradients};
use splatcheck_reference::splat::convention::{Convention, Profile};
use splatcheck_reference::splat::{Camera, Colors, Gaussians, Scene};
use std::array::from_fn;

/// A camera as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Eye {
    /// Rotation, not normalized; w is kept away from zero.
    pub quat: [f32; 4],
    pub translation: [f32; 3],
    /// Focal lengths as multiples of the width, principal point as shares of the image.
    pub focal: [f32; 2],
    pub principal: [f32; 2],
}

/// A Gaussian as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Blob {
    /// Position on the screen as a share of its size, and depth.
    pub place: [f32; 2],
    pub depth: f32,
    /// Standard deviations, pixels at that depth.
    pub pixels: [f32; 3],
    pub quat: [f32; 4],
    pub opacity: f32,
    pub color: [f32; LOW_COLOR],
    /// What the colour's harmonics of degree 2 and 3 are expanded from.
    pub high: u64,
}

/// Numbers drawn for the colour one by one: enough for degree 1 and for four direct channels.
pub(super) const LOW_COLOR: usize = 12;
/// Numbers of the harmonics of degree 2 and 3.
const HIGH_COLOR: u32 = 36;

/// What the colour is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Palette {
    Direct(usize),
    Harmonics(usize),
}

/// Everything that is drawn for one case.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub size: [u32; 2],
    /// The camera by which the Gaussians are placed, then others.
    pub eyes: Vec<Eye>,
    pub blobs: Vec<Blob>,
    pub palette: Palette,
    /// Of the channels in turn.
    pub background: [f32; 4],
    pub loss: (u64, f32),
    pub changes: Vec<Change>,
}

/// The rotation matrix of a quaternion w x y z of any length.
fn rotation(quat: [f32; 4]) -> [[f64; 3]; 3] {
    let q = quat.map(f64::from);
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    splatcheck_reference::splat::rotation(q.map(|x| x / norm))
}

impl Eye {
    fn camera(&self, size: [u32; 2]) -> Camera<f32> {
        let r = rotation(self.quat).map(|row| row.map(single));
        let t = self.translation;
        let [width, height] = size.map(f64::from);
        // Focal lengths and principal points are f32 in files.
        let f = self.focal.map(|f| f64::from(single(f64::from(f) * width)));
        Camera {
            viewmat: [
                [r[0][0], r[0][1], r[0][2], t[0]],
                [r[1][0], r[1][1], r[1][2], t[1]],
                [r[2][0], r[2][1], r[2][2], t[2]],
                [0.0, 0.0, 0.0, 1.0],
            ],
            fx: f[0],
            fy: f[1],
            cx: f64::from(single(f64::from(self.principal[0]) * width)),
            cy: f64::from(single(f64::from(self.principal[1]) * height)),
        }
    }
}

impl Blob {
    /// The mean in the world: R^T (p - t) for the mean p in camera axes.
    fn mean(&self, eye: &Eye, camera: &Camera<f32>, size: [u32; 2]) -> [f32; 3] {
        let z = f64::from(self.depth);
        let [u, v] = from_fn(|i| f64::from(self.place[i]) * f64::from(size[i]));
        let p = [(u - camera.cx) / camera.fx * z, (v - camera.cy) / camera.fy * z, z];
        let offset: [f64; 3] = from_fn(|i| p[i] - f64::from(eye.translation[i]));
        let r = rotation(eye.quat);
        from_fn(|j| single((0..3).map(|i| r[i][j] * offset[i]).sum()))
    }

    /// `count` numbers of the colour.
    fn colors(&self, count: usize) -> impl Iterator<Item = f32> {
        let high = loss_gradient(self.high, HIGH_COLOR, 1, 1, 0.5).0;
        self.color.into_iter().chain(high).take(count)
    }

    fn scales(&self, camera: &Camera<f32>) -> [f32; 3] {
        let per_pixel = f64::from(self.depth).abs().max(0.01) / camera.fx;
        self.pixels.map(|p| single(f64::from(p) * per_pixel).max(f32::MIN_POSITIVE))
    }
}

impl Draft {
    pub(super) fn into_case(self, profile: Profile) -> Case {
        let cameras: Vec<_> = self.eyes.iter().map(|eye| eye.camera(self.size)).collect();
        let (eye, camera) = (&self.eyes[0], cameras[0]);
        let (channels, take) = match self.palette {
            Palette::Direct(channels) => (channels, channels),
            Palette::Harmonics(coefficients) => (3, 3 * coefficients),
        };
        let values = self.blobs.iter().flat_map(|blob| blob.colors(take)).collect();
        let colors = match self.palette {
            Palette::Direct(channels) => Colors::Direct { channels, values },
            Palette::Harmonics(coefficients) => Colors::Harmonics { coefficients, values },
        };
        let [width, height] = self.size;
        let (seed, magnitude) = self.loss;
        // In every other scene each camera has a background of its own: the same numbers for other channels.
        let first = |camera: usize| if seed % 2 == 0 { 0 } else { camera };
        let background =
            |camera| self.background.into_iter().cycle().skip(first(camera)).take(channels);
        let (v_render_colors, v_render_alphas) =
            loss_gradients(seed, cameras.len(), width, height, channels, magnitude);
        let mut convention = Convention::of(profile);
        self.changes.iter().for_each(|change| change(&mut convention));
        let gaussians = Gaussians {
            means: self.blobs.iter().map(|b| b.mean(eye, &camera, self.size)).collect(),
            quats: self.blobs.iter().map(|b| b.quat).collect(),
            scales: self.blobs.iter().map(|b| b.scales(&camera)).collect(),
            opacities: self.blobs.iter().map(|b| b.opacity).collect(),
            colors,
        };
        let scene = Scene {
            width,
            height,
            gaussians,
            backgrounds: (0..cameras.len()).flat_map(background).collect(),
            cameras,
            v_render_colors,
            v_render_alphas,
        };
        Case::unnamed(convention, scene)
    }
}
