//! The classes of cases that mutants are run on.

use rayon::prelude::*;
use splatcheck_gpu::Stage;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::campaign::Item;
use splatcheck_judge::workload::{
    AnyCase, CaseError, Draw, Job, Promise, Variant, Workload, views,
};
use std::ops::Range;
use std::sync::Arc;

/// A generator, or the corpus, with some of its cases.
#[derive(Clone, Debug)]
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

/// Warp size that the generators aim at: the emulator's and CUDA's.
const LANE_WIDTH: u32 = 32;

/// All classes of a workload: the corpus, the corpus with something added that right kernels take no
/// notice of ([`Workload::variants`]), and `count` cases of each generator whose outputs are promised
/// and whose files are here.
///
/// # Errors
/// Says why a case has no jobs.
pub fn classes(
    workload: &dyn Workload,
    corpus: Vec<AnyCase>,
    count: u32,
) -> Result<Vec<Class>, CaseError> {
    let views: Vec<_> = views(corpus.clone()).collect();
    let variants = variants(workload, &views)?;
    let mut classes = classes_as(workload, corpus, count, &|case| case)?;
    classes.splice(1..1, variants);
    Ok(classes)
}

/// As [`classes`], of cases as a kernel is judged on them, and without variants, whose jobs are their own.
///
/// # Errors
/// Says why a case has no jobs.
pub fn classes_as(
    workload: &dyn Workload,
    corpus: Vec<AnyCase>,
    count: u32,
    judged: &dyn Fn(AnyCase) -> AnyCase,
) -> Result<Vec<Class>, CaseError> {
    let corpus = views(corpus.into_iter().map(judged)).collect();
    let corpus = trials(corpus, Promise::Every)?;
    let corpus = Class { name: "corpus", cuda_only: false, trials: corpus };
    Ok([vec![corpus], drawn(workload, 0..u64::from(count), judged)?].concat())
}

/// The cases with these numbers of each generator whose outputs are promised and whose files are here.
///
/// # Errors
/// Says why a case has no jobs.
pub fn drawn(
    workload: &dyn Workload,
    numbers: Range<u64>,
    judged: &dyn Fn(AnyCase) -> AnyCase,
) -> Result<Vec<Class>, CaseError> {
    let mut classes = Vec::new();
    for generator in workload.generators().into_iter().filter(|g| g.promise != Promise::Nothing) {
        let cases = numbers.clone().map_while(|index| {
            let draw = Draw { lane_width: LANE_WIDTH, turn: index };
            Some((judged(workload.draw(generator, draw, 0, index)?.current()), 0))
        });
        let trials = trials(cases.collect(), generator.promise)?;
        if !trials.is_empty() {
            classes.push(Class { name: generator.name, cuda_only: false, trials });
        }
    }
    Ok(classes)
}

/// Cases that a person named, as a class.
///
/// # Errors
/// Says why a case has no jobs.
pub fn named(cases: Vec<AnyCase>) -> Result<Class, CaseError> {
    let trials = trials(views(cases).collect(), Promise::Every)?;
    Ok(Class { name: "named", cuda_only: false, trials })
}

/// Drawn cases whose outputs are promised for every stage, the first view of each, as a class.
///
/// # Errors
/// Says why a case has no jobs.
pub(super) fn first_views(name: &'static str, cases: Vec<AnyCase>) -> Result<Class, CaseError> {
    let views = cases.into_iter().map(|case| (case, 0)).collect();
    Ok(Class { name, cuda_only: false, trials: trials(views, Promise::Every)? })
}

/// The variants of some views, a class for each kind.
fn variants(workload: &dyn Workload, views: &[(AnyCase, usize)]) -> Result<Vec<Class>, CaseError> {
    let mut classes: Vec<Class> = Vec::new();
    for (case, view) in views {
        for Variant { name, cuda_only, promise, jobs } in workload.variants(case, *view)? {
            let item = Item { case: Arc::clone(case), view: *view, jobs };
            let trial = Trial { item: Arc::new(item), promise };
            match classes.iter_mut().find(|class| class.name == name) {
                Some(class) => class.trials.push(trial),
                None => classes.push(Class { name, cuda_only, trials: vec![trial] }),
            }
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
    pub fn aimed(&self, hazards: &[Hazard]) -> Vec<&Trial> {
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
}
