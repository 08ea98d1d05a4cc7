//! How much a command prints, how far it is, and in which colours.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::ops::Deref;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::Args;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use splatcheck_judge::report::Detail;
use splatcheck_judge::words::{MOST_SHOWN, grouped, shown};

/// Options of a report, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print a line for every stage and reduction of an engine, and all that was not judged
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print the verdict and the findings only, and no progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl OutputArgs {
    /// How much a report says.
    #[must_use]
    pub fn detail(self) -> Detail {
        match (self.verbose, self.quiet) {
            (true, _) => Detail::Rows,
            (false, true) => Detail::Verdict,
            (false, false) => Detail::Engines,
        }
    }
}

/// How far a command is, on standard error: a bar where that is a terminal, elsewhere a line every minute, by
/// which people and CI systems see that it lives.
pub(super) struct Progress {
    bar: ProgressBar,
    _lines: Lines,
}

impl Progress {
    /// Of a command that makes `total` of these things, or where that is 0 as many as are added.
    pub(super) fn new(command: &'static str, things: &'static str, total: u64) -> Self {
        let bar = ProgressBar::new(total);
        let template =
            format!("{{wide_bar}} {{human_pos}} of {{human_len}} {things}, {{elapsed}}{{left}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.with_key(
                "left",
                |state: &ProgressState, to: &mut dyn fmt::Write| {
                    let done = (state.pos(), state.len().unwrap_or(0));
                    // A bar that cannot be written is seen by nobody.
                    let _ = to.write_str(&left(done, state.elapsed()));
                },
            ));
        }
        let shown = bar.clone();
        let text = move || {
            let (done, all) = (shown.position(), shown.length().unwrap_or(0));
            let all = if all == 0 { String::new() } else { format!(" of {}", grouped(all)) };
            let left = left((done, shown.length().unwrap_or(0)), shown.elapsed());
            (!shown.is_finished())
                .then(|| format!("{command}: {}{all} {things}{left}", grouped(done)))
        };
        Self { bar, _lines: Lines::new(text) }
    }

    /// The same of runs; nothing where little is to be said.
    pub(super) fn of_runs(detail: Detail, command: &'static str, total: u64) -> Self {
        match detail {
            Detail::Verdict => Self { bar: ProgressBar::hidden(), _lines: Lines { _stop: None } },
            Detail::Engines | Detail::Rows => Self::new(command, "runs", total),
        }
    }
}

/// How long it takes at the speed so far. Nothing is said at the beginning, when nobody knows, nor at the end.
fn left((done, all): (u64, u64), spent: Duration) -> String {
    if done >= all || done.saturating_mul(50) < all || spent < Duration::from_secs(3) {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
    let left = spent.mul_f64((all - done) as f64 / done as f64);
    format!(", about {:#} left", HumanDuration(left))
}

impl Deref for Progress {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

/// How often a line is written.
const MINUTE: Duration = Duration::from_secs(60);

/// Writes a line to standard error every minute, until it is dropped.
pub(super) struct Lines {
    /// The thread ends when this is dropped; none where no line is to be written.
    _stop: Option<Sender<()>>,
}

impl Lines {
    /// What `text` says, and how long it has been; nothing where standard error is a terminal, nor where
    /// `text` has nothing to say any more.
    pub(super) fn new(text: impl Fn() -> Option<String> + Send + 'static) -> Self {
        match io::stderr().is_terminal() {
            true => Self { _stop: None },
            false => Self::every(MINUTE, io::stderr(), text),
        }
    }

    fn every(
        time: Duration,
        mut to: impl Write + Send + 'static,
        text: impl Fn() -> Option<String> + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel::<()>();
        let write = move || {
            for minutes in 1u64.. {
                let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(time) else { return };
                let Some(text) = text() else { return };
                // Nobody is left to tell where standard error is closed.
                let _ = writeln!(to, "{text}, {minutes} min");
            }
        };
        // Where there is no thread for it there is more to say than how far it is.
        Self { _stop: thread::Builder::new().spawn(write).is_ok().then_some(stop) }
    }
}

/// Standard output for what people read ([`shown`]), in colours on a terminal that shows them: not where it is
/// piped, nor with `NO_COLOR` (no-color.org) set.
#[must_use]
pub fn standard_output() -> Box<dyn Write> {
    match has_colours(&io::stdout()) {
        false => Box::new(Shown::new(io::stdout(), false)),
        true => Box::new(Shown::new(anstream::stdout(), true)),
    }
}

/// Standard error for what people read.
pub(super) fn standard_error() -> impl Write {
    Shown::new(io::stderr(), false)
}

/// Whether a stream shows colours: where it is a terminal, and `NO_COLOR` is not set.
pub(super) fn has_colours(stream: &impl RawStream) -> bool {
    match AutoStream::choice(stream) {
        ColorChoice::Never => false,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => true,
    }
}

/// The words that a line of a report may begin with, and how they look.
const WORDS: [(&str, AnsiColor); 12] = [
    ("agree:", AnsiColor::Green),
    ("disagree:", AnsiColor::Red),
    ("DISAGREE", AnsiColor::Red),
    ("NO RESULT", AnsiColor::Red),
    ("LOST:", AnsiColor::Red),
    ("FAILS:", AnsiColor::Red),
    ("inconclusive:", AnsiColor::Yellow),
    ("not exercised:", AnsiColor::Yellow),
    ("INCONCLUSIVE:", AnsiColor::Yellow),
    ("NOT EXERCISED", AnsiColor::Yellow),
    ("NOT COMPARED:", AnsiColor::Yellow),
    ("KNOWN FAILURE:", AnsiColor::Yellow),
];

/// A stream of lines as people may see them, whose first words may have colours.
struct Shown<W: Write> {
    stream: W,
    colours: bool,
    /// What was written of a line that is not ended.
    line: Vec<u8>,
}

impl<W: Write> Shown<W> {
    fn new(stream: W, colours: bool) -> Self {
        Self { stream, colours, line: Vec::new() }
    }

    /// Hands the line on.
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let whole = String::from_utf8_lossy(&line);
        let text = whole.strip_suffix('\n').unwrap_or(&whole);
        let end = &whole[text.len()..];
        let text = shown(text, MOST_SHOWN) + end;
        let known = WORDS.iter().find(|(word, _)| self.colours && text.starts_with(word));
        let Some((word, color)) = known else { return self.stream.write_all(text.as_bytes()) };
        let style = Style::new().bold().fg_color(Some((*color).into()));
        write!(self.stream, "{style}{word}{style:#}")?;
        self.stream.write_all(&text.as_bytes()[word.len()..])
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(parts: &[&str]) -> String {
        let mut text = Vec::new();
        let mut stream = Shown::new(&mut text, true);
        for part in parts {
            stream.write_all(part.as_bytes()).expect("a vector takes all");
        }
        stream.flush().expect("a vector takes all");
        String::from_utf8(text).expect("the parts are text")
    }

    #[test]
    fn the_first_words_of_lines_have_colours() {
        let red = "\u{1b}[1m\u{1b}[31m";
        let text = painted(&["disag", "ree: 2 engines\n", "they disagree: so\n", "no end"]);
        let expected = format!("{red}disagree:\u{1b}[0m 2 engines\nthey disagree: so\nno end");
        assert_eq!(text, expected, "the word at the beginning of a line, whatever the writes");
        assert_eq!(painted(&[]), "", "nothing");
        let hostile = painted(&["a\u{1b}[2J", "\0\n"]);
        assert_eq!(hostile, "a\\u{1b}[2J\\u{0}\n", "no colours but its own");
    }

    #[test]
    fn where_no_bar_is_seen_a_line_says_how_far_it_is() {
        let (lines, written) = channel();
        struct To(Sender<String>);
        impl Write for To {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                // The test has heard enough.
                let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let text = || Some("check: 1,234 of 10,208 runs".to_owned());
        let running = Lines::every(Duration::from_millis(1), To(lines), text);
        let mut said = String::new();
        while said.matches('\n').count() < 2 {
            said += &written.recv().expect("it writes on");
        }
        let two: Vec<_> = said.lines().take(2).collect();
        let first = "check: 1,234 of 10,208 runs, 1 min";
        assert_eq!(two, [first, "check: 1,234 of 10,208 runs, 2 min"], "a line each minute");
        drop(running);
        while let Ok(_more) = written.recv() {}
    }

    #[test]
    fn the_time_left_is_said_when_it_is_known() {
        let seconds = Duration::from_secs;
        assert_eq!(left((50, 200), seconds(20)), ", about 60s left", "at the speed so far");
        for (done, spent) in [((1, 200), 20), ((50, 200), 2), ((200, 200), 20), ((7, 0), 20)] {
            assert_eq!(left(done, seconds(spent)), "", "{done:?} in {spent} s");
        }
    }

    #[test]
    fn the_options_say_how_much_is_told() {
        let detail = |verbose, quiet| OutputArgs { verbose, quiet }.detail();
        assert_eq!(detail(false, false), Detail::Engines, "neither");
        assert_eq!(detail(true, false), Detail::Rows, "--verbose");
        assert_eq!(detail(false, true), Detail::Verdict, "--quiet");
    }
}
