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
#[error("{0}")]
pub struct NoRows(String);

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
        let what = format!("indptr[0] is {begin}: the rows of the first camera begin at 0");
        return Err(NoRows(what));
    }
    let mut least = 0;
    let end = |(at, found): (usize, i32)| {
        let fits = usize::try_from(found).ok().filter(|end| (least..=most).contains(end));
        let wrong = || {
            NoRows(format!(
                "indptr[{at}] is {found}: expected a number from {least}, where that camera's rows begin, to {most}"
            ))
        };
        least = fits.ok_or_else(wrong)?;
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
                let whose = format!("by indptr the row is camera {camera}'s");
                return Err(NoRows(format!("camera_ids[{row}] is {found}: {whose}")));
            }
            let wrong = |why: String| NoRows(format!("gaussian_ids[{row}] is {id}{why}"));
            let count = symbols.gaussians;
            let known = usize::try_from(id).ok().filter(|id| *id < count).ok_or_else(|| {
                wrong(format!(": the Gaussians are numbered from 0, below {count}"))
            })?;
            let place = camera * count + known;
            if let Some(before) = seen.insert(place, row) {
                let same = format!("gaussian_ids[{before}] of the same camera: each has one row");
                return Err(wrong(format!(", as is {same}")));
            }
            places.push(place);
        }
        begin = end;
    }
    Ok(Some(places))
}

#[cfg(test)]
mod tests;
