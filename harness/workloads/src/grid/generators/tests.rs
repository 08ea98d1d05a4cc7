//! Every generator draws what it says, the same every time.

use super::*;
use crate::grid::case::Case;
use crate::tests::assert_complete;
use splatcheck_gpu::stages::grid::{GRID_GATE, GRID_GATE_BACKWARD, OF_POINTS};
use splatcheck_judge::judge::{Arithmetic, OutputBound};
use splatcheck_judge::workload::Case as _;
use splatcheck_judge::workload::named::Numbers as _;

/// Every kind of a generator's cases.
fn kinds(row: &Row<Points>) -> Vec<Case> {
    (0..row.kinds).map(|index| row.draw(index, 7, index)).collect()
}

fn bits(case: &Case) -> [Vec<u32>; 3] {
    let Points { positions, table, v_features, .. } = &case.numbers;
    [positions, table, v_features].map(|all| all.iter().map(|x| x.to_bits()).collect())
}

#[test]
fn the_same_numbers_give_the_same_case() {
    for row in ALL {
        let name = row.generator.name;
        let (one, same) = (row.draw(5, 1, 5), row.draw(5, 1, 5));
        assert_eq!((bits(&one), &one.numbers.grid), (bits(&same), &same.numbers.grid), "{name}");
        assert_eq!(one.name, format!("{name}-1-5"), "its name");
        assert_ne!(bits(&one), bits(&row.draw(5, 2, 5)), "{name}: another seed");
    }
}

#[test]
fn every_case_has_a_job_of_each_stage() {
    for case in ALL.iter().flat_map(kinds) {
        assert_eq!(case.numbers.validate(), Ok(()), "{}", case.name);
        let jobs = case.jobs(0).unwrap_or_else(|error| panic!("{error}"));
        let of_gate =
            [GRID_GATE, GRID_GATE_BACKWARD].into_iter().filter(|_| case.numbers.gate.is_some());
        assert!(jobs.iter().map(|job| job.stage).eq(OF_POINTS.into_iter().chain(of_gate)));
        let of_mask = case.jobs(1).unwrap_or_else(|error| panic!("{error}"));
        let expected = OF_POINTS.into_iter().filter(|_| case.numbers.gate.is_some());
        assert!(of_mask.iter().map(|job| job.stage).eq(expected), "{}: the mask", case.name);
    }
}

/// A case whose outputs are promised has finite bounds, or it is inconclusive at best.
#[test]
fn what_is_promised_is_bounded() {
    for row in ALL {
        let mut infinite = 0;
        for case in kinds(row) {
            let jobs = (0..case.views()).flat_map(|view| case.jobs(view).expect("its stages"));
            for job in jobs {
                let expected = job.expectation(Arithmetic::Wgsl);
                for output in expected.outputs() {
                    let unbounded = match &output.bound {
                        OutputBound::Interval(all) => {
                            all.iter().filter(|(_, radius)| !radius.is_finite()).count()
                        }
                        OutputBound::Sum(all) => {
                            all.iter().filter(|sum| !sum.magnitude.is_finite()).count()
                        }
                        OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => {
                            panic!("no output is an integer")
                        }
                    };
                    let name = &case.name;
                    let promised = row.generator.promise == Promise::Every;
                    assert!(
                        !promised || unbounded == 0,
                        "{name}: {} of {}",
                        unbounded,
                        output.name
                    );
                    infinite += unbounded;
                }
            }
        }
        assert_eq!(infinite > 0, row.generator.promise == Promise::Nothing, "of positions lost");
    }
}

/// The main job's cases have every value of every axis among them, and those of campaigns every pair.
#[test]
fn the_main_job_has_every_value_and_campaigns_every_pair() {
    let wide = find("wide").expect("there");
    let wide = (0..wide.kinds).map(|turn| std::sync::Arc::new(wide.draw(turn, 0, turn)) as _);
    assert_complete(&super::super::Grids, wide.collect());
}
