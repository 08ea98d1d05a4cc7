//! Finding the engines of this machine, and saying why others are missing.
//!
//! Every candidate is tried in a child process of its own, so that a driver that crashes or hangs
//! while it is loaded is an entry in the list of the missing and nothing worse.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use splatcheck_gpu::{DeviceInfo, Engine, EngineError, EngineKind};

use super::drivers::{
    Candidate, Surroundings, cuda_candidates, default_candidate, emulator_candidates,
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

    /// Whether it makes all runs only where a person names it: WGSL's kernels on the emulator.
    fn is_named_only(&self) -> bool {
        self.emulation().is_some_and(|emulation| emulation.wgsl_lanes.is_some())
    }

    /// Whether it runs kernels in WGSL: a driver of wgpu, or the emulator with those kernels.
    #[must_use]
    pub fn runs_wgsl(&self) -> bool {
        self.is_named_only() || self.info.kind == EngineKind::Wgpu
    }

    /// Whether this is the emulator, with kernels in either language.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
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

/// An engine that this machine might have but does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What was tried or looked for.
    pub candidate: String,
    /// Why it gave no engine.
    pub reason: String,
    /// What to do about it, where something can be done.
    pub advice: Option<String>,
    /// Whether it is there, was started, and died, hung or answered nonsense.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Whether the command promises it: an engine of a class that has none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promised: bool,
}

impl Missing {
    /// Whether it was asked for, so that without it something is not exercised: what the command promises,
    /// and what is there. A driver's file without a device, or CUDA on a machine that has none, was looked
    /// for and not found.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.lost || self.promised
    }
}

/// Whether an engine is one of a class.
type IsOne = fn(&Found) -> bool;
/// What `check` and `fuzz` promise where no engine is named: an engine of each.
const CLASSES: [(&str, IsOne); 2] =
    [("the WGSL kernels", Found::runs_wgsl), ("the CUDA kernels", |found| !found.runs_wgsl())];
/// The lanes of the subgroups in which WGSL's kernels are judged on the emulator, where no engine is named. Those of
/// 64 lanes take ten times as long as those of 32.
const BESIDE_LANES: [u32; 2] = [32, 8];
/// Reasons that are named where a class has no engine.
const REASONS: usize = 3;

/// Why an engine that a person named cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSelected {
    /// It is known, and why it is not here too.
    #[error("engine '{name}' is not available here: {reason}")]
    Missing {
        /// Its name.
        name: String,
        /// Why it gave no engine.
        reason: String,
    },
    /// No engine answers to the name.
    #[error(
        "unknown engine '{name}': found on this machine: {} ('splatcheck devices' says why others \
         are missing)",
        if found.is_empty() { "none".to_owned() } else { found.join(", ") }
    )]
    Unknown {
        /// The name.
        name: String,
        /// The ids of the engines that were found.
        found: Vec<String>,
    },
}

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
                    let (name, reason) = (name.clone(), missing.reason.clone());
                    return Err(NotSelected::Missing { name, reason });
                }
                let found = self.found.iter().map(|found| found.spec.id().to_owned()).collect();
                return Err(NotSelected::Unknown { name: name.clone(), found });
            }
        }
        // The emulator is slow: without a name it judges everything only on machines that have
        // nothing else. See `beside`.
        let alone = self.found.iter().all(Found::is_emulated);
        let wanted = |found: &&Found| match names {
            [] => !found.is_named_only() && (alone || !found.is_emulated()),
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
        let adds = |one: &&Missing| one.advice.as_deref().is_some_and(|a| a.contains(SETUP));
        self.missing.iter().filter(adds).map(|one| one.candidate.as_str())
    }
}

/// The command that installs drivers, as advice names it.
const SETUP: &str = "run tests/setup";

/// Tries everything on this machine, with `program` as the child.
#[must_use]
pub fn discover(program: &Program) -> Discovery {
    let (mut candidates, missing) = if cfg!(target_os = "linux") {
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
            Some(earlier) => Err(Missing {
                candidate: candidates[i].name.clone(),
                reason: format!(
                    "the same as {}: {} with warp size {}",
                    earlier.spec.id(),
                    found.info.adapter,
                    found.info.lane_width
                ),
                advice: None,
                lost: false,
                promised: false,
            }),
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
    let missing = |reason: String, advice: Option<&str>| Missing {
        candidate: candidate.name.clone(),
        reason,
        advice: advice.map(str::to_owned),
        lost: false,
        promised: false,
    };
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
            Identity::Wgpu(_) | Identity::Emulator(_) => Err(missing(
                format!("the driver offers no device ({reason})"),
                candidate.expected.is_software().then_some(LOADER),
            )),
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

/// What may be wrong where a software driver offers no device.
const LOADER: &str = "is the Vulkan loader there? (Debian package libvulkan1)";

#[cfg(all(test, unix))]
mod tests {
    use super::super::protocol::{Answer, RequestRef, encode_response, samples, write_frame};
    use super::super::spec::Driver;
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    fn candidate(name: &str, expected: Identity, act: &str) -> Candidate {
        let env = vec![("ACT".into(), act.into())];
        Candidate { name: name.into(), expected, env, broken: None }
    }

    fn lavapipe(lane_width: u32) -> Identity {
        Identity::Wgpu(Driver::Lavapipe { lane_width })
    }

    /// A program that does what the candidate's environment says, in a folder with answers.
    fn actor(folder: &Path) -> Program {
        let mut description = samples::description();
        for lanes in [4, 8] {
            description.device.lane_width = lanes;
            let answer = Ok(Answer::Info(description.clone()));
            let answer = encode_response(RequestRef::Info, &answer);
            let mut frame = Vec::new();
            write_frame(&mut frame, &answer.unwrap()).unwrap();
            fs::write(folder.join(lanes.to_string()), frame).unwrap();
        }
        let none = Err(EngineError::NoDevice("0 adapters".into()));
        let mut frame = Vec::new();
        write_frame(&mut frame, &encode_response(RequestRef::Info, &none).unwrap()).unwrap();
        fs::write(folder.join("none"), frame).unwrap();
        let text = format!("cd '{}'; eval \"$ACT\"", folder.display());
        Program { path: "sh".into(), args: vec!["-c".into(), text.into()] }
    }

    #[test]
    fn every_candidate_is_found_or_missing_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let other = |name: &str| Identity::Wgpu(Driver::Other { adapter: name.into() });
        let candidates = [
            candidate("lvp 128", lavapipe(4), "cat 4; cat"),
            candidate("lvp 256", lavapipe(8), "cat 8; cat"),
            candidate("lvp 512", lavapipe(16), "cat 8; cat"),
            candidate("radeon", other("radeon"), "cat none; cat"),
            candidate("cuda", Identity::Cuda { fast_math: false }, "cat none; cat"),
            candidate("cuda-fast", Identity::Cuda { fast_math: true }, "cat 4; cat"),
            candidate("crashing", other("crashing"), "kill -ILL $$"),
            candidate("hanging", other("hanging"), "exec sleep 1000"),
            Candidate {
                broken: Some("the library x.so is missing".into()),
                ..candidate("broken", other("broken"), "exit 1")
            },
        ];
        let limits = Limits { open: Duration::from_secs(2), ..Limits::default() };
        let discovery = try_all(&candidates, Vec::new(), &actor(folder.path()), limits);
        let ids: Vec<_> = discovery.found.iter().map(|f| f.spec.id()).collect();
        assert_eq!(ids, ["lavapipe-4", "lavapipe-8"], "{discovery:?}");
        let expected = [
            ("lvp 512", "the same as lavapipe-8"),
            ("radeon", "the driver offers no device (0 adapters)"),
            ("cuda", "0 adapters"),
            ("cuda-fast", "it answered as Wgpu, expected Cuda"),
            ("crashing", "ended by signal 4 (SIGILL"),
            ("hanging", "no answer within 2 s: killed"),
            ("broken", "the library x.so is missing"),
        ];
        let lost = discovery.missing.iter().filter(|missing| missing.lost);
        let lost: Vec<_> = lost.map(|missing| missing.candidate.as_str()).collect();
        assert_eq!(lost, ["cuda-fast", "crashing", "hanging"], "these were there: {discovery:?}");
        assert_eq!(discovery.missing.len(), expected.len(), "{discovery:?}");
        for (missing, (name, reason)) in discovery.missing.iter().zip(expected) {
            assert_eq!(missing.candidate, name, "order");
            assert!(missing.reason.starts_with(reason), "{name}: {}", missing.reason);
        }
    }

    #[test]
    fn names_select_engines_and_an_unknown_one_lists_them() {
        let found =
            |identity| Found { spec: EngineSpec::new(identity, Vec::new()), info: samples::info() };
        let swiftshader = Identity::Wgpu(Driver::SwiftShader);
        let found = [lavapipe(4), lavapipe(8), swiftshader].map(found).to_vec();
        let cuda = Missing {
            candidate: "cuda".into(),
            reason: "too old".into(),
            advice: None,
            lost: false,
            promised: false,
        };
        let discovery = Discovery { found, missing: vec![cuda] };
        let ids = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&n| n.to_owned()).collect();
            let found = discovery.select(&names)?;
            Ok(found.into_iter().map(|f| f.spec.id().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[]).map(|ids| ids.len()), Ok::<_, NotSelected>(3), "all");
        assert_eq!(ids(&["lavapipe"]).unwrap(), ["lavapipe-4", "lavapipe-8"], "a family");
        assert_eq!(ids(&["swiftshader", "lavapipe-8"]).unwrap(), ["lavapipe-8", "swiftshader"]);
        let error = ids(&["swiftshader", "voodoo"]).unwrap_err().to_string();
        assert!(error.contains("'voodoo'"), "unhelpful: {error}");
        assert!(error.contains("lavapipe-4, lavapipe-8, swiftshader"), "unhelpful: {error}");
        let error = ids(&["cuda"]).unwrap_err().to_string();
        assert_eq!(error, "engine 'cuda' is not available here: too old", "the reason is known");
    }

    #[test]
    fn a_class_without_an_engine_was_asked_for_and_a_driver_without_a_device_was_not() {
        let of = |kind| {
            let info = DeviceInfo { kind, ..samples::info() };
            let emulation = |wgsl_lanes| Emulation { wgsl_lanes, ..Emulation::default() };
            let identity = match kind {
                EngineKind::Emulator => Identity::Emulator(emulation(None)),
                _ => lavapipe(4),
            };
            Found { spec: EngineSpec::new(identity, Vec::new()), info }
        };
        let radeon = Missing {
            candidate: "radeon_icd.json".into(),
            reason: "the driver offers no device".into(),
            advice: None,
            lost: false,
            promised: false,
        };
        let asked = |kinds: &[EngineKind], named| {
            let found = kinds.iter().copied().map(of).collect();
            let discovery = Discovery { found, missing: vec![radeon.clone()] };
            let missing = discovery.missing_requested(named, discovery.found.iter());
            let missing = missing.into_iter().filter(Missing::is_asked_for);
            missing.map(|one| one.candidate).collect::<Vec<_>>()
        };
        let both = [EngineKind::Wgpu, EngineKind::Emulator];
        assert_eq!(asked(&both, false), Vec::<String>::new(), "an engine of each class");
        assert_eq!(asked(&both[1..], false), ["the WGSL kernels"], "no driver");
        assert_eq!(asked(&both[..1], false), ["the CUDA kernels"], "no emulator");
        assert_eq!(asked(&both[1..], true), Vec::<String>::new(), "the emulator was named");
        let emulators = [None, Some(4), Some(8), Some(32), Some(64)].map(|wgsl_lanes| {
            let emulation = Emulation { wgsl_lanes, ..Emulation::default() };
            Found { spec: emulation.spec(), ..of(EngineKind::Emulator) }
        });
        for (drivers, beside) in [
            (0, &["wgsl-emulator-32", "wgsl-emulator-8"][..]),
            (1, &["emulator", "wgsl-emulator-32", "wgsl-emulator-8"][..]),
        ] {
            let found = both[..drivers].iter().copied().map(of).chain(emulators.clone()).collect();
            let discovery = Discovery { found, missing: vec![radeon.clone()] };
            let all = discovery.beside(&[]);
            let ids: Vec<_> = all.iter().map(|found| found.spec.id()).collect();
            assert_eq!(ids, beside, "{drivers} drivers");
            let judge = discovery.select(&[]).unwrap();
            let missing = discovery.missing_requested(false, judge.iter().chain(&all));
            assert!(!missing.iter().any(Missing::is_asked_for), "both languages: {missing:?}");
            assert!(discovery.beside(&["emulator".to_owned()]).is_empty(), "named alone");
        }
        let lost = Missing { lost: true, ..radeon.clone() };
        assert!(lost.is_asked_for(), "it is there");
    }
}
