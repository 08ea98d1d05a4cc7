//! Sums that are hard to add up: cancellation, range, subnormals, overflow, and what is no number.

use super::drawn_for::Draw;
use super::parts::{lane, strip, strips};
use super::sheet::{Loss, Mark, Sheet};
use crate::splat::case::Case;
use proptest::prelude::*;
use splatcheck_gpu::reduction::WORKGROUP_SIZE;

/// One channel, no background: nothing but the given gradients in the sums.
fn plain(marks: Vec<Mark>, loss: Vec<f32>, draw: Draw) -> Case {
    let sheet =
        Sheet { channels: 1, background: 0.0, loss: Loss::Pixels(loss), ..Sheet::new(marks) };
    sheet.into_case(draw.profile)
}

/// 2^exponent, subnormal or zero where that is so in f32.
fn power(exponent: i32) -> f32 {
    let half = exponent / 2;
    2.0f32.powi(half) * 2.0f32.powi(exponent - half)
}

/// A veil and strips under gradients drawn lane by lane.
fn drawn(gradient: impl Strategy<Value = f32> + 'static, draw: Draw) -> BoxedStrategy<Case> {
    let gradients = prop::collection::vec(gradient, WORKGROUP_SIZE as usize);
    let marks = strips(0..5).prop_map(|strips| [vec![Mark::veil()], strips].concat());
    (marks, gradients).prop_map(move |(marks, loss)| plain(marks, loss, draw)).boxed()
}

/// Gradients that cancel but for 2^-20 of one lane.
pub(super) fn cancellation(draw: Draw) -> BoxedStrategy<Case> {
    let pattern = prop::sample::select(vec![1u32, 2, 4, 8, 16, 128]);
    (pattern, 0.5f32..2.0, lane(), 1usize..4)
        .prop_map(move |(run, magnitude, odd, veils)| {
            let sign = |lane| if (lane / run) % 2 == 0 { magnitude } else { -magnitude };
            let gradient =
                |lane| if lane == odd { sign(lane) * (1.0 + power(-20)) } else { sign(lane) };
            plain(vec![Mark::veil(); veils], (0..WORKGROUP_SIZE).map(gradient).collect(), draw)
        })
        .boxed()
}

/// Sums that are exactly 1, -1 or 0: each Gaussian is seen by one lane, which passes half of twice that
/// to its colour.
pub(super) fn ones(draw: Draw) -> BoxedStrategy<Case> {
    let half = |lane| Mark { opacity: 0.5, ..Mark::opaque(lane) };
    let lanes = prop::collection::btree_set(lane(), 3..24);
    let loss = prop::collection::vec(prop::sample::select(vec![2.0f32, -2.0, 0.0]), 5);
    (lanes, loss)
        .prop_map(move |(lanes, loss)| {
            let marks = lanes.into_iter().map(half).collect();
            // No alpha has a gradient but that of the colours in front of a black background.
            let loss = Loss::Pixels(loss);
            Sheet { background: 0.0, loss, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}

/// Magnitudes from 1e-38 to 1e37 in one sum: powers of two of both signs.
pub(super) fn range(draw: Draw) -> BoxedStrategy<Case> {
    // 256 lanes of 2^116 stay below 2^128 with factors of up to 16 from offsets and colours.
    let gradient = (-126i32..=116, any::<bool>())
        .prop_map(|(exponent, plus)| if plus { power(exponent) } else { -power(exponent) });
    drawn(gradient, draw)
}

/// Contributions, sums or both below the smallest normal number.
pub(super) fn subnormals(draw: Draw) -> BoxedStrategy<Case> {
    let gradient = prop_oneof![
        (-149i32..=-130).prop_map(power),
        (-149i32..=-130).prop_map(|exponent| -power(exponent)),
        Just(-0.0f32),
    ];
    drawn(gradient, draw)
}

/// Sums whose parts overflow in some orders and not in others.
pub(super) fn overflow(draw: Draw) -> BoxedStrategy<Case> {
    drawn(prop::sample::select(vec![f32::MAX, -f32::MAX, f32::MAX / 2.0, 1.0]), draw)
}

/// A conic with an infinite entry, whose product with an offset of 0 is NaN, among ordinary ones.
pub(super) fn non_finite(draw: Draw) -> BoxedStrategy<Case> {
    // Variances of 2^-6 and 2^-136: the second conic entry is 2^136 before it is rounded.
    let broken =
        lane().prop_map(|lane| Mark { deviation: [power(-3), power(-68)], ..Mark::opaque(lane) });
    let marks = prop::collection::vec(prop_oneof![broken, strip()], 1..6);
    marks.prop_map(move |marks| plain(marks, vec![1.0], draw)).boxed()
}
