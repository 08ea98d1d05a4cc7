//! What kernels with a known fault return: the definition with the mistake in it, row by row.

use super::cases::Case;
use super::{BLOCK, NONE};
use splatcheck_reference::sparse::Site;

/// A mistake of a kernel map, of public kernels where they are known to have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NotCompared,
    LastMissed,
    FirstAxisFastest,
    BatchForgotten,
    DilationForgotten,
    Wraps,
    EvenCentred,
    IdentityGuessed,
    RowBeyondEnd,
    Truncates,
    DividesFloats,
}

impl Fault {
    /// In the order of the planted bugs.
    pub(super) const ALL: [Self; 11] = [
        Self::NotCompared,
        Self::LastMissed,
        Self::FirstAxisFastest,
        Self::BatchForgotten,
        Self::DilationForgotten,
        Self::Wraps,
        Self::EvenCentred,
        Self::IdentityGuessed,
        Self::RowBeyondEnd,
        Self::Truncates,
        Self::DividesFloats,
    ];

    /// The fault that is planted as this bug.
    pub(super) fn of_bug(number: usize) -> Option<Self> {
        Self::ALL.get(number.checked_sub(1)?).copied()
    }

    /// What is wrong.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::NotCompared => "what the search ends at is not compared with what it looks for",
            Self::LastMissed => "the last source of a block is never found",
            Self::FirstAxisFastest => "offsets are counted with the first axis fastest",
            Self::BatchForgotten => "all queries are taken for batch 0",
            Self::DilationForgotten => "the dilation is left out",
            Self::Wraps => "coordinates wrap in 32 bits",
            Self::EvenCentred => "offsets of an even kernel begin at 1 - size / 2",
            Self::IdentityGuessed => "as many outputs as inputs are taken for the same sites",
            Self::RowBeyondEnd => "a query without a source has the row behind the last",
            Self::Truncates => "the division by the stride rounds towards zero",
            Self::DividesFloats => "the division by the stride is one of f32",
        }
    }

    /// The source's row of offset k and query q at k Q + q.
    pub(super) fn map(self, case: &Case) -> Vec<i32> {
        let (sources, queries) = case.ends();
        let sites: Vec<[i64; 4]> = sources.iter().map(|(site, _)| site.map(i64::from)).collect();
        let size = case.kernel.size.map(i64::from);
        let offsets: i64 = size.iter().product();
        let mut map = Vec::new();
        for k in 0..offsets {
            for (q, (query, _)) in queries.iter().enumerate() {
                let row = self.row(&sites, self.source(case, k, query));
                let is_odd = size.iter().all(|size| size % 2 == 1);
                let guesses = is_odd && sites.len() == queries.len() && k == offsets / 2;
                let row = match (self, row) {
                    (Self::IdentityGuessed, _) if guesses => Some(q),
                    (Self::RowBeyondEnd, None) => Some(sites.len()),
                    (_, row) => row,
                };
                map.push(row.map_or(NONE, |row| i32::try_from(row).unwrap_or(i32::MAX)));
            }
        }
        map
    }

    /// Where offset k looks for the source of a query.
    fn source(self, case: &Case, k: i64, query: &Site) -> [i64; 4] {
        let size = case.kernel.size.map(i64::from);
        let [stride, padding, dilation] =
            [case.kernel.stride, case.kernel.padding, case.kernel.dilation]
                .map(|n| n.map(i64::from));
        let [x, y, z] = size;
        let steps = match self {
            Self::FirstAxisFastest => [k % x, k / x % y, k / (x * y)],
            _ => [k / (y * z), k / z % y, k % z],
        };
        std::array::from_fn(|axis| {
            let Some(a) = axis.checked_sub(1) else {
                return if self == Self::BatchForgotten { 0 } else { i64::from(query[0]) };
            };
            let step = if self == Self::DilationForgotten { 1 } else { dilation[a] };
            let at = i64::from(query[axis]) * stride[a] - padding[a] + steps[a] * step;
            match self {
                #[expect(clippy::cast_possible_truncation, reason = "the fault")]
                Self::Wraps => i64::from(at as i32),
                Self::EvenCentred if size[a] % 2 == 0 => at - (size[a] / 2 - 1) * dilation[a],
                _ => at,
            }
        })
    }

    /// The row of a source among those in order.
    fn row(self, sites: &[[i64; 4]], wanted: [i64; 4]) -> Option<usize> {
        let row = sites.partition_point(|site| *site < wanted);
        let is_there = sites.get(row) == Some(&wanted);
        match self {
            Self::NotCompared => {
                let block = sites.iter().step_by(BLOCK).filter(|first| **first <= wanted).count();
                let end = sites.len().min(block.max(1) * BLOCK);
                (row < end).then_some(row)
            }
            Self::LastMissed => {
                (is_there && (row + 1) % BLOCK != 0 && row + 1 < sites.len()).then_some(row)
            }
            _ => is_there.then_some(row),
        }
    }

    /// The sites of the next layer.
    pub(super) fn downsampled(self, case: &Case) -> Vec<Site> {
        let divided = |site: &Site| -> Site {
            std::array::from_fn(|axis| {
                let Some(a) = axis.checked_sub(1) else { return site[0] };
                let (at, stride) = (site[axis], i32::from(case.kernel.stride[a]));
                match self {
                    Self::Truncates => at / stride,
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_precision_loss,
                        reason = "the fault"
                    )]
                    Self::DividesFloats => (at as f32 / stride as f32).floor() as i32,
                    _ => at.div_euclid(stride),
                }
            })
        };
        case.ends().0.iter().map(|(site, _)| divided(site)).collect()
    }
}
