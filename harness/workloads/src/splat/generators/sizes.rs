//! Sizes on both sides of the powers of two that an implementation may stumble on: a number held in
//! 8 or 16 bits, a batch, a workgroup, a block of a grid.
//!
//! The cases are sparse, since only the sizes matter: an image of one row of pixels has as many tiles
//! as a large one, and a list of thousands costs little where one row of a tile walks it.

use super::drawn_for::Draw;
use super::parts::random_loss;
use super::sheet::{DEPTH, Mark, Sheet, small};
use crate::splat::case::Case;
use proptest::prelude::*;

/// Pixels of a tile's side.
const TILE: u32 = splatcheck_gpu::stages::splat::TILE_SIZE;

/// Pixels of a side that a case file may have.
const MOST_PIXELS: u32 = 16_384;

/// What has which size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// See [`Shape`].
    Shape(Shape),
    /// So many tiles of one row of pixels, so many Gaussians over all of them.
    Intersections([u32; 2]),
}

/// Sizes that do not depend on one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Pixels in x and y.
    image: [u32; 2],
    /// Gaussians in the list of the first tile.
    list: u32,
    /// Gaussians in all; those that are on no list are beside the image and come first.
    gaussians: u32,
    cameras: u32,
}

const fn shape(image: [u32; 2], list: u32, gaussians: u32) -> Kind {
    Kind::Shape(Shape { image, list, gaussians, cameras: 1 })
}

const fn cameras(cameras: u32, gaussians: u32) -> Kind {
    Kind::Shape(Shape { image: [5, 1], list: 4, gaussians, cameras })
}

/// Kinds that cost little, in the order of their turns: the main job has these as well.
const CHEAP_KINDS: &[Kind] = &[
    shape([4105, 17], 9, 15),
    shape([5, 1], 257, 1025),
    shape([1, 4105], 41, 64),
    shape([1, 2073], 9, 17),
    cameras(3, 257),
    shape([5, 1], 255, 1023),
    shape([250, 1], 511, 600),
    shape([1, 250], 513, 600),
    cameras(2, 513),
    shape([2073, 1], 9, 257),
    shape([1025, 1], 1025, 1040),
    shape([265, 1], 769, 800),
    shape([1, 265], 1023, 1030),
    shape([1023, 1], 1024, 1030),
    cameras(4, 256),
    shape([1, 1025], 16, 256),
    shape([1, 1023], 17, 255),
    shape([5, 1], 256, 1024),
    shape([129 * TILE, 17], 9, 16),
];

/// Kinds that take a second or more: for campaigns.
const DEAR_KINDS: &[Kind] = &[
    Kind::Intersections([300, 219]),
    shape([5, 1], 32_769, 32_769),
    shape([16_377, 1], 2049, 32_769),
    shape([1, 16_377], 4097, 4200),
    Kind::Intersections([257, 128]),
    shape([5, 1], 65_537, 65_537),
    shape([MOST_PIXELS, 17], 9, 65_537),
    shape([5, 1], 4096, 4096),
    Kind::Intersections([256, 128]),
    shape([5, 1], 32_767, 32_767),
    shape([9001, 1], 9, 32_768),
    shape([5, 1], 65_535, 65_535),
    Kind::Intersections([299, 219]),
    shape([1, 9001], 9, 65_536),
    // A multiple of 256.
    cameras(1280, 5),
];

/// How many turns of the generator cost little: those that the main job has.
pub const CHEAP: u64 = CHEAP_KINDS.len() as u64;

/// A size a turn: the cheap ones first, then all.
pub(super) fn sizes(draw: Draw) -> BoxedStrategy<Case> {
    let all = (CHEAP_KINDS.len() + DEAR_KINDS.len()) as u64;
    let turn = usize::try_from(draw.turn % all).unwrap_or(0);
    let kind =
        CHEAP_KINDS.get(turn).copied().unwrap_or_else(|| DEAR_KINDS[turn - CHEAP_KINDS.len()]);
    // Kernels for 3 channels are compiled apart from those for any other number. `block` adds up
    // four values at a time: of the 6 + 7 one is left over.
    drawn(draw, kind, [3, 4, 3, 7][turn % 4])
}

/// A case of these sizes.
fn drawn(draw: Draw, kind: Kind, channels: usize) -> BoxedStrategy<Case> {
    // Where the few Gaussians are that are beyond the first tile, as a share of the longer side.
    let places = prop::collection::vec(0.0f32..1.0, 3);
    (places, random_loss(), any::<u64>())
        .prop_map(move |(places, loss, seed)| {
            let sheet = Sheet { loss, channels, colors: (seed, 1.0), ..kind.sheet(&places) };
            Sheet { convention: |_| (), ..sheet }.into_case(draw.profile)
        })
        .boxed()
}

/// An image of many tiles, a long list and many Gaussians at once: what a kernel leaves out beyond the first 16 tiles,
/// 256 pixels of a side, 1,024 of a list or 2,048 Gaussians.
pub(super) fn large(draw: Draw) -> BoxedStrategy<Case> {
    let image = if draw.turn.is_multiple_of(2) { [529, 273] } else { [273, 529] };
    drawn(draw, shape(image, 1041, 2065), 3)
}

impl Kind {
    fn sheet(self, places: &[f32]) -> Sheet {
        match self {
            Self::Shape(shape) => shape.sheet(places),
            Self::Intersections([tiles, count]) => {
                let [width, middle] = [tiles * TILE, tiles * TILE / 2];
                let wide = |i: u32| {
                    let mark = Mark::round([small(middle + i), 0.0], small(width), 1.0 / 64.0);
                    mark.at_depth(DEPTH)
                };
                Sheet { size: [width, 1], ..Sheet::new((0..count).map(wide).collect()) }
            }
        }
    }
}

impl Shape {
    fn sheet(self, places: &[f32]) -> Sheet {
        let Self { image, list, gaussians, cameras } = self;
        // The last of many cameras see again what the first do.
        let begin = |camera: u32| match camera + AGAIN < cameras {
            true => [small(camera), 0.0],
            false => [small(camera % AGAIN), 0.0],
        };
        let along = self.along(places);
        let seen = list + u32::try_from(along.len()).unwrap_or(0);
        let beside = (0..gaussians.saturating_sub(seen)).map(|i| {
            let [x, y] = image.map(small);
            Mark::round([x + 4096.0, y + small(i % 16)], 2.0, 0.5)
        });
        let marks = beside.chain(self.listed()).chain(along).collect();
        let cameras = (0..cameras).map(begin).collect();
        Sheet { size: image, cameras, ..Sheet::new(marks) }
    }

    /// Those of the first tile, which reach no other. Faint, so that the first pixels see all of them
    /// or nearly so: behind the last, a hundredth of the light is left. Of a longer list they see few,
    /// the first and the last among them.
    fn listed(self) -> impl Iterator<Item = Mark> {
        let opacity = (4.0 / small(self.list)).clamp(1.0 / 128.0, 0.5);
        let down = self.image[1] > self.image[0];
        let every = self.list.div_ceil(MOST_SEEN).max(1);
        (0..self.list).map(move |i| {
            if !i.is_multiple_of(every) && i + 1 != self.list {
                return unseen(i);
            }
            let [x, y] = [small(i % 3), 0.0];
            Mark::round(if down { [y, x] } else { [x, y] }, 1.5, opacity)
        })
    }

    /// Some along an image of more than two tiles, the last pixel among what they cover.
    fn along(self, places: &[f32]) -> Vec<Mark> {
        let [x, y] = self.image.map(|side| small(side - 1));
        if x.max(y) < small(3 * TILE) {
            return Vec::new();
        }
        // From the third tile on.
        let first = small(2 * TILE + 8) / x.max(y);
        let shares = places.iter().map(|share| first + share * (1.0 - first)).chain([1.0]);
        shares.map(|share| Mark::round([share * x, share * y], 2.0, 0.5)).collect()
    }
}

/// Cameras of a few pixels from the first to the last that sees the same Gaussians, and as many at the end.
const AGAIN: u32 = 4;

/// Gaussians of a list that pixels see, of an opacity of 1/128: more would leave no light for the last.
const MOST_SEEN: u32 = 1100;

/// Listed in the tile at the origin, but between its pixels and so faint that none sees it, with the
/// blur of either convention.
pub(super) fn unseen(i: u32) -> Mark {
    Mark::round([small(i % 4) + 0.5, 0.5], 1.0 / 64.0, 1.0 / 200.0)
}
