//! Kernels, by the names that launches give them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use splatcheck_emulator::Module;
use splatcheck_gpu::wgsl::lower::{Bound, SourceFile, Target, lower};
use splatcheck_gpu::wgsl::program;

use super::draw::CaseProblem;
use super::manifest::{Launch, Manifest};
use crate::manifest::{BindError, entries, entry, filled};
use crate::user_kernel::{KernelLimits, Observe};

/// Why a program cannot be run as its manifest says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProgramError(pub(super) String);

impl ProgramError {
    /// What is wrong with a kernel or its launch.
    pub(super) fn of(kernel: &str, why: impl fmt::Display) -> Self {
        Self(format!("kernel '{kernel}': {why}"))
    }

    /// The same of one case of several.
    pub(crate) fn in_case(self, index: u64) -> Self {
        Self(format!("case {index}: {self}"))
    }

    /// What is wrong with a file.
    pub(crate) fn in_file(file: &str, why: impl fmt::Display) -> Self {
        Self(format!("{file}: {why}"))
    }
}

impl From<BindError> for ProgramError {
    fn from(error: BindError) -> Self {
        Self(error.to_string())
    }
}

impl From<CaseProblem> for ProgramError {
    fn from(CaseProblem(words): CaseProblem) -> Self {
        Self(words)
    }
}

/// What a launch came to where it gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The kernel is at fault: a race, a barrier that threads miss, a number that was never written.
    Fault(String),
    /// One did not end within its time.
    NoEnd(String),
    /// The manifest or this program is.
    Error(ProgramError),
}

impl<E: Into<ProgramError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Kernels in PTX or WGSL.
#[derive(Debug)]
pub struct Program {
    files: Vec<File>,
    /// How many of them, from the first on, were named; the others have what these lack.
    named: usize,
    pub(super) observe: Observe,
    pub(super) time: Duration,
}

/// A file of them.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    /// The kernels, or why they cannot run.
    pub(super) module: Result<Module, String>,
    pub(super) entries: Vec<String>,
    /// Of a kernel in WGSL.
    pub(super) bindings: Option<Bindings>,
}

/// An entry point that can run.
pub(super) struct Entry<'p> {
    pub(super) file: &'p File,
    pub(super) module: &'p Module,
    pub(super) kernel: String,
}

impl Program {
    /// Whether its kernels are in WGSL.
    pub(super) fn is_wgsl(&self) -> bool {
        self.files.iter().all(|file| is_wgsl(&file.name))
    }

    /// The kernels of some files, each with its name and its text: WGSL where the name ends so, else PTX. A kernel
    /// that they do not have is one of `others`.
    ///
    /// # Errors
    /// The first that is neither.
    pub fn new<'t>(
        files: impl IntoIterator<Item = (&'t str, &'t str)>,
        others: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, ProgramError> {
        Self::watched(files, others, (Observe::default(), &BTreeMap::new()))
    }

    /// The same with what is watched besides values, and with values of overridable constants of WGSL.
    ///
    /// # Errors
    /// As [`Self::new`]; a value of a constant that no program has.
    pub fn watched<'t>(
        files: impl IntoIterator<Item = (&'t str, &'t str)>,
        others: impl IntoIterator<Item = (&'t str, &'t str)>,
        (observe, overrides): (Observe, &BTreeMap<String, f64>),
    ) -> Result<Self, ProgramError> {
        let mut known = BTreeSet::new();
        let constants = overrides.iter().map(|(name, value)| (name.clone(), *value)).collect();
        let mut file = |(name, text): (&str, &str)| {
            if is_wgsl(name) {
                return wgsl_files((name, text), observe.bounds, (&constants, &mut known));
            }
            let name = name.to_owned();
            match Module::parse(text) {
                Ok(module) => {
                    let entries = entries(text);
                    Ok(vec![File { name, module: Ok(module), entries, bindings: None }])
                }
                Err(why) => Err(ProgramError::in_file(&name, why)),
            }
        };
        let named = files.into_iter().map(&mut file).collect::<Result<Vec<_>, _>>()?;
        let others = others.into_iter().map(&mut file).collect::<Result<Vec<_>, _>>()?;
        if let Some(name) = overrides.keys().find(|name| !known.contains(*name)) {
            let known: Vec<String> = known.into_iter().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(ProgramError(format!(
                "[overrides]: no program has the overridable constant '{name}'; it has {known}"
            )));
        }
        let mut all: Vec<File> = named.into_iter().flatten().collect();
        let named = all.len();
        all.extend(others.into_iter().flatten());
        let numbered = |(file, number): (File, u32)| File {
            module: file.module.map(|module| module.numbered(number)),
            ..file
        };
        let all = all.into_iter().zip(0..).map(numbered).collect();
        let limits = KernelLimits::default();
        Ok(Self { files: all, named, observe, time: limits.time })
    }

    /// The same with how long a launch may take, in processor time.
    #[must_use]
    pub fn limited(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// What is watched besides values.
    #[must_use]
    pub fn observe(&self) -> Observe {
        self.observe
    }

    /// Whether each file that was named has a kernel of these launches: what is named must be judged.
    ///
    /// # Errors
    /// [`ProgramError`] for the first that has none; a kernel that reads a variable which nobody fills.
    pub fn serves<'l>(
        &self,
        launches: impl Iterator<Item = &'l Launch> + Clone,
    ) -> Result<(), ProgramError> {
        let used = launches.clone().map(|launch| {
            let Entry { file, module, kernel } = self.find(launch)?;
            filled(module, &kernel)?;
            Ok(file.name.as_str())
        });
        let used = used.collect::<Result<Vec<_>, ProgramError>>()?;
        let idle = |file: &&File| !used.contains(&file.name.as_str());
        match self.files[..self.named].iter().find(idle) {
            None => Ok(()),
            Some(file) => {
                let launched: Vec<_> = launches.map(|launch| launch.kernel.as_str()).collect();
                let (file, launched) = (&file.name, launched.join(", "));
                let what = "has no kernel that the manifest launches";
                Err(ProgramError(format!("{file} {what} ({launched})")))
            }
        }
    }

    /// The entry point that a launch means.
    pub(super) fn find(&self, launch: &Launch) -> Result<Entry<'_>, ProgramError> {
        let Launch { ptx, kernel, .. } = launch;
        let is_meant = |file: &&File| match ptx {
            Some(name) => Path::new(&file.name).file_name().is_some_and(|own| own == &**name),
            None => true,
        };
        let (named, others) = self.files.split_at(self.named);
        let of = |files: &[File]| {
            let meant = files.iter().filter(is_meant);
            entry(kernel, &meant.flat_map(|file| file.entries.clone()).collect::<Vec<_>>())
        };
        if let Some(ptx) = ptx
            && !self.files.iter().any(|file| is_meant(&file))
        {
            let files: Vec<_> = self.files.iter().map(|file| file.name.as_str()).collect();
            let none = format!("there is no file '{ptx}', the files are {}", files.join(", "));
            return Err(ProgramError(format!("kernel '{kernel}', ptx: {none}")));
        }
        let found = match of(named) {
            Err(BindError::NoEntry { .. }) if of(others).is_ok() => of(others)?,
            Err(BindError::NoEntry { .. }) => of(&self.files)?,
            found => found?,
        };
        let has = |file: &&File| is_meant(file) && file.entries.contains(&found);
        let Some(file) = self.files.iter().find(has) else {
            let (kernel, names) = (kernel.clone(), Vec::new());
            return Err(BindError::NoEntry { kernel, names }.into());
        };
        match &file.module {
            Err(why) => Err(ProgramError::of(&found, why)),
            Ok(module) => match module.refusal(&found) {
                Some(refusal) => Err(BindError::Ptx(refusal.clone()).into()),
                None => Ok(Entry { file, module, kernel: found }),
            },
        }
    }

    /// Lines of CUDA at which some launches' kernels compute in f32, each with whether they choose an operand
    /// or clamp there.
    pub(super) fn departures(
        &self,
        launches: &[Launch],
    ) -> Result<BTreeMap<String, bool>, ProgramError> {
        let mut all = BTreeMap::new();
        for launch in launches {
            let Entry { module, kernel, .. } = self.find(launch)?;
            for (line, chooses) in module.departures(&kernel) {
                *all.entry(line).or_insert(false) |= chooses;
            }
        }
        Ok(all)
    }

    /// Whether conventions name lines of the forward kernels.
    ///
    /// # Errors
    /// [`ProgramError`] for the first that does not.
    pub(super) fn check_conventions(&self, manifest: &Manifest) -> Result<(), ProgramError> {
        let conventions = &manifest.conventions;
        if conventions.is_empty() {
            return Ok(());
        }
        let all = self.departures(&manifest.forward)?;
        let check = |lines: &BTreeSet<String>, (convention, does), can: &dyn Fn(bool) -> bool| {
            match lines.iter().find(|line| !all.get(*line).is_some_and(|&chooses| can(chooses))) {
                None => Ok(()),
                Some(line) => {
                    let known = match all.is_empty() {
                        true => "they say no lines; compile with -lineinfo".to_owned(),
                        false => listed(all.iter().filter(|(_, chooses)| can(**chooses))),
                    };
                    Err(ProgramError(format!(
                        "[conventions], {convention}: {line} is no line of the forward kernels at which they {does}: \
                         {known}"
                    )))
                }
            }
        };
        let straight = ("straight_through", "choose an operand, clamp or round");
        check(&conventions.straight_through, straight, &|chooses| chooses)?;
        check(&conventions.detach, ("detach", "compute in f32"), &|_| true)
    }
}

/// Lines that are shown.
const SHOWN: usize = 12;

/// Some lines of CUDA, in words.
fn listed<'l>(lines: impl Iterator<Item = (&'l String, &'l bool)>) -> String {
    let lines: Vec<&str> = lines.map(|(line, _)| line.as_str()).collect();
    match lines.len() {
        0 => "there is none".to_owned(),
        1..=SHOWN => lines.join(", "),
        count => format!("{} and {} more", lines[..SHOWN].join(", "), count - SHOWN),
    }
}

/// Lanes of a subgroup: those of a warp.
const LANES: u32 = 32;

/// What a launch of an entry point needs to know.
#[derive(Debug)]
pub(super) struct Bindings {
    /// The buffers that it uses, in the order of group and binding.
    pub(super) bound: Vec<Bound>,
    /// `@workgroup_size`.
    pub(super) workgroup: [u32; 3],
}

impl Bindings {
    /// The buffers in words: `x (0, 1), y (0, 2)`.
    pub(super) fn words(&self) -> String {
        let one = |bound: &Bound| format!("{} ({}, {})", bound.name, bound.group, bound.binding);
        self.bound.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a file is WGSL, by its name.
fn is_wgsl(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wgsl"))
}

/// The entry points of a program, whose indices end a run beyond an array where `bounds` are watched. One that needs
/// what the machine does not have is there with why. `known` becomes the keys of its overridable constants too.
fn wgsl_files(
    (name, text): (&str, &str),
    bounds: bool,
    (constants, known): (&HashMap<String, f64>, &mut BTreeSet<String>),
) -> Result<Vec<File>, ProgramError> {
    let program = program::Program::parse(name, text);
    let program = program.map_err(|why| ProgramError::in_file(name, why))?;
    known.extend(program.overrides.iter().map(|constant| constant.key.clone()));
    let own = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sources = [SourceFile { name: own, first: 1 }];
    let file = |entry: &str| {
        let target = Target { bounds, ..Target::of_user(LANES) };
        let (ptx, bindings) = match lower(text, &sources, entry, constants, target) {
            Err(error) => (Err(error.to_string()), None),
            Ok(kernel) => {
                let bindings = Bindings { bound: kernel.buffers, workgroup: kernel.workgroup };
                (Ok(kernel.ptx), Some(bindings))
            }
        };
        let module = ptx.and_then(|text| Module::parse(&text).map_err(|error| error.to_string()));
        Ok(File { name: name.to_owned(), module, entries: vec![entry.to_owned()], bindings })
    };
    program.names().map(file).collect()
}
