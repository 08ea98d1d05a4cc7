//! Whose forward pass a backward stage goes on from.
//!
//! A backward stage reads what a forward pass stored: final transmittances or opacities, last
//! contributors, the image. With the oracle's, every program is judged on the same inputs, and a backward
//! pass that decides a threshold differently from its own forward pass passes: rounding leaves that open.
//! With its own, once those are judged to agree, it does not (gsplat aab3b8f: 1 to 2 ulp between the two,
//! T > 1 and NaN after 600 steps of training).

use super::item::Item;
use super::once::{judged, outputs_of};
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{Engine, EngineError, Stage};

/// Whose forward outputs are the inputs of backward stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chain {
    /// The oracle's, in f32: the same for every engine.
    #[default]
    Oracle,
    /// The engine's own, once they agree.
    Own,
}

impl Chain {
    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Own => "own",
        }
    }

    /// What a report says of it; nothing where it is as usual.
    #[must_use]
    pub const fn described(self) -> Option<&'static str> {
        match self {
            Self::Oracle => None,
            Self::Own => Some(
                "chain own: backward stages go on from each engine's own image, once that agrees; \
                 rasterize_backward_replay, which begins at checkpoints, from the oracle's",
            ),
        }
    }

    /// Whether it is as usual.
    pub fn is_oracle(&self) -> bool {
        *self == Self::Oracle
    }
}

/// Why a stage of an item is not run where its own forward pass was to be its input.
pub(super) const NO_FORWARD: &str =
    "--chain own: the engine's own forward pass gave no result that agrees";

/// The jobs of these stages that go on from the engine's own forward pass, with what that gives for the
/// item; `None` where that does not agree, or there is none.
///
/// # Errors
/// The forward stage, and why the engine gave nothing.
pub(super) fn after_own(
    engine: &mut dyn Engine,
    item: &Item,
    stages: &[Stage],
) -> Result<Option<Item>, (Stage, EngineError)> {
    let forward = stages.iter().find_map(|&stage| item.case.forward_of(stage));
    let Some((forward, job)) = forward.and_then(|stage| Some((stage, item.job(stage)?))) else {
        return Ok(None);
    };
    let failed = |error| (forward, error);
    let outputs = outputs_of(engine, job, None).map_err(failed)?;
    let tally = judged(engine, job, None, &outputs, None).map_err(failed)?;
    if tally.verdict() != Verdict::Agree {
        return Ok(None);
    }
    let wanted = |stage| stages.contains(&stage) && item.case.forward_of(stage) == Some(forward);
    let after = item.case.after(item.view, &outputs);
    Ok(after.and_then(|case| Item::of(case, item.view, &wanted).ok()))
}
