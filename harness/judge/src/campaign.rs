//! A campaign: many cases on many engines, the oracle working ahead of the devices.
//!
//! One thread per engine talks to the engine's process and judges what comes back; the caller's
//! thread prepares stage inputs and bounds, a chunk of cases at a time, and hands every chunk to
//! all engines, or to the next one that asks. Nothing that an engine does stops the campaign: a
//! fault is a finding of its own. Ctrl-C does, after what runs then ([`crate::interrupt`]).

mod chain;
mod contender;
mod finding;
mod grouped;
mod hooks;
mod item;
mod judge;
pub mod merge;
pub mod once;
mod rows;
mod run_stage;

pub use chain::Chain;
pub use contender::Contender;
pub use finding::{Fault, Finding, Place};
pub use grouped::{FindingPlace, by_fault, findings_by_fault};
pub use hooks::{
    ByTurns, Diagnoses, Everything, Exercised, Hooks, Minimizer, Observer, Part, Policy, as_it_is,
    has_turn, smaller,
};
pub use item::Item;
pub use rows::{EngineReport, Ratio, Row, Unsupported};
pub use run_stage::{Runs, tallies};

use crate::interrupt;
use crate::judge::Arithmetic;
use crate::threads::{self, NoThread};
use crate::workload::{AnyCase, CaseError};
use judge::Judge;
use rayon::prelude::*;
use splatcheck_gpu::{DeviceInfo, Stage};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Cases prepared and judged together.
const CHUNK: usize = 12;
/// Chunks that an engine may have before it: one that it runs, and one that waits.
const AHEAD: usize = 2;

/// Who runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Every engine.
    Everyone,
    /// One engine: a chunk of cases goes to the first that asks for one. Each so gets a share in
    /// proportion to its speed, which differs from run to run.
    Dealt,
}

/// Why a campaign ended without its reports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CampaignError {
    /// A case that cannot be prepared.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// An engine has no thread.
    #[error(transparent)]
    Thread(#[from] NoThread),
    /// A defect of this program.
    #[error("an engine's thread panicked")]
    Panicked,
}

/// Runs every case on every contender.
///
/// # Errors
/// The first case that cannot be prepared; engines' faults are findings, not errors.
pub fn run(
    cases: impl Iterator<Item = (AnyCase, usize)>,
    contenders: Vec<Contender<'_>>,
    hooks: Hooks<'_>,
) -> Result<Vec<EngineReport>, CampaignError> {
    run_in_chunks((CHUNK, Share::Everyone), cases, contenders, hooks)
}

/// As [`run`], with `chunk` cases to a submission, and the engines' share of them.
///
/// # Errors
/// As [`run`].
pub fn run_in_chunks(
    (chunk, share): (usize, Share),
    cases: impl Iterator<Item = (AnyCase, usize)>,
    contenders: Vec<Contender<'_>>,
    hooks: Hooks<'_>,
) -> Result<Vec<EngineReport>, CampaignError> {
    thread::scope(|scope| {
        let (ask, asked) = channel();
        let mut engines = Vec::new();
        let mut started = Vec::new();
        for (number, contender) in contenders.into_iter().enumerate() {
            let (chunks, receiver) = sync_channel(AHEAD);
            engines.push(Worker {
                chunks,
                info: contender.engine.info().clone(),
                stages: contender.stages.clone(),
            });
            let desk = Inbox { number, ask: Some(ask.clone()), chunks: receiver };
            let start = threads::in_scope(scope, move || serve(contender, desk, hooks));
            started.push(start);
        }
        drop(ask);
        let fed = match started.iter().all(Result::is_ok) {
            true => feed((chunk, share), cases, &engines, &asked, hooks),
            false => Ok(()),
        };
        // An engine ends when nobody hands it anything any more.
        drop(engines);
        let reports = started
            .into_iter()
            .map(|thread| thread?.join().map_err(|_| CampaignError::Panicked))
            .collect::<Result<Vec<_>, _>>();
        fed.and(reports)
    })
}

/// An engine as the caller's thread sees it.
struct Worker {
    chunks: SyncSender<Arc<Vec<Item>>>,
    info: DeviceInfo,
    stages: Vec<Stage>,
}

impl Worker {
    /// Computes the bounds that the engine's outputs will be judged by.
    fn bounds(&self, item: &Item, chain: Chain) {
        let arithmetic = Arithmetic::of(&self.info);
        for job in item.jobs.iter().filter(|job| self.stages.contains(&job.stage)) {
            // What goes on from an engine's own forward pass has bounds when that was run.
            if chain == Chain::Oracle || item.case.forward_of(job.stage).is_none() {
                job.expectation(arithmetic);
            }
        }
    }
}

/// The caller's thread as an engine sees it.
struct Inbox {
    number: usize,
    /// None, when the engine was given up: dealt to it, the remaining cases would not be run.
    ask: Option<Sender<usize>>,
    chunks: Receiver<Arc<Vec<Item>>>,
}

impl Inbox {
    fn ask(&self) {
        if let Some(ask) = &self.ask {
            // The caller's thread hears nothing any more when all cases are out.
            let _ = ask.send(self.number);
        }
    }
}

/// Prepares the cases chunk by chunk, in parallel within a chunk: stage inputs, and the bounds for
/// every device that gets them, which work on the chunk before in the meantime.
fn feed(
    (size, share): (usize, Share),
    mut cases: impl Iterator<Item = (AnyCase, usize)>,
    engines: &[Worker],
    asked: &Receiver<usize>,
    hooks: Hooks<'_>,
) -> Result<(), CampaignError> {
    loop {
        let recipients = match share {
            Share::Everyone => engines.iter().collect(),
            // Fails when every engine was given up or its thread panicked; its report says so, or `join`.
            Share::Dealt => asked.recv().map_or(Vec::new(), |engine| vec![&engines[engine]]),
        };
        let chunk: Vec<_> = cases.by_ref().take(size).collect();
        if chunk.is_empty() || recipients.is_empty() || interrupt::is_asked() {
            return Ok(());
        }
        let prepare = |(case, view): (AnyCase, usize)| {
            let wanted = |stage| hooks.policy.runs(stage, case.as_ref());
            let item = Item::of(Arc::clone(&case), view, &wanted)?;
            hooks.observer.prepared(&item);
            recipients.iter().for_each(|engine| engine.bounds(&item, hooks.chain));
            Ok(item)
        };
        let items = chunk.into_par_iter().map(prepare).collect::<Result<Vec<_>, CaseError>>()?;
        let chunk = Arc::new(items);
        for engine in recipients {
            // An engine's thread ends early only by a panic.
            let _ = engine.chunks.send(Arc::clone(&chunk));
        }
    }
}

/// Runs prepared cases on one contender, in this thread.
pub fn judge(contender: Contender<'_>, items: &[Item], hooks: Hooks<'_>) -> EngineReport {
    let mut judge = Judge::new(contender, hooks);
    items.chunks(CHUNK).for_each(|chunk| judge.chunk(chunk));
    judge.into_report()
}

/// One engine's thread.
fn serve(contender: Contender<'_>, mut desk: Inbox, hooks: Hooks<'_>) -> EngineReport {
    let mut judge = Judge::new(contender, hooks);
    (0..AHEAD).for_each(|_| desk.ask());
    while let Ok(chunk) = desk.chunks.recv() {
        // What was prepared when Ctrl-C came is not run.
        if !interrupt::is_asked() {
            judge.chunk(&chunk);
        }
        if judge.report.given_up.is_some() {
            desk.ask = None;
        }
        desk.ask();
    }
    judge.into_report()
}
