//! A user's program while it runs: lines in, lines out, within a time limit.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use super::super::child_guard::{ChildGuard, EXIT_TIMEOUT, describe};
use super::super::patience::receive;
use super::super::tail::Tail;
use super::answer::{self, Answer, NoAnswer};
use super::line::CommandLine;
use crate::threads::{self, NoThread};

/// Longest line that is read, bytes.
const MAX_LINE: u64 = 1 << 16;
/// Lines that may wait; a program that prints more waits for its reader.
const WAITING: usize = 1;

/// Why a program gave no answer and is gone.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    /// The system does not start it.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// It did not answer in time.
    #[error(
        "no answer within {} s: killed (--timeout allows more; a program must flush its standard \
         output behind every answer)",
        .0.as_secs_f64()
    )]
    Silent(Duration),
    /// It ended by itself.
    #[error("{}", describe(*.0))]
    Ended(ExitStatus),
    /// It went on without an output.
    #[error("closed its standard output without an answer: killed")]
    Closed,
    /// It said something else.
    #[error("{0}: killed")]
    NoAnswer(NoAnswer),
    /// It said something before it was asked.
    #[error("its standard output says {0} without being asked: killed")]
    Unasked(String),
}

/// How long a program may take to end when its input does; then it is killed.
const GOODBYE: Duration = Duration::from_millis(500);

/// A program that has not failed yet. Dropping it closes its input, at which it must end.
#[derive(Debug)]
pub(super) struct Running {
    child: ChildGuard,
    requests: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.requests.take());
        self.child.wait(GOODBYE);
    }
}

/// The command, with no streams yet. It leads a process group of its own, so that what it starts is
/// killed with it.
fn command(line: &CommandLine) -> Command {
    let mut command = Command::new(line.program());
    command.args(line.arguments()).stderr(Stdio::piped());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0);
    }
    command
}

fn no_streams() -> End {
    End::Start(io::Error::other("it has no standard streams"))
}

impl Running {
    /// Starts the program.
    pub(super) fn start(line: &CommandLine) -> Result<Self, End> {
        let mut command = command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(End::Start)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(stdout), Some(stderr)) = streams else {
            return Err(no_streams());
        };
        let (sender, lines) = sync_channel(WAITING);
        let no_thread = |error: NoThread| End::Start(io::Error::other(error));
        let child = ChildGuard::leading(child, Tail::of(stderr).map_err(no_thread)?);
        threads::start(move || read_lines(stdout, &sender)).map_err(no_thread)?;
        Ok(Self { child, requests: Some(requests), lines })
    }

    /// Whether it ended by itself within that time.
    pub(super) fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        self.child.wait(limit)
    }

    /// Sends a request and waits for its answer. After an error the program is of no more use.
    pub(super) fn ask(&mut self, id: u64, request: &[u8], limit: Duration) -> Result<Answer, End> {
        match self.lines.try_recv() {
            Ok(line) => {
                self.child.kill();
                return Err(End::Unasked(answer::words(&String::from_utf8_lossy(&line))));
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        // A request is shorter than the pipe, so that it does not wait for its reader; one that is gone
        // answers nothing.
        if let Some(requests) = &mut self.requests {
            let _ = requests.write_all(request).and_then(|()| requests.flush());
        }
        let end = match receive(&self.lines, limit) {
            Ok(line) => match answer::read(&line, id) {
                Ok(answer) => return Ok(answer),
                Err(error) => End::NoAnswer(error),
            },
            Err(RecvTimeoutError::Timeout) => End::Silent(limit),
            Err(RecvTimeoutError::Disconnected) => match self.child.wait(EXIT_TIMEOUT) {
                Some(status) => End::Ended(status),
                None => End::Closed,
            },
        };
        self.child.kill();
        Err(end)
    }

    /// What it said last on standard error; of one that is gone.
    pub(super) fn last_words(&self) -> Option<String> {
        self.child.tail().last_words()
    }

    /// What it said last on standard error; of one that goes on.
    pub(super) fn words_so_far(&self) -> Option<String> {
        self.child.tail().words_so_far()
    }
}

/// How a program ended, and its last words; `None` for one that went on.
type Ended = Option<(ExitStatus, Option<String>)>;

/// Starts the program with an input that is at its end, and waits so long for its own; one that goes on is killed.
/// An error says why it does not start.
fn unasked(line: &CommandLine, limit: Duration) -> Result<Ended, String> {
    let child = command(line).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("cannot start: {error}"))?;
    let Some(stderr) = child.stderr.take() else { return Err(no_streams().to_string()) };
    let tail = Tail::of(stderr).map_err(|error| error.to_string())?;
    let mut child = ChildGuard::leading(child, tail);
    let status = child.wait(limit);
    Ok(status.map(|status| (status, child.tail().last_words())))
}

/// The same of one that must end well if it ends: how it did otherwise, with its last words.
pub(super) fn fails_unasked(
    line: &CommandLine,
    limit: Duration,
) -> Option<(String, Option<String>)> {
    match unasked(line, limit) {
        Err(why) => Some((why, None)),
        Ok(None) => None,
        Ok(Some((status, words))) => (!status.success()).then(|| (describe(status), words)),
    }
}

/// Runs a program that is asked nothing to its end.
///
/// # Errors
/// Why it does not end well within the limit, with its last words.
pub fn run_to_end(line: &CommandLine, limit: Duration) -> Result<(), String> {
    match unasked(line, limit)? {
        Some((status, _)) if status.success() => Ok(()),
        Some((status, words)) => {
            let words = words.map_or_else(String::new, |words| format!(": {words}"));
            Err(format!("{}{words}", describe(status)))
        }
        None => Err(format!("does not end within {} s: killed", limit.as_secs())),
    }
}

/// Reads lines until the end; one that is longer than any answer comes cut off.
fn read_lines(stdout: impl Read, lines: &SyncSender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) if lines.send(line).is_ok() => {}
            Ok(_) | Err(_) => return,
        }
    }
}
