//! The backward rasterization on the processor, in f32: pixel after pixel, each from its last
//! contributor to the front. The formulation is that of 3D Gaussian Splatting: alpha is
//! `min(alpha_max, opacity exp(power))` with `power = -(a dx^2 + c dy^2) / 2 - b dx dy`, and a pair counts
//! where `power <= 0` and `alpha >= alpha_min`.

/// The projected Gaussians of a camera: N of them, with D channels.
pub struct Gaussians<'a> {
    /// `[N,2]` pixels.
    pub means2d: &'a [[f32; 2]],
    /// `[N,3]`, 1/pixels^2.
    pub conics: &'a [[f32; 3]],
    /// `[N]`.
    pub opacities: &'a [f32],
    /// `[N,D]`.
    pub colors: &'a [f32],
}

/// What the forward pass left for an image of H x W pixels, and the gradients that arrive.
pub struct Image<'a> {
    /// W.
    pub width: usize,
    /// H.
    pub height: usize,
    /// Width and height of a tile, pixels.
    pub tile_size: [usize; 2],
    /// `[D]`.
    pub background: &'a [f32],
    /// `[T+1]`.
    pub tile_offsets: &'a [u32],
    /// `[M]`.
    pub flatten_ids: &'a [u32],
    /// `[H,W]`, behind the last contributor.
    pub transmittance: &'a [f32],
    /// `[H,W]`, -1 for none.
    pub last_ids: &'a [i32],
    /// `[H,W,D]`.
    pub v_colors: &'a [f32],
    /// `[H,W]`.
    pub v_alphas: &'a [f32],
}

/// The constants of the renderer.
pub struct Rules {
    /// Upper clamp of alpha.
    pub alpha_max: f32,
    /// A pair with less is skipped.
    pub alpha_min: f32,
    /// A pixel's sample point, from its integer coordinates.
    pub pixel_center: f32,
    /// Whether no gradient passes where alpha is clamped.
    pub clamp_stops_gradient: bool,
}

/// The gradients of the Gaussians, with their shapes.
pub struct Gradients {
    /// `[N,2]` per pixel.
    pub means2d: Vec<[f32; 2]>,
    /// `[N,3]`, all of the off-diagonal.
    pub conics: Vec<[f32; 3]>,
    /// `[N]`.
    pub opacities: Vec<f32>,
    /// `[N,D]`.
    pub colors: Vec<f32>,
}

/// The gradients of what was rasterized.
pub fn rasterize_backward(
    gaussians: &Gaussians<'_>,
    image: &Image<'_>,
    rules: &Rules,
) -> Gradients {
    let n = gaussians.means2d.len();
    let mut grads = Gradients {
        means2d: vec![[0.0; 2]; n],
        conics: vec![[0.0; 3]; n],
        opacities: vec![0.0; n],
        colors: vec![0.0; gaussians.colors.len()],
    };
    for y in 0..image.height {
        for x in 0..image.width {
            pixel(gaussians, image, rules, [x, y], &mut grads);
        }
    }
    grads
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Adds what a pixel contributes.
fn pixel(
    g: &Gaussians<'_>,
    image: &Image<'_>,
    rules: &Rules,
    [x, y]: [usize; 2],
    grads: &mut Gradients,
) {
    let (place, d) = (y * image.width + x, image.background.len());
    let [across, down] = image.tile_size;
    let tile = y / down * image.width.div_ceil(across) + x / across;
    let first = image.tile_offsets[tile] as usize;
    let end = (image.last_ids[place] + 1) as usize;
    let v = &image.v_colors[place * d..][..d];
    let center = [x, y].map(|side| side as f32 + rules.pixel_center);
    let (v_alpha_image, v_background) = (image.v_alphas[place], dot(v, image.background));
    let last = image.transmittance[place];
    let (mut transmittance, mut behind) = (last, vec![0.0; d]);
    for place in (first..end.max(first)).rev() {
        let id = image.flatten_ids[place] as usize;
        let ([a, b, c], opacity) = (g.conics[id], g.opacities[id]);
        let color = &g.colors[id * d..][..d];
        let [dx, dy] = [0, 1].map(|axis| g.means2d[id][axis] - center[axis]);
        let power = -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy;
        let gauss = power.exp();
        let alpha = rules.alpha_max.min(opacity * gauss);
        if !(power <= 0.0 && alpha >= rules.alpha_min) {
            continue;
        }
        transmittance /= 1.0 - alpha;
        let mut v_alpha = last / (1.0 - alpha) * (v_alpha_image - v_background);
        for k in 0..d {
            grads.colors[id * d + k] += alpha * transmittance * v[k];
            v_alpha += (color[k] - behind[k]) * transmittance * v[k];
            behind[k] = alpha * color[k] + (1.0 - alpha) * behind[k];
        }
        if rules.clamp_stops_gradient && opacity * gauss > rules.alpha_max {
            continue;
        }
        let v_power = opacity * v_alpha * gauss;
        grads.opacities[id] += gauss * v_alpha;
        let v_conic = [-0.5 * dx * dx, -dx * dy, -0.5 * dy * dy];
        (0..3).for_each(|k| grads.conics[id][k] += v_conic[k] * v_power);
        let v_mean = [-(a * dx + b * dy), -(c * dy + b * dx)];
        (0..2).for_each(|k| grads.means2d[id][k] += v_mean[k] * v_power);
    }
}
