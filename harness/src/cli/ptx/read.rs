//! Reading a user's program, and its manifest.

use std::path::{Path, PathBuf};

use splatcheck_gpu::emulator::{Interface, OwnKernel, OwnKernelError};
use splatcheck_gpu::{Setting, Stage};

use crate::cli::compiler::{Compiler, CompilerArgs};
use crate::cli::exit::{CliError, one_line};
use crate::cli::language::expect_ptx;
use crate::cli::{formulation, paths};
use crate::manifest::{self, Manifest, ManifestKernel, entries};
use crate::user_kernel::UserKernel;
use splatcheck_judge::words;
use splatcheck_workloads::presets::Preset;

/// Reads a user's kernel, named as a manifest names one, that fits one of the `interfaces`, of which the first is the likeliest.
/// `option` is what the file was given as.
///
/// # Errors
/// What in the program does not fit the first, and where.
pub(in crate::cli) fn read_kernel(
    (option, file): (&str, &Path),
    compiler: &Compiler,
    entry: String,
    interfaces: &[Interface],
) -> Result<OwnKernel, CliError> {
    let text = compiler.text(option, file)?;
    expect_ptx(file, &text)?;
    let bad = |what: String| CliError::new(format!("{}: {what}", file.display()));
    // What has no entry points is no PTX, or none that runs, and is told so.
    let entry = match &entries(&text)[..] {
        [] => entry,
        names => manifest::entry(&entry, names).map_err(|error| bad(error.to_string()))?,
    };
    let read = |interface| OwnKernel::new(interface, text.clone(), entry.clone());
    let first = interfaces.first().copied().unwrap_or(Interface::Standard);
    let error = match read(first) {
        Err(error @ OwnKernelError::Parameters { .. }) => error,
        other => return other.map_err(|error| bad(error.to_string())),
    };
    let fitting = |those: &[Interface]| those.iter().find_map(|one| Some((*one, read(*one).ok()?)));
    if let Some((_, kernel)) = fitting(interfaces) {
        return Ok(kernel);
    }
    let hint = fitting(&Interface::ALL).map_or_else(String::new, |(interface, _)| {
        let names = formulation::named_by(interface);
        format!("\nIts parameters are those of a kernel under --formulation {names}")
    });
    Err(bad(format!("{error}{hint}")))
}

/// Reads a program with its manifest, and the files of launches that have their own. `fast_math` says how those
/// in CUDA are compiled.
///
/// # Errors
/// What is wrong in the manifest, with its line, or does not fit the program.
pub(in crate::cli) fn read_manifest(
    file: &Path,
    manifest: &Path,
    (compiler, fast_math): (CompilerArgs, bool),
) -> Result<UserKernel, CliError> {
    let written = paths::program("--manifest", manifest, "a manifest")?;
    let folder = manifest.parent().unwrap_or(Path::new(""));
    let preset = |name: &str| {
        Preset::find_beside(name, folder).map_err(|error| one_line(&CliError::of(error)))
    };
    let parsed = Manifest::parse_with(&written, &preset);
    let parsed = parsed.map_err(|problem| CliError::of(problem.in_file(manifest)))?;
    let beside: Vec<_> =
        parsed.files().into_iter().map(|name| (name.to_owned(), folder.join(name))).collect();
    let all = [file].into_iter().chain(beside.iter().map(|(_, path)| &**path));
    let compiler = compiler.of(all, Some(fast_math))?;
    let ptx = compiler.text("ptx", file)?;
    expect_ptx(file, &ptx)?;
    let option = format!("--manifest {}: a launch's file", manifest.display());
    let text = |(name, path): &(String, PathBuf)| Ok((name.clone(), compiler.text(&option, path)?));
    let texts = beside.iter().map(text).collect::<Result<_, CliError>>()?;
    let kernel = ManifestKernel::of_files(parsed, ptx, texts);
    let names = format!("{} with {}", file.display(), manifest.display());
    kernel.map(UserKernel::from).map_err(|error| CliError::new(format!("{names}: {error}")))
}

/// Which program is judged, and by which bounds; there is no setting where nothing is added up.
#[must_use]
pub fn heading(
    entry: &str,
    file: &Path,
    (stage, setting): (Stage, Option<Setting>),
    named: bool,
) -> String {
    let sums = match setting {
        None => String::new(),
        Some(setting) if named => format!(", bounds for {setting}"),
        Some(_) => {
            ", bounds for sums in any order (--reduction NAME gives tighter ones)".to_owned()
        }
    };
    format!("{stage} is {entry} of {}{sums}", words::shown_path(file))
}
