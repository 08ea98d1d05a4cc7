//! A case of the stage `levels` as a file.
//!
//! A `.safetensors` has tensors of one number each: `ratio` (F32), `coarsest`, `levels`, `most_entries`,
//! `dimensions` and `features` (U32). Optional metadata: `profile`, tiny-cuda-nn's where absent, and its own where
//! absent `dense_stride`, `scale_rule` and `entries_rule`. As text, `corpora/grid/NAME.toml`:
//!
//! ```toml
//! workload = "grid"
//! purpose = "the last scale is 2047 exactly"   # one line
//! hazards = `["mask-width"]`             # optional
//! profile = "torch-ngp"                        # optional: whose rules it has; without it tiny-cuda-nn's,
//! entries_rule = "round-then-cap"              # and these: dense_stride, scale_rule, entries_rule
//! dimensions = 3
//! features = 2
//!
//! `[growth]`
//! coarsest = 16                                # N_min
//! ratio = 2.0                                  # b
//! levels = 8                                   # L
//! most_entries = 524288                        # T
//! ```

use super::TableGrowth;
use crate::grid::NAME;
use crate::grid::fields::TableRules;
use splatcheck_judge::io::container::{Container, Entry};
use splatcheck_judge::io::error::Problem;
use splatcheck_judge::io::toml_node::Table;
use splatcheck_judge::workload::named::{InFiles, Numbers as _, Written};
use splatcheck_reference::grid::{DenseStride, EntriesRule, Growth, Profile, ScaleRule};

/// The tensor that only such a case has.
pub const RATIO: &str = "ratio";
/// The table that only such a text has.
pub const GROWTH: &str = "growth";
const GROWTH_KEYS: [&str; 4] = ["coarsest", RATIO, "levels", "most_entries"];

impl InFiles for TableGrowth {
    const WORKLOAD: &'static str = NAME;
    const TENSORS: &'static [&'static str] =
        &[RATIO, "coarsest", "levels", "most_entries", "dimensions", "features"];
    const METADATA: &'static [&'static [&'static str]] =
        &[&[Profile::FIELD, DenseStride::FIELD, ScaleRule::FIELD, EntriesRule::FIELD]];
    const TEXT: &'static [&'static str] = &[
        "dimensions",
        "features",
        GROWTH,
        Profile::FIELD,
        DenseStride::FIELD,
        ScaleRule::FIELD,
        EntriesRule::FIELD,
    ];

    fn of_container(container: &Container<'_>) -> Result<Self, Problem> {
        let whole = |name: &str| -> Result<u32, Problem> {
            Ok(container.need_integers(name)?.integers(&[Some(1)])?[0])
        };
        let text = |key: &str| Ok(container.text(key));
        let TableRules { dense_stride, scale_rule, entries_rule } =
            TableRules::read(&text, |problem, _| problem)?;
        let levels = whole("levels")?;
        Ok(Self {
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
        })
    }

    fn of_text(top: &Table<'_>) -> Result<Self, Problem> {
        let text = |field: &str| top.get(field).map(|node| node.string()).transpose();
        let located = |problem, field: &str| match top.get(field) {
            Some(node) => node.located(problem),
            None => problem,
        };
        let TableRules { dense_stride, scale_rule, entries_rule } =
            TableRules::read(&text, located)?;
        let node = top.need(GROWTH)?;
        let growth = node.table()?;
        growth.allow(&[&GROWTH_KEYS])?;
        let numbers = Self {
            sizes: [top.need("dimensions")?.whole()?, top.need("features")?.whole()?],
            dense_stride,
            growth: Growth {
                coarsest: growth.need("coarsest")?.whole()?,
                ratio: growth.need(RATIO)?.number()?,
                levels: growth.need("levels")?.whole()?,
                most_entries: growth.need("most_entries")?.whole()?,
                scale_rule,
                entries_rule,
            },
        };
        numbers.validate().map_err(|problem| node.located(problem))?;
        Ok(numbers)
    }

    fn written(&self) -> Result<Written, Problem> {
        let Growth { coarsest, ratio, levels, most_entries, scale_rule, entries_rule } =
            self.growth;
        let metadata = [
            (DenseStride::FIELD, self.dense_stride.name()),
            (ScaleRule::FIELD, scale_rule.name()),
            (EntriesRule::FIELD, entries_rule.name()),
        ];
        let whole = |name, number: u32| Box::new(Entry::new(name, vec![1], vec![number])) as _;
        let [dimensions, features] = self.sizes;
        Ok(Written {
            metadata: metadata.map(|(key, text)| (key.to_owned(), text.to_owned())).into(),
            tensors: vec![
                Box::new(Entry::new(RATIO, vec![1], vec![ratio])),
                whole("coarsest", coarsest),
                whole("levels", levels.into()),
                whole("most_entries", most_entries),
                whole("dimensions", dimensions),
                whole("features", features),
            ],
        })
    }
}
