//! Colours by harmonics just below and just above 0, where they are clamped.
//!
//! The projection's gradient uses the colour for one thing: to decide whether a channel has a gradient.
//! A kernel that rounds a term of the harmonics, or leaves it out, shows it only where that turns the
//! sign. So the harmonics of degree 0 are chosen such that each colour is a power of two from 0.

use super::drawn_for::Draw;
use super::parts::{blot, random_loss};
use super::sheet::{Sheet, single};
use crate::splat::case::Case;
use crate::splat::files::loss::loss_gradient;
use proptest::prelude::*;
use splatcheck_emulator::mix;
use splatcheck_reference::splat::{Colors, Scene, sh};

/// Coefficients per channel, one a turn.
const COEFFICIENTS: [usize; 3] = [16, 9, 4];

/// A share that no f16 holds, nor its multiples.
const SHARE: f64 = 0.8137;

/// Gaussians whose colours are so near 0 that roundings decide the sign, as one in so many. Either
/// sign is accepted of them, and so the bounds of their gradients are wide.
const UNDECIDED: u64 = 4;

/// Many faint Gaussians seen by a camera that looks along another axis every three turns.
pub(super) fn colors(draw: Draw) -> BoxedStrategy<Case> {
    let turn = usize::try_from(draw.turn % 9).unwrap_or(0);
    let marks = prop::collection::vec(blot([16, 16]), 16..=32);
    (marks, random_loss(), any::<u64>())
        .prop_map(move |(mut marks, loss, seed)| {
            marks.iter_mut().for_each(|mark| mark.opacity *= 0.25);
            let mut case = Sheet { loss, ..Sheet::new(marks) }.into_case(draw.profile);
            turn_axes(&mut case.scene, turn / 3);
            near_zero(&mut case.scene, COEFFICIENTS[turn % 3], seed);
            case
        })
        .boxed()
}

/// Lets each axis of the camera be another axis of the world, which moves numbers and rounds none: the
/// Gaussians of a [`Sheet`] that are round have no rotation.
fn turn_axes(scene: &mut Scene<f32>, by: usize) {
    let turned = |v: [f32; 3]| std::array::from_fn(|axis| v[(axis + 3 - by) % 3]);
    let gaussians = &mut scene.gaussians;
    gaussians.means.iter_mut().for_each(|mean| *mean = turned(*mean));
    gaussians.scales.iter_mut().for_each(|scale| *scale = turned(*scale));
    for camera in &mut scene.cameras {
        for (row, line) in camera.viewmat.iter_mut().take(3).enumerate() {
            for (column, entry) in line.iter_mut().take(3).enumerate() {
                *entry = if column == (row + by) % 3 { 1.0 } else { 0.0 };
            }
        }
    }
}

/// Gives the Gaussians harmonics by which they have these colours, seen from the origin.
fn near_zero(scene: &mut Scene<f32>, coefficients: usize, seed: u64) {
    let gaussians = &mut scene.gaussians;
    let count = u32::try_from(gaussians.len() * coefficients).unwrap_or(u32::MAX);
    let mut values = loss_gradient(seed, count, 1, 3, 1.0).0;
    values.iter_mut().for_each(|value| *value = single(f64::from(*value) * SHARE));
    let means = gaussians.means.iter().zip(0_u64..);
    for (row, (mean, number)) in values.chunks_exact_mut(3 * coefficients).zip(means) {
        let mean = mean.map(f64::from);
        let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
        let basis = sh::basis(mean.map(|x| x / length), coefficients);
        for channel in 0..3 {
            let others = (1..coefficients).map(|k| basis[k] * f64::from(row[3 * k + channel]));
            let drawn = mix(seed ^ mix(3 * number + channel as u64));
            let rest = color(drawn, number % UNDECIDED == 0) - 0.5 - others.sum::<f64>();
            row[channel] = single(rest / basis[0]);
        }
    }
    gaussians.colors = Colors::Harmonics { coefficients, values };
}

/// A power of two of either sign: within the roundings of a sum of harmonics, or beyond them and within
/// those of an f16.
fn color(drawn: u64, undecided: bool) -> f64 {
    let step = i32::try_from(drawn >> 1 & 7).unwrap_or(0);
    let magnitude = if undecided { 2.0f64.powi(-20 - step) } else { 2.0f64.powi(-10 - step) };
    if drawn & 1 == 0 { magnitude } else { -magnitude }
}
