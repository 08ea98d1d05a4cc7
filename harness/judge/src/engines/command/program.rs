//! One process of a user's program: asked for one run at a time, started again where it fails.

use super::answer::{self, Answer};
use super::files::{Form, Need, Written, largest_output, read_written};
use super::left_out::LeftOut;
use super::line::CommandLine;
use super::running::{End, Running, fails_unasked};
use crate::io::read::{self, NotRead};
use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::{EngineError, Tensors};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a new program is watched: one that cannot run ends at once, such as an interpreter without
/// its script.
const FIRST_MOMENTS: Duration = Duration::from_millis(100);

/// What a program is granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grants {
    /// Time to answer a request.
    pub answer: Duration,
    /// How often it is started again.
    pub restarts: u32,
}

impl Grants {
    /// Restarts where no number is given.
    pub const RESTARTS: u32 = 30;
}

impl Default for Grants {
    /// A minute, which also compiles kernels, and [`Self::RESTARTS`].
    fn default() -> Self {
        Self { answer: Duration::from_secs(60), restarts: Self::RESTARTS }
    }
}

/// A program that cannot be judged at all.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It does not start, or ends before it is asked.
    #[error("--command '{line}': {reason}")]
    Program {
        /// What was typed.
        line: CommandLine,
        /// Why not.
        reason: String,
    },
    /// There is no place for its files.
    #[error("no temporary folder: {0}")]
    Folder(io::Error),
}

/// A process of a user's program.
#[derive(Debug)]
pub(super) struct Program {
    line: CommandLine,
    form: Arc<dyn Form>,
    grants: Grants,
    folder: tempfile::TempDir,
    /// `None` after a failure, until the next request.
    running: Option<Running>,
    /// The number of the last request.
    id: u64,
    restarts: u32,
    answered: bool,
    /// Outputs that may be left out, but were written once.
    written: BTreeSet<String>,
    /// The names that were left out.
    left_out: LeftOut,
    /// Why it is not started again.
    given_up: Option<EngineError>,
}

/// The files of one request; they go with it.
struct Files {
    input: PathBuf,
    output: PathBuf,
}

impl Drop for Files {
    fn drop(&mut self) {
        // What is left goes with the folder; a folder in the output's place is the program's.
        let _ = fs::remove_file(&self.input);
        let _ = fs::remove_file(&self.output);
    }
}

impl Program {
    /// Starts the program.
    ///
    /// # Errors
    /// [`StartError`].
    pub(super) fn start(
        line: CommandLine,
        form: Arc<dyn Form>,
        grants: Grants,
        left_out: LeftOut,
    ) -> Result<Self, StartError> {
        let cannot = |reason: String| StartError::Program { line: line.clone(), reason };
        let folder = tempfile::Builder::new().prefix("splatcheck-").tempdir();
        let folder = folder.map_err(StartError::Folder)?;
        let mut running = Running::start(&line).map_err(|end| cannot(end.to_string()))?;
        if let Some(status) = running.ends_within(FIRST_MOMENTS) {
            let reason = with_words(End::Ended(status), running.last_words());
            return Err(cannot(format!("before it was asked anything it {reason}")));
        }
        Ok(Self {
            line,
            form,
            grants,
            folder,
            running: Some(running),
            id: 0,
            restarts: 0,
            answered: false,
            written: BTreeSet::new(),
            left_out,
            given_up: None,
        })
    }

    /// See [`CommandEngine::judged_as`](super::CommandEngine::judged_as).
    pub(super) fn judged_as(&mut self, form: Arc<dyn Form>) {
        self.form = form;
    }

    /// One run, whose input file has these bytes.
    pub(super) fn run(&mut self, sizes: &Sizes, input: &[u8]) -> Result<Tensors, EngineError> {
        if let Some(error) = &self.given_up {
            return Err(error.clone());
        }
        self.id += 1;
        let path = |what| self.folder.path().join(format!("{}.{what}.safetensors", self.id));
        let files = Files { input: path("in"), output: path("out") };
        // A folder cannot be written to, a pipe would hold the writer, and a link lead elsewhere.
        if let Err(error) = write_new(&files.input, input) {
            let file = files.input.display();
            if error.kind() == io::ErrorKind::AlreadyExists {
                return Err(self.refused(format!(
                    "before it was asked, the program made {file}, where its input belongs"
                )));
            }
            return Err(EngineError::Unavailable(format!("{file}: {error}")));
        }
        match self.ask(&files)? {
            Answer::Done => {}
            Answer::Failed(reason) => {
                return Err(self.refused(format!("the program says that it failed: {reason}")));
            }
        }
        if !holds(&files.input, input) {
            return Err(self.refused("the program changed its input file".to_owned()));
        }
        let outputs = self.outputs(sizes, &files.output);
        outputs.map_err(|what| self.refused(format!("the program's output: {what}")))
    }

    /// Asks for one run.
    fn ask(&mut self, files: &Files) -> Result<Answer, EngineError> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.again()?,
        };
        let request = answer::request(self.id, &files.input, &files.output);
        match running.ask(self.id, &request, self.grants.answer) {
            Ok(answer) => {
                self.running = Some(running);
                self.answered = true;
                Ok(answer)
            }
            Err(end) => Err(self.ended(end, running.last_words())),
        }
    }

    /// Starts the program again.
    fn again(&mut self) -> Result<Running, EngineError> {
        if self.restarts == self.grants.restarts {
            let times = self.restarts;
            let error = EngineError::Ended(format!(
                "the program was started again {times} times and failed once more: no more of it"
            ));
            return Err(self.given_up.insert(error).clone());
        }
        self.restarts += 1;
        Running::start(&self.line).map_err(|end| EngineError::Ended(format!("the program: {end}")))
    }

    /// What became of a program that is gone. One that has never answered and ends badly even without
    /// a request is no kernel that failed.
    fn ended(&mut self, end: End, words: Option<String>) -> EngineError {
        if matches!(end, End::Ended(_))
            && !self.answered
            && let Some((end, words)) = fails_unasked(&self.line, self.grants.answer)
        {
            let reason = with_words(end, words);
            let line = &self.line;
            let error = EngineError::NoDevice(format!(
                "--command '{line}': without a request, at the end of its input, it {reason}"
            ));
            return self.given_up.insert(error).clone();
        }
        EngineError::Ended(format!("the program: {}", with_words(end, words)))
    }

    /// An answer that is no result.
    fn refused(&self, what: String) -> EngineError {
        let words = self.running.as_ref().and_then(Running::words_so_far);
        EngineError::Refused(match words {
            Some(words) => format!("{what}; its standard error ends: {words}"),
            None => what,
        })
    }

    /// The outputs that the program wrote; the error is a sentence.
    fn outputs(&mut self, sizes: &Sizes, path: &Path) -> Result<Tensors, String> {
        let form = self.form.as_ref();
        let bytes = output_bytes(path, largest_output(form, sizes))?;
        let arrays = read_written(form, sizes, &bytes).map_err(|p| p.to_string())?;
        let allowed = form.written(sizes);
        for Written { name, need, .. } in &allowed {
            match (need, arrays.find(name)) {
                (Need::Optional | Need::Welcome, Some(_)) => {
                    self.written.insert(name.clone());
                }
                (Need::Optional | Need::Welcome, None) if self.written.contains(name) => {
                    return Err(format!("tensor '{name}' is missing, which an earlier output had"));
                }
                (Need::Optional, None) => self.left_out.note(name),
                (Need::Welcome, None) | (Need::Always | Need::Never, _) => {}
            }
        }
        form.gathered(sizes, arrays).map_err(|p| p.to_string())
    }
}

/// Whether a file is one, and has these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    read::left(path, bytes.len() as u64).is_ok_and(|found| found == bytes)
}

/// The bytes of a file that a program wrote; the error is a sentence.
fn output_bytes(path: &Path, largest: u64) -> Result<Vec<u8>, String> {
    read::left(path, largest).map_err(|why| match why {
        NotRead::System(error) if error.kind() == io::ErrorKind::NotFound => {
            "there is none, although it answered ok".to_owned()
        }
        NotRead::System(error) => format!("cannot read the file: {error}"),
        NotRead::TooLarge { found, most } => {
            format!("it has {found} bytes, more than {most}, which is twice what its arrays take")
        }
        NotRead::Folder | NotRead::Link | NotRead::Special => format!("it {why}"),
    })
}

/// Writes a new file: never through what somebody made at its place.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::File::create_new(path)?.write_all(bytes)
}

/// What happened, with a program's last words.
fn with_words(what: impl fmt::Display, words: Option<String>) -> String {
    match words {
        Some(words) => format!("{what}; its last words: {words}"),
        None => format!("{what}; it left no message"),
    }
}
