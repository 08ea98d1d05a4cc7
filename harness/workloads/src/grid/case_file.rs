//! One case as a file.
//!
//! A `.safetensors` ([`splatcheck_judge::workload::named`] has what every case's file says): tensors `positions` `[N,d]`
//! (F32; any numbers, d = 1 to 4), `table` `[E,F]` (F32, F = 1, 2, 4 or
//! 8), the level table `scales` `[L]` (F32), `resolutions` `[L]` (U32) and `offsets` `[L+1]` (U32;
//! level l has the entries from `offsets[l]` to `offsets[l + 1]`, the last offset is E), and the
//! gradients to start from, `v_features` `[N,L,F]` (F32). With a gate, all three of its mask: the entries
//! `mask` `[M]` (F32), `mask_scale` `[1]` (F32) and `mask_resolution` `[1]` (U32); the gradients are then those of the
//! features behind it.
//!
//! Optional metadata: the fields of [`Encoding`], which are those of tiny-cuda-nn's
//! hash grids where absent: `lattice` = `cubic` or `simplex`, `hash` = `prime` or `rolling`, `interpolation` =
//! `linear`, `nearest` or `smoothstep`, `position_offset` = `half` or `zero`, `right_corner` =
//! `floor-plus-one` or `ceil`, `dense_stride` = `resolution`, `resolution-plus-one` or `never`,
//! `crowded` = `hash` or `tiled`, `outside` = `wraps` or `zero`; `skew` = `none` or `simplex`;
//! `profile` = `tiny-cuda-nn`, `torch-ngp`,
//! `nerfstudio` or `dr-jit`, whose fields are then those that are absent; `base_resolution` and
//! `log2_per_level_scale`, from which kernels compute scales and resolutions that read none: those of the file must
//! be the nearest. A `.toml`: see `text.rs`.
//!
//! A file with the numbers that a level table follows from is a case of another kind: [`growth`].

use std::path::Path;

use splatcheck_reference::grid::{ComputedScales, Encoding, Grid, GridError};

use super::case::{Case, LevelTable, Points};
use super::fields::{self, NAME, encoding_of, fields, refused};
use super::gate::Gate;
use super::growth::{self, LevelTableCase};
use super::text;
use splatcheck_judge::io::container::{Container, Entry, Part};
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::io::toml_node::Table;
use splatcheck_judge::workload::Notes;
use splatcheck_judge::workload::named::{InFiles, Opened, Written, open};

/// The tensors of a gate: all of them, or none.
const OF_GATE: [&str; 3] = ["mask", "mask_scale", "mask_resolution"];

/// What kernels compute their scales from, where they do: both, or none.
const COMPUTED: [&str; 2] = ["base_resolution", "log2_per_level_scale"];

/// A case of the workload that a file holds, with its notes.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyCaseFile {
    /// Of points, for the stages that have a level table.
    Points(Box<Case>, Notes),
    /// Of the numbers that a level table follows from.
    Growth(LevelTableCase, Notes),
}

/// Reads a case of either kind and form.
///
/// # Errors
/// Names the tensor or key, its value and the rule it breaks.
pub fn read_any(file: &Path) -> Result<AnyCaseFile, InputError> {
    open(file, |opened, name| {
        let of_tables = match opened {
            Opened::Container(container) => container.tensors.contains_key(growth::file::RATIO),
            Opened::Text(top) => top.get(growth::file::GROWTH).is_some(),
        };
        if of_tables {
            let (case, notes) = LevelTableCase::of(opened, name)?;
            return Ok(AnyCaseFile::Growth(case, notes));
        }
        let (case, notes) = Case::of(opened, name)?;
        Ok(AnyCaseFile::Points(Box::new(case), notes))
    })
}

impl InFiles for Points {
    const WORKLOAD: &'static str = NAME;
    const TENSORS: &'static [&'static str] = &[
        "positions",
        "table",
        "scales",
        "resolutions",
        "offsets",
        "v_features",
        OF_GATE[0],
        OF_GATE[1],
        OF_GATE[2],
    ];
    const METADATA: &'static [&'static [&'static str]] = &[&fields::WITH_PROFILE, &COMPUTED];
    const TEXT: &'static [&'static str] = &text::KEYS;

    fn of_container(container: &Container<'_>) -> Result<Self, Problem> {
        let positions = container.need_tensor("positions")?;
        let numbers = positions.numbers(&[None, None])?;
        let (points, dimensions) = (positions.shape[0], positions.shape[1]);
        let table = container.need_tensor("table")?;
        let features = table.shape.get(1).copied().unwrap_or(0);
        let grid = grid(container, [dimensions, features])?;
        let levels = grid.levels().len();
        let v_features = container.need_tensor("v_features")?;
        Ok(Self {
            positions: numbers,
            table: finite("table", table.numbers(&[Some(grid.entries()), None])?)?,
            v_features: finite(
                "v_features",
                v_features.numbers(&[Some(points), Some(levels), Some(features)])?,
            )?,
            gate: gate(container, &grid)?,
            grid,
        })
    }

    fn of_text(top: &Table<'_>) -> Result<Self, Problem> {
        text::points(top)
    }

    fn written(&self) -> Result<Written, Problem> {
        let Self { grid, positions, table, v_features, gate } = self;
        let (points, features, levels) = (self.points(), grid.features(), grid.levels().len());
        let floats = |name, shape: &[usize], numbers: &[f32]| -> Result<Box<dyn Part>, Problem> {
            let entry = Entry::new(name, shape.to_vec(), numbers.to_vec());
            entry.check_size()?;
            Ok(Box::new(entry))
        };
        let LevelTable { scales, resolutions, offsets } = LevelTable::of(grid);
        let mut tensors: Vec<Box<dyn Part>> = vec![
            floats("positions", &[points, grid.dimensions()], positions)?,
            floats("table", &[grid.entries(), features], table)?,
            floats("scales", &[levels], &scales)?,
            Box::new(Entry::new("resolutions", vec![levels], resolutions)),
            Box::new(Entry::new("offsets", vec![levels + 1], offsets)),
            floats("v_features", &[points, levels, features], v_features)?,
        ];
        if let Some(Gate { grid, mask }) = gate {
            let LevelTable { scales, resolutions, .. } = LevelTable::of(grid);
            tensors.push(floats("mask", &[mask.len()], mask)?);
            tensors.push(floats("mask_scale", &[1], &scales)?);
            tensors.push(Box::new(Entry::new("mask_resolution", vec![1], resolutions)));
        }
        let mut metadata = fields(grid.encoding());
        if let Some(ComputedScales { base_resolution, log2_per_level_scale }) =
            grid.computed_scales()
        {
            let texts = [base_resolution.to_string(), log2_per_level_scale.to_string()];
            metadata.extend(COMPUTED.map(str::to_owned).into_iter().zip(texts));
        }
        Ok(Written { metadata, tensors })
    }
}

/// The fields and the level table of positions with so many numbers and entries with so many.
fn grid(container: &Container<'_>, sizes: [usize; 2]) -> Result<Grid, Problem> {
    let scales = container.need_tensor("scales")?.numbers(&[None])?;
    let resolutions = container.need_integers("resolutions")?.integers(&[None])?;
    let offsets = container.need_integers("offsets")?.integers(&[None])?;
    let levels = LevelTable { scales, resolutions, offsets };
    let encoding = encoding(container)?;
    let Some(computed) = computed(container)? else {
        return levels.grid(encoding, sizes).map_err(refused);
    };
    let grid = Grid::computed(encoding, sizes, computed, &levels.offsets).map_err(refused)?;
    if LevelTable::of(&grid) == levels {
        return Ok(grid);
    }
    let advice = format!("they must follow from {}", COMPUTED.join(" and "));
    Err(Problem::new("scales and resolutions", "others", advice))
}

/// What kernels compute their scales from, where the file says that they do.
fn computed(container: &Container<'_>) -> Result<Option<ComputedScales>, Problem> {
    let [base, log2] = COMPUTED.map(|key| container.text(key));
    let (Some(base), Some(log2)) = (base, log2) else {
        let one = COMPUTED.iter().zip([base, log2]).find(|(_, text)| text.is_some());
        return match one {
            None => Ok(None),
            Some((key, _)) => {
                Err(Problem::new(*key, "alone", format!("give {}", COMPUTED.join(" and "))))
            }
        };
    };
    let wrong = |key: &str, text: &str, advice| Problem::new(key, quoted(text), advice);
    let whole = base.parse().ok().filter(|&base| base > 0);
    let float = log2.parse::<f32>().ok().filter(|log2| log2.is_finite() && *log2 >= 0.0);
    Ok(Some(ComputedScales {
        base_resolution: whole.ok_or_else(|| wrong(COMPUTED[0], base, "expected 1 or more"))?,
        log2_per_level_scale: float
            .ok_or_else(|| wrong(COMPUTED[1], log2, "expected a number, 0 or more"))?,
    }))
}

/// The gate, where the file has any of its tensors.
fn gate(container: &Container<'_>, grid: &Grid) -> Result<Option<Gate>, Problem> {
    if !OF_GATE.iter().any(|name| container.tensors.contains_key(*name)) {
        return Ok(None);
    }
    let mask = finite("mask", container.need_tensor("mask")?.numbers(&[None])?)?;
    let scale = container.need_tensor("mask_scale")?.numbers(&[Some(1)])?[0];
    let resolution = container.need_integers("mask_resolution")?.integers(&[Some(1)])?[0];
    let too_many =
        |_| Problem::new("the number of values of mask", mask.len(), "give fewer than 2^32");
    let entries = u32::try_from(mask.len()).map_err(too_many)?;
    let level = (scale, resolution, entries);
    let grid = Gate::grid(*grid.encoding(), grid.dimensions(), level).map_err(of_mask)?;
    Ok(Some(Gate { grid, mask }))
}

/// What is wrong with the level of a mask.
fn of_mask(error: GridError) -> Problem {
    let GridError { field, value, rule } = error;
    Problem::new(format!("of the mask, {field}"), value, rule)
}

fn encoding(container: &Container<'_>) -> Result<Encoding, Problem> {
    encoding_of(&|field| Ok(container.text(field)), |problem, _| problem)
}

/// Numbers all of which are finite.
fn finite(name: &str, numbers: Vec<f32>) -> Result<Vec<f32>, Problem> {
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(Problem::new(format!("{name}[{at}]"), numbers[at], "must be finite")),
        None => Ok(numbers),
    }
}

#[cfg(test)]
mod tests;
