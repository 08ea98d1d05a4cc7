//! The table of PTX artifacts: what is compiled from `kernels/cuda` into `kernels/ptx.tar.zst`, and how.
//!
//! An artifact is one kernel of one stage as PTX, which every driver for CUDA 12.4 or later loads
//! without a compiler being installed. The archive is checked in and built into this crate; the texts'
//! hashes, the options and the hashes of the sources stand in `kernels/ptx.json`, and an artifact
//! whose text is not what the manifest says is refused. The test `ptx` derives the archive anew;
//! `gpu/tests/ptx/snapshots` has what a person reviews: registers, shared memory and instructions.
//!
//! Every workload has a folder of its own in both; what all workloads share lies beside the folders.
//!
//! Names: `<entry>[.d<D>].<architecture>[.fast].ptx`, where the entry point is
//! `<stage>[_<reduction>]`. `d3` is for exactly 3 channels, `d32` for every number up to 32: its
//! kernels take the number as a parameter. The stages of the projection hold no array of channels
//! and exist once for every D.

use crate::archive::Archive;
use crate::reduction::{Ending, Kernel, Reduction, Setting};
use crate::stage::{Language, Sizes, StageSpec, Text};
use crate::stages::Stage;
use crate::stages::probe::PROBE;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

static FILES: LazyLock<Result<Archive, String>> = LazyLock::new(|| {
    Archive::read(include_bytes!("../kernels/ptx.tar.zst")).map_err(|error| error.to_string())
});

static MANIFEST: LazyLock<Result<Manifest, ArtifactError>> =
    LazyLock::new(|| Manifest::parse(include_str!("../kernels/ptx.json")));

/// The virtual architecture of all artifacts, for devices of compute capability 7.5 (Turing) and above. A
/// newer device's driver compiles the same text for it. No kernel has an instruction that needs more: the
/// texts for `compute_90` differed in the line `.target` alone.
pub const ARCHITECTURE: &str = "compute_75";

/// Ten times the lowest compute capability that artifacts run on.
pub const LOWEST_CAPABILITY: u32 = 75;

/// For how many channels a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channels {
    /// For this number only.
    Exactly(u32),
    /// For 1 to this number, given at run time.
    UpTo(u32),
}

/// One kernel, compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Artifact {
    /// The stage's name: one of [`Stage::all`]'s, the probe's, or a second launch's.
    pub stage: &'static str,
    /// For the stages that accumulate.
    pub reduction: Option<Reduction>,
    /// For stages whose kernels are compiled for a number of channels.
    pub channels: Option<Channels>,
    /// Whether `--use_fast_math` was given.
    pub fast_math: bool,
}

/// Which of the compiled kernels a device runs: of each, one was compiled for every choice here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Whether `--use_fast_math` was given.
    pub fast_math: bool,
}

impl Build {
    /// The artifact that runs a stage under a setting, on a job of these sizes: the number of
    /// channels chooses between the kernels where the stage is compiled for one.
    #[must_use]
    pub fn artifact(
        self,
        stage: &'static StageSpec,
        setting: Option<Setting>,
        sizes: &Sizes,
    ) -> Artifact {
        Artifact {
            stage: stage.name,
            reduction: setting.map(|setting| setting.reduction),
            channels: stage.compiled_for.map(|_| channels_for(stage.compiled_size(sizes))),
            fast_math: self.fast_math,
        }
    }

    /// The artifacts of all launches of such a run: [`Self::artifact`], and that of the second where
    /// there are two.
    #[must_use]
    pub fn artifacts(
        self,
        stage: &'static StageSpec,
        setting: Option<Setting>,
        sizes: &Sizes,
    ) -> Vec<Artifact> {
        let twice = stage.extra_launches(setting.map(|setting| setting.reduction));
        let second =
            twice.and_then(|twice| twice.second).map(|second| self.artifact(second, None, sizes));
        [self.artifact(stage, setting, sizes)].into_iter().chain(second).collect()
    }
}

/// The numbers of channels that kernels are compiled for.
const CHANNELS: [Option<Channels>; 2] = [Some(Channels::Exactly(3)), Some(Channels::UpTo(32))];

/// Every artifact: the probe's, then those of the stages in their order, each with those of its second
/// launches.
#[must_use]
pub fn all() -> Vec<Artifact> {
    rows().flat_map(artifacts).collect()
}

/// Every row that kernels are compiled for by themselves: first launches have their stage's name.
fn rows() -> impl Iterator<Item = &'static StageSpec> {
    let stages = Stage::all().map(Stage::spec);
    let with_second = |stage: &'static StageSpec| {
        [stage].into_iter().chain(stage.extra_launches.iter().filter_map(|t| t.second))
    };
    [&PROBE].into_iter().chain(stages.flat_map(with_second))
}

/// Everything that a stage is compiled for.
fn artifacts(spec: &'static StageSpec) -> Vec<Artifact> {
    let mut reductions: Vec<_> = spec.reductions().map(Some).collect();
    if reductions.is_empty() {
        reductions.push(None);
    }
    let channels = if spec.compiled_for.is_some() { &CHANNELS[..] } else { &[None] };
    let mut all = Vec::new();
    for &channels in channels {
        for &reduction in &reductions {
            for fast_math in [false, true] {
                all.push(Artifact { stage: spec.name, reduction, channels, fast_math });
            }
        }
    }
    all
}

impl Artifact {
    /// The kernel of the same stage and setting in a language. One in WGSL is compiled for the job's own number of
    /// channels.
    #[must_use]
    pub fn written_in(self, language: Language, stage: &StageSpec, sizes: &Sizes) -> Self {
        match language {
            Language::Ptx => self,
            Language::Wgsl => {
                let size = stage.compiled_size(sizes);
                Self { channels: self.channels.map(|_| Channels::Exactly(size)), ..self }
            }
        }
    }

    /// The workload, whose folder the source and the compiled file lie in; empty for what every
    /// workload shares.
    #[must_use]
    pub fn workload(&self) -> &'static str {
        self.spec().map_or("", |stage| stage.workload)
    }

    /// A file of the workload, from the folder of all workloads.
    fn in_folder(&self, file: &str) -> String {
        match self.workload() {
            "" => file.to_owned(),
            workload => format!("{workload}/{file}"),
        }
    }

    /// Name of the kernel's entry point.
    #[must_use]
    pub fn entry(&self) -> String {
        self.of_reduction(self.stage)
    }

    /// Path in the archive: the workload's folder and [`Self::file`].
    #[must_use]
    pub fn path(&self) -> String {
        self.in_folder(&self.file())
    }

    /// Name of the file, which no other artifact of any workload has.
    #[must_use]
    pub fn file(&self) -> String {
        let mut name = self.entry();
        if let Some(Channels::Exactly(d) | Channels::UpTo(d)) = self.channels {
            let _ = write!(name, ".d{d}");
        }
        let _ = write!(name, ".{ARCHITECTURE}");
        if self.fast_math {
            name.push_str(".fast");
        }
        name + ".ptx"
    }

    /// Whether both are the kernel of one stage and reduction, for whatever sizes and however compiled.
    #[must_use]
    pub fn is_of_kernel(&self, other: &Self) -> bool {
        (self.stage, self.reduction) == (other.stage, other.reduction)
    }

    /// What the kernel is called where it is the one in WGSL: the workload's folder, the entry point and the number
    /// of channels.
    #[must_use]
    pub fn wgsl_name(&self) -> String {
        let channels = match self.channels {
            Some(Channels::Exactly(d) | Channels::UpTo(d)) => format!(".d{d}"),
            None => String::new(),
        };
        self.in_folder(&format!("{}{channels}.wgsl", self.entry()))
    }

    /// Path of the source from `kernels/cuda`, which is also the folder of the headers.
    #[must_use]
    pub fn source(&self) -> String {
        self.in_folder(&match self.kernel() {
            Some(Kernel::Own { file, .. }) => format!("{}_{file}.cu", self.text().name),
            Some(Kernel::Any(_) | Kernel::OnlyKeyed) | None => format!("{}.cu", self.text().name),
        })
    }

    /// The standard formulation of its stage: the stage itself, where it is none of another.
    #[must_use]
    pub fn standard_stage(&self) -> &'static str {
        self.spec().map_or(self.stage, StageSpec::standard)
    }

    /// The entry point's name of the same reduction in the standard formulation.
    #[must_use]
    pub fn standard_entry(&self) -> String {
        self.of_reduction(self.standard_stage())
    }

    /// The row of its launch.
    #[must_use]
    pub fn spec(&self) -> Option<&'static StageSpec> {
        rows().find(|row| row.name == self.stage).map(|row| row.launched(self.reduction))
    }

    /// The stage and reduction that a run must ask for to launch it; `None` for the probe.
    #[must_use]
    pub fn judged(&self) -> Option<(Stage, Option<Reduction>)> {
        let second = |stage: &Stage| {
            let twice = stage
                .extra_launches
                .iter()
                .find(|twice| twice.second.is_some_and(|second| second.name == self.stage));
            twice.map(|twice| (*stage, Some(twice.reduction)))
        };
        let named = |stage: &Stage| (stage.name == self.stage).then_some((*stage, self.reduction));
        Stage::all().find_map(|stage| named(&stage).or_else(|| second(&stage)))
    }

    /// The text of its stage.
    fn text(&self) -> Text {
        self.spec().map_or(Text::of(self.stage), |stage| stage.text)
    }

    /// Whether it makes the outputs of what another launch has added up.
    #[must_use]
    pub fn is_second_launch(&self) -> bool {
        self.judged().is_some_and(|(stage, _)| stage.name != self.stage)
    }

    /// A name with that of its reduction.
    fn of_reduction(&self, name: &str) -> String {
        match self.reduction {
            Some(reduction) => format!("{name}_{}", reduction.row().spelling),
            None => name.to_owned(),
        }
    }

    /// Where the kernels of its reduction are.
    fn kernel(&self) -> Option<Kernel> {
        self.reduction.map(|reduction| reduction.row().kernel)
    }

    /// The compiler's options, the folder of the headers apart.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let mut options = vec![
            format!("--gpu-architecture={ARCHITECTURE}"),
            "--std=c++17".to_owned(),
            format!("--define-macro=ENTRY={}", self.entry()),
        ];
        if let Some(channels) = self.channels {
            let (Channels::Exactly(d) | Channels::UpTo(d)) = channels;
            options.push(format!("--define-macro=CHANNELS={d}"));
            if matches!(channels, Channels::Exactly(_)) {
                options.push("--define-macro=EXACT_CHANNELS".to_owned());
            }
        }
        let constants = self.text().constants.iter();
        options.extend(constants.map(|(name, value)| format!("--define-macro={name}={value}")));
        let ending = |spec: &StageSpec| spec.ending(self.reduction?);
        if let Some(Ending { cuda, .. }) = self.spec().and_then(ending) {
            options.push(format!("--define-macro=REDUCTION=\"{cuda}\""));
        }
        if let Some(per_lane @ 2..) = self.reduction.map(|reduction| reduction.row().per_lane) {
            options.push(format!("--define-macro=PER_LANE={per_lane}"));
        }
        if self.fast_math {
            options.push("--use_fast_math".to_owned());
        }
        options
    }

    /// The PTX, as it is built into this program.
    ///
    /// # Errors
    /// [`ArtifactError`] where it is missing or is not the one in the manifest.
    pub fn ptx(&self) -> Result<&'static str, ArtifactError> {
        let file = self.path();
        let archive = FILES.as_ref().map_err(|error| ArtifactError::Archive(error.clone()))?;
        let manifest = MANIFEST.as_ref().map_err(Clone::clone)?;
        manifest.accept(&file, archive.get(&file))
    }
}

/// The kernel that rasterizes `channels` channels: the one for exactly that many, if there is one.
fn channels_for(channels: u32) -> Channels {
    if channels == 3 { Channels::Exactly(3) } else { Channels::UpTo(32) }
}

/// Why an artifact is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    /// The archive is none.
    #[error("ptx.tar.zst: {0}")]
    Archive(String),
    /// The manifest is not one.
    #[error("ptx.json: {0}")]
    Manifest(String),
    /// The text or its line in the manifest is missing.
    #[error("{0} is missing from {1}")]
    Missing(String, &'static str),
    /// The text is not the one that the manifest was written for.
    #[error(
        "ptx.tar.zst: {file} was changed: its SHA-256 is {found}, the manifest's is {expected}; \
         derive it anew (SPLAT_PTX=write cargo test -p splatcheck-gpu --release --test ptx)"
    )]
    Changed {
        /// The file.
        file: String,
        /// The text's hash.
        found: String,
        /// The manifest's.
        expected: String,
    },
}

/// What the artifacts were made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// SHA-256 of every source and header, by path from the folder of the sources.
    pub sources: BTreeMap<String, String>,
    /// Every artifact, by path from the manifest's folder.
    pub artifacts: BTreeMap<String, Derived>,
}

/// One artifact in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// SHA-256 of the PTX.
    pub sha256: String,
    /// See [`Artifact::options`].
    pub options: Vec<String>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ArtifactError::Manifest`] in the parser's words.
    pub fn parse(text: &str) -> Result<Self, ArtifactError> {
        serde_json::from_str(text).map_err(|e| ArtifactError::Manifest(e.to_string()))
    }

    /// Gives `text` back if it is the artifact `file` as the manifest knows it.
    ///
    /// # Errors
    /// [`ArtifactError::Missing`] or [`ArtifactError::Changed`].
    pub fn accept<'a>(&self, file: &str, text: Option<&'a str>) -> Result<&'a str, ArtifactError> {
        let missing = |whence| ArtifactError::Missing(file.to_owned(), whence);
        let text = text.ok_or_else(|| missing("ptx.tar.zst"))?;
        let expected = &self.artifacts.get(file).ok_or_else(|| missing("ptx.json"))?.sha256;
        let found = sha256(text.as_bytes());
        if found == *expected {
            Ok(text)
        } else {
            Err(ArtifactError::Changed { file: file.to_owned(), found, expected: expected.clone() })
        }
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_artifacts_share_a_name() {
        let files: std::collections::BTreeSet<_> = all().iter().map(Artifact::file).collect();
        assert_eq!(
            files.len(),
            all().len(),
            "messages and mutants name artifacts without a folder"
        );
    }

    #[test]
    fn every_artifact_is_built_in_and_whole() {
        for artifact in all() {
            let ptx = artifact.ptx().unwrap_or_else(|e| panic!("{e}"));
            let entry = format!(".visible .entry {}(", artifact.entry());
            assert!(ptx.contains(&entry), "{} has no {entry}", artifact.file());
        }
    }

    #[test]
    fn a_changed_or_missing_artifact_is_refused() {
        let artifact = all()[0];
        let ptx = artifact.ptx().expect("it is built in");
        let file = artifact.path();
        let derived = Derived { sha256: sha256(ptx.as_bytes()), options: artifact.options() };
        let manifest = Manifest {
            sources: BTreeMap::new(),
            artifacts: BTreeMap::from([(file.clone(), derived)]),
        };
        assert_eq!(manifest.accept(&file, Some(ptx)), Ok(ptx), "it is what the manifest says");
        let changed = ptx.replacen("add.f32", "sub.f32", 1);
        let error = manifest.accept(&file, Some(&changed)).expect_err("the text was changed");
        assert!(error.to_string().contains("was changed: its SHA-256 is"), "unhelpful: {error}");
        let error = manifest.accept(&file, None).expect_err("there is no text");
        assert!(error.to_string().contains("is missing from ptx.tar.zst"), "unhelpful: {error}");
        let error = manifest.accept("other.ptx", Some(ptx)).expect_err("the manifest lacks it");
        assert!(error.to_string().contains("is missing from ptx.json"), "unhelpful: {error}");
    }
}
