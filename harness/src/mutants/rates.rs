//! How reliably a mutant is killed on the first case that shows it, seed by seed.
//!
//! The matrix ([`super::matrix`]) goes through whole classes once for every seed. Here a killing case
//! is found first, in lockstep with every setting, or where that shows nothing under one schedule of
//! each kind; then that case runs under the setting that showed the mutant, with every seed of random
//! and of adversarial schedules. The right kernel runs beside it under the same schedules, and is not accused.

use super::class::{Class, Trial};
use super::emulated::Emulated;
use super::matrix::{Order, Subject, kernel_name, subjects};
use super::table::Summary;
use super::{BY_COUNTS, Mutant};
use super::{Catch, Language};
use rayon::prelude::*;
use serde::Serialize;
use splatcheck_gpu::EngineError;
use splatcheck_gpu::Setting;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::engines::EMULATOR;
use splatcheck_judge::interrupt::{is_asked, until_interrupted};
use splatcheck_judge::io::Unread;
use std::collections::BTreeSet;

/// What one kernel of a mutant came to.
#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    /// The mutant.
    pub mutant: String,
    /// The hazards that it stands for.
    pub hazards: Vec<Hazard>,
    /// The kernel that was changed.
    pub kernel: String,
    /// Why no input can tell it from the original, if that is so.
    pub equivalent: Option<String>,
    /// Cases that were run until it was killed, or all.
    pub cases: u32,
    /// The case and schedules that show it; `None` for a survivor.
    pub shown: Option<Shown>,
}

/// How a mutant is killed on one case under one setting.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The class of the case.
    pub class: &'static str,
    /// The case.
    pub case: String,
    /// The kind of schedule that it was found with.
    pub found: Order,
    /// Seeds of each kind of schedule that were run.
    pub seeds: u32,
    /// Random schedules that showed it.
    pub random: u32,
    /// Adversarial schedules that showed it.
    pub adversarial: u32,
    /// Schedules of both kinds under which the right kernel was accused.
    pub false_alarms: u32,
    /// What killed it.
    pub caught_by: BTreeSet<String>,
}

impl Rate {
    /// The mutant and its kernel.
    fn label(&self) -> String {
        format!("{} ({} on emulator)", self.mutant, self.kernel)
    }
}

/// A case that shows a mutant.
struct Kill<'t> {
    class: &'static str,
    trial: &'t Trial,
    found: Order,
    setting: Option<Setting>,
    catch: Catch,
}

/// The rates of CUDA's mutants on the emulator. `progress` hears of every kernel. Ctrl-C ends it; there
/// are the rates of the kernels that were done.
///
/// A kernel that is no PTX does not stand in the way of the others.
pub fn rates(
    mutants: &[Mutant],
    classes: &[Class],
    seeds: u32,
    progress: &(dyn Fn() + Sync),
) -> (Vec<Rate>, Unread) {
    let subjects = subjects(mutants, Language::Cuda);
    let wrong: Vec<_> = subjects.iter().filter(|subject| subject.mutant.is_some()).collect();
    let rates = wrong.into_par_iter().map(|subject| {
        let rate = until_interrupted(|| rate(subject, classes, seeds));
        progress();
        // A kernel that Ctrl-C cut short lacks runs.
        let rate = rate.map(|rate| rate.filter(|_| !is_asked()));
        rate.map_err(|error| subject.failed(EMULATOR, &error))
    });
    let (rates, unread) = Unread::sort(rates.collect::<Vec<_>>().into_iter());
    (rates.into_iter().flatten().collect(), unread)
}

/// Draws the conclusions.
#[must_use]
pub fn summary(rates: &[Rate]) -> Summary {
    let names: BTreeSet<_> = rates.iter().map(|rate| &rate.mutant).collect();
    let mut summary = Summary { mutants: names.len(), ..Summary::default() };
    for rate in rates {
        let Some(shown) = &rate.shown else {
            summary.survivors.extend(rate.equivalent.is_none().then(|| rate.label()));
            continue;
        };
        summary.cases_to_kill.push(rate.cases);
        summary.luck.extend((!shown.reliable()).then(|| rate.label()));
        let by_counts = shown.caught_by.iter().all(|by| by == BY_COUNTS);
        summary.by_counts.extend(by_counts.then(|| rate.label()));
        let alarm = || format!("{}: {} on {}", rate.kernel, shown.false_alarms, shown.case);
        summary.false_alarms.extend((shown.false_alarms > 0).then(alarm));
    }
    summary.cases_to_kill.sort_unstable();
    summary
}

/// One line of Markdown for every kernel of a mutant.
#[must_use]
pub fn markdown(rates: &[Rate]) -> String {
    let mut text = "| mutant | hazards | kernel | cases | shown by | lockstep | random | \
                    adversarial | killed by |\n|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for rate in rates {
        let shown = rate.shown.as_ref().map_or_else(
            || {
                let words = if rate.equivalent.is_some() { "equivalent" } else { "**nobody**" };
                format!("- | no | no | no | {words}")
            },
            Shown::cells,
        );
        let Rate { mutant, kernel, cases, .. } = rate;
        let hazards = Hazard::joined(&rate.hazards);
        text.push_str(&format!("| {mutant} | {hazards} | {kernel} | {cases} | {shown} |\n"));
    }
    text
}

fn rate(subject: &Subject<'_>, classes: &[Class], seeds: u32) -> Result<Rate, EngineError> {
    let mut emulated = Emulated::new(subject.kernel, subject.ptx)?;
    let (cases, kill) = search(subject, &mut emulated, classes)?;
    let shown = match kill {
        Some(kill) => Some(repeat(subject, &mut emulated, kill, seeds)?),
        None => None,
    };
    Ok(Rate {
        mutant: subject.name().to_owned(),
        hazards: subject.hazards().to_vec(),
        kernel: kernel_name(&subject.kernel),
        equivalent: subject.mutant.and_then(|mutant| mutant.mutation.equivalent.clone()),
        cases,
        shown,
    })
}

/// The first case that shows a mutant, class by class, those that aim at it first; and how many it
/// took. A kind of schedule comes only after the one before it showed nothing on any case.
fn search<'t>(
    subject: &Subject<'_>,
    emulated: &mut Emulated,
    classes: &'t [Class],
) -> Result<(u32, Option<Kill<'t>>), EngineError> {
    let mut cases = 0;
    for found in [Order::Lockstep, Order::Random, Order::Adversarial] {
        for class in classes {
            for trial in class.aimed(subject.hazards()) {
                if !emulated.takes(trial) || is_asked() {
                    continue;
                }
                cases += 1;
                if let Some((setting, catch)) = emulated.run(trial, &found.schedule(0))? {
                    let kill = Kill { class: class.name, trial, found, setting, catch };
                    return Ok((cases, Some(kill)));
                }
            }
        }
    }
    Ok((cases, None))
}

/// Runs the case with every seed, the right kernel beside it.
fn repeat(
    subject: &Subject<'_>,
    emulated: &mut Emulated,
    kill: Kill<'_>,
    seeds: u32,
) -> Result<Shown, EngineError> {
    let mut right = Emulated::new(subject.kernel, None)?;
    let mut shown = Shown {
        class: kill.class,
        case: kill.trial.name().to_owned(),
        found: kill.found,
        seeds,
        random: 0,
        adversarial: 0,
        false_alarms: 0,
        caught_by: BTreeSet::from([kill.catch.by]),
    };
    for order in [Order::Random, Order::Adversarial] {
        for seed in (0..u64::from(seeds)).take_while(|_| !is_asked()) {
            let schedule = order.schedule(seed);
            if right.run_with(kill.trial, &schedule, kill.setting)?.is_some() {
                shown.false_alarms += 1;
            }
            let caught = emulated.run_with(kill.trial, &schedule, kill.setting)?;
            let Some(catch) = caught else { continue };
            shown.caught_by.insert(catch.by);
            match order {
                Order::Random => shown.random += 1,
                _ => shown.adversarial += 1,
            }
        }
    }
    Ok(shown)
}

impl Shown {
    /// Its cells of a line of Markdown.
    fn cells(&self) -> String {
        let Self { case, seeds, random, adversarial, .. } = self;
        let lockstep = if self.found == Order::Lockstep { "yes" } else { "no" };
        let by: Vec<_> = self.caught_by.iter().map(String::as_str).collect();
        let by = by.join(", ");
        format!("{case} | {lockstep} | {random}/{seeds} | {adversarial}/{seeds} | {by}")
    }

    /// Whether lockstep, which has no seed, or at least 19 of 20 seeds of one kind of schedule show
    /// the mutant: else it was luck.
    #[must_use]
    pub fn reliable(&self) -> bool {
        self.found == Order::Lockstep || self.random.max(self.adversarial) * 20 >= self.seeds * 19
    }
}
