//! Scenes in which one decision of the pipeline is undecided on purpose. Nudging an input by a unit
//! in its last place makes f64 decide it either way, and both results lie within the bounds.

use crate::arithmetic::{Bounded, EvaluationOrders, Ieee, Scalar, Wgsl};
use crate::splat::bounds::{self, Compiled, PipelineBounds, Undecided};
use crate::splat::camera::Camera;
use crate::splat::convention::Convention;
use crate::splat::render::{Gradients, render_backward};
use crate::splat::scene::{Colors, Gaussians, Scene};

/// A camera that is turned, so that the Gaussian at (1, 0, 1) is at (0, 0, `depth`) with roundings.
fn turned(depth: f32) -> Camera<f32> {
    let (c, s) = (0.96, 0.28);
    let viewmat = [
        [c, 0.0, s, -(c + s)],
        [0.0, 1.0, 0.0, 0.0],
        [-s, 0.0, c, depth - (c - s)],
        [0.0, 0.0, 0.0, 1.0],
    ];
    Camera { viewmat, fx: 40.0, fy: 40.0, cx: 28.5, cy: 20.5 }
}

/// A camera that is only moved.
fn straight([x, y, z]: [f32; 3]) -> [[f32; 4]; 4] {
    [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]]
}

/// Spheres of size 0.1875 at (1, 0, 1), in 48 by 40 pixels: 3 by 3 tiles.
fn spheres(depth: f32, opacities: &[f32]) -> Scene<f32> {
    let n = opacities.len();
    let pixels = 48 * 40;
    let weights = |len: usize| (0..len).map(|i| (i * 7 % 11) as f32 / 8.0 - 0.5).collect();
    Scene {
        width: 48,
        height: 40,
        gaussians: Gaussians {
            means: vec![[1.0, 0.0, 1.0]; n],
            quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
            scales: vec![[0.1875; 3]; n],
            opacities: opacities.to_vec(),
            colors: Colors::Direct {
                channels: 2,
                values: (0..n).flat_map(|i| [[1.0, 0.125], [0.0, 0.875]][i % 2]).collect(),
            },
        },
        cameras: vec![turned(depth)],
        backgrounds: vec![0.25, 0.5],
        v_render_colors: weights(2 * pixels),
        v_render_alphas: weights(pixels),
    }
}

fn pipeline<M: Compiled>(scene: &Scene<f32>, convention: &Convention) -> PipelineBounds<M> {
    let scene = scene.map(Bounded::from_f32);
    bounds::pipeline(&scene, convention, EvaluationOrders::WRITTEN).expect("few pairs")
}

fn render(scene: &Scene<f32>, convention: &Convention) -> Gradients<f64> {
    render_backward(&scene.map(f64::from), convention).expect("few pairs")
}

/// All outputs of a result.
fn numbers<S: Copy>(gradients: &Gradients<S>) -> Vec<S> {
    let raster = &gradients.rasters[0];
    [
        raster.render_colors.as_slice(),
        &raster.render_alphas,
        gradients.v_means.as_flattened(),
        gradients.v_quats.as_flattened(),
        gradients.v_scales.as_flattened(),
        &gradients.v_opacities,
        &gradients.v_colors,
        gradients.v_viewmats[0].as_flattened(),
        &gradients.v_backgrounds,
    ]
    .concat()
}

/// Asserts that each of the results lies within the bounds of the scene, that they are not all the
/// same, and that not everything is unbounded. Returns what was undecided.
fn contains<M: Compiled>(
    scene: &Scene<f32>,
    convention: &Convention,
    results: &[Gradients<f64>],
) -> Undecided {
    let bounds = pipeline::<M>(scene, convention);
    let radii = numbers(&bounds.gradients);
    let finite = radii.iter().filter(|b| b.radius() < f64::INFINITY).count();
    assert!(2 * finite > radii.len(), "{finite} of {} bounds are finite", radii.len());
    let all: Vec<_> = results.iter().map(numbers).collect();
    for (which, result) in all.iter().enumerate() {
        for (i, (x, bound)) in result.iter().zip(&radii).enumerate() {
            let error = (x - bound.value()).abs();
            let radius = bound.radius();
            assert!(error <= radius, "result {which}, number {i}: {error:e} > {radius:e}");
        }
    }
    let apart =
        all.iter().flat_map(|result| result.iter().zip(&all[0]).map(|(a, b)| (a - b).abs()));
    assert!(apart.fold(0.0, f64::max) > 1e-3, "the results are the same: nothing was decided");
    bounds.undecided
}

/// The scene with one number of its first Gaussian's mean nudged either way.
fn nudged(scene: &Scene<f32>, axis: usize) -> [Scene<f32>; 2] {
    [f32::next_down, f32::next_up].map(|nudge| {
        let mut scene = scene.clone();
        let x = &mut scene.gaussians.means[0][axis];
        *x = nudge(*x);
        scene
    })
}

/// The check under every kind of model; `kind` is what must have been counted.
fn both_ways(
    scene: &Scene<f32>,
    convention: &Convention,
    results: &[Gradients<f64>],
    kind: fn(&Undecided) -> u64,
) {
    for undecided in
        [contains::<Ieee>(scene, convention, results), contains::<Wgsl>(scene, convention, results)]
    {
        assert!(kind(&undecided) > 0, "{undecided:?}");
    }
}

#[test]
fn a_gaussian_on_the_near_plane() {
    let convention = Convention::inria();
    let scene = spheres(0.2, &[0.5, 0.75]);
    let mut front = scene.clone();
    front.gaussians.means[1] = [0.72, 0.0, 1.96];
    let [near, far] = nudged(&front, 2).map(|scene| render(&scene, &convention));
    both_ways(&front, &convention, &[near, far], |u| u.culling);
}

#[test]
fn a_gaussian_whose_area_may_vanish() {
    // Without blur, a disc seen from its edge has a determinant of 0 that cancels.
    let convention = Convention { eps2d: 0.0, ..Convention::inria() };
    let mut scene = spheres(2.0, &[0.5, 0.75]);
    scene.cameras[0].viewmat = straight([-1.0, 0.0, 1.0]);
    scene.gaussians.scales[0] = [0.05, 1e-6, 0.05];
    scene.gaussians.quats[0] = [0.924, 0.0, 0.0, 0.383];
    let mut without = scene.clone();
    without.gaussians.means[0] = [1.0, 0.0, -9.0];
    let bounds = pipeline::<Wgsl>(&scene, &convention);
    assert_eq!(bounds.undecided.culling, 1, "the disc may be left out");
    let results = [render(&without, &convention), render(&scene, &convention)];
    for result in &results {
        for (x, bound) in numbers(result).iter().zip(numbers(&bounds.gradients)) {
            let (error, radius) = ((x - bound.value()).abs(), bound.radius());
            assert!(error <= radius || radius == f64::INFINITY, "{error:e} > {radius:e}");
        }
    }
    let known = bounds.gradients.rasters[0].render_alphas.iter();
    let known = known.filter(|b| b.radius() < f64::INFINITY).count();
    assert!(known > 0, "pixels beyond the disc's rectangle know nothing of it");
}

#[test]
fn a_rectangle_that_ends_at_the_border_of_a_tile() {
    // 3 sqrt(15.2 + 0.3 + sqrt(0.1)) = 11.93, so the rectangle begins at 28 - 12 = 16: tile 1, or 0.
    let convention = Convention::inria();
    let mut scene = spheres(2.0, &[0.99]);
    scene.gaussians.scales[0] = [0.195; 3];
    let moved = [-4e-6, 4e-6].map(|x| {
        let mut scene = scene.clone();
        scene.cameras[0].cx += x;
        render(&scene, &convention)
    });
    both_ways(&scene, &convention, &moved, |u| u.tile);
}

/// The scene with depths that differ in the last place, in the given order from front to back.
fn in_order(scene: &Scene<f32>, order: &[usize]) -> Scene<f32> {
    let mut scene = scene.clone();
    for (place, &i) in order.iter().enumerate() {
        scene.gaussians.means[i][2] = 1.0 + place as f32 * f32::EPSILON;
    }
    scene
}

#[test]
fn two_gaussians_at_nearly_the_same_depth() {
    for convention in [Convention::inria(), Convention::gsplat()] {
        let spheres = spheres(2.0, &[0.75, 0.5]);
        let orders = [[0, 1], [1, 0]].map(|order| in_order(&spheres, &order));
        let results = orders.each_ref().map(|scene| render(scene, &convention));
        both_ways(&orders[0], &convention, &results, |u| u.order);
    }
}

#[test]
fn more_gaussians_at_nearly_the_same_depth_than_orders_are_followed() {
    let convention = Convention::inria();
    for opacities in [[0.75, 0.5, 0.25, 0.625, 0.375], [0.99, 0.98, 0.97, 0.96, 0.95]] {
        let spheres = spheres(2.0, &opacities);
        let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 3, 0, 4, 2]];
        let orders = orders.map(|order| in_order(&spheres, &order));
        let results = orders.each_ref().map(|scene| render(scene, &convention));
        both_ways(&orders[0], &convention, &results, |u| u.order);
    }
}

#[test]
fn gaussians_at_one_place_are_in_the_order_of_their_indices() {
    let convention = Convention::inria();
    let scene = spheres(2.0, &[0.75, 0.5, 0.25, 0.625, 0.375]);
    let bounds = pipeline::<Wgsl>(&scene, &convention);
    assert_eq!(bounds.undecided.order, 0, "the same bits have the same depth");
}

#[test]
fn a_slope_at_the_limit_of_the_jacobian() {
    // x/z = 1.3 (48/2)/40 = 0.78 of a Gaussian that is large enough to be seen.
    let convention = Convention::gsplat();
    let convention = Convention { fov_clamp: Convention::inria().fov_clamp, ..convention };
    let mut scene = spheres(2.0, &[0.75]);
    scene.cameras[0].viewmat = straight([0.0; 3]);
    scene.gaussians.means[0] = [1.56, 0.0, 2.0];
    scene.gaussians.scales[0] = [0.75, 0.5, 0.625];
    let results = nudged(&scene, 0).map(|scene| render(&scene, &convention));
    both_ways(&scene, &convention, &results, |u| u.jacobian_limit);
}

#[test]
fn a_colour_at_the_clamp() {
    // Red is C0 sh + 0.5 = 0 up to rounding, with C0 = 0.2820948.
    let convention = Convention::gsplat();
    let mut scene = spheres(2.0, &[0.75]);
    let sh = -0.5 / 0.282_094_8;
    let values = vec![sh, 0.25, 0.125];
    scene.gaussians.colors = Colors::Harmonics { coefficients: 1, values };
    scene.backgrounds = vec![0.25, 0.5, 0.75];
    scene.v_render_colors = scene.v_render_colors.repeat(2)[..3 * 48 * 40].to_vec();
    let results = [f32::next_down, f32::next_up].map(|nudge| {
        let mut scene = scene.clone();
        let values = vec![nudge(sh), 0.25, 0.125];
        scene.gaussians.colors = Colors::Harmonics { coefficients: 1, values };
        render(&scene, &convention)
    });
    both_ways(&scene, &convention, &results, |u| u.color_clamp);
}
