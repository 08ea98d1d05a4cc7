//! Numbers that 8 or 16 bits do not hold: of a pixel, a Gaussian, a place in the lists, a byte of an
//! array.
//!
//! A case has one such number, and next to nothing else: of many Gaussians all but a few are behind
//! the camera, or behind others through which nothing is seen.

use super::drawn_for::Draw;
use super::parts::random_loss;
use super::sheet::{DEPTH, Mark, Sheet, small};
use super::sizes::unseen;
use crate::splat::case::Case;
use crate::splat::files::loss::loss_gradient;
use proptest::prelude::*;
use splatcheck_reference::splat::Colors;

/// Pixels of a tile's side.
const TILE: u32 = splatcheck_gpu::stages::splat::TILE_SIZE;

/// What is wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The number of a pixel: an image of so many columns and rows, seen at its ends.
    Image([u32; 2]),
    /// The number of a Gaussian: so many cameras and Gaussians, the last of which are seen.
    Gaussians([u32; 2]),
    /// The place of a Gaussian's colour: so many of so many channels, the last of which are seen.
    Colors([u32; 2]),
    /// The place of a Gaussian in the lists, and the place of a pair where pairs lie in the order of
    /// Gaussians: so many tiles, each with a list of so many, the last of which is in front. In the
    /// last tile the pixel of a warp's last lane ends behind all others of the warp.
    Lists([u32; 2]),
    /// The number of a tile: so many columns and rows of them, the first with the same Gaussians in their
    /// lists, so that a list which begins in another tile's has some of them twice.
    Tiles([u32; 2]),
    /// The place in a list of so many and in one behind it, whose pixels each end somewhere else.
    Ends([u32; 2]),
    /// The same where nobody sees anything of the first list, so that no kernel that begins at its end
    /// walks it.
    Hidden([u32; 2]),
    /// The same where nobody sees anything behind the first list's first, so that no kernel walks it,
    /// wherever it begins.
    Shaded([u32; 2]),
}

/// In the order of their turns: cheap ones first.
const KINDS: [Kind; 18] = [
    // The second list begins behind more than a batch, and is longer than one.
    Kind::Ends([280, 600]),
    Kind::Image([273, 1]),
    Kind::Lists([37, 1830]),
    Kind::Gaussians([1, 2049]),
    Kind::Image([1, 273]),
    Kind::Image([129, 128]),
    Kind::Gaussians([4, 2049]),
    Kind::Image([257, 257]),
    Kind::Gaussians([2, 65_537]),
    Kind::Lists([1, 8170]),
    Kind::Gaussians([4, 16_385]),
    Kind::Ends([65_546, 600]),
    // One more than 8 bits hold, and one more than a multiple of four.
    Kind::Lists([257, 3]),
    Kind::Hidden([65_546, 61]),
    Kind::Colors([2055, 32]),
    Kind::Tiles([257, 2]),
    Kind::Shaded([65_546, 600]),
    // The first list is seen to its end, and has 256 times 32 Gaussians where they are counted in so many.
    Kind::Ends([8170, 61]),
];

/// A kind a turn. Few Gaussians have harmonics of degree 3, which are the widest rows; many are
/// antialiased, where the gradient of an opacity's factor reads the opacity again.
pub(super) fn wide(draw: Draw) -> BoxedStrategy<Case> {
    let turn = usize::try_from(draw.turn % KINDS.len() as u64).unwrap_or(0);
    let kind = KINDS[turn];
    let places = prop::collection::vec(0.0f32..1.0, 4..=8);
    (places, random_loss(), any::<u64>())
        .prop_map(move |(places, loss, seed)| {
            let sheet = Sheet { loss, colors: (seed, 1.0), ..kind.sheet(&places) };
            let mut case = Sheet { convention: |_| (), ..sheet }.into_case(draw.profile);
            if matches!(kind, Kind::Gaussians(_)) {
                if case.scene.gaussians.len() < 4096 {
                    with_harmonics(&mut case, seed);
                } else {
                    case.convention.antialiased = true;
                }
            }
            case
        })
        .boxed()
}

impl Kind {
    fn sheet(self, places: &[f32]) -> Sheet {
        match self {
            Self::Image(size) => {
                let [x, y] = size.map(|side| small(side - 1));
                let at = |share: f32| Mark::round([share * x, share * y], 2.0, 0.5);
                let ends = [Mark::round([x, 0.0], 2.0, 0.5), Mark::round([0.0, y], 2.0, 0.5)];
                let marks = places.iter().copied().chain([1.0]).map(at).chain(ends).collect();
                Sheet { size, ..Sheet::new(marks) }
            }
            Self::Gaussians([cameras, count]) => {
                let begin = |camera: u32| [small(camera) * 3.0, 0.0];
                let cameras = (0..cameras).map(begin).collect();
                Sheet { cameras, ..Sheet::new(mostly_behind(count, places)) }
            }
            Self::Colors([count, channels]) => {
                let channels = channels as usize;
                Sheet { channels, ..Sheet::new(mostly_behind(count, places)) }
            }
            Self::Lists([tiles, count]) => {
                let width = tiles * TILE;
                let lists = (0..count).map(|i| listed(i, [tiles, count], places[0]));
                Sheet { size: [width, 2], ..Sheet::new(shade(tiles - 1).chain(lists).collect()) }
            }
            Self::Tiles([columns, rows]) => {
                let [width, height] = [columns, rows].map(|tiles| tiles * TILE);
                // Over some forty columns, so that most lists are empty.
                let veil = |share: f32| Mark::round([small(4 * TILE) * share, 0.0], 200.0, 0.25);
                let marks = places.iter().take(3).copied().map(veil).collect();
                // Of the last row of tiles the first row of pixels.
                Sheet { size: [width, height - TILE + 1], ..Sheet::new(marks) }
            }
            Self::Ends([first, second]) => two_lists((0..first).map(|i| long(i, first)), second),
            Self::Hidden([first, second]) => two_lists((0..first).map(unseen), second),
            Self::Shaded([first, second]) => two_lists((0..first).map(shaded), second),
        }
    }
}

/// So many, of which all but the last six are behind the camera. Those six have no number in common with
/// the others.
fn mostly_behind(count: u32, places: &[f32]) -> Vec<Mark> {
    let mark = |i: u32| {
        let share = places[i as usize % places.len()];
        let mark = Mark::round([15.0 * share, 15.0 * share], 2.0, 0.5);
        if i + 6 < count {
            return Mark { opacity: 0.75, ..mark.at_depth(-DEPTH) };
        }
        Mark { deviation: [2.5, 1.5], along: [4.0, 3.0], ..mark }
    };
    (0..count).map(mark).collect()
}

/// These over the first tile, and so many over the second.
fn two_lists(first: impl Iterator<Item = Mark>, second: u32) -> Sheet {
    let marks = first.chain((0..second).map(behind));
    Sheet { size: [2 * TILE, ROWS], ..Sheet::new(marks.collect()) }
}

/// Rows of pixels of an image with two lists.
const ROWS: u32 = 4;

/// One of a list whose first lie three deep in front of every pixel of the first tile, which leaves less
/// light than the minimum.
fn shaded(i: u32) -> Mark {
    if i < 3 * TILE * ROWS {
        return Mark::round([small(i % TILE), small(i / TILE % ROWS)], 1.0 / 64.0, 0.98);
    }
    unseen(i)
}

/// One of a list of so many: the last is seen by the first two rows of pixels, which are a warp's, the
/// 101st and the 151st from the end by the next two, and hardly any other by anyone.
fn long(i: u32, count: u32) -> Mark {
    match count - i {
        1 => dot([2, 0]),
        101 => dot([2, 2]),
        151 => dot([6, 2]),
        _ if i.is_multiple_of(6007) => dot([4, i % 4]),
        _ => unseen(i),
    }
}

/// One of the list of the second tile, eight of whose pixels see every eighth. A ninth pixel ends at
/// the second of those that it sees, in the first half of the list, and has more behind that.
fn behind(i: u32) -> Mark {
    if i % 50 == 49 {
        return Mark::round([small(TILE + 2), 0.0], 1.0 / 64.0, 0.98);
    }
    dot([TILE + 4 + 3 * (i % 4), i / 4 % 2 * 2])
}

/// One of so many that lie over all of so many tiles. A few leave less light than the minimum; in front of
/// these are the last, and one over four tiles whose first pair is a little beyond 2^16.
fn listed(i: u32, [tiles, count]: [u32; 2], place: f32) -> Mark {
    if i == 65_536 / tiles + 2 {
        return Mark::round([small(2 * TILE), 0.0], 8.0, 0.5).at_depth(DEPTH / 2.0);
    }
    let width = small(tiles * TILE);
    let opacity = if i < 40 { 0.01 + small(i) / 160.0 } else { 0.5 };
    let veil = Mark::round([width * place, 0.0], 8.0 * width, opacity);
    if i + 1 == count { veil.at_depth(DEPTH / 2.0) } else { veil }
}

/// In front of all pixels of a tile's first two rows, which are a warp's, but the last one.
fn shade(tile: u32) -> impl Iterator<Item = Mark> {
    let lane = move |i: u32| [small(TILE * tile + i % TILE), small(i / TILE)];
    (0..2 * TILE - 1).map(move |i| Mark::round(lane(i), 1.0 / 64.0, 0.98))
}

/// Over one pixel, so faint that its neighbours do not see it with the blur of either convention.
fn dot([x, y]: [u32; 2]) -> Mark {
    Mark::round([small(x), small(y)], 1.0 / 64.0, 0.015)
}

/// Harmonics of degree 3 in place of the colours.
fn with_harmonics(case: &mut Case, seed: u64) {
    let gaussians = &mut case.scene.gaussians;
    let count = u32::try_from(gaussians.means.len()).unwrap_or(u32::MAX);
    let values = loss_gradient(seed, count, 16, 3, 0.5).0;
    gaussians.colors = Colors::Harmonics { coefficients: 16, values };
}
