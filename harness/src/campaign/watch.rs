//! Whoever wants to hear of a campaign while it runs.

use super::{Finding, Item};
use crate::workloads::splat::case::Case;
use crate::workloads::splat::stage::StageName;
use splatcheck_gpu::BackwardConfig;

/// Hears of a campaign while it runs. A function of the number of runs done is one.
pub trait Watch: Sync {
    /// So many more (case, engine, stage, setting) runs are done.
    fn done(&self, runs: u64);

    /// What kind of case it is: findings of different kinds are kept apart.
    fn class(&self, _case: &Case) -> String {
        String::new()
    }

    /// Whether a stage of a case is run.
    fn runs(&self, _stage: StageName, _case: &Case) -> bool {
        true
    }

    /// Which of an engine's settings of the backward stage a case is run with.
    fn settings(&self, _case: &Case, all: &[BackwardConfig]) -> Vec<BackwardConfig> {
        all.to_vec()
    }

    /// A new kind of finding: called at once, and once more when the case was made `small`.
    fn found(&self, _finding: &Finding, _small: bool) {}

    /// The backward stage of an item was run on lanes of that width with these settings.
    fn exercised(&self, _engine: &str, _width: u32, _item: &Item, _settings: &[BackwardConfig]) {}
}

impl<F: Fn(u64) + Sync> Watch for F {
    fn done(&self, runs: u64) {
        self(runs);
    }
}
