//! A campaign: many cases on many engines, the oracle working ahead of the devices.
//!
//! One thread per engine talks to the engine's process and judges what comes back; the caller's
//! thread prepares stage inputs and bounds, a chunk of cases at a time, and hands every chunk to
//! all engines. Nothing that an engine does stops the campaign: a fault is a finding of its own.

mod finding;
mod item;
mod judge;
pub mod merge;
pub mod once;
mod rows;
mod run_stage;
mod watch;

pub use finding::{Fault, Finding};
pub use item::{Item, Projection};
pub use rows::{EngineReport, Row};
pub(crate) use run_stage::tallies;
pub use watch::Watch;

use crate::case::Case;
use crate::stage::StageName;
use judge::Judge;
use rayon::prelude::*;
use splat_gpu::{BackwardConfig, DeviceInfo, Engine};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Cases prepared and judged together.
const CHUNK: usize = 12;
/// Chunks that may wait for an engine.
const WAITING: usize = 2;

/// An engine of a campaign.
pub struct Contender<'a> {
    /// Its id.
    pub id: String,
    /// The engine.
    pub engine: Box<dyn Engine + Send + 'a>,
    /// The stages to run.
    pub stages: Vec<StageName>,
    /// The settings of the backward stages to run.
    pub settings: Vec<BackwardConfig>,
}

impl Contender<'_> {
    /// How many runs make up one case with so many cameras.
    #[must_use]
    pub fn runs(&self, cameras: usize) -> u64 {
        let of = |stage: &StageName| {
            let times = if stage.takes_all_cameras() { 1 } else { cameras };
            (times * stage.settings(&self.settings).len()) as u64
        };
        self.stages.iter().map(of).sum()
    }
}

/// Makes a failing case smaller: gets the case and a predicate that says whether a smaller one
/// still fails; returns the smallest that does.
pub type Minimizer<'a> = dyn Fn(&Item, &mut dyn FnMut(&Case) -> bool) -> Case + Sync + 'a;

/// Runs every case on every contender.
///
/// # Errors
/// The first case that cannot be prepared; engines' faults are findings, not errors.
pub fn run(
    cases: impl Iterator<Item = Result<(Case, usize), String>>,
    contenders: Vec<Contender<'_>>,
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> Result<Vec<EngineReport>, String> {
    run_in_chunks(CHUNK, cases, contenders, minimize, watch)
}

/// As [`run`], with `chunk` cases to a submission.
///
/// # Errors
/// As [`run`].
pub fn run_in_chunks(
    chunk: usize,
    cases: impl Iterator<Item = Result<(Case, usize), String>>,
    contenders: Vec<Contender<'_>>,
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> Result<Vec<EngineReport>, String> {
    let devices: Vec<_> = contenders.iter().map(|c| c.engine.info().clone()).collect();
    thread::scope(|scope| {
        let mut senders = Vec::new();
        let mut threads = Vec::new();
        for contender in contenders {
            let (sender, receiver) = sync_channel::<Arc<Vec<Item>>>(WAITING);
            senders.push(sender);
            threads.push(scope.spawn(move || serve(contender, &receiver, minimize, watch)));
        }
        let fed = feed(chunk, cases, &devices, |chunk| {
            for sender in &senders {
                // An engine's thread ends early only by a panic, which `join` reports.
                let _ = sender.send(Arc::clone(&chunk));
            }
        });
        drop(senders);
        let reports = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "an engine's thread panicked".to_owned()))
            .collect::<Result<Vec<_>, _>>();
        fed.and(reports)
    })
}

/// Prepares the cases chunk by chunk, in parallel within a chunk: stage inputs, and the
/// rasterization's bounds for every device, which work on the chunk before in the meantime.
fn feed(
    size: usize,
    mut cases: impl Iterator<Item = Result<(Case, usize), String>>,
    devices: &[DeviceInfo],
    mut send: impl FnMut(Arc<Vec<Item>>),
) -> Result<(), String> {
    loop {
        let chunk: Vec<_> = cases.by_ref().take(size).collect::<Result<_, _>>()?;
        if chunk.is_empty() {
            return Ok(());
        }
        let items = chunk
            .into_par_iter()
            .map(|(case, camera)| {
                let item = Item::new(case, camera)?;
                for device in devices {
                    item.expectation(device);
                }
                Ok(item)
            })
            .collect::<Result<Vec<_>, String>>()?;
        send(Arc::new(items));
    }
}

/// Runs prepared cases on one contender, in this thread.
pub fn judge(
    contender: Contender<'_>,
    items: &[Item],
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> EngineReport {
    let mut judge = Judge::new(contender, minimize, watch);
    items.chunks(CHUNK).for_each(|chunk| judge.chunk(chunk));
    judge.report
}

/// One engine's thread.
fn serve(
    contender: Contender<'_>,
    chunks: &Receiver<Arc<Vec<Item>>>,
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> EngineReport {
    let mut judge = Judge::new(contender, minimize, watch);
    for chunk in chunks {
        judge.chunk(&chunk);
    }
    judge.report
}
