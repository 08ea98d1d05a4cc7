//! What a kernel is checked on: the corpus, cases that are drawn, or one file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use splatcheck_judge::campaign::{CampaignError, Item};
use splatcheck_judge::io::{InputError, Unread, source_tree};
use splatcheck_judge::minimize::shrink;
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{AnyCase, Generator, Workload, generator, views};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_workloads::fuzz::Draws;
use splatcheck_workloads::splat::contract::{Contract, ContractError, Level};
use splatcheck_workloads::splat::kernel_rules::KernelRules;
use splatcheck_workloads::splat::{ColorForms, fitted, has_channels, has_gaussians};

/// Why a kernel could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no generator of that name.
    #[error("there is no generator '{name}': expected one of {known}")]
    Generator {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Only splats have conventions.
    #[error("level {0} has no conventions: leave Check::convention out")]
    Convention(Level),
    /// A case cannot be read.
    #[error(transparent)]
    File(#[from] InputError),
    /// The level has no formulation, or a case is not for it.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// A case that cannot be prepared.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// There is no place for reproducers.
    #[error("cannot make the folder {folder}: {source}")]
    Folder {
        /// Where they were to be.
        folder: String,
        /// Why not.
        source: io::Error,
    },
}

/// Where the named cases are, as told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Corpus {
    /// The source tree's, where there is one.
    #[default]
    Ours,
    /// This folder's.
    Folder(PathBuf),
    /// None.
    Without,
}

/// The cases, as told.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// This file alone.
    pub(super) file: Option<PathBuf>,
    pub(super) corpus: Corpus,
    /// How many are drawn, so that each is judged.
    pub(super) drawn: u64,
    pub(super) seed: u64,
    pub(super) generators: Vec<String>,
    pub(super) convention: Option<Profile>,
    pub(super) rules: KernelRules,
    /// The only number of channels.
    pub(super) channels: Option<u32>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            file: None,
            corpus: Corpus::default(),
            drawn: 100,
            seed: 0,
            generators: Vec::new(),
            convention: None,
            rules: KernelRules::default(),
            channels: None,
        }
    }
}

/// The generators of these names.
fn named(workload: &dyn Workload, names: &[String]) -> Result<Vec<&'static Generator>, CheckError> {
    let one = |name: &String| {
        generator(workload, name).ok_or_else(|| {
            let known: Vec<_> = workload.generators().iter().map(|g| g.name).collect();
            CheckError::Generator { name: name.clone(), known: known.join(", ") }
        })
    };
    names.iter().map(one).collect()
}

/// The cases of a check.
pub(super) struct Cases {
    filed: Vec<AnyCase>,
    drawn: u64,
    pub(super) draws: Draws,
    contract: Contract,
    rules: KernelRules,
    channels: Option<u32>,
    /// Whether a generator draws from files that are missing.
    without_files: bool,
    /// What was not exercised, in words.
    pub(super) without: Vec<String>,
    /// Files of the corpus that are no cases.
    pub(super) unread: Unread,
}

impl Cases {
    /// Reads the files, and looks up the generators.
    ///
    /// # Errors
    /// What cannot be read, and a generator that does not exist.
    pub(super) fn new(wanted: &Wanted, contract: Contract) -> Result<Self, CheckError> {
        let workload = contract.workload();
        let workload = match wanted.convention.map(Profile::name) {
            None => workload,
            Some(name) => workload.under(name).ok_or(CheckError::Convention(contract.level()))?,
        };
        let named = named(workload.as_ref(), &wanted.generators)?;
        let mut cases = Self {
            filed: Vec::new(),
            drawn: if wanted.file.is_some() { 0 } else { wanted.drawn },
            draws: Draws::new(Arc::clone(&workload), wanted.seed, &named),
            contract,
            rules: wanted.rules,
            channels: wanted.channels,
            without_files: false,
            without: Vec::new(),
            unread: Unread::default(),
        };
        let filed = match (&wanted.file, &wanted.corpus) {
            (Some(file), _) => vec![splatcheck_workloads::read_case(file)?.case],
            (None, Corpus::Without) => Vec::new(),
            (None, Corpus::Folder(folder)) => cases.of_a_folder(workload.as_ref(), folder)?,
            (None, Corpus::Ours) => cases.of_the_tree(workload.as_ref())?,
        };
        let contract = cases.contract.clone();
        let filed = cases.those_for(filed);
        let own =
            |case: AnyCase| Ok(contract.case(&wanted.rules.applied_to(&case, contract.reach()))?);
        cases.filed = filed.into_iter().map(own).collect::<Result<_, CheckError>>()?;
        cases.note_left_out();
        Ok(cases)
    }

    /// The cases in files that a kernel of another workload than splats is for; the others are noted.
    fn those_for(&mut self, filed: Vec<AnyCase>) -> Vec<AnyCase> {
        let mut left_out = BTreeMap::<_, usize>::new();
        let is_for = |case: &AnyCase| match self.contract.not_for(case) {
            None => true,
            Some(why) => {
                *left_out.entry(why).or_default() += 1;
                false
            }
        };
        let kept = filed.into_iter().filter(is_for).collect();
        let noted =
            left_out.into_iter().map(|(why, cases)| format!("{} {why}", count(cases, "case")));
        self.without.extend(noted);
        kept
    }

    /// Notes the cases in files that the kernel is not for, and the generators whose files are missing.
    fn note_left_out(&mut self) {
        if let Some(channels) = self.channels {
            let all = self.filed.len();
            self.filed.retain(|case| has_channels(case, Some(channels)));
            let left_out = all - self.filed.len();
            let cases = count(left_out, "case");
            let what = format!("{cases} with another number of channels than {channels}");
            self.without.extend((left_out > 0).then_some(what));
        }
        let not_drawn = match &self.draws {
            Draws::Random(..) => Vec::new(),
            Draws::Generators(plan) => plan.not_drawn(),
        };
        self.without_files = !not_drawn.is_empty();
        let line = |one: &Generator| format!("{}: there is no {}", one.name, one.needs.join(", "));
        self.without.extend(not_drawn.into_iter().map(line));
    }

    /// The cases of a folder; the files that are none are kept for the report.
    fn of_a_folder(
        &mut self,
        workload: &dyn Workload,
        folder: &Path,
    ) -> Result<Vec<AnyCase>, CheckError> {
        let corpus = workload.read_corpus(folder)?;
        self.unread.extend(corpus.unread);
        Ok(corpus.cases)
    }

    /// The named cases of the source tree that this program was built in.
    fn of_the_tree(&mut self, workload: &dyn Workload) -> Result<Vec<AnyCase>, CheckError> {
        let within = Path::new("corpora").join(workload.name());
        match source_tree::folder(&within.to_string_lossy()) {
            Some(folder) => self.of_a_folder(workload, &folder),
            None => {
                let what = format!(
                    "the corpus: no folder {} here (Check::corpus names another)",
                    within.display()
                );
                self.without.push(what);
                Ok(Vec::new())
            }
        }
    }

    /// A case as the kernel is judged on it. Those that are drawn are splats, and those of files were
    /// looked at.
    fn own(&self, case: &AnyCase) -> AnyCase {
        let case = self.rules.applied_to(case, self.contract.reach());
        self.contract.case(&case).unwrap_or(case)
    }

    /// A case as the kernel is judged on it, with the channels or constants that the kernel is for: one that was
    /// drawn, or is smaller than another; `None` where it cannot be made one.
    fn drawn(&self, case: &AnyCase) -> Option<AnyCase> {
        let case = self.contract.fitted(case)?;
        Some(self.own(&fitted(&case, self.channels, ColorForms::Both)))
    }

    /// Those that are drawn, each with a Gaussian, so that there is something to compare. What a generator's case
    /// is made from may not be on this machine; such a case is left out.
    fn all_drawn(&self) -> impl Iterator<Item = AnyCase> + '_ {
        let fits = |case: AnyCase| self.drawn(&case).filter(has_gaussians);
        (0..self.drawn).filter_map(move |index| self.draws.fitting(index, fits))
    }

    /// Says how many of those that were to be drawn are judged, where they are not all.
    pub(super) fn count(&self) -> Counted {
        // A generator draws nothing only where its files are missing.
        let drawn = if self.without_files { self.all_drawn().count() as u64 } else { self.drawn };
        Counted { wanted: self.drawn, drawn }
    }

    /// Every view of every case that the kernel is for: those in files, then those that are drawn.
    pub(super) fn iter(&self) -> impl Iterator<Item = (AnyCase, usize)> + '_ {
        views(self.filed.iter().cloned().chain(self.all_drawn()))
    }

    /// A smaller case that fails. One that was drawn is made simpler as its generator can.
    pub(super) fn smaller(&self, item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let fails = &mut |case: &AnyCase| self.drawn(case).is_some_and(|case| fails(&case));
        let tree = self.draws.index(item.case.as_ref()).and_then(|index| self.draws.tree(index));
        let small = tree.map_or_else(|| Arc::clone(&item.case), |tree| shrink(tree, fails));
        let smaller = self.drawn(&small).map(|small| small.smaller(fails));
        smaller.and_then(|small| self.drawn(&small)).unwrap_or(small)
    }
}

/// How many cases were to be drawn, and how many are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) wanted: u64,
    pub(super) drawn: u64,
}

impl Counted {
    /// Whether fewer than half of them are: then nothing is said of the kernel.
    pub(super) fn too_few(self) -> bool {
        self.drawn * 2 < self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_was_to_be_drawn_is_enough() {
        for (drawn, wanted, too_few) in
            [(0, 0, false), (0, 1, true), (4, 9, true), (5, 9, false), (9, 9, false)]
        {
            assert_eq!(Counted { wanted, drawn }.too_few(), too_few, "{drawn} of {wanted}");
        }
    }
}
