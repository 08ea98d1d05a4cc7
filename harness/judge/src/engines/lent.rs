//! An engine that is started once, and judged in one campaign after another.

use std::fmt;

use splatcheck_gpu::{DeviceInfo, Engine, EngineError, Reduction, Stage, Support, Tensors, Work};

/// An engine that somebody else keeps.
pub struct Lent<'e>(pub &'e mut (dyn Engine + Send));

impl fmt::Debug for Lent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lent").field(self.0.info()).finish()
    }
}

impl Engine for Lent<'_> {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        self.0.supports(stage, reduction)
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.0.reduces_by(stage, reduction)
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        self.0.run(stage, work)
    }

    fn deaths(&self) -> u64 {
        self.0.deaths()
    }

    fn run_once(
        &mut self,
        stage: Stage,
        work: &[Work<'_>],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        self.0.run_once(stage, work)
    }
}
