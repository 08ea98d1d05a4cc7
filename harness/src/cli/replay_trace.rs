//! `splatcheck replay` of a failure on the emulator: the recorded decisions and no others.

use std::io::Write;

use splatcheck_gpu::Setting;

use super::exit::{CliError, Outcome, conclude};
use crate::emulated::{self, Recording, Replayed};
use splatcheck_gpu::Stage;
use splatcheck_judge::campaign::Item;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::words::count;

/// Which schedule a replay follows that kept so many decisions.
fn schedule(kept: usize) -> String {
    match kept {
        0 => "in lockstep".to_owned(),
        kept => format!("{}, then lockstep", count(kept, "recorded decision")),
    }
}

/// Runs the recorded stage, says what fails now, and whether that is bit for bit what was recorded.
///
/// # Errors
/// The emulator does not open, the program that ran is not what it was built as, or standard output
/// failed.
pub(super) fn run(
    (recording, diagnosis): (&Recording, Option<&str>),
    run: (Stage, Option<Setting>),
    item: &Item,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let failed = |error| CliError::caused(format!("engine {}", recording.emulation), error);
    let Replayed { fault, lines, program } =
        emulated::replay(recording, run, item).map_err(failed)?;
    let (stage, setting) = run;
    let setting_text = setting.map_or_else(String::new, |setting| format!(", {setting}"));
    writeln!(
        out,
        "{}: {stage}{setting_text}, {}",
        recording.emulation,
        schedule(recording.kept())
    )?;
    let kernel = recording.kernel.as_ref();
    if let Some(what) = kernel.and_then(|kernel| kernel.observe.not_sought()) {
        writeln!(out, "  {what}")?;
    }
    writeln!(out, "  program {}", recording.artifact)?;
    if program != recording.artifact {
        writeln!(out, "  CHANGED since it was recorded: now it is {program}")?;
    }
    let found = fault.as_ref().map(emulated::describe);
    if let Some(diagnosis) = diagnosis.filter(|_| found.is_some()) {
        writeln!(out, "  when it was found: {diagnosis}")?;
    }
    match &found {
        Some(failure) => writeln!(out, "  {failure}")?,
        None => writeln!(out, "  nothing fails")?,
    }
    for line in &lines {
        writeln!(out, "  {line}")?;
    }
    if found.as_deref() == Some(&recording.failure) {
        writeln!(out, "  exactly the recorded failure")?;
    } else {
        writeln!(out, "  recorded was: {}", recording.failure)?;
    }
    let outcome = conclude(&Evidence::of_failures(found.into_iter().collect()))?;
    let verdict = match outcome {
        Outcome::Agree => "agree",
        Outcome::Disagree => "DISAGREE",
        Outcome::Interrupted => "interrupted",
    };
    writeln!(out, "\n{verdict}")?;
    out.flush()?;
    Ok(outcome)
}
