//! The inputs of grid encodings, read wrongly.

use super::{
    ABSOLUTE, CLIPPED, FIRST_COLUMN, FIRST_ROW, REVERSED, Reading, Shape, TRANSPOSED, Wrong, ZERO,
    assert_seen, main_job,
};
use splatcheck_judge::workload::AnyCase;
use splatcheck_judge::workload::named::Named;
use splatcheck_reference::grid::{DenseStride, Encoding, EntriesRule, Grid, Growth, ScaleRule};
use splatcheck_workloads::grid::Grids;
use splatcheck_workloads::grid::case::{Case, LevelTable, Points};
use splatcheck_workloads::grid::gate::Gate;
use splatcheck_workloads::grid::growth::{LevelTableCase, TableGrowth};
use std::sync::Arc;

type Array = (
    &'static str,
    fn(&mut Points) -> Option<(&mut [f32], usize)>,
    &'static [(&'static str, Reading)],
);

const NEAR: (&str, Reading) = ("itself clipped to -2..3", |all, _| {
    all.iter_mut().for_each(|x| *x = x.clamp(-2.0, 3.0));
});
const OPEN: (&str, Reading) = ("1", |all, _| all.fill(1.0));

static ARRAYS: [Array; 4] = [
    (
        "positions",
        |case| {
            let d = case.grid.dimensions();
            Some((case.positions.as_mut_slice(), d))
        },
        &[ZERO, ABSOLUTE, CLIPPED, NEAR, FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED],
    ),
    (
        "table",
        |case| {
            let features = case.grid.features();
            Some((case.table.as_mut_slice(), features))
        },
        &[ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED],
    ),
    (
        "v_features",
        |case| {
            let columns = case.grid.features() * case.grid.levels().len();
            Some((case.v_features.as_mut_slice(), columns))
        },
        &[ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED],
    ),
    (
        "mask",
        |case| Some((case.gate.as_mut()?.mask.as_mut_slice(), 1)),
        &[ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, OPEN],
    ),
];

/// A field, and how it is taken from another encoding.
type Field = (&'static str, fn(&mut Encoding, Encoding));

static FIELDS: [Field; 9] = [
    ("lattice", |own, other| {
        // Their skews and weights go with them.
        own.lattice = other.lattice;
        own.skew = other.skew;
    }),
    ("skew", |own, other| own.skew = other.skew),
    ("hash", |own, other| own.hash = other.hash),
    ("interpolation", |own, other| own.interpolation = other.interpolation),
    ("position_offset", |own, other| own.position_offset = other.position_offset),
    ("right_corner", |own, other| own.right_corner = other.right_corner),
    ("dense_stride", |own, other| {
        own.dense_stride = other.dense_stride;
    }),
    ("crowded", |own, other| own.crowded = other.crowded),
    ("outside", |own, other| own.outside = other.outside),
];

/// A number of the level table, and what is read in its place.
type Misread = (&'static str, &'static str, fn(&mut LevelTable));

static LEVELS: [Misread; 6] = [
    ("scales", "the first level's", |table| {
        let first = table.scales[0];
        table.scales.fill(first);
    }),
    ("scales", "the resolution", |table| {
        for (scale, resolution) in table.scales.iter_mut().zip(&table.resolutions) {
            *scale = f32::from(u16::try_from(*resolution).unwrap_or(u16::MAX));
        }
    }),
    ("resolutions", "the first level's", |table| {
        let first = table.resolutions[0];
        table.resolutions.fill(first);
    }),
    ("resolutions", "one more", |table| {
        table.resolutions.iter_mut().for_each(|r| *r = r.saturating_add(1));
    }),
    ("resolutions", "at most 512", |table| {
        table.resolutions.iter_mut().for_each(|r| *r = (*r).min(512));
    }),
    ("offsets", "in reverse", |table| {
        let end = table.offsets.last().copied().unwrap_or(0);
        table.offsets = table.offsets.iter().rev().map(|offset| end - offset).collect();
    }),
];

/// Every input that a kernel reads. A new one does not compile before it is listed.
fn inputs(case: &Case) -> Vec<&'static str> {
    let Named { name: _, id: _, purpose: _, hazards: _, numbers } = case;
    let Points { grid, positions: _, table: _, v_features: _, gate: _ } = numbers;
    let LevelTable { scales: _, resolutions: _, offsets: _ } = LevelTable::of(grid);
    let Encoding {
        lattice: _,
        skew: _,
        hash: _,
        interpolation: _,
        position_offset: _,
        right_corner: _,
        dense_stride: _,
        crowded: _,
        outside: _,
    } = grid.encoding();
    let mut all =
        vec!["positions", "table", "v_features", "mask", "scales", "resolutions", "offsets"];
    all.extend(FIELDS.iter().map(|(name, _)| *name));
    all
}

/// The grid of that encoding and these levels, where there is one.
fn with(grid: &Grid, encoding: Encoding, change: impl Fn(&mut LevelTable)) -> Option<Grid> {
    let mut table = LevelTable::of(grid);
    change(&mut table);
    table.grid(encoding, [grid.dimensions(), grid.features()]).ok()
}

fn all() -> Vec<Wrong<Case>> {
    let arrays = ARRAYS.iter().flat_map(|&(name, of, readings)| {
        readings.iter().map(move |&(by, reading)| {
            Wrong::new(name, by, move |case: &mut Case| {
                if let Some((values, columns)) = of(&mut case.numbers)
                    && !values.is_empty()
                {
                    reading(values, Shape { cameras: 1, columns });
                }
            })
        })
    });
    let levels = LEVELS.iter().map(|&(name, by, change)| {
        Wrong::new(name, by, move |case: &mut Case| {
            let own = &mut case.numbers.grid;
            if let Some(grid) = with(own, *own.encoding(), change) {
                *own = grid;
            }
        })
    });
    let fields = FIELDS.iter().map(|&(name, change)| {
        Wrong::new(name, "tiny-cuda-nn's", move |case: &mut Case| {
            let points = &mut case.numbers;
            let mut encoding = *points.grid.encoding();
            change(&mut encoding, Encoding::default());
            let Some(grid) = with(&points.grid, encoding, |_| ()) else { return };
            if let Some(Gate { grid, .. }) = &mut points.gate {
                let Some(mask) = with(grid, encoding, |_| ()) else { return };
                *grid = mask;
            }
            points.grid = grid;
        })
    });
    arrays.chain(levels).chain(fields).collect()
}

/// The numbers that a level table follows from. Of other numbers of levels there are other outputs.
fn of_tables() -> Vec<Wrong<LevelTableCase>> {
    let of = |input, by, change: fn(&mut TableGrowth)| {
        Wrong::new(input, by, move |case: &mut LevelTableCase| change(&mut case.numbers))
    };
    vec![
        of("coarsest", "1", |case| case.growth.coarsest = 1),
        of("coarsest", "its low 16 bits", |case| {
            case.growth.coarsest = (case.growth.coarsest & 0xffff).max(1);
        }),
        of("ratio", "1", |case| case.growth.ratio = 1.0),
        of("ratio", "2", |case| case.growth.ratio = 2.0),
        of("most_entries", "at most 2^19", |case| {
            case.growth.most_entries = case.growth.most_entries.min(1 << 19);
        }),
        of("scale_rule", "the first", |case| case.growth.scale_rule = ScaleRule::ALL[0]),
        of("entries_rule", "the first", |case| case.growth.entries_rule = EntriesRule::ALL[0]),
        of("dense_stride", "the first", |case| case.dense_stride = DenseStride::ALL[0]),
        of("dimensions", "3", |case| case.sizes[0] = 3),
        of("features", "2", |case| case.sizes[1] = 2),
    ]
}

#[test]
fn the_main_job_sees_every_number_of_a_level_table() {
    let drawn = main_job(&Grids, 25);
    let of = |case: &AnyCase| case.as_any().downcast_ref::<LevelTableCase>().cloned();
    let cases: Vec<_> = drawn.iter().filter_map(of).collect();
    let TableGrowth { sizes: _, dense_stride: _, growth } = &cases[0].numbers;
    let Growth {
        coarsest: _,
        ratio: _,
        levels: _,
        most_entries: _,
        scale_rule: _,
        entries_rule: _,
    } = growth;
    let names = ["coarsest", "ratio", "most_entries", "scale_rule", "entries_rule", "dense_stride"];
    let names = [&names[..], &["dimensions", "features"]].concat();
    assert_seen(&cases, &of_tables(), (&names, &[]), |case| Arc::new(case.clone()));
}

#[test]
fn the_main_job_sees_every_input_of_a_grid() {
    let drawn = main_job(&Grids, 25);
    let of = |case: &AnyCase| case.as_any().downcast_ref::<Case>().cloned();
    let mut cases: Vec<_> =
        drawn.iter().filter_map(of).filter(|case| case.numbers.points() > 0).collect();
    // The large ones only for what no other sees.
    cases.sort_by_key(|case| case.numbers.table.len());
    let names = inputs(&cases[0]);
    assert_seen(&cases, &all(), (&names, &[]), |case| Arc::new(case.clone()));
}
