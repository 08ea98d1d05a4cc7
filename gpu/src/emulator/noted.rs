//! What engines that share the runs of one kernel let each other know.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use splatcheck_emulator::{Fault, Schedule};

use crate::engine::EngineError;
use crate::reduction::Setting;
use crate::tensor::Tensors;

/// See the module. A copy is the same.
#[derive(Clone, Debug, Default)]
pub struct Noted(Arc<Notes>);

#[derive(Debug, Default)]
struct Notes {
    variables_changed: AtomicBool,
    did_not_end: AtomicBool,
    unending: Mutex<Option<Unending>>,
}

/// A run that was given up after its time, with what was said of it.
#[derive(Debug)]
pub(super) struct Unending {
    pub(super) row: &'static str,
    pub(super) setting: Option<Setting>,
    pub(super) inputs: Tensors,
    pub(super) schedule: Schedule,
    pub(super) error: EngineError,
    pub(super) fault: Box<Fault>,
}

impl Noted {
    /// Whether a run left a variable of its module other than it was loaded: the next launch of a process may
    /// do something else.
    #[must_use]
    pub fn has_changed_variables(&self) -> bool {
        self.0.variables_changed.load(Ordering::Relaxed)
    }

    pub(super) fn variables_changed(&self) {
        self.0.variables_changed.store(true, Ordering::Relaxed);
    }

    /// Whether a run was given up after its time.
    #[must_use]
    pub fn did_not_end(&self) -> bool {
        self.0.did_not_end.load(Ordering::Relaxed)
    }

    pub(super) fn given_up(&self) {
        self.0.did_not_end.store(true, Ordering::Relaxed);
    }

    /// Keeps the latest run that did not end.
    pub(super) fn no_end(&self, run: Unending) {
        *self.0.unending.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// What was said of this run, if it is the one that did not end.
    pub(super) fn unending(
        &self,
        row: &'static str,
        setting: Option<Setting>,
        inputs: &Tensors,
        schedule: &Schedule,
    ) -> Option<(EngineError, Box<Fault>)> {
        let kept = self.0.unending.lock().unwrap_or_else(PoisonError::into_inner);
        let run = kept.as_ref().filter(|run| {
            (run.row, run.setting, &run.schedule) == (row, setting, schedule)
                && run.inputs == *inputs
        })?;
        Some((run.error.clone(), run.fault.clone()))
    }
}
