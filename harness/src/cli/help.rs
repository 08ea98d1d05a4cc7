//! What `splatcheck --help` says, shell completions and the man page: all from the definitions of
//! [`super::args`].

use std::io::Write;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;
use super::exit::{CliError, Outcome};
use examples::EXAMPLES;

mod examples;

/// The commands by what a person comes for.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Judge your own kernel",
        &["gradcheck", "compare", "accuracy", "ptx", "wgsl", "check", "cases", "judge"],
    ),
    ("Look for more", &["fuzz", "merge", "replay", "report", "mutants", "gallery"]),
    ("Compute and measure", &["oracle", "render", "traffic", "sweep", "train"]),
    ("This machine", &["doctor", "self-check", "devices", "setup", "completions", "man"]),
];

/// The commands that measure this repository's own kernels and cases. They are hidden from the page and from
/// completions; a line names them.
const OF_THE_PROJECT: [&str; 4] = ["schedules", "coverage", "formulations", "acceptance"];

/// The command line as it is parsed and explained: every command with its example.
#[must_use]
pub fn command() -> Command {
    let template = format!(
        "{{about}}\nUsage: splatcheck COMMAND [OPTIONS]\n{}\nFor work on splatcheck itself: {}\n\
         Options and an example of every command: splatcheck COMMAND --help{{after-help}}\n",
        groups(&Cli::command()),
        OF_THE_PROJECT.join(", ")
    );
    EXAMPLES.iter().fold(Cli::command().help_template(template), |command, (name, lines)| {
        let head = if lines.len() == 1 { "Example" } else { "Examples" };
        let text = format!("{head}:\n  {}", lines.join("\n  "));
        command.mut_subcommand(name, |one| {
            let long = one.get_after_long_help().map(|more| format!("{text}\n\n{more}"));
            let one = one.after_help(text);
            long.into_iter().fold(one, Command::after_long_help)
        })
    })
}

/// A line for each command under the head of its group.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (head, names) in GROUPS {
        text.push_str(&format!("\n{head}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:13} {about}\n"));
        }
    }
    text
}

/// Writes the completions of a shell.
///
/// # Errors
/// Where they cannot be written.
pub fn completions(shell: Shell, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "splatcheck", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Agree)
}

/// Writes the man page, in roff: that of the command, then of each subcommand.
///
/// # Errors
/// Where it cannot be written.
pub fn man(out: &mut dyn Write) -> Result<Outcome, CliError> {
    let mut page = Vec::new();
    let mut command = command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let page_of = clap_mangen::Man::new(one.clone());
        page_of.render_name_section(&mut page)?;
        page_of.render_synopsis_section(&mut page)?;
        page_of.render_options_section(&mut page)?;
        page_of.render_extra_section(&mut page)?;
    }
    out.write_all(&page)?;
    Ok(Outcome::Agree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_the_page_fits_a_screen() {
        let command = command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        for one in shown.map(Command::get_name) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&one)).count();
            assert_eq!(groups, 1, "{one}: its groups");
        }
        for name in OF_THE_PROJECT {
            let command = command.find_subcommand(name);
            assert!(command.is_some_and(Command::is_hide_set), "{name}: hidden, and there");
        }
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(command.find_subcommand(name).is_some(), "{name}: no such command");
        }
        let page = command.clone().render_help().to_string();
        let widest = page.lines().map(|line| line.chars().count()).max();
        assert!(page.lines().count() <= 40 && widest <= Some(100), "{page}");
        assert!(!page.contains("--threshold"), "{page}");
        assert!(page.contains("Exit code: 0 agree"), "{page}");
    }

    #[test]
    fn completions_and_the_man_page_know_every_command() {
        let [mut script, mut page] = [Vec::new(), Vec::new()];
        completions(Shell::Bash, &mut script).expect("written");
        man(&mut page).expect("written");
        for (text, what) in [(script, "bash"), (page, "man")] {
            // In roff a hyphen is escaped.
            let text = String::from_utf8(text).expect("text").replace("\\-", "-");
            for name in GROUPS.iter().flat_map(|(_, names)| *names) {
                assert!(text.contains(name), "{what}: {name}");
            }
            assert!(text.contains("threshold"), "{what}: options");
        }
    }
}
