//! Parameters as programs train them: logarithms of the scales, logits of the opacities, tangents of the
//! fields of view.
//!
//! A program that is given the logarithm l of a scale computes the scale itself, s = exp(l), and one that
//! is given the logit x of an opacity computes o = 1 / (1 + exp(-x)). So the oracle is given the same f32
//! numbers l and x, and computes s and o as any other intermediate: in f64 for its values, and over
//! [`Bounded`](splatcheck_reference::arithmetic::Bounded) for its bounds, where exp and the division bring
//! the radius that the arithmetic's table gives them (`reference/src/arithmetic/model.rs`). The gradients
//! follow by the chain rule, ds/dl = s and do/dx = o (1 - o): that by l is the one by s times s, that by x the
//! one by o times o (1 - o).

use splatcheck_reference::arithmetic::{Scalar, ln};
use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::render::Gradients;
use splatcheck_reference::splat::scene::Scene;

/// Which parameters a program is given in this form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// The logarithms of the scales.
    pub log_scales: bool,
    /// The logits of the opacities.
    pub logits: bool,
    /// tan(fov/2) in place of the focal lengths.
    pub tangents: bool,
}

/// The f32 next to 1: where an opacity is 1, its logit would be infinite.
const BELOW_ONE: f32 = 1.0 - f32::EPSILON / 2.0;

/// The logarithm of a scale, in f32; of the least normal number where the scale is smaller.
#[must_use]
pub fn log_scale(scale: f32) -> f32 {
    rounded(ln(f64::from(scale.max(f32::MIN_POSITIVE))))
}

/// The logit of an opacity, in f32; of the nearest number between 0 and 1 where it is one of them.
#[must_use]
pub fn logit(opacity: f32) -> f32 {
    let inside = f64::from(opacity.clamp(f32::MIN_POSITIVE, BELOW_ONE));
    rounded(ln(inside / (1.0 - inside)))
}

/// tan(fov/2) of an image's side and a focal length, both in pixels, in f32.
#[must_use]
pub fn tangent(side: u32, focal: f64) -> f32 {
    rounded(f64::from(side) / (2.0 * focal))
}

fn rounded(x: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "programs are given f32")]
    let rounded = x as f32;
    rounded
}

impl Raw {
    /// The camera whose focal lengths are what a program makes of the tangents.
    #[must_use]
    pub fn camera<S: Copy>(self, camera: &Camera<S>, [width, height]: [u32; 2]) -> Camera<S> {
        if !self.tangents {
            return *camera;
        }
        let focal =
            |side: u32, focal: f64| f64::from(side) / (2.0 * f64::from(tangent(side, focal)));
        Camera { fx: focal(width, camera.fx), fy: focal(height, camera.fy), ..*camera }
    }

    /// The scene that a program renders from what it is given.
    #[must_use]
    pub fn activated<S: Scalar>(self, scene: &Scene<f32>) -> Scene<S> {
        let mut out = scene.map(S::from_f32);
        let one = S::from_f64(1.0);
        if self.log_scales {
            out.gaussians.scales = scene
                .gaussians
                .scales
                .iter()
                .map(|s| s.map(|s| S::from_f32(log_scale(s)).exp()))
                .collect();
        }
        if self.logits {
            let opacity = |&o: &f32| one / (one + (-S::from_f32(logit(o))).exp());
            out.gaussians.opacities = scene.gaussians.opacities.iter().map(opacity).collect();
        }
        let size = [scene.width, scene.height];
        out.cameras = out.cameras.iter().map(|camera| self.camera(camera, size)).collect();
        out
    }

    /// Makes of the gradients by scales and opacities those by what the program is given; `scene` is the
    /// activated one.
    pub fn chain<S: Scalar>(self, scene: &Scene<S>, gradients: &mut Gradients<S>) {
        if self.log_scales {
            let scales = scene.gaussians.scales.iter().flatten();
            let all = gradients.v_scales.as_flattened_mut();
            all.iter_mut().zip(scales).for_each(|(v, &scale)| *v = *v * scale);
        }
        if self.logits {
            let one = S::from_f64(1.0);
            let all = gradients.v_opacities.iter_mut().zip(&scene.gaussians.opacities);
            all.for_each(|(v, &opacity)| *v = *v * (opacity * (one - opacity)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::files::corpus::read_any_case;
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_reference::arithmetic::{Arith, Bounded, Cuda, Model};
    use splatcheck_reference::splat::render::render_backward;

    const ALL: Raw = Raw { log_scales: true, logits: true, tangents: true };

    fn scene(name: &str) -> Scene<f32> {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        read_any_case(&corpus.join(name), None).expect("a case").scene
    }

    /// What an f32 program computes, with the library's exp, lies within the bounds.
    #[test]
    fn activations_in_f32_lie_within_their_bounds() {
        let mut checked = 0;
        for step in 0..2000_u16 {
            let x = f32::from(step) / 100.0 - 10.0;
            let bound = Bounded::<Cuda>::from_f32(x);
            let one = Bounded::from_f64(1.0);
            let sigmoid = one / (one + (-bound).exp());
            for (found, bound) in [(x.exp(), bound.exp()), (1.0 / (1.0 + (-x).exp()), sigmoid)] {
                let error = (f64::from(found) - bound.value()).abs();
                assert!(error <= bound.radius(), "{x}: {error:e} > {:e}", bound.radius());
                assert!(bound.radius() <= 8.0 * f64::from(f32::EPSILON) * bound.value(), "{x}");
                checked += 1;
            }
        }
        assert_eq!((checked, Cuda::TABLE.exp_ulp), (4000, 2.5), "all of them");
    }

    #[test]
    fn raw_numbers_stand_for_the_scene_within_a_rounding() {
        let scene = scene("tile-corner.toml");
        let out = ALL.activated::<f64>(&scene);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs().max(1e-30);
        let scales =
            out.gaussians.scales.iter().flatten().zip(scene.gaussians.scales.iter().flatten());
        assert!(scales.clone().all(|(a, b)| near(*a, f64::from(*b))), "exp(ln(s)) is s");
        let opacities = out.gaussians.opacities.iter().zip(&scene.gaussians.opacities);
        assert!(
            opacities.clone().all(|(a, b)| near(*a, f64::from(*b))),
            "the sigmoid of the logit"
        );
        assert!(near(out.cameras[0].fx, scene.cameras[0].fx), "the focal length of the tangent");
        assert!(logit(1.0).is_finite() && logit(0.0).is_finite() && log_scale(0.0).is_finite());
    }

    /// The chain rule against differences of the loss by the raw numbers themselves.
    #[test]
    fn gradients_by_raw_numbers_are_those_of_the_loss() {
        let scene = scene("tile-corner.toml");
        let convention = splatcheck_reference::splat::convention::Convention::gsplat();
        let base = ALL.activated::<f64>(&scene);
        let mut gradients = render_backward(&base, &convention).expect("few pairs");
        ALL.chain(&base, &mut gradients);
        let loss = |scene: &Scene<f64>| {
            let out = render_backward(scene, &convention).expect("few pairs");
            let image =
                out.rasters.iter().flat_map(|r| &r.render_colors).zip(&scene.v_render_colors);
            let alphas =
                out.rasters.iter().flat_map(|r| &r.render_alphas).zip(&scene.v_render_alphas);
            image.map(|(x, v)| x * v).sum::<f64>() + alphas.map(|(x, v)| x * v).sum::<f64>()
        };
        let step = 1e-5_f64;
        let mut checked = 0;
        for g in 0..base.gaussians.len().min(4) {
            let by = |change: &dyn Fn(&mut Scene<f64>, f64)| {
                let at = |step: f64| {
                    let mut other = base.clone();
                    change(&mut other, step);
                    loss(&other)
                };
                (at(step) - at(-step)) / (2.0 * step)
            };
            let by_log = by(&|scene, d| scene.gaussians.scales[g][0] *= d.exp());
            let by_logit = by(&|scene, d| {
                let o = scene.gaussians.opacities[g];
                scene.gaussians.opacities[g] = 1.0 / (1.0 + (1.0 - o) / o * (-d).exp());
            });
            for (found, expected) in
                [(gradients.v_scales[g][0], by_log), (gradients.v_opacities[g], by_logit)]
            {
                let scale = expected.abs().max(1e-3);
                assert!((found - expected).abs() <= 1e-4 * scale, "{g}: {found} is not {expected}");
                checked += usize::from(expected.abs() > 1e-6);
            }
        }
        assert!(checked >= 2, "something depends on them");
    }
}
