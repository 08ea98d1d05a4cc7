//! The rows that a forward projection kept: which they are, as the kernel says it itself.
//!
//! gsplat's packed projection writes a row for what is visible alone. `indptr` says where the rows of each camera
//! begin and where the last one's end, `camera_ids` and `gaussian_ids` whose row it is. How many rows there are is
//! known only after the run.

use std::collections::BTreeMap;

use super::array::Array;
use super::symbols::Symbols;
use super::tensor::Tensor;

/// The tensors that say which rows there are.
pub const LIST: [Tensor; 3] = [Tensor::Indptr, Tensor::CameraIds, Tensor::GaussianIds];

/// Whether a tensor says which rows there are.
#[must_use]
pub fn is_list(tensor: Tensor) -> bool {
    LIST.contains(&tensor)
}

/// Why a kernel's list of rows is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRows {
    /// The first camera's rows begin elsewhere.
    #[error("indptr[0] is {0}: the rows of the first camera begin at 0")]
    Begin(i32),
    /// A camera's rows end before they begin, or beyond the last that there can be.
    #[error(
        "indptr[{at}] is {found}: expected a number from {least}, where that camera's rows begin, to {most}"
    )]
    End {
        /// The place in `indptr`.
        at: usize,
        /// What it holds.
        found: i32,
        /// Where the rows begin.
        least: usize,
        /// Projections, C N.
        most: usize,
    },
    /// A row is of another camera than the one that it is listed under.
    #[error("camera_ids[{row}] is {found}: by indptr the row is camera {camera}'s")]
    Camera {
        /// The row.
        row: usize,
        /// What it holds.
        found: i32,
        /// Its camera by `indptr`.
        camera: usize,
    },
    /// There is no such Gaussian.
    #[error("gaussian_ids[{row}] is {found}: the Gaussians are numbered from 0, below {count}")]
    Gaussian {
        /// The row.
        row: usize,
        /// What it holds.
        found: i32,
        /// Gaussians.
        count: usize,
    },
    /// Two rows are of one Gaussian and camera.
    #[error(
        "gaussian_ids[{row}] is {found}, as is gaussian_ids[{before}] of the same camera: each has one row"
    )]
    Twice {
        /// The row.
        row: usize,
        /// The row before it.
        before: usize,
        /// The Gaussian.
        found: i32,
    },
}

/// What of the arrays holds a tensor: its numbers, row after row.
fn column(held: &[(&Array, Vec<u32>)], tensor: Tensor, symbols: &Symbols) -> Option<Vec<i32>> {
    let (array, words) = held.iter().find(|(array, _)| array.holds(tensor))?;
    let numbers = array.column(tensor, words, symbols);
    Some(numbers.into_iter().map(u32::cast_signed).collect())
}

/// Where the rows of each camera end, from `indptr`.
///
/// # Errors
/// [`NoRows`] where it does not begin with 0, falls, or ends beyond C N.
pub fn ends(indptr: &[i32], symbols: &Symbols) -> Result<Vec<usize>, NoRows> {
    let most = symbols.cameras * symbols.gaussians;
    let mut numbers = indptr.iter().copied().enumerate();
    if let Some((_, begin)) = numbers.next().filter(|(_, begin)| *begin != 0) {
        return Err(NoRows::Begin(begin));
    }
    let mut least = 0;
    let end = |(at, found): (usize, i32)| {
        let fits = usize::try_from(found).ok().filter(|end| (least..=most).contains(end));
        least = fits.ok_or(NoRows::End { at, found, least, most })?;
        Ok(least)
    };
    numbers.map(end).collect()
}

/// The places in `[C,N]` of a forward projection's rows, in their order; `None` where it has a row for everything.
///
/// # Errors
/// [`NoRows`] where what it says of its rows contradicts itself.
pub fn rows(held: &[(&Array, Vec<u32>)], symbols: &Symbols) -> Result<Option<Vec<usize>>, NoRows> {
    let [indptr, cameras, gaussians] = LIST.map(|tensor| column(held, tensor, symbols));
    let Some(((indptr, cameras), gaussians)) = indptr.zip(cameras).zip(gaussians) else {
        return Ok(None);
    };
    let (mut places, mut seen, mut begin) = (Vec::new(), BTreeMap::new(), 0);
    for (camera, end) in ends(&indptr, symbols)?.into_iter().enumerate() {
        for row in begin..end {
            let (found, id) = (cameras[row], gaussians[row]);
            if usize::try_from(found) != Ok(camera) {
                return Err(NoRows::Camera { row, found, camera });
            }
            let count = symbols.gaussians;
            let known = usize::try_from(id).ok().filter(|id| *id < count);
            let known = known.ok_or(NoRows::Gaussian { row, found: id, count })?;
            let place = camera * count + known;
            if let Some(before) = seen.insert(place, row) {
                return Err(NoRows::Twice { row, before, found: id });
            }
            places.push(place);
        }
        begin = end;
    }
    Ok(Some(places))
}

#[cfg(test)]
mod tests;
