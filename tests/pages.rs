//! What the pages show: every command that they print has options that exist, and what they print of a command's
//! output is what it says today.
//!
//! In a block of text a line that begins with `$ ` is a command, and what follows is its output. The command of
//! another block stands in a comment above it, `<!-- printed by: COMMAND -->`. Of the output a page may show
//! some lines: they must come in this order. A line may end in `...`, and times are not compared.

mod pictures;
mod run;

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use splatcheck::cli::help;
use splatcheck_judge::engines::command::CommandLine;
use splatcheck_tests::{Said, pages, python, root, say, splatcheck, text};

/// Above a block of output.
const PRINTED_BY: &str = "<!-- printed by: ";

/// What a line of output begins with that a command must stand beside.
const OUTPUT: [&str; 6] =
    ["agree: ", "disagree: ", "DISAGREE ", "misuse seen", "measured ", "looks like: "];

/// What commands begin with whose output is not compared here, and why.
const NOT_RUN: [(&str, &str); 3] = [
    ("splatcheck formulations --ply scenes/", "trained scenes, which are not in the source tree"),
    ("cd harness/python", "speeds of the machine that measured them"),
    ("splatcheck gallery\n", "a test of its own: tests/gallery.rs"),
];

/// Pages that show what was measured on a day, which they name.
const MEASURED: [&str; 1] = ["docs/src/internals/main-job.md"];

/// A block of code of a page.
struct Block {
    page: String,
    /// What is written behind the fence.
    kind: String,
    /// The command in the comment above it.
    printed_by: Option<String>,
    lines: Vec<String>,
}

/// The blocks of code of all pages.
fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages(&root(), &["docs/src", "corpora"]) {
        let name = page.strip_prefix(root()).expect("below it").display().to_string();
        let text = fs::read_to_string(&page).expect("a page");
        let (mut open, mut printed_by): (Option<Block>, _) = (None, None);
        for line in text.lines() {
            if let Some(command) = line.strip_prefix(PRINTED_BY) {
                printed_by = Some(command.trim_end_matches(" -->").to_owned());
            } else if let Some(kind) = line.strip_prefix("```") {
                match open.take() {
                    Some(block) => blocks.push(block),
                    None => {
                        let (page, kind) = (name.clone(), kind.to_owned());
                        open = Some(Block {
                            page,
                            kind,
                            printed_by: printed_by.take(),
                            lines: vec![],
                        });
                    }
                }
            } else if let Some(block) = &mut open {
                block.lines.push(line.to_owned());
            }
        }
        assert!(open.is_none() && printed_by.is_none(), "{name}: a block without an end");
    }
    blocks
}

/// The commands that a block of text shows, each with its output.
fn shown(block: &Block) -> Vec<(String, Vec<String>)> {
    let mut shown: Vec<_> =
        block.printed_by.iter().map(|line| (line.clone(), Vec::new())).collect();
    for line in &block.lines {
        match (line.strip_prefix("$ "), shown.last_mut()) {
            (Some(command), _) => shown.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push(line.clone()),
            (None, None) => {}
        }
    }
    shown
}

/// A line without what differs from run to run: times, and the spaces of a table that a time makes wider.
pub(crate) fn plain(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let is_time = |at: usize| {
        words.get(at + 1).is_some_and(|unit| unit.trim_end_matches([',', ';', '.']) == "s")
            && words[at].parse::<f64>().is_ok()
    };
    let word = |(at, word): (usize, &&str)| {
        if is_time(at) { "TIME".to_owned() } else { (*word).to_owned() }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// The first line of a page that the output does not have, behind those before it.
fn stale<'l>(page: &'l [String], output: &str) -> Option<&'l str> {
    let mut rest = output.lines().map(plain);
    page.iter().map(String::as_str).find(|line| {
        let wanted = plain(line);
        let is = |found: String| match wanted.strip_suffix("...") {
            Some(begin) => found.starts_with(begin),
            None => found == wanted,
        };
        !matches!(wanted.as_str(), "" | "...") && !rest.by_ref().any(is)
    })
}

/// A folder in which the pages' commands find what they name, and the programs that they need.
struct Reader {
    folder: tempfile::TempDir,
    path: String,
    has_python: bool,
    has_drivers: bool,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for entry in fs::read_dir(root()).expect("the tree") {
            let entry = entry.expect("an entry");
            symlink(entry.path(), folder.path().join(entry.file_name())).expect("a link");
        }
        // A page says that it is in this folder.
        for file in fs::read_dir(root().join("harness/examples/gradcheck")).expect("the example") {
            let file = file.expect("an entry");
            symlink(file.path(), folder.path().join(file.file_name())).expect("a link");
        }
        let python = python("the pages' programs in Python");
        let program = splatcheck();
        let programs = [Some(program.get_program().into()), python.clone().map(PathBuf::from)];
        let folders = programs.iter().flatten().filter_map(|program| program.parent());
        let path = folders.map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":");
        let path = format!("{path}:{}", env::var("PATH").unwrap_or_default());
        let devices = say(folder.path(), &["devices"]).out;
        let has_drivers = devices.lines().any(|line| line.starts_with("lavapipe-8"));
        Self { folder, path, has_python: python.is_some(), has_drivers }
    }

    /// What a line of a shell prints on standard output, and its exit code; `None` where this machine lacks
    /// what it needs.
    fn output(&self, line: &str) -> Option<(String, Option<i32>)> {
        let said = self.said(line)?;
        assert!(!said.out.is_empty(), "{line}: it prints nothing: {}", said.err);
        Some((said.out, said.code))
    }

    /// All that a line of a shell says.
    fn said(&self, line: &str) -> Option<Said> {
        let lacks = |what: &str| {
            println!("NOT EXERCISED: {line}: there is no {what}");
            None
        };
        if line.contains("python3") && !self.has_python {
            return lacks("Python with numpy and safetensors (tests/setup)");
        }
        if line.contains("lavapipe") && !self.has_drivers {
            return lacks("lavapipe-8");
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.folder.path()).env("PATH", &self.path);
        // The page shows a reader's own run.
        let output = shell
            .env_remove("SPLATCHECK_LOG")
            .env_remove("GITHUB_STEP_SUMMARY")
            .output()
            .expect("a shell");
        let [out, err] = [&output.stdout, &output.stderr].map(|said| text(said));
        Some(Said { code: output.status.code(), out, err })
    }
}

#[test]
fn the_output_on_the_pages_is_what_the_commands_print() {
    let reader = Reader::new();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for block in blocks().iter().filter(|block| block.kind == "text") {
        if MEASURED.contains(&&*block.page) {
            continue;
        }
        let shown = shown(block);
        let is_output =
            |line: &String| OUTPUT.iter().any(|begin| line.trim_start().starts_with(begin));
        if shown.is_empty() && block.lines.iter().any(is_output) {
            wrong.push(format!("{}: no command for: {}", block.page, block.lines[0]));
        }
        for (command, lines) in shown {
            if lines.is_empty()
                || NOT_RUN.iter().any(|(begin, _)| format!("{command}\n").starts_with(begin))
            {
                continue;
            }
            let Some((output, code)) = reader.output(&command) else { continue };
            compared += 1;
            if code != Some(expected_code(&output)) {
                wrong.push(format!("{}: $ {command}\n  exit code {code:?}\n{output}", block.page));
            }
            if let Some(line) = stale(&lines, &output) {
                wrong.push(format!(
                    "{}: $ {command}\n  it does not print: {line}\n{output}",
                    block.page
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 10, "only {compared} outputs were compared");
}

/// The exit code that belongs to an output.
fn expected_code(output: &str) -> i32 {
    let is_found = |line: &str| {
        let begins = ["disagree: ", "DISAGREE ", "misuse seen"];
        // Of `mutants`: one that survives.
        let ends = [": no case shows a difference", " times sharper"];
        begins.iter().any(|begin| line.starts_with(begin))
            || ends.iter().any(|end| line.ends_with(end))
    };
    i32::from(output.lines().any(is_found))
}

/// The words of a page's line that calls splatcheck, up to a comment or another command.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.split(" # ").next()?.split(" || ").next()?;
    let line: CommandLine = line.trim().parse().ok()?;
    Some(["splatcheck".to_owned()].into_iter().chain(line.arguments().iter().cloned()).collect())
}

#[test]
fn every_command_on_the_pages_has_options_that_exist() {
    let mut wrong = Vec::new();
    let mut parsed = 0;
    for block in blocks().iter().filter(|block| ["sh", "text", "yaml"].contains(&&*block.kind)) {
        let whole = block.lines.join("\n").replace("\\\n", " ");
        let is_text = block.kind == "text";
        let command = |line: &str| {
            let typed = line.strip_prefix("$ ");
            let line = if is_text { typed } else { Some(typed.unwrap_or(line)) }?.trim_start();
            line.starts_with("splatcheck ").then(|| line.to_owned())
        };
        let jobs = if block.kind == "yaml" { run::jobs(block) } else { Vec::new() };
        let lines = whole.lines().map(str::to_owned).chain(jobs);
        for line in lines.filter_map(|line| command(&line)) {
            let Some(words) = words(&line) else {
                wrong.push(format!("{}: not a command: {line}", block.page));
                continue;
            };
            parsed += 1;
            if let Err(error) = help::command().try_get_matches_from(words) {
                wrong.push(format!("{}: {line}\n{error}", block.page));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 60, "only {parsed} commands were found");
}

#[test]
fn times_are_no_part_of_a_page_and_all_else_is() {
    let output =
        "agree: 2 runs\nemulator  2   0   1.25 s\nrun it again: replay out/x.safetensors\n";
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for same in
        ["agree: 2 runs", "emulator 2 0 0.5 s", "agree: 2 runs\n...\nrun it again: replay out/..."]
    {
        assert_eq!(stale(&lines(same), output), None, "{same}");
    }
    for (other, first) in [
        ("agree: 3 runs", "agree: 3 runs"),
        ("emulator 3 0 0.5 s", "emulator 3 0 0.5 s"),
        ("emulator  2   0   1.25 s\nagree: 2 runs", "agree: 2 runs"),
    ] {
        assert_eq!(stale(&lines(other), output), Some(first), "{other}");
    }
}
