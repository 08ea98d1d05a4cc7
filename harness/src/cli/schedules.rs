//! `splatcheck schedules`: every CUDA kernel on the emulator under many schedules.
//!
//! A *round* is one schedule with one threshold and one variant of the kernels (with or without fast
//! math): every stage of every scene of the corpus, with every reduction. Threshold and
//! variant turn with the seed, so that 68 seeds in a row have every pair of them. A *cell* is
//! an artifact with a threshold; a campaign that leaves one out has not done what it is for.

mod coverage;

use std::io::Write;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use rayon::prelude::*;
use splatcheck_gpu::EmulatorEngine;

use super::exit::{CliError, Outcome, conclude};
use super::number::positive;
use super::output::Progress;
use super::paths;
use super::reproducer::Reproducers;
use coverage::{Coverage, ROUNDS, Round};
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::NAME;
use splatcheck_judge::campaign::merge::join_seeds;
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, Item, judge, smaller};
use splatcheck_judge::engines::Order;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::interrupt::{self, until_interrupted};
use splatcheck_judge::io::{OF_CORPUS, Unread};
use splatcheck_judge::report::findings_text;
use splatcheck_judge::threads::{Pool, cores};
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{Workload, views};
use splatcheck_workloads::splat::Splat;

/// Options of `schedules`, as typed.
#[derive(Clone, Debug, Args)]
pub struct SchedulesArgs {
    /// Seeds of each kind of schedule; 68 have every threshold with every variant of the kernels
    #[arg(long, value_name = "N", default_value = "68", allow_negative_numbers = true)]
    #[arg(value_parser = positive::<NonZeroU32>)]
    pub seeds: NonZeroU32,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true)]
    pub first: u32,
    /// This kind of schedule only: lockstep, random or adversarial; repeatable
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub kind: Vec<Order>,
    /// Rounds at the same time [default: one a processor]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Folder of named scenes [default: those of splatcheck, as with 'built-in']
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Folder for reproducers
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
}

/// There is no such kind of schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind '{name}': expected lockstep, random or adversarial")]
struct UnknownKind {
    name: String,
}

/// A kind of schedule, of any seed.
fn kind(name: &str) -> Result<Order, UnknownKind> {
    match name {
        "lockstep" => Ok(Order::Lockstep),
        "random" => Ok(Order::Random(0)),
        "adversarial" => Ok(Order::Adversarial(0)),
        _ => Err(UnknownKind { name: name.to_owned() }),
    }
}

/// A checked `schedules`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulesPlan {
    /// The rounds, kind by kind.
    pub rounds: Vec<Round>,
    /// Rounds at the same time.
    pub jobs: usize,
    /// Folder of named scenes.
    pub corpus: PathBuf,
    /// Folder for reproducers.
    pub out: PathBuf,
}

impl SchedulesArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<SchedulesPlan, CliError> {
        let mut kinds = self.kind;
        if kinds.is_empty() {
            kinds = vec![Order::Lockstep, Order::Random(0), Order::Adversarial(0)];
        }
        kinds.dedup();
        let (first, seeds) = (u64::from(self.first), u64::from(self.seeds.get()));
        let rounds = |order: &Order| {
            // Lockstep knows no seed: after a full turn it would only repeat itself.
            let seeds = if *order == Order::Lockstep { seeds.min(ROUNDS) } else { seeds };
            let order = *order;
            (first..first + seeds).map(move |seed| Round::new(order, seed))
        };
        Ok(SchedulesPlan {
            rounds: kinds.iter().flat_map(rounds).collect(),
            jobs: self.jobs.map_or_else(cores, NonZeroUsize::get),
            corpus: paths::corpus(self.corpus.as_deref(), NAME)?,
            out: paths::folder_to_name("--out", &self.out)?,
        })
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; cells that were not covered are one too.
pub fn run(plan: &SchedulesPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let (items, unread) = items(plan)?;
    let reproducers = Reproducers::begin(&plan.out, "schedules", Some(&plan.corpus))?;
    let threads = Pool::of(plan.jobs);
    let bar = Progress::new("schedules", "rounds", plan.rounds.len() as u64);
    let start = Instant::now();
    let round = |round: &Round| {
        let report = until_interrupted(|| run_one(*round, &items))?;
        bar.inc(1);
        // A round that Ctrl-C cut short has not made all its runs.
        Ok(report.filter(|_| !interrupt::is_asked()).map(|report| (*round, report)))
    };
    let done: Result<Vec<_>, CliError> =
        threads.install(|| plan.rounds.par_iter().with_max_len(1).map(round).collect());
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let done: Vec<_> = done?.into_iter().flatten().collect();
    let mut coverage = Coverage::default();
    for (round, report) in &done {
        coverage.add(*round, report, &items);
    }
    let runs = coverage.runs();
    let of = if done.len() < plan.rounds.len() { "interrupted: " } else { "" };
    writeln!(
        out,
        "{of}{}, {runs} runs in {seconds:.1} s on {}: {:.0} runs a second and thread",
        count(done.len(), "round"),
        count(plan.jobs, "thread"),
        runs as f64 / (seconds * plan.jobs as f64)
    )?;
    let mut reports = join_seeds(done.into_iter().map(|(_, report)| report).collect());
    let files = reproducers.write_all(&mut reports, None);
    out.write_all(findings_text(&reports, &files).as_bytes())?;
    writeln!(out, "\n{}", coverage.table())?;
    out.flush()?;
    let gap = |uncovered| {
        format!(
            "{uncovered}: {ROUNDS} seeds in a row of a kind and scenes with 3 and with other \
             numbers of channels have everything"
        )
    };
    unread.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let uncovered = coverage.uncovered().map(gap);
    let gaps = unread.gap(OF_CORPUS).into_iter().chain(uncovered).collect();
    conclude(&Evidence { gaps, ..Evidence::new(&reports, &[]) })
}

/// Every view of the corpus, and the files that are no cases.
fn items(plan: &SchedulesPlan) -> Result<(Vec<Item>, Unread), CliError> {
    let corpus = Splat::default()
        .read_corpus(&plan.corpus)
        .map_err(|error| CliError::caused("cannot read the corpus", error))?;
    let views: Vec<_> = views(corpus.cases).collect();
    let item = |(case, camera)| Item::new(case, camera);
    let items = views.into_par_iter().map(item).collect::<Result<_, _>>().map_err(CliError::of)?;
    Ok((items, corpus.unread))
}

fn run_one(round: Round, items: &[Item]) -> Result<EngineReport, CliError> {
    let engine = EmulatorEngine::open(round.emulation.options())
        .map_err(|error| CliError::caused(format!("engine {}", round.emulation), error))?;
    let contender = Contender {
        id: round.emulation.to_string(),
        emulation: Some(round.emulation),
        engine: Box::new(engine),
        stages: Stage::all().collect(),
        settings: round.settings(),
    };
    Ok(judge(contender, items, Hooks::new(&smaller)))
}
