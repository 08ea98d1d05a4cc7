//! A user's program in WGSL on its way to the engines: every engine, of wgpu or the emulator, is a process of
//! its own, which reads the program and its manifest from files.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use splatcheck_emulator::Schedule;
use splatcheck_gpu::{
    DeviceInfo, EmulatorEngine, Engine, EngineError, Reduction, Stage, Support, Tensors, Work,
};

use crate::manifest::{Manifest, WgslBindError, WgslEngine, WgslKernel, WgslMachine};
use crate::user_kernel::{Observe, UnknownObservation};
use splatcheck_judge::campaign::{Fault, Place};
use splatcheck_judge::engines::ENGINE;
use splatcheck_judge::engines::serve::open_wgpu;
use splatcheck_judge::engines::{Emulation, EngineProcess, Found, Limits, Program};
use splatcheck_judge::io::{Problem, read};
use splatcheck_judge::workload::{NOTE_PREFIX, Notes};

/// The arguments by which a child process is told of the files.
pub const PROGRAM: &str = "--wgsl";
/// See [`PROGRAM`].
pub const MANIFEST: &str = "--manifest";
/// The argument by which it is told the name of the user's file, by which findings name the program.
pub const NAMED: &str = "--named";
/// The argument by which an emulator is told to round approximate instructions correctly in whatever order.
pub const EXACT: &str = "--exact";
/// The argument by which it is told what is watched.
pub const OBSERVE: &str = "--observe";

/// The keys of a reproducer's notes, behind [`NOTE_PREFIX`].
const NOTES: [&str; 2] = ["wgsl", "wgsl_manifest"];
/// Of the note of the program's file, which those of earlier versions lack.
const FILE_NOTE: &str = "wgsl_file";
/// And of the note of what is watched, where not all is.
const OBSERVE_NOTE: &str = "wgsl_observe";
/// The name of a program of which none is known.
const NO_NAME: &str = "kernel.wgsl";

/// A program and its files, which last as long as anyone uses them.
#[derive(Clone, Debug)]
pub struct UserWgsl {
    kernel: Arc<WgslKernel>,
    observe: Observe,
    files: Arc<tempfile::TempDir>,
}

/// Why a text is no program with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WgslError {
    /// The manifest is none.
    #[error(transparent)]
    Manifest(#[from] Problem),
    /// It is of another program.
    #[error(transparent)]
    Bind(#[from] WgslBindError),
}

/// Reads a program with its manifest; `file` is the program's name in findings.
///
/// # Errors
/// [`WgslError`].
pub fn kernel(file: &str, source: &str, manifest: &str) -> Result<Arc<WgslKernel>, WgslError> {
    Ok(WgslKernel::new(Manifest::parse_wgsl(manifest)?, file, source)?)
}

/// A child's engine with the program of these files: the emulator, where the environment says so, else wgpu's.
///
/// # Errors
/// Why it does not open; the files were read before, so that they are at fault only if they changed.
pub fn open(
    adapter: Option<&str>,
    (named, program): (Option<&str>, &Path),
    manifest: &Path,
    (observe, exact): (Observe, bool),
) -> Result<Box<dyn Engine>, EngineError> {
    let text =
        |file: &Path| read::text(file).map_err(|error| EngineError::Input(error.to_string()));
    let kernel = kernel(named.unwrap_or(NO_NAME), &text(program)?, &text(manifest)?);
    let kernel = kernel.map_err(|error| EngineError::Input(error.to_string()))?;
    let machine = match emulation() {
        Some(emulation) => {
            let mut options = observe.options(emulation.options());
            if exact {
                let policy = options.schedule.policy;
                options.schedule = Schedule { policy, ..Schedule::lockstep() };
            }
            WgslMachine::Emulator(Box::new(EmulatorEngine::open(options)?))
        }
        None => WgslMachine::Wgpu(Box::new(open_wgpu(adapter)?)),
    };
    Ok(Box::new(WgslEngine::new(machine, kernel, observe.inputs)))
}

/// The emulation that this process was started for.
fn emulation() -> Option<Emulation> {
    std::env::var(ENGINE).ok()?.parse().ok()
}

impl UserWgsl {
    /// Writes the files of a program, of whose runs this is watched.
    ///
    /// # Errors
    /// There is no place for them.
    pub fn new(kernel: Arc<WgslKernel>, observe: Observe) -> io::Result<Self> {
        let files = tempfile::Builder::new().prefix("splatcheck-").tempdir()?;
        let [program, manifest] = names(files.path());
        fs::write(program, kernel.source())?;
        fs::write(manifest, kernel.manifest().text())?;
        Ok(Self { kernel, observe, files: Arc::new(files) })
    }

    /// The program.
    #[must_use]
    pub fn kernel(&self) -> &WgslKernel {
        &self.kernel
    }

    /// Starts an engine with the program; `exact`: an emulator whose order of execution is all that may differ
    /// between two runs.
    ///
    /// # Errors
    /// As [`EngineProcess::start`].
    pub fn start(
        &self,
        found: &Found,
        program: &Program,
        (limits, exact): (Limits, bool),
    ) -> Result<Box<dyn Engine + Send>, EngineError> {
        let [source, manifest] = names(self.files.path());
        let mut program = program.clone();
        let files = [PROGRAM.into(), source.into_os_string(), MANIFEST.into(), manifest.into()];
        program.args.extend(files.into_iter().collect::<Vec<OsString>>());
        // In one word: a name may begin with a hyphen.
        program.args.push(format!("{NAMED}={}", self.kernel.file()).into());
        if self.observe != Observe::default() {
            program.args.extend([OBSERVE.into(), self.observe.to_string().into()]);
        }
        if exact {
            program.args.push(EXACT.into());
        }
        let process = EngineProcess::start(found.spec.clone(), program, limits)?;
        let left_out = self.kernel.manifest().left_out();
        Ok(Box::new(Process { process, left_out, _files: Arc::clone(&self.files) }))
    }

    /// The program as notes of a reproducer.
    #[must_use]
    pub fn notes(&self) -> Notes {
        let texts = [self.kernel.source(), self.kernel.manifest().text()];
        let note = |(key, text): (&str, &str)| (format!("{NOTE_PREFIX}{key}"), text.to_owned());
        let mut notes: Notes = NOTES.into_iter().zip(texts).map(note).collect();
        notes.extend([note((FILE_NOTE, self.kernel.file()))]);
        if self.observe != Observe::default() {
            notes.extend([note((OBSERVE_NOTE, &self.observe.to_string()))]);
        }
        notes
    }
}

/// The lines of a program that a fault names, in words: its engine is a process of its own. The emulator says of a
/// file the last part of its path.
#[must_use]
pub fn places(file: &str, fault: &Fault) -> Vec<Place> {
    let Fault::Engine(error) = fault else { return Vec::new() };
    let own = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    let (said, named) = (error.to_string(), format!("{own}:"));
    let mut places = Vec::new();
    for behind in said.split(&named).skip(1) {
        let digits = behind.split(|c: char| !c.is_ascii_digit()).next();
        if let Some(line) = digits.and_then(|digits| digits.parse().ok()) {
            let place = Place { file: None, line };
            places.extend((!places.contains(&place)).then_some(place));
        }
    }
    places
}

/// Reads [`UserWgsl::notes`]; `None` where there are none.
///
/// # Errors
/// The note that is missing or says nothing of its kind.
pub fn of_notes(notes: &Notes) -> Result<Option<(Arc<WgslKernel>, Observe)>, Problem> {
    let [source, manifest] = NOTES.map(|key| notes.get(&format!("{NOTE_PREFIX}{key}")));
    let key = |number: usize| format!("{NOTE_PREFIX}{}", NOTES[number]);
    match (source, manifest) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Problem::new(key(0), "missing", "a kernel is kept with it")),
        (Some(_), None) => Err(Problem::new(key(1), "missing", "a kernel is kept with it")),
        (Some(source), Some(manifest)) => {
            let file = notes.get(&format!("{NOTE_PREFIX}{FILE_NOTE}"));
            let kernel = kernel(file.map_or(NO_NAME, String::as_str), source, manifest)
                .map_err(|e| Problem::new(key(0), "not usable", e.to_string()))?;
            let key = format!("{NOTE_PREFIX}{OBSERVE_NOTE}");
            let observe = notes.get(&key).map_or(Ok(Observe::default()), |text| text.parse());
            let observe = observe.map_err(|error: UnknownObservation| {
                Problem::new(key, "not usable", error.to_string())
            })?;
            Ok(Some((kernel, observe)))
        }
    }
}

/// The program's file and the manifest's.
fn names(folder: &Path) -> [std::path::PathBuf; 2] {
    [NO_NAME, "kernel.toml"].map(|name| folder.join(name))
}

/// An engine's process that runs the program, whatever stage and reduction it stands in for.
struct Process {
    process: EngineProcess,
    /// What the program does not return: its engine has zeros there.
    left_out: Vec<&'static str>,
    _files: Arc<tempfile::TempDir>,
}

impl Engine for Process {
    fn info(&self) -> &DeviceInfo {
        self.process.info()
    }

    fn supports(&self, _: Stage, _: Option<Reduction>) -> Support {
        Support::Yes
    }

    fn reduces_by(&self, stage: Stage, _: Reduction) -> bool {
        stage.accumulates()
    }

    fn deaths(&self) -> u64 {
        self.process.deaths()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let mut outputs = self.process.run(stage, work)?;
        if !self.left_out.is_empty() {
            for one in outputs.iter_mut().flatten() {
                *one = std::mem::take(one).only(|name| !self.left_out.contains(&name));
            }
        }
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_a_fault_names_are_its_places() {
        let said = "kernel 'k' at k.wgsl:7:3, lanes 1: data race: read at k.wgsl:7:9 and write at k.wgsl:60:1";
        let fault = |text: &str| Fault::Engine(EngineError::Device(text.to_owned()));
        let lines = |file, text| {
            let places = places(file, &fault(text));
            places.iter().map(|place| place.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("a b/k.wgsl", said), [7, 60], "each once, its own first");
        assert_eq!(lines("other.wgsl", said), [0; 0], "none of another file");
        assert_eq!(lines("k.wgsl", "k.wgsl: no line"), [0; 0], "no number");
    }
}
