//! What a layer costs before and around its products, counted from its map without a GPU: the quantities by which
//! Minuet (arXiv 2401.06145) compares ways to make the map, to group products and to gather rows.

use std::collections::BTreeSet;

use splatcheck_reference::sparse::Site;

use super::case::Case;

/// Sites of 16 bytes in a line of 128 bytes.
const SITES_OF_LINE: usize = 8;
/// Slots of 4 bytes in such a line.
const SLOTS_OF_LINE: usize = 32;
/// Sources of a block of the double-traversed search.
pub const BLOCK: usize = 64;
/// Lanes of a warp.
const LANES: usize = 32;

/// What all queries of all offsets cost by one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Comparisons of two sites.
    pub comparisons: u64,
    /// Distinct lines of global memory, query by query.
    pub lines: u64,
    /// The same where 32 neighbouring queries share theirs.
    pub lines_of_warps: u64,
}

/// What the map costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Offsets times queries.
    pub queries: u64,
    /// A binary search over all sources for each query.
    pub search: Way,
    /// Minuet's: the queries are searched for each block of sources, then the block for each query.
    pub double: Way,
    /// A hash table of twice as many slots, rounded up to a power of two.
    pub hash: Way,
}

/// Products in groups that are padded to their largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Launches.
    pub groups: u64,
    /// Rows that are added.
    pub padding: u64,
}

/// Gathering rows by threads that have a tile of channels each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// Threads.
    pub threads: u64,
    /// Words of the map that are read: each thread reads those of its site for every offset.
    pub indices: u64,
    /// Words of features that are read and written.
    pub features: u64,
}

/// One walk: the places that are visited, and whether each compares.
struct Walk {
    comparisons: u64,
    lines: Vec<usize>,
}

/// The first of `count` places where something no longer holds, by binary search; `lines` of the places asked.
fn first_not(count: usize, mut holds: impl FnMut(usize) -> bool) -> (usize, Walk) {
    let (mut low, mut high) = (0, count);
    let mut walk = Walk { comparisons: 0, lines: Vec::new() };
    while low < high {
        let middle = usize::midpoint(low, high);
        walk.comparisons += 1;
        walk.lines.push(middle / SITES_OF_LINE);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low, walk)
}

impl Walk {
    /// The same with the test of what it ended at.
    fn then(mut self, at: usize, count: usize) -> Self {
        if at < count {
            self.comparisons += 1;
            self.lines.push(at / SITES_OF_LINE);
        }
        self
    }
}

impl Way {
    /// Adds the walks of the queries of one offset, in order.
    fn add(&mut self, walks: impl Iterator<Item = Walk>) {
        let mut of_warp = BTreeSet::new();
        for (at, walk) in walks.enumerate() {
            if at % LANES == 0 {
                self.lines_of_warps += of_warp.len() as u64;
                of_warp.clear();
            }
            self.comparisons += walk.comparisons;
            let distinct: BTreeSet<usize> = walk.lines.into_iter().collect();
            self.lines += distinct.len() as u64;
            of_warp.extend(distinct);
        }
        self.lines_of_warps += of_warp.len() as u64;
    }

    /// Adds what a block does once, whichever lane.
    fn add_once(&mut self, walk: Walk) {
        let lines = walk.lines.into_iter().collect::<BTreeSet<_>>().len() as u64;
        self.comparisons += walk.comparisons;
        self.lines += lines;
        self.lines_of_warps += lines;
    }
}

/// What the map of a case costs by three ways. Reading the queries and writing the map is the same for all, and
/// is left out.
#[must_use]
pub fn ways(case: &Case) -> Ways {
    let sorted = |sites: &[Site]| {
        let mut sites: Vec<[i64; 4]> = sites.iter().map(|site| site.map(i64::from)).collect();
        sites.sort_unstable();
        sites
    };
    let (inputs, outputs) = (sorted(&case.coords), sorted(&case.map.out_coords));
    let (sources, queries) =
        if case.kernel.transposed { (outputs, inputs) } else { (inputs, outputs) };
    let table = Table::of(&sources);
    let mut ways = Ways {
        queries: case.kernel.offsets() * queries.len() as u64,
        search: Way::default(),
        double: Way::default(),
        hash: Way::default(),
    };
    for k in 0..case.kernel.offsets() {
        let wanted: Vec<[i64; 4]> = queries.iter().map(|q| case.kernel.source(k, q)).collect();
        ways.search.add(wanted.iter().map(|wanted| {
            let (at, walk) = first_not(sources.len(), |at| sources[at] < *wanted);
            walk.then(at, sources.len())
        }));
        ways.hash.add(wanted.iter().map(|wanted| table.look_up(&sources, wanted)));
        double(&mut ways.double, &sources, &wanted);
    }
    ways
}

/// The double-traversed search of one offset: a block of sources is read once and then compared at hand.
fn double(way: &mut Way, sources: &[[i64; 4]], wanted: &[[i64; 4]]) {
    for (block, staged) in sources.chunks(BLOCK).enumerate() {
        let begin = block * BLOCK;
        let lines = (begin / SITES_OF_LINE..).take(staged.len().div_ceil(SITES_OF_LINE));
        way.add_once(Walk { comparisons: 0, lines: lines.collect() });
        let ends = [begin, begin + BLOCK].map(|edge| match sources.get(edge) {
            _ if edge == 0 => 0,
            None => wanted.len(),
            Some(source) => {
                let (at, walk) = first_not(wanted.len(), |at| wanted[at] < *source);
                way.add_once(walk);
                at
            }
        });
        for wanted in &wanted[ends[0]..ends[1]] {
            let (at, walk) = first_not(staged.len(), |at| staged[at] < *wanted);
            way.comparisons += walk.then(at, staged.len()).comparisons;
        }
    }
}

/// A hash table with open addressing: rows of sources by slot.
struct Table(Vec<Option<usize>>);

impl Table {
    fn of(sources: &[[i64; 4]]) -> Self {
        let mut slots = vec![None; (2 * sources.len()).next_power_of_two()];
        for (row, site) in sources.iter().enumerate() {
            let mut slot = slot_of(site, slots.len());
            while slots[slot].is_some() {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = Some(row);
        }
        Self(slots)
    }

    /// The slots and sources that a query visits; those of the table lie behind the sources.
    fn look_up(&self, sources: &[[i64; 4]], wanted: &[i64; 4]) -> Walk {
        let behind = sources.len().div_ceil(SITES_OF_LINE);
        let mut walk = Walk { comparisons: 0, lines: Vec::new() };
        let mut slot = slot_of(wanted, self.0.len());
        loop {
            walk.lines.push(behind + slot / SLOTS_OF_LINE);
            let Some(row) = self.0[slot] else { return walk };
            walk = walk.then(row, sources.len());
            if sources[row] == *wanted {
                return walk;
            }
            slot = (slot + 1) % self.0.len();
        }
    }
}

/// The slot of a site, as the gallery's kernel maps have it.
fn slot_of(site: &[i64; 4], slots: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a hash")]
    let hash = site.iter().fold(2_166_136_261_u32, |hash, &axis| {
        let hash = (hash ^ axis as u32).wrapping_mul(16_777_619);
        hash ^ (hash >> 15)
    });
    hash as usize % slots
}

/// Pairs of each offset.
#[must_use]
pub fn rows_of_offsets(case: &Case) -> Vec<u64> {
    let mut rows = vec![0; case.layer().offsets];
    case.map.pairs.iter().for_each(|&[k, ..]| rows[k as usize] += 1);
    rows
}

/// Groups of neighbouring products, each padded to its largest: another is taken in as long as the group's padding
/// is at most `percent` of its real rows. Offsets without a pair are left out.
#[must_use]
pub fn grouped(rows: &[u64], percent: u64) -> Grouping {
    let mut grouping = Grouping { groups: 0, padding: 0 };
    let padding = |count: u64, real: u64, largest: u64| count * largest - real;
    let (mut count, mut real, mut largest) = (0, 0, 0);
    for &rows in rows.iter().filter(|rows| **rows > 0) {
        let more = (count + 1, real + rows, rows.max(largest));
        if count > 0 && 100 * padding(more.0, more.1, more.2) <= percent * more.1 {
            (count, real, largest) = more;
        } else {
            grouping.padding += padding(count, real, largest);
            grouping.groups += 1;
            (count, real, largest) = (1, rows, rows);
        }
    }
    grouping.padding += padding(count, real, largest);
    grouping
}

/// Gathering the features of all pairs, where a thread has a site and a tile of so many channels: it reads its
/// site's place in every offset's products, its features once, and writes them once for each pair.
#[must_use]
pub fn gather(case: &Case, tile: usize) -> Gather {
    let [channels, _] = case.channels.map(|n| n as u64);
    let sites = case.coords.len() as u64;
    let threads = sites * channels.div_ceil(tile as u64);
    Gather {
        threads,
        indices: threads * case.kernel.offsets(),
        features: (sites + case.map.pairs.len() as u64) * channels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_closed_before_its_padding_is_too_much() {
        let of = |rows: &[u64], percent| {
            let Grouping { groups, padding } = grouped(rows, percent);
            [groups, padding]
        };
        assert_eq!(of(&[10, 0, 10, 9, 1], 0), [3, 0], "equal ones alone go together");
        assert_eq!(of(&[10, 0, 10, 9, 1], 5), [2, 1], "one row for 29");
        assert_eq!(of(&[10, 0, 10, 9, 1], 33), [2, 1], "10 for 30 are more than that");
        assert_eq!(of(&[10, 0, 10, 9, 1], 34), [1, 10], "a third is allowed");
        assert_eq!(of(&[], 50), [0, 0]);
    }

    #[test]
    fn walks_are_those_of_hand() {
        let (at, walk) = first_not(100, |at| at < 37);
        // 50, 25, 38, 32, 35, 37, 36.
        assert_eq!((at, walk.comparisons), (37, 7));
        assert_eq!(walk.lines, [6, 3, 4, 4, 4, 4, 4]);
        let mut way = Way::default();
        way.add((0..33).map(|_| first_not(100, |at| at < 37).1.then(37, 100)));
        assert_eq!(way, Way { comparisons: 33 * 8, lines: 33 * 3, lines_of_warps: 2 * 3 });
        let sources: Vec<[i64; 4]> = (0..130).map(|x| [0, 0, 0, 2 * x]).collect();
        let mut way = Way::default();
        // All before the first source: the first block takes them, the others nothing.
        double(&mut way, &sources, &[[0, 0, 0, -1]; 4]);
        // Blocks 0 and 1 search 4 queries for their ends, block 1 and 2 for their beginnings: 4 searches of 2 or 3
        // comparisons; each query then has 6 or 7 in 64 sources and one more.
        assert_eq!(way.lines, 17 + 4, "130 sites are 17 lines");
        assert_eq!(way.comparisons, 4 * 2 + 4 * 8);
        let table = Table::of(&sources);
        let found = table.look_up(&sources, &[0, 0, 0, 100]);
        assert!(found.comparisons >= 1 && found.lines.len() as u64 == 2 * found.comparisons);
        let missed = table.look_up(&sources, &[0, 0, 0, 101]);
        assert_eq!(
            missed.lines.len() as u64,
            2 * missed.comparisons + 1,
            "it ends at an empty slot"
        );
    }
}
