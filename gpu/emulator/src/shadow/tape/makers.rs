//! Whose nodes are on a tape: which lanes of which warp made them.

use super::super::super::lanes::Bits;

/// A warp of a launch, and lanes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Makers {
    /// The kernel's first instruction, by its number among those of all kernels.
    pub(in super::super) kernel: u32,
    pub(in super::super) block: [u32; 3],
    /// Its number in the block.
    pub(in super::super) warp: u32,
    /// The lanes whose turn it is one after the other; none where they are not known.
    pub(in super::super) lanes: u32,
}

/// Who made each node, each from a node on, and who makes the next.
#[derive(Debug, Default)]
pub(in super::super) struct Making {
    all: Vec<(u32, Makers)>,
    /// The warp that runs, and the lane of nodes that come one by one, if it is known.
    running: Makers,
}

impl Making {
    /// The bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        size_of::<(u32, Makers)>() * self.all.len()
    }

    /// A node that comes by itself.
    pub(super) fn one_by_one(&mut self, n: u32) {
        self.made_by(n, self.running.lanes);
    }

    /// The nodes from this one on are those of lanes of the warp that runs.
    #[inline(always)]
    pub(super) fn made_by(&mut self, first: u32, lanes: u32) {
        let makers = Makers { lanes, ..self.running };
        if self.all.last().is_none_or(|(_, last)| *last != makers) {
            self.all.push((first, makers));
        }
    }

    /// A warp runs from now on.
    pub(in super::super) fn turn(&mut self, kernel: u32, block: [u32; 3], warp: u32) {
        self.running = Makers { kernel, block, warp, lanes: 0 };
    }

    /// The nodes that come one by one from now on are those of a lane, or of lanes that are not known.
    pub(in super::super) fn of_lane(&mut self, lane: Option<usize>) {
        self.running.lanes = lane.map_or(0, |lane| 1 << (lane & 31));
    }

    /// Whose a node is, with its lane alone.
    pub(in super::super) fn maker(&self, n: u32) -> Option<Makers> {
        let after = self.all.partition_point(|(first, _)| *first <= n);
        let (first, makers) = self.all[..after].last()?;
        let turn = (n - first).checked_rem(makers.lanes.count_ones()).unwrap_or(0);
        let lane = Bits(makers.lanes).nth(turn as usize);
        Some(Makers { lanes: lane.map_or(0, |lane| 1 << lane), ..*makers })
    }
}
