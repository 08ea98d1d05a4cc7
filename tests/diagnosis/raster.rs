//! Planted faults of the rasterization.

use super::{NOTHING, diagnosed, edit, expect, expect_all, scene, times};
use splatcheck_gpu::stages::splat::{PROJECT_BACKWARD, RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{Data, Tensor, Tensors};
use splatcheck_judge::campaign::Item;
use splatcheck_tests::Defect;
use std::sync::Arc;

#[test]
fn changes_of_whole_outputs_are_named() {
    let all = ["v_means2d", "v_conics", "v_opacities", "v_colors"];
    let every = move |factor: f32| {
        move |out: &mut Tensors| all.into_iter().for_each(|name| edit(out, name, times(factor)))
    };
    let swap = |name: &'static str, columns: usize, a: usize, b: usize| {
        move |out: &mut Tensors| {
            edit(out, name, |v| v.chunks_exact_mut(columns).for_each(|row| row.swap(a, b)));
        }
    };
    let plain = Defect::None;
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            (
                "tile-corner",
                plain,
                [NOTHING, &every(2.0)],
                "looks like: all outputs: twice what it",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &every(0.5)],
                "all outputs: half of what it should be",
            ),
            ("tile-corner", plain, [NOTHING, &every(-1.0)], "all outputs: the sign is flipped"),
            (
                "tile-corner",
                plain,
                [NOTHING, &every(0.0)],
                "all outputs: 0, as if nothing was written",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &|out| edit(out, "v_opacities", times(-1.0))],
                "v_opacities: the sign is flipped",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &swap("v_means2d", 2, 0, 1)],
                "v_means2d: columns 0 and 1",
            ),
            (
                "tile-corner",
                plain,
                [NOTHING, &swap("v_conics", 3, 0, 2)],
                "v_conics: columns 0 and 2",
            ),
            (
                "image-17x17",
                plain,
                [NOTHING, &|out| {
                    edit(out, "v_conics", |v| {
                        let (old, rows) = (v.to_vec(), v.len() / 3);
                        old.iter().enumerate().for_each(|(at, &x)| v[at % 3 * rows + at / 3] = x);
                    })
                }],
                "v_conics: column after column in memory (planar)",
            ),
            (
                "tile-corner",
                Defect::LostChannel(1),
                [NOTHING; 2],
                "v_colors[:, 1]: 0, as if nothing",
            ),
        ],
    );
}

#[test]
fn other_inputs_and_units_of_the_backward_pass_are_named() {
    let plain = Defect::None;
    let zeros = |name: &'static str| move |all: &mut Tensors| edit(all, name, times(0.0));
    let scalar = |name: &'static str, value: f32| {
        move |all: &mut Tensors| all.insert(name, Tensor::scalar(value))
    };
    let [alphas, background] = [zeros("v_render_alphas"), zeros("background")];
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            (
                "tile-corner",
                Defect::DeviceCoordinates,
                [NOTHING; 2],
                "field mean2d_units: v_means2d is per",
            ),
            ("tile-corner", Defect::HalfOffDiagonal, [NOTHING; 2], "field conic_off_diagonal"),
            (
                "tile-corner",
                plain,
                [&alphas, NOTHING],
                "alpha's own gradient is missing: v_render_alphas",
            ),
            ("tile-corner", plain, [&background, NOTHING], "background's term of alpha's gradient"),
            (
                "tile-corner",
                plain,
                [&zeros("v_render_colors"), NOTHING],
                "gradient by the colours is missing",
            ),
            (
                "alpha-far-above-the-clamp-inria",
                plain,
                [&scalar("alpha_max", 0.999), NOTHING],
                "the convention's field alpha_max (alpha's clamp) is 0.999 where the case has 0.99",
            ),
            (
                "alpha-far-above-the-clamp-gsplat",
                plain,
                [&|all| all.insert("clamp_stops_gradient", Tensor::scalar(0_u32)), NOTHING],
                "field clamp_gradient (the gradient where alpha is clamped) is inria where the case has exact",
            ),
            (
                "opacity-below-the-cut",
                plain,
                [&scalar("alpha_min", 1.0 / 256.0), NOTHING],
                "field alpha_min (below which alpha is skipped) is 1/256 where the case has 1/255",
            ),
            (
                "tile-corner",
                plain,
                [
                    &|all| {
                        let other = 0.5 - all.f32("pixel_center").expect("it is there")[0];
                        all.insert("pixel_center", Tensor::scalar(other));
                    },
                    NOTHING,
                ],
                "the convention's field pixel_center",
            ),
            (
                "tile-corner",
                plain,
                [
                    &|all| {
                        edit(all, "render_transmittance", |t| {
                            t.iter_mut().for_each(|t| *t = 1.0 - *t)
                        })
                    },
                    NOTHING,
                ],
                "1 - T is taken for T",
            ),
            (
                "channels-5",
                plain,
                [
                    &|all| {
                        edit(all, "v_render_colors", |v| {
                            v.chunks_exact_mut(5).for_each(|v| v[3..].fill(0.0));
                        })
                    },
                    NOTHING,
                ],
                "channels beyond the third are left out",
            ),
        ],
    );
    let case = scene("tile-corner");
    let opacities = {
        let item = Item::new(Arc::new(case.clone()), 0).expect("a legal case");
        let job = item.job(RASTERIZE_BACKWARD).expect("it has one");
        job.inputs.f32("opacities").expect("it is there").to_vec()
    };
    let logit = |out: &mut Tensors| {
        edit(out, "v_opacities", |v| {
            v.iter_mut().zip(&opacities).for_each(|(v, o)| *v *= o * (1.0 - o));
        });
    };
    let found = diagnosed((&case, RASTERIZE_BACKWARD), plain, [NOTHING, &logit]);
    expect(&found, "v_opacities is by the logit of the opacity");
}

/// gsplat's kernel is told 0 of a pixel without a contributor, and meets entry 0 there if it samples pixels elsewhere.
/// Images of one tile: all lists begin with entry 0.
#[test]
fn another_pixel_center_is_named_of_a_kernel_that_is_told_0_of_a_pixel_without_a_contributor() {
    let elsewhere = |all: &mut Tensors| {
        let other = 0.5 - all.f32("pixel_center").expect("it is there")[0];
        all.insert("pixel_center", Tensor::scalar(other));
        let last: Vec<_> =
            all.i32("last_ids").expect("there").iter().map(|id| *id.max(&0)).collect();
        let shape = all.get("last_ids").expect("it is there").shape().to_vec();
        all.insert("last_ids", Tensor::new("last_ids", shape, Data::I32(last)).expect("as before"));
    };
    for name in ["harmonics", "checkerboard"] {
        let of = (&scene(name), RASTERIZE_BACKWARD);
        let found = diagnosed(of, Defect::None, [&elsewhere, NOTHING]);
        expect(&found, "the convention's field pixel_center");
    }
}

#[test]
fn lost_lanes_warps_and_batches_are_named() {
    let last_ids = |all: &mut Tensors, change: &dyn Fn(usize, i32) -> i32| {
        let old = all.i32("last_ids").expect("it is there");
        let new = old.iter().enumerate().map(|(at, &last)| change(at, last)).collect();
        let shape = all.get("last_ids").expect("it is there").shape().to_vec();
        all.insert("last_ids", Tensor::new("last_ids", shape, Data::I32(new)).expect("as before"));
    };
    // One tile of 16 x 16: a pixel is a thread.
    let lanes = |lost: fn(usize) -> bool| {
        move |all: &mut Tensors| last_ids(all, &|at, last| if lost(at) { -1 } else { last })
    };
    let first_256 = |all: &mut Tensors| last_ids(all, &|_, last| last.min(255));
    let plain = Defect::None;
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            (
                "checkerboard",
                Defect::LostLane(32),
                [NOTHING; 2],
                "thread 32 of each tile is left out (warp 1, lane 0)",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at % 32 == 31), NOTHING],
                "lane 31 of each warp, the last, is",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at % 32 == 7), NOTHING],
                "lane 7 of each warp is left out",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at % 32 != 0), NOTHING],
                "only lane 0 of each warp counts",
            ),
            (
                "early-stop-in-a-subgroup",
                plain,
                [&lanes(|at| at / 32 == 7), NOTHING],
                "warp 7, the last, of each tile is",
            ),
            (
                "list-of-511",
                plain,
                [&first_256, NOTHING],
                "the last batch of 256 entries of each tile's list",
            ),
        ],
    );
}

#[test]
fn faults_of_the_image_are_named() {
    let transposed = |out: &mut Tensors| {
        for name in ["render_alphas", "render_transmittance"] {
            edit(out, name, |v| {
                let old = v.to_vec();
                (0..256).for_each(|at| v[at] = old[at % 16 * 16 + at / 16]);
            });
        }
    };
    expect_all(
        RASTERIZE,
        &[
            ("tile-corner", Defect::NoBackground, [NOTHING; 2], "the background is missing"),
            (
                "alpha-far-above-the-clamp-inria",
                Defect::None,
                [&|all| all.insert("alpha_max", Tensor::scalar(0.999_f32)), NOTHING],
                "the convention's field alpha_max (alpha's clamp) is 0.999",
            ),
            (
                "stop-exactly-at-the-minimum-inria",
                Defect::None,
                [&|all| all.insert("stop_when_equal", Tensor::scalar(1_u32)), NOTHING],
                "field stop_rule (how T stops a pixel) is less-or-equal where the case has less",
            ),
            (
                "one-to-sixteen-lanes",
                Defect::None,
                [NOTHING, &transposed],
                "render_alphas and render_transmittance: transposed, x for y",
            ),
        ],
    );
}

/// Multiplies the off-diagonal of every conic.
fn off_diagonal(name: &'static str, factor: f32) -> impl Fn(&mut Tensors) {
    move |all| edit(all, name, |v| v.chunks_exact_mut(3).for_each(|conic| conic[1] *= factor))
}

#[test]
fn wrongly_blended_backgrounds_are_named() {
    let plain = Defect::None;
    let background =
        |change: fn(&mut [f32])| move |all: &mut Tensors| edit(all, "background", change);
    let white = background(|v| v.fill(1.0));
    let reversed = background(<[f32]>::reverse);
    let turned = background(|v| times(-1.0)(v));
    let of_case = scene("tile-corner").scene.backgrounds;
    let weighed = |weight: fn(f32) -> f32| {
        let of_case = of_case.clone();
        move |out: &mut Tensors| {
            let through = out.f32("render_transmittance").expect("it is there").to_vec();
            edit(out, "render_colors", |colors| {
                for (pixel, t) in colors.chunks_exact_mut(of_case.len()).zip(&through) {
                    for (color, of_channel) in pixel.iter_mut().zip(&of_case) {
                        *color += (weight(*t) - t) * of_channel;
                    }
                }
            });
        }
    };
    let (whole, by_opacity) = (weighed(|_| 1.0), weighed(|t| 1.0 - t));
    let twice = weighed(|t| t * t);
    expect_all(
        RASTERIZE,
        &[
            (
                "tile-corner",
                Defect::NoBackground,
                [NOTHING; 2],
                "looks like: the background is missing",
            ),
            ("tile-corner", plain, [&white, NOTHING], "the background is taken for white"),
            ("tile-corner", plain, [&reversed, NOTHING], "channels are taken in reverse order"),
            ("tile-corner", plain, [NOTHING, &whole], "looks like: the background is added whole"),
            ("tile-corner", plain, [NOTHING, &by_opacity], "is weighed by the opacity 1 - T"),
            ("tile-corner", plain, [NOTHING, &twice], "the background is weighed by T twice"),
        ],
    );
    expect_all(
        RASTERIZE_BACKWARD,
        &[
            ("tile-corner", plain, [&white, NOTHING], "the background is taken for white"),
            ("tile-corner", plain, [&reversed, NOTHING], "channels are taken in reverse order"),
            (
                "tile-corner",
                plain,
                [&turned, NOTHING],
                "term of alpha's gradient has the wrong sign",
            ),
        ],
    );
}

#[test]
fn conics_with_another_off_diagonal_are_named() {
    let conics = |factor: f32| off_diagonal("conics", factor);
    let [turned, half, twice, none] = [conics(-1.0), conics(0.5), conics(2.0), conics(0.0)];
    for stage in [RASTERIZE, RASTERIZE_BACKWARD] {
        expect_all(
            stage,
            &[
                (
                    "needles",
                    Defect::None,
                    [&turned, NOTHING],
                    "off-diagonal is taken with the other sign",
                ),
                (
                    "needles",
                    Defect::None,
                    [&half, NOTHING],
                    "half of the conic's off-diagonal is taken",
                ),
                ("needles", Defect::None, [&twice, NOTHING], "off-diagonal is taken twice"),
                ("needles", Defect::None, [&none, NOTHING], "the conic's off-diagonal is left out"),
            ],
        );
    }
    let gradients = |factor: f32| off_diagonal("v_conics", factor);
    let [turned, half, twice, none] =
        [gradients(-1.0), gradients(0.5), gradients(2.0), gradients(0.0)];
    expect_all(
        PROJECT_BACKWARD,
        &[
            (
                "needles",
                Defect::None,
                [&turned, NOTHING],
                "of v_conics is taken with the other sign",
            ),
            (
                "needles",
                Defect::None,
                [&half, NOTHING],
                "half of the off-diagonal of v_conics is taken",
            ),
            (
                "needles",
                Defect::None,
                [&twice, NOTHING],
                "the off-diagonal of v_conics is taken twice",
            ),
            ("needles", Defect::None, [&none, NOTHING], "the off-diagonal of v_conics is left out"),
        ],
    );
}
