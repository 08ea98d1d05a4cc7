//! Drawn sites and kernels of sparse convolution.

use std::collections::BTreeSet;

use splatcheck_reference::sparse::{Kernel, KernelMap, Site, kernel_map};
use splatcheck_reference::splat::synthetic::Random;

/// Sites with a kernel.
pub(super) struct Case {
    /// What it is there to catch.
    pub(super) kind: &'static str,
    pub(super) kernel: Kernel,
    /// In the order in which they were drawn.
    pub(super) coords: Vec<Site>,
    /// The map; none where a site comes twice.
    pub(super) map: Option<KernelMap>,
}

/// Sites in lexicographic order, each with its row.
pub(super) type Rows = Vec<(Site, u32)>;

/// Where the output's sites come from.
enum Output {
    /// All that a pair reaches, or those of the input.
    Own,
    /// floor(site / stride), as in Minuet.
    Floor,
}

/// Every kind of case, in turn.
const KINDS: [&str; 20] = [
    "no site",
    "one site",
    "all sites of a box",
    "a line along each axis",
    "a checkerboard and a kernel of 5",
    "two sites at the dilation's distance",
    "batches with equal coordinates",
    "coordinates around 0 under a stride",
    "coordinates at 2^15, 2^20 and 2^30",
    "coordinates at both ends of 32 bits",
    "sites that come twice",
    "an even kernel",
    "a kernel of 4",
    "a flat kernel with dilation",
    "a kernel of 1 and a larger stride",
    "as many outputs as inputs, not the same sites",
    "a transposed kernel",
    "the next layer's sites, given",
    "the next layer's sites at the ends of 32 bits",
    "as many sites as blocks have, one more, one less",
];

/// A kernel of 3 on each axis over the input's own sites.
pub(super) const SUBMANIFOLD: Kernel = Kernel {
    size: [3; 3],
    stride: [1; 3],
    padding: [1; 3],
    dilation: [1; 3],
    transposed: false,
    submanifold: true,
};

impl Case {
    /// The case of an index: the kinds in turn, drawn from the seed.
    pub(super) fn drawn(index: u64, seed: u64) -> Self {
        let mut random = Random(seed ^ index.wrapping_mul(Random::STEP));
        let turn = usize::try_from(index % KINDS.len() as u64).unwrap_or(0);
        let strided = Kernel { submanifold: false, stride: [2; 3], ..SUBMANIFOLD };
        let even = Kernel { size: [2; 3], padding: [0; 3], ..strided };
        let (kernel, mut coords, output) = match turn {
            0 => (strided, Vec::new(), Output::Own),
            1 => (SUBMANIFOLD, vec![[3, -1, 7, 0]], Output::Own),
            2 => (SUBMANIFOLD, cells([5, 5, 5], |_| true), Output::Own),
            3 => (
                SUBMANIFOLD,
                cells([13, 13, 13], |at| at.iter().filter(|x| **x != 0).count() < 2),
                Output::Own,
            ),
            4 => {
                let kernel = Kernel { size: [5; 3], padding: [2; 3], ..SUBMANIFOLD };
                (kernel, cells([6, 5, 4], |at| at.iter().sum::<i32>() % 2 == 0), Output::Own)
            }
            5 => {
                let kernel = Kernel { dilation: [2; 3], padding: [2; 3], ..SUBMANIFOLD };
                (kernel, vec![[0, 1, 2, 3], [0, 1, 2, 5], [0, 1, 2, 4], [0, 3, 4, 1]], Output::Own)
            }
            6 => {
                let box_of = cells([3, 3, 3], |_| true);
                let batch = |b| move |&[_, x, y, z]: &Site| [b, x, y, z];
                let all = [0, 2, 1]
                    .into_iter()
                    .flat_map(|b| box_of.iter().map(batch(b)).collect::<Vec<_>>());
                (SUBMANIFOLD, all.collect(), Output::Own)
            }
            7 => (strided, cloud(&mut random, 60, 6, [0; 3]), Output::Own),
            8 => {
                let mut all = cloud(&mut random, 30, 4, [1 << 15, -(1 << 15), 0]);
                all.extend(cloud(&mut random, 30, 4, [-(1 << 20), 1 << 20, 1 << 15]));
                // Right before 2^30 - 1, which is no site.
                let before = |step| i32::MAX / 2 - 2 + step;
                let corner = cells([2; 3], |_| true).into_iter();
                all.extend(corner.map(|[_, x, y, z]| [1, before(x), before(y), before(z)]));
                (strided, all, Output::Own)
            }
            9 => {
                let ends = [i32::MIN, i32::MIN + 1, -1, 0, i32::MAX - 1, i32::MAX];
                let at = cells([6, 6, 3], |at| (at[0] + 2 * at[1] + at[2]) % 3 == 0);
                let end = |axis: i32| ends[usize::try_from(axis).unwrap_or(0)];
                (
                    SUBMANIFOLD,
                    at.iter().map(|&[b, x, y, z]| [b, end(x), end(y), z]).collect(),
                    Output::Own,
                )
            }
            10 => {
                let mut all = cloud(&mut random, 40, 4, [0; 3]);
                all.extend_from_within(..7);
                (SUBMANIFOLD, all, Output::Own)
            }
            11 => (even, cloud(&mut random, 90, 7, [0; 3]), Output::Own),
            12 => {
                let kernel = Kernel { size: [4, 4, 2], padding: [1, 1, 0], stride: [1; 3], ..even };
                (kernel, cloud(&mut random, 25, 4, [0; 3]), Output::Own)
            }
            13 => {
                let kernel =
                    Kernel { size: [1, 3, 3], dilation: [1, 2, 3], padding: [0, 2, 1], ..strided };
                (kernel, cloud(&mut random, 70, 7, [0; 3]), Output::Own)
            }
            14 => {
                let kernel = Kernel { size: [1; 3], padding: [0; 3], stride: [3; 3], ..strided };
                (kernel, cloud(&mut random, 140, 7, [0; 3]), Output::Own)
            }
            15 => {
                let doubled = cloud(&mut random, 50, 5, [0; 3]).into_iter();
                let doubled = doubled.map(|[b, x, y, z]| [b, 2 * x + b, 2 * y, 2 * z]);
                (strided, doubled.collect(), Output::Floor)
            }
            16 => (
                Kernel { transposed: true, ..even },
                cloud(&mut random, 20, 4, [0; 3]),
                Output::Own,
            ),
            17 => (strided, cloud(&mut random, 130, 8, [0; 3]), Output::Floor),
            18 => {
                let kernel = Kernel { stride: [2, 3, 5], ..strided };
                let mut all = cloud(&mut random, 40, 4, [i32::MIN + 5, i32::MAX - 5, 1 << 25]);
                all.extend(cloud(&mut random, 40, 4, [i32::MAX - 5, i32::MIN + 5, -(1 << 25)]));
                (kernel, all, Output::Floor)
            }
            _ => {
                let sizes = [31, 32, 33, 63, 64, 65, 127, 128, 129];
                let size =
                    sizes[usize::try_from((index / KINDS.len() as u64 + seed) % 9).unwrap_or(0)];
                let mut all = cloud(&mut random, 400, 6, [0; 3]);
                all.truncate(size);
                (SUBMANIFOLD, all, Output::Own)
            }
        };
        shuffle(&mut coords, &mut random);
        let given = match output {
            Output::Own => None,
            Output::Floor => {
                let all: BTreeSet<Site> = coords.iter().map(|site| halved(&kernel, site)).collect();
                Some(all.into_iter().collect::<Vec<_>>())
            }
        };
        Self::new(KINDS[turn], kernel, coords, given.as_deref())
    }

    /// Sites of any origin, with the oracle's map.
    pub(super) fn new(
        kind: &'static str,
        kernel: Kernel,
        coords: Vec<Site>,
        given: Option<&[Site]>,
    ) -> Self {
        let map = kernel_map(&kernel, &coords, given).ok();
        Self { kind, kernel, coords, map }
    }

    /// K, the number of the kernel's offsets.
    pub(super) fn offsets(&self) -> usize {
        usize::try_from(self.kernel.offsets()).unwrap_or(usize::MAX)
    }

    /// Sites beyond the first of each place.
    pub(super) fn duplicates(&self) -> i64 {
        let distinct: BTreeSet<&Site> = self.coords.iter().collect();
        i64::try_from(self.coords.len() - distinct.len()).unwrap_or(i64::MAX)
    }

    pub(super) fn has_duplicates(&self) -> bool {
        self.duplicates() > 0
    }

    /// The oracle's triples (k, i, o).
    pub(super) fn triples(&self) -> BTreeSet<[u32; 3]> {
        self.map.iter().flat_map(|map| map.pairs.iter().copied()).collect()
    }

    /// Sources and queries in lexicographic order, each with its row. A transposed kernel looks outputs up.
    pub(super) fn ends(&self) -> (Rows, Rows) {
        let sorted = |sites: &[Site]| {
            let mut rows: Rows = sites.iter().copied().zip(0..).collect();
            rows.sort_unstable();
            rows
        };
        let outputs = self.map.as_ref().map_or(&self.coords, |map| &map.out_coords);
        let (inputs, outputs) = (sorted(&self.coords), sorted(outputs));
        if self.kernel.transposed { (outputs, inputs) } else { (inputs, outputs) }
    }

    /// floor(source / stride) of the sources in order.
    pub(super) fn downsampled(&self) -> Vec<Site> {
        self.ends().0.iter().map(|(site, _)| halved(&self.kernel, site)).collect()
    }
}

fn halved(kernel: &Kernel, site: &Site) -> Site {
    std::array::from_fn(|a| match a {
        0 => site[0],
        _ => site[a].div_euclid(i32::from(kernel.stride[a - 1])),
    })
}

/// The cells of a box of batch 0 of which something holds.
fn cells(sides: [i32; 3], holds: impl Fn([i32; 3]) -> bool) -> Vec<Site> {
    let mut all = Vec::new();
    for x in 0..sides[0] {
        for y in 0..sides[1] {
            all.extend((0..sides[2]).filter(|&z| holds([x, y, z])).map(|z| [0, x, y, z]));
        }
    }
    all
}

/// Distinct sites of two batches, at most `most`, as far as `reach` from a place.
fn cloud(random: &mut Random, most: usize, reach: i32, place: [i32; 3]) -> Vec<Site> {
    let mut draw =
        |sides: i32| i32::try_from(random.bits() % u64::from(sides.unsigned_abs())).unwrap_or(0);
    let mut all = BTreeSet::new();
    for _ in 0..most {
        let [x, y, z] = place.map(|at| at.saturating_add(draw(2 * reach) - reach));
        all.insert([draw(2), x, y, z]);
    }
    all.into_iter().collect()
}

fn shuffle(sites: &mut [Site], random: &mut Random) {
    for last in (1..sites.len()).rev() {
        let other = random.bits() % (last as u64 + 1);
        sites.swap(last, usize::try_from(other).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests;
