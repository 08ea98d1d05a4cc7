//! Finding the engines of this machine, and saying why others are missing.
//!
//! Every candidate is tried in a child process of its own, so that a driver that crashes or hangs
//! while it is loaded is an entry in the list of the missing and nothing worse.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use splatcheck_gpu::{DeviceInfo, Engine, EngineError, EngineKind, WgpuEngine};

use super::drivers::{
    Candidate, Missing, Surroundings, cuda_candidates, default_candidate, emulator_candidates,
    is_set_up, without_wgpu,
};
use super::emulation::Emulation;
use super::process::{EngineProcess, Limits};
use super::program::Program;
use super::spec::{EngineSpec, Identity};
use crate::threads;

/// Candidates tried at the same time.
const AT_ONCE: usize = 2;

/// An engine of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How to start it.
    pub spec: EngineSpec,
    /// Its device, as it told when it was tried.
    pub info: DeviceInfo,
}

impl Found {
    /// Whether this is a driver or an emulator that runs on the processor.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.spec.identity().is_software()
    }

    /// Whether this is the emulator with kernels in WGSL: it makes all runs only where a person names it.
    #[must_use]
    pub fn emulates_wgsl(&self) -> bool {
        self.emulation().is_some_and(|emulation| emulation.wgsl_lanes.is_some())
    }

    /// Whether it runs kernels in WGSL: a driver of wgpu, or the emulator with those kernels.
    #[must_use]
    pub fn runs_wgsl(&self) -> bool {
        self.emulates_wgsl() || self.info.kind == EngineKind::Wgpu
    }

    /// Whether this is the emulator, with kernels in either language.
    fn is_emulated(&self) -> bool {
        self.emulation().is_some()
    }

    /// How the PTX emulator runs, if this is it.
    #[must_use]
    pub fn emulation(&self) -> Option<Emulation> {
        match self.spec.identity() {
            Identity::Emulator(emulation) => Some(*emulation),
            Identity::Wgpu(_) | Identity::Cuda { .. } => None,
        }
    }

    /// The emulator running in another way. What discovery measured does not depend on it.
    #[must_use]
    pub fn emulating(&self, emulation: Emulation) -> Self {
        Self { spec: emulation.spec(), info: self.info.clone() }
    }
}

/// Whether an engine is one of a class.
type IsOne = fn(&Found) -> bool;
/// What `self-check` and `fuzz` promise where no engine is named: an engine of each.
const CLASSES: [(&str, IsOne); 2] =
    [("the WGSL kernels", Found::runs_wgsl), ("the CUDA kernels", |found| !found.runs_wgsl())];
/// The lanes of the subgroups in which WGSL's kernels are judged on the emulator, where no engine is named. Those of
/// 64 lanes take up to five times as long as those of 32.
const BESIDE_LANES: [u32; 2] = [32, 8];
/// Reasons that are named where a class has no engine.
const REASONS: usize = 3;

/// Why an engine that a person named cannot be used: this machine lacks it, or no engine answers to the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSelected(String);

/// What was found on this machine and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The engines, in the order of their candidates.
    pub found: Vec<Found>,
    /// What gave no engine.
    pub missing: Vec<Missing>,
}

impl Discovery {
    /// What was looked for and not found: nothing where engines were `named`, since a name that is not found
    /// is an error of [`Self::select`]; else the classes of which none is among the engines that `judge`, and
    /// all that is missing.
    #[must_use]
    pub fn missing_requested<'f>(
        &self,
        named: bool,
        judge: impl Iterator<Item = &'f Found> + Clone,
    ) -> Vec<Missing> {
        if named {
            return Vec::new();
        }
        let classes = CLASSES.iter().filter(|(_, is_one)| !judge.clone().any(is_one));
        let classes = classes.map(|(class, _)| self.without(class));
        classes.chain(self.missing.iter().cloned()).collect()
    }

    /// A class that has no engine.
    fn without(&self, class: &str) -> Missing {
        let tried = |one: &Missing| format!("{}: {}", one.candidate, one.reason);
        let mut reasons: Vec<_> = self.missing.iter().take(REASONS).map(tried).collect();
        let more = self.missing.len() - reasons.len();
        if more > 0 {
            reasons.push(format!("and {more} more"));
        }
        let reason = match reasons.is_empty() {
            true => "no engine runs them here".to_owned(),
            false => format!("no engine runs them here: {}", reasons.join("; ")),
        };
        let advice = "'splatcheck devices' says what to install; --engine names the engines that you \
                      ask for";
        let (candidate, advice) = (class.to_owned(), Some(advice.to_owned()));
        Missing { candidate, reason, advice, lost: false, promised: true }
    }

    /// The engines that a person named (all of them for no name), in the order of discovery.
    ///
    /// # Errors
    /// A name that no engine answers to, with those that were found.
    pub fn select(&self, names: &[String]) -> Result<Vec<Found>, NotSelected> {
        for name in names {
            if !self.found.iter().any(|found| found.spec.answers_to(name)) {
                if let Some(missing) = self.missing.iter().find(|m| m.candidate == *name) {
                    let reason = &missing.reason;
                    return Err(NotSelected(format!(
                        "engine '{name}' is not available here: {reason}"
                    )));
                }
                let found: Vec<_> = self.found.iter().map(|found| found.spec.id()).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
                return Err(NotSelected(format!(
                    "unknown engine '{name}': found on this machine: {found} ('splatcheck devices' says why others are \
                     missing)"
                )));
            }
        }
        // The emulator is slow: without a name it judges everything only on machines that have
        // nothing else. See `beside`.
        let alone = self.found.iter().all(Found::is_emulated);
        let wanted = |found: &&Found| match names {
            [] => !found.emulates_wgsl() && (alone || !found.is_emulated()),
            names => names.iter().any(|n| found.spec.answers_to(n)),
        };
        Ok(self.found.iter().filter(wanted).cloned().collect())
    }

    /// The emulators that judge a part of the runs beside those that judge all, where no engine was named:
    /// with CUDA's kernels where there are drivers, since none that runs on the processor takes them, and with
    /// WGSL's in subgroups that no such driver has.
    #[must_use]
    pub fn beside(&self, names: &[String]) -> Vec<Found> {
        if !names.is_empty() {
            return Vec::new();
        }
        let alone = self.found.iter().all(Found::is_emulated);
        let lanes = |found: &Found| found.emulation().map(|emulation| emulation.wgsl_lanes);
        let of_cuda = self.found.iter().filter(|found| !alone && lanes(found) == Some(None));
        let of_wgsl = BESIDE_LANES.into_iter().flat_map(|width| {
            self.found.iter().filter(move |found| lanes(found) == Some(Some(width)))
        });
        of_cuda.chain(of_wgsl).cloned().collect()
    }

    /// The drivers that `tests/setup` would add.
    pub fn to_set_up(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().filter(|one| is_set_up(one)).map(|one| one.candidate.as_str())
    }
}

/// Tries everything on this machine, with `program` as the child.
#[must_use]
pub fn discover(program: &Program) -> Discovery {
    let (mut candidates, missing) = if !WgpuEngine::BUILT_IN {
        (Vec::new(), vec![without_wgpu()])
    } else if cfg!(target_os = "linux") {
        Surroundings::here().candidates()
    } else {
        (vec![default_candidate()], Vec::new())
    };
    candidates.extend(cuda_candidates());
    candidates.extend(emulator_candidates());
    try_all(&candidates, missing, program, Limits::default())
}

/// Tries the candidates, two at a time.
#[must_use]
pub fn try_all(
    candidates: &[Candidate],
    missing: Vec<Missing>,
    program: &Program,
    limits: Limits,
) -> Discovery {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = candidates.get(i) else { return };
            let result = attempt(candidate, program, limits);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
        }
    };
    thread::scope(|scope| {
        // Where there are no more threads, fewer are tried at once.
        for _ in 1..AT_ONCE.min(candidates.len()) {
            if threads::in_scope(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(i, _)| *i);

    let mut discovery = Discovery { found: Vec::new(), missing };
    for (i, result) in results {
        let result = result.and_then(|found| match duplicate(&discovery.found, &found) {
            None => Ok(found),
            Some(earlier) => {
                let (id, adapter) = (earlier.spec.id(), &found.info.adapter);
                let width = found.info.lane_width;
                let reason = format!("the same as {id}: {adapter} with warp size {width}");
                Err(Missing::not_found(&candidates[i].name, reason, None))
            }
        });
        match result {
            Ok(found) => discovery.found.push(found),
            Err(missing) => discovery.missing.push(missing),
        }
    }
    discovery
}

fn duplicate<'a>(earlier: &'a [Found], found: &Found) -> Option<&'a Found> {
    earlier.iter().find(|e| {
        e.spec.id() == found.spec.id()
            || e.info.adapter == found.info.adapter
                && e.info.driver == found.info.driver
                && e.info.backend == found.info.backend
                && e.info.lane_width == found.info.lane_width
    })
}

fn attempt(candidate: &Candidate, program: &Program, limits: Limits) -> Result<Found, Missing> {
    let missing = |reason: String, advice| Missing::not_found(&candidate.name, reason, advice);
    let lost = |reason: String| Missing { lost: true, ..missing(reason, None) };
    if let Some(reason) = &candidate.broken {
        return Err(missing(reason.clone(), None));
    }
    let spec = EngineSpec::new(candidate.expected.clone(), candidate.env.clone());
    match EngineProcess::start(spec.clone(), program.clone(), limits) {
        Ok(engine) if engine.info().kind != candidate.expected.kind() => {
            let (found, expected) = (engine.info().kind, candidate.expected.kind());
            Err(lost(format!("it answered as {found:?}, expected {expected:?}")))
        }
        Ok(engine) => {
            let info = engine.info().clone();
            Ok(Found { spec: EngineSpec::new(candidate.measured(&info), spec.env), info })
        }
        Err(EngineError::NoDevice(reason)) => match &candidate.expected {
            Identity::Cuda { .. } => Err(missing(reason, None)),
            // Its file is there.
            Identity::Wgpu(_) if !candidate.env.is_empty() => {
                let software = candidate.expected.is_software();
                let advice = if software { LOADER } else { NO_HARDWARE };
                Err(missing(
                    "the driver is installed, and offers no device".to_owned(),
                    Some(advice),
                ))
            }
            Identity::Wgpu(_) | Identity::Emulator(_) => Err(missing(reason, None)),
        },
        // It is there, and the machine has too little for it.
        Err(EngineError::Unavailable(text)) => Err(lost(text)),
        // The list names the candidate already.
        Err(EngineError::Device(text)) => {
            let named = format!("{}: ", spec.id());
            Err(lost(text.strip_prefix(&named).unwrap_or(&text).to_owned()))
        }
        Err(error) => Err(missing(error.to_string(), None)),
    }
}

/// What may be wrong where a driver of hardware offers no device.
const NO_HARDWARE: &str =
    "has this machine such a GPU, and may this user open it (on Linux: /dev/dri)?";

/// What may be wrong where a software driver offers no device.
const LOADER: &str = "is the Vulkan loader there? (Debian package libvulkan1)";

#[cfg(all(test, unix))]
mod tests;
