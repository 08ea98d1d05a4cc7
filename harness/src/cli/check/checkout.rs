//! `splatcheck check --checkout`: whether a project's kernels still have the parameters that a preset was
//! read at.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::cli::exit::{CliError, Outcome};
use crate::cli::paths;
use splatcheck_judge::words::{MOST_SHOWN, list, shown};
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::presets::source::{Declaration, Found, Source};

/// Looks at the kernels of one preset, or of all of our own.
///
/// # Errors
/// The folder or the preset is none; a file cannot be read; no preset has a file there, so that nothing was
/// compared.
pub fn run(preset: Option<&str>, folder: &Path, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let folder = paths::readable_folder("--checkout", folder)?;
    let presets = match preset {
        None => Preset::all().map(Arc::new).collect(),
        Some(name) => {
            vec![Preset::find(name).map_err(|error| CliError::caused("--preset", error))?]
        }
    };
    let mut seen = Seen::default();
    for preset in presets {
        writeln!(out, "{preset}")?;
        if preset.sources().is_empty() {
            let why = "no parameter list was read at a known commit or release";
            writeln!(out, "  not tied: {why}")?;
        }
        for source in preset.sources() {
            let found = source.look(&folder).map_err(CliError::of)?;
            seen.add(&found);
            writeln!(out, "  {}", shown(&line(source, &found), MOST_SHOWN))?;
        }
    }
    seen.outcome(preset.is_some())
}

/// How many declarations were compared, and how many were not found.
#[derive(Default)]
struct Seen {
    same: usize,
    differ: usize,
    absent: usize,
}

impl Seen {
    fn add(&mut self, found: &Found) {
        match found {
            // That a body is another is a note: what the preset says of the parameters still holds.
            Found::Same(_) | Found::BodyChanged(_) => self.same += 1,
            Found::Changed(_) | Found::KernelMissing => self.differ += 1,
            Found::FileMissing => self.absent += 1,
        }
    }

    /// A checkout has the files of one project: those of others are missing, unless one was named.
    fn outcome(&self, named: bool) -> Result<Outcome, CliError> {
        if self.same + self.differ == 0 {
            return Err(CliError::new(
                "--checkout: no file of a preset is there, so nothing was compared: name the root of the \
                 project's repository",
            ));
        }
        let missed = named && self.absent > 0;
        Ok(if self.differ > 0 || missed { Outcome::Disagree } else { Outcome::Agree })
    }
}

/// What was found, in a line.
fn line(source: &Source, found: &Found) -> String {
    let (kernel, file) = (&source.kernel, &source.file);
    let read = format!("{}, {}", source.repository, source.version());
    match found {
        Found::Same(_) if source.has_body() => format!("same: {kernel} in {file}, as in {read}"),
        Found::Same(now) => format!(
            "same parameters: {kernel} in {file}, as in {read}; its body is not tied{}",
            body_now(now)
        ),
        Found::BodyChanged(now) => format!(
            "parameters same, body changed: {kernel} in {file}, read in {read}: read it again{}",
            body_now(now)
        ),
        Found::Changed(now) => format!(
            "changed: {kernel} in {file}, read in {read}: {}; it now has {}, sha256 {}",
            source.differences(now).join("; "),
            list(now.names()),
            now.sha256(),
        ),
        Found::FileMissing => format!("file missing: {file}, of {read}"),
        Found::KernelMissing => format!("kernel missing: {kernel} in {file}, read in {read}"),
    }
}

/// The hash of a body, to be written into a preset.
fn body_now(now: &Declaration) -> String {
    now.body().map_or_else(String::new, |body| format!("; body now has sha256 {body}"))
}
