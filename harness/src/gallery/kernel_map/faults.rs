//! What kernels with a known fault return: the definition with the mistake in it, row by row.

use super::super::exact::BLOCK;
use super::super::sites::Case;
use splatcheck_reference::sparse::Site;

/// What a query without a source has.
pub(super) const NONE: i32 = -1;

/// What a block is filled up with on each axis.
const SENTINEL: i64 = 0x3fff_ffff;

/// Eight bits of the kernel's hash of a site.
fn short_hash(site: Site) -> u32 {
    let mix = |hash: u32, at: i32| {
        let hash = (hash ^ at.cast_unsigned()).wrapping_mul(16_777_619);
        hash ^ (hash >> 15)
    };
    site.into_iter().fold(2_166_136_261, mix) & 255
}

/// A mistake of a kernel map, of public kernels where they are known to have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gallery) enum Fault {
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
    HalfMirrored,
    HashForSite,
    SentinelIsASite,
}

impl Fault {
    /// In the order of the planted bugs.
    pub(super) const ALL: [Self; 14] = [
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
        Self::HalfMirrored,
        Self::HashForSite,
        Self::SentinelIsASite,
    ];

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
            Self::HalfMirrored => "half of the map is the other half mirrored",
            Self::HashForSite => "sites with equal hashes are taken for equal",
            Self::SentinelIsASite => "what fills a block up is taken for a site",
        }
    }

    /// Whether the fault gives this map. Which of several sites of one hash is found is up to the order of threads.
    pub(super) fn gives(self, case: &Case, map: &[i32]) -> bool {
        if self != Self::HashForSite {
            return map == self.map(case);
        }
        let (sources, queries) = case.ends();
        let right = self.map(case);
        let mut at = right.iter().zip(map).enumerate();
        map.len() == right.len()
            && at.all(|(at, (right, found))| {
                let (k, (query, _)) = (at / queries.len(), queries[at % queries.len()]);
                let wanted = self.source(case, i64::try_from(k).unwrap_or(i64::MAX), &query);
                let source = usize::try_from(*found).ok().and_then(|row| sources.get(row));
                let has_hash = |(site, _): &(Site, u32)| {
                    let narrow = wanted.map(i32::try_from);
                    narrow.iter().all(Result::is_ok)
                        && short_hash(*site) == short_hash(narrow.map(Result::unwrap_or_default))
                };
                right == found || source.is_some_and(has_hash)
            })
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
                    (Self::HalfMirrored, _) if 2 * k >= offsets => {
                        let finds = |query: &(Site, u32)| {
                            Some(&self.source(case, offsets - 1 - k, &query.0)) == sites.get(q)
                        };
                        queries.iter().position(finds)
                    }
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
            Self::SentinelIsASite if !is_there && !sites.len().is_multiple_of(BLOCK) => {
                let fills = |last: &[i64; 4]| wanted == [last[0], SENTINEL, SENTINEL, SENTINEL];
                sites.last().is_some_and(fills).then_some(sites.len())
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
