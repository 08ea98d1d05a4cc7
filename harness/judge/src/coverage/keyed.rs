//! The cells of stages whose lanes have a destination each: a group of lanes with one destination, as a
//! warp meets it.
//!
//! Unreachable, and so not counted as empty: what has no room for the other groups, for an idle lane or,
//! in a partial warp, for the lane without an element, which is the last; lanes in front of the group or
//! between its lanes where nothing else is in the warp.

use crate::scatter_step::{Lanes, MOST_LANES, ScatterStep, all_lanes};

/// How many other groups a warp has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Others {
    /// None.
    None,
    /// One.
    One,
    /// Two or more.
    Several,
}

impl Others {
    const ALL: [Self; 3] = [Self::None, Self::One, Self::Several];

    /// The fewest that it means.
    #[must_use]
    pub const fn least(self) -> u32 {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::Several => 2,
        }
    }
}

/// A group of lanes with one destination, as a warp meets it; or a warp without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyedCell {
    /// Lanes of the group, 1..=W; 0 for a warp without one.
    pub lanes: u32,
    /// The first of them.
    pub leader: u32,
    /// Whether other lanes lie between them.
    pub scattered: bool,
    /// How many other groups the warp has.
    pub others: Others,
    /// Whether it has lanes without a destination.
    pub idle: bool,
    /// Whether it has lanes beyond the last element.
    pub partial: bool,
}

impl KeyedCell {
    /// Every cell that a warp of that width can meet.
    pub fn reachable(width: u32) -> impl Iterator<Item = Self> {
        let places =
            (0..=width).flat_map(move |lanes| (0..width).map(move |leader| (lanes, leader)));
        places.flat_map(move |(lanes, leader)| {
            let flags = (0..8_u32).map(|bits| [1, 2, 4].map(|bit| bits & bit != 0));
            flags.flat_map(move |[scattered, idle, partial]| {
                let of = |others| Self { lanes, leader, scattered, others, idle, partial };
                Others::ALL.map(of).into_iter().filter(move |cell| cell.is_reachable(width))
            })
        })
    }

    fn is_reachable(self, width: u32) -> bool {
        let Self { lanes, leader, scattered, others, idle, partial } = self;
        let nothing_else = others == Others::None && !idle;
        if lanes == 0 {
            return leader == 0 && !scattered && others == Others::None && (idle || partial);
        }
        let span = lanes + u32::from(scattered);
        // The lane without an element is the last.
        let room = width - u32::from(partial);
        if leader + span > room || scattered && lanes < 2 {
            return false;
        }
        if nothing_else {
            return leader == 0 && !scattered && (partial || lanes == width);
        }
        lanes + others.least() + u32::from(idle) <= room
    }

    /// Its bit in a set of cells.
    pub(super) fn index(self, width: u32) -> usize {
        let place = (self.lanes * width + self.leader) as usize;
        let flags = [self.scattered, self.idle, self.partial];
        let flags = flags.into_iter().fold(0, |all, flag| 2 * all + usize::from(flag));
        (place * Others::ALL.len() + self.others as usize) * 8 + flags
    }

    /// In words.
    pub(super) fn words(self) -> String {
        let Self { lanes, leader, scattered, others, idle, partial } = self;
        let mut words = format!("{lanes} from lane {leader}");
        let others = match others {
            Others::None => "",
            Others::One => " beside another group",
            Others::Several => " beside several groups",
        };
        words.push_str(if scattered { " scattered" } else { "" });
        words.push_str(others);
        words.push_str(if idle { ", some idle" } else { "" });
        words.push_str(if partial { ", in a partial warp" } else { "" });
        words
    }
}

/// Calls `f` with the cells of a step of warps of that width.
pub(super) fn for_each_cell(step: &ScatterStep<'_>, width: u32, mut f: impl FnMut(KeyedCell)) {
    let all = all_lanes(width);
    let contributing = step.destinations.iter().fold(0, |all, one| all | one.lanes);
    let (idle, partial) = (all & !contributing & !step.stopped != 0, step.stopped != 0);
    let others = match step.destinations.len() {
        0 | 1 => Others::None,
        2 => Others::One,
        _ => Others::Several,
    };
    let mut cell = |lanes: Lanes| {
        let leader = lanes.trailing_zeros() % MOST_LANES;
        // From the leader on, a group without gaps is one less than a power of two.
        let aligned = lanes >> leader;
        let scattered = aligned & aligned.wrapping_add(1) != 0;
        f(KeyedCell { lanes: lanes.count_ones(), leader, scattered, others, idle, partial });
    };
    if step.destinations.is_empty() {
        cell(0);
    }
    step.destinations.iter().for_each(|one| cell(one.lanes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scatter_step::parted;
    use std::collections::BTreeSet;

    /// The cells of a warp whose lanes have these rows, 9 for none; the last lanes have no element.
    fn met(rows: &[u32], width: u32) -> Vec<KeyedCell> {
        let destinations = parted(rows, |row| row != 9);
        let stopped = all_lanes(width) & !((1 << rows.len()) - 1);
        let (per_lane, warp, place, length) = (1, 0, 0, 1);
        let destinations = &destinations[..];
        let step = ScatterStep { per_lane, warp, place, length, stopped, destinations };
        let mut cells = Vec::new();
        for_each_cell(&step, width, |cell| cells.push(cell));
        cells
    }

    #[test]
    fn a_warp_is_a_cell_for_each_of_its_groups() {
        let words =
            |rows: &[u32]| met(rows, 4).into_iter().map(KeyedCell::words).collect::<Vec<_>>();
        assert_eq!(words(&[5, 5, 5, 5]), ["4 from lane 0"], "one group");
        let two = [
            "2 from lane 0 scattered beside another group",
            "2 from lane 1 scattered beside another group",
        ];
        assert_eq!(words(&[5, 6, 5, 6]), two, "interleaved");
        assert_eq!(words(&[9, 9]), ["0 from lane 0, some idle, in a partial warp"], "nobody");
        let some = ["2 from lane 0 scattered, some idle, in a partial warp"];
        assert_eq!(words(&[5, 9, 5]), some, "an idle lane between");
    }

    /// Every warp of four lanes there is: what it meets is what is said to be reachable.
    #[test]
    fn exactly_what_some_warp_meets_is_reachable() {
        for width in [2_u32, 4] {
            let mut found = BTreeSet::new();
            for count in 0..=width {
                for number in 0..5_u32.pow(count) {
                    // Rows 0 to 3, or none.
                    let row = |lane| match number / 5_u32.pow(lane) % 5 {
                        4 => 9,
                        row => row,
                    };
                    let rows: Vec<_> = (0..count).map(row).collect();
                    found.extend(met(&rows, width));
                }
            }
            let said: BTreeSet<_> = KeyedCell::reachable(width).collect();
            assert_eq!(found, said, "width {width}");
        }
    }

    #[test]
    fn indices_are_unique() {
        for width in [4, 32, 64, 128] {
            let all: Vec<_> = KeyedCell::reachable(width).collect();
            let indices: BTreeSet<_> = all.iter().map(|cell| cell.index(width)).collect();
            assert_eq!(indices.len(), all.len(), "two cells share a bit at width {width}");
        }
    }
}
