//! The words of a command line before they are parsed: where no command is among them, and what an error says
//! that has to know what was typed.

use std::env;
use std::ffi::OsString;

use clap::error::ErrorKind;

use splatcheck_judge::io::source_tree;
use splatcheck_judge::words::shell_word;

/// What one comes for: what to type, the page of the source tree that describes it, and what helps elsewhere.
const WELCOME: [[&str; 4]; 5] = [
    [
        "your CUDA kernel",
        "splatcheck ptx my.ptx --manifest my.toml",
        "cuda.md",
        "splatcheck ptx --help",
    ],
    [
        "your WGSL shader",
        "splatcheck wgsl my.wgsl --manifest my.toml",
        "wgsl.md",
        "splatcheck wgsl --help",
    ],
    [
        "your program",
        "splatcheck check --command 'python3 mine.py'",
        "program.md",
        "splatcheck check --help",
    ],
    [
        "forward and backward",
        "splatcheck gradcheck --manifest pair.toml",
        "gradcheck.md",
        "splatcheck gradcheck --help",
    ],
    ["from Python", "splatcheck.check(your_function)", "python.md", "help(splatcheck.check)"],
];

/// What one comes for, in six lines. Pages are named where they are.
fn welcome() -> String {
    let mut text =
        "splatcheck compares a GPU kernel's gradients with a float64 reference (all: splatcheck --help).\n".to_owned();
    for [who, what, page, help] in WELCOME {
        let page = format!("docs/src/{page}");
        let more = if source_tree::has(&page) { &page } else { help };
        text += &format!("  {who:20}  {what:44}  ({more})\n");
    }
    text
}

/// What `check` says to those who name no program.
const NO_PROGRAM: &str = "check judges your own program, which --command starts: splatcheck check --command \
                          'python3 mine.py'. For a kernel in CUDA or WGSL: splatcheck ptx or wgsl. To judge \
                          splatcheck's own kernels: splatcheck self-check";

/// The options of several commands that may stand in front of them.
const SHARED: [&str; 4] = ["-q", "--quiet", "-v", "--verbose"];

/// Whether `cargo run` started this program: cargo tells a package's programs its name
/// (doc.rust-lang.org/cargo/reference/environment-variables.html).
pub(super) fn is_run_by_cargo() -> bool {
    env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == env!("CARGO_PKG_NAME"))
}

/// The words with a command in front. `-q check` is `check -q`. Options alone are those of `self-check`, as they
/// always were. No words at all ask what there is, but of `cargo run --release`, which judges this project. nvcc's
/// `-std=c++20` is `--std=c++20`.
///
/// # Errors
/// What one comes for, where nothing was typed: nothing was judged, so that it must not look like a pass.
pub(super) fn with_command(
    mut words: Vec<OsString>,
    by_cargo: bool,
) -> Result<Vec<OsString>, clap::Error> {
    for word in &mut words {
        if word.to_str().is_some_and(|word| word == "-std" || word.starts_with("-std=")) {
            *word = format!("-{}", word.to_string_lossy()).into();
        }
    }
    let is = |word: &OsString, of: &[&str]| of.iter().any(|option| word == option);
    let front = words.iter().skip(1).take_while(|word| is(word, &SHARED)).count();
    let judge_own = |mut words: Vec<OsString>| {
        words.insert(words.len().min(1), "self-check".into());
        words
    };
    match words.get(1 + front) {
        None if words.len() <= 1 && !by_cargo => {
            let nothing = clap::Command::new("splatcheck").override_help(welcome());
            let asked = nothing.arg_required_else_help(true).try_get_matches_from(words);
            asked.map(|_| Vec::new())
        }
        Some(word) if is(word, &["-h", "--help", "-V", "--version"]) => Ok(words),
        Some(word) if !word.to_string_lossy().starts_with('-') => {
            words[1..=1 + front].rotate_left(front);
            Ok(words)
        }
        None | Some(_) => Ok(judge_own(words)),
    }
}

/// An error of the parser, or where it is one of `check` without a program, what to type.
pub(super) fn explained(error: clap::Error, words: &[String]) -> clap::Error {
    let is_check = words.first().is_some_and(|word| word == "check");
    let names = |word: &String| word == "--command" || word.starts_with("--command=");
    if !is_check || !error.use_stderr() || words.iter().any(names) {
        return error;
    }
    let options: Vec<_> = words[1..].iter().map(|word| shell_word(word)).collect();
    let same = format!("{NO_PROGRAM} {}", options.join(" "));
    clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{}\n", same.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str], by_cargo: bool) -> Result<String, String> {
        let words = words.iter().map(OsString::from).collect();
        let words = with_command(words, by_cargo).map_err(|error| error.to_string())?;
        Ok(words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_every_command_has_may_stand_in_front() {
        for (words, same) in [
            (&["s", "-q", "check", "--cases", "1"][..], "s check -q --cases 1"),
            (&["s", "-v", "-q", "ptx"], "s ptx -v -q"),
            (&["s", "check"], "s check"),
            (&["s", "--help"], "s --help"),
            (&["s", "ptx", "-std=c++20"], "s ptx --std=c++20"),
            (&["s", "-q", "-V"], "s -q -V"),
        ] {
            assert_eq!(typed(words, false).as_deref(), Ok(same), "{words:?}");
        }
    }

    #[test]
    fn options_without_a_command_are_those_of_self_check() {
        for (words, same) in [
            (&["s", "-q"][..], "s self-check -q"),
            (&["s", "--cases", "1"], "s self-check --cases 1"),
            (&["s", "-q", "--cases", "1"], "s self-check -q --cases 1"),
        ] {
            assert_eq!(typed(words, false).as_deref(), Ok(same), "{words:?}");
        }
    }

    #[test]
    fn nothing_typed_asks_what_there_is_and_cargo_judges() {
        let said = typed(&["s"], false).expect_err("nothing is judged");
        assert_eq!(said.lines().count(), 6, "{said}");
        assert!(said.lines().all(|line| line.len() <= 100), "{said}");
        for [_, what, page, help] in WELCOME {
            let page = format!("docs/src/{page}");
            assert!(
                said.contains(what) && said.contains(&page),
                "this test is in the tree: {said}"
            );
            assert!(source_tree::has(&page), "{page}");
            assert!(2 + 20 + 2 + 44 + 2 + help.len() + 2 <= 100, "{help}");
        }
        assert_eq!(typed(&["s"], true).as_deref(), Ok("s self-check"), "the main job");
        let error = with_command(vec!["s".into()], false).expect_err("nothing is judged");
        assert_eq!(error.exit_code(), 2, "no pass");
    }
}
