//! Synthetic scenes for benchmarks and tests: the same numbers on every machine.

use crate::splat::camera::Camera;
use crate::splat::scene::{Colors, Gaussians, Scene};
use std::array::from_fn;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// What the state grows by: 2^64 over the golden ratio, odd. Number i of the sequence of a seed
    /// is the first one of seed + i STEP.
    pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A multiple of 2^-24 in [0, 1), exact in f32.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as u32 as f32 / 16_777_216.0
    }

    /// Uniform in [low, high).
    pub fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }
}

/// e^x rounded to f32, with the crate's own exp.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
fn exp(x: f32) -> f32 {
    crate::arithmetic::exp(f64::from(x)) as f32
}

/// `n` Gaussians (spherical harmonics of degree 3) in the view of one camera, with log-uniform
/// depths in 1..10, standard deviations between 0.25 and 2.5 times n^(-1/2) times the depth, and a
/// random loss gradient. The sum of their areas on the screen does not depend on `n`.
#[must_use]
pub fn frustum(n: usize, width: u32, height: u32, seed: u64) -> Scene<f32> {
    let mut random = Random(seed);
    let focal = width as f32;
    let (half_x, half_y) = (0.5, 0.5 * height as f32 / focal);
    let spread = 1.0 / (n.max(1) as f32).sqrt();
    let mut gaussians = Gaussians {
        means: Vec::with_capacity(n),
        quats: Vec::with_capacity(n),
        scales: Vec::with_capacity(n),
        opacities: Vec::with_capacity(n),
        colors: Colors::Harmonics { coefficients: 16, values: Vec::with_capacity(48 * n) },
    };
    let mut harmonics = Vec::with_capacity(48 * n);
    for _ in 0..n {
        let z = exp(random.within(0.0, std::f32::consts::LN_10));
        let [x, y] = [random.within(-half_x, half_x) * z, random.within(-half_y, half_y) * z];
        gaussians.means.push([x, y, z]);
        gaussians.quats.push(from_fn(|_| random.within(-1.0, 1.0)));
        let size = spread * z;
        gaussians
            .scales
            .push(from_fn(|_| size * 0.25 * exp(random.within(0.0, std::f32::consts::LN_10))));
        gaussians.opacities.push(random.within(0.05, 0.99));
        harmonics.extend(
            (0..48).map(
                |k| {
                    if k < 3 { random.within(-1.0, 1.5) } else { random.within(-0.2, 0.2) }
                },
            ),
        );
    }
    gaussians.colors = Colors::Harmonics { coefficients: 16, values: harmonics };
    let pixels = width as usize * height as usize;
    let identity = from_fn(|i| from_fn(|j| if i == j { 1.0 } else { 0.0 }));
    Scene {
        width,
        height,
        gaussians,
        cameras: vec![Camera {
            viewmat: identity,
            fx: f64::from(focal),
            fy: f64::from(focal),
            cx: 0.5 * f64::from(width),
            cy: 0.5 * f64::from(height),
        }],
        backgrounds: vec![0.25, 0.5, 0.75],
        v_render_colors: (0..3 * pixels).map(|_| random.within(-1.0, 1.0)).collect(),
        v_render_alphas: (0..pixels).map(|_| random.within(-1.0, 1.0)).collect(),
    }
}
