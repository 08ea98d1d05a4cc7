//! Cases that mutants of the kernels of this repository are tried on beside the classes.
//!
//! The classes have the first few cases of each generator, which are not all kinds of those that take
//! turns. The pool has one of each kind that is cheap.
//! Then a few cases whose numbers 8 or 16 bits do not hold, in lists, images and loops. They cost as much
//! as all others together, and are kept for the mutants that they are made for: those that cut a
//! result to so many bits.

use super::super::class::{Class, first_views};
use splatcheck_emulator::WARP;
use splatcheck_judge::workload::{AnyCase, CaseError, Draw, Workload, generator};
use std::collections::BTreeSet;

/// Another seed than the classes', so that no two cases have one name.
const SEED: u64 = 1;

/// The wide cases: a workload, a generator, and its turn.
const WIDE: [(&str, &str, u64); 38] = [
    // An image of 257 tiles in x and two in y.
    ("splat", "sizes", 0),
    // The same the other way round.
    ("splat", "sizes", 2),
    // One list of 65,546 Gaussians, and another behind it.
    ("splat", "wide", 11),
    // Images of 16,512 and 66,049 pixels.
    ("splat", "wide", 5),
    ("splat", "wide", 7),
    // 65,537 Gaussians, seen by two cameras.
    ("splat", "wide", 8),
    // 67,710 places in lists.
    ("splat", "wide", 2),
    // A list that ends at place 65,607 of all, behind one that nobody sees.
    ("splat", "wide", 13),
    // The same behind a list of 65,546 of which nobody sees more than the first batch.
    ("splat", "wide", 16),
    // A Gaussian in 257 tiles.
    ("splat", "wide", 12),
    // 65,760 numbers of colours.
    ("splat", "wide", 14),
    // A list of 8,201 Gaussians: 257 times 32 are more.
    ("splat", "wide", 9),
    // One of 8,170 whose last is seen: 256 times 32.
    ("splat", "wide", 17),
    // Two rows of 257 tiles, each with the same list.
    ("splat", "wide", 15),
    // One list of 65,535 Gaussians.
    ("splat", "sizes", 30),
    // 1,280 cameras: of the rows of 64 bytes the last begins beyond 65,535, and 8 bits of their number
    // are 0.
    ("splat", "sizes", 33),
    // 65,537 values of an element.
    ("scatter", "sizes", 59),
    // One of each kind.
    ("grid", "wide", 0),
    ("grid", "wide", 1),
    ("grid", "wide", 2),
    ("grid", "wide", 3),
    ("grid", "wide", 4),
    ("grid", "wide", 5),
    ("grid", "wide", 6),
    ("grid", "wide", 7),
    ("grid", "wide", 8),
    ("grid", "wide", 9),
    ("grid", "wide", 10),
    ("grid", "wide", 11),
    ("grid", "wide", 12),
    ("grid", "wide", 13),
    ("grid", "wide", 14),
    ("grid", "wide", 15),
    ("grid", "wide", 16),
    ("grid", "wide", 17),
    ("grid", "wide", 18),
    ("grid", "wide", 19),
    ("grid", "wide", 20),
];

/// The cases.
#[derive(Debug, Default)]
pub(super) struct CaseSet {
    /// For all mutants.
    pub(super) common: Vec<Class>,
    /// For those that cut a result.
    pub(super) wide: Vec<Class>,
}

impl CaseSet {
    /// Draws those of some workloads.
    ///
    /// # Errors
    /// Why a case has no jobs.
    pub(super) fn of(names: &BTreeSet<&str>) -> Result<Self, CaseError> {
        let mut pool = Self::default();
        for workload in splatcheck_workloads::all().iter().filter(|one| names.contains(one.name()))
        {
            pool.common.push(first_views("kinds", workload.of_each_kind(SEED))?);
            pool.wide.push(first_views("wide numbers", wide(workload.as_ref()))?);
        }
        Ok(pool)
    }
}

fn wide(workload: &dyn Workload) -> Vec<AnyCase> {
    let mine = WIDE.iter().filter(|(name, ..)| *name == workload.name());
    let case = |&(_, name, turn): &(&str, &str, u64)| {
        let draw = Draw { lane_width: WARP, turn };
        Some(workload.draw(generator(workload, name)?, draw, SEED, turn)?.current())
    };
    mine.filter_map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_judge::workload::{Frequency, Promise};
    use splatcheck_workloads::{grid, scatter};
    use std::collections::BTreeMap;

    /// Sizes beyond 8 and 16 bits that the wide cases have.
    const EXPECTED: [(&str, &str); 5] = [
        ("places in all lists", "above 2^16"),
        ("Gaussians in the longest list", "to 2^16"),
        ("Gaussians in the longest list", "above 2^16"),
        ("Gaussians", "above 2^16"),
        ("tiles", "above 2^8"),
    ];

    #[test]
    fn the_wide_cases_are_those_that_they_are_said_to_be() {
        let splat = wide(splatcheck_workloads::find("splat").expect("there").as_ref());
        let scatter = wide(splatcheck_workloads::find("scatter").expect("there").as_ref());
        let grid = wide(splatcheck_workloads::find("grid").expect("there").as_ref());
        assert_eq!(splat.len() + scatter.len() + grid.len(), WIDE.len(), "one for each");
        let mut had = BTreeSet::new();
        for case in &splat {
            had.extend(case.traits(0).expect("few pairs"));
        }
        for (axis, value) in EXPECTED {
            assert!(had.contains(&(axis.to_owned(), value.to_owned())), "{axis}: {value}");
        }
        assert!(splat.iter().any(|case| case.views() == 1280), "no case of 1,280 cameras");
    }

    #[test]
    fn every_kind_is_there() {
        let of_splats = kinds("splat");
        assert_eq!(
            of_splats.keys().copied().collect::<Vec<_>>(),
            ["fields", "sizes"],
            "generators"
        );
        assert!(of_splats["fields"] >= 45 && of_splats["sizes"] >= 19, "{of_splats:?}");
        let of_grids = kinds("grid");
        let quick =
            grid::generators::ALL.iter().filter(|row| row.generator.turns != Frequency::Seldom);
        for row in quick.filter(|row| row.generator.promise == Promise::Every) {
            assert!(of_grids[row.generator.name] as u64 >= row.kinds, "{}", row.generator.name);
        }
        assert_eq!(
            of_grids["levels"] as u64,
            grid::growth::generator::TABLES[0].kinds,
            "level tables"
        );
        for row in scatter::generators::ALL {
            let had = kinds("scatter")[row.generator.name];
            assert!(had as u64 >= row.kinds, "{}", row.generator.name);
        }
    }

    /// How many cases of each generator a workload's pool has.
    fn kinds(name: &str) -> BTreeMap<&'static str, usize> {
        let pool = CaseSet::of(&BTreeSet::from([name])).expect("all cases have jobs");
        let mut kinds = BTreeMap::new();
        for trial in pool.common.iter().flat_map(|class| &class.trials) {
            let id = trial.item.case.id().expect("it is drawn");
            *kinds.entry(id.generator).or_default() += 1;
        }
        kinds
    }
}
