//! Binning: which tiles list which Gaussians, in which order.
//!
//! Order in a tile: by depth as f32, ties by index.

use crate::convention::{Convention, Extent};
use crate::project::Projection;
use crate::scalar::{Scalar, ln};
use crate::view::TileLists;
use rayon::prelude::*;

/// Half-size in pixels of the rectangle in which a Gaussian is listed.
fn radii(extent: Extent, covariance: [f64; 3], opacity: f64, alpha_min: f64) -> [f64; 2] {
    let [a, b, c] = covariance;
    match extent {
        Extent::Square { sigmas, root_floor } => {
            let mid = 0.5 * (a + c);
            let lambda = mid + (mid * mid - (a * c - b * b)).max(root_floor).sqrt();
            let radius = (sigmas * lambda.sqrt()).ceil();
            [radius, radius]
        }
        Extent::PerAxis { max_sigmas } => {
            if opacity < alpha_min {
                return [0.0; 2];
            }
            let sigmas = (2.0 * ln(opacity / alpha_min)).sqrt().min(max_sigmas);
            [(sigmas * a.sqrt()).ceil(), (sigmas * c.sqrt()).ceil()]
        }
    }
}

/// Tiles `[x0, x1) x [y0, y1)` in which a Gaussian is listed.
///
/// With mean m and radius r a tile of side s is listed from floor((m - r)/s) on. The square extent
/// ends before floor((m + r + s - 1)/s), the per-axis one before ceil((m + r)/s).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float to integer casts saturate, and negative values are cut to 0 first"
)]
fn rectangle<S: Scalar>(
    p: &Projection<S>,
    convention: &Convention,
    tiles: [u32; 2],
) -> [[u32; 2]; 2] {
    let covariance = p.covariance.map(S::value);
    let radii = radii(convention.extent, covariance, p.opacity.value(), convention.alpha_min);
    let side = f64::from(convention.tile_size);
    [0, 1].map(|i| {
        let (mean, r) = (p.mean2d[i].value(), radii[i]);
        if r == 0.0 {
            return [0, 0];
        }
        let first = ((mean - r) / side).floor().max(0.0) as u32;
        let end = match convention.extent {
            Extent::Square { .. } => ((mean + r + side - 1.0) / side).floor(),
            Extent::PerAxis { .. } => ((mean + r) / side).ceil(),
        };
        let end = end.max(0.0) as u32;
        [first.min(tiles[i]), end.min(tiles[i])]
    })
}

/// More (tile, Gaussian) pairs than an i32 position can number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the scene lists {pairs} (tile, Gaussian) pairs, more than the 2147483647 that can be \
     numbered: use a smaller image or smaller Gaussians"
)]
pub struct TooManyPairs {
    /// Pairs that would be listed.
    pub pairs: u64,
}

/// Where one Gaussian is listed: in the tiles `[x0, x1) x [y0, y1)`, at its depth as f32 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    depth: u32,
    rectangle: [[u32; 2]; 2],
}

impl Listing {
    /// For an image of so many tiles in x and y.
    pub(crate) fn new<S: Scalar>(
        p: &Projection<S>,
        convention: &Convention,
        tiles: [u32; 2],
    ) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the depth key is f32 by convention")]
        let depth = p.depth.value() as f32;
        // Visible depths are positive, so their bits order as they do.
        Self { depth: depth.to_bits(), rectangle: rectangle(p, convention, tiles) }
    }
}

/// Lists every visible Gaussian in the tiles of its rectangle; `tiles` is their number in x and y.
///
/// # Errors
/// [`TooManyPairs`].
pub(crate) fn bin(
    listings: &[Option<Listing>],
    tile_size: u32,
    tiles: [u32; 2],
) -> Result<TileLists, TooManyPairs> {
    let mut visible: Vec<(u32, u32, [[u32; 2]; 2])> = listings
        .par_iter()
        .enumerate()
        .filter_map(|(id, listing)| {
            let Listing { depth, rectangle } = (*listing)?;
            #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^32")]
            Some((depth, id as u32, rectangle))
        })
        .filter(|(_, _, [x, y])| x[0] < x[1] && y[0] < y[1])
        .collect();
    visible.par_sort_unstable_by_key(|&(depth, id, _)| (depth, id));
    let across = tiles[0] as usize;
    let tiles_of = |[x, y]: [[u32; 2]; 2]| {
        (y[0]..y[1])
            .flat_map(move |ty| (x[0]..x[1]).map(move |tx| ty as usize * across + tx as usize))
    };
    let area = |[x, y]: [[u32; 2]; 2]| u64::from(x[1] - x[0]) * u64::from(y[1] - y[0]);
    let pairs = visible.iter().map(|&(_, _, rectangle)| area(rectangle)).sum();
    if pairs > i32::MAX as u64 {
        return Err(TooManyPairs { pairs });
    }
    let mut tile_offsets = vec![0u32; across * tiles[1] as usize + 1];
    for &(_, _, rectangle) in &visible {
        for tile in tiles_of(rectangle) {
            tile_offsets[tile + 1] += 1;
        }
    }
    for tile in 1..tile_offsets.len() {
        tile_offsets[tile] += tile_offsets[tile - 1];
    }
    let mut next = tile_offsets.clone();
    let mut flatten_ids = vec![0; *tile_offsets.last().unwrap_or(&0) as usize];
    for &(_, id, rectangle) in &visible {
        for tile in tiles_of(rectangle) {
            flatten_ids[next[tile] as usize] = id;
            next[tile] += 1;
        }
    }
    Ok(TileLists { tiles, tile_size, tile_offsets, flatten_ids })
}
