//! A case: points in a grid encoding.

use super::gate::Gate;
use splatcheck_gpu::stage::Role;
use splatcheck_gpu::stages::grid::FIELDS;
use splatcheck_gpu::{Data, Stage, TensorError, Tensors};
use splatcheck_judge::workload::named::Named;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Grid, GridError, Hash, Interpolation, Lattice, Outside,
    PositionOffset, RightCorner, Skew,
};

/// Points to judge kernels on. All numbers are f32.
pub type Case = Named<Points>;

/// Points in a grid encoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// The fields and the level table.
    pub grid: Grid,
    /// `[N,d]`.
    pub positions: Vec<f32>,
    /// `[E,F]`.
    pub table: Vec<f32>,
    /// `[N,L,F]`: the loss's gradients by the features, behind the gate where there is one.
    pub v_features: Vec<f32>,
    /// A mask by which the features are multiplied; `None` for an encoding by itself.
    pub gate: Option<Gate>,
}

/// The level table as arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelTable {
    /// `[L]`.
    pub scales: Vec<f32>,
    /// `[L]`.
    pub resolutions: Vec<u32>,
    /// `[L+1]`.
    pub offsets: Vec<u32>,
}

impl LevelTable {
    /// That of a grid.
    #[must_use]
    pub fn of(grid: &Grid) -> Self {
        let levels = grid.levels();
        let ends = levels.iter().map(|level| level.offset + level.entries);
        Self {
            scales: levels.iter().map(|level| level.scale).collect(),
            resolutions: levels.iter().map(|level| level.resolution).collect(),
            offsets: std::iter::once(0).chain(ends).collect(),
        }
    }

    /// Adds a level. Beyond 2^32 entries it ends where it begins, which no grid's does.
    pub fn add(&mut self, scale: f32, resolution: u32, entries: u32) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.scales.push(scale);
        self.resolutions.push(resolution);
        self.offsets.push(self.offsets[self.offsets.len() - 1].saturating_add(entries));
    }

    /// The grid of an encoding with these levels, whose scales kernels compute or read as those of another.
    ///
    /// # Errors
    /// As [`Self::grid`].
    pub(super) fn grid_like(
        &self,
        other: &Grid,
        encoding: Encoding,
        sizes: [usize; 2],
    ) -> Result<Grid, GridError> {
        match other.computed_scales() {
            Some(scales) => Grid::computed(encoding, sizes, scales, &self.offsets),
            None => self.grid(encoding, sizes),
        }
    }

    /// The grid of an encoding with these levels.
    ///
    /// # Errors
    /// [`GridError`] names the field, its value and the rule it breaks.
    pub fn grid(&self, encoding: Encoding, sizes: [usize; 2]) -> Result<Grid, GridError> {
        Grid::new(encoding, sizes, &self.scales, &self.resolutions, &self.offsets)
    }
}

impl Points {
    /// N.
    #[must_use]
    pub fn points(&self) -> usize {
        self.positions.len() / self.grid.dimensions()
    }

    /// What a device gets for a stage of grids, without the gate.
    ///
    /// # Errors
    /// [`TensorError`] where the arrays contradict each other.
    pub fn tensors(&self, stage: Stage) -> Result<Tensors, TensorError> {
        let LevelTable { scales, resolutions, offsets } = LevelTable::of(&self.grid);
        let (points, levels) = (self.points(), scales.len());
        let (d, features) = (self.grid.dimensions(), self.grid.features());
        let entries = self.grid.entries();
        let mut all = Tensors::new();
        for ((name, _), number) in FIELDS.iter().zip(numbers(self.grid.encoding())) {
            all.scalar(name, number);
        }
        let computed = self.grid.computed_scales();
        all.scalar("base_resolution", computed.map_or(0, |scales| scales.base_resolution));
        let per_level = computed.map_or(0.0, |scales| scales.log2_per_level_scale);
        all.array("log2_per_level_scale", &[], Data::F32(vec![per_level]))?;
        for port in stage.inputs {
            if let Role::Size("E") = port.role {
                all.scalar(port.name, u32::try_from(entries).unwrap_or(u32::MAX));
            }
        }
        all.array("positions", &[points, d], Data::F32(self.positions.clone()))?;
        all.array("table", &[entries, features], Data::F32(self.table.clone()))?;
        all.array("scales", &[levels], Data::F32(scales))?;
        all.array("resolutions", &[levels], Data::U32(resolutions))?;
        all.array("offsets", &[levels + 1], Data::U32(offsets))?;
        let gradients = Data::F32(self.v_features.clone());
        all.array("v_features", &[points, levels, features], gradients)?;
        Ok(all.only(|name| stage.reads(name)))
    }
}

/// The place of a field's value among all of them, which is the number that stands for it.
pub(super) fn place<T: PartialEq>(all: &[T], value: &T) -> u32 {
    let at = all.iter().position(|one| one == value);
    at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
}

/// The numbers that stand for the fields, in the order of [`FIELDS`].
pub(super) fn numbers(encoding: &Encoding) -> [u32; FIELDS.len()] {
    let Encoding {
        lattice,
        hash,
        interpolation,
        position_offset,
        right_corner,
        dense_stride,
        crowded,
        outside,
        skew,
    } = encoding;
    [
        place(Lattice::ALL, lattice),
        place(Hash::ALL, hash),
        place(Interpolation::ALL, interpolation),
        place(PositionOffset::ALL, position_offset),
        place(RightCorner::ALL, right_corner),
        place(DenseStride::ALL, dense_stride),
        place(Crowded::ALL, crowded),
        place(Outside::ALL, outside),
        place(Skew::ALL, skew),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::stages::grid::TABLE_FIELDS;
    use splatcheck_reference::grid::{EntriesRule, ScaleRule};

    /// The kernels know a field's values by their places.
    #[test]
    fn numbers_stand_for_the_same_values_in_both_crates() {
        fn names<T: Copy + ToString>(all: &[T]) -> Vec<String> {
            all.iter().map(ToString::to_string).collect()
        }
        let all = [
            (Lattice::FIELD, names(Lattice::ALL)),
            (Hash::FIELD, names(Hash::ALL)),
            (Interpolation::FIELD, names(Interpolation::ALL)),
            (PositionOffset::FIELD, names(PositionOffset::ALL)),
            (RightCorner::FIELD, names(RightCorner::ALL)),
            (DenseStride::FIELD, names(DenseStride::ALL)),
            (Crowded::FIELD, names(Crowded::ALL)),
            (Outside::FIELD, names(Outside::ALL)),
            (Skew::FIELD, names(Skew::ALL)),
        ];
        for ((field, values), (name, known)) in all.iter().zip(FIELDS) {
            assert!(*field == name && values == known, "{field}: {values:?}, {known:?}");
        }
        let of_tables = [
            (DenseStride::FIELD, names(DenseStride::ALL)),
            (ScaleRule::FIELD, names(ScaleRule::ALL)),
            (EntriesRule::FIELD, names(EntriesRule::ALL)),
        ];
        for ((field, values), (name, known)) in of_tables.iter().zip(TABLE_FIELDS) {
            assert!(*field == name && values == known, "{field}: {values:?}, {known:?}");
        }
        assert_eq!(numbers(&Encoding::default()), [0, 0, 1, 0, 0, 0, 0, 0, 0], "linear hash grids");
    }
}
