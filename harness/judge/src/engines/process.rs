//! An engine in a process of its own, as the harness uses it.
//!
//! [`EngineProcess`] is an [`Engine`] like any other, except that nothing its device does can harm
//! the caller: a crash, a hang or a nonsensical answer is an [`EngineError::Device`] that says what
//! happened, and the next request starts a fresh child.

use std::error::Error;
use std::time::Duration;

use splatcheck_gpu::{
    DeviceInfo, Engine, EngineError, Reduction, Stage, Support, Tensors, Timing, Work,
};

use super::batch::{self, Piece};
use super::child::Running;
use super::program::Program;
use super::protocol::{
    Answer, Description, MAX_FRAME, RequestRef, decode_response, encode_request,
};
use super::spec::EngineSpec;

/// What an engine's process is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to open the device and to measure it.
    pub open: Duration,
    /// Time to answer one frame, whatever its size: kernels are compiled in it.
    pub request: Duration,
    /// More of it for every MiB of the frame.
    pub per_mib: Duration,
    /// Aimed-at size of a frame, bytes. A single job may exceed it, up to
    /// [`MAX_FRAME`].
    pub frame_bytes: usize,
}

impl Default for Limits {
    /// 30 s to open; for a frame 120 s, in which software devices also compile their kernels, and 10 s for
    /// each MiB of it.
    fn default() -> Self {
        Self {
            open: Duration::from_secs(30),
            request: Duration::from_secs(120),
            per_mib: Duration::from_secs(10),
            frame_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// So long for a frame, whatever its size.
    #[must_use]
    pub fn of_requests(request: Duration) -> Self {
        Self { request, per_mib: Duration::ZERO, ..Self::default() }
    }

    /// The time to answer a frame of so many bytes.
    fn of_frame(&self, bytes: usize) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "seconds need no more")]
        let mib = bytes as f64 / f64::from(1 << 20);
        self.request + self.per_mib.mul_f64(mib)
    }
}

/// An engine that runs in a child process.
#[derive(Debug)]
pub struct EngineProcess {
    spec: EngineSpec,
    program: Program,
    limits: Limits,
    description: Description,
    /// `None` after a failure, until the next request.
    running: Option<Running>,
    deaths: u64,
}

impl EngineProcess {
    /// Starts the child and asks it for its device.
    ///
    /// # Errors
    /// The engine's own reason not to open, or [`EngineError::Device`] with what became of the
    /// child.
    pub fn start(spec: EngineSpec, program: Program, limits: Limits) -> Result<Self, EngineError> {
        let (running, description) = open(&spec, &program, limits.open)?;
        Ok(Self { spec, program, limits, description, running: Some(running), deaths: 0 })
    }

    /// What it was started from.
    #[must_use]
    pub fn spec(&self) -> &EngineSpec {
        &self.spec
    }

    fn ask(&mut self, request: RequestRef<'_>) -> Result<Answer, EngineError> {
        let frame = encode_request(request).map_err(|e| EngineError::Input(e.to_string()))?;
        if frame.len() as u64 > MAX_FRAME {
            return Err(EngineError::TooLarge(format!(
                "a single job of {} bytes is more than the {MAX_FRAME} that fit in a frame",
                frame.len()
            )));
        }
        let limit = self.limits.of_frame(frame.len());
        let running = self.running.take().map_or_else(|| self.reopen(), Ok);
        match running.and_then(|running| exchange(running, &self.spec, request, frame, limit)) {
            Ok((running, answer)) => {
                self.running = Some(running);
                answer
            }
            Err(error) => {
                self.deaths += 1;
                Err(error)
            }
        }
    }

    /// A fresh child, which must have the same device: results are reported under its name.
    fn reopen(&self) -> Result<Running, EngineError> {
        let (running, now) = open(&self.spec, &self.program, self.limits.open)?;
        let (now, before) = (now.device, &self.description.device);
        if now == *before {
            return Ok(running);
        }
        Err(EngineError::Device(format!(
            "{}: after a restart the device is {} with warp size {}, it was {} with {}",
            self.spec.id(),
            now.adapter,
            now.lane_width,
            before.adapter,
            before.lane_width
        )))
    }
}

/// Starts a child and learns its device.
fn open(
    spec: &EngineSpec,
    program: &Program,
    limit: Duration,
) -> Result<(Running, Description), EngineError> {
    let running = Running::start(spec, program).map_err(|error| fault(spec, &error))?;
    let request = RequestRef::Info;
    let frame = encode_request(request).map_err(|error| fault(spec, &error))?;
    match exchange(running, spec, request, frame, limit)? {
        (running, Ok(Answer::Info(description))) => Ok((running, description)),
        (_, Err(error)) => Err(error),
        (_, Ok(Answer::Run(_) | Answer::Time(_))) => Err(other_question(spec)),
    }
}

/// One question and its answer. The outer error means that the child is gone.
fn exchange(
    mut running: Running,
    spec: &EngineSpec,
    request: RequestRef<'_>,
    frame: Vec<u8>,
    limit: Duration,
) -> Result<(Running, Result<Answer, EngineError>), EngineError> {
    let reply = running.ask(frame, limit).map_err(|error| match error.lacked_memory() {
        Some(why) => EngineError::Unavailable(format!("{}: {error}; {why}", spec.id())),
        None => fault(spec, &error),
    })?;
    match decode_response(request, &reply) {
        Ok(answer) => Ok((running, answer)),
        Err(error) => Err(fault(spec, &running.condemn(error))),
    }
}

/// What went wrong with an engine's process, under the engine's name.
fn fault(spec: &EngineSpec, error: &dyn Error) -> EngineError {
    EngineError::Device(format!("{}: {error}", spec.id()))
}

fn other_question(spec: &EngineSpec) -> EngineError {
    EngineError::Device(format!("{}: answered another question", spec.id()))
}

impl Engine for EngineProcess {
    fn info(&self) -> &DeviceInfo {
        &self.description.device
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        let lacking = &self.description.unsupported;
        match lacking.iter().find(|it| it.stage == stage && it.reduction == reduction) {
            Some(it) => Support::No(it.reason.clone()),
            None => Support::Yes,
        }
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let mut sizes = Vec::with_capacity(work.len());
        for (job, work) in work.iter().enumerate() {
            let size = batch::size(stage, *work);
            sizes.push(size.map_err(|error| EngineError::Input(format!("{job}/{error}")))?);
        }
        let mut outputs: Vec<Vec<_>> = work.iter().map(|_| Vec::new()).collect();
        for pieces in batch::frames(sizes, self.limits.frame_bytes) {
            match self.ask(RequestRef::Run { stage, jobs: &part(work, &pieces) })? {
                Answer::Run(some) => gather(&mut outputs, &pieces, some),
                Answer::Info(_) | Answer::Time(_) => return Err(other_question(&self.spec)),
            }
        }
        Ok(outputs)
    }

    fn deaths(&self) -> u64 {
        self.deaths
    }

    fn time(&mut self, stage: Stage, work: Work<'_>, repeats: u32) -> Result<Timing, EngineError> {
        match self.ask(RequestRef::Time { stage, job: work, repeats })? {
            Answer::Time(timing) => Ok(timing),
            Answer::Info(_) | Answer::Run(_) => Err(other_question(&self.spec)),
        }
    }
}

/// The jobs of one frame.
fn part<'a>(work: &[Work<'a>], pieces: &[Piece]) -> Vec<Work<'a>> {
    let one = |piece: &Piece| {
        let Work { inputs, settings } = work[piece.job];
        Work { inputs, settings: &settings[piece.settings.clone()] }
    };
    pieces.iter().map(one).collect()
}

/// Adds a frame's answers to the others of their jobs.
fn gather(outputs: &mut [Vec<Tensors>], pieces: &[Piece], some: Vec<Vec<Tensors>>) {
    for (piece, some) in pieces.iter().zip(some) {
        outputs[piece.job].extend(some);
    }
}

#[cfg(all(test, unix))]
mod tests;
