//! Small cases as text that people read and write: `corpora/grid/NAME.toml`, one case a file.
//!
//! ```toml
//! workload = "grid"
//! purpose = "a level on the knife edge"  # one line
//! hazards = `["mask-width"]`             # optional
//! profile = "torch-ngp"                  # whose fields hold that are absent; optional: tiny-cuda-nn's
//! interpolation = "smoothstep"           # and the other fields of a case file; optional
//! dimensions = 2                         # of a position; optional where there is a point
//! features = 2                           # of an entry
//! table = [1.0, 0.0]                     # `[entries, features]`; optional: numbers that all differ
//!                                        # from their neighbours
//!
//! [[level]]
//! scale = 15.0
//! resolution = 16
//! entries = 256
//!
//! `[mask]`                                 # optional: a gate, whose one level this is
//! scale = 3.0
//! resolution = 4
//! entries = 16
//! values = [1.0, 0.5]                    # `[entries]`; optional: as for the table
//!
//! [[point]]                              # in the order of the lanes
//! position = [0.5, "0x3b808081"]         # `[dimensions]`; the f32 of these bits
//! v_features = [0.5, 1.0]                # `[levels, features]`; optional: as for the table
//! repeat = 32                            # optional: as many points,
//! step = [0.25, 0.0]                     # the i-th (from 0) at position + i * step
//! ```
//!
//! Every number is an f32, rounded once from its decimal text. The case's name is the file's.

use super::case::{LevelTable, Points};
use super::fields::{encoding_of, refused};
use super::gate::Gate;
use splatcheck_judge::io::error::Problem;
use splatcheck_judge::io::toml_node::{Node, Table};
use splatcheck_reference::grid::{
    Crowded, DenseStride, Grid, Hash, Interpolation, Lattice, Outside, PositionOffset, Profile,
    RightCorner, Skew,
};

/// Largest number of numbers of an array.
const MAX_VALUES: usize = 1 << 24;
const TOO_LARGE: &str = "a text case is small: make it smaller or a .safetensors";

/// Keys beside those of every case.
pub(super) const KEYS: [&str; 16] = [
    Profile::FIELD,
    "dimensions",
    "features",
    "table",
    "level",
    MASK,
    "point",
    Lattice::FIELD,
    Hash::FIELD,
    Interpolation::FIELD,
    PositionOffset::FIELD,
    RightCorner::FIELD,
    DenseStride::FIELD,
    Crowded::FIELD,
    Outside::FIELD,
    Skew::FIELD,
];
/// The table that only a gated case has.
const MASK: &str = "mask";
const MASK_KEYS: [&str; 4] = ["scale", "resolution", "entries", "values"];
const LEVEL_KEYS: [&str; 3] = ["scale", "resolution", "entries"];
const POINT_KEYS: [&str; 4] = ["position", "v_features", "repeat", "step"];

/// The points.
pub(super) fn points(top: &Table<'_>) -> Result<Points, Problem> {
    let items = items(top, "point")?;
    let grid = grid(top, items.first())?;
    let mut points = Points {
        table: table(top, &grid)?,
        positions: Vec::new(),
        v_features: Vec::new(),
        gate: gate(top, &grid)?,
        grid,
    };
    for point in &items {
        add(&mut points, &point.table()?)?;
    }
    Ok(points)
}

fn items<'a>(top: &Table<'a>, key: &str) -> Result<Vec<Node<'a>>, Problem> {
    top.get(key).map_or_else(|| Ok(Vec::new()), |node| Ok(node.items()?.collect()))
}

/// The fields and the levels.
fn grid(top: &Table<'_>, first: Option<&Node<'_>>) -> Result<Grid, Problem> {
    let text = |field: &str| top.get(field).map(|node| node.string()).transpose();
    let located = |problem, field: &str| match top.get(field) {
        Some(node) => node.located(problem),
        None => problem,
    };
    let encoding = encoding_of(&text, located)?;
    let mut levels = LevelTable::default();
    for node in items(top, "level")? {
        let level = node.table()?;
        level.allow(&[&LEVEL_KEYS])?;
        let [resolution, entries] = ["resolution", "entries"].map(|key| level.need(key));
        levels.add(level.need("scale")?.number()?, resolution?.whole()?, entries?.whole()?);
    }
    let dimensions = match (top.get("dimensions"), first) {
        (Some(node), _) => node.whole()?,
        (None, Some(point)) => point.table()?.need("position")?.items()?.len(),
        (None, None) => return Err(top.problem("dimensions", "missing", "give it, or a point")),
    };
    levels.grid(encoding, [dimensions, top.need("features")?.whole()?]).map_err(refused)
}

fn within(count: usize, width: usize) -> Result<usize, Problem> {
    let words = count.saturating_mul(width);
    let what = || Problem::new("numbers", words, TOO_LARGE);
    (words <= MAX_VALUES).then_some(words).ok_or_else(what)
}

fn table(top: &Table<'_>, grid: &Grid) -> Result<Vec<f32>, Problem> {
    let words = within(grid.entries(), grid.features())?;
    let Some(node) = top.get("table") else { return Ok(usual(0, words)) };
    let numbers = node.numbers()?;
    if numbers.len() != words {
        return Err(node.problem(format!("expected entries x features = {words} numbers")));
    }
    Ok(numbers)
}

/// The mask of a gate, if there is one.
fn gate(top: &Table<'_>, grid: &Grid) -> Result<Option<Gate>, Problem> {
    let Some(node) = top.get(MASK) else { return Ok(None) };
    let level = node.table()?;
    level.allow(&[&MASK_KEYS])?;
    let [resolution, entries] = ["resolution", "entries"].map(|key| level.need(key));
    let level_of = (level.need("scale")?.number()?, resolution?.whole()?, entries?.whole()?);
    let grid = Gate::grid(*grid.encoding(), grid.dimensions(), level_of);
    let grid = grid.map_err(|error| node.located(refused(error)))?;
    let words = within(grid.entries(), 1)?;
    let mask = level.get("values").map_or_else(|| Ok(usual(0, words)), |node| node.numbers())?;
    let gate = Gate { grid, mask };
    gate.validate().map_err(|problem| node.located(problem))?;
    Ok(Some(gate))
}

/// So many numbers from the one at this place on: odd multiples of 1/32 between -1 and 1, of which
/// neighbours differ. They are none of which a sum vanishes.
fn usual(first: usize, count: usize) -> Vec<f32> {
    let number = |at: usize| f32::from(u8::try_from(2 * (23 * at % 32) + 1).unwrap_or(1));
    (first..first + count).map(|at| (number(at) - 32.0) / 32.0).collect()
}

/// Adds a point as often as it is repeated.
fn add(case: &mut Points, point: &Table<'_>) -> Result<(), Problem> {
    point.allow(&[&POINT_KEYS])?;
    let (d, row) = (case.grid.dimensions(), case.grid.levels().len() * case.grid.features());
    let sized = |node: Node<'_>, count: usize, what: &str| {
        let numbers = node.numbers()?;
        let fits = numbers.len() == count;
        let advice = || node.problem(format!("expected {what} = {count} numbers"));
        fits.then_some(numbers).ok_or_else(advice)
    };
    let position = sized(point.need("position")?, d, "dimensions")?;
    let step = point.get("step").map(|node| sized(node, d, "dimensions")).transpose()?;
    let step = step.unwrap_or_else(|| vec![0.0; d]);
    let given =
        point.get("v_features").map(|node| sized(node, row, "levels x features")).transpose()?;
    let repeat: u32 = point.get("repeat").map_or(Ok(1), |node| node.whole())?;
    within(case.points().saturating_add(repeat as usize), row.max(d))?;
    for at in 0..repeat {
        let moved = |(&x, &step): (&f32, &f32)| f64::from(x) + f64::from(at) * f64::from(step);
        #[expect(clippy::cast_possible_truncation, reason = "rounded once")]
        case.positions.extend(position.iter().zip(&step).map(|one| moved(one) as f32));
        let v = given.clone().unwrap_or_else(|| usual(case.v_features.len(), row));
        case.v_features.extend(v);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::case::Case;
    use splatcheck_gpu::hazard::Hazard;

    const TEXT: &str = "workload = \"grid\"\npurpose = \"why\"\nhazards = [\"mask-width\"]\nfeatures = 2\n\
                        interpolation = \"nearest\"\n\
                        [[level]]\nscale = 3.0\nresolution = 4\nentries = 16\n\
                        [[level]]\nscale = 7.5\nresolution = 9\nentries = 24\n\
                        [[point]]\nposition = [0.5, \"0x3f800000\"]\n\
                        [[point]]\nposition = [-0.0, 0.25]\nrepeat = 3\nstep = [0.5, 0.0]\n\
                        v_features = [1.0, 2.0, 3.0, 4.0]\n";

    fn numbers(text: &str) -> Points {
        Case::parse_text(text, "a").unwrap_or_else(|e| panic!("{e}")).numbers
    }

    #[test]
    fn points_lie_in_order_and_are_repeated() {
        let case = Case::parse_text(TEXT, "a").unwrap_or_else(|e| panic!("{e}"));
        let words = (&*case.name, &*case.purpose, &case.hazards[..]);
        assert_eq!(words, ("a", "why", &[Hazard::MaskWidth][..]), "words");
        let case = case.numbers;
        assert_eq!(case.positions, [0.5, 1.0, 0.0, 0.25, 0.5, 0.25, 1.0, 0.25], "by their steps");
        assert_eq!(case.grid.encoding().interpolation, Interpolation::Nearest, "a field");
        let levels: Vec<_> = case.grid.levels().iter().map(|l| (l.offset, l.entries)).collect();
        assert_eq!(levels, [(0, 16), (16, 24)], "one after another");
        assert_eq!(case.table.len(), 80, "40 entries of two");
        assert!(case.table.windows(2).all(|two| two[0] != two[1]), "neighbours differ");
        assert_eq!(case.v_features[4..8], [1.0, 2.0, 3.0, 4.0], "as given");
        assert!(case.v_features[..4].iter().all(|x| *x != 0.0 && x.abs() < 1.0), "as usual");
    }

    #[test]
    fn a_gate_has_a_mask_of_one_level() {
        let mask = "[mask]\nscale = 1.5\nresolution = 3\nentries = 9\n";
        let text = TEXT.replace("[[level]]\nscale = 3.0", &format!("{mask}[[level]]\nscale = 3.0"));
        let gate = numbers(&text).gate.expect("it has one");
        let level = &gate.grid.levels()[0];
        assert_eq!((level.scale, level.resolution, level.dense), (1.5, 3, true), "its level");
        assert_eq!(gate.grid.encoding().interpolation, Interpolation::Nearest, "the case's fields");
        assert_eq!(gate.mask, usual(0, 9), "as usual");
        for (from, to, expected) in [
            ("entries = 9\n", "entries = 9\nvalues = [1.0]\n", "expected 9, one for each entry"),
            ("scale = 1.5", "scale = -1.5", "must be finite and not negative"),
            ("entries = 9\n", "", "entries"),
            ("entries = 9\n", "entries = 9\nwidth = 1\n", "width"),
        ] {
            let error =
                Case::parse_text(&text.replacen(from, to, 1), "a").expect_err(expected).to_string();
            assert!(error.contains(expected), "wanted '{expected}', got '{error}'");
        }
    }

    #[test]
    fn a_profile_stands_for_the_fields_that_are_absent() {
        let text = TEXT.replace("features = 2\n", "features = 2\nprofile = \"torch-ngp\"\n");
        let case = numbers(&text);
        let expected = Profile::TorchNgp.encoding();
        let own = splatcheck_reference::grid::Encoding {
            interpolation: Interpolation::Nearest,
            ..expected
        };
        assert_eq!(*case.grid.encoding(), own, "but for what the case says itself");
        assert!(!case.grid.levels()[0].dense, "5^2 vertices of r + 1 do not fit 16 entries");
        let wrong = text.replace("torch-ngp", "ngp");
        let error = Case::parse_text(&wrong, "a").expect_err("there is none").to_string();
        assert!(error.contains("profile is 'ngp': expected tiny-cuda-nn or torch-ngp"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (from, to, expected) in [
            ("\"mask-width\"", "\"mask\"", "hazards[0] is 'mask': 'mask' is no hazard"),
            ("\"nearest\"", "\"cubic\"", "expected nearest or linear or smoothstep"),
            ("features = 2", "features = 3", "give 1, 2, 4 or 8"),
            ("[0.5, \"0x3f800000\"]", "[0.5]", "expected dimensions = 1 numbers"),
            ("4.0]", "4.0, 5.0]", "expected levels x features = 4 numbers"),
            ("4.0]", "inf]", "v_features[3] is inf"),
            ("repeat = 3", "repeat = 300000000", "a text case is small"),
            ("\"grid\"", "\"splat\"", "this is read as a case of 'grid'"),
            ("resolution = 4", "resolution = 0", "give 1 or more"),
            ("features = 2\n", "features = 2\ntable = [1.0]\n", "entries x features = 80 numbers"),
        ] {
            let error =
                Case::parse_text(&TEXT.replace(from, to), "a").expect_err(expected).to_string();
            assert!(error.contains(expected), "wanted '{expected}', got '{error}'");
        }
    }
}
