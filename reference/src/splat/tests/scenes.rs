//! Scenes for the tests of derivatives and identities: small, with every branch of the stages taken.

use crate::splat::camera::Camera;
use crate::splat::scene::{Colors, Scene};
use crate::splat::synthetic::{Random, frustum};

/// How colours are given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// [N,D]
    Direct(usize),
    /// Spherical harmonics of this degree.
    Degree(usize),
}

/// Gaussians of a [`scene`].
pub(crate) const COUNT: usize = 14;

/// Cameras that look at the frustum scene: along z; turned about y, off-centre; turned about x and
/// y, nearer, with unequal focal lengths.
fn cameras(first: Camera<f32>, count: usize) -> Vec<Camera<f32>> {
    let mut second = first;
    second.viewmat[0] = [0.96, 0.0, 0.28, -0.4];
    second.viewmat[2] = [-0.28, 0.0, 0.96, 0.3];
    (second.fx, second.fy, second.cx, second.cy) = (33.0, 41.0, 16.25, 15.5);
    let mut third = first;
    third.viewmat[0] = [0.96, 0.0, -0.28, 0.25];
    third.viewmat[1] = [0.0784, 0.96, 0.2688, -0.3];
    third.viewmat[2] = [0.2688, -0.28, 0.9216, -0.125];
    (third.fx, third.fy) = (38.0, 30.0);
    [first, second, third][..count].to_vec()
}

/// [`COUNT`] Gaussians in images of 36 by 28 pixels, 3 by 2 tiles, some of them cut.
///
/// Every fourth Gaussian is opaque (alpha clamps), three of them in one line of sight (pixels stop);
/// every fifth lies beyond the limit of
/// the Jacobian and is large enough to be seen, one is behind the first camera, and some colours
/// fall below zero.
pub(crate) fn scene(layout: Layout, camera_count: usize, seed: u64) -> Scene<f64> {
    let mut scene = frustum(COUNT, 36, 28, seed);
    let mut random = Random(seed ^ 0x5ca1ab1e);
    let gaussians = &mut scene.gaussians;
    for i in 0..COUNT {
        if i % 4 == 0 {
            gaussians.opacities[i] = 1.0;
        }
        let [x, y, z] = &mut gaussians.means[i];
        if i % 5 == 1 {
            (*x, *y) = (if i % 2 == 0 { 0.75 } else { -0.75 } * *z, 0.6 * *z);
            gaussians.scales[i] = [0.3, 0.2, 0.35].map(|s| s * *z);
        }
        if i == 7 {
            *z = -1.5;
        }
    }
    for (i, stretch) in [(4, 1.0), (8, 1.015625), (12, 1.03125)] {
        gaussians.means[i] = [0.0625, -0.03125, 2.0].map(|x| x * stretch);
        gaussians.scales[i] = [0.25, 0.1875, 0.3125];
    }
    let (channels, colors) = match layout {
        Layout::Direct(channels) => {
            let values = (0..COUNT * channels).map(|_| random.within(-0.5, 1.0)).collect();
            (channels, Colors::Direct { channels, values })
        }
        Layout::Degree(degree) => {
            let coefficients = (degree + 1) * (degree + 1);
            let harmonics = gaussians.colors.values().chunks_exact(48);
            let rows = harmonics.flat_map(|row| &row[..3 * coefficients]);
            let mut values: Vec<f32> = rows.copied().collect();
            // 0.28 (-2.5) + 0.5 < 0: one channel in three Gaussians falls below zero.
            for (i, row) in values.chunks_exact_mut(3 * coefficients).enumerate() {
                if i % 3 == 2 {
                    row[i % 2] = -2.5;
                }
            }
            (3, Colors::Harmonics { coefficients, values })
        }
    };
    gaussians.colors = colors;
    scene.cameras = cameras(scene.cameras[0], camera_count);
    let pixels = camera_count * scene.pixels();
    scene.backgrounds = (0..camera_count * channels).map(|_| random.unit()).collect();
    scene.v_render_colors = (0..pixels * channels).map(|_| random.within(-1.0, 1.0)).collect();
    scene.v_render_alphas = (0..pixels).map(|_| random.within(-1.0, 1.0)).collect();
    scene.map(f64::from)
}
