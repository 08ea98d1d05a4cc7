//! A user's kernel on its cases in one formulation: one campaign, whatever runs the kernel.

use splatcheck_gpu::Stage;

use super::exit::CliError;
use super::formulation::Trial;
use super::ptx::subject::{OneStage, Subject};
use splatcheck_judge::campaign::{
    Contender, Diagnoses, EngineReport, Hooks, Item, as_it_is, run as run_campaign,
};
use splatcheck_judge::workload::{AnyCase, views};

/// What a case is judged as.
pub(super) type Judged<'j> = dyn Fn(&AnyCase) -> Result<AnyCase, CliError> + Sync + 'j;

/// On what the kernel is tried, and as what.
#[derive(Clone, Copy)]
pub(super) struct Trials<'t> {
    pub(super) subject: &'t Subject,
    /// The stage that the kernel stands in for.
    pub(super) stage: Stage,
    pub(super) trial: Trial<'t>,
    pub(super) judged: &'t Judged<'t>,
}

impl Trials<'_> {
    /// The first case's job, which tells whether its like can be judged; `None` where it has none.
    ///
    /// # Errors
    /// It cannot.
    pub(super) fn first(&self) -> Result<Option<Item>, CliError> {
        let Some(case) = self.subject.iter().next() else { return Ok(None) };
        let case = (self.judged)(&case)?;
        let item = Item::of(case, 0, &|stage| stage == self.stage).map_err(CliError::of)?;
        Ok(item.job(self.stage).is_some().then_some(item))
    }

    /// Runs the cases that are tried; what fails of all is made small and diagnosed.
    ///
    /// # Errors
    /// A case that cannot be judged or prepared.
    pub(super) fn run(
        &self,
        contenders: Vec<Contender<'_>>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<EngineReport>, CliError> {
        let Self { subject, stage, trial, judged } = *self;
        // What cannot be judged so was found on the first; the others are as it.
        let changed = |case: &AnyCase| judged(case).unwrap_or_else(|_| case.clone());
        let minimize = |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| match trial {
            Trial::Asked => subject.smaller(item, &changed, fails),
            Trial::Other | Trial::Cases(_) => as_it_is(item, fails),
        };
        let counted = matches!(trial, Trial::Asked);
        let observer = |runs: u64| progress(if counted { runs } else { 0 });
        let policy = OneStage { subject, stage };
        let diagnoses = if counted { Diagnoses::Together } else { Diagnoses::None };
        let hooks = Hooks::new(&minimize).observed(&observer);
        let hooks = Hooks { policy: &policy, diagnoses, ..hooks };
        let cases: Box<dyn Iterator<Item = (AnyCase, usize)>> = match trial {
            Trial::Cases(cases) => {
                let given = cases.iter().map(|(case, view)| Ok((judged(case)?, *view)));
                Box::new(given.collect::<Result<Vec<_>, CliError>>()?.into_iter())
            }
            Trial::Asked | Trial::Other => {
                Box::new(views(subject.iter().map(|case| changed(&case))))
            }
        };
        run_campaign(cases, contenders, hooks).map_err(CliError::of)
    }
}
