//! The matrix: every mutant on every engine that can run it, on every class of cases.

use super::class::{Class, Trial};
use super::device::Device;
use super::emulated::Emulated;
use super::{Catch, Language, Mutant};
use rayon::prelude::*;
use serde::Serialize;
use splatcheck_emulator::Schedule;
use splatcheck_gpu::EngineError;
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::engines::EMULATOR;
use splatcheck_judge::engines::{Found, Program};
use splatcheck_judge::interrupt;
use splatcheck_judge::io::Unread;
use std::collections::BTreeMap;
use std::time::Instant;

/// The name under which right kernels go through the procedure.
pub const UNCHANGED: &str = "(unchanged)";

/// How a kernel is run: an engine, and on the emulator a kind of schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The emulator's fast schedule: one run says all.
    Lockstep,
    /// Random orders, by seed.
    Random,
    /// Adversarial orders, by seed.
    Adversarial,
    /// As the device likes.
    Device,
}

impl Order {
    pub(super) fn schedule(self, seed: u64) -> Schedule {
        match self {
            Self::Lockstep | Self::Device => Schedule::lockstep(),
            Self::Random => Schedule::random(seed),
            Self::Adversarial => Schedule::adversarial(seed),
        }
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Seeds of each kind of schedule but lockstep.
    pub seeds: u32,
    /// Cases of each class that is drawn.
    pub cases: u32,
    /// Cases of any class that are run at most, those that aim at the mutant first.
    pub limit: usize,
}

/// What one mutant came to on one engine and class.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The mutant, or [`UNCHANGED`].
    pub mutant: String,
    /// The kernel that was changed.
    pub kernel: String,
    /// Id of the engine.
    pub engine: String,
    /// How it ran.
    pub order: Order,
    /// The class of cases.
    pub class: &'static str,
    /// Times that the class was gone through: once, or once for each seed.
    pub runs: u32,
    /// Runs that killed the mutant.
    pub killed: u32,
    /// Cases up to the one that killed, for each run that did, sorted.
    pub cases_to_kill: Vec<u32>,
    /// Cases that were run.
    pub cases: u64,
    /// Seconds that all runs took.
    pub seconds: f64,
    /// What killed it, and in how many runs.
    pub caught_by: BTreeMap<String, u32>,
    /// The first catch in full: case, setting, words.
    pub example: Option<String>,
}

impl Cell {
    fn new(mutant: &str, kernel: &Artifact, engine: &str, order: Order, class: &Class) -> Self {
        // A device compiles a kernel for any number of channels.
        let device = order == Order::Device;
        Self {
            mutant: mutant.to_owned(),
            kernel: if device { kernel.entry() } else { kernel_name(kernel) },
            engine: engine.to_owned(),
            order,
            class: class.name,
            runs: 0,
            killed: 0,
            cases_to_kill: Vec::new(),
            cases: 0,
            seconds: 0.0,
            caught_by: BTreeMap::new(),
            example: None,
        }
    }

    fn add(&mut self, cases: u32, caught: Option<(&Trial, Catch)>) {
        self.runs += 1;
        self.cases += u64::from(cases);
        let Some((trial, catch)) = caught else { return };
        self.killed += 1;
        self.cases_to_kill.push(cases);
        self.cases_to_kill.sort_unstable();
        self.example.get_or_insert_with(|| format!("{}, {}", trial.name(), catch.words));
        *self.caught_by.entry(catch.by).or_default() += 1;
    }

    /// Cases to kill in the median of the runs that killed.
    #[must_use]
    pub fn median(&self) -> Option<u32> {
        self.cases_to_kill.get(self.cases_to_kill.len() / 2).copied()
    }
}

/// A kernel's name with its number of channels.
pub(super) fn kernel_name(kernel: &Artifact) -> String {
    kernel.file().split(".compute").next().unwrap_or_default().to_owned()
}

/// One kernel to go through the procedure.
#[derive(Clone, Copy)]
pub(super) struct Subject<'m> {
    pub(super) mutant: Option<&'m Mutant>,
    pub(super) kernel: Artifact,
    pub(super) ptx: Option<&'m str>,
}

impl Subject<'_> {
    pub(super) fn name(&self) -> &str {
        self.mutant.map_or(UNCHANGED, |mutant| &mutant.mutation.name)
    }

    /// That it could not be run on an engine, and why.
    pub(super) fn failed(&self, engine: &str, error: &EngineError) -> String {
        format!("{} ({} on {engine}): {error}", self.name(), self.kernel.entry())
    }

    pub(super) fn hazards(&self) -> &[Hazard] {
        self.mutant.map_or(&[], |mutant| &mutant.mutation.hazards)
    }
}

/// The kernels of the mutants in one language, the unchanged ones first.
pub(super) fn subjects(mutants: &[Mutant], language: Language) -> Vec<Subject<'_>> {
    let mut right = BTreeMap::new();
    let mut wrong = Vec::new();
    for mutant in mutants.iter().filter(|mutant| mutant.language == language) {
        for (index, &kernel) in mutant.mutation.kernels.iter().enumerate() {
            right.insert(kernel, Subject { mutant: None, kernel, ptx: None });
            let ptx = mutant.ptx.get(index).map(String::as_str);
            wrong.push(Subject { mutant: Some(mutant), kernel, ptx });
        }
    }
    right.into_values().chain(wrong).collect()
}

/// CUDA's mutants on the emulator under every kind of schedule. `progress` hears of every kernel. Ctrl-C ends it;
/// there are the cells of the kernels that were done.
///
/// A kernel that is no PTX does not stand in the way of the others.
pub fn emulated(
    mutants: &[Mutant],
    classes: &[Class],
    budget: Budget,
    progress: &(dyn Fn() + Sync),
) -> (Vec<Cell>, Unread) {
    let subjects = subjects(mutants, Language::Cuda);
    let cells = |subject: &Subject<'_>| -> Result<Vec<Cell>, EngineError> {
        let mut emulated = Emulated::new(subject.kernel, subject.ptx)?;
        let mut cells = Vec::new();
        for order in [Order::Lockstep, Order::Random, Order::Adversarial] {
            for class in classes {
                cells.extend(hunt(subject, &mut emulated, order, class, budget)?);
            }
        }
        progress();
        // A kernel that Ctrl-C cut short lacks runs: its mutant would look like a survivor.
        Ok(if interrupt::is_asked() { Vec::new() } else { cells })
    };
    let all = subjects
        .par_iter()
        .map(|subject| cells(subject).map_err(|error| subject.failed(EMULATOR, &error)));
    flat(all.collect())
}

/// The cells of the kernels that have some.
fn flat(all: Vec<Result<Vec<Cell>, String>>) -> (Vec<Cell>, Unread) {
    let (cells, unread) = Unread::sort(all.into_iter());
    (cells.into_iter().flatten().collect(), unread)
}

/// One kernel under one kind of schedule on one class, seed by seed; `None` where no case of the
/// class is for the kernel.
fn hunt(
    subject: &Subject<'_>,
    emulated: &mut Emulated,
    order: Order,
    class: &Class,
    budget: Budget,
) -> Result<Option<Cell>, EngineError> {
    let mut trials = class.aimed(subject.hazards());
    trials.retain(|trial| emulated.takes(trial));
    trials.truncate(budget.limit);
    if trials.is_empty() || interrupt::is_asked() {
        return Ok(None);
    }
    let mut cell = Cell::new(subject.name(), &subject.kernel, EMULATOR, order, class);
    let start = Instant::now();
    let seeds = if order == Order::Lockstep { 1 } else { budget.seeds };
    for seed in (0..u64::from(seeds)).take_while(|_| !interrupt::is_asked()) {
        let schedule = order.schedule(seed);
        let mut caught = None;
        let mut cases = 0;
        for (trial, turn) in trials.iter().zip(seed..) {
            cases += 1;
            let catch = match order {
                Order::Lockstep => emulated.run(trial, &schedule)?.map(|(_, catch)| catch),
                _ => emulated.run_in_turn(trial, &schedule, turn)?,
            };
            if let Some(catch) = catch {
                caught = Some((*trial, catch));
                break;
            }
        }
        cell.add(cases, caught);
    }
    cell.seconds = start.elapsed().as_secs_f64();
    Ok(Some(cell))
}

/// WGSL's mutants on one engine, each in a process of its own. `progress` hears of every kernel. A mutant that
/// does not start or compile does not stand in the way of the others. Ctrl-C ends it after the kernel that runs then.
pub fn on_device(
    mutants: &[Mutant],
    found: &Found,
    program: &Program,
    classes: &[Class],
    progress: &(dyn Fn() + Sync),
) -> (Vec<Cell>, Unread) {
    let fits = |subject: &Subject<'_>| {
        let needs = subject.mutant.and_then(|mutant| mutant.mutation.needs);
        needs.is_none_or(|atomics| atomics == found.info.float_atomics)
    };
    let cells = |subject: Subject<'_>| -> Result<Vec<Cell>, EngineError> {
        let mut cells = Vec::new();
        let patch = subject.mutant.map(|mutant| mutant.patch.as_path());
        let mut device = Device::start(found, program, patch, subject.kernel)?;
        for class in classes.iter().filter(|class| !class.cuda_only) {
            let id = found.spec.id();
            let mut cell = Cell::new(subject.name(), &subject.kernel, id, Order::Device, class);
            let start = Instant::now();
            let trials = class.aimed(subject.hazards());
            let (cases, caught) = device.hunt(&trials)?;
            cell.add(cases, caught);
            cell.seconds = start.elapsed().as_secs_f64();
            cells.push(cell);
        }
        Ok(cells)
    };
    let all = subjects(mutants, Language::Wgsl).into_iter();
    let all = all.take_while(|_| !interrupt::is_asked()).filter_map(|subject| {
        progress();
        let of = |error: EngineError| subject.failed(found.spec.id(), &error);
        fits(&subject).then(|| cells(subject).map_err(of))
    });
    flat(all.collect())
}

/// How many kernels go through the procedure for a language.
#[must_use]
pub fn kernels(mutants: &[Mutant], language: Language) -> usize {
    subjects(mutants, language).len()
}
