//! The stages in f64, for scenes on which f32 arithmetic makes no rounding error.
//!
//! Every intermediate is asserted to be an f32 ([`f`]), so whatever order, contraction or precision
//! of rounding a compiler chooses, the device must return these very numbers. Gaussians either
//! cover a pixel with power exactly 0 (exp gives 1, which the engine measures) or not at all, and
//! every alpha is 1/2. Sums over pixels are exact in every order because all addends are multiples
//! of one quantum and their absolute sum is at most 2^24 quanta ([`Sum`]). Division is the one
//! operation for which Vulkan allows an error (2.5 ulp) even where the result is an f32; the
//! divisor is always 1/2, and a device that does not get a change of exponent right should fail.

use crate::exact::{Sum, f, single};
use crate::stages::splat::{
    BackwardInputs, ClampGradient, RasterGradients, RasterInputs, RasterOutputs, StopRule,
};

struct Pair {
    dx: f64,
    dy: f64,
    conic: [f64; 3],
    /// Opacity times exp(0).
    unclamped: f64,
    alpha: f64,
}

/// The pair, unless it is skipped.
fn pair(inputs: &RasterInputs, id: usize, x: u32, y: u32) -> Option<Pair> {
    let center = f64::from(inputs.constants.pixel_center);
    let conic = inputs.conics[id].map(f64::from);
    let [a, b, c] = conic;
    let dx = f(f64::from(inputs.means2d[id][0]) - (f64::from(x) + center));
    let dy = f(f64::from(inputs.means2d[id][1]) - (f64::from(y) + center));
    let sum = f(f(f(a * dx) * dx) + f(f(c * dy) * dy));
    let power = -f(f(0.5 * sum) + f(f(b * dx) * dy));
    let unclamped = f64::from(inputs.opacities[id]);
    let alpha = unclamped.min(f64::from(inputs.constants.alpha_max));
    // exp(-64) < 2^-92 is far below every alpha_min in use, whatever the device's exp returns
    // within a factor of 2^80.
    assert!(power >= 0.0 || power <= -64.0, "power {power}: choose other inputs");
    let kept = power.abs() == 0.0 && alpha >= f64::from(inputs.constants.alpha_min);
    kept.then_some(Pair { dx, dy, conic, unclamped, alpha })
}

fn list(inputs: &RasterInputs, x: u32, y: u32) -> std::ops::Range<usize> {
    let tile = inputs.tile_of((y * inputs.width + x) as usize);
    inputs.tile_offsets[tile] as usize..inputs.tile_offsets[tile + 1] as usize
}

fn pixels(inputs: &RasterInputs) -> impl Iterator<Item = (usize, u32, u32)> {
    let (width, height) = (inputs.width, inputs.height);
    (0..height)
        .flat_map(move |y| (0..width).map(move |x| (y, x)))
        .enumerate()
        .map(|(pixel, (y, x))| (pixel, x, y))
}

/// The forward stage.
pub(super) fn rasterize(inputs: &RasterInputs) -> RasterOutputs {
    let d = inputs.channels as usize;
    let minimum = f64::from(inputs.constants.transmittance_min);
    let mut out = RasterOutputs {
        render_colors: Vec::new(),
        render_alphas: Vec::new(),
        render_transmittance: Vec::new(),
        last_ids: Vec::new(),
    };
    for (_, x, y) in pixels(inputs) {
        let mut transmittance = 1.0;
        let mut last = -1;
        let mut color = vec![0.0; d];
        for position in list(inputs, x, y) {
            let id = inputs.flatten_ids[position] as usize;
            let Some(pair) = pair(inputs, id, x, y) else { continue };
            let next = f(transmittance * f(1.0 - pair.alpha));
            let stops = match inputs.constants.stop_rule {
                StopRule::Less => next < minimum,
                StopRule::LessOrEqual => next <= minimum,
                StopRule::LessAfterBlending | StopRule::LessOrEqualAfterBlending => {
                    unreachable!("no kernel of this repository has it")
                }
            };
            if stops {
                break;
            }
            let weight = f(pair.alpha * transmittance);
            for (k, sum) in color.iter_mut().enumerate() {
                *sum = f(*sum + f(f64::from(inputs.colors[id * d + k]) * weight));
            }
            transmittance = next;
            last = i32::try_from(position).expect("lists are short");
        }
        for (k, sum) in color.iter().enumerate() {
            let background = f(transmittance * f64::from(inputs.background[k]));
            out.render_colors.push(single(f(sum + background)));
        }
        out.render_alphas.push(single(f(1.0 - transmittance)));
        out.render_transmittance.push(single(transmittance));
        out.last_ids.push(last);
    }
    out
}

/// What one pixel adds to one Gaussian, in the order of a row of gradients.
struct Walk<'a> {
    inputs: &'a BackwardInputs,
    transmittance: f64,
    final_transmittance: f64,
    v_color: &'a [f32],
    v_rest: f64,
    behind: Vec<f64>,
}

impl Walk<'_> {
    fn step(&mut self, id: usize, pair: &Pair, row: &mut [Sum]) {
        let raster = &self.inputs.raster;
        let d = raster.channels as usize;
        let one_minus = f(1.0 - pair.alpha);
        self.transmittance = f(self.transmittance / one_minus);
        let weight = f(pair.alpha * self.transmittance);
        let mut v_alpha = 0.0;
        for k in 0..d {
            let color = f64::from(raster.colors[id * d + k]);
            let v = f64::from(self.v_color[k]);
            row[6 + k].add(weight * v);
            v_alpha = f(v_alpha + f(f(f(color - self.behind[k]) * self.transmittance) * v));
            self.behind[k] = f(f(pair.alpha * color) + f(one_minus * self.behind[k]));
        }
        v_alpha = f(v_alpha + f(f(self.final_transmittance / one_minus) * self.v_rest));
        let clamped = pair.unclamped > f64::from(raster.constants.alpha_max);
        if clamped && raster.constants.clamp_gradient == ClampGradient::Zero {
            return;
        }
        let (dx, dy, [a, b, c]) = (pair.dx, pair.dy, pair.conic);
        let v_power = f(pair.unclamped * v_alpha);
        row[0].add(-(v_power * f(f(a * dx) + f(b * dy))));
        row[1].add(-(v_power * f(f(b * dx) + f(c * dy))));
        row[2].add(f(-0.5 * v_power) * f(dx * dx));
        row[3].add(-v_power * f(dx * dy));
        row[4].add(f(-0.5 * v_power) * f(dy * dy));
        row[5].add(v_alpha);
    }
}

/// The backward stage.
pub(super) fn rasterize_backward(inputs: &BackwardInputs) -> RasterGradients {
    let raster = &inputs.raster;
    let d = raster.channels as usize;
    let mut rows = vec![vec![Sum::EMPTY; 6 + d]; raster.len()];
    for (pixel, x, y) in pixels(raster) {
        let v_color = &inputs.v_render_colors[pixel * d..(pixel + 1) * d];
        let v_background = v_color
            .iter()
            .zip(&raster.background)
            .fold(0.0, |sum, (&v, &b)| f(sum + f(f64::from(b) * f64::from(v))));
        let final_transmittance = f64::from(inputs.render_transmittance[pixel]);
        let mut walk = Walk {
            inputs,
            transmittance: final_transmittance,
            final_transmittance,
            v_color,
            v_rest: f(f64::from(inputs.v_render_alphas[pixel]) - v_background),
            behind: vec![0.0; d],
        };
        for position in list(raster, x, y).rev() {
            if i32::try_from(position).expect("lists are short") > inputs.last_ids[pixel] {
                continue;
            }
            let id = raster.flatten_ids[position] as usize;
            if let Some(pair) = pair(raster, id, x, y) {
                walk.step(id, &pair, &mut rows[id]);
            }
        }
    }
    let rows: Vec<Vec<f32>> = rows.iter().map(|row| row.iter().map(Sum::exact).collect()).collect();
    RasterGradients {
        v_means2d: rows.iter().map(|r| [r[0], r[1]]).collect(),
        v_conics: rows.iter().map(|r| [r[2], r[3], r[4]]).collect(),
        v_opacities: rows.iter().map(|r| r[5]).collect(),
        v_colors: rows.iter().flat_map(|r| r[6..].to_vec()).collect(),
    }
}
