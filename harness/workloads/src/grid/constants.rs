//! What may be built into a kernel of a grid encoding: its fields, the numbers of a position and the features
//! of an entry.

use super::case::{LevelTable, Points, numbers};
use super::fields::{encoding_of, fields};
use super::gate::Gate;
use splatcheck_judge::workload::rows::recounted;
use splatcheck_judge::workload::{BuiltIn, Constant, Values};
use std::collections::BTreeMap;
use std::f64::consts::LN_2;

use splatcheck_gpu::stages::grid::{FIELDS, MOST_DIMENSIONS};
use splatcheck_reference::arithmetic::{Cuda, CudaFast, Scalar};
use splatcheck_reference::grid::{ComputedScales, Crowded, DenseStride, Encoding, Grid};

const DIMENSIONS: &str = "d";
const FEATURES: &str = "F";
/// Whether a kernel reads scales and resolutions, or computes them.
const LEVEL_TABLE: &str = "level_table";
const READ: usize = 0;
const COMPUTED: usize = 1;

/// All of them.
pub(super) fn all() -> Vec<Constant> {
    let named = FIELDS.iter().map(|&(name, names)| Constant::new(name, Values::Named(names)));
    let sizes = [
        Constant::new(DIMENSIONS, Values::UpTo(MOST_DIMENSIONS)),
        Constant::new(FEATURES, Values::Sizes(&[1, 2, 4, 8])),
        Constant {
            numbers: &["base_resolution", "log2_per_level_scale"],
            ..Constant::new(LEVEL_TABLE, Values::Named(&["read", "computed"]))
        },
    ];
    named.chain(sizes).collect()
}

/// The number that stands for a case's value of one. Of a case behind a gate the mask is an encoding, too, which
/// has one feature: unless the kernel is one `of_gates`, the case has the value only if both have.
pub(super) fn of(case: &Points, of_gates: bool, name: &str) -> Option<usize> {
    let own = of_grid(&case.grid, name)?;
    let mask = case.gate.as_ref().filter(|_| !of_gates);
    let has = |gate: &Gate| of_grid(&gate.grid, name) == Some(own);
    mask.is_none_or(has).then_some(own)
}

fn of_grid(grid: &Grid, name: &str) -> Option<usize> {
    match name {
        DIMENSIONS => Some(grid.dimensions()),
        FEATURES => Some(grid.features()),
        LEVEL_TABLE => Some(if grid.computed_scales().is_some() { COMPUTED } else { READ }),
        Crowded::FIELD if wraps_axes(grid) => None,
        field => {
            let place = FIELDS.iter().position(|(known, _)| *known == field)?;
            Some(numbers(grid.encoding())[place] as usize)
        }
    }
}

/// Whether a level is tiled whose entries are fewer than the stride of its last axis. tiny-cuda-nn and torch-ngp, for
/// which kernels with tiled levels are built, leave that axis out (`stride <= hashmap_size` in the loop of both), where
/// the oracle counts it: such a level is no case for them.
fn wraps_axes(grid: &Grid) -> bool {
    let more = u64::from(grid.encoding().dense_stride == DenseStride::ResolutionPlusOne);
    let stride = |resolution: u32| {
        let side = u64::from(resolution) + more;
        (1..grid.dimensions()).try_fold(1_u64, |all, _| all.checked_mul(side))
    };
    grid.encoding().crowded == Crowded::Tiled
        && grid.levels().iter().any(|level| {
            stride(level.resolution).is_none_or(|stride| stride > u64::from(level.entries))
        })
}

/// The case with these values. Numbers of a position or an entry beyond those that there are, are copies of them,
/// each copy half as large as the one before; a gate goes, unless the kernel is one `of_gates`.
pub(super) fn given(case: &Points, of_gates: bool, built_in: &BuiltIn) -> Option<Points> {
    let grid = &case.grid;
    let (mut d, mut f) = (grid.dimensions(), grid.features());
    let mut computed = grid.computed_scales().is_some();
    for (name, value) in built_in.iter() {
        match name {
            DIMENSIONS => d = value,
            FEATURES => f = value,
            LEVEL_TABLE => computed = value == COMPUTED,
            _ => {}
        }
    }
    let other = |grid: &Grid, sizes: [usize; 2]| {
        let (table, encoding) = (LevelTable::of(grid), encoding(grid.encoding(), built_in)?);
        match (computed, grid.computed_scales()) {
            (false, _) => table.grid(encoding, sizes).ok(),
            (true, own) => {
                let scales = own.or_else(|| computed_scales(grid))?;
                Grid::computed(encoding, sizes, scales, &table.offsets).ok()
            }
        }
    };
    let gate = match case.gate.as_ref().filter(|_| of_gates) {
        None => None,
        Some(gate) => Some(Gate { grid: other(&gate.grid, [d, 1])?, mask: gate.mask.clone() }),
    };
    let (old_d, old_f) = (grid.dimensions(), grid.features());
    let made = other(grid, [d, f])?;
    let crowded = built_in.iter().any(|(name, _)| name == Crowded::FIELD);
    if crowded && (wraps_axes(&made) || gate.as_ref().is_some_and(|gate| wraps_axes(&gate.grid))) {
        return None;
    }
    Some(Points {
        grid: made,
        positions: recounted(&case.positions, old_d, d),
        table: recounted(&case.table, old_f, f),
        v_features: recounted(&case.v_features, old_f, f),
        gate,
    })
}

/// The case with another value of a field; `None` where that contradicts the others.
pub(super) fn with_field(case: &Points, name: &str, value: &str) -> Option<Points> {
    let mut texts = fields(case.grid.encoding());
    texts.insert(name.to_owned(), value.to_owned());
    let sizes = [case.grid.dimensions(), case.grid.features()];
    let grid = LevelTable::of(&case.grid).grid_like(&case.grid, read(&texts)?, sizes).ok()?;
    Some(Points { grid, ..case.clone() })
}

/// The fields of these texts.
fn read(texts: &BTreeMap<String, String>) -> Option<Encoding> {
    encoding_of(&|key| Ok(texts.get(key).map(String::as_str)), |problem, _| problem).ok()
}

/// Numbers from which kernels compute scales about as those of a grid, so that no rounding of CUDA's decides a
/// resolution: another ratio is tried where one does. `None` where each that is tried does.
fn computed_scales(grid: &Grid) -> Option<ComputedScales> {
    const TRIED: u8 = 32;
    let levels = grid.levels();
    let scales = || levels.iter().map(|level| f64::from(level.scale) + 1.0);
    let base = scales().fold(f64::INFINITY, f64::min).round().clamp(1.0, 512.0);
    let finest = scales().fold(1.0, f64::max).clamp(base, 65_536.0);
    let steps = levels.len().saturating_sub(1).max(1) as f64;
    let usual = (<f64 as Scalar>::ln(finest / base) / LN_2 / steps).clamp(0.0, 1.0);
    let tried = (0..TRIED).map(|number| usual + f64::from(number) * 0.0137);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1 to 512")]
    let mut scales = tried.map(|log2| ComputedScales {
        base_resolution: base as u32,
        log2_per_level_scale: log2 as f32,
    });
    scales.find(|one| {
        (0..levels.len())
            .all(|level| !one.is_open::<Cuda>(level) && !one.is_open::<CudaFast>(level))
    })
}

/// The fields with those that are built in.
fn encoding(own: &Encoding, built_in: &BuiltIn) -> Option<Encoding> {
    let mut texts = fields(own);
    for (name, value) in built_in.iter() {
        if let Some((_, names)) = FIELDS.iter().find(|(known, _)| *known == name) {
            texts.insert(name.to_owned(), (*names.get(value)?).to_owned());
        }
    }
    read(&texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generators::ALL as GENERATORS;
    use crate::read_case;
    use splatcheck_gpu::stages::grid::{GRID_BACKWARD, GRID_GATE};
    use splatcheck_judge::judge::Arithmetic;
    use splatcheck_judge::workload::named::{Numbers as _, fitted};
    use splatcheck_judge::workload::{AnyCase, Notes};
    use std::sync::Arc;

    fn built_in(constants: &[(&str, &str)]) -> BuiltIn {
        BuiltIn::default().with(constants.iter().copied(), &all()).expect("they are known")
    }

    /// Public programs leave out an axis whose stride is above the entries: 5 x 5 of 20, and not of 30.
    #[test]
    fn tiled_levels_that_programs_count_otherwise_are_no_cases() {
        let wanted = built_in(&[("crowded", "tiled")]);
        let with = |entries: u32, crowded: Crowded| {
            let encoding = Encoding { crowded, ..Encoding::default() };
            let grid = Grid::new(encoding, [3, 1], &[4.0], &[5], &[0, entries]).expect("it fits");
            let table = vec![1.0; entries as usize];
            let (positions, v_features) = (vec![0.5; 3], vec![1.0]);
            Points { grid, positions, table, v_features, gate: None }
        };
        for (entries, crowded, is_for) in [
            (20, Crowded::Tiled, false),
            (30, Crowded::Tiled, true),
            (20, Crowded::Hash, false),
            (30, Crowded::Hash, false),
        ] {
            let case = with(entries, crowded);
            let tiled = wanted.iter().next().map(|(_, value)| value);
            assert_eq!(of(&case, false, "crowded") == tiled, is_for, "{entries}, {crowded}");
            assert_eq!(given(&case, false, &wanted).is_some(), entries == 30, "{entries}");
        }
    }

    #[test]
    fn a_case_takes_on_what_is_built_into_a_kernel() {
        let wanted = built_in(&[("d", "3"), ("F", "4"), ("hash", "rolling"), ("lattice", "cubic")]);
        let mut made = 0;
        for row in GENERATORS {
            let case: AnyCase = Arc::new(row.draw(1, 0, 1));
            let Some(other) = fitted::<Points>(&case, GRID_BACKWARD, &wanted) else { continue };
            made += 1;
            let points = &other.as_any().downcast_ref::<super::super::case::Case>().expect("one");
            let points = &points.numbers;
            assert_eq!(
                (points.grid.dimensions(), points.grid.features()),
                (3, 4),
                "{}",
                case.name()
            );
            assert!(points.gate.is_none() && points.validate().is_ok(), "{}", case.name());
            assert!(other.jobs_of(0, &|stage| stage == GRID_BACKWARD).is_ok(), "{}", case.name());
        }
        assert!(made * 2 > GENERATORS.len(), "most can: {made}");
    }

    #[test]
    fn scales_that_a_kernel_computes_are_decided_and_go_into_the_file_and_back() {
        let wanted =
            built_in(&[("level_table", "computed"), ("lattice", "cubic"), ("skew", "none")]);
        let out = tempfile::tempdir().expect("a folder");
        let mut made = 0;
        for row in GENERATORS {
            let case: AnyCase = Arc::new(row.draw(2, 0, 2));
            let Some(other) = fitted::<Points>(&case, GRID_BACKWARD, &wanted) else { continue };
            made += 1;
            let jobs = other.jobs_of(0, &|stage| stage == GRID_BACKWARD).expect("jobs");
            let base = jobs[0].inputs.u32("base_resolution").expect("a number")[0];
            assert!(base >= 1, "{}: the kernel is told", case.name());
            let file = out.path().join(format!("{}.safetensors", case.name()));
            other.write(&file, &Notes::new()).expect("written");
            let again = read_case(&file).expect("a case").case;
            let jobs_again = again.jobs_of(0, &|stage| stage == GRID_BACKWARD).expect("jobs");
            assert_eq!(jobs_again[0].inputs, jobs[0].inputs, "{}", case.name());
            let bounds = |job: &splatcheck_judge::workload::Job| {
                format!("{:?}", job.expectation(Arithmetic::Cuda).outputs().collect::<Vec<_>>())
            };
            assert_eq!(bounds(&jobs_again[0]), bounds(&jobs[0]), "{}", case.name());
        }
        assert!(made * 2 > GENERATORS.len(), "most can: {made}");
    }

    /// A mask has one feature, whatever the encoding before its gate has.
    #[test]
    fn a_gate_stays_for_kernels_of_gates_alone() {
        let row = GENERATORS.iter().find(|row| row.generator.name == "gates").expect("there");
        let case: AnyCase = Arc::new(row.draw(3, 0, 3));
        let wanted = built_in(&[("F", "2")]);
        let views = |stage| Some(fitted::<Points>(&case, stage, &wanted)?.views());
        assert_eq!(views(GRID_BACKWARD), Some(1), "the encoding alone");
        assert_eq!(views(GRID_GATE), Some(2), "with its mask");
    }
}
