//! What is judged: the cases of a plan.

use std::sync::Arc;

use crate::cli::case::read_case;
use crate::cli::command::CommandPlan;
use crate::cli::exit::CliError;
use crate::cli::options::Subject;
use crate::cli::scene::{Said, scene_cases};
use splatcheck_judge::campaign::{Contender, Item, Policy, smaller};
use splatcheck_judge::io::Unread;
use splatcheck_judge::minimize::shrink;
use splatcheck_judge::workload::{AnyCase, CaseTree, Workload, views};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_workloads::fuzz::Draws;

/// The cases of a plan: those in files, then random ones.
#[derive(Clone)]
pub(in crate::cli) struct Cases {
    filed: Vec<AnyCase>,
    /// What a person should know of a trained scene.
    pub(super) said: Said,
    /// Files of the corpus that are no cases.
    pub(in crate::cli) unread: Unread,
    random: u64,
    seed: u64,
    workload: Arc<dyn Workload>,
    /// The program whose jobs they have.
    command: Option<CommandPlan>,
}

impl Cases {
    /// Reads the files.
    ///
    /// # Errors
    /// What is wrong with one.
    pub(in crate::cli) fn new(
        subject: &Subject,
        workload: &Arc<dyn Workload>,
        convention: &Convention,
    ) -> Result<Self, CliError> {
        let caused = |error| CliError::caused("cannot read the case", error);
        let workload = Arc::clone(workload);
        let (filed, said, command) = (Vec::new(), Said::default(), None);
        let unread = Unread::default();
        let mut cases = Self { filed, said, unread, random: 0, seed: 0, workload, command };
        match subject {
            Subject::Case(path) => cases.filed.push(read_case(path)?.case),
            Subject::Scene(scene) => {
                let views = scene_cases(scene, convention)?;
                let all = views.cases.into_iter().map(|case| Arc::new(case) as AnyCase);
                (cases.filed, cases.said) = (all.collect(), views.said);
            }
            Subject::Campaign { corpus, cases: random, seed } => {
                let corpus = cases.workload.read_corpus(corpus).map_err(caused)?;
                (cases.filed, cases.unread) = (corpus.cases, corpus.unread);
                (cases.random, cases.seed) = (u64::from(*random), *seed);
            }
        }
        Ok(cases)
    }

    /// The cases with the jobs of a program.
    ///
    /// # Errors
    /// A case that it cannot be judged on.
    pub(super) fn of_program(mut self, command: &CommandPlan) -> Result<Self, CliError> {
        let contract = &command.promise.contract;
        self.filed.retain(|case| command.takes(case));
        let all = self.filed.iter().map(|case| contract.case(case));
        self.filed = all.collect::<Result<_, _>>().map_err(CliError::of)?;
        self.command = Some(command.clone());
        Ok(self)
    }

    /// All cases, one after another.
    pub(in crate::cli) fn all(&self) -> impl Iterator<Item = AnyCase> + '_ {
        let draws = Draws::Random(Arc::clone(&self.workload), self.seed);
        let drawn = (0..self.random).filter_map(move |index| match &self.command {
            Some(command) => draws.fitting(index, |case| command.drawn(&case)),
            None => Some(self.draw(index).current()),
        });
        self.filed.iter().cloned().chain(drawn)
    }

    /// How many they are.
    pub(super) fn count(&self) -> u64 {
        self.filed.len() as u64 + self.random
    }

    /// Number of runs that these engines make. Every case is drawn once for all of them.
    pub(super) fn runs(&self, contenders: &[Contender<'_>], policy: &dyn Policy) -> u64 {
        let runs = |case: AnyCase| -> u64 {
            contenders.iter().map(|contender| contender.runs(case.as_ref(), policy)).sum()
        };
        self.all().map(runs).sum()
    }

    fn draw(&self, index: u64) -> CaseTree {
        self.workload.random(self.seed, index)
    }

    /// Every view of every case.
    pub(in crate::cli) fn iter(&self) -> impl Iterator<Item = (AnyCase, usize)> + '_ {
        views(self.all())
    }

    /// A smaller case that fails: a random one is made simpler as it was drawn.
    pub(super) fn smaller(&self, item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let any_smaller = |fails: &mut dyn FnMut(&AnyCase) -> bool| match item.case.id() {
            Some(id) => shrink(self.draw(id.index), fails),
            None => smaller(item, fails),
        };
        match &self.command {
            Some(command) => command.smaller(any_smaller, fails),
            None => any_smaller(fails),
        }
    }
}
