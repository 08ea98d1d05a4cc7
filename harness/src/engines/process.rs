//! An engine in a process of its own, as the harness uses it.
//!
//! [`EngineProcess`] is an [`Engine`] like any other, except that nothing its device does can harm
//! the caller: a crash, a hang or a nonsensical answer is an [`EngineError::Device`] that says what
//! happened, and the next request starts a fresh child.

use std::time::Duration;

use splatcheck_gpu::{
    BackwardConfig, BackwardInputs, DeviceInfo, Engine, EngineError, ProjectBackwardInputs,
    ProjectGradients, ProjectInputs, ProjectOutputs, RasterGradients, RasterInputs, RasterOutputs,
    Timing,
};

use super::batch::{self, Piece};
use super::child::Running;
use super::program::Program;
use super::protocol::{Answer, MAX_FRAME, RequestRef, WireError, decode_response, encode_request};
use super::spec::EngineSpec;

/// What an engine's process is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to open the device and to measure it.
    pub open: Duration,
    /// Time to answer one frame.
    pub request: Duration,
    /// Aimed-at size of a frame, bytes. A single job may exceed it, up to
    /// [`MAX_FRAME`].
    pub frame_bytes: usize,
}

impl Default for Limits {
    /// 30 s to open, 240 s and 64 MiB a frame: a software device takes tens of seconds for a trained
    /// scene.
    fn default() -> Self {
        Self {
            open: Duration::from_secs(30),
            request: Duration::from_secs(240),
            frame_bytes: 64 << 20,
        }
    }
}

/// An engine that runs in a child process.
#[derive(Debug)]
pub struct EngineProcess {
    spec: EngineSpec,
    program: Program,
    limits: Limits,
    info: DeviceInfo,
    /// `None` after a failure, until the next request.
    running: Option<Running>,
}

impl EngineProcess {
    /// Starts the child and asks it for its device.
    ///
    /// # Errors
    /// The engine's own reason not to open, or [`EngineError::Device`] with what became of the
    /// child.
    pub fn start(spec: EngineSpec, program: Program, limits: Limits) -> Result<Self, EngineError> {
        let (running, info) = open(&spec, &program, limits.open)?;
        Ok(Self { spec, program, limits, info, running: Some(running) })
    }

    /// What it was started from.
    #[must_use]
    pub fn spec(&self) -> &EngineSpec {
        &self.spec
    }

    fn ask(&mut self, request: RequestRef<'_>) -> Result<Answer, EngineError> {
        let frame = encode_request(request).map_err(|e| EngineError::Input(e.to_string()))?;
        if frame.len() as u64 > MAX_FRAME {
            return Err(EngineError::Input(format!(
                "a single job of {} bytes is more than the {MAX_FRAME} that fit in a frame",
                frame.len()
            )));
        }
        let running = match self.running.take() {
            Some(running) => running,
            None => self.reopen()?,
        };
        let (running, answer) = exchange(running, &self.spec, request, frame, self.limits.request)?;
        self.running = Some(running);
        answer
    }

    /// A fresh child, which must have the same device: results are reported under its name.
    fn reopen(&self) -> Result<Running, EngineError> {
        let (running, info) = open(&self.spec, &self.program, self.limits.open)?;
        if info == self.info {
            return Ok(running);
        }
        Err(EngineError::Device(format!(
            "{}: after a restart the device is {} with lane width {}, it was {} with {}",
            self.spec.id, info.adapter, info.lane_width, self.info.adapter, self.info.lane_width
        )))
    }
}

/// Starts a child and learns its device.
fn open(
    spec: &EngineSpec,
    program: &Program,
    limit: Duration,
) -> Result<(Running, DeviceInfo), EngineError> {
    let fault = |what: String| EngineError::Device(format!("{}: {what}", spec.id));
    let running = Running::start(spec, program).map_err(fault)?;
    let request = RequestRef::Info;
    let frame = encode_request(request).map_err(|e| fault(e.to_string()))?;
    match exchange(running, spec, request, frame, limit)? {
        (running, Ok(Answer::Info(info))) => Ok((running, info)),
        (_, Err(error)) => Err(error),
        (_, Ok(_)) => Err(other_question(spec)),
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
    let fault = |what: String| EngineError::Device(format!("{}: {what}", spec.id));
    let reply = running.ask(frame, limit).map_err(fault)?;
    match decode_response(request, &reply) {
        Ok(answer) => Ok((running, answer)),
        Err(WireError(what)) => {
            Err(fault(running.condemn(format!("its answer was not understood, killed: {what}"))))
        }
    }
}

fn other_question(spec: &EngineSpec) -> EngineError {
    EngineError::Device(format!("{}: answered another question", spec.id))
}

impl Engine for EngineProcess {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        let mut outputs = Vec::with_capacity(inputs.len());
        let sizes = inputs.iter().map(|inputs| batch::rasterize(inputs));
        for run in batch::forward(sizes, self.limits.frame_bytes) {
            match self.ask(RequestRef::Rasterize(&inputs[run]))? {
                Answer::Rasterize(some) => outputs.extend(some),
                _ => return Err(other_question(&self.spec)),
            }
        }
        Ok(outputs)
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        let mut gradients: Vec<Vec<_>> = jobs.iter().map(|_| Vec::new()).collect();
        let sizes = jobs.iter().map(|(inputs, s)| batch::rasterize_backward(inputs, s.len()));
        for pieces in batch::backward(sizes, self.limits.frame_bytes) {
            match self.ask(RequestRef::RasterizeBackward(&part(jobs, &pieces)))? {
                Answer::RasterizeBackward(some) => gather(&mut gradients, &pieces, some),
                _ => return Err(other_question(&self.spec)),
            }
        }
        Ok(gradients)
    }

    fn time_backward(
        &mut self,
        inputs: &BackwardInputs,
        configs: &[BackwardConfig],
        repeats: u32,
    ) -> Result<Timing, EngineError> {
        match self.ask(RequestRef::TimeBackward(inputs, configs, repeats))? {
            Answer::TimeBackward(timing) => Ok(timing),
            _ => Err(other_question(&self.spec)),
        }
    }

    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        let mut outputs = Vec::with_capacity(inputs.len());
        let sizes = inputs.iter().map(|inputs| batch::project(inputs));
        for run in batch::forward(sizes, self.limits.frame_bytes) {
            match self.ask(RequestRef::Project(&inputs[run]))? {
                Answer::Project(some) => outputs.extend(some),
                _ => return Err(other_question(&self.spec)),
            }
        }
        Ok(outputs)
    }

    fn project_backward(
        &mut self,
        jobs: &[(&ProjectBackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
        let mut gradients: Vec<Vec<_>> = jobs.iter().map(|_| Vec::new()).collect();
        let sizes = jobs.iter().map(|(inputs, s)| batch::project_backward(inputs, s.len()));
        for pieces in batch::backward(sizes, self.limits.frame_bytes) {
            match self.ask(RequestRef::ProjectBackward(&part(jobs, &pieces)))? {
                Answer::ProjectBackward(some) => gather(&mut gradients, &pieces, some),
                _ => return Err(other_question(&self.spec)),
            }
        }
        Ok(gradients)
    }
}

/// The jobs of one frame.
fn part<'a, I>(
    jobs: &[(&'a I, &'a [BackwardConfig])],
    pieces: &[Piece],
) -> Vec<(&'a I, &'a [BackwardConfig])> {
    pieces
        .iter()
        .map(|piece| (jobs[piece.job].0, &jobs[piece.job].1[piece.settings.clone()]))
        .collect()
}

/// Adds a frame's answers to the others of their jobs.
fn gather<G>(gradients: &mut [Vec<G>], pieces: &[Piece], some: Vec<Vec<G>>) {
    for (piece, some) in pieces.iter().zip(some) {
        gradients[piece.job].extend(some);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    use super::super::protocol::{encode_response, samples, write_frame};
    use super::*;

    fn script(text: &str) -> Program {
        Program { path: "sh".into(), args: vec!["-c".into(), text.into()] }
    }

    fn spec() -> EngineSpec {
        EngineSpec { id: "fake".into(), env: Vec::new(), adapter: None }
    }

    fn quick() -> Limits {
        let time = Duration::from_millis(300);
        Limits { open: time, request: time, frame_bytes: 64 << 20 }
    }

    /// What starting the script fails with. The limit is long unless the script is to hang.
    fn failure(text: &str, limits: Limits) -> String {
        let start = Instant::now();
        let error = EngineProcess::start(spec(), script(text), limits).expect_err(text);
        assert!(matches!(error, EngineError::Device(_)), "{text}: {error:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{text} took too long");
        error.to_string()
    }

    #[test]
    fn a_crash_is_reported_with_signal_and_last_words() {
        let text = failure("echo 'about to crash' >&2; kill -SEGV $$", Limits::default());
        assert!(text.contains("fake: ended by signal 11 (SIGSEGV)"), "unhelpful: {text}");
        assert!(text.ends_with("its last words: about to crash"), "unhelpful: {text}");
    }

    #[test]
    fn an_early_exit_is_reported_with_its_code() {
        let text = failure("exit 7", Limits::default());
        assert!(text.contains("ended with exit code 7 without an answer"), "unhelpful: {text}");
        assert!(text.ends_with("it left no message"), "unhelpful: {text}");
    }

    #[test]
    fn a_hang_is_killed() {
        let text = failure("echo thinking >&2; exec sleep 1000", quick());
        assert!(text.contains("no answer within 0.3 s: killed"), "unhelpful: {text}");
        assert!(text.ends_with("thinking"), "unhelpful: {text}");
    }

    #[test]
    fn a_child_that_closes_its_output_and_lingers_is_killed() {
        let text = failure("exec >&-; exec sleep 1000", Limits::default());
        assert!(text.contains("closed its output without an answer: killed"), "{text}");
    }

    #[test]
    fn garbage_is_shown() {
        let text = failure("echo 'Driver version 1.0'", Limits::default());
        assert!(text.contains("something else than a frame"), "unhelpful: {text}");
        assert!(text.contains("Driver v"), "unhelpful: {text}");
        let text = failure(
            r"printf '\003\000\000\000\000\000\000\000abc'; cat > /dev/null",
            Limits::default(),
        );
        assert!(text.contains("its answer was not understood, killed"), "unhelpful: {text}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let program = Program { path: "/nowhere/splatcheck".into(), args: Vec::new() };
        let error = EngineProcess::start(spec(), program, quick()).expect_err("no program");
        assert!(error.to_string().contains("cannot start /nowhere/splatcheck"), "{error}");
    }

    /// A script that answers the first request with a device and then does `rest`.
    fn opens_and_then(folder: &Path, rest: &str) -> Program {
        let answer = Ok(Answer::Info(samples::info()));
        let mut frame = Vec::new();
        let body = encode_response(RequestRef::Info, &answer).unwrap();
        write_frame(&mut frame, &body).unwrap();
        fs::write(folder.join("info"), frame).unwrap();
        script(&format!("cd '{}'; cat info; {rest}", folder.display()))
    }

    #[test]
    fn after_a_failure_the_next_request_starts_a_fresh_child() {
        let folder = tempfile::tempdir().unwrap();
        let program = opens_and_then(folder.path(), "echo x >> starts; exec sleep 1000");
        let limits = Limits { open: Duration::from_secs(20), ..quick() };
        let mut engine = EngineProcess::start(spec(), program, limits).unwrap();
        assert_eq!(engine.info(), &samples::info(), "the device");
        let inputs = samples::raster_inputs(2);
        for _ in 0..2 {
            let error = engine.rasterize(&[&inputs]).expect_err("it never answers");
            assert!(error.to_string().contains("no answer within"), "unhelpful: {error}");
        }
        let starts = fs::read_to_string(folder.path().join("starts")).unwrap();
        assert_eq!(starts.lines().count(), 2, "one start, one restart");
    }

    #[test]
    fn a_request_larger_than_the_pipe_to_a_deaf_child_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let program = opens_and_then(folder.path(), "exec sleep 1000");
        let limits = Limits { open: Duration::from_secs(20), ..quick() };
        let mut engine = EngineProcess::start(spec(), program, limits).unwrap();
        let inputs = samples::raster_inputs(5000);
        let error = engine.rasterize(&[&inputs]).expect_err("it never reads");
        assert!(error.to_string().contains("no answer within"), "unhelpful: {error}");
    }

    #[test]
    fn contradictory_inputs_do_not_cost_the_child() {
        let folder = tempfile::tempdir().unwrap();
        let program = opens_and_then(folder.path(), "exec sleep 1000");
        let mut engine = EngineProcess::start(spec(), program, Limits::default()).unwrap();
        let mut inputs = samples::raster_inputs(2);
        inputs.background.clear();
        let error = engine.rasterize(&[&inputs]).expect_err("no background");
        assert!(matches!(&error, EngineError::Input(text) if text.contains("0/background")));
        assert!(engine.running.is_some(), "nothing was sent, so the child goes on");
        assert_eq!(engine.rasterize(&[]), Ok(Vec::new()), "nothing to do");
    }
}
