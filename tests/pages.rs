//! What the pages show: every command that they print has options that exist, and what they print of a command's
//! output is what it says today.
//!
//! In a block of text a line that begins with `$ ` is a command, and what follows is its output. The command of
//! another block stands in a comment above it, `<!-- printed by: COMMAND -->`. Of the output a page may show
//! some lines: they must come in this order. A line may end in `...`, and times are not compared.

mod pictures;

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use splatcheck::cli::help;
use splatcheck_judge::engines::command::CommandLine;
use splatcheck_tests::{pages, python, root, say, splatcheck, text};

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

/// What a command has that this test does not run, and why.
const LEFT_OUT: [(&str, &str); 39] = [
    ("pip install", "installs"),
    ("cargo ", "builds"),
    ("apt install", "installs"),
    ("curl ", "installs"),
    ("python3 -m venv", "installs"),
    ("tests/run", "builds, and runs this test"),
    ("nvcc ", "NVIDIA's compiler, of tests/nvcc.rs"),
    ("setup nvcc", "downloads"),
    (".cu ", "NVIDIA's compiler, of tests/nvcc.rs"),
    ("pytest ", "the reader's own test"),
    ("my_kernel", "the reader's own"),
    ("my_program", "the reader's own"),
    ("mine.", "the reader's own"),
    ("make_case.py", "the reader's own"),
    ("new_backward.ptx", "the reader's own"),
    ("atomic.ptx", "the reader's own"),
    ("FILE.ptx", "the reader's own"),
    ("KERNEL.", "the reader's own"),
    ("SCENE.ply", "a trained scene"),
    ("point_cloud.ply", "a trained scene"),
    ("splat.ply", "a trained scene"),
    ("PICTURE.png", "a picture"),
    ("CASE.", "a case's name"),
    ("CASE ", "a case's name"),
    ("gallery", "a test of its own: tests/gallery.rs"),
    ("../gsplat", "a checkout of another project"),
    ("acceptance", "minutes: tests/interrupted.rs begins it"),
    ("mutants", "minutes: tests/mutants.rs"),
    ("coverage", "minutes: tests/coverage.rs"),
    ("fuzz ", "minutes: tests/fuzzing.rs"),
    ("merge ", "the parts of a campaign: tests/merging.rs"),
    ("self-check", "minutes: all drivers of a machine, tests/judging.rs"),
    ("report ", "the file of a run: tests/report.rs"),
    ("chromium ", "a browser: tests/report/browser.rs"),
    ("sweep --full", "minutes: tests/sweep.rs"),
    ("sweep -o", "minutes: tests/sweep.rs"),
    ("splatcheck sweep\n", "minutes: tests/sweep.rs"),
    ("splatcheck traffic", "half a minute: tests/traffic.rs"),
    ("sweep corpora", "its picture is compared: pages/pictures.rs"),
];

/// What makes a page's command take seconds. Its files and options are the same.
const SHORTER: [(&str, &str); 6] = [
    (" --corpus corpora/splat", ""),
    ("--cases 100", "--cases 2"),
    ("--cases 40", "--cases 2"),
    ("--cases 12", "--cases 2"),
    ("--count 100", "--count 2"),
    ("example.py'", "example.py' --cases 2"),
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
        let output = shell.env_remove("SPLATCHECK_LOG").output().expect("a shell");
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        assert!(!said.is_empty(), "{line}: it prints nothing: {error}");
        Some((said, output.status.code()))
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
        ["disagree: ", "DISAGREE ", "misuse seen"].iter().any(|begin| line.starts_with(begin))
    };
    i32::from(output.lines().any(is_found))
}

/// The commands of a block whose output no page shows.
fn without_output(block: &Block) -> Vec<String> {
    let is_text = block.kind == "text";
    let whole = block.lines.join("\n").replace("\\\n", " ");
    let lines: Vec<_> = whole.lines().collect();
    let shows = |at: usize| {
        lines.get(at + 1).is_some_and(|next| !next.is_empty() && !next.starts_with("$ "))
    };
    let command = |(at, line): (usize, &&str)| {
        let typed =
            if is_text { line.strip_prefix("$ ").filter(|_| !shows(at)) } else { Some(*line) };
        let line = typed?.split(" # ").next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty() && !line.starts_with('#')).then_some(line)
    };
    lines.iter().enumerate().filter_map(command).collect()
}

/// Those whose output a page shows have their exit code compared with it; these have what they say.
#[test]
fn the_commands_on_the_pages_end_as_they_should() {
    let (reader, blocks) = (Reader::new(), blocks());
    let compared = blocks.iter().flat_map(shown).filter(|(_, lines)| !lines.is_empty());
    let compared: Vec<String> = compared.map(|(line, _)| line).collect();
    let kinds = ["sh", "text"];
    let all = blocks.iter().filter(|block| kinds.contains(&&*block.kind));
    let mut commands: Vec<_> = all.flat_map(without_output).collect();
    commands.retain(|line| !compared.contains(line));
    let mut unused: Vec<_> = LEFT_OUT.iter().map(|(part, _)| *part).collect();
    commands.retain(|line| {
        let line = format!("{line}\n");
        let left_out = LEFT_OUT.iter().find(|(part, _)| line.contains(part));
        unused.retain(|part| !line.contains(part));
        left_out.is_none()
    });
    assert!(unused.is_empty(), "no page has these any more: {unused:?}");
    for line in &mut commands {
        SHORTER.iter().for_each(|(long, short)| *line = line.replace(long, short));
    }
    commands.sort();
    commands.dedup();
    let mut wrong = Vec::new();
    for line in &commands {
        let Some((output, code)) = reader.output(line) else { continue };
        println!("{line}: {code:?}");
        if code != Some(expected_code(&output)) {
            wrong.push(format!("$ {line}\n  exit code {code:?}\n{output}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands.len() >= 10, "only {} commands were run", commands.len());
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
    for block in blocks().iter().filter(|block| ["sh", "text"].contains(&&*block.kind)) {
        let whole = block.lines.join("\n").replace("\\\n", " ");
        let is_text = block.kind == "text";
        let command = |line: &str| {
            let typed = line.strip_prefix("$ ");
            let line = if is_text { typed } else { Some(typed.unwrap_or(line)) }?.trim_start();
            line.starts_with("splatcheck ").then(|| line.to_owned())
        };
        let lines: Vec<_> = whole.lines().filter_map(command).collect();
        for line in &lines {
            let Some(words) = words(line) else {
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
