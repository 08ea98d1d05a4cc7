//! What a campaign exercised of the reductions, measured from the masks of contributing lanes.
//!
//! A *cell* is what a warp may meet at one step ([`ScatterStep`]): how many lanes add to one row,
//! which is the first, where in its batch the step is, and whether a lane of the warp has stopped. A
//! step with several rows is a cell for each. Stages whose lanes have a destination each have cells of
//! their own ([`KeyedCell`]), and a map of their own. Cells are counted for every setting (reduction and
//! threshold) that was run; the path taken follows from lanes and threshold. A kernel whose lanes
//! have a destination each has warps of another kind and is not in the map.
//!
//! Unreachable, and so not counted as empty: a first lane beyond W - lanes, because the other
//! contributing lanes come after it; a stopped lane beside W contributing ones, because it does not
//! contribute itself; a first lane where none contributes. Of the paths, reducing below the
//! threshold and sending lane by lane from it on: the judge finds those as wrong sums or never.

mod keyed;

pub use keyed::{KeyedCell, Others};

use crate::io::serde_forms::pairs;
use crate::scatter_step::{Scatter, ScatterStep};
use serde::{Deserialize, Serialize};
use splatcheck_gpu::reduction::{LaneHas, Row};
use splatcheck_gpu::{Reduction, Setting, Stage};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where in its batch a step is; alone in it, it is first and last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Position {
    /// The first that the walk meets.
    First,
    /// Neither.
    Inner,
    /// The last.
    Last,
}

impl Position {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::First, Self::Inner, Self::Last];
}

/// What a warp may meet at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Lanes that add to one row, 0..=W.
    pub lanes: u32,
    /// The first of them; 0 where there is none.
    pub leader: u32,
    /// Where in its batch the step is.
    pub position: Position,
    /// Whether a lane of the warp has stopped in front of it, or has no contributor at all.
    pub stop: bool,
}

impl Cell {
    /// Every cell that a warp of that width can meet.
    pub fn reachable(width: u32) -> impl Iterator<Item = Self> {
        let shapes = (0..=width).flat_map(move |lanes| {
            let leaders = if lanes == 0 { 1 } else { width - lanes + 1 };
            (0..leaders).map(move |leader| (lanes, leader))
        });
        shapes.flat_map(move |(lanes, leader)| {
            let stops: &[bool] = if lanes < width { &[false, true] } else { &[false] };
            stops.iter().flat_map(move |&stop| {
                Position::ALL.map(|position| Self { lanes, leader, position, stop })
            })
        })
    }

    fn index(self, width: u32) -> usize {
        let shape = (self.lanes * width + self.leader) as usize;
        (shape * 3 + self.position as usize) * 2 + usize::from(self.stop)
    }
}

/// A set of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells(Vec<u64>);

impl Cells {
    fn insert(&mut self, index: usize) {
        if self.0.len() <= index / 64 {
            self.0.resize(index / 64 + 1, 0);
        }
        self.0[index / 64] |= 1 << (index % 64);
    }

    fn has(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn merge(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// What a map is of: whose warps its cells describe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Map {
    /// Warps that are at one destination at a time.
    #[default]
    OfWarps,
    /// Warps whose lanes have a destination each.
    Keyed,
}

impl Map {
    /// Every cell of the map that a warp of that width can meet.
    fn reachable(self, width: u32) -> Vec<AnyCell> {
        match self {
            Self::OfWarps => Cell::reachable(width).map(AnyCell::OfWarp).collect(),
            Self::Keyed => KeyedCell::reachable(width).map(AnyCell::Keyed).collect(),
        }
    }

    /// The reductions of its stages that are not in it.
    fn left_out(self) -> impl Iterator<Item = Reduction> {
        let is_of = move |stage: &Stage| stage.is_keyed() == (self == Self::Keyed);
        let stages: Vec<_> = Stage::all().filter(is_of).collect();
        let has = move |reduction: &Reduction| stages.iter().any(|s| s.reduces_by(*reduction));
        let all = Reduction::ALL.into_iter().filter(has);
        all.filter(|&reduction| Shape::of(reduction).is_none())
    }
}

/// A cell of either map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyCell {
    /// Of [`Map::OfWarps`].
    OfWarp(Cell),
    /// Of [`Map::Keyed`].
    Keyed(KeyedCell),
}

impl AnyCell {
    pub(crate) fn lanes(self) -> u32 {
        match self {
            Self::OfWarp(cell) => cell.lanes,
            Self::Keyed(cell) => cell.lanes,
        }
    }

    fn index(self, width: u32) -> usize {
        match self {
            Self::OfWarp(cell) => cell.index(width),
            Self::Keyed(cell) => cell.index(width),
        }
    }

    fn words(self) -> String {
        match self {
            Self::OfWarp(Cell { lanes, leader, position, stop }) => {
                let stop = if stop { ", one stopped" } else { "" };
                format!("{lanes} from lane {leader} at {position:?}{stop}")
            }
            Self::Keyed(cell) => cell.words(),
        }
    }
}

/// What the steps of a reduction's warps depend on beside the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    per_lane: u32,
    batch_size: u32,
}

impl Shape {
    /// That of a reduction; `None` for one that is not in the map.
    fn of(reduction: Reduction) -> Option<Self> {
        let Row { lane_has, per_lane, batch_size, .. } = *reduction.row();
        match lane_has {
            LaneHas::Contributors => Some(Self { per_lane, batch_size }),
            LaneHas::Destination => None,
        }
    }
}

/// The cells of one input of a stage, for each of the reductions' shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    map: Map,
    by_shape: Vec<(Shape, Cells)>,
}

impl Met {
    /// Walks the stage.
    pub fn new(scatter: &dyn Scatter) -> Self {
        let mut shapes: Vec<_> = Reduction::ALL.into_iter().filter_map(Shape::of).collect();
        shapes.sort_unstable();
        shapes.dedup();
        let mut met: Vec<_> = shapes.into_iter().map(|shape| (shape, Cells::default())).collect();
        let width = scatter.lane_width();
        let map = if scatter.is_keyed() { Map::Keyed } else { Map::OfWarps };
        for workgroup in 0..scatter.workgroups() {
            scatter.workgroup(workgroup, &mut |step| {
                let alike = met.iter_mut().filter(|(shape, _)| shape.per_lane == step.per_lane);
                for (Shape { batch_size, .. }, cells) in alike {
                    let mut insert = |index| cells.insert(index);
                    match map {
                        Map::OfWarps => of_warps(step, *batch_size, width, insert),
                        Map::Keyed => {
                            keyed::for_each_cell(step, width, |cell| insert(cell.index(width)));
                        }
                    }
                }
            });
        }
        Self { map, by_shape: met }
    }

    /// Whether a warp met that cell, in batches as that reduction has them.
    #[must_use]
    pub fn has(&self, cell: Cell, reduction: Reduction, width: u32) -> bool {
        self.of(reduction).is_some_and(|cells| cells.has(cell.index(width)))
    }

    /// Nothing for a reduction that is not in the map.
    fn of(&self, reduction: Reduction) -> Option<&Cells> {
        let shape = Shape::of(reduction)?;
        self.by_shape.iter().find(|(there, _)| *there == shape).map(|(_, cells)| cells)
    }
}

/// Calls `f` with the bits of the cells of a step in batches of `size` places.
fn of_warps(step: &ScatterStep<'_>, size: u32, width: u32, mut f: impl FnMut(usize)) {
    let mut f = |cell: Cell| f(cell.index(width));
    let place = step.place % size;
    let (first, last) = (place == 0, place + 1 == size || step.place + 1 == step.length);
    let stop = step.stopped != 0;
    let positions =
        [(first, Position::First), (last, Position::Last), (!first && !last, Position::Inner)];
    for (_, position) in positions.into_iter().filter(|(there, _)| *there) {
        if step.destinations.is_empty() {
            f(Cell { lanes: 0, leader: 0, position, stop });
        }
        for destination in step.destinations {
            let lanes = destination.lanes;
            f(Cell { lanes: lanes.count_ones(), leader: lanes.trailing_zeros(), position, stop });
        }
    }
}

/// What the settings run on devices of one warp size have met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    width: u32,
    #[serde(default)]
    map: Map,
    #[serde(with = "pairs")]
    by_setting: BTreeMap<Setting, Cells>,
}

impl Coverage {
    /// Nothing yet.
    #[must_use]
    pub fn new(width: u32) -> Self {
        Self { width, map: Map::default(), by_setting: BTreeMap::new() }
    }

    /// The warp size.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// A stage was run with a setting. All stages are of one workload, and of one map.
    pub fn add(&mut self, met: &Met, setting: Setting) {
        self.map = met.map;
        if let Some(cells) = met.of(setting.reduction) {
            self.by_setting.entry(setting).or_default().merge(cells);
        }
    }

    /// Adds another's cells; the warp sizes must be the same.
    pub fn merge(&mut self, other: &Self) {
        if !other.by_setting.is_empty() {
            self.map = other.map;
        }
        for (&setting, cells) in &other.by_setting {
            self.by_setting.entry(setting).or_default().merge(cells);
        }
    }

    /// Reachable cells met and all reachable cells, over the settings that were run.
    #[must_use]
    pub fn count(&self) -> [u64; 2] {
        let reachable: Vec<_> =
            self.map.reachable(self.width).iter().map(|cell| cell.index(self.width)).collect();
        let met = |cells: &Cells| reachable.iter().filter(|&&index| cells.has(index)).count();
        let all = reachable.len() * self.by_setting.len();
        [self.by_setting.values().map(met).sum::<usize>() as u64, all as u64]
    }

    /// The reachable cells that no setting of a reduction has met.
    #[must_use]
    pub fn empty(&self, reduction: Reduction) -> Vec<AnyCell> {
        let mut all = Cells::default();
        for (_, cells) in self.by_setting.iter().filter(|(s, _)| s.reduction == reduction) {
            all.merge(cells);
        }
        let mut empty = self.map.reachable(self.width);
        empty.retain(|cell| !all.has(cell.index(self.width)));
        empty
    }

    /// The map as text: for every reduction and threshold how many tenths of the first lanes,
    /// positions and stops each number of lanes was met with, and which cells stayed empty.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let [met, all] = self.count();
        let _ = writeln!(
            text,
            "coverage, warp size {}: {met} of {all} ways in which lanes can meet",
            self.width
        );
        for reduction in Reduction::ALL {
            let rows = self.rows(reduction);
            if rows.is_empty() {
                continue;
            }
            let _ =
                writeln!(text, "  {reduction}: columns are contributing lanes 0 to {}", self.width);
            for (threshold, tenths) in rows {
                let _ = writeln!(text, "    threshold {threshold:>2} |{tenths}|");
            }
            let empty = self.empty(reduction);
            if !empty.is_empty() {
                let _ = writeln!(text, "    EMPTY at every threshold: {}", listed(&empty));
            }
        }
        let own: Vec<_> = self.map.left_out().map(Reduction::name).collect();
        let _ = writeln!(
            text,
            "  # all met, 1 to 9 tenths, 0 fewer, . none. Not in the map: {}.",
            own.join(", ")
        );
        text
    }

    /// For each threshold of a reduction one character for each number of lanes: `#` all cells met, 1 to
    /// 9 tenths, 0 fewer, `.` none.
    #[must_use]
    pub fn rows(&self, reduction: Reduction) -> Vec<(u32, String)> {
        let settings = self.by_setting.iter().filter(|(s, _)| s.reduction == reduction);
        let mut settings = settings.peekable();
        if settings.peek().is_none() {
            return Vec::new();
        }
        let reachable = self.map.reachable(self.width);
        let reachable: Vec<_> =
            reachable.iter().map(|cell| (cell.lanes(), cell.index(self.width))).collect();
        settings.map(|(s, cells)| (s.threshold, self.tenths(cells, &reachable))).collect()
    }

    /// One character for each number of lanes. The `reachable` cells, by lanes and bit, are gone through once:
    /// with 128 lanes there are 160,000.
    fn tenths(&self, cells: &Cells, reachable: &[(u32, usize)]) -> String {
        let mut columns = vec![[0_usize; 2]; self.width as usize + 1];
        for &(lanes, index) in reachable {
            let [met, all] = &mut columns[lanes as usize];
            *met += usize::from(cells.has(index));
            *all += 1;
        }
        let column = |&[met, all]: &[usize; 2]| match met {
            0 => '.',
            _ if met == all => '#',
            _ => u32::try_from(met * 10 / all)
                .ok()
                .and_then(|tenths| char::from_digit(tenths, 10))
                .unwrap_or('?'),
        };
        columns.iter().map(column).collect()
    }
}

/// The first few cells in words, and how many more there are.
fn listed(cells: &[AnyCell]) -> String {
    let first: Vec<_> = cells.iter().take(4).map(|cell| cell.words()).collect();
    let more = cells.len().saturating_sub(4);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    first.join("; ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_unique_and_counts_are_as_argued() {
        for width in [4, 32, 64, 128] {
            let mut indices: Vec<_> = Cell::reachable(width).map(|c| c.index(width)).collect();
            let count = indices.len();
            indices.sort_unstable();
            indices.dedup();
            assert_eq!(indices.len(), count, "two cells share a bit at width {width}");
            // 0 lanes, W (W + 1) / 2 intervals, all but the whole warp with and without a stop.
            let shapes = 2 * (1 + width * (width + 1) / 2) - 1;
            assert_eq!(count, 3 * shapes as usize, "cells at width {width}");
        }
    }
}
