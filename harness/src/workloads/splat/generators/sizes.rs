//! Sizes on both sides of the powers of two that an implementation may stumble on: a number held in
//! 8 or 16 bits, a batch, a workgroup, a block of a grid.
//!
//! The cases are sparse, since only the sizes matter: an image of one row of pixels has as many tiles
//! as a large one, and a list of thousands costs little where one pixel walks it.

use super::Draw;
use super::parts::random_loss;
use super::sheet::{Mark, Sheet, small};
use crate::workloads::splat::case::Case;
use proptest::prelude::*;

/// Pixels of a tile's side.
const TILE: u32 = splatcheck_gpu::stages::splat::TILE_SIZE;

/// What has the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Tiles along x: an image of one row.
    TilesAcross(u32),
    /// Tiles along y: an image of one column.
    TilesDown(u32),
    /// Tiles of a whole image of so many rows and columns of tiles.
    Tiles([u32; 2]),
    /// Gaussians in the list of the one tile.
    List(u32),
    /// The same, longer than pixels see: few of the Gaussians are, the first and the last among them.
    SparseList(u32),
    /// Gaussians, few of which are seen.
    Gaussians(u32),
    /// Places in all lists together: so many tiles, so many Gaussians over all of them.
    Intersections([u32; 2]),
    /// Cameras and Gaussians.
    Cameras([u32; 2]),
}

/// Kinds that cost little, in the order of their turns: the main job has these as well.
const CHEAP_KINDS: &[Kind] = &[
    Kind::Gaussians(1025),
    Kind::TilesAcross(257),
    Kind::List(1025),
    Kind::TilesDown(257),
    Kind::Cameras([3, 257]),
    Kind::List(257),
    Kind::Gaussians(257),
    Kind::Tiles([17, 16]),
    Kind::List(513),
    Kind::Cameras([4, 256]),
    Kind::TilesAcross(17),
    Kind::Gaussians(1024),
    Kind::TilesDown(16),
    Kind::List(1024),
    Kind::TilesAcross(256),
    Kind::List(769),
    Kind::TilesDown(15),
    Kind::Gaussians(255),
    Kind::List(256),
    Kind::TilesAcross(255),
    Kind::Cameras([2, 255]),
    Kind::List(1023),
    Kind::TilesDown(256),
    Kind::Gaussians(1023),
    Kind::Tiles([16, 16]),
    Kind::List(255),
];

/// Kinds that take a second or more: for campaigns.
const DEAR_KINDS: &[Kind] = &[
    Kind::Intersections([300, 219]),
    Kind::TilesAcross(1025),
    Kind::Gaussians(4097),
    Kind::Intersections([257, 128]),
    Kind::List(2049),
    Kind::TilesAcross(2049),
    Kind::Gaussians(32_769),
    Kind::TilesDown(1025),
    Kind::List(4097),
    Kind::TilesAcross(4097),
    Kind::Gaussians(65_537),
    Kind::SparseList(32_769),
    Kind::Intersections([255, 257]),
    Kind::SparseList(65_537),
    Kind::SparseList(32_767),
    Kind::Intersections([217, 151]),
    Kind::SparseList(65_535),
    Kind::Intersections([99, 331]),
];

/// How many turns of the generator cost little: those that the main job has.
pub const CHEAP: u64 = CHEAP_KINDS.len() as u64;

/// A size a turn: the cheap ones first, then all.
pub(super) fn sizes(draw: Draw) -> BoxedStrategy<Case> {
    let all = (CHEAP_KINDS.len() + DEAR_KINDS.len()) as u64;
    let turn = usize::try_from(draw.turn % all).unwrap_or(0);
    let kind =
        CHEAP_KINDS.get(turn).copied().unwrap_or_else(|| DEAR_KINDS[turn - CHEAP_KINDS.len()]);
    // Where the few Gaussians are that are seen, as a share of the image's longer side.
    let places = prop::collection::vec(0.0f32..1.0, 4..=8);
    (places, random_loss(), any::<u64>())
        .prop_map(move |(places, loss, seed)| {
            // Kernels for 3 channels are compiled apart from those for any other number.
            let channels = if turn.is_multiple_of(2) { 3 } else { 7 };
            let sheet = Sheet { loss, channels, colors: (seed, 1.0), ..kind.sheet(&places) };
            Sheet { convention: |_| (), ..sheet }.into_case(draw.profile)
        })
        .boxed()
}

impl Kind {
    fn sheet(self, places: &[f32]) -> Sheet {
        match self {
            Self::TilesAcross(tiles) => scattered([tiles * TILE - 7, 1], places),
            Self::TilesDown(tiles) => scattered([1, tiles * TILE - 7], places),
            Self::Tiles([x, y]) => scattered([x * TILE, y * TILE], places),
            // Faint, so that the pixels see all of them: the last has a hundredth of the light.
            Self::List(count) => {
                let opacity = (4.0 / small(count)).max(1.0 / 128.0);
                let mark = |i: u32| Mark::round([small(i % 5), 0.0], 8.0, opacity);
                Sheet { size: [5, 1], ..Sheet::new((0..count).map(mark).collect()) }
            }
            Self::SparseList(count) => {
                let every = count / SEEN;
                let mark = |i: u32| {
                    if i.is_multiple_of(every) || i + 1 == count {
                        Mark::round([small(i % 5), 0.0], 8.0, 1.0 / 128.0)
                    } else {
                        unseen(i)
                    }
                };
                Sheet { size: [5, 1], ..Sheet::new((0..count).map(mark).collect()) }
            }
            Self::Gaussians(count) => Sheet::new(mostly_beside(count, places)),
            Self::Intersections([tiles, count]) => {
                let [width, middle] = [tiles * TILE, tiles * TILE / 2];
                let wide = |i: u32| {
                    let mark = Mark::round([small(middle + i), 0.0], small(width), 1.0 / 64.0);
                    mark.at_depth(super::sheet::DEPTH)
                };
                Sheet { size: [width, 1], ..Sheet::new((0..count).map(wide).collect()) }
            }
            Self::Cameras([cameras, count]) => {
                let begin = |camera: u32| [small(camera) * 3.0, 0.0];
                let cameras = (0..cameras).map(begin).collect();
                Sheet { cameras, ..Sheet::new(mostly_beside(count, places)) }
            }
        }
    }
}

/// Some Gaussians along an image, the first and the last pixel among what they cover.
fn scattered(size: [u32; 2], places: &[f32]) -> Sheet {
    let [x, y] = size.map(|side| small(side - 1));
    let at = |share: f32| Mark::round([share * x, share * y], 3.0, 0.5);
    let marks = places.iter().copied().chain([0.0, 1.0]).map(at).collect();
    Sheet { size, ..Sheet::new(marks) }
}

/// Gaussians of a long list that pixels see: the last of them has a hundredth of the light.
const SEEN: u32 = 500;

/// Listed in the tile at the origin, but between its pixels and so faint that none sees it, with the
/// blur of either convention.
fn unseen(i: u32) -> Mark {
    Mark::round([small(i % 4) + 0.5, 0.5], 1.0 / 64.0, 1.0 / 200.0)
}

/// So many Gaussians of which the last and a few others are on the image of one tile.
fn mostly_beside(count: u32, places: &[f32]) -> Vec<Mark> {
    let every = (count / 6).max(1);
    let seen = |i: u32| (count - 1 - i).is_multiple_of(every);
    let mark = |i: u32| {
        let share = places[i as usize % places.len()];
        let beside = if seen(i) { 0.0 } else { 4096.0 };
        Mark::round([15.0 * share + beside, 15.0 * share], 2.0, 0.5)
    };
    (0..count).map(mark).collect()
}
