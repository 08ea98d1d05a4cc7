//! What came of a system, or why nothing did.

use std::collections::BTreeMap;
use std::fmt;

use splatcheck_judge::io::error::InputError;

use crate::gradcheck::Traffic;

/// What a variant with a planted bug begins with.
pub(super) const BUG: &str = "bug";

/// The baseline, which the right kernels of a system have.
pub const BASELINE: &str = "atomic";

/// What is said of a planted bug that no case shows.
pub(super) const NOT_FOUND: &str = "it was not found";

/// What came of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Its kernels, those of a second way included.
    pub kernels: usize,
    /// Runs of right kernels.
    pub runs: u64,
    /// Numbers that were compared: derivatives, and what `[other]` gives.
    pub compared: usize,
    /// Numbers of its other reductions that were compared with those of the baseline: at the threshold of each case,
    /// and at every threshold.
    pub with_baseline: usize,
    /// Reductions of its sums that were judged, by name, with what each sends to memory; the baseline is
    /// `atomic`.
    pub reductions: BTreeMap<String, Traffic>,
    /// The reduction and threshold that cost the least of those that add up in registers; none where all cost more
    /// than the baseline.
    pub best: Option<Best>,
    /// What was wrong with right kernels, in words.
    pub wrong: Vec<String>,
    /// What of right kernels was compared with nothing, in words.
    pub idle: Vec<String>,
    /// Of each planted bug the first line of the report, and whether that names it.
    pub bugs: BTreeMap<String, (String, Named)>,
}

/// Whether the report of a planted bug names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// It does.
    Rightly,
    /// It names something else.
    Wrongly,
    /// No case shows the bug, or none shows which it is: more cases may.
    NotYet,
}

impl Named {
    /// What was named.
    pub(super) fn of(is_named: bool) -> Self {
        if is_named { Self::Rightly } else { Self::Wrongly }
    }
}

/// The reduction and threshold that cost the least.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Its name.
    pub reduction: String,
    /// The threshold.
    pub threshold: i64,
    /// How many times as much the baseline costs.
    pub times: f64,
}

/// Why the gallery cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GalleryError(pub(super) String);

impl GalleryError {
    /// What is wrong with a system.
    pub(super) fn of(name: &str, why: impl fmt::Display) -> Self {
        Self(format!("{name}: {why}"))
    }

    /// A variant of a system that is not in the archive.
    pub(super) fn no_variant(name: &str, variant: &str) -> Self {
        Self::of(name, format!("there is no variant '{variant}': make the archive anew"))
    }
}

impl From<InputError> for GalleryError {
    fn from(error: InputError) -> Self {
        Self(error.to_string())
    }
}
