//! A running child: frames in, frames out, within a time limit, and its last words if it fails.

use std::io;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::child_guard::{ChildGuard, EXIT_TIMEOUT, describe};
use super::memory;
use super::patience::receive;
use super::program::Program;
use super::protocol::{FrameError, WireError, read_frame, write_frame};
use super::spec::EngineSpec;
use super::tail::Tail;
use crate::threads::{self, NoThread};

/// Why a program does not run as a child.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// The system does not start it.
    #[error("cannot start {}: {source}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no way to talk to it.
    #[error("cannot start {}: it has no standard streams", program.display())]
    NoStreams {
        /// The program.
        program: PathBuf,
    },
    /// Nobody could listen to it.
    #[error("cannot start an engine")]
    Thread(#[from] NoThread),
}

/// What became of a child that is of no more use, with its last words.
#[derive(Debug, thiserror::Error)]
#[error("{end}; {}", match last_words {
    Some(words) => format!("its last words: {words}"),
    None => "it left no message".to_owned(),
})]
pub(super) struct Failed {
    end: End,
    last_words: Option<String>,
}

impl Failed {
    /// See [`memory::lacked`].
    pub(super) fn lacked_memory(&self) -> Option<String> {
        match self.end {
            End::Ended(status) => memory::lacked(status, self.last_words.as_deref()),
            End::Silent { .. } | End::NoFrame(_) | End::Closed | End::NotUnderstood(_) => None,
        }
    }
}

/// How a child came to its end.
#[derive(Debug, thiserror::Error)]
enum End {
    /// It did not answer in time.
    #[error("no answer within {} s: killed", limit.as_secs_f64())]
    Silent {
        /// The time that it had.
        limit: Duration,
    },
    /// It does not speak the protocol.
    #[error("answered with something else than a frame, killed: {0}")]
    NoFrame(FrameError),
    /// It ended by itself.
    #[error("{}", describe(*.0))]
    Ended(ExitStatus),
    /// It went on without an output.
    #[error("closed its output without an answer: killed")]
    Closed,
    /// It answered in a frame that says nothing.
    #[error("its answer was not understood, killed: {0}")]
    NotUnderstood(WireError),
}

type Reply = Result<Option<Vec<u8>>, FrameError>;

/// A child process that has not failed yet. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Running {
    child: ChildGuard,
    requests: Sender<Vec<u8>>,
    replies: Receiver<Reply>,
}

impl Running {
    /// Starts the program with the spec's environment.
    pub(super) fn start(spec: &EngineSpec, program: &Program) -> Result<Self, StartError> {
        let mut command = Command::new(&program.path);
        command.args(&program.args);
        if let Some(adapter) = &spec.adapter {
            command.arg("--adapter").arg(adapter);
        }
        command
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let path = || program.path.clone();
        let mut child =
            command.spawn().map_err(|source| StartError::Spawn { program: path(), source })?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(StartError::NoStreams { program: path() });
        };
        let (requests, to_send) = channel();
        let (received, replies) = channel();
        let child = ChildGuard::new(child, Tail::of(stderr)?);
        threads::start(move || converse(stdin, stdout, &to_send, &received))?;
        Ok(Self { child, requests, replies })
    }

    /// Sends a request and waits for the reply. After an error the child is of no more use, and
    /// the error says what became of it.
    pub(super) fn ask(&mut self, frame: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Failed> {
        let reply = match self.requests.send(frame) {
            Ok(()) => receive(&self.replies, limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        let end = match reply {
            Ok(Ok(Some(frame))) => return Ok(frame),
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill();
                End::Silent { limit }
            }
            Ok(Err(error @ FrameError::Length { .. })) => {
                self.child.kill();
                End::NoFrame(error)
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => match self.child.wait(EXIT_TIMEOUT) {
                Some(status) => End::Ended(status),
                None => {
                    self.child.kill();
                    End::Closed
                }
            },
        };
        Err(self.failed(end))
    }

    /// Kills the child for an answer that was not understood.
    pub(super) fn condemn(mut self, answer: WireError) -> Failed {
        self.child.kill();
        self.failed(End::NotUnderstood(answer))
    }

    fn failed(&self, end: End) -> Failed {
        Failed { end, last_words: self.child.tail().last_words() }
    }
}

/// One thread writes and reads: a child that reads nothing blocks the writing just as one that
/// answers nothing blocks the reading, and killing it ends both.
fn converse(
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
    requests: &Receiver<Vec<u8>>,
    replies: &Sender<Reply>,
) {
    for request in requests {
        let sent = write_frame(&mut stdin, &request);
        // What the child says is worth more than that it does not listen, unless it looks like
        // an answer to a question it has not read.
        let reply = match (sent, read_frame(&mut stdout)) {
            (Err(error), Ok(Some(_))) => Err(error),
            (_, reply) => reply,
        };
        let last = !matches!(reply, Ok(Some(_)));
        if replies.send(reply).is_err() || last {
            return;
        }
    }
}
