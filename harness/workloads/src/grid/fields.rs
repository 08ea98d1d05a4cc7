//! The fields of an encoding as case and result files name them.

use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::workload::WORKLOAD_KEY;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, EntriesRule, GridError, Hash, Interpolation, Lattice, Outside,
    PositionOffset, Profile, RightCorner, ScaleRule, Skew, UnknownSetting,
};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The workload's name in files.
pub const NAME: &str = splatcheck_gpu::stages::grid::NAME;

/// The names of all fields, and of the program whose values hold for those that are absent.
pub(super) const WITH_PROFILE: [&str; 10] = [
    Profile::FIELD,
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

/// What a file says under a key.
pub(super) type Texts<'r, 'a> = &'r dyn Fn(&str) -> Result<Option<&'a str>, Problem>;

/// A field's value, `default` where it is absent; `located` says where a problem of a field is.
fn field<T: FromStr<Err = UnknownSetting>>(
    text: Texts<'_, '_>,
    located: impl Fn(Problem, &str) -> Problem,
    (name, default): (&str, T),
) -> Result<T, Problem> {
    let refused = |error: UnknownSetting| {
        let advice = format!("expected {}", error.expected);
        located(Problem::new(error.field, quoted(&error.written), advice), name)
    };
    text(name)?.map_or(Ok(default), |text| text.parse().map_err(refused))
}

/// The program whose fields hold where a case says nothing.
fn profile(
    text: Texts<'_, '_>,
    located: impl Fn(Problem, &str) -> Problem + Copy,
) -> Result<Profile, Problem> {
    field(text, located, (Profile::FIELD, Profile::TinyCudaNn))
}

/// The fields of an encoding from a case's keys, each with its profile's value for an absent one; `located`
/// says where a problem of a field is.
pub(super) fn encoding_of(
    text: Texts<'_, '_>,
    located: impl Fn(Problem, &str) -> Problem + Copy,
) -> Result<Encoding, Problem> {
    let usual = profile(text, located)?.encoding();
    Ok(Encoding {
        lattice: field(text, located, (Lattice::FIELD, usual.lattice))?,
        hash: field(text, located, (Hash::FIELD, usual.hash))?,
        interpolation: field(text, located, (Interpolation::FIELD, usual.interpolation))?,
        position_offset: field(text, located, (PositionOffset::FIELD, usual.position_offset))?,
        right_corner: field(text, located, (RightCorner::FIELD, usual.right_corner))?,
        dense_stride: field(text, located, (DenseStride::FIELD, usual.dense_stride))?,
        crowded: field(text, located, (Crowded::FIELD, usual.crowded))?,
        outside: field(text, located, (Outside::FIELD, usual.outside))?,
        skew: field(text, located, (Skew::FIELD, usual.skew))?,
    })
}

/// The fields that say how a level table grows.
pub(super) struct TableRules {
    pub(super) dense_stride: DenseStride,
    pub(super) scale_rule: ScaleRule,
    pub(super) entries_rule: EntriesRule,
}

impl TableRules {
    /// As [`encoding_of`].
    pub(super) fn read(
        text: Texts<'_, '_>,
        located: impl Fn(Problem, &str) -> Problem + Copy,
    ) -> Result<Self, Problem> {
        let profile = profile(text, located)?;
        let stride = (DenseStride::FIELD, profile.encoding().dense_stride);
        Ok(Self {
            dense_stride: field(text, located, stride)?,
            scale_rule: field(text, located, (ScaleRule::FIELD, profile.scale_rule()))?,
            entries_rule: field(text, located, (EntriesRule::FIELD, profile.entries_rule()))?,
        })
    }
}

/// A level table and fields that contradict each other.
pub(super) fn refused(error: GridError) -> Problem {
    let GridError { field, value, rule } = error;
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
        skew,
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
        (Skew::FIELD, skew.name()),
    ]
    .map(|(key, text)| (key.to_owned(), text.to_owned()))
    .into()
}
