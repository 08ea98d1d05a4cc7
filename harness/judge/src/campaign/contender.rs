//! An engine of a campaign, and what it is asked to run.

use super::hooks::Policy;
use crate::engines::Emulation;
use crate::workload::Case;
use splatcheck_gpu::{Engine, Setting, Stage};

/// An engine of a campaign.
pub struct Contender<'a> {
    /// Its id.
    pub id: String,
    /// What the emulator is asked for, if it is the emulator.
    pub emulation: Option<Emulation>,
    /// The engine.
    pub engine: Box<dyn Engine + Send + 'a>,
    /// The stages to run.
    pub stages: Vec<Stage>,
    /// The settings of the backward stages to run.
    pub settings: Vec<Setting>,
}

impl Contender<'_> {
    /// How many runs make up a case with all its views under a policy; of a case whose settings depend on
    /// how long its jobs are ([`Policy::by_steps`]) the most that there may be.
    #[must_use]
    pub fn runs(&self, case: &dyn Case, policy: &dyn Policy) -> u64 {
        let of = |stage: &&Stage| policy.runs(**stage, case);
        let count = |stage: &Stage| {
            let settings = policy.settings(case, &self.own_settings(*stage));
            (case.views_of(*stage) * self.settings_of(*stage, &settings).len()) as u64
        };
        self.stages.iter().filter(of).map(count).sum()
    }

    /// Those of its settings that it has kernels of the stage for.
    pub(super) fn own_settings(&self, stage: Stage) -> Vec<Setting> {
        self.settings_of(stage, &self.settings).into_iter().flatten().collect()
    }

    /// Those of `settings` that the engine has kernels of the stage for; one run without a setting where
    /// nothing is reduced.
    pub(super) fn settings_of(&self, stage: Stage, settings: &[Setting]) -> Vec<Option<Setting>> {
        stage.settings_by(settings, &|reduction| self.engine.reduces_by(stage, reduction))
    }
}
