//! Images, channels and cameras of every size and number.

use super::drawn_for::Draw;
use super::parts::{blot, random_loss, strips};
use super::sheet::{Mark, Sheet};
use crate::splat::case::Case;
use proptest::prelude::*;

/// Sides about whole tiles.
const SIDES: [u32; 6] = [17, 33, 1, 31, 16, 15];

/// The image of a turn: all 36 in 36 turns. The first is of 2 x 3 tiles, since a short campaign has one or two
/// turns, and a kernel that takes the rows of tiles for the columns is right on a square and on one row.
fn size_of(turn: u64) -> [u32; 2] {
    let [x, y] = [turn % 6, (turn + turn / 6 + 1) % 6].map(|i| usize::try_from(i).unwrap_or(0));
    [SIDES[x], SIDES[y]]
}

/// Images that do not fill their tiles: whole rows and warps lie outside.
pub(super) fn partial(draw: Draw) -> BoxedStrategy<Case> {
    let size = size_of(draw.turn);
    let blots = prop::collection::vec(blot(size), 1..12);
    (blots, strips(0..3), random_loss())
        .prop_map(move |(blots, strips, loss)| {
            let marks = [blots, strips].concat();
            Sheet { size, loss, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}

/// Every number of channels from 1 to 32, one a turn: 32 first, then far ones in a row, so that a short
/// campaign has many and few. 13 and 32 have no common divisor.
pub(super) fn channels(draw: Draw) -> BoxedStrategy<Case> {
    let all = u64::from(splatcheck_gpu::stages::splat::MAX_CHANNELS);
    let channels = usize::try_from((draw.turn % all * 13 + all - 1) % all).unwrap_or(0) + 1;
    (strips(1..6), random_loss(), any::<u64>())
        .prop_map(move |(marks, loss, seed)| {
            let sheet = Sheet { channels, loss, colors: (seed, 1.0), ..Sheet::new(marks) };
            sheet.into_case(draw.profile)
        })
        .boxed()
}

/// Two to four cameras that see the same Gaussians a few pixels apart. In turn a loop over channels by
/// four makes no whole step, one, or one and a rest.
pub(super) fn cameras(draw: Draw) -> BoxedStrategy<Case> {
    let channels = [3, 4, 3, 7][usize::try_from(draw.turn % 4).unwrap_or(0)];
    let begin = prop::array::uniform2((-8i8..8).prop_map(f32::from));
    let blots = prop::collection::vec(blot([16, 16]), 1..8);
    (prop::collection::vec(begin, 2..=4), blots, random_loss())
        .prop_map(move |(cameras, marks, loss)| {
            Sheet { cameras, loss, channels, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}

/// Few Gaussians over every pixel of several tiles: all lanes of all tiles add to the same numbers.
pub(super) fn contention(draw: Draw) -> BoxedStrategy<Case> {
    let wide = (0.0f32..48.0, 0.0f32..48.0, 16.0f32..64.0, 0.05f32..0.5)
        .prop_map(|(x, y, deviation, opacity)| Mark::round([x, y], deviation, opacity));
    (prop::collection::vec(wide, 1..4), random_loss())
        .prop_map(move |(marks, loss)| {
            Sheet { size: [48, 48], loss, ..Sheet::new(marks) }.into_case(draw.profile)
        })
        .boxed()
}
