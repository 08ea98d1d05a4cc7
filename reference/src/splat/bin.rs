//! Binning: which tiles list which Gaussians, in which order.
//!
//! Order in a tile: by depth as f32, ties by index.

use crate::arithmetic::Scalar;
use crate::splat::convention::{Convention, Extent};
use crate::splat::project::{CameraParams, Projection, project_one, write_color};
use crate::splat::scene::Gaussians;
use crate::splat::view::{Splats, TileLists};
use rayon::prelude::*;

/// Half-size in pixels of the rectangle in which a Gaussian is listed, before it is rounded up to
/// whole pixels; a Gaussian with half-size 0 is listed nowhere.
pub(crate) fn half_size<S: Scalar>(p: &Projection<S>, convention: &Convention) -> [S; 2] {
    let [a, _, c] = p.covariance;
    match convention.extent {
        Extent::Square { sigmas, root_floor } => {
            let mid = S::from_f64(0.5) * (a + c);
            let lambda = mid + discriminant(p.covariance).root_above(root_floor);
            let radius = S::from_f64(sigmas) * lambda.sqrt();
            [radius, radius]
        }
        Extent::PerAxis { max_sigmas } => {
            let sigmas = S::from_f64(max_sigmas).min(cut(p.opacity, convention));
            [sigmas * a.sqrt(), sigmas * c.sqrt()]
        }
    }
}

/// The square of half the difference of the eigenvalues of a 2D covariance.
pub(crate) fn discriminant<S: Scalar>([a, b, c]: [S; 3]) -> S {
    let mid = S::from_f64(0.5) * (a + c);
    mid * mid - (a * c - b * b)
}

/// Standard deviations at which alpha falls to `alpha_min`: 0 for an opacity below it.
pub(crate) fn cut<S: Scalar>(opacity: S, convention: &Convention) -> S {
    let ratio = opacity / S::from_f64(convention.alpha_min);
    (S::from_f64(2.0) * ratio.ln()).root_above(0.0)
}

/// First tile along an axis in which a Gaussian with this mean and radius is listed, and the one after
/// the last, before they are rounded down and cut to the image.
///
/// With mean m and radius r a tile of side s is listed from floor((m - r)/s) on. The square extent
/// ends before floor((m + r + s - 1)/s), the per-axis one before ceil((m + r)/s).
pub(crate) fn first_and_end<S: Scalar>(
    mean: S,
    radius: S,
    convention: &Convention,
    axis: usize,
) -> [S; 2] {
    let side = S::from_f64(f64::from(convention.tile_size[axis]));
    let end = mean + radius;
    let end = match convention.extent {
        Extent::Square { .. } => end + side - S::from_f64(1.0),
        Extent::PerAxis { .. } => end,
    };
    [(mean - radius) / side, end / side]
}

/// The whole numbers of tiles from [`first_and_end`]: rounded and cut to `0..tiles`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float to integer casts saturate, and negative values are cut to 0 first"
)]
pub(crate) fn whole_tiles([first, end]: [f64; 2], convention: &Convention, tiles: u32) -> [u32; 2] {
    let end = match convention.extent {
        Extent::Square { .. } => end.floor(),
        Extent::PerAxis { .. } => end.ceil(),
    };
    [first.floor(), end].map(|x| (x.max(0.0) as u32).min(tiles))
}

/// Tiles `[x0, x1) x [y0, y1)` in which a Gaussian is listed, by the values.
pub(crate) fn rectangle<S: Scalar>(
    p: &Projection<S>,
    convention: &Convention,
    tiles: [u32; 2],
) -> Rectangle {
    let half = half_size(p, convention);
    [0, 1].map(|i| {
        let radius = S::from_f64(half[i].value().ceil());
        if !p.value_seen || radius.value() == 0.0 {
            return [0, 0];
        }
        let ends = first_and_end(p.mean2d[i], radius, convention, i).map(S::value);
        whole_tiles(ends, convention, tiles[i])
    })
}

/// The most (tile, Gaussian) pairs that are listed: an i32 numbers their positions, and the lists alone take
/// 1 GiB.
const MOST_PAIRS: u64 = 1 << 28;

/// More (tile, Gaussian) pairs than are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the scene lists {pairs} (tile, Gaussian) pairs, more than {MOST_PAIRS}, whose lists take 1 GiB: use a \
     smaller image or smaller Gaussians"
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

/// Gaussians that one thread projects together.
const PART: usize = 256;

/// Projects every Gaussian for one camera: the rasterization's inputs, and where each Gaussian is
/// listed. Culled ones hold zeros and are listed nowhere.
pub(crate) fn project<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    convention: &Convention,
    tiles: [u32; 2],
) -> (Splats<S>, Vec<Option<Listing>>) {
    let (n, channels) = (gaussians.len(), gaussians.colors.channels());
    let mut splats = Splats::zeros(n, channels);
    let mut listings = vec![None; n];
    let eye = lens.eye();
    (splats.means2d.par_chunks_mut(PART))
        .zip(splats.conics.par_chunks_mut(PART))
        .zip(splats.opacities.par_chunks_mut(PART))
        .zip(splats.colors.par_chunks_mut(PART * channels))
        .zip(listings.par_chunks_mut(PART))
        .enumerate()
        .for_each(|(part, ((((means2d, conics), opacities), colors), listings))| {
            for (i, color) in colors.chunks_exact_mut(channels).enumerate() {
                let id = part * PART + i;
                let Some(p) = project_one(gaussians, id, lens, convention) else { continue };
                (means2d[i], conics[i], opacities[i]) = (p.mean2d, p.conic, p.opacity);
                write_color(gaussians, id, eye, color);
                listings[i] = Some(Listing::new(&p, convention, tiles));
            }
        });
    (splats, listings)
}

/// Lists every visible Gaussian in the tiles of its rectangle; `tiles` is their number in x and y.
///
/// # Errors
/// [`TooManyPairs`].
pub(crate) fn bin(
    listings: &[Option<Listing>],
    tile_size: [u32; 2],
    tiles: [u32; 2],
) -> Result<TileLists, TooManyPairs> {
    let mut visible: Vec<(u32, u32, Rectangle)> = listings
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
    let listed: Vec<_> = visible.iter().map(|&(_, id, rectangle)| (id, rectangle)).collect();
    lists(&listed, tile_size, tiles)
}

/// A half-open rectangle of tiles: `[x0, x1)`, `[y0, y1)`.
pub(crate) type Rectangle = [[u32; 2]; 2];

/// Lists each number in the tiles of its rectangle, in the given order.
///
/// # Errors
/// [`TooManyPairs`].
pub(crate) fn lists(
    listed: &[(u32, Rectangle)],
    tile_size: [u32; 2],
    tiles: [u32; 2],
) -> Result<TileLists, TooManyPairs> {
    let across = tiles[0] as usize;
    let tiles_of = |[x, y]: Rectangle| {
        (y[0]..y[1])
            .flat_map(move |ty| (x[0]..x[1]).map(move |tx| ty as usize * across + tx as usize))
    };
    let area = |[x, y]: Rectangle| u64::from(x[1] - x[0]) * u64::from(y[1] - y[0]);
    let pairs = listed.iter().map(|&(_, rectangle)| area(rectangle)).sum();
    if pairs > MOST_PAIRS {
        return Err(TooManyPairs { pairs });
    }
    let mut tile_offsets = vec![0u32; across * tiles[1] as usize + 1];
    for &(_, rectangle) in listed {
        for tile in tiles_of(rectangle) {
            tile_offsets[tile + 1] += 1;
        }
    }
    for tile in 1..tile_offsets.len() {
        tile_offsets[tile] += tile_offsets[tile - 1];
    }
    let mut next = tile_offsets.clone();
    let mut flatten_ids = vec![0; *tile_offsets.last().unwrap_or(&0) as usize];
    for &(id, rectangle) in listed {
        for tile in tiles_of(rectangle) {
            flatten_ids[next[tile] as usize] = id;
            next[tile] += 1;
        }
    }
    Ok(TileLists { tiles, tile_size, tile_offsets, flatten_ids })
}
