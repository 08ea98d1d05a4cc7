//! How much a command prints, how far it is, and in which colours.

use std::io::{self, Write};

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::Detail;

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

/// A bar on standard error; nothing where that is no terminal.
pub(super) fn progress_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// As [`progress_bar`], none where little is to be said.
pub(super) fn progress_of(detail: Detail, total: u64) -> ProgressBar {
    match detail {
        Detail::Verdict => ProgressBar::hidden(),
        Detail::Engines | Detail::Rows => progress_bar(total),
    }
}

/// Standard output, in colours on a terminal that shows them: not where it is piped, nor with `NO_COLOR`
/// (no-color.org) set.
#[must_use]
pub fn standard_output() -> Box<dyn Write> {
    match anstream::AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => Box::new(io::stdout()),
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => {
            Box::new(Painted::new(anstream::stdout()))
        }
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

/// A stream that colours the first words of lines.
struct Painted<W: Write> {
    stream: W,
    /// What was written of a line that is not ended.
    line: Vec<u8>,
}

impl<W: Write> Painted<W> {
    fn new(stream: W) -> Self {
        Self { stream, line: Vec::new() }
    }

    /// Hands the line on.
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let known = WORDS.iter().find(|(word, _)| line.starts_with(word.as_bytes()));
        let Some((word, color)) = known else { return self.stream.write_all(&line) };
        let style = Style::new().bold().fg_color(Some((*color).into()));
        write!(self.stream, "{style}{word}{style:#}")?;
        self.stream.write_all(&line[word.len()..])
    }
}

impl<W: Write> Write for Painted<W> {
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
        let mut stream = Painted::new(&mut text);
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
    }

    #[test]
    fn the_options_say_how_much_is_told() {
        let detail = |verbose, quiet| OutputArgs { verbose, quiet }.detail();
        assert_eq!(detail(false, false), Detail::Engines, "neither");
        assert_eq!(detail(true, false), Detail::Rows, "--verbose");
        assert_eq!(detail(false, true), Detail::Verdict, "--quiet");
    }
}
