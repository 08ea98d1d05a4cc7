//! Binning over intervals: which tiles list a Gaussian in every conforming program, and which only
//! in some.

use crate::arithmetic::{Bounded, Model, Scalar, Tristate};
use crate::splat::bin::{
    Rectangle, TooManyPairs, first_and_end, half_size, lists, rectangle, whole_tiles,
};
use crate::splat::convention::Convention;
use crate::splat::project::Projection;
use crate::splat::view::TileLists;
use rayon::prelude::*;

/// A Gaussian that some tile may list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<M> {
    pub(super) id: u32,
    pub(super) depth: Bounded<M>,
    /// Tiles that list it in some program, in every program, and by the values.
    outer: Rectangle,
    inner: Rectangle,
    nominal: Rectangle,
}

/// The lists of all tiles, as long as any program's: Gaussians in the order of the values' depths.
#[derive(Clone, Debug)]
pub(super) struct Candidates<M> {
    sorted: Vec<Candidate<M>>,
    /// Indices of Gaussians.
    pub(super) lists: TileLists,
    /// `[M]` positions in `sorted`, parallel to `lists.flatten_ids`.
    ranks: Vec<u32>,
}

impl<M: Model> Candidate<M> {
    fn new(id: u32, p: &Projection<Bounded<M>>, convention: &Convention, tiles: [u32; 2]) -> Self {
        let [outer, mut inner] = rectangles(p, convention, tiles);
        if p.seen == Tristate::Undecided {
            inner = [[0; 2]; 2];
        }
        let nominal = rectangle(p, convention, tiles);
        Self { id, depth: p.depth, outer, inner, nominal }
    }

    /// Whether the tile lists it, and what the values decide.
    fn listed(&self, tile: [u32; 2]) -> (Tristate, bool) {
        let holds = |r: &Rectangle| (0..2).all(|i| (r[i][0]..r[i][1]).contains(&tile[i]));
        (
            if holds(&self.inner) { Tristate::Always } else { Tristate::Undecided },
            holds(&self.nominal),
        )
    }
}

/// The tiles that list a Gaussian in some conforming program and those that do in all.
fn rectangles<M: Model>(
    p: &Projection<Bounded<M>>,
    convention: &Convention,
    tiles: [u32; 2],
) -> [Rectangle; 2] {
    let half = half_size(p, convention);
    let mut both = [[[0; 2]; 2]; 2];
    for i in 0..2 {
        // A program rounds some number between the ends up: any radius between the rounded ends.
        let [low, high] = half[i].ends().map(|x| x.ceil().max(0.0));
        let [first, end] = if high == f64::INFINITY {
            [Bounded::new(0.0, f64::INFINITY); 2]
        } else {
            let radius =
                if low == high { Bounded::from_f64(low) } else { Bounded::between(low, high) };
            first_and_end(p.mean2d[i], radius, convention, i)
        };
        let ([first_low, first_high], [end_low, end_high]) = (first.ends(), end.ends());
        if high > 0.0 {
            both[0][i] = whole_tiles([first_low, end_high], convention, tiles[i]);
        }
        // A radius of 0 is listed nowhere.
        if low > 0.0 {
            both[1][i] = whole_tiles([first_high, end_low], convention, tiles[i]);
        }
    }
    both
}

impl<M: Model> Candidates<M> {
    /// Lists every Gaussian in the tiles where it may be listed.
    ///
    /// # Errors
    /// [`TooManyPairs`].
    pub(super) fn new(
        projections: &[Option<Projection<Bounded<M>>>],
        convention: &Convention,
        size: [u32; 2],
    ) -> Result<Self, TooManyPairs> {
        let tiles = convention.tiles(size);
        let mut sorted: Vec<Candidate<M>> = projections
            .par_iter()
            .enumerate()
            .filter_map(|(id, p)| {
                #[expect(clippy::cast_possible_truncation, reason = "indices fit u32")]
                Some(Candidate::new(id as u32, p.as_ref()?, convention, tiles))
            })
            .filter(|c| c.outer.iter().all(|[first, end]| first < end))
            .collect();
        #[expect(clippy::cast_possible_truncation, reason = "the depth key is f32 by convention")]
        let key = |c: &Candidate<M>| c.depth.value() as f32;
        sorted.par_sort_unstable_by(|a, b| key(a).total_cmp(&key(b)).then(a.id.cmp(&b.id)));
        let listed: Vec<_> = (0..).zip(sorted.iter().map(|c| c.outer)).collect();
        let mut lists = lists(&listed, convention.tile_size, tiles)?;
        let ids = lists.flatten_ids.iter().map(|&rank| sorted[rank as usize].id).collect();
        let ranks = std::mem::replace(&mut lists.flatten_ids, ids);
        Ok(Self { sorted, lists, ranks })
    }

    /// The candidates of a tile, with whether the tile lists each and what the values decide.
    pub(super) fn of_tile(
        &self,
        tile: usize,
    ) -> impl Iterator<Item = (&Candidate<M>, Tristate, bool)> {
        #[expect(clippy::cast_possible_truncation, reason = "tiles are counted in u32")]
        let number = tile as u32;
        let place = [number % self.lists.tiles[0], number / self.lists.tiles[0]];
        self.ranks[self.lists.range(tile)].iter().map(move |&rank| {
            let candidate = &self.sorted[rank as usize];
            let (listed, nominal) = candidate.listed(place);
            (candidate, listed, nominal)
        })
    }
}
