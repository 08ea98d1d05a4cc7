//! What is wrong with a source, and how an entry that is refused says all of it at once.

use std::collections::BTreeMap;

/// A PTX source that cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct ParseError {
    /// Line of the source, from 1; of several, the first.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

/// One thing that is wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) line: u32,
    /// The text is the opcode or the directive, which the emulator does not have.
    outside: bool,
    text: String,
}

impl Problem {
    pub(crate) fn new(line: u32, text: String) -> Self {
        Self { line, outside: false, text: shortened(&text) }
    }

    /// An instruction or directive that the emulator does not have.
    pub(crate) fn outside(line: u32, what: &str) -> Self {
        Self { line, outside: true, text: shortened(what) }
    }
}

/// Most characters of a source that a message repeats.
const SHOWN: usize = 200;

/// A text, or its beginning: a source may hold words of any length.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}... ({} characters in all)", &text[..end], text.chars().count())
        }
    }
}

impl From<Problem> for ParseError {
    fn from(problem: Problem) -> Self {
        let Problem { line, outside, text } = problem;
        let message =
            if outside { format!("'{text}' is outside the emulated subset") } else { text };
        Self { line, message }
    }
}

/// Lines that a group of equal instructions names before it only counts them.
const LINES: usize = 8;

/// Why `entry` cannot run: every instruction that the emulator does not have, with its lines, or else
/// what is written wrong. `origin` gives the CUDA line of a PTX line.
///
/// What is wrong beside unknown instructions is left out, because much of it follows from them.
pub(crate) fn refusal(
    entry: &str,
    problems: &[Problem],
    origin: impl Fn(u32) -> Option<String>,
) -> ParseError {
    let mut all: Vec<&Problem> = problems.iter().collect();
    all.sort_unstable();
    all.dedup();
    let place = |line: u32| match origin(line) {
        Some(cuda) => format!("{line} ({cuda})"),
        None => line.to_string(),
    };
    let outside: Vec<&Problem> = all.iter().copied().filter(|p| p.outside).collect();
    let Some(first) = outside.first() else {
        let line = all.first().map_or(1, |p| p.line);
        let text = all.first().map_or("nothing can be read of it", |p| p.text.as_str());
        let origin = origin(line).map(|cuda| format!(" ({cuda})")).unwrap_or_default();
        let more = match all.len() {
            0 | 1 => String::new(),
            count => format!(" (entry '{entry}' has {} more such lines)", count - 1),
        };
        return ParseError { line, message: format!("{text}{origin}{more}") };
    };
    let mut groups: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for problem in &outside {
        groups.entry(&problem.text).or_default().push(problem.line);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, lines)| lines[0]);
    let listed: Vec<String> = groups
        .iter()
        .map(|(what, lines)| {
            let shown: Vec<String> = lines.iter().take(LINES).map(|&l| place(l)).collect();
            let more = match lines.len().saturating_sub(LINES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let lines = if lines.len() == 1 {
                "line".to_owned()
            } else {
                format!("{}: lines", lines.len())
            };
            format!("{what} ({lines} {}{more})", shown.join(", "))
        })
        .collect();
    let mut message = format!(
        "entry '{entry}' is refused: {} outside the emulated subset: {}",
        counted(&outside),
        listed.join(", ")
    );
    let mut advice: Vec<&str> = groups.iter().filter_map(|(what, _)| way_round(what)).collect();
    advice.dedup();
    for text in advice {
        message.push_str(". ");
        message.push_str(text);
    }
    ParseError { line: first.line, message }
}

/// How many there are of what, as the subject of a sentence.
fn counted(all: &[&Problem]) -> String {
    let kind = |problem: &&Problem| match problem.text.as_bytes().first() {
        Some(b'.') => "directive",
        Some(b'%') => "special register",
        Some(_) | None => "instruction",
    };
    let first = all.first().map_or("instruction", kind);
    let noun = if all.iter().all(|problem| kind(problem) == first) { first } else { "line" };
    match all.len() {
        1 => format!("1 {noun} is"),
        count => format!("{count} {noun}s are"),
    }
}

/// What to write instead in a build for the test.
fn way_round(what: &str) -> Option<&'static str> {
    let mut parts = what.split('.');
    let has = |part: &str| what.split('.').any(|p| p == part);
    match parts.next().unwrap_or_default() {
        "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" => Some(
            "There are no textures and surfaces: in a build for this test, keep the image in a \
             buffer and read it by plain loads",
        ),
        "mma" | "wmma" | "wgmma" | "ldmatrix" | "stmatrix" | "tcgen05" => Some(
            "There are no tensor cores: in a build for this test, compute the product by a loop of \
             fma",
        ),
        "cp" | "mbarrier" | "cuda" | "fence"
            if what.contains("bulk") || what.contains("barrier") =>
        {
            Some(
                "There are no bulk copies and no mbarrier: in a build for this test, copy by plain \
                 loads and stores and wait at bar.sync",
            )
        }
        _ if has("acquire") || has("release") || has("acq_rel") => Some(
            "There are no accesses that order by themselves: in a build for this test, make the \
             access relaxed and put a fence beside it",
        ),
        _ if has("f16") || has("f16x2") || has("bf16") || has("bf16x2") => Some(
            "Of f16 and bf16 there are sums, products, fma, comparisons and conversions, and \
             atomic sums of one number or a pair, but no functions and no vectors: in a build for \
             this test, compute in f32 and convert back, or add one after the other",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_unknown_instructions_are_named_by_group_with_their_lines() {
        let mut problems = vec![
            Problem::outside(150, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
            Problem::new(140, "expected a known name, found '%x'".to_owned()),
            Problem::outside(131, "tex.2d.v4.f32.f32"),
            Problem::outside(120, "tex.2d.v4.f32.f32"),
        ];
        let origin = |line: u32| (line == 120).then(|| "k.cu:14".to_owned());
        let text = refusal("k", &problems, origin).to_string();
        assert!(
            text.starts_with(
                "PTX line 120: entry 'k' is refused: 3 instructions are outside the \
                 emulated subset: tex.2d.v4.f32.f32 (2: lines 120 (k.cu:14), 131), mma.sync"
            ),
            "{text}"
        );
        assert!(text.contains("(line 150). There are no textures"), "{text}");
        assert!(text.ends_with("by a loop of fma"), "{text}");
        assert!(!text.contains("known name"), "what follows from the others is left out: {text}");
        problems = (1..=10).map(|line| Problem::outside(line, "vadd2")).collect();
        let text = refusal("k", &problems, |_| None).to_string();
        assert!(text.ends_with("vadd2 (10: lines 1, 2, 3, 4, 5, 6, 7, 8 and 2 more)"), "{text}");
        problems = vec![Problem::outside(3, &"x".repeat(4_000_000))];
        let text = refusal("k", &problems, |_| None).to_string();
        assert!(text.ends_with("xx... (4000000 characters in all) (line 3)"), "{text}");
        assert!(text.len() < 500, "a message is short");
        problems = [3, 4].map(|line| Problem::new(line, "expected ';'".to_owned())).into();
        let text = refusal("k", &problems, |_| None).to_string();
        assert_eq!(text, "PTX line 3: expected ';' (entry 'k' has 1 more such lines)", "wrong");
    }
}
