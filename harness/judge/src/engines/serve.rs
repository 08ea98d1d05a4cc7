//! The engine's side: the loop of the child process.
//!
//! The device is opened once, before the first answer; if that fails, every request is answered
//! with the reason. The loop ends at the end of input. A panic ends the process, and the parent
//! shows its message.
//!
//! A driver may print on standard output, which would break the frames. So (on Unix) the stream of
//! frames is moved to a descriptor of its own first, and whatever else is printed lands on standard
//! error. Elsewhere, drivers are trusted to keep silent; a frame that is broken all the same is
//! noticed by the parent.

use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use splatcheck_gpu::emulator::EmulatorOptions;
use splatcheck_gpu::mutation::{Edit, Mutation, each};
use splatcheck_gpu::{
    AdapterChoice, CudaEngine, EmulatorEngine, Engine, EngineError, Options, Stage, Support,
    WgpuEngine, Work,
};

use super::drivers::MUTANT;
use super::emulation::{EMULATOR, EMULATOR_FAST, WGSL_EMULATOR};
use super::protocol::{
    Answer, Description, FrameError, Job, MAX_FRAME, Request, RequestRef, Unsupported,
    decode_request, encode_response, read_frame, write_frame,
};
use super::spec::Identity;
use super::spec::{CUDA, CUDA_FAST, ENGINE};
use crate::io::read;
use crate::threads::{self, NoThread};
use crate::words::list;

/// How long work may go on after the parent is gone. The parent kills its child when it gives up;
/// this is for a parent that was itself killed while its child hangs.
const GRACE: Duration = Duration::from_secs(30);

/// Opens the engine that this process was started for: CUDA's or the emulator if the environment
/// says so ([`ENGINE`]), else wgpu's named adapter, or the first.
///
/// # Errors
/// Why there is none.
pub fn open_engine(adapter: Option<&str>) -> Result<Box<dyn Engine>, EngineError> {
    if let Some(engine) = std::env::var_os(ENGINE) {
        return match engine.to_str().and_then(|name| name.parse().ok()) {
            Some(Identity::Cuda { fast_math }) => Ok(Box::new(CudaEngine::open(0, fast_math)?)),
            Some(Identity::Emulator(emulation)) => {
                // A patch of the kernels in WGSL says nothing of those in PTX.
                let edit = if emulation.wgsl_lanes.is_some() { mutant()? } else { None };
                let options = EmulatorOptions { edit, ..emulation.options() };
                Ok(Box::new(EmulatorEngine::open(options)?))
            }
            Some(Identity::Wgpu(_)) | None => Err(EngineError::NoDevice(format!(
                "{ENGINE} is {engine:?}, expected {CUDA}, {CUDA_FAST}, {EMULATOR}, \
                 {EMULATOR_FAST} or {WGSL_EMULATOR}-LANES, the latter three perhaps with a schedule"
            ))),
        };
    }
    Ok(Box::new(open_wgpu(adapter)?))
}

/// Opens wgpu's named adapter, or the first.
///
/// # Errors
/// Why there is none.
pub fn open_wgpu(adapter: Option<&str>) -> Result<WgpuEngine, EngineError> {
    let choice = adapter.map_or(AdapterChoice::First, |name| AdapterChoice::Name(name.to_owned()));
    let options = Options { edit: mutant()?, ..Options::default() };
    WgpuEngine::open(&choice, &options)
}

/// The change of the kernels that the environment asks for ([`MUTANT`]).
fn mutant() -> Result<Option<Edit>, EngineError> {
    let Some(patch) = std::env::var_os(MUTANT) else { return Ok(None) };
    let failed = |error: &dyn std::fmt::Display| {
        EngineError::Input(format!("{MUTANT} = {}: {error}", Path::new(&patch).display()))
    };
    let patch = Path::new(&patch);
    // A file of one mutant, or the mutant's name behind its file of several.
    let (file, wanted) = match (patch.parent(), patch.file_name().and_then(|name| name.to_str())) {
        (Some(file), Some(name)) if file.is_file() => (file, Some(name)),
        _ => (patch, None),
    };
    let text = read::text(file).map_err(|error| failed(&error))?;
    let stem = read::stem(file);
    let mutants = each(&stem, &text);
    let found = match (wanted, &mutants[..]) {
        (None, [one]) => Some(one),
        (None, _) => None,
        (Some(wanted), all) => all.iter().find(|(name, _)| *name == wanted),
    };
    let Some((name, text)) = found else {
        let names: Vec<_> = mutants.iter().map(|(name, _)| *name).collect();
        let file = file.display();
        return Err(failed(&format!("name one mutant of the file, {file}/NAME: {}", list(&names))));
    };
    let mutation = Mutation::parse(name, text).map_err(|error| failed(&error))?;
    mutation.wgsl_edit().map(Some).map_err(|error| failed(&error))
}

/// Serves standard input and output until the input ends.
///
/// # Errors
/// A stream that failed or did not carry frames.
pub fn serve_standard_streams(
    open: impl FnOnce() -> Result<Box<dyn Engine>, EngineError>,
) -> Result<(), FrameError> {
    let mut answers = take_stdout()?;
    let requests = requests_of_stdin().map_err(io::Error::other)?;
    serve(open, requests.into_iter(), &mut answers)
}

/// Answers every request.
///
/// # Errors
/// A request that is not a frame, or an answer that could not be sent.
pub fn serve(
    open: impl FnOnce() -> Result<Box<dyn Engine>, EngineError>,
    requests: impl Iterator<Item = Result<Vec<u8>, FrameError>>,
    answers: &mut impl Write,
) -> Result<(), FrameError> {
    let mut engine = open();
    for frame in requests {
        let answer = match (decode_request(&frame?), &mut engine) {
            (Err(error), _) => refuse(&EngineError::Input(format!("request: {error}"))),
            (Ok(_), Err(error)) => refuse(error),
            (Ok(request), Ok(engine)) => answer(engine.as_mut(), &request),
        };
        write_frame(answers, &answer)?;
    }
    Ok(())
}

/// The frame of the engine's answer.
fn answer(engine: &mut dyn Engine, request: &Request) -> Vec<u8> {
    match request {
        Request::Info => finish(RequestRef::Info, &Ok(Answer::Info(describe(engine)))),
        Request::Run { stage, jobs } => {
            let jobs: Vec<Work<'_>> = jobs.iter().map(Job::work).collect();
            let result = engine.run(*stage, &jobs).map(Answer::Run);
            finish(RequestRef::Run { stage: *stage, jobs: &jobs }, &result)
        }
        Request::Time { stage, job, repeats } => {
            let (stage, job, repeats) = (*stage, job.work(), *repeats);
            let result = engine.time(stage, job, repeats).map(Answer::Time);
            finish(RequestRef::Time { stage, job, repeats }, &result)
        }
    }
}

/// The engine's device, and every stage (`None`) and reduction of a stage that it does not run.
fn describe(engine: &dyn Engine) -> Description {
    let mut unsupported = Vec::new();
    for stage in Stage::all() {
        for reduction in std::iter::once(None).chain(stage.reductions().map(Some)) {
            match engine.supports(stage, reduction) {
                Support::Yes => {}
                Support::No(reason) => unsupported.push(Unsupported { stage, reduction, reason }),
            }
        }
    }
    Description { device: engine.info().clone(), unsupported }
}

/// The frame of a result; one that cannot be sent becomes an error that says why.
fn finish(request: RequestRef<'_>, result: &Result<Answer, EngineError>) -> Vec<u8> {
    match encode_response(request, result) {
        Ok(frame) if frame.len() as u64 <= MAX_FRAME => frame,
        Ok(frame) => refuse(&EngineError::TooLarge(format!(
            "the answer has {} bytes, more than the {MAX_FRAME} of a frame: ask for less at once",
            frame.len()
        ))),
        Err(error) => refuse(&EngineError::Device(format!("the engine's own answer: {error}"))),
    }
}

/// The frame of an error. Strings always fit; an empty frame, which the parent refuses, stands for
/// the case that they do not.
fn refuse(error: &EngineError) -> Vec<u8> {
    encode_response(RequestRef::Info, &Err(error.clone())).unwrap_or_default()
}

/// Frames of standard input, read by a thread that outlives a parent for [`GRACE`] at most.
fn requests_of_stdin() -> Result<Receiver<Result<Vec<u8>, FrameError>>, NoThread> {
    let (sender, receiver) = channel();
    threads::start(move || {
        let mut stdin = io::stdin().lock();
        while let Some(frame) = read_frame(&mut stdin).transpose() {
            let broken = frame.is_err();
            if sender.send(frame).is_err() || broken {
                break;
            }
        }
        drop(sender);
        thread::sleep(GRACE);
        process::exit(2);
    })?;
    Ok(receiver)
}

#[cfg(unix)]
fn take_stdout() -> io::Result<impl Write> {
    use std::os::fd::AsFd;
    let frames = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(frames)
}

#[cfg(not(unix))]
fn take_stdout() -> io::Result<impl Write> {
    Ok(io::stdout())
}

#[cfg(test)]
mod tests {
    use super::super::protocol::{decode_response, encode_request, samples};
    use super::*;
    use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};

    fn next(stream: &mut &[u8], request: RequestRef<'_>) -> Result<Answer, EngineError> {
        let frame = read_frame(stream).unwrap().expect("an answer to every request");
        decode_response(request, &frame).unwrap()
    }

    #[test]
    fn every_request_is_answered_in_order() {
        let inputs = [5, 2].map(|n| samples::inputs(RASTERIZE, n));
        let jobs = inputs.each_ref().map(|inputs| [Work { inputs, settings: &[None] }]);
        let [refused, good] =
            jobs.each_ref().map(|jobs| RequestRef::Run { stage: RASTERIZE, jobs });
        let timed = RequestRef::Time { stage: RASTERIZE, job: jobs[1][0], repeats: 2 };
        let requests = [
            encode_request(RequestRef::Info).unwrap(),
            b"nonsense".to_vec(),
            encode_request(refused).unwrap(),
            encode_request(timed).unwrap(),
            encode_request(good).unwrap(),
        ];
        let mut stream = Vec::new();
        let open = || Ok(Box::new(samples::FakeEngine::default()) as Box<dyn Engine>);
        serve(open, requests.into_iter().map(Ok), &mut stream).unwrap();

        let mut stream = stream.as_slice();
        assert_eq!(
            next(&mut stream, RequestRef::Info),
            Ok(Answer::Info(samples::description())),
            "the device and what it lacks"
        );
        let nonsense = next(&mut stream, RequestRef::Info).expect_err("nonsense has no answer");
        assert!(nonsense.to_string().contains("not a safetensors buffer"), "{nonsense}");
        let refusal = next(&mut stream, refused).expect_err("5 rows");
        assert_eq!(refusal, EngineError::Input("5 rows".into()), "the engine's words");
        let clock = next(&mut stream, timed).expect_err("it has no clock");
        assert!(matches!(clock, EngineError::Missing { .. }), "{clock:?}");
        assert!(next(&mut stream, good).is_ok(), "still serving");
    }

    /// Answers with outputs that are not those of the stage.
    struct Confused(samples::FakeEngine);

    impl Engine for Confused {
        fn info(&self) -> &splatcheck_gpu::DeviceInfo {
            self.0.info()
        }

        fn run(
            &mut self,
            stage: Stage,
            work: &[Work<'_>],
        ) -> Result<Vec<Vec<splatcheck_gpu::Tensors>>, EngineError> {
            let mut outputs = self.0.run(stage, work)?;
            outputs[0][0] = samples::of_other_type(&outputs[0][0]);
            Ok(outputs)
        }
    }

    #[test]
    fn outputs_that_do_not_fit_the_stage_are_not_sent() {
        let inputs = samples::inputs(RASTERIZE_BACKWARD, 2);
        let settings = samples::settings(RASTERIZE_BACKWARD);
        let jobs = [Work { inputs: &inputs, settings: &settings }];
        let request = RequestRef::Run { stage: RASTERIZE_BACKWARD, jobs: &jobs };
        let frame = encode_request(request).unwrap();
        let mut stream = Vec::new();
        let open = || Ok(Box::new(Confused(samples::FakeEngine::default())) as Box<dyn Engine>);
        serve(open, [Ok(frame)].into_iter(), &mut stream).unwrap();
        let error = next(&mut stream.as_slice(), request).expect_err("floats were asked for");
        let words = "the engine's own answer: 0/0/v_means2d is u32, expected f32";
        assert_eq!(error, EngineError::Device(words.to_owned()), "its own failure");
    }

    #[test]
    fn a_device_that_does_not_open_says_so_every_time() {
        let request = encode_request(RequestRef::Info).unwrap();
        let mut stream = Vec::new();
        let reason = EngineError::NoDevice("nothing there".into());
        let open = || Err(EngineError::NoDevice("nothing there".into()));
        serve(open, [Ok(request.clone()), Ok(request)].into_iter(), &mut stream).unwrap();
        let mut stream = stream.as_slice();
        for _ in 0..2 {
            let answer = next(&mut stream, RequestRef::Info);
            assert_eq!(answer, Err(reason.clone()), "the reason");
        }
    }
}
