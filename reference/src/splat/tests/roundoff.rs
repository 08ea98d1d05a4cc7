//! How far f64 may lie from the exact result, for tests that compare two ways to compute the same:
//! their tolerance is this bound, not a number that someone typed.
//!
//! [`Bounded`] over the IEEE model bounds the distance between the f64 value and any evaluation
//! whose operations are rounded to f32, with unit roundoff 2^-24; the radius is a sum of products
//! of roundings with the operands' magnitudes, so for roundings of 2^-53 it is 2^-29 of that. Comparisons
//! that f32 leaves undecided only widen it.

use crate::arithmetic::ElementBound;
use crate::arithmetic::{Bounded, Ieee, Scalar};
use crate::splat::backward::project::ProjectionGradients;
use crate::splat::backward::{self, rasterize::SplatGradients};
use crate::splat::bounds::{self, GradientBounds};
use crate::splat::convention::Convention;
use crate::splat::project::CameraParams;
use crate::splat::render::{Projected, project_scene};
use crate::splat::scene::Scene;
use crate::splat::view::LossView;

type B = Bounded<Ieee>;

/// 2^-53 over 2^-24.
pub(crate) const FROM_F32: f64 = 1.0 / 536_870_912.0;

/// The radii of f64 roundings.
pub(crate) fn radii(x: impl IntoIterator<Item = B>) -> Vec<f64> {
    x.into_iter().map(|x| x.radius() * FROM_F32).collect()
}

/// The radius of the loss of a scene, in f64.
pub(crate) fn of_loss(scene: &Scene<f64>, convention: &Convention) -> f64 {
    let scene = scene.map(B::from_f64);
    let mut loss = B::from_f64(0.0);
    for camera in 0..scene.cameras.len() {
        let projected = project_scene(&scene, camera, convention).expect("few pairs");
        let image = bounds::forward(&projected.view(&scene, camera, convention));
        let v = scene.camera_slices(camera);
        let colors = image.render_colors.iter().zip(v.v_render_colors);
        for (&x, &v) in colors.chain(image.render_alphas.iter().zip(v.v_render_alphas)) {
            loss = loss + x * v;
        }
    }
    loss.radius() * FROM_F32
}

/// A number of which only the value and how far it may be off are known.
fn around(value: f64, radius: f64) -> B {
    let value = B::from_f64(value);
    value.or(B::from_f64(value.value() + radius))
}

/// The sum of an element's terms, in any order.
fn sum(element: ElementBound, terms: u64) -> B {
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
    let nu = terms as f64 * f64::from(f32::EPSILON) / 2.0;
    around(element.value, element.radius + element.magnitude * nu / (1.0 - nu))
}

fn splat_gradients(bounds: &GradientBounds, v_background: Vec<B>) -> SplatGradients<B> {
    let rows = bounds.elements.chunks_exact(bounds.stride).enumerate();
    let rows: Vec<Vec<B>> =
        rows.map(|(g, row)| row.iter().map(|&e| sum(e, bounds.terms(g))).collect()).collect();
    SplatGradients {
        v_means2d: rows.iter().map(|r| [r[0], r[1]]).collect(),
        v_conics: rows.iter().map(|r| [r[2], r[3], r[4]]).collect(),
        v_opacities: rows.iter().map(|r| r[5]).collect(),
        v_colors: rows.iter().flat_map(|r| &r[6..]).copied().collect(),
        v_background,
    }
}

/// One camera's gradients, background included.
fn of_camera(
    scene: &Scene<B>,
    camera: usize,
    convention: &Convention,
) -> (ProjectionGradients<B>, Vec<B>) {
    let projected: Projected<B> = project_scene(scene, camera, convention).expect("few pairs");
    let view = projected.view(scene, camera, convention);
    let image = bounds::forward(&view);
    let v = scene.camera_slices(camera);
    let loss = LossView {
        transmittance: &image.transmittance,
        last_ids: &image.last_ids,
        v_render_colors: v.v_render_colors,
        v_render_alphas: v.v_render_alphas,
    };
    let channels = scene.channels();
    let mut v_background = vec![B::from_f64(0.0); channels];
    for (&t, row) in image.transmittance.iter().zip(v.v_render_colors.chunks_exact(channels)) {
        v_background.iter_mut().zip(row).for_each(|(sum, &v)| *sum = *sum + t * v);
    }
    let gradients = splat_gradients(&bounds::backward(&view, &loss), v_background);
    let lens = CameraParams::new(&scene.cameras[camera], [scene.width, scene.height], convention);
    let one = backward::project::project(&scene.gaussians, &lens, &gradients, convention);
    (one, gradients.v_background)
}

/// The radii of every gradient of a scene, in f64, under their names.
pub(crate) fn of_gradients(
    scene: &Scene<f64>,
    convention: &Convention,
) -> [(&'static str, Vec<f64>); 7] {
    let scene = scene.map(B::from_f64);
    let mut total: [Vec<B>; 5] = Default::default();
    let (mut v_viewmats, mut v_backgrounds) = (Vec::new(), Vec::new());
    for camera in 0..scene.cameras.len() {
        let (one, v_background) = of_camera(&scene, camera, convention);
        let of_gaussians = [
            one.v_means.into_flattened(),
            one.v_quats.into_flattened(),
            one.v_scales.into_flattened(),
            one.v_opacities,
            one.v_colors,
        ];
        for (total, one) in total.iter_mut().zip(of_gaussians) {
            if total.is_empty() {
                *total = one;
            } else {
                total.iter_mut().zip(one).for_each(|(sum, x)| *sum = *sum + x);
            }
        }
        v_viewmats.extend(one.v_viewmat.as_flattened());
        v_backgrounds.extend(v_background);
    }
    let [v_means, v_quats, v_scales, v_opacities, v_colors] = total;
    [
        ("v_means", radii(v_means)),
        ("v_quats", radii(v_quats)),
        ("v_scales", radii(v_scales)),
        ("v_opacities", radii(v_opacities)),
        ("v_colors", radii(v_colors)),
        ("v_viewmats", radii(v_viewmats)),
        ("v_backgrounds", radii(v_backgrounds)),
    ]
}
