//! `enable subgroups;`, which WGSL asks for ("Enable Extensions", section 4.1.1) and Naga, which has subgroups without
//! it, does not know.

use std::borrow::Cow;
use std::ops::Range;

/// What Naga does not know.
const SUBGROUPS: &str = "subgroups";

/// The text without `subgroups` among what its directives enable; all else stays where it is.
pub(super) fn without_subgroups(source: &str) -> Cow<'_, str> {
    if !source.contains(SUBGROUPS) {
        return source.into();
    }
    let gone = enabled(source);
    let mut text = String::with_capacity(source.len());
    for range in gone {
        text.push_str(&source[text.len()..range.start]);
        // Every token that goes is of one byte a letter.
        text.extend(range.map(|_| ' '));
    }
    text.push_str(&source[text.len()..]);
    text.into()
}

/// The tokens that enable subgroups, in order. Directives stand in front of everything else.
fn enabled(source: &str) -> Vec<Range<usize>> {
    let mut gone = Vec::new();
    let mut rest = tokens(source).peekable();
    while let Some(word) = rest.next_if(|token| is_directive(&source[token.clone()])) {
        let mut directive = vec![word];
        for token in rest.by_ref() {
            let ends = &source[token.clone()] == ";";
            directive.push(token);
            if ends {
                break;
            }
        }
        gone.extend(of_directive(source, directive));
    }
    gone
}

/// `diagnostic` and `requires` may stand between those that enable.
fn is_directive(word: &str) -> bool {
    matches!(word, "enable" | "diagnostic" | "requires")
}

/// The tokens of a directive that go: the name with the comma behind it; all of them where it is the only one. A list
/// may end with a comma, so that none in front of a name has to go.
fn of_directive(source: &str, tokens: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let word = |token: &Range<usize>| &source[token.clone()];
    let [first, names @ .., last] = &tokens[..] else { return Vec::new() };
    if word(first) != "enable" || word(last) != ";" {
        return Vec::new();
    }
    let mut pairs: Vec<&[Range<usize>]> = names.chunks(2).collect();
    let is_list = |pair: &&[Range<usize>]| pair.get(1).is_none_or(|comma| word(comma) == ",");
    if !pairs.iter().all(is_list) {
        return Vec::new();
    }
    let all = pairs.len();
    pairs.retain(|pair| word(&pair[0]) == SUBGROUPS);
    if pairs.len() == all && all > 0 {
        return tokens;
    }
    pairs.concat()
}

/// Where the tokens of a text are: names, and whatever else by the letter.
fn tokens(source: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += blank(&source[at..]);
        let rest = &source[at..];
        let first = rest.chars().next()?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match rest.find(|c| !is_name(c)) {
            _ if !is_name(first) => first.len_utf8(),
            Some(length) => length,
            None => rest.len(),
        };
        at += length;
        Some(at - length..at)
    })
}

/// What ends a line (WGSL, "Blankspace and Line Breaks").
const LINE_BREAKS: [char; 7] = ['\n', '\u{b}', '\u{c}', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Bytes of blanks and comments that a text begins with.
fn blank(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if rest.starts_with("//") {
            rest = &rest[rest.find(LINE_BREAKS).unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            rest = &rest[comment(rest)..];
        } else {
            return text.len() - rest.len();
        }
    }
}

/// Bytes of a comment between `/*` and `*/`, which may hold others.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(next) = text[at..].find(['*', '/']) {
        at += next;
        let pair = text.get(at..at + 2);
        match pair {
            Some("/*") => depth += 1,
            Some("*/") => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroups_are_no_extension_to_naga() {
        for (text, expected) in [
            ("enable subgroups;\nfn f() {}\n", "                 \nfn f() {}\n"),
            ("  enable f16, subgroups; // both\n", "  enable f16,          ; // both\n"),
            ("enable subgroups, f16;", "enable            f16;"),
            ("enable subgroups ;", "                  "),
            ("enable f16; enable subgroups;\n", "enable f16;                  \n"),
            ("enable\n  subgroups\n  ;fn f() {}", "      \n           \n   fn f() {}"),
            (
                "/* a /* b */ */ enable /* c */ subgroups; // enable subgroups;",
                "/* a /* b */ */        /* c */            // enable subgroups;",
            ),
            (
                "// ü\nrequires x; diagnostic(off, a.b);enable f16,\nsubgroups,;",
                "// ü\nrequires x; diagnostic(off, a.b);enable f16,\n          ;",
            ),
            ("enable f16;\n// subgroups\n", "enable f16;\n// subgroups\n"),
            ("fn enable() { subgroups(); }", "fn enable() { subgroups(); }"),
            ("const a = 1;\nenable subgroups;", "const a = 1;\nenable subgroups;"),
            ("enable f16 subgroups;", "enable f16 subgroups;"),
            ("enable subgroups", "enable subgroups"),
            ("/* subgroups /", "/* subgroups /"),
        ] {
            assert_eq!(without_subgroups(text), expected);
            assert_eq!(without_subgroups(text).len(), text.len(), "places stay");
        }
    }
}
