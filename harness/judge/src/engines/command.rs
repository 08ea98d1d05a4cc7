//! A user's program as an engine: it is started once, and asked by files, line by line.
//!
//! ```text
//! {"id": 7, "input": "/tmp/x/7.in.safetensors", "output": "/tmp/x/7.out.safetensors"}  -> its input
//! {"id": 7, "ok": true}  or  {"id": 7, "ok": false, "error": "..."}                    <- its output
//! ```
//!
//! Nothing that it does harms the caller: what it answers is checked before it is believed
//! ([`EngineError::Refused`]), and where it crashes, hangs or says something else it is killed and
//! started again for the next request ([`EngineError::Ended`]), so often and no more. A failure counts
//! even where the same run succeeds when it is made again.

mod answer;
mod files;
mod left_out;
mod line;
mod program;
mod running;

pub use files::{Form, Need, Written, array_parts, decode, encode, largest_output, read_written};
pub use left_out::LeftOut;
pub use line::{CommandLine, NoCommand};
pub use program::{Grants, StartError};
pub use running::run_to_end;

use crate::judge::Arithmetic;
use crate::threads;
use program::Program;
use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::{
    DeviceInfo, Engine, EngineError, EngineKind, FloatAtomics, LoopLimit, Reduction, Stage,
    Support, Tensors, Work,
};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Failures after which the rest of a request is left for later: each may take the whole time limit.
const ENOUGH: usize = 3;

/// The id of a program in reports: `command-` and the arithmetic that it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandId(pub Arithmetic);

const FAMILY: &str = "command-";

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FAMILY}{}", self.0.name())
    }
}

/// No program has this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no program's id: expected {FAMILY}ARITHMETIC")]
pub struct NoCommandId(String);

impl FromStr for CommandId {
    type Err = NoCommandId;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        let name = id.strip_prefix(FAMILY);
        let named = |arithmetic: &Arithmetic| Some(arithmetic.name()) == name;
        let found = Arithmetic::ALL.into_iter().find(named);
        found.map(Self).ok_or_else(|| NoCommandId(id.to_owned()))
    }
}

/// A user's program, in some processes that share the work.
#[derive(Debug)]
pub struct CommandEngine {
    form: Arc<dyn Form>,
    info: DeviceInfo,
    programs: Vec<Program>,
    /// What came of the runs of a request that failed, by the bytes of their inputs: they are asked for
    /// again one by one, and a failure that does not repeat is a failure.
    remembered: Vec<(Vec<u8>, Outcome)>,
    /// The same of a request with one run, the last that was made.
    last_failure: Option<(Vec<u8>, EngineError)>,
    left_out: LeftOut,
}

/// What came of a run.
type Outcome = Result<Tensors, EngineError>;

/// A run to make.
struct Request {
    sizes: Sizes,
    input: Vec<u8>,
}

impl CommandEngine {
    /// Starts so many processes of a program that promises an arithmetic; at least one.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        line: &CommandLine,
        form: Arc<dyn Form>,
        (arithmetic, grants): (Arithmetic, Grants),
        processes: usize,
    ) -> Result<Self, StartError> {
        let left_out = LeftOut::default();
        let one = |_| Program::start(line.clone(), Arc::clone(&form), grants, left_out.clone());
        let programs = (0..processes.max(1)).map(one).collect::<Result<_, _>>()?;
        Ok(Self {
            info: info_of([&line.to_string(), "files", "command"], arithmetic),
            form,
            programs,
            remembered: Vec::new(),
            last_failure: None,
            left_out,
        })
    }

    /// The program judged as something else that it does for the same inputs: it goes on running.
    pub fn judged_as(&mut self, form: &Arc<dyn Form>) {
        self.form = Arc::clone(form);
        self.programs.iter_mut().for_each(|program| program.judged_as(Arc::clone(form)));
        // It was of other inputs, as their bytes say.
        self.forget();
    }

    /// The outputs that the program may leave out and does, as they become known.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    /// Forgets what came of runs so far.
    fn forget(&mut self) {
        self.remembered.clear();
        self.last_failure = None;
    }

    fn request(&self, work: &Work<'_>) -> Result<Request, EngineError> {
        let sizes = self.form.sizes(work.inputs)?;
        let input = self.form.input(work.inputs);
        let input = input.map_err(|problem| EngineError::Input(problem.to_string()))?;
        Ok(Request { sizes, input })
    }

    /// One run, which may have been made before in a request that failed.
    fn one(&mut self, request: &Request) -> Outcome {
        if let Some(place) = self.remembered.iter().position(|(i, _)| *i == request.input) {
            return self.remembered.swap_remove(place).1;
        }
        if let Some((_, error)) = self.last_failure.take_if(|(i, _)| *i == request.input) {
            return Err(error);
        }
        let Some(program) = self.programs.first_mut() else {
            return Err(EngineError::NoDevice("no process of the program".to_owned()));
        };
        let outcome = program.run(&request.sizes, &request.input);
        // The only run of a request is asked for again as well.
        self.last_failure =
            outcome.as_ref().err().map(|error| (request.input.clone(), error.clone()));
        outcome
    }

    /// All runs, in order: as many as are needed to know that some fail.
    fn all(&mut self, requests: Vec<Request>) -> Result<Vec<Tensors>, EngineError> {
        let mut outcomes = shared(&mut self.programs, &requests);
        self.remembered.clear();
        let complete = outcomes.len() == requests.len();
        if complete && outcomes.iter().all(|(_, outcome)| outcome.is_ok()) {
            outcomes.sort_unstable_by_key(|(place, _)| *place);
            return outcomes.into_iter().map(|(_, outcome)| outcome).collect();
        }
        let failed = outcomes.iter().find_map(|(_, outcome)| outcome.as_ref().err().cloned());
        let mut inputs: Vec<_> = requests.into_iter().map(|request| Some(request.input)).collect();
        for (place, outcome) in outcomes {
            if let Some(input) = inputs[place].take() {
                self.remembered.push((input, outcome));
            }
        }
        Err(failed.unwrap_or_else(|| EngineError::Ended("the program made no run".to_owned())))
    }
}

/// What came of the runs, each made by the process that is free next. After some failures the others are
/// not made.
fn shared(programs: &mut [Program], requests: &[Request]) -> Vec<(usize, Outcome)> {
    let (next, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |program: &mut Program| {
        let mut outcomes = Vec::new();
        while failures.load(Ordering::Relaxed) < ENOUGH {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = requests.get(place) else { break };
            let outcome = program.run(&request.sizes, &request.input);
            failures.fetch_add(usize::from(outcome.is_err()), Ordering::Relaxed);
            outcomes.push((place, outcome));
        }
        outcomes
    };
    let work = &work;
    let Some((first, others)) = programs.split_first_mut() else { return Vec::new() };
    thread::scope(|scope| {
        let start = |program| threads::in_scope(scope, move || work(program)).ok();
        let others: Vec<_> = others.iter_mut().filter_map(start).collect();
        let mut outcomes = work(first);
        // A panic leaves runs out, which says that they failed.
        outcomes.extend(others.into_iter().flat_map(|one| one.join().unwrap_or_default()));
        outcomes
    })
}

/// A user's program as a device: what matters of it is the arithmetic. It is asked nothing of warps.
pub fn info_of([adapter, driver, backend]: [&str; 3], arithmetic: Arithmetic) -> DeviceInfo {
    let (arithmetic, exp_of_zero_is_one) = arithmetic.language();
    DeviceInfo {
        adapter: adapter.to_owned(),
        driver: driver.to_owned(),
        backend: backend.to_owned(),
        kind: EngineKind::Command,
        arithmetic,
        lane_width: 32,
        float_atomics: FloatAtomics::Native,
        exp_of_zero_is_one,
        loop_limit: LoopLimit::NotMeasured,
    }
}

impl Engine for CommandEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn supports(&self, stage: Stage, _: Option<Reduction>) -> Support {
        if stage == self.form.stage() {
            return Support::Yes;
        }
        Support::No(format!("the program does {}", self.form.stage()))
    }

    /// However it adds up: its sums are bounded in any order.
    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        stage == self.form.stage() && stage.accumulates() && reduction == Reduction::BASELINE
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        if stage != self.form.stage() {
            return Err(EngineError::Input(format!("the program does not do {stage}")));
        }
        let mut requests = Vec::with_capacity(work.len());
        for work in work {
            for _ in work.settings {
                requests.push(self.request(work)?);
            }
        }
        let outputs = match requests.as_slice() {
            [request] => vec![self.one(request)?],
            _ => self.all(requests)?,
        };
        let mut outputs = outputs.into_iter();
        Ok(work.iter().map(|w| outputs.by_ref().take(w.settings.len()).collect()).collect())
    }

    /// A run that is made, since what one leaves behind shows in the next; its failure is this one's alone.
    fn run_once(
        &mut self,
        stage: Stage,
        work: &[Work<'_>],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        self.forget();
        let outputs = self.run(stage, work);
        self.forget();
        outputs
    }
}
