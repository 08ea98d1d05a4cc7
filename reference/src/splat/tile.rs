//! A tile's pixels in the order in which they are walked, and the part that a Gaussian can reach.
//!
//! Pixels are kept in *blocks* of 4 x 2, so that a vector register of any width holds pixels that
//! lie close together, and small Gaussians fill it.

use crate::arithmetic::Scalar;
use crate::splat::reach::{Ellipse, Footprint, widen};
use crate::splat::view::{RasterView, Splats};
use std::array::from_fn;
use std::ops::{Deref, DerefMut, Range};

/// Pixels of a block.
pub(crate) const BLOCK: usize = 8;
const BLOCK_WIDTH: usize = 4;
const BLOCK_HEIGHT: usize = BLOCK / BLOCK_WIDTH;

/// A number for each pixel of a block: two rows of four. It begins where a cache line does, so that a vector
/// register is read from one line and not from two.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct PerPixel<S>(pub(crate) [S; BLOCK]);

impl<S: Copy> PerPixel<S> {
    /// The same number everywhere.
    #[inline(always)]
    pub(crate) fn all(x: S) -> Self {
        Self([x; BLOCK])
    }
}

impl<S> Deref for PerPixel<S> {
    type Target = [S; BLOCK];

    #[inline(always)]
    fn deref(&self) -> &[S; BLOCK] {
        &self.0
    }
}

impl<S> DerefMut for PerPixel<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S; BLOCK] {
        &mut self.0
    }
}

/// A tile's place in the image and its blocks.
pub(crate) struct Tile<S> {
    /// First pixel.
    pub(crate) origin: [usize; 2],
    /// Pixels inside the image.
    pub(crate) size: [usize; 2],
    /// Blocks in x and y; the last ones may reach beyond the tile.
    pub(crate) blocks: [usize; 2],
    /// Sample points, pixels, of each column and of each row of blocks.
    pub(crate) samples: [Vec<PerPixel<S>>; 2],
    /// Column and row of each block.
    pub(crate) places: Vec<[usize; 2]>,
    pixel_center: f64,
}

impl<S: Scalar> Tile<S> {
    #[inline(always)]
    pub(crate) fn new(view: &RasterView<'_, S>, tile: usize) -> Self {
        let [x0, y0, w, h] = view.tile_rect(tile);
        let [across, down] = view.lists.tile_size.map(|side| side as usize);
        let blocks = [across.div_ceil(BLOCK_WIDTH), down.div_ceil(BLOCK_HEIGHT)];
        let sample = |i: usize| S::from_f64(view.sample(i));
        let xs =
            |column| PerPixel(from_fn(|i| sample(x0 + column * BLOCK_WIDTH + i % BLOCK_WIDTH)));
        let ys = |row| PerPixel(from_fn(|i| sample(y0 + row * BLOCK_HEIGHT + i / BLOCK_WIDTH)));
        Self {
            origin: [x0, y0],
            size: [w, h],
            blocks,
            samples: [(0..blocks[0]).map(xs).collect(), (0..blocks[1]).map(ys).collect()],
            places: (0..blocks[1]).flat_map(|y| (0..blocks[0]).map(move |x| [x, y])).collect(),
            pixel_center: view.convention.pixel_center,
        }
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.blocks[0] * self.blocks[1]
    }

    /// Every pixel inside the image: its index in an image of this width, its block and its place
    /// in the block.
    pub(crate) fn pixels(&self, width: usize) -> impl Iterator<Item = Pixel> {
        let ([x0, y0], [w, h], across) = (self.origin, self.size, self.blocks[0]);
        (0..h).flat_map(move |y| {
            (0..w).map(move |x| Pixel {
                index: (y0 + y) * width + x0 + x,
                at: [x, y],
                block: y / BLOCK_HEIGHT * across + x / BLOCK_WIDTH,
                lane: y % BLOCK_HEIGHT * BLOCK_WIDTH + x % BLOCK_WIDTH,
            })
        })
    }

    /// Rows of blocks that `footprint` may reach.
    #[inline(always)]
    fn rows(&self, footprint: &Footprint<S>) -> Range<usize> {
        let [low, high] = footprint.rows();
        let origin = self.origin[1] as f64 + self.pixel_center;
        let (height, count) = (BLOCK_HEIGHT as f64, self.blocks[1] as f64);
        let first = first_block(low - origin, height, count);
        usize::from(whole(first))..usize::from(whole(blocks_end(high - origin, height, count)))
    }

    /// First and one beyond the last block that an ellipse may reach, of each of the rows of blocks from
    /// `row` on: those that either row of pixels may reach; the same number twice where that is none.
    ///
    /// Every row of pixels costs a square root. [`ROWS`] rows of blocks are computed together, whether or
    /// not all of them are wanted, in loops without branches, which become vector instructions.
    #[inline(always)]
    fn columns(&self, ellipse: &Ellipse, row: usize) -> [[u16; 2]; ROWS] {
        let origin = [0, 1].map(|i| self.origin[i] as f64 + self.pixel_center);
        let (width, count) = (BLOCK_WIDTH as f64, self.blocks[0] as f64);
        let (mut first, mut end) = ([0.0; ROWS], [0.0; ROWS]);
        for i in 0..ROWS {
            let y = origin[1] + ((row + i) * BLOCK_HEIGHT) as f64;
            let [upper, lower] = [ellipse.row(y), ellipse.row(y + 1.0)];
            let [low, high] = widen([least(upper[0], lower[0]), -least(-upper[1], -lower[1])]);
            first[i] = first_block(low - origin[0], width, count);
            end[i] = blocks_end(high - origin[0], width, count).max(first[i]);
        }
        let mut spans = [[0; 2]; ROWS];
        for i in 0..ROWS {
            spans[i] = [whole(first[i]), whole(end[i])];
        }
        spans
    }

    /// The blocks that an ellipse may reach in these rows, of a tile of [`ROWS`] rows and 64 blocks at most: a
    /// bit for each. Without branches, for any number of rows.
    #[inline(always)]
    fn word(&self, ellipse: &Ellipse, rows: Range<usize>) -> u64 {
        let (mut word, across) = (0, self.blocks[0]);
        for (row, [first, end]) in self.columns(ellipse, 0).into_iter().enumerate() {
            word |= ((1u64 << end) - (1u64 << first)) << (row * across);
        }
        // A row that misses the ellipse may have some span.
        word & u64::MAX >> (64 - across * rows.end) & u64::MAX << (across * rows.start)
    }
}

/// A pixel of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pixel {
    /// Index in the image.
    pub(crate) index: usize,
    /// Column and row in the tile.
    at: [usize; 2],
    /// Its block in the tile.
    pub(crate) block: usize,
    /// Its place in the block.
    pub(crate) lane: usize,
}

impl Pixel {
    /// Its place in a tile of this width and height, row by row.
    pub(crate) fn place(&self, [width, _]: [u32; 2]) -> usize {
        self.at[1] * width as usize + self.at[0]
    }
}

#[inline(always)]
fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Rows of blocks whose spans are computed together: those of a tile of 16 x 16 pixels.
const ROWS: usize = 8;

/// First of `count` blocks of `side` pixels that holds a sample point at or beyond `low`, in pixels from
/// the first sample point: block b has the points from b `side` to b `side` + `side` - 1.
#[inline(always)]
fn first_block(low: f64, side: f64, count: f64) -> f64 {
    ((low - (side - 1.0)) / side).ceil().max(0.0).min(count)
}

/// One more than the last of `count` blocks of `side` pixels that holds a sample point at or before
/// `high`.
#[inline(always)]
fn blocks_end(high: f64, side: f64, count: f64) -> f64 {
    ((high / side).floor() + 1.0).max(0.0).min(count)
}

/// A whole number from 0 to 2^16 - 1, as such: 2^52 + x has x in its low bits. A cast does the same, but
/// looks for what lies beyond, which no vector instruction does.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a tile has fewer than 2^16 blocks a row")]
fn whole(x: f64) -> u16 {
    (x + 4_503_599_627_370_496.0).to_bits() as u16
}

/// Something per channel: an array where their number is known to the compiler, which then keeps
/// it in registers.
pub(crate) trait PerChannel<T>: AsRef<[T]> + AsMut<[T]> {
    fn all(value: T, channels: usize) -> Self;
}

impl<T: Copy, const D: usize> PerChannel<T> for [T; D] {
    #[inline(always)]
    fn all(value: T, _: usize) -> Self {
        [value; D]
    }
}

impl<T: Copy> PerChannel<T> for Vec<T> {
    #[inline(always)]
    fn all(value: T, channels: usize) -> Self {
        vec![value; channels]
    }
}

/// One listed Gaussian, ready for the walk over a tile.
#[derive(Clone, Debug)]
pub(crate) struct Entry<S> {
    pub(crate) id: usize,
    /// Position in the tile's list.
    pub(crate) depth: usize,
    pub(crate) footprint: Footprint<S>,
    /// Where its blocks stand.
    words: Range<usize>,
}

impl<S> Entry<S> {
    /// An entry for a walk that asks the footprint, pixel by pixel.
    pub(crate) fn alone(id: usize, depth: usize, footprint: Footprint<S>) -> Self {
        Self { id, depth, footprint, words: 0..0 }
    }
}

/// A part of a tile's list: the Gaussians that may reach the tile's pixels.
pub(crate) struct Entries<S> {
    pub(crate) list: Vec<Entry<S>>,
    /// The blocks that each entry may reach: a bit for each block of the tile.
    words: Vec<u64>,
    /// The footprints of all Gaussians of the part.
    found: Vec<Footprint<S>>,
    /// `[list, D]`
    colors: Vec<S>,
}

/// Entries that are prepared together: few enough that a tile which stops early has prepared few that it
/// does not use, many enough that their memory accesses overlap.
pub(crate) const BATCH: usize = 64;

impl<S: Scalar> Entries<S> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { list: Vec::new(), words: Vec::new(), found: Vec::new(), colors: Vec::new() }
    }

    /// Replaces the entries by those of `ids`, whose first has position `depth` in the tile's list.
    ///
    /// Gaussians lie anywhere in memory: they are copied in loops that do nothing else, so that
    /// the processor waits for many of them at once.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        tile: &Tile<S>,
        footprints: &[Footprint<S>],
        splats: &Splats<S>,
        ids: &[u32],
        depth: usize,
    ) {
        self.found.clear();
        self.found.extend(ids.iter().map(|&id| footprints[id as usize]));
        self.list.clear();
        self.words.clear();
        for (i, &id) in ids.iter().enumerate() {
            if let Some(words) = self.place(tile, i) {
                let (id, depth, footprint) = (id as usize, depth + i, self.found[i]);
                self.list.push(Entry { id, depth, footprint, words });
            }
        }
        self.colors.clear();
        for entry in &self.list {
            self.colors.extend(splats.color(entry.id));
        }
    }

    /// Writes which blocks Gaussian `i` of the part may reach; gives where, or nothing where it is none.
    #[inline(always)]
    fn place(&mut self, tile: &Tile<S>, i: usize) -> Option<Range<usize>> {
        let footprint = &self.found[i];
        let rows = tile.rows(footprint);
        if rows.is_empty() {
            return None;
        }
        let (start, ellipse) = (self.words.len(), footprint.ellipse());
        if tile.blocks[0] * ROWS <= 64 && tile.blocks[1] == ROWS {
            self.words.push(tile.word(&ellipse, rows));
        } else {
            self.place_in_any(tile, &ellipse, rows);
        }
        let any = self.words[start..].iter().any(|&word| word != 0);
        if !any {
            self.words.truncate(start);
        }
        any.then_some(start..self.words.len())
    }

    /// The words of a tile of any size.
    #[inline(never)]
    fn place_in_any(&mut self, tile: &Tile<S>, ellipse: &Ellipse, rows: Range<usize>) {
        let (start, across) = (self.words.len(), tile.blocks[0]);
        self.words.resize(start + tile.len().div_ceil(64), 0);
        for row in rows.clone().step_by(ROWS) {
            let spans = tile.columns(ellipse, row);
            for (row, &[first, end]) in (row..rows.end).zip(&spans) {
                for column in first..end {
                    let at = row * across + usize::from(column);
                    self.words[start + at / 64] |= 1 << (at % 64);
                }
            }
        }
    }

    /// The colour of entry number `i`, `[D]`.
    #[inline(always)]
    pub(crate) fn color(&self, i: usize, channels: usize) -> &[S] {
        &self.colors[i * channels..(i + 1) * channels]
    }

    /// The blocks that an entry may reach, ascending.
    #[inline(always)]
    pub(crate) fn blocks(&self, entry: &Entry<S>) -> impl Iterator<Item = usize> {
        let words = (0..).step_by(64).zip(&self.words[entry.words.clone()]);
        words.flat_map(|(first, &word)| Ones(word).map(move |bit| first + bit))
    }

    /// The columns and the rows of blocks that an entry may reach.
    #[inline(always)]
    pub(crate) fn extent(&self, entry: &Entry<S>, tile: &Tile<S>) -> [Range<usize>; 2] {
        let (mut first, mut end) = ([usize::MAX; 2], [0; 2]);
        for at in self.blocks(entry) {
            for (axis, &place) in tile.places[at].iter().enumerate() {
                (first[axis], end[axis]) = (first[axis].min(place), end[axis].max(place + 1));
            }
        }
        [first[0]..end[0], first[1]..end[1]]
    }
}

/// The positions of a word's ones, ascending.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.checked_sub(1)?;
        Some(bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Lanes, exp};
    use crate::splat::convention::Convention;
    use crate::splat::rasterize::{Constants, Splat, alpha_at};
    use crate::splat::reach::footprints;
    use crate::splat::view::TileLists;
    use proptest::prelude::*;

    /// The pixels of a 19 x 18 image in tiles of this width and height at which the walk would see the
    /// Gaussian although `fill` left them out.
    fn lost<S: Lanes<Elem = S, Mask = bool> + Scalar>(
        splats: &Splats<S>,
        tile_size: [u32; 2],
    ) -> usize {
        let convention = Convention { tile_size, ..Convention::inria() };
        let (background, tiles) = ([S::from_f64(0.0)], convention.tiles([19, 18]));
        let count = tiles[0] * tiles[1];
        let lists = TileLists {
            tiles,
            tile_size: convention.tile_size,
            tile_offsets: (0..=count).collect(),
            flatten_ids: vec![0; count as usize],
        };
        let view = RasterView {
            width: 19,
            height: 18,
            convention: &convention,
            splats,
            lists: &lists,
            background: &background,
        };
        let footprints = footprints(&view);
        let constants = Constants::new(&convention, background[0]);
        let splat = Splat::new(&footprints[0], background[0]);
        let mut lost = 0;
        for number in 0..count as usize {
            let (tile, mut entries) = (Tile::new(&view, number), Entries::new());
            entries.fill(&tile, &footprints, splats, &[0], 0);
            if tile.blocks[0] * ROWS <= 64 && tile.blocks[1] == ROWS {
                one_word_is_as_any(&tile, &mut Entries::new(), &footprints[0]);
            }
            let mut reached = vec![false; tile.len()];
            for at in entries.list.iter().flat_map(|entry| entries.blocks(entry)) {
                reached[at] = true;
            }
            lost += tile
                .pixels(0)
                .filter(|at| {
                    let across = tile.blocks[0];
                    let sample = [
                        tile.samples[0][at.block % across][at.lane],
                        tile.samples[1][at.block / across][at.lane],
                    ];
                    alpha_at(&splat, &constants, sample).visible && !reached[at.block]
                })
                .count();
        }
        lost
    }

    fn one_word_is_as_any<S: Scalar>(
        tile: &Tile<S>,
        entries: &mut Entries<S>,
        footprint: &Footprint<S>,
    ) {
        let (ellipse, rows) = (footprint.ellipse(), tile.rows(footprint));
        if !rows.is_empty() {
            entries.place_in_any(tile, &ellipse, rows.clone());
            assert_eq!(entries.words, [tile.word(&ellipse, rows)], "another word");
        }
    }

    proptest! {
        #[test]
        fn no_visible_pixel_is_left_out(
            mean in [-30.0f32..50.0, -30.0f32..50.0],
            [a, c] in [-9.0f64..3.0, -9.0f64..3.0],
            distance_to_one in 0.0f64..14.0,
            negative: bool,
            opacity in prop_oneof![0.0f32..1.0, Just(1.0 / 255.0), Just(1.0)],
            width in prop_oneof![Just(16), Just(8), Just(4), Just(24), Just(32), Just(33)],
            height in prop_oneof![Just(16), Just(8), Just(4), Just(12), Just(24), Just(33)],
        ) {
            let (a, c) = (exp(a), exp(c));
            let rho = (1.0 - exp(-distance_to_one)) * if negative { -1.0 } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, reason = "the kernels' inputs are f32")]
            let conic = [a, rho * (a * c).sqrt(), c].map(|x| x as f32);
            let single = Splats {
                means2d: vec![mean],
                conics: vec![conic],
                opacities: vec![opacity],
                channels: 1,
                colors: vec![1.0f32],
            };
            prop_assert_eq!(lost(&single, [width, height]), 0, "in f32");
            prop_assert_eq!(lost(&single.map(f64::from), [width, height]), 0, "in f64");
        }
    }
}
