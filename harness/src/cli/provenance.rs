//! What a command judges, for the reports that name it.

use std::path::{Path, PathBuf};

use splatcheck_gpu::EngineKind;
use splatcheck_gpu::artifact::sha256;

use super::command::CommandPlan;
use crate::manifest::{Manifest, WgslKernel};
use crate::user_kernel::UserKernel;
use splatcheck_judge::campaign::EngineReport;
use splatcheck_judge::gate::{Provenance, Role, SourceFile};
use splatcheck_judge::io::read;
use splatcheck_workloads::splat::contract::Level;

/// The kernels of this version of splatcheck.
pub(super) fn of_ours(seed: Option<u64>) -> Provenance {
    Provenance { seed, ..Provenance::of("splatcheck's kernels") }
}

/// What a campaign's reports are of, of which nothing else is known.
pub(super) fn of_reports(reports: &[EngineReport]) -> Provenance {
    let program = reports.iter().find(|report| report.info.kind == EngineKind::Command);
    program.map_or_else(|| of_ours(None), |report| Provenance::of(&*report.info.adapter))
}

/// A user's kernel in PTX.
pub(super) fn of_ptx(
    kernel: &UserKernel,
    (file, manifest): (&Path, Option<&Path>),
    seed: u64,
) -> Provenance {
    let entries = kernel.entries().into_iter().map(str::to_owned).collect();
    let text = kernel.manifest().map(Manifest::text);
    let run = of_texts((file, kernel.ptx()), entries, manifest.zip(text), seed);
    let beside = manifest.and_then(Path::parent).unwrap_or(Path::new(""));
    let own = kernel.files().into_iter().map(|(name, text)| {
        SourceFile::new(Role::Program, beside.join(name).display().to_string(), text.as_bytes())
    });
    let run = Provenance { files: run.files.iter().cloned().chain(own).collect(), ..run };
    // As the manifest names them: what a compiler makes of a name is long.
    Provenance { subject: format!("{kernel} of {}", file.display()), ..run }
}

/// A user's kernel in WGSL.
pub(super) fn of_wgsl(
    kernel: &WgslKernel,
    (file, manifest): (&Path, &Path),
    seed: u64,
) -> Provenance {
    let launches = kernel.manifest().launches.iter();
    let entries = launches.map(|launch| launch.kernel.to_string()).collect();
    let manifest = Some((manifest, kernel.manifest().text()));
    of_texts((file, kernel.source()), entries, manifest, seed)
}

/// A file's name, and its text.
type NamedText = (String, String);

/// The kernels that a manifest of `gradcheck` launches: the programs, each of some files, and files of the manifest
/// that have what those lack.
pub(super) fn of_launches(
    question: &str,
    (manifest, text): (&Path, &str),
    (programs, others): (&[Vec<NamedText>], &[NamedText]),
) -> Provenance {
    let given: Vec<_> = programs.iter().flatten().collect();
    let names: Vec<_> = given.iter().map(|(file, _)| file.as_str()).collect();
    let stem = manifest.file_stem().unwrap_or_default().to_string_lossy();
    let subject = format!("{question} {stem} of {}", names.join(", "));
    let program = |(file, text): &NamedText| SourceFile::new(Role::Program, file, text.as_bytes());
    let files = given.into_iter().chain(others).map(program);
    let manifest = SourceFile::new(Role::Manifest, manifest.display().to_string(), text.as_bytes());
    Provenance { files: files.chain([manifest]).collect(), ..Provenance::of(subject) }
}

fn of_texts(
    (file, text): (&Path, &str),
    entry_points: Vec<String>,
    manifest: Option<(&Path, &str)>,
    seed: u64,
) -> Provenance {
    let source = |role, file: &Path, text: &str| {
        SourceFile::new(role, file.display().to_string(), text.as_bytes())
    };
    let manifest = manifest.map(|(file, text)| source(Role::Manifest, file, text));
    let program = source(Role::Program, file, text);
    let subject = format!("{} of {}", entry_points.join(", "), file.display());
    Provenance {
        entry_points,
        files: [program].into_iter().chain(manifest).collect(),
        seed: Some(seed),
        ..Provenance::of(subject)
    }
}

/// A user's program, with those of its words that are files.
pub(super) fn of_program(command: &CommandPlan, seed: Option<u64>) -> Provenance {
    let line = &command.line;
    let words = line.arguments().iter().map(PathBuf::from);
    let files = executable(line.program()).into_iter().chain(words);
    let mut files: Vec<_> = files.filter_map(|file| source(Role::Program, &file)).collect();
    let preset = command.promise.contract.preset();
    if let Some((name, text)) = preset.and_then(|preset| Some((preset.name(), preset.text()?))) {
        files.push(SourceFile::new(Role::Preset, name, text.as_bytes()));
    }
    let preset = preset.map(|preset| preset.name().to_owned());
    Provenance { files, preset, seed, ..Provenance::of(line.to_string()) }
}

/// A program by as what it is judged and what its files hold, whatever folders they are in.
pub(super) fn version_of(command: &CommandPlan) -> String {
    let contract = &command.promise.contract;
    let level = contract.level();
    let mut words = vec!["command".to_owned(), format!("level {level}")];
    if level == Level::Raster {
        let any = if command.promise.is_any() { "any, at first " } else { "" };
        words.push(format!("formulation {any}{}", contract.formulation()));
    }
    words.extend(contract.preset().map(|preset| format!("preset {}", preset.name())));
    if !contract.built_in().is_empty() {
        words.push(format!("with {}", contract.built_in()));
    }
    let files = of_program(command, None).files;
    let hashes: String = files.iter().map(|file| file.sha256.as_str()).collect();
    words.push(format!("files of SHA-256 {:.16}", sha256(hashes.as_bytes())));
    words.join(", ")
}

/// The file that a program's name stands for: a path, or the first of that name in the folders of `PATH`.
fn executable(name: &str) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(name.into());
    }
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// A file with its hash; nothing where there is no such file, or it cannot be read: the program may do
/// without it.
fn source(role: Role, file: &Path) -> Option<SourceFile> {
    let bytes = read::bytes_up_to(file, LARGEST).ok()?;
    Some(SourceFile::new(role, file.display().to_string(), &bytes))
}

/// Files beyond this size, in bytes, are data and no programs.
const LARGEST: u64 = 1 << 28;
