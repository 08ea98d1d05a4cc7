//! The kill matrix: kernels broken on purpose, and what kills them.
//!
//! A *mutant* is a patch of `tests/mutants` ([`splatcheck_gpu::mutation`]): CUDA's are compiled to PTX
//! that is checked in and run on the emulator under its schedules ([`emulated`]); WGSL's are applied
//! to the kernels' text by the child process of any other engine ([`device`]). What kills a mutant
//! is one of the emulator's observers, the oracle, or the count of atomics. A mutant *dies* with the
//! first case that kills it; one that nothing kills *survives*, which is an error of
//! the harness unless the mutant is equivalent to the original, argued for in its patch.
//!
//! Cases come in *classes* ([`class`]): the corpus, ordered so that the cases that aim at the
//! mutant's hazards come first, and each of the generators. The unchanged kernels go through the
//! very same procedure and must not be accused by anything.
//! [`generated`] makes mutants of every instruction in place of those that somebody thought of.
//! [`rates`] asks the cheaper question: on the first case that shows a mutant, how many seeds do.

pub mod class;
pub mod device;
pub mod emulated;
pub mod generated;
pub mod matrix;
pub mod rates;
pub mod table;

use splatcheck_gpu::archive::{Archive, ArchiveError};
use splatcheck_gpu::artifact::{ArtifactError, Manifest};
use splatcheck_gpu::mutation::{Mutation, MutationError, each};
use splatcheck_judge::io::{InputError, Unread, read};
use std::path::{Path, PathBuf};

/// What a mutant's kernels are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Runs as PTX.
    Cuda,
    /// Runs as text.
    Wgsl,
}

/// A mutant that can be run.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The workload of its kernels: the name of its folder.
    pub workload: String,
    /// What it is.
    pub mutation: Mutation,
    /// What it is written in.
    pub language: Language,
    /// The patch: the path of its file, and behind it the mutant's name.
    pub patch: PathBuf,
    /// The PTX of each of its kernels; empty for WGSL.
    pub ptx: Vec<String>,
}

/// Why the mutants cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum MutantsError {
    /// A file is missing or unreadable.
    #[error(transparent)]
    Read(#[from] InputError),
    /// The folder has no folder of a workload.
    #[error(
        "{} holds no mutants: expected a folder for each workload, with cuda, wgsl and ptx.tar.zst in it",
        .0.display()
    )]
    Empty(PathBuf),
    /// A patch is none.
    #[error(transparent)]
    Mutation(#[from] MutationError),
    /// A mutant's PTX is not the one that its patch was compiled to.
    #[error("the archive of mutants")]
    Artifact(#[from] ArtifactError),
    /// The archive with the mutants' PTX is none.
    #[error("cannot read {}", file.display())]
    Archive {
        /// The file.
        file: PathBuf,
        /// Why.
        source: ArchiveError,
    },
}

/// Reads the mutants of a folder (`tests/mutants`) that are wanted by their workload and name, workload by
/// workload, CUDA's first, by name; and what cannot be run of them.
///
/// # Errors
/// [`MutantsError`] where the folder cannot be listed, or holds none.
pub fn read_mutants(
    folder: &Path,
    wanted: &dyn Fn(&str, &str) -> bool,
) -> Result<(Vec<Mutant>, Unread), MutantsError> {
    let mut workloads = read::entries(folder)?;
    workloads.retain(|path| path.is_dir());
    if workloads.is_empty() {
        return Err(MutantsError::Empty(folder.into()));
    }
    let (mut mutants, mut unread) = (Vec::new(), Unread::default());
    for workload in workloads {
        for language in [Language::Cuda, Language::Wgsl] {
            match mutants_of(&workload, language, wanted) {
                Ok((good, bad)) => {
                    mutants.extend(good);
                    unread.extend(bad);
                }
                Err(error) => unread.add(error),
            }
        }
    }
    Ok((mutants, unread))
}

/// The mutants of one workload in a language.
fn mutants_of(
    folder: &Path,
    language: Language,
    wanted: &dyn Fn(&str, &str) -> bool,
) -> Result<(Vec<Mutant>, Unread), MutantsError> {
    let workload = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (name, compiled) = match language {
        Language::Cuda => ("cuda", Some(Compiled::read(folder)?)),
        Language::Wgsl => ("wgsl", None),
    };
    let mutant = |patch: PathBuf, name: &str, text: &str| -> Result<Mutant, MutantsError> {
        let mutation = Mutation::parse(name, text)?;
        let kernels = mutation.kernels.iter().map(|kernel| mutation.ptx_file(kernel));
        let ptx = match &compiled {
            Some(compiled) => kernels.map(|file| compiled.get(&file)).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Mutant { workload: workload.clone(), mutation, language, patch, ptx })
    };
    let mut mutants = Vec::new();
    for file in patches(&folder.join(name))? {
        let text = match read::text(&file) {
            Ok(text) => text,
            Err(error) => {
                mutants.push(Err(error.to_string()));
                continue;
            }
        };
        for (name, text) in each(&read::stem(&file), &text) {
            if wanted(&workload, name) {
                let at = |error| format!("{}: {error}", file.display());
                mutants.push(mutant(file.join(name), name, text).map_err(at));
            }
        }
    }
    let (mut good, bad) = Unread::sort(mutants.into_iter());
    good.sort_by(|a, b| a.mutation.name.cmp(&b.mutation.name));
    Ok((good, bad))
}

/// What the mutants of a workload were compiled to.
struct Compiled {
    manifest: Manifest,
    archive: Archive,
}

impl Compiled {
    fn read(folder: &Path) -> Result<Self, MutantsError> {
        let manifest = Manifest::parse(&read::text(&folder.join("ptx.json"))?)?;
        Ok(Self { manifest, archive: archive(folder.join("ptx.tar.zst"))? })
    }

    fn get(&self, file: &str) -> Result<String, MutantsError> {
        Ok(self.manifest.accept(file, self.archive.get(file))?.to_owned())
    }
}

fn archive(file: PathBuf) -> Result<Archive, MutantsError> {
    let bytes = read::bytes(&file)?;
    Archive::read(&bytes).map_err(|source| MutantsError::Archive { file, source })
}

/// The patches of a folder, by name.
fn patches(folder: &Path) -> Result<Vec<PathBuf>, MutantsError> {
    let mut paths = read::entries(folder)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    Ok(paths)
}

/// Who kills a mutant whose values agree, and which adds to memory more or less often than its reduction's rule
/// says ([`Catch::by`]).
pub const BY_COUNTS: &str = "counts";

/// What killed a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catch {
    /// Who, in a word or two: an observer of the emulator, `counts`, `no result`, or the output that
    /// the oracle disagrees with.
    pub by: String,
    /// In its own words, with the setting.
    pub words: String,
}
