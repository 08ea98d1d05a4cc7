//! A case of the stage `levels` as a `.safetensors` file.
//!
//! Tensors of one number each: `ratio` (F32), `coarsest`, `levels`, `most_entries`, `dimensions` and `features`
//! (U32). Metadata: `workload` = `grid`; optional `profile`, tiny-cuda-nn's where absent, and its own where absent
//! `dense_stride`, `scale_rule` and `entries_rule`; `name`, `purpose`, `hazards` and notes as in a case of points.

use super::GrowthCase;
use crate::io::container::{self, Container, Entry, need_only};
use crate::io::error::{InputError, Problem};
use crate::io::hazards;
use crate::io::write::write_file;
use crate::workload::{NOTE_PREFIX, WORKLOAD_KEY};
use crate::workloads::grid::NAME;
use crate::workloads::grid::fields::TableRules;
use crate::workloads::grid::head::{KEYS, check_notes};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_reference::grid::{DenseStride, EntriesRule, Growth, ScaleRule};
use std::collections::BTreeMap;
use std::path::Path;

/// The tensor that only such a case has.
pub const RATIO: &str = "ratio";
const TENSORS: [&str; 6] = [RATIO, "coarsest", "levels", "most_entries", "dimensions", "features"];

/// A case and its notes from a container that has [`RATIO`]; `default_name` is used where it carries no name.
pub(in crate::workloads::grid) fn parse(
    container: &Container<'_>,
    default_name: &str,
) -> Result<(GrowthCase, BTreeMap<String, String>), Problem> {
    container.need_case_of(WORKLOAD_KEY, NAME)?;
    container.need_only_tensors(&TENSORS)?;
    let (notes, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        container.metadata.clone().into_iter().partition(|(key, _)| key.starts_with(NOTE_PREFIX));
    let rules = [DenseStride::FIELD, ScaleRule::FIELD, EntriesRule::FIELD];
    need_only("the metadata key", others.keys(), &[&KEYS[..], &rules].concat())?;
    let whole = |name: &str| -> Result<u32, Problem> {
        Ok(container.need_integers(name)?.integers(&[Some(1)])?[0])
    };
    let text = |key: &str| Ok(container.text(key));
    let TableRules { dense_stride, scale_rule, entries_rule } =
        TableRules::read(&text, |problem, _| problem)?;
    let levels = whole("levels")?;
    let case = GrowthCase {
        name: container.text("name").unwrap_or(default_name).to_owned(),
        id: None,
        purpose: container.text("purpose").unwrap_or_default().to_owned(),
        hazards: hazards::of_text(container.text("hazards").unwrap_or_default())?,
        sizes: [whole("dimensions")?, whole("features")?],
        dense_stride,
        growth: Growth {
            coarsest: whole("coarsest")?,
            ratio: container.need_tensor(RATIO)?.numbers(&[Some(1)])?[0],
            levels: u8::try_from(levels)
                .map_err(|_| Problem::new("levels", levels, "give 1 to 255"))?,
            most_entries: whole("most_entries")?,
            scale_rule,
            entries_rule,
        },
    };
    case.validate()?;
    Ok((case, notes))
}

/// Writes a case with notes, whose keys must start with [`NOTE_PREFIX`].
///
/// # Errors
/// Where the file cannot be written, or a note has another key.
pub fn write_case(
    file: &Path,
    case: &GrowthCase,
    notes: &BTreeMap<String, String>,
) -> Result<(), InputError> {
    let bytes = encode(case, notes).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

fn encode(case: &GrowthCase, notes: &BTreeMap<String, String>) -> Result<Vec<u8>, Problem> {
    check_notes(notes)?;
    let Growth { coarsest, ratio, levels, most_entries, scale_rule, entries_rule } = case.growth;
    let mut metadata: BTreeMap<String, String> = [
        (WORKLOAD_KEY, NAME),
        ("name", &case.name),
        ("purpose", &case.purpose),
        ("hazards", &Hazard::joined(&case.hazards)),
        (DenseStride::FIELD, case.dense_stride.name()),
        (ScaleRule::FIELD, scale_rule.name()),
        (EntriesRule::FIELD, entries_rule.name()),
    ]
    .map(|(key, text)| (key.to_owned(), text.to_owned()))
    .into();
    metadata.extend(notes.clone());
    let whole = |name, number| Entry::new(name, vec![1], vec![number]);
    let [dimensions, features] = case.sizes;
    container::encode_parts(
        &metadata,
        &[
            &Entry::new(RATIO, vec![1], vec![ratio]),
            &whole("coarsest", coarsest),
            &whole("levels", u32::from(levels)),
            &whole("most_entries", most_entries),
            &whole("dimensions", dimensions),
            &whole("features", features),
        ],
    )
}
