//! No text that people read has a phrase that readers stumbled over: the help, the Python package, rustdoc, and the
//! messages and reports of the program. `tests/docs` reads the pages.

use std::fs;
use std::path::{Path, PathBuf};

use splatcheck::cli::help;
use splatcheck_tests::{below, odd_phrases, root};

/// The crates of the program: what rustdoc shows of them, and what they say.
const CRATES: [&str; 6] = [
    "harness/src",
    "harness/judge/src",
    "harness/workloads/src",
    "reference/src",
    "gpu/src",
    "gpu/emulator/src",
];

/// What rustdoc shows of a source.
fn documentation(source: &str) -> String {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
    });
    comments.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The string literals of a source, each on one line. A literal without a space is no sentence: a path or a name.
fn sentences(source: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(at) = rest.find(['/', '\'', '"', 'r']) {
        let before = rest[..at].chars().next_back();
        rest = &rest[at..];
        let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
        let is_raw = rest.starts_with('r')
            && rest[1 + hashes..].starts_with('"')
            && !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_raw {
            let text = &rest[hashes + 2..];
            let end = text.find(&format!("\"{}", "#".repeat(hashes))).expect("a raw string ends");
            found.push(text[..end].to_owned());
            end + 2 * hashes + 3
        } else if rest.starts_with('"') {
            let end = closing(rest, '"').expect("a string ends");
            found.push(rest[1..end].replace("\\\n", " "));
            end + 1
        } else if rest.starts_with("'\\") {
            closing(rest, '\'').expect("a character ends") + 1
        } else {
            // A character that is written as it is, or a lifetime.
            let mut characters = rest[1..].chars();
            let (one, end) = (characters.next(), characters.next());
            match (rest.starts_with('\''), one, end) {
                (true, Some(one), Some('\'')) => one.len_utf8() + 2,
                _ => 1,
            }
        };
        rest = &rest[length..];
    }
    let found = found.iter().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    found.filter(|text| text.contains(' ')).collect()
}

/// Where a literal ends that begins here: at the next of these characters without a backslash before it.
fn closing(literal: &str, end: char) -> Option<usize> {
    let mut characters = literal.char_indices().skip(1);
    while let Some((at, one)) = characters.next() {
        match one {
            '\\' => drop(characters.next()),
            one if one == end => return Some(at),
            _ => {}
        }
    }
    None
}

/// The odd phrases of some texts, each with the name of its text.
fn odd(texts: &[(String, String)]) -> Vec<String> {
    let found = texts.iter().flat_map(|(name, text)| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        odd_phrases(&words).map(move |phrase| format!("{name}: '{phrase}'"))
    });
    found.collect()
}

/// Files of these folders and this extension, each with its name.
fn sources(folders: &[&str], extension: &str) -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = Vec::new();
    folders.iter().for_each(|folder| below(&root().join(folder), extension, &mut files));
    let named = |file: &PathBuf| {
        let name = file.strip_prefix(root()).unwrap_or(Path::new("?")).display().to_string();
        (name, fs::read_to_string(file).expect("a text"))
    };
    files.iter().map(named).collect()
}

/// What a command says of itself, the sources of the Python package, whose docstrings are its reference, and
/// what rustdoc shows.
#[test]
fn no_help_says_what_readers_stumbled_over() {
    let mut texts = vec![("--help".to_owned(), help::command().render_long_help().to_string())];
    for command in help::command().get_subcommands_mut() {
        texts.push((command.get_name().to_owned(), command.render_long_help().to_string()));
    }
    texts.extend(sources(&["harness/python/python/splatcheck"], "py"));
    let crates = sources(&CRATES, "rs").into_iter();
    texts.extend(crates.map(|(name, source)| (name, documentation(&source))));
    assert!(texts.len() > 300, "{} texts", texts.len());
    let found = odd(&texts);
    assert!(found.is_empty(), "say it plainly: {found:#?}");
}

/// Messages and reports are strings of the sources; the reasons of mutants that nothing can tell apart are printed.
#[test]
fn no_message_says_what_readers_stumbled_over() {
    let mut texts = sources(&["tests/mutants"], "toml");
    let crates = sources(&CRATES, "rs").into_iter();
    texts.extend(crates.flat_map(|(name, source)| {
        sentences(&source).into_iter().map(move |text| (name.clone(), text))
    }));
    assert!(texts.len() > 2000, "{} texts", texts.len());
    let found = odd(&texts);
    assert!(found.is_empty(), "say it plainly: {found:#?}");
}

#[test]
fn the_sentences_of_a_source_are_its_strings() {
    let source = r##"//! "in a comment"
        fn f<'a>(c: char) -> &'a str {
            let quotes = ['"', '\'', '\\', 'x'];
            let raw = r#"a "raw" one"#; // "not this"
            for r in names { say("one \"two\" \
                three", "../path", b"four five") }
        }"##;
    let expected = ["a \"raw\" one", "one \\\"two\\\" three", "four five"];
    assert_eq!(sentences(source), expected);
}

#[test]
fn phrases_are_found_as_whole_words() {
    let found = |text: &str| odd_phrases(text).collect::<Vec<_>>();
    assert_eq!(found("It is TYPED IN."), ["typed in"]);
    assert_eq!(found("turns text into typed instructions"), [""; 0]);
}
