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
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use splatcheck_gpu::mutation::{Edit, Mutation};
use splatcheck_gpu::{
    AdapterChoice, CudaEngine, EmulatorEngine, Engine, EngineError, Options, WgpuEngine,
};

use super::drivers::{CUDA, CUDA_FAST, EMULATOR, EMULATOR_FAST, ENGINE, MUTANT};
use super::emulation::Emulation;
use super::protocol::{
    Answer, FrameError, MAX_FRAME, Request, RequestRef, decode_request, encode_response,
    read_frame, write_frame,
};

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
        return match engine.to_str() {
            Some(CUDA) => Ok(Box::new(CudaEngine::open(0, false)?)),
            Some(CUDA_FAST) => Ok(Box::new(CudaEngine::open(0, true)?)),
            name => match name.and_then(|name| name.parse::<Emulation>().ok()) {
                Some(emulation) => Ok(Box::new(EmulatorEngine::open(emulation.options())?)),
                None => Err(EngineError::NoDevice(format!(
                    "{ENGINE} is {engine:?}, expected {CUDA}, {CUDA_FAST}, {EMULATOR} or \
                     {EMULATOR_FAST}, the latter two perhaps with an architecture and a schedule"
                ))),
            },
        };
    }
    let choice = adapter.map_or(AdapterChoice::First, |name| AdapterChoice::Name(name.to_owned()));
    let options = Options { edit: mutant()?, ..Options::default() };
    Ok(Box::new(WgpuEngine::open(&choice, &options)?))
}

/// The change of the kernels that the environment asks for ([`MUTANT`]).
fn mutant() -> Result<Option<Edit>, EngineError> {
    let Some(patch) = std::env::var_os(MUTANT) else { return Ok(None) };
    let failed = |error: &dyn std::fmt::Display| {
        EngineError::Input(format!("{MUTANT} = {}: {error}", patch.display()))
    };
    let text = std::fs::read_to_string(&patch).map_err(|error| failed(&error))?;
    let mutation = Mutation::parse("", &text).map_err(|error| failed(&error))?;
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
    serve(open, requests_of_stdin().into_iter(), &mut answers)
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
        Request::Info => finish(RequestRef::Info, &Ok(Answer::Info(engine.info().clone()))),
        Request::Rasterize(inputs) => {
            let inputs: Vec<_> = inputs.iter().collect();
            let result = engine.rasterize(&inputs).map(Answer::Rasterize);
            finish(RequestRef::Rasterize(&inputs), &result)
        }
        Request::RasterizeBackward(jobs) => {
            let jobs: Vec<_> = jobs.iter().map(|(inputs, s)| (inputs, s.as_slice())).collect();
            let result = engine.rasterize_backward(&jobs).map(Answer::RasterizeBackward);
            finish(RequestRef::RasterizeBackward(&jobs), &result)
        }
        Request::TimeBackward(inputs, settings, repeats) => {
            let result = engine.time_backward(inputs, settings, *repeats);
            let question = RequestRef::TimeBackward(inputs, settings, *repeats);
            finish(question, &result.map(Answer::TimeBackward))
        }
        Request::Project(inputs) => {
            let inputs: Vec<_> = inputs.iter().collect();
            let result = engine.project(&inputs).map(Answer::Project);
            finish(RequestRef::Project(&inputs), &result)
        }
        Request::ProjectBackward(jobs) => {
            let jobs: Vec<_> = jobs.iter().map(|(inputs, s)| (inputs, s.as_slice())).collect();
            let result = engine.project_backward(&jobs).map(Answer::ProjectBackward);
            finish(RequestRef::ProjectBackward(&jobs), &result)
        }
    }
}

/// The frame of a result; one that cannot be sent becomes an error that says why.
fn finish(request: RequestRef<'_>, result: &Result<Answer, EngineError>) -> Vec<u8> {
    match encode_response(request, result) {
        Ok(frame) if frame.len() as u64 <= MAX_FRAME => frame,
        Ok(frame) => refuse(&EngineError::Input(format!(
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
fn requests_of_stdin() -> Receiver<Result<Vec<u8>, FrameError>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
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
    });
    receiver
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

    fn next(stream: &mut &[u8], request: RequestRef<'_>) -> Result<Answer, EngineError> {
        let frame = read_frame(stream).unwrap().expect("an answer to every request");
        decode_response(request, &frame).unwrap()
    }

    #[test]
    fn every_request_is_answered_in_order() {
        let good = samples::raster_inputs(2);
        let refused = samples::raster_inputs(4);
        let requests = [
            encode_request(RequestRef::Info).unwrap(),
            b"nonsense".to_vec(),
            encode_request(RequestRef::Rasterize(&[&refused])).unwrap(),
            encode_request(RequestRef::Rasterize(&[&good])).unwrap(),
        ];
        let mut stream = Vec::new();
        let open = || Ok(Box::new(samples::FakeEngine::default()) as Box<dyn Engine>);
        serve(open, requests.into_iter().map(Ok), &mut stream).unwrap();

        let mut stream = stream.as_slice();
        assert_eq!(
            next(&mut stream, RequestRef::Info),
            Ok(Answer::Info(samples::info())),
            "the device"
        );
        let nonsense = next(&mut stream, RequestRef::Info).expect_err("nonsense has no answer");
        assert!(nonsense.to_string().contains("not a safetensors buffer"), "{nonsense}");
        let refusal = next(&mut stream, RequestRef::Rasterize(&[&refused])).expect_err("width 5");
        assert_eq!(refusal, EngineError::Input("width 5".into()), "the engine's words");
        assert!(next(&mut stream, RequestRef::Rasterize(&[&good])).is_ok(), "still serving");
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
