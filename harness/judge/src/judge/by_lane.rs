//! Sums to which every lane of the grid adds a term of its own, in a row of its own.
//!
//! It is fixed which lane has which row, so that the number of values which leave the registers for a row
//! is exact, and with it the longest chain of additions. Where roundings decide which row a lane has, its
//! warp is taken to send lane by lane to every row that it may have: no reduction sends more.

use super::tolerance::Summation;
use crate::scatter_step::parted;
use splatcheck_gpu::Setting;
use splatcheck_gpu::reduction::{Adding, WORKGROUP_SIZE};
use std::collections::BTreeMap;
use std::ops::Range;

/// The rows of the lanes, and what the rows hold before.
#[derive(Clone, Debug, PartialEq)]
pub struct ByLane {
    /// Of every lane of the grid: its row; a number beyond the rows where it adds nothing.
    pub rows: Vec<u32>,
    /// Rows that lanes may have instead, where roundings decide: the lane and the row, in the order of
    /// the lanes.
    pub others: Vec<(usize, u32)>,
    /// How many rows there are.
    pub count: usize,
    /// What every number of the rows is before, row by row; none of them where all are zero. Where a row is not
    /// zero, that is a term as well.
    pub before: Vec<f32>,
}

impl ByLane {
    /// The summation of every row. Without a setting the order is nobody's.
    #[must_use]
    pub fn summations(&self, setting: Option<Setting>, lane_width: u32) -> Vec<Summation> {
        let setting = setting.unwrap_or(BASELINE);
        let adding = self.adding(setting, lane_width);
        let summation = |(row, adding): (usize, &Adding)| {
            // What is sent is added to what the row holds.
            let begins = self.begins(row);
            let start = u64::from(begins);
            let depth = setting.depth_of(adding, lane_width) + start.min(adding.lanes());
            let in_memory = setting.reduction.row().in_memory;
            Summation { depth, terms: adding.lanes() + start, begins, in_memory }
        };
        adding.iter().enumerate().map(summation).collect()
    }

    /// Whether a row holds something before that is not zero.
    fn begins(&self, row: usize) -> bool {
        let width = self.before.len() / self.count;
        self.before[row * width..(row + 1) * width].iter().any(|&value| value != 0.0)
    }

    /// What the warps of each workgroup have for each row, and send.
    fn adding(&self, setting: Setting, lane_width: u32) -> Vec<Adding> {
        let mut all = vec![Adding::default(); self.count];
        for (group, workgroup) in self.rows.chunks(WORKGROUP_SIZE as usize).enumerate() {
            let mut of_rows: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
            for (warp, rows) in workgroup.chunks(lane_width as usize).enumerate() {
                let parts = parted(rows, |row| self.is_row(row));
                let first = group * WORKGROUP_SIZE as usize + warp * lane_width as usize;
                let others = self.others_of(first..first + rows.len());
                let alone = parts.len() == 1;
                for part in parts {
                    let lanes = part.lanes.count_ones();
                    let exact = || setting.sends_of_lanes(part.lanes, alone);
                    let sent = if others.is_empty() { exact() } else { lanes };
                    count(&mut of_rows, part.row, [lanes, sent]);
                }
                for &(_, row) in others.iter().filter(|(_, row)| self.is_row(*row)) {
                    count(&mut of_rows, row, [1, 1]);
                }
            }
            for (row, [lanes, sent]) in of_rows {
                all[row as usize].workgroup(lanes, sent);
            }
        }
        all
    }

    fn is_row(&self, row: u32) -> bool {
        (row as usize) < self.count
    }

    /// The other rows of these lanes.
    fn others_of(&self, lanes: Range<usize>) -> &[(usize, u32)] {
        let [begin, end] = [lanes.start, lanes.end]
            .map(|end| self.others.partition_point(|&(lane, _)| lane < end));
        &self.others[begin..end]
    }
}

/// Adds lanes that have a row, and those of them that send.
fn count(of_rows: &mut BTreeMap<u32, [u64; 2]>, row: u32, more: [u32; 2]) {
    let counts = of_rows.entry(row).or_default();
    counts.iter_mut().zip(more).for_each(|(all, more)| *all += u64::from(more));
}

/// Every lane's term by itself.
const BASELINE: Setting = Setting { reduction: splatcheck_gpu::Reduction::BASELINE, threshold: 0 };

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::Reduction;

    /// Eight lanes of width 4: row 0 has a run of two and one lane apart, row 1 the second warp alone.
    const ROWS: [u32; 8] = [0, 0, 1, 0, 1, 1, 1, 9];

    fn depths(starts: [bool; 3], setting: Option<Setting>) -> Vec<(u64, u64)> {
        let before = starts.map(|starts| f32::from(u8::from(starts))).to_vec();
        let lanes = ByLane { rows: ROWS.to_vec(), others: vec![], count: 3, before };
        let summations = lanes.summations(setting, 4);
        summations.iter().map(|sum| (sum.depth, sum.terms)).collect()
    }

    fn at(reduction: Reduction, threshold: u32) -> Option<Setting> {
        Some(Setting { reduction, threshold })
    }

    #[test]
    fn chains_are_as_long_as_what_is_sent() {
        let none = [false; 3];
        assert_eq!(depths(none, None), [(2, 3), (3, 4), (0, 0)], "lane by lane");
        let serial = depths(none, at(Reduction::SwS, 0));
        assert_eq!(serial, [(2, 3), (3, 4), (0, 0)], "a leader's chain is as long");
        let butterfly = depths(none, at(Reduction::SwB, 0));
        assert_eq!(
            butterfly[1],
            (2 + 1, 4),
            "a tree of the second warp, and one lane of the first"
        );
        let starts = depths([true, false, true], at(Reduction::PerKey, 0));
        assert_eq!(starts, [(3, 4), (3, 4), (0, 1)], "what is there before is a term");
    }

    /// The bound holds for the number that is sent, not for the worst that could be.
    #[test]
    fn many_lanes_of_one_row_come_to_few_additions() {
        let lanes = ByLane { rows: vec![0; 256], others: vec![], count: 1, before: vec![] };
        let depth = |setting| lanes.summations(setting, 32)[0].depth;
        assert_eq!(depth(None), 255, "one after another");
        assert_eq!(depth(at(Reduction::Segmented, 1)), 5 + 7, "a scan, then eight warps");
        assert_eq!(depth(at(Reduction::Segmented, 33)), 255, "no run is that long");
        assert_eq!(depth(at(Reduction::SwS, 32)), 31 + 7, "a chain, then eight warps");
    }

    /// A row that one lane may have has one term more, and the warp of that lane sends all it has.
    #[test]
    fn a_row_that_roundings_decide_counts_for_both() {
        let others = vec![(40, 1), (41, 1)];
        let lanes = ByLane { rows: vec![0; 64], others, count: 2, before: vec![] };
        let of = |setting| {
            let summations = lanes.summations(at(setting, 0), 32);
            [0, 1].map(|row| (summations[row].depth, summations[row].terms))
        };
        assert_eq!(of(Reduction::Segmented), [(5 + 32, 64), (1, 2)], "one value and 32 of them");
        assert_eq!(of(Reduction::Atomic), [(63, 64), (1, 2)], "whatever is decided");
    }
}
