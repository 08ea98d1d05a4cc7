//! Reading the lines of a filetest.

use crate::number::number;

/// A line of a filetest that is not in the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ExpectationError {
    /// The line, from 1.
    pub line: usize,
    kind: ExpectationErrorKind,
}

/// What is wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExpectationErrorKind {
    #[error(
        "'{0}' is not a number: expected an integer, 0x..., a float such as 0x1.8p+1, inf or nan"
    )]
    Number(String),
    #[error("'{0}' does not fit into 32 bits")]
    Word(String),
    #[error("expected BLOCKS x THREADS, found '{0}'")]
    Launch(String),
    #[error("expected kernel(arguments), found '{0}'")]
    Call(String),
    #[error("expected kernel(arguments) == words, found '{0}'")]
    Run(String),
}

type Parsed<T> = Result<T, ExpectationErrorKind>;

/// What one line expects.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The line, from 1.
    pub line: usize,
    /// The launch; absent where the file itself is at fault.
    pub invocation: Option<Invocation>,
    /// What must come of it.
    pub outcome: Outcome,
    /// The kind of misuse beside which a launch that goes well lies.
    pub legal: Option<String>,
}

/// What must come of a launch or a file.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// `out` holds these words at the end.
    Words(Vec<u32>),
    /// An error with the first text, under schedules other than lockstep with any of them.
    Error(Vec<String>),
}

impl Outcome {
    /// Words of `out` where the file does not give them.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            Self::Words(words) => words.len(),
            Self::Error(_) => 64,
        }
    }
}

/// A launch as written.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
}

/// An argument as written.
#[derive(Clone, Debug)]
pub enum Argument {
    /// As many of its bytes as the parameter has, the lowest first.
    Number(u64),
    /// A buffer that holds these words.
    Buffer(Vec<u32>),
    /// The same of an input, which a kernel must not write.
    Input(Vec<u32>),
    /// The buffer that the expectation is about: with these words, or never written.
    Out(Option<Vec<u32>>),
}

/// All expectations of a file.
pub(crate) fn parse_file(source: &str) -> Result<Vec<Expectation>, ExpectationError> {
    let mut shape = (1, 1);
    let mut all = Vec::new();
    for (line, text) in (1..).zip(source.lines()) {
        let parsed = parse_line(text, &mut shape);
        let parsed = parsed.map_err(|kind| ExpectationError { line, kind })?;
        if let Some((invocation, outcome, legal)) = parsed {
            all.push(Expectation { line, invocation, outcome, legal });
        }
    }
    Ok(all)
}

/// The fields of an [`Expectation`] that a line gives.
type Fields = (Option<Invocation>, Outcome, Option<String>);

/// What a line expects, if anything; `shape` is that of the launches from here on.
fn parse_line(text: &str, shape: &mut (u32, u32)) -> Parsed<Option<Fields>> {
    if let Some(launch) = text.strip_prefix("// launch: ") {
        let sizes = launch.split_once(" x ").and_then(|(blocks, threads)| {
            Some((blocks.trim().parse().ok()?, threads.trim().parse().ok()?))
        });
        *shape = sizes.ok_or_else(|| ExpectationErrorKind::Launch(launch.to_owned()))?;
        return Ok(None);
    }
    let legal = text.strip_prefix("// legal: ").and_then(|text| text.split_once(": "));
    let run = text.strip_prefix("// run: ").or(legal.map(|(_, run)| run));
    if let Some(run) = run {
        let parts = run.split_once(" == ");
        let (call, words) = parts.ok_or_else(|| ExpectationErrorKind::Run(run.to_owned()))?;
        let outcome = Outcome::Words(parse_words(words)?);
        let legal = legal.map(|(kind, _)| kind.to_owned());
        return Ok(Some((Some(parse_call(call, *shape)?), outcome, legal)));
    }
    let Some(error) = text.strip_prefix("// error: ") else { return Ok(None) };
    let (invocation, texts) = match error.split_once("): ") {
        Some((call, texts)) if call.contains('(') => {
            (Some(parse_call(&format!("{call})"), *shape)?), texts)
        }
        Some(_) | None => (None, error),
    };
    let texts = texts.split(" | ").map(|text| text.trim().to_owned()).collect();
    Ok(Some((invocation, Outcome::Error(texts), None)))
}

fn parse_call(call: &str, (blocks, threads): (u32, u32)) -> Parsed<Invocation> {
    let parts = call.split_once('(');
    let parts = parts.and_then(|(kernel, rest)| Some((kernel, rest.trim_end().strip_suffix(')')?)));
    let (kernel, inside) = parts.ok_or_else(|| ExpectationErrorKind::Call(call.to_owned()))?;
    let mut arguments = Vec::new();
    for argument in split(inside) {
        arguments.push(if argument == "out" {
            Argument::Out(None)
        } else if let Some(words) = argument.strip_prefix("out[") {
            Argument::Out(Some(parse_words(&format!("[{words}"))?))
        } else if let Some(words) = argument.strip_prefix("in[") {
            Argument::Input(parse_words(&format!("[{words}"))?)
        } else if argument.starts_with('[') {
            Argument::Buffer(parse_words(argument)?)
        } else {
            Argument::Number(number(argument)?)
        });
    }
    Ok(Invocation { kernel: kernel.trim().to_owned(), blocks, threads, arguments })
}

/// Splits at the commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_words(text: &str) -> Parsed<Vec<u32>> {
    let text = text.trim();
    let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    let mut words = Vec::new();
    for element in split(inside) {
        let (value, count) = match element.split_once(" * ") {
            Some((value, count)) => {
                let bad = |_| ExpectationErrorKind::Number(count.to_owned());
                (value, count.parse().map_err(bad)?)
            }
            None => (element, 1),
        };
        let word = number(value)?;
        let word = u32::try_from(word)
            .or_else(|_| i32::try_from(word.cast_signed()).map(i32::cast_unsigned))
            .map_err(|_| ExpectationErrorKind::Word(value.to_owned()))?;
        words.extend(std::iter::repeat_n(word, count));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_the_launch_above_them() {
        let source = "// launch: 2 x 3\n// run: k(out[1], 0x1p+1, [2 * 2, -1]) == [7, nan]\nret;\n\
            // error: k(out): first | other\n// error: PTX line 1: no\n// legal: race: k(in[4]) == 1\n";
        let all = parse_file(source).expect("it is in the format");
        let [run, fault, refused, legal] = all.as_slice() else {
            panic!("four lines, not {all:?}")
        };
        let call = run.invocation.as_ref().expect("a launch");
        assert_eq!((call.kernel.as_str(), call.blocks, call.threads), ("k", 2, 3), "{call:?}");
        assert!(matches!(&call.arguments[0], Argument::Out(Some(words)) if words == &[1]), "out");
        assert!(matches!(call.arguments[1], Argument::Number(0x4000_0000)), "the bits of 2.0");
        let held = [2, 2, u32::MAX];
        assert!(matches!(&call.arguments[2], Argument::Buffer(words) if *words == held), "buffer");
        assert!(matches!(&run.outcome, Outcome::Words(w) if w == &[7, 0x7fff_ffff]), "the words");
        let texts = |outcome: &Outcome, expected: &[&str]| matches!(outcome, Outcome::Error(texts) if texts == expected);
        assert!(texts(&fault.outcome, &["first", "other"]) && fault.line == 4, "{fault:?}");
        assert!(texts(&refused.outcome, &["PTX line 1: no"]), "{refused:?}");
        assert!(refused.invocation.is_none(), "the file is at fault, no launch");
        assert_eq!(
            (legal.legal.as_deref(), run.legal.as_deref()),
            (Some("race"), None),
            "{legal:?}"
        );
        let call = legal.invocation.as_ref().expect("a launch");
        assert!(matches!(&call.arguments[0], Argument::Input(words) if words == &[4]), "input");
    }

    #[test]
    fn what_is_not_in_the_format_is_said_with_its_line() {
        for (text, says) in [
            ("// launch: 2", "line 1: expected BLOCKS x THREADS, found '2'"),
            ("// run: k(out) 7", "expected kernel(arguments) == words"),
            ("// run: k == 7", "expected kernel(arguments), found 'k'"),
            ("// run: k(out) == seven", "'seven' is not a number"),
            ("// run: k(out) == 4294967296", "does not fit into 32 bits"),
        ] {
            let error = parse_file(text).expect_err("it is not in the format").to_string();
            assert!(error.contains(says), "'{error}' does not say '{says}'");
        }
    }
}
