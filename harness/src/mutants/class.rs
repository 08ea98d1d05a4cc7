//! The classes of cases that mutants are run on.

use crate::campaign::Item;
use crate::workload::{AnyCase, CaseError, Job};
use crate::workloads::splat;
use crate::workloads::splat::case::Case;
use crate::workloads::splat::generators::{self, Draw, Promise};
use crate::workloads::splat::poison::with_nan;
use rayon::prelude::*;
use splatcheck_gpu::Stage;
use splatcheck_reference::splat::convention::Profile;
use std::sync::Arc;

/// A generator, or the corpus, with some of its cases.
#[derive(Debug)]
pub struct Class {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether only CUDA's kernels promise anything for its input.
    pub cuda_only: bool,
    /// Its cases.
    pub trials: Vec<Trial>,
}

/// A case as an engine gets it.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The case that its outputs are judged by.
    pub item: Arc<Item>,
    /// For which stages its outputs can be judged.
    promise: Promise,
}

/// Lane width that the generators aim at: the emulator's and CUDA's.
const LANE_WIDTH: u32 = 32;

/// All classes: the corpus, the corpus with a NaN Gaussian in front of every list, and `count` cases
/// of each generator whose outputs are promised and whose scenes are here.
///
/// # Errors
/// Says why a case cannot be rasterized.
pub fn classes(corpus: Vec<Case>, count: u32) -> Result<Vec<Class>, CaseError> {
    let corpus = trials(splat::views(corpus).collect(), Promise::Every)?;
    let poisoned = corpus.iter().map(Trial::with_nan).collect::<Result<_, _>>()?;
    let mut classes = vec![
        Class { name: "corpus", cuda_only: false, trials: corpus },
        Class { name: "nan", cuda_only: true, trials: poisoned },
    ];
    for generator in generators::ALL.iter().filter(|g| g.promise != Promise::Nothing) {
        let cases = (0..u64::from(count)).map_while(|index| {
            let draw = Draw { profile: Profile::Inria, lane_width: LANE_WIDTH, turn: index };
            Some((Arc::new(generator.draw(draw, 0, index)?.current()) as AnyCase, 0))
        });
        let trials = trials(cases.collect(), generator.promise)?;
        if !trials.is_empty() {
            classes.push(Class { name: generator.name, cuda_only: false, trials });
        }
    }
    Ok(classes)
}

fn trials(cases: Vec<(AnyCase, usize)>, promise: Promise) -> Result<Vec<Trial>, CaseError> {
    let trial = |(case, camera)| {
        Item::new(case, camera).map(|item| Trial { item: Arc::new(item), promise })
    };
    cases.into_par_iter().map(trial).collect()
}

impl Class {
    /// The cases, those that aim at one of the hazards first.
    #[must_use]
    pub fn aimed(&self, hazards: &[u8]) -> Vec<&Trial> {
        let aims = |t: &&Trial| t.item.case.hazards().iter().any(|hazard| hazards.contains(hazard));
        let (first, then): (Vec<_>, Vec<_>) = self.trials.iter().partition(aims);
        first.into_iter().chain(then).collect()
    }
}

impl Trial {
    /// The job of a stage, if it is run on the case: its outputs are promised, and stages that take
    /// all views at once belong to the first.
    #[must_use]
    pub fn job(&self, stage: Stage) -> Option<&Job> {
        self.item.job(stage).filter(|_| self.promise.holds_for(stage))
    }

    /// Name of the case.
    #[must_use]
    pub fn name(&self) -> &str {
        self.item.case.name()
    }

    /// The same with a Gaussian of NaN in front of every tile's list: see [`with_nan`].
    fn with_nan(&self) -> Result<Self, CaseError> {
        let item = Arc::new(with_nan(&self.item)?);
        // Of what stands behind the projection.
        Ok(Self { item, promise: Promise::Rasterization })
    }
}
