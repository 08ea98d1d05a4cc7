//! The fields of an encoding as case and result files name them.

use super::NAME;
use crate::io::error::{Problem, quoted};
use crate::workload::WORKLOAD_KEY;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, GridError, Hash, Interpolation, Lattice, Outside,
    PositionOffset, RightCorner, UnknownSetting,
};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The names of all fields.
pub(super) const ALL: [&str; 8] = [
    Lattice::FIELD,
    Hash::FIELD,
    Interpolation::FIELD,
    PositionOffset::FIELD,
    RightCorner::FIELD,
    DenseStride::FIELD,
    Crowded::FIELD,
    Outside::FIELD,
];

/// The fields of an encoding from a case's keys, each with the value that stands for an absent one; `located`
/// says where a problem of a field is.
pub(super) fn encoding_of<'a>(
    text: &dyn Fn(&str) -> Result<Option<&'a str>, Problem>,
    located: impl Fn(Problem, &str) -> Problem + Copy,
) -> Result<Encoding, Problem> {
    fn field<'a, T: FromStr<Err = UnknownSetting>>(
        text: &dyn Fn(&str) -> Result<Option<&'a str>, Problem>,
        located: impl Fn(Problem, &str) -> Problem,
        (name, default): (&str, T),
    ) -> Result<T, Problem> {
        let refused = |error: UnknownSetting| {
            let advice = format!("expected {}", error.expected);
            located(Problem::new(error.field, quoted(&error.written), advice), name)
        };
        text(name)?.map_or(Ok(default), |text| text.parse().map_err(refused))
    }
    let usual = Encoding::default();
    Ok(Encoding {
        lattice: field(text, located, (Lattice::FIELD, usual.lattice))?,
        hash: field(text, located, (Hash::FIELD, usual.hash))?,
        interpolation: field(text, located, (Interpolation::FIELD, usual.interpolation))?,
        position_offset: field(text, located, (PositionOffset::FIELD, usual.position_offset))?,
        right_corner: field(text, located, (RightCorner::FIELD, usual.right_corner))?,
        dense_stride: field(text, located, (DenseStride::FIELD, usual.dense_stride))?,
        crowded: field(text, located, (Crowded::FIELD, usual.crowded))?,
        outside: field(text, located, (Outside::FIELD, usual.outside))?,
    })
}

/// A level table and fields that contradict each other.
pub(super) fn refused(error: GridError) -> Problem {
    let [field, value, rule] = error.parts();
    Problem::new(field, value, rule)
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
