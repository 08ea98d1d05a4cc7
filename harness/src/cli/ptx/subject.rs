//! What a user's kernel is run on: a case, a corpus, generated cases.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use splatcheck_emulator::WARP;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::NAME;

use crate::cli::case::read_case;
use crate::cli::exit::CliError;
use crate::cli::fuzz::find_generator;
use crate::cli::number::positive;
use crate::cli::options::{ConventionName, under};
use crate::cli::paths;
use crate::cli::sight::all_blind;
use crate::manifest::Manifest;
use splatcheck_judge::campaign::{Item, Policy};
use splatcheck_judge::io::{InputError, OF_CORPUS, Unread};
use splatcheck_judge::minimize::shrink;
use splatcheck_judge::words;
use splatcheck_judge::workload::{AnyCase, BuiltIn, Case, Workload};
use splatcheck_workloads::fuzz::{Draws, Plan};
use splatcheck_workloads::layout::KernelKind;
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;
use splatcheck_workloads::splat::generators::{OF_PROJECTIONS, SLOW};
use splatcheck_workloads::splat::{Forms, fitted, has_channels};

/// Cases that are drawn where generators are named and no number is.
const USUAL: u32 = 200;

/// The cases, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cases")]
pub struct SubjectArgs {
    /// The case to run it on (.safetensors or .toml)
    #[arg(long, value_name = "CASE", conflicts_with_all = ["corpus", "cases", "generator"])]
    pub case: Option<PathBuf>,
    /// Folder of named cases to run it on; 'built-in' for those of splatcheck
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Number of generated cases to run it on
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroU32>)]
    pub cases: Option<NonZeroU32>,
    /// Seed of the generated cases
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// Draw from this generator only; repeatable [default: all whose expected outputs are well-defined]
    #[arg(long, value_name = "NAME")]
    pub generator: Vec<String>,
    /// Run it on cases with this number of channels only [default: as the manifest says, else any]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub channels: Option<u32>,
    /// Convention of cases that name none [default: each in turn]
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
}

/// Which cases a kernel is for.
#[derive(Clone, Debug)]
pub(in crate::cli) struct For {
    /// Their workload.
    workload: &'static str,
    /// Which of splats it takes.
    forms: Forms,
    /// The stage of another workload than splats, and what is built into the kernel.
    of_stage: Option<(Stage, BuiltIn)>,
    /// Whether it works on Gaussians and cameras.
    projects: bool,
}

impl Default for For {
    fn default() -> Self {
        Self { workload: NAME, forms: Forms::default(), of_stage: None, projects: false }
    }
}

impl For {
    /// The formulations of a manifest's kernel, if it has a manifest.
    pub(in crate::cli) fn kernel_of(manifest: Option<&Manifest>) -> Self {
        let Some(manifest) = manifest else { return Self::default() };
        let of_stage = match manifest.kind {
            KernelKind::Of(stage) => Some((stage, manifest.built_in.clone())),
            _ => None,
        };
        let (workload, projects) = (manifest.kind.workload(), manifest.kind.projects());
        Self { workload, forms: manifest.forms(), of_stage, projects }
    }

    /// What a case has that a kernel of a stage of another workload is for, in words.
    fn run(&self) -> Option<String> {
        let (stage, built_in) = self.of_stage.as_ref()?;
        let with = if built_in.is_empty() { String::new() } else { format!(" with {built_in}") };
        Some(format!("a run of stage {stage}{with}"))
    }
}

/// The cases of a run.
#[derive(Clone, Debug)]
pub struct Subject {
    filed: Vec<AnyCase>,
    /// The files of its folder that are no cases.
    unread: Unread,
    /// How many are drawn.
    drawn: u64,
    draws: Draws,
    /// The only number of channels.
    channels: Option<u32>,
    /// Which cases the kernel is for.
    wanted: For,
    /// The generators that were named and whose files are not on this machine: others take their turns.
    not_drawn: Vec<String>,
    /// The case or the folder of cases that was read.
    read: Option<PathBuf>,
}

impl SubjectArgs {
    /// Whether any cases were named.
    pub(super) fn is_given(&self) -> bool {
        let Self { case, corpus, cases, generator, .. } = self;
        case.is_some() || corpus.is_some() || cases.is_some() || !generator.is_empty()
    }

    /// Reads the files, and checks the generators; `wanted` says which cases the kernel is for.
    ///
    /// # Errors
    /// The first that is wrong; that no cases were named.
    pub(in crate::cli) fn resolve(self, wanted: For) -> Result<Subject, CliError> {
        if !self.is_given() {
            return Err(CliError::new(
                "no case: name one with --case FILE, take a folder with --corpus DIR, splatcheck's own \
                 with --corpus built-in, or draw some with --cases N",
            ));
        }
        if let (Some((stage, _)), Some(_)) = (&wanted.of_stage, self.channels) {
            return Err(CliError::new(format!(
                "--channels: stage {stage} is not of splats; [constants] of the manifest says what its \
                 kernel is made for"
            )));
        }
        let of_stage = splatcheck_workloads::find(wanted.workload).map_err(CliError::of)?;
        let workload = under(of_stage, self.convention)?;
        let (mut filed, mut unread) = (Vec::new(), Unread::default());
        if let Some(case) = &self.case {
            paths::expect_extension("--case", case, &EXTENSIONS)?;
            let file = paths::readable_file("--case", case)?;
            filed.push(match self.convention {
                None => read_case(&file)?.case,
                Some(_) => workload.read(&file).map_err(cannot)?.case,
            });
        }
        if let Some(folder) = &self.corpus {
            let folder = paths::corpus(Some(folder), wanted.workload)?;
            let corpus = workload.read_corpus(&folder).map_err(cannot)?;
            filed.extend(corpus.cases);
            unread = corpus.unread;
        }
        if let Some((stage, built_in)) = &wanted.of_stage {
            // Each takes on what is built into the kernel; one that cannot is left out, and counted.
            let own = |case| workload.fitted(&case, *stage, built_in).unwrap_or(case);
            filed = filed.into_iter().map(own).collect();
        }
        let drawn = match (self.cases, self.generator.is_empty()) {
            (Some(count), _) => count.get(),
            (None, true) => 0,
            (None, false) => USUAL,
        };
        let mut names: Vec<&str> = self.generator.iter().map(String::as_str).collect();
        if names.is_empty() && wanted.projects {
            // Half of what the generators draw is for sums in warps, of which a projection has none.
            names.extend(OF_PROJECTIONS);
        }
        let named = names.into_iter().map(|name| find_generator(workload.as_ref(), name));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let draws = planned(workload, self.seed, &named)?;
        let named = if self.generator.is_empty() { Vec::new() } else { draws.not_drawn() };
        let not_drawn = named.into_iter().map(|generator| {
            let needs = generator.needs.join(", ");
            format!("NOT EXERCISED: generator {}: there is no {needs}", generator.name)
        });
        let not_drawn = not_drawn.collect();
        let (drawn, channels) = (u64::from(drawn), self.channels);
        let read = self.case.or(self.corpus);
        let subject = Subject { filed, unread, drawn, draws, channels, wanted, not_drawn, read };
        if subject.iter().next().is_some() {
            return Ok(subject);
        }
        if let Some(run) = subject.wanted.run() {
            return Err(CliError::new(format!(
                "no case has {run}: give others with --case, --corpus or --cases"
            )));
        }
        let lacks = subject.wanted.forms.lacks().join(", or ");
        Err(CliError::new(match (channels, lacks.is_empty()) {
            (_, false) if subject.all().next().is_some() => format!(
                "no case is for the manifest's kernel, all have {lacks}: give others with --case, \
                 --corpus or --cases"
            ),
            (Some(channels), _) => format!(
                "no case has the kernel's {channels} channels (--channels, or the manifest): give \
                 others with --case, --corpus or --cases"
            ),
            (None, _) => {
                "no case is left: what its generator draws from is not on this machine".to_owned()
            }
        }))
    }
}

fn cannot(error: InputError) -> CliError {
    CliError::caused("cannot read the case", error)
}

fn planned(
    workload: Arc<dyn Workload>,
    seed: u64,
    named: &[&'static splatcheck_judge::workload::Generator],
) -> Result<Draws, CliError> {
    let plan = Plan::new(workload, seed, named).of_few(SLOW).aimed(vec![WARP], 1);
    plan.map(Draws::Generators).map_err(CliError::of)
}

impl Subject {
    /// No cases at all.
    ///
    /// # Errors
    /// The workload of splats is not there.
    pub(super) fn none() -> Result<Self, CliError> {
        let workload = splatcheck_workloads::find(NAME).map_err(CliError::of)?;
        let draws = planned(workload, 0, &[])?;
        let wanted = For::default();
        let (filed, unread) = (Vec::new(), Unread::default());
        let not_drawn = Vec::new();
        Ok(Self { filed, unread, drawn: 0, draws, channels: None, wanted, not_drawn, read: None })
    }

    /// Every case: those in files, then those that are drawn. What a generator's case is made from may
    /// not be on this machine; such a case is left out.
    pub(in crate::cli) fn iter(&self) -> impl Iterator<Item = AnyCase> + '_ {
        self.all().filter(|case| self.takes(case))
    }

    fn all(&self) -> impl Iterator<Item = AnyCase> + '_ {
        let drawn = (0..self.drawn)
            .filter_map(move |index| self.draws.fitting(index, |case| self.fit(&case)));
        self.filed.iter().cloned().chain(drawn)
    }

    /// A drawn case as one that the kernel is for; `None` where it cannot be made one.
    fn fit(&self, case: &AnyCase) -> Option<AnyCase> {
        match &self.wanted.of_stage {
            None => Some(fitted(case, self.channels, self.wanted.forms.colors))
                .filter(|case| self.wanted.forms.cameras.has(case)),
            Some((stage, built_in)) => self.draws.workload().fitted(case, *stage, built_in),
        }
    }

    /// Whether the kernel is for a case as it is: its number of channels and form of colours, or its run of the
    /// stage with what is built into the kernel.
    fn takes(&self, case: &AnyCase) -> bool {
        match &self.wanted.of_stage {
            None => has_channels(case, self.channels) && self.wanted.forms.has(case),
            Some((stage, built_in)) => self.draws.workload().is_for(case, *stage, built_in),
        }
    }

    /// What is not judged, in lines of the report.
    pub(in crate::cli) fn not_judged(&self) -> impl Iterator<Item = String> {
        let not_drawn = self.not_drawn.iter().cloned();
        self.left_out().into_iter().chain(not_drawn).chain(self.unread.lines())
    }

    /// The generators that were named and could not be drawn from, a sentence each.
    pub(in crate::cli) fn not_drawn(&self) -> Vec<String> {
        self.not_drawn.clone()
    }

    /// Why a run of its cases is no pass, whatever they come to.
    pub(in crate::cli) fn gaps(&self) -> Vec<String> {
        all_blind(self.iter()).into_iter().chain(self.unread.gap(OF_CORPUS)).collect()
    }

    /// The files of its folder that are no cases.
    pub(super) fn unread(&self) -> &Unread {
        &self.unread
    }

    /// How many cases are left out, in words; nothing where none is.
    fn left_out(&self) -> Option<String> {
        let count = self.all().filter(|case| !self.takes(case)).count();
        if let Some(run) = self.wanted.run() {
            let cases = words::count(count, "case");
            return (count > 0).then(|| format!("NOT EXERCISED: {cases} without {run}"));
        }
        let channels = self.channels.map(|d| format!("another number of channels than {d}"));
        let lacks = self.wanted.forms.lacks().into_iter().map(str::to_owned);
        let reasons: Vec<_> = channels.into_iter().chain(lacks).collect();
        (count > 0).then(|| {
            let cases = words::count(count, "case");
            format!("NOT EXERCISED: {cases} with {}", reasons.join(", or "))
        })
    }

    /// Seed of the cases that are drawn.
    pub(in crate::cli) fn seed(&self) -> u64 {
        self.draws.seed()
    }

    /// The case or the folder of cases that was read.
    pub(in crate::cli) fn reads(&self) -> Option<&Path> {
        self.read.as_deref()
    }

    /// How many they are at most.
    pub(in crate::cli) fn count(&self) -> u64 {
        self.filed.len() as u64 + self.drawn
    }

    /// How many runs of a stage they make on one engine.
    pub(in crate::cli) fn runs(&self, stage: Stage) -> u64 {
        let policy = OneStage { subject: self, stage };
        let runs = self.iter().filter(|case| policy.runs(stage, case.as_ref()));
        runs.map(|case| case.views_of(stage) as u64).sum()
    }

    /// A smaller case that fails. Drawn ones are made simpler as their generator can, and `changed` says
    /// what they are judged as.
    pub(in crate::cli) fn smaller(
        &self,
        item: &Item,
        changed: &dyn Fn(&AnyCase) -> AnyCase,
        fails: &mut dyn FnMut(&AnyCase) -> bool,
    ) -> AnyCase {
        let fails = &mut |case: &AnyCase| self.takes(case) && fails(case);
        let tree = self.draws.index(item.case.as_ref()).and_then(|index| self.draws.tree(index));
        let small = match tree {
            None => Arc::clone(&item.case),
            Some(tree) => {
                let fit = |case: &AnyCase| self.fit(case).map(|case| changed(&case));
                let fails = &mut |case: &AnyCase| fit(case).is_some_and(|case| fails(&case));
                let small = shrink(tree, fails);
                fit(&small).unwrap_or_else(|| Arc::clone(&item.case))
            }
        };
        small.smaller(fails)
    }
}

/// The kernel's stage alone is run. Findings of different generators are kept apart; a stage whose
/// outputs a generator promises nothing of is run only where the generator was named, as in `fuzz`.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct OneStage<'s> {
    pub(in crate::cli) subject: &'s Subject,
    pub(in crate::cli) stage: Stage,
}

impl Policy for OneStage<'_> {
    fn class(&self, case: &dyn Case) -> String {
        self.subject.draws.class(case)
    }

    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        stage == self.stage && self.subject.draws.runs(stage, case)
    }
}
