//! Which cells of the reductions the cases of splats meet.

use crate::splat::contributions::Contributions;
use crate::splat::generators::{Aim, Draw, find};
use crate::splat::stage::RasterStage;
use splatcheck_gpu::reduction::LaneHas;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::coverage::{Cell, Coverage, Met, Position};
use splatcheck_reference::splat::convention::Profile;

fn met(name: &str, turn: u64, width: u32) -> Met {
    let draw = Draw { profile: Profile::Inria, lane_width: width, turn };
    let tree = find(name).expect("there").draw(draw, 1, turn).expect("drawn");
    let stage = RasterStage::new(&tree.current(), 0).expect("few pairs");
    Met::new(&Contributions::new(&stage, width).expect("valid"))
}

const SETTING: Setting = Setting { reduction: Reduction::SwB, threshold: 2 };

#[test]
fn what_was_aimed_at_is_met_and_nothing_is_met_by_nothing() {
    let (width, turn) = (32, 5);
    let aim = Aim::number(turn, width);
    let cell = |position| Cell { lanes: aim.lanes, leader: aim.leader, position, stop: aim.stop };
    let found = met("lanes", turn, width);
    for position in Position::ALL {
        let either = [Reduction::Block, Reduction::SwB];
        let has = either.iter().any(|&r| found.has(cell(position), r, width));
        assert!(has, "{aim:?} at {position:?}");
    }
    assert_eq!(Coverage::new(width).count(), [0, 0], "nothing was run");
}

#[test]
fn merging_is_a_union_in_any_order() {
    let [a, b] = [0, 1].map(|turn| {
        let mut coverage = Coverage::new(4);
        coverage.add(&met("lanes", turn, 4), SETTING);
        coverage
    });
    let (mut ab, mut ba) = (a.clone(), b.clone());
    ab.merge(&b);
    ba.merge(&a);
    assert_eq!(ab.count(), ba.count(), "order matters");
    assert!(ab.count()[0] > a.count()[0].max(b.count()[0]), "two turns meet what one does not");
}

/// The claim that every cell is reachable: the steered turns meet all of them.
#[test]
fn every_reachable_cell_is_met_at_lane_width_4() {
    let mut coverage = Coverage::new(4);
    let is_in_the_map = |reduction: &Reduction| match reduction.row().lane_has {
        LaneHas::Contributors => true,
        LaneHas::Destination => false,
    };
    let in_the_map = || Reduction::ALL.into_iter().filter(is_in_the_map);
    // An aim has a list with batches of the size of the other reductions in one pass of four, and
    // lanes with several pixels in two of six.
    for turn in 0..24 * Aim::all(4).count() as u64 {
        let met = met("lanes", turn, 4);
        in_the_map().for_each(|reduction| coverage.add(&met, Setting { reduction, ..SETTING }));
    }
    for reduction in in_the_map() {
        assert_eq!(coverage.empty(reduction), [], "cells of {reduction} that no turn meets");
    }
    assert!(!coverage.text().contains("EMPTY"), "the report says otherwise");
}
