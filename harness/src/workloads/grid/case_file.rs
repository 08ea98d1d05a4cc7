//! One case as a `.safetensors` file.
//!
//! Tensors: `positions` `[N,d]` (F32; any numbers, d = 1 to 4), `table` `[E,F]` (F32, F = 1, 2, 4 or
//! 8), the level table `scales` `[L]` (F32), `resolutions` `[L]` (U32) and `offsets` `[L+1]` (U32;
//! level l has the entries from `offsets[l]` to `offsets[l + 1]`, the last offset is E), and the
//! gradients to start from, `v_features` `[N,L,F]` (F32).
//!
//! Metadata: `workload` = `grid`; optional the fields of [`Encoding`], which are those of tiny-cuda-nn's
//! hash grids where absent: `lattice` = `cubic` or `simplex`, `hash` = `prime` or `rolling`, `interpolation` =
//! `linear`, `nearest` or `smoothstep`, `position_offset` = `half` or `zero`, `right_corner` =
//! `floor-plus-one` or `ceil`, `dense_stride` = `resolution`, `resolution-plus-one` or `never`,
//! `crowded` = `hash` or `tiled`, `outside` = `wraps` or `zero`; optional `name` (the file's name where
//! absent) and `purpose`. Any other tensor or key is refused, since a misspelt one would silently
//! change the case.
//!
//! What is written is read back with the same bits, and the same case gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Grid, GridError, Hash, Interpolation, Lattice, Outside,
    PositionOffset, RightCorner, UnknownSetting,
};

use super::NAME;
use crate::io::container::{self, Container, Entry, need_only};
use crate::io::error::{InputError, Problem, quoted};
use crate::io::read;
use crate::io::write::write_file;
use crate::workload::WORKLOAD_KEY;

/// Extensions of the files that hold a case.
pub const EXTENSIONS: [&str; 1] = ["safetensors"];
const TENSORS: [&str; 6] = ["positions", "table", "scales", "resolutions", "offsets", "v_features"];
const KEYS: [&str; 11] = [
    WORKLOAD_KEY,
    "name",
    "purpose",
    Lattice::FIELD,
    Hash::FIELD,
    Interpolation::FIELD,
    PositionOffset::FIELD,
    RightCorner::FIELD,
    DenseStride::FIELD,
    Crowded::FIELD,
    Outside::FIELD,
];

/// Points in a grid encoding. All numbers are f32, exactly those in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Short name.
    pub name: String,
    /// One line: what the case is there to catch.
    pub purpose: String,
    /// The fields and the level table.
    pub grid: Grid,
    /// `[N,d]`.
    pub positions: Vec<f32>,
    /// `[E,F]`.
    pub table: Vec<f32>,
    /// `[N,L,F]`: the loss's gradients by the features.
    pub v_features: Vec<f32>,
}

impl Case {
    /// N.
    #[must_use]
    pub fn points(&self) -> usize {
        self.positions.len() / self.grid.dimensions()
    }
}

/// Reads a case.
///
/// # Errors
/// Names the tensor or metadata key, its value and the rule it breaks.
pub fn read_case(file: &Path) -> Result<Case, InputError> {
    if read::is_text(file) {
        let advice = "a case of grid encodings is a .safetensors, convert it";
        return Err(Problem::new("the file's form", "TOML", advice).in_file(file));
    }
    let bytes = read::bytes(file)?;
    parse(&bytes, &read::stem(file)).map_err(|problem| problem.in_file(file))
}

/// [`read_case`] of bytes already in memory; `default_name` is used where they carry no name.
///
/// # Errors
/// As [`read_case`], without the file's name.
pub fn parse(bytes: &[u8], default_name: &str) -> Result<Case, Problem> {
    let container = container::parse(bytes)?;
    container.need_case_of(WORKLOAD_KEY, NAME)?;
    container.need_only_tensors(&TENSORS)?;
    need_only("the metadata key", container.metadata.keys(), &KEYS)?;
    let positions = container.need_tensor("positions")?;
    let numbers = positions.numbers(&[None, None])?;
    let (points, dimensions) = (positions.shape[0], positions.shape[1]);
    let table = container.need_tensor("table")?;
    let features = table.shape.get(1).copied().unwrap_or(0);
    let grid = grid(&container, [dimensions, features])?;
    let levels = grid.levels().len();
    let v_features = container.need_tensor("v_features")?;
    Ok(Case {
        name: container.text("name").unwrap_or(default_name).to_owned(),
        purpose: container.text("purpose").unwrap_or_default().to_owned(),
        positions: numbers,
        table: finite("table", table.numbers(&[Some(grid.entries()), None])?)?,
        v_features: finite(
            "v_features",
            v_features.numbers(&[Some(points), Some(levels), Some(features)])?,
        )?,
        grid,
    })
}

/// The fields and the level table of positions with so many numbers and entries with so many.
fn grid(container: &Container<'_>, sizes: [usize; 2]) -> Result<Grid, Problem> {
    let scales = container.need_tensor("scales")?.numbers(&[None])?;
    let resolutions = container.need_integers("resolutions")?.integers(&[None])?;
    let offsets = container.need_integers("offsets")?.integers(&[None])?;
    let refused = |error: GridError| {
        let [field, value, rule] = error.parts();
        Problem::new(field, value, rule)
    };
    Grid::new(encoding(container)?, sizes, &scales, &resolutions, &offsets).map_err(refused)
}

fn encoding(container: &Container<'_>) -> Result<Encoding, Problem> {
    fn field<T: FromStr<Err = UnknownSetting>>(
        container: &Container<'_>,
        name: &str,
        default: T,
    ) -> Result<T, Problem> {
        let refused = |error: UnknownSetting| {
            let advice = format!("expected {}", error.expected);
            Problem::new(error.field, quoted(&error.written), advice)
        };
        container.text(name).map_or(Ok(default), |text| text.parse().map_err(refused))
    }
    let usual = Encoding::default();
    Ok(Encoding {
        lattice: field(container, Lattice::FIELD, usual.lattice)?,
        hash: field(container, Hash::FIELD, usual.hash)?,
        interpolation: field(container, Interpolation::FIELD, usual.interpolation)?,
        position_offset: field(container, PositionOffset::FIELD, usual.position_offset)?,
        right_corner: field(container, RightCorner::FIELD, usual.right_corner)?,
        dense_stride: field(container, DenseStride::FIELD, usual.dense_stride)?,
        crowded: field(container, Crowded::FIELD, usual.crowded)?,
        outside: field(container, Outside::FIELD, usual.outside)?,
    })
}

/// Numbers all of which are finite.
fn finite(name: &str, numbers: Vec<f32>) -> Result<Vec<f32>, Problem> {
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(Problem::new(format!("{name}[{at}]"), numbers[at], "must be finite")),
        None => Ok(numbers),
    }
}

/// The metadata that name an encoding's fields.
pub(super) fn fields(encoding: &Encoding) -> BTreeMap<String, String> {
    let Encoding {
        lattice,
        hash,
        interpolation,
        position_offset,
        right_corner,
        dense_stride,
        crowded,
        outside,
    } = *encoding;
    [
        (WORKLOAD_KEY, NAME),
        (Lattice::FIELD, lattice.name()),
        (Hash::FIELD, hash.name()),
        (Interpolation::FIELD, interpolation.name()),
        (PositionOffset::FIELD, position_offset.name()),
        (RightCorner::FIELD, right_corner.name()),
        (DenseStride::FIELD, dense_stride.name()),
        (Crowded::FIELD, crowded.name()),
        (Outside::FIELD, outside.name()),
    ]
    .map(|(key, text)| (key.to_owned(), text.to_owned()))
    .into()
}

/// Writes a case.
///
/// # Errors
/// Where an array does not fit the grid, or the file cannot be written.
pub fn write_case(file: &Path, case: &Case) -> Result<(), InputError> {
    let bytes = encode(case).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes that [`write_case`] writes.
///
/// # Errors
/// As [`write_case`], without the file's name.
pub fn encode(case: &Case) -> Result<Vec<u8>, Problem> {
    let (grid, levels) = (&case.grid, case.grid.levels());
    let mut metadata = fields(grid.encoding());
    metadata.insert("name".to_owned(), case.name.clone());
    metadata.insert("purpose".to_owned(), case.purpose.clone());
    let (points, features) = (case.points(), grid.features());
    let floats = |name, shape: &[usize], numbers: &[f32]| {
        let entry = Entry::new(name, shape.to_vec(), numbers.to_vec());
        entry.check_size().map(|()| entry)
    };
    let scales: Vec<f32> = levels.iter().map(|level| level.scale).collect();
    let resolutions: Vec<u32> = levels.iter().map(|level| level.resolution).collect();
    let ends = levels.iter().map(|level| level.offset + level.entries);
    let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
    let positions = floats("positions", &[points, grid.dimensions()], &case.positions)?;
    let table = floats("table", &[grid.entries(), features], &case.table)?;
    let scales = floats("scales", &[levels.len()], &scales)?;
    let v_features = floats("v_features", &[points, levels.len(), features], &case.v_features)?;
    let resolutions = Entry::new("resolutions", vec![levels.len()], resolutions);
    let offsets = Entry::new("offsets", vec![levels.len() + 1], offsets);
    container::encode_parts(
        &metadata,
        &[&positions, &table, &scales, &resolutions, &offsets, &v_features],
    )
}

#[cfg(test)]
mod tests;
