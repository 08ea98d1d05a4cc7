//! One case as a `.safetensors` file.
//!
//! Tensors: `positions` `[N,d]` (F32; any numbers, d = 1 to 4), `table` `[E,F]` (F32, F = 1, 2, 4 or
//! 8), the level table `scales` `[L]` (F32), `resolutions` `[L]` (U32) and `offsets` `[L+1]` (U32;
//! level l has the entries from `offsets[l]` to `offsets[l + 1]`, the last offset is E), and the
//! gradients to start from, `v_features` `[N,L,F]` (F32). With a gate, all three of its mask: the entries
//! `mask` `[M]` (F32), `mask_scale` `[1]` (F32) and `mask_resolution` `[1]` (U32); the gradients are then those of the
//! features behind it.
//!
//! Metadata: `workload` = `grid`; optional the fields of [`Encoding`], which are those of tiny-cuda-nn's
//! hash grids where absent: `lattice` = `cubic` or `simplex`, `hash` = `prime` or `rolling`, `interpolation` =
//! `linear`, `nearest` or `smoothstep`, `position_offset` = `half` or `zero`, `right_corner` =
//! `floor-plus-one` or `ceil`, `dense_stride` = `resolution`, `resolution-plus-one` or `never`,
//! `crowded` = `hash` or `tiled`, `outside` = `wraps` or `zero`; `skew` = `none` or `simplex`;
//! `profile` = `tiny-cuda-nn`, `torch-ngp`,
//! `nerfstudio` or `dr-jit`, whose fields are then those that are absent; optional `name` (the file's name where
//! absent), `purpose` and `hazards` (names, as in `early-stop, batch-border`). Keys that start with `splatcheck.` are notes. Any other
//! tensor or key is refused, since a misspelt one would silently change the case.
//!
//! What is written is read back with the same bits, and the same case gives the same bytes.

use crate::io::hazards;
use splatcheck_gpu::hazard::Hazard;
use std::collections::BTreeMap;
use std::path::Path;

use splatcheck_reference::grid::{Encoding, Grid, GridError};

use super::case::{Case, LevelTable};
use super::fields::{self, encoding_of, fields, refused};
use super::gate::Gate;
use super::growth::{self, GrowthCase};
use super::head::{KEYS, check_notes};
use super::text::AnyText;
use super::{NAME, text};
use crate::io::container::{self, Container, Entry, need_only};
use crate::io::error::{InputError, Problem};
use crate::io::read::{self, is_text};
use crate::io::write::write_file;
use crate::workload::{NOTE_PREFIX, WORKLOAD_KEY};

/// Extensions of the files that hold a case.
pub const EXTENSIONS: [&str; 2] = ["safetensors", text::EXTENSION];
const TENSORS: [&str; 6] = ["positions", "table", "scales", "resolutions", "offsets", "v_features"];
/// Those of a gate: all of them, or none.
const OF_GATE: [&str; 3] = ["mask", "mask_scale", "mask_resolution"];

/// A case and what its file carries beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The case.
    pub case: Case,
    /// Metadata whose keys start with [`NOTE_PREFIX`], keys in full.
    pub notes: BTreeMap<String, String>,
}

/// Reads a case of either form, by its file name's extension.
///
/// # Errors
/// Names the tensor or metadata key, its value and the rule it breaks.
pub fn read_case(file: &Path) -> Result<CaseFile, InputError> {
    let bytes = read::bytes(file)?;
    if is_text(file) {
        let text = read::utf8(&bytes).map_err(|problem| problem.in_file(file))?;
        let case = text::parse(text, &read::stem(file)).map_err(|problem| problem.in_file(file))?;
        return Ok(CaseFile { case, notes: BTreeMap::new() });
    }
    parse(&bytes, &read::stem(file)).map_err(|problem| problem.in_file(file))
}

/// A case of the workload that a file holds, with its notes.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyCaseFile {
    /// Of points, for the stages that have a level table.
    Points(Box<CaseFile>),
    /// Of the numbers that a level table follows from.
    Growth(GrowthCase, BTreeMap<String, String>),
}

/// Reads a case of either kind and form.
///
/// # Errors
/// As [`read_case`].
pub fn read_any(file: &Path) -> Result<AnyCaseFile, InputError> {
    let bytes = read::bytes(file)?;
    let name = read::stem(file);
    let located = |problem: Problem| problem.in_file(file);
    let points = |file| AnyCaseFile::Points(Box::new(file));
    if is_text(file) {
        let text = read::utf8(&bytes).map_err(located)?;
        return match text::parse_any(text, &name).map_err(located)? {
            AnyText::Points(case) => Ok(points(CaseFile { case: *case, notes: BTreeMap::new() })),
            AnyText::Growth(case) => Ok(AnyCaseFile::Growth(case, BTreeMap::new())),
        };
    }
    let container = container::parse(&bytes).map_err(located)?;
    if container.tensors.contains_key(growth::file::RATIO) {
        let (case, notes) = growth::file::parse(&container, &name).map_err(located)?;
        return Ok(AnyCaseFile::Growth(case, notes));
    }
    parse(&bytes, &name).map(points).map_err(located)
}

/// [`read_case`] of bytes already in memory; `default_name` is used where they carry no name.
///
/// # Errors
/// As [`read_case`], without the file's name.
pub fn parse(bytes: &[u8], default_name: &str) -> Result<CaseFile, Problem> {
    let container = container::parse(bytes)?;
    container.need_case_of(WORKLOAD_KEY, NAME)?;
    container.need_only_tensors(&[&TENSORS[..], &OF_GATE].concat())?;
    let (notes, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        container.metadata.clone().into_iter().partition(|(key, _)| key.starts_with(NOTE_PREFIX));
    need_only("the metadata key", others.keys(), &[&KEYS[..], &fields::ALL].concat())?;
    let positions = container.need_tensor("positions")?;
    let numbers = positions.numbers(&[None, None])?;
    let (points, dimensions) = (positions.shape[0], positions.shape[1]);
    let table = container.need_tensor("table")?;
    let features = table.shape.get(1).copied().unwrap_or(0);
    let grid = grid(&container, [dimensions, features])?;
    let levels = grid.levels().len();
    let v_features = container.need_tensor("v_features")?;
    let case = Case {
        id: None,
        hazards: hazards::of_text(container.text("hazards").unwrap_or_default())?,
        name: container.text("name").unwrap_or(default_name).to_owned(),
        purpose: container.text("purpose").unwrap_or_default().to_owned(),
        positions: numbers,
        table: finite("table", table.numbers(&[Some(grid.entries()), None])?)?,
        v_features: finite(
            "v_features",
            v_features.numbers(&[Some(points), Some(levels), Some(features)])?,
        )?,
        gate: gate(&container, &grid)?,
        grid,
    };
    Ok(CaseFile { case, notes })
}

/// The fields and the level table of positions with so many numbers and entries with so many.
fn grid(container: &Container<'_>, sizes: [usize; 2]) -> Result<Grid, Problem> {
    let scales = container.need_tensor("scales")?.numbers(&[None])?;
    let resolutions = container.need_integers("resolutions")?.integers(&[None])?;
    let offsets = container.need_integers("offsets")?.integers(&[None])?;
    let levels = LevelTable { scales, resolutions, offsets };
    levels.grid(encoding(container)?, sizes).map_err(refused)
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
    let [field, value, rule] = error.parts();
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

/// Writes a case with notes, whose keys must start with [`NOTE_PREFIX`].
///
/// # Errors
/// Where an array does not fit the grid, or the file cannot be written.
pub fn write_case(
    file: &Path,
    case: &Case,
    notes: &BTreeMap<String, String>,
) -> Result<(), InputError> {
    let bytes = encode(case, notes).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes that [`write_case`] writes.
///
/// # Errors
/// As [`write_case`], without the file's name.
pub fn encode(case: &Case, notes: &BTreeMap<String, String>) -> Result<Vec<u8>, Problem> {
    case.validate()?;
    check_notes(notes)?;
    let grid = &case.grid;
    let mut metadata = fields(grid.encoding());
    metadata.insert("name".to_owned(), case.name.clone());
    metadata.insert("purpose".to_owned(), case.purpose.clone());
    metadata.insert("hazards".to_owned(), Hazard::joined(&case.hazards));
    metadata.extend(notes.clone());
    let (points, features, levels) = (case.points(), grid.features(), grid.levels().len());
    let floats = |name, shape: &[usize], numbers: &[f32]| {
        let entry = Entry::new(name, shape.to_vec(), numbers.to_vec());
        entry.check_size().map(|()| entry)
    };
    let LevelTable { scales, resolutions, offsets } = LevelTable::of(grid);
    let positions = floats("positions", &[points, grid.dimensions()], &case.positions)?;
    let table = floats("table", &[grid.entries(), features], &case.table)?;
    let scales = floats("scales", &[levels], &scales)?;
    let v_features = floats("v_features", &[points, levels, features], &case.v_features)?;
    let resolutions = Entry::new("resolutions", vec![levels], resolutions);
    let offsets = Entry::new("offsets", vec![levels + 1], offsets);
    let mut all: Vec<&dyn container::Part> =
        vec![&positions, &table, &scales, &resolutions, &offsets, &v_features];
    let gate = case.gate.as_ref().map(of_gate).transpose()?;
    if let Some(GateEntries { mask, scale, resolution }) = &gate {
        all.extend([mask as &dyn container::Part, scale, resolution]);
    }
    container::encode_parts(&metadata, &all)
}

/// The tensors of a gate.
struct GateEntries {
    mask: Entry<f32>,
    scale: Entry<f32>,
    resolution: Entry<u32>,
}

fn of_gate(gate: &Gate) -> Result<GateEntries, Problem> {
    let LevelTable { scales, resolutions, .. } = LevelTable::of(&gate.grid);
    let mask = Entry::new("mask", vec![gate.mask.len()], gate.mask.clone());
    mask.check_size()?;
    Ok(GateEntries {
        mask,
        scale: Entry::new("mask_scale", vec![1], scales),
        resolution: Entry::new("mask_resolution", vec![1], resolutions),
    })
}

#[cfg(test)]
mod tests;
