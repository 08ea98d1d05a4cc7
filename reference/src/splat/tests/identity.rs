//! Identities that hold for any correct renderer and need no reference. Most of them hold bit for
//! bit, because the operations that they change are exact.

use crate::splat::convention::Convention;
use crate::splat::render::{Gradients, render_backward};
use crate::splat::scene::{Colors, Gaussians, Scene};
use crate::splat::tests::roundoff;
use crate::splat::tests::scenes::{COUNT, Layout, scene};

fn conventions() -> [Convention; 3] {
    let gsplat = Convention::gsplat();
    [Convention::inria(), gsplat, Convention { antialiased: true, ..gsplat }]
}

fn gradients(scene: &Scene<f64>, convention: &Convention) -> Gradients<f64> {
    render_backward(scene, convention).expect("few pairs")
}

/// Every gradient with its name; those of single Gaussians first.
fn outputs(g: &Gradients<f64>) -> [(&'static str, Vec<f64>); 7] {
    let Gradients { v_means, v_quats, v_scales, v_opacities, v_colors, .. } = g;
    [
        ("v_means", v_means.as_flattened().to_vec()),
        ("v_quats", v_quats.as_flattened().to_vec()),
        ("v_scales", v_scales.as_flattened().to_vec()),
        ("v_opacities", v_opacities.clone()),
        ("v_colors", v_colors.clone()),
        ("v_viewmats", g.v_viewmats.as_flattened().as_flattened().to_vec()),
        ("v_backgrounds", g.v_backgrounds.clone()),
    ]
}

fn bits(values: &[f64]) -> Vec<u64> {
    // Adding 0 makes -0 and 0 the same number.
    values.iter().map(|x| (x + 0.0).to_bits()).collect()
}

/// The scene with `order[i]` as its Gaussian i.
fn picked(scene: &Scene<f64>, order: &[usize]) -> Scene<f64> {
    let g = &scene.gaussians;
    let rows = g.colors.values().chunks_exact(g.colors.stride()).collect::<Vec<_>>();
    let gaussians = Gaussians {
        means: order.iter().map(|&i| g.means[i]).collect(),
        quats: order.iter().map(|&i| g.quats[i]).collect(),
        scales: order.iter().map(|&i| g.scales[i]).collect(),
        opacities: order.iter().map(|&i| g.opacities[i]).collect(),
        colors: g.colors.with_values(order.iter().flat_map(|&i| rows[i]).copied().collect()),
    };
    Scene { gaussians, ..scene.clone() }
}

/// Both sides are the same number but for roundings, of which `tolerance` bounds the sum.
fn assert_close(name: &str, got: &[f64], wanted: &[f64], tolerance: &[f64]) {
    let largest = wanted.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let widest = tolerance.iter().fold(0.0f64, |m, &x| m.max(x));
    assert!(widest < 1e-6 * largest, "{name}: a tolerance of {widest:e} in {largest:e} is blunt");
    for (i, ((got, wanted), tolerance)) in got.iter().zip(wanted).zip(tolerance).enumerate() {
        let error = (got - wanted).abs();
        assert!(error <= *tolerance, "{name}[{i}]: {got:e} is not {wanted:e} +- {tolerance:e}");
    }
}

/// g(2 v) = 2 g(v) exactly, and g(v + w) = g(v) + g(w) up to roundoff.
#[test]
fn gradients_are_linear_in_the_loss_gradient() {
    for convention in conventions() {
        let v = scene(Layout::Degree(3), 2, 31);
        let other = scene(Layout::Degree(3), 2, 32);
        let changed = |colors: &[f64], alphas: &[f64]| Scene {
            v_render_colors: colors.to_vec(),
            v_render_alphas: alphas.to_vec(),
            ..v.clone()
        };
        let twice = |x: &[f64]| x.iter().map(|x| 2.0 * x).collect::<Vec<_>>();
        let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x + y).collect::<Vec<_>>();
        let doubled = changed(&twice(&v.v_render_colors), &twice(&v.v_render_alphas));
        let second = changed(&other.v_render_colors, &other.v_render_alphas);
        let both = changed(
            &sum(&v.v_render_colors, &other.v_render_colors),
            &sum(&v.v_render_alphas, &other.v_render_alphas),
        );
        let radii = [&v, &second, &both].map(|scene| roundoff::of_gradients(scene, &convention));
        let [single, double, second, both] =
            [&v, &doubled, &second, &both].map(|scene| outputs(&gradients(scene, &convention)));
        for (k, (name, one)) in single.iter().enumerate() {
            assert_eq!(bits(&twice(one)), bits(&double[k].1), "{name} of twice the loss");
            let radii = [&radii[0][k].1, &radii[1][k].1, &radii[2][k].1];
            let tolerance: Vec<f64> =
                (0..one.len()).map(|i| radii.iter().map(|r| r[i]).sum()).collect();
            assert_close(name, &both[k].1, &sum(one, &second[k].1), &tolerance);
        }
    }
}

#[test]
fn the_gradient_over_cameras_is_the_sum_over_each() {
    for convention in conventions() {
        let all = scene(Layout::Degree(2), 3, 33);
        let total = outputs(&gradients(&all, &convention));
        let each = [0, 1, 2].map(|camera| {
            let slices = all.camera_slices(camera);
            let one = Scene {
                cameras: vec![all.cameras[camera]],
                backgrounds: slices.background.to_vec(),
                v_render_colors: slices.v_render_colors.to_vec(),
                v_render_alphas: slices.v_render_alphas.to_vec(),
                ..all.clone()
            };
            outputs(&gradients(&one, &convention))
        });
        for (k, (name, total)) in total.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|camera| each[camera][k].1.clone());
            let expected = if *name == "v_viewmats" || *name == "v_backgrounds" {
                [a, b, c].concat()
            } else {
                a.iter().zip(&b).zip(&c).map(|((a, b), c)| (a + b) + c).collect()
            };
            assert_eq!(bits(total), bits(&expected), "{name} is not the sum over cameras");
        }
    }
}

/// Rows of Gaussians move with them, bit for bit; a camera's gradient is summed in another order.
#[test]
fn permuting_gaussians_permutes_gradients() {
    // 14 and 5 have no common factor: a permutation.
    let order: Vec<usize> = (0..COUNT).map(|i| (5 * i + 3) % COUNT).collect();
    for convention in conventions() {
        for layout in [Layout::Degree(3), Layout::Direct(5)] {
            let scene = scene(layout, 2, 34);
            let before = outputs(&gradients(&scene, &convention));
            let after = outputs(&gradients(&picked(&scene, &order), &convention));
            for ((name, before), (_, after)) in before[..5].iter().zip(&after) {
                let rows: Vec<_> = before.chunks_exact(before.len() / COUNT).collect();
                let moved: Vec<f64> = order.iter().flat_map(|&i| rows[i]).copied().collect();
                assert_eq!(bits(&moved), bits(after), "{name} does not follow the permutation");
            }
            let radii = roundoff::of_gradients(&scene, &convention);
            for (k, (name, before)) in before.iter().enumerate().skip(5) {
                // Each side is within the radius of the exact sum.
                let tolerance: Vec<f64> = radii[k].1.iter().map(|r| 2.0 * r).collect();
                assert_close(name, &after[k].1, before, &tolerance);
            }
        }
    }
}

/// Gaussians behind every camera shift all indices and change no bit.
#[test]
fn prepending_culled_gaussians_shifts_gradients() {
    const CULLED: usize = 3;
    for convention in conventions() {
        for layout in [Layout::Degree(1), Layout::Direct(3)] {
            let scene = scene(layout, 2, 35);
            let order: Vec<usize> = (0..CULLED).chain(0..COUNT).collect();
            let mut longer = picked(&scene, &order);
            for mean in &mut longer.gaussians.means[..CULLED] {
                *mean = [mean[0], mean[1], -20.0];
            }
            let (before, after) = (gradients(&scene, &convention), gradients(&longer, &convention));
            for (before, after) in before.rasters.iter().zip(&after.rasters) {
                assert!(before == after, "culled Gaussians change the image");
            }
            let (before, after) = (outputs(&before), outputs(&after));
            for (k, ((name, before), (_, after))) in before.iter().zip(&after).enumerate() {
                let skipped = if k < 5 { CULLED * (before.len() / COUNT) } else { 0 };
                let zeros = after[..skipped].iter().all(|v| v.to_bits() == 0);
                assert!(zeros, "{name}: a culled Gaussian has a gradient");
                assert_eq!(bits(before), bits(&after[skipped..]), "{name} changes with the prefix");
            }
        }
    }
}

/// The world, the cameras' positions and the depths of culling times 2^k: the same image, and the
/// gradients of lengths times 2^-k. Every scaling is exact, so every bit agrees.
#[test]
pub(crate) fn scaling_the_world_scales_gradients_inversely() {
    for convention in conventions() {
        let original = scene(Layout::Degree(3), 3, 36);
        let before = gradients(&original, &convention);
        for factor in [4.0, 0.125] {
            let mut scaled = original.clone();
            let g = &mut scaled.gaussians;
            let lengths = g.means.as_flattened_mut().iter_mut();
            lengths.chain(g.scales.as_flattened_mut()).for_each(|x| *x *= factor);
            for camera in &mut scaled.cameras {
                camera.viewmat[..3].iter_mut().for_each(|row| row[3] *= factor);
            }
            let near = convention.near * factor;
            let convention = Convention { near, far: convention.far * factor, ..convention };
            let after = gradients(&scaled, &convention);
            assert!(before.rasters == after.rasters, "the image depends on the unit of length");
            let before = outputs(&before);
            for ((name, before), (_, after)) in before.iter().zip(outputs(&after)) {
                let by_length = |i: usize| match *name {
                    "v_means" | "v_scales" => true,
                    "v_viewmats" => i % 4 == 3,
                    _ => false,
                };
                let expected = before.iter().enumerate();
                let expected: Vec<f64> =
                    expected.map(|(i, &v)| if by_length(i) { v / factor } else { v }).collect();
                assert_eq!(bits(&expected), bits(&after), "{name} at world scale {factor}");
            }
        }
    }
}

/// A constant added to all colours, the background included, is added to the image: the gradients
/// of one channel's colours and background sum to the sum of its loss gradient.
#[test]
pub(crate) fn colour_and_background_gradients_sum_to_the_loss_gradient() {
    for convention in conventions() {
        let scene = scene(Layout::Direct(5), 1, 37);
        assert!(matches!(scene.gaussians.colors, Colors::Direct { .. }), "colours are inputs");
        let g = gradients(&scene, &convention);
        let radii = roundoff::of_gradients(&scene, &convention);
        let magnitude = |x: &[f64]| x.iter().map(|x| x.abs()).sum::<f64>();
        for channel in 0..5 {
            let of = |values: &[f64]| values[channel..].iter().step_by(5).sum::<f64>();
            let (got, wanted) =
                (of(&g.v_colors) + g.v_backgrounds[channel], of(&scene.v_render_colors));
            let terms = scene.pixels() + COUNT + 1;
            #[expect(clippy::cast_precision_loss, reason = "some thousand")]
            let sums = terms as f64 * f64::EPSILON * magnitude(&scene.v_render_colors);
            let tolerance = of(&radii[4].1) + radii[6].1[channel] + sums;
            assert_close(&format!("channel {channel}"), &[got], &[wanted], &[tolerance]);
        }
    }
}
