//! The lists of Gaussians: their lengths, where they end, what is in which batch.

use super::drawn_for::Draw;
use super::parts::{lane, random_loss, strip};
use super::sheet::{Mark, Sheet};
use crate::splat::case::Case;
use proptest::prelude::*;

/// Lengths about one and two batches.
const LENGTHS: [usize; 8] = [0, 1, 255, 256, 257, 511, 512, 513];

/// A list that contributes in few places: the others are listed and skipped.
fn sparse(length: usize, live: &[(usize, Mark)]) -> Vec<Mark> {
    let mut marks = vec![Mark::between(0); length];
    for &(place, mark) in live {
        if let Some(slot) = marks.get_mut(place) {
            *slot = mark;
        }
    }
    marks
}

/// A list of one of the lengths. Its last contributor is the last of the list, or lies near a
/// batch's border, or anywhere: behind it everything is skipped.
pub(super) fn lengths(draw: Draw) -> BoxedStrategy<Case> {
    let index = usize::try_from(draw.turn % LENGTHS.len() as u64).unwrap_or(0);
    let length = LENGTHS[index];
    let border = prop::sample::select(vec![1usize, 2, 255, 256, 257, 511, 512]);
    let end = prop_oneof![3 => Just(length), 2 => border, 1 => 0..=length];
    let places = prop::collection::vec((0usize..513, strip()), 0..12);
    (end, strip(), places, random_loss())
        .prop_map(move |(end, last, mut live, loss)| {
            let end = end.min(length);
            live.retain(|&(place, _)| place < end);
            live.extend(end.checked_sub(1).map(|place| (place, last)));
            Sheet { loss, ..Sheet::new(sparse(length, &live)) }.into_case(draw.profile)
        })
        .boxed()
}

/// Several batches in which warps stop in different ones, beside a tile with a short list.
pub(super) fn uneven(draw: Draw) -> BoxedStrategy<Case> {
    let stop = (0usize..520, lane());
    let places = prop::collection::vec((0usize..520, strip()), 4..24);
    let stops = prop::collection::vec(stop, 0..12);
    (257usize..520, places, stops, random_loss())
        .prop_map(move |(length, mut live, stops, loss)| {
            let opaque = |(place, lane)| [place, place + 1].map(|p| (p, Mark::opaque(lane)));
            live.extend(stops.into_iter().flat_map(opaque));
            let marks = sparse(length, &live);
            Sheet { size: [32, 16], loss, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}

/// Gaussians that are not in the order of depth, among others behind the camera: the place in a
/// list, the number among the visible and the number in the scene all differ.
pub(super) fn indices(draw: Draw) -> BoxedStrategy<Case> {
    let depth = prop::sample::select(vec![1.0f32, 2.0, 4.0, 8.0, 16.0, -4.0]);
    let mark = (strip(), depth).prop_map(|(mark, depth)| mark.at_depth(depth));
    (prop::collection::vec(mark, 2..24), random_loss())
        .prop_map(move |(marks, loss)| Sheet { loss, ..Sheet::new(marks) }.into_case(draw.profile))
        .boxed()
}

/// Gaussians without any contribution between others: their gradients are zeros over poison.
pub(super) fn untouched(draw: Draw) -> BoxedStrategy<Case> {
    let mark = prop_oneof![
        2 => lane().prop_map(Mark::between),
        1 => lane().prop_map(|lane| Mark::opaque(lane).at_depth(-4.0)),
        1 => strip(),
    ];
    (prop::collection::vec(mark, 1..24), random_loss())
        .prop_map(move |(marks, loss)| Sheet { loss, ..Sheet::new(marks) }.into_case(draw.profile))
        .boxed()
}
