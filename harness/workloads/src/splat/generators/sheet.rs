//! Scenes laid out on the screen, so that a generator hits exactly the pixels it names.
//!
//! All Gaussians are flat and face one camera without rotation, whose focal length and principal
//! point are dyadic numbers: a mean on the sample point of a pixel projects to it without rounding,
//! where power is exactly 0 and alpha exactly the opacity. They blend in the order in which they are
//! written, because equal depths are ordered by index.

use crate::splat::case::Case;
use crate::splat::files::loss::loss_gradient;
use splatcheck_reference::splat::convention::{Convention, Profile};
use splatcheck_reference::splat::{Camera, Colors, Gaussians, Scene};

/// Focal lengths, pixels.
const FOCAL: f32 = 16.0;
/// Depth of Gaussians that do not say otherwise.
pub(super) const DEPTH: f32 = 4.0;
/// Thickness, scene units, 2^-100: its share of a 2D covariance vanishes in f32.
const THICKNESS: f32 = f32::from_bits((127 - 100) << 23);
/// Standard deviation of a strip along itself, pixels: within a tile its alpha changes by less than
/// from one lane to the next across it.
const STRIP_LENGTH: f32 = 64.0;
/// Pixels of a tile's row.
const ROW: u32 = splatcheck_gpu::stages::splat::TILE_SIZE;

/// A Gaussian as it lies on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Centre in pixel indices: (3, 5) is the sample point of column 3, row 5.
    pub centre: [f32; 2],
    /// Standard deviations along its own axes, pixels.
    pub deviation: [f32; 2],
    /// Direction of its first axis, of any length; not (-x, 0).
    pub along: [f32; 2],
    /// Opacity.
    pub opacity: f32,
    /// Depth, a power of two where the projection has to be exact.
    pub depth: f32,
}

impl Mark {
    /// A round Gaussian.
    pub(super) fn round(centre: [f32; 2], deviation: f32, opacity: f32) -> Self {
        Self { centre, deviation: [deviation; 2], along: [1.0, 0.0], opacity, depth: DEPTH }
    }

    /// Covers exactly the lanes `first..first + lanes` of the tile at the origin, in the order of
    /// its threads, with alpha from exp(`height`) / 255 in the middle to 1/255 half a lane beyond
    /// both ends.
    ///
    /// x + 16 y is the number of the thread of pixel (x, y), so a Gaussian that is long along
    /// (16, -1) and narrow across covers an interval of threads, rows or not. Its alpha is
    /// exp(height - height (2 d / lanes)^2) / 255 at d lanes from the middle, and a lane is
    /// 1/sqrt(257) pixels wide across.
    pub(super) fn strip(first: u32, lanes: u32, height: f32) -> Self {
        let middle = 2 * first + lanes - 1;
        let (row, column) = (middle / (2 * ROW), middle % (2 * ROW));
        let half = f64::from(lanes) / 2.0;
        let variance = half * half / (514.0 * f64::from(height));
        Self {
            centre: [small(column) / 2.0, small(row)],
            deviation: [STRIP_LENGTH, single(variance.sqrt())],
            along: [16.0, -1.0],
            opacity: alpha(height),
            depth: DEPTH,
        }
    }

    /// An opaque Gaussian over one lane of the tile at the origin; two in a row stop it.
    pub(super) fn opaque(lane: u32) -> Self {
        Self::round([small(lane % ROW), small(lane / ROW)], 0.125, 1.0)
    }

    /// Nearly the same alpha on every lane of the tile at the origin.
    pub(super) fn veil() -> Self {
        Self::round([7.5, 7.5], 64.0, 0.25)
    }

    /// Listed in the tile at the origin, but so narrow between four pixels that it is skipped there.
    pub(super) fn between(lane: u32) -> Self {
        let [x, y] = [lane % ROW, lane / ROW].map(|i| small(i) + 0.5);
        Self::round([x, y], 1.0 / 64.0, 0.5)
    }

    /// The same elsewhere.
    pub(super) fn at_depth(self, depth: f32) -> Self {
        Self { depth, ..self }
    }
}

/// exp(height) / 255: the opacity that many e-folds above the cut, at most 1.
pub(super) fn alpha(height: f32) -> f32 {
    single(splatcheck_reference::arithmetic::exp(f64::from(height)) / 255.0).min(1.0)
}

/// A whole number that f32 holds exactly: up to 2^24.
#[expect(clippy::cast_precision_loss, reason = "sizes of images and lists are below 2^24")]
pub(super) fn small(x: u32) -> f32 {
    x as f32
}

#[expect(clippy::cast_possible_truncation, reason = "cases hold f32")]
pub(super) fn single(x: f64) -> f32 {
    x as f32
}

/// The gradient of the loss.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    /// Odd multiples of 2^-10 times a magnitude, from a seed.
    Random(u64, f32),
    /// One value per pixel, row by row, the same for all channels; repeated where there are more
    /// pixels. Alphas have none.
    Pixels(Vec<f32>),
}

/// A scene laid out on the screen.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    /// Image size, pixels.
    pub size: [u32; 2],
    /// The Gaussians, front to back where their depths are equal.
    pub marks: Vec<Mark>,
    /// Channels D.
    pub channels: usize,
    /// Seed and magnitude of the colours.
    pub colors: (u64, f32),
    /// Every channel of the background.
    pub background: f32,
    /// The gradient of the loss.
    pub loss: Loss,
    /// Where each camera's image begins, pixels: one camera at the origin is the plain one.
    pub cameras: Vec<[f32; 2]>,
    /// Changes to the profile.
    pub convention: fn(&mut Convention),
}

impl Sheet {
    /// One tile, one camera, three channels, no blur.
    pub(super) fn new(marks: Vec<Mark>) -> Self {
        Self {
            size: [ROW; 2],
            marks,
            channels: 3,
            colors: (1, 1.0),
            background: 0.25,
            loss: Loss::Random(1, 1.0),
            cameras: vec![[0.0; 2]],
            convention: |convention| convention.eps2d = 0.0,
        }
    }

    /// The case; whoever draws it names it.
    pub(super) fn into_case(self, profile: Profile) -> Case {
        let mut convention = Convention::of(profile);
        (self.convention)(&mut convention);
        let cameras: Vec<_> = self.cameras.iter().map(|&begin| self.camera(begin)).collect();
        let (v_render_colors, v_render_alphas) = self.loss_gradient();
        let n = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        let (seed, magnitude) = self.colors;
        let values = loss_gradient(seed, n, 1, self.channels, magnitude).0;
        let [width, height] = self.size;
        let half = self.size.map(|side| small(side) / 2.0);
        let gaussians = Gaussians {
            means: self.marks.iter().map(|mark| mark.mean(half)).collect(),
            quats: self.marks.iter().map(|mark| mark.quat()).collect(),
            scales: self.marks.iter().map(|mark| mark.scale()).collect(),
            opacities: self.marks.iter().map(|mark| mark.opacity).collect(),
            colors: Colors::Direct { channels: self.channels, values },
        };
        let scene = Scene {
            width,
            height,
            gaussians,
            backgrounds: vec![self.background; cameras.len() * self.channels],
            cameras,
            v_render_colors,
            v_render_alphas,
        };
        Case::unnamed(convention, scene)
    }

    /// A camera whose image begins at `begin` of the plain one's.
    fn camera(&self, begin: [f32; 2]) -> Camera<f32> {
        let [x, y] = begin.map(|pixels| -pixels * DEPTH / FOCAL);
        let [cx, cy] = self.size.map(|side| f64::from(side) / 2.0);
        Camera {
            viewmat: [
                [1.0, 0.0, 0.0, x],
                [0.0, 1.0, 0.0, y],
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
            ],
            fx: f64::from(FOCAL),
            fy: f64::from(FOCAL),
            cx,
            cy,
        }
    }

    fn loss_gradient(&self) -> (Vec<f32>, Vec<f32>) {
        let ([width, height], cameras) = (self.size, self.cameras.len());
        match &self.loss {
            Loss::Random(seed, magnitude) => crate::splat::files::loss::loss_gradients(
                *seed,
                cameras,
                width,
                height,
                self.channels,
                *magnitude,
            ),
            Loss::Pixels(values) => {
                let pixels = width as usize * height as usize * cameras;
                let each = values.iter().cycle().take(pixels);
                let colors = each.flat_map(|&v| std::iter::repeat_n(v, self.channels)).collect();
                (colors, vec![0.0; pixels])
            }
        }
    }
}

impl Mark {
    /// In the world of a camera at the origin: pixel i is seen at (i + 0.5 - size / 2) / focal, with
    /// `half` the size.
    fn mean(&self, half: [f32; 2]) -> [f32; 3] {
        let [x, y] = [0, 1].map(|i| (self.centre[i] + 0.5 - half[i]) * self.depth / FOCAL);
        [x, y, self.depth]
    }

    /// A turn about the optical axis: (1 + cos, 0, 0, sin) is twice the half angle's cosine times
    /// (cos, 0, 0, sin) of the half angle.
    fn quat(&self) -> [f32; 4] {
        let [x, y] = self.along;
        [(x * x + y * y).sqrt() + x, 0.0, 0.0, y]
    }

    fn scale(&self) -> [f32; 3] {
        let [a, b] = self.deviation.map(|pixels| pixels * self.depth / FOCAL);
        [a.max(f32::MIN_POSITIVE), b.max(f32::MIN_POSITIVE), THICKNESS]
    }
}
