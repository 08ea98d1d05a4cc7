//! Knife edges in exactly representable numbers: a conforming kernel has no choice there.
//!
//! On the sample point of a pixel power is exactly 0, so alpha is the opacity and a product of
//! transmittances has no other rounding than its own.

use super::drawn_for::Draw;
use super::parts::{lane, random_loss, strips};
use super::sheet::{Mark, Sheet};
use crate::splat::case::Case;
use proptest::prelude::*;
use proptest::sample::select;
use splatcheck_reference::splat::convention::StopRule;

/// A number and its neighbours, two on each side.
fn about(x: f32) -> Vec<f32> {
    vec![x, x.next_down(), x.next_up(), x.next_down().next_down(), x.next_up().next_up()]
}

/// Over one lane alone, with exactly that alpha.
fn dot(lane: u32, opacity: f32) -> Mark {
    Mark { opacity, ..Mark::opaque(lane) }
}

fn dots(opacities: Vec<f32>, draw: Draw) -> BoxedStrategy<Case> {
    let dots = prop::collection::vec((lane(), select(opacities)), 1..40);
    (dots, strips(0..4), random_loss())
        .prop_map(move |(dots, strips, loss)| {
            let dots = dots.into_iter().map(|(lane, opacity)| dot(lane, opacity));
            let marks = dots.chain(strips).collect();
            Sheet { loss, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}

/// alpha at the cut of 1/255.
pub(super) fn cut(draw: Draw) -> BoxedStrategy<Case> {
    dots(about(1.0 / 255.0), draw)
}

/// alpha at the clamp, and far above.
pub(super) fn clamp(draw: Draw) -> BoxedStrategy<Case> {
    dots([about(0.99), vec![0.995, 1.0]].concat(), draw)
}

/// Transmittance 1e-4 as f32, 13743895 2^-37, in factors 1 - alpha that multiply without rounding:
/// 10995116 2^-24, 5/8, and 1/16 three times. `offset` moves the first by as many 2^-24.
fn to_the_minimum(offset: i32) -> [f32; 5] {
    #[expect(clippy::cast_precision_loss, reason = "below 2^24")]
    let first = (5_782_100 - offset) as f32 / 16_777_216.0;
    [first, 0.375, 0.9375, 0.9375, 0.9375]
}

/// The transmittance of some lanes arrives at the minimum exactly, or just above or below it, and
/// more Gaussians follow.
pub(super) fn stop(draw: Draw) -> BoxedStrategy<Case> {
    let chain = (lane(), select(vec![0, 1, -1])).prop_map(|(lane, offset)| {
        to_the_minimum(offset).map(|opacity| dot(lane, opacity)).to_vec()
    });
    // Each rule comes with either profile's other fields: a kernel may take another one for the rule.
    let other_rule = draw.turn / 2 % 2 == 1;
    (prop::collection::vec(chain, 1..6), strips(1..4), random_loss())
        .prop_map(move |(chains, behind, loss)| {
            let marks = [chains.concat(), behind].concat();
            let mut case = Sheet { loss, ..Sheet::new(marks) }.into_case(draw.profile);
            if other_rule {
                case.convention.stop_rule = match case.convention.stop_rule {
                    StopRule::Less => StopRule::LessOrEqual,
                    StopRule::LessOrEqual => StopRule::Less,
                    StopRule::LessAfterBlending => StopRule::LessOrEqualAfterBlending,
                    StopRule::LessOrEqualAfterBlending => StopRule::LessAfterBlending,
                };
            }
            case
        })
        .boxed()
}

/// Gaussians so long and narrow that f32 barely holds the inverse of their covariance: the terms of
/// power cancel, and its rounding decides what is seen. They point along whole pixels: between those
/// nothing shows.
pub(super) fn needles(draw: Draw) -> BoxedStrategy<Case> {
    // From an aspect of 2^10 on the terms' rounding exceeds power itself, and bounds are infinite.
    let needle = (lane(), -6i32..8, 7i32..10, [1i8..6, -6i8..6], 0.1f32..1.0).prop_map(
        |(lane, length, aspect, along, opacity)| {
            let [long, narrow] = [length, length - aspect].map(|exponent| 2.0f32.powi(exponent));
            Mark { deviation: [long, narrow], along: along.map(f32::from), ..dot(lane, opacity) }
        },
    );
    (prop::collection::vec(needle, 4..16), random_loss())
        .prop_map(move |(marks, loss)| {
            // In front of each another one, so faint that it is skipped, for that as well as for a power
            // that rounds to above 0. Behind all a veil, so that no pixel's walk ends before them.
            let faint = marks.iter().map(|mark| Mark { opacity: 1.0 / 300.0, ..*mark });
            let needles = faint.chain(marks.iter().copied());
            let marks = needles.chain([Mark::veil()]).collect();
            Sheet { loss, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}
