//! What is demanded of a kernel, and the campaign that looks for it.

use std::any::type_name;
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use splatcheck_gpu::Engine;
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::convention::Profile;

pub use super::cases::CheckError;
use super::cases::{Cases, Corpus, Wanted};
use super::in_process::{InProcess, Kernel};
use super::inputs::Inputs;
use super::report::Report;
use splatcheck_judge::campaign::{
    CampaignError, Contender, EngineReport, Finding, Hooks, Item, run as run_campaign,
};
use splatcheck_judge::engines::command::{CommandId, Form as _};
use splatcheck_judge::engines::repeated::{Repeated, Repeats};
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::report::reproducer;
use splatcheck_judge::report::reproducer_path;
use splatcheck_judge::words::folder_name;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::contract::{Contract, Level};
use splatcheck_workloads::splat::kernel_rules::KernelRules;

/// How often every run is made where nothing else is said: equal bits are demanded.
const RUNS: u32 = 2;

/// What its reproducers were found by.
const FOUND_BY: &str = "rust";

/// The check of a kernel: what it promises and what it is run on. [`Self::assert`] or [`Self::run`] carry
/// it out.
#[must_use = "nothing is checked before assert() or run()"]
pub struct Check<I, K> {
    kernel: K,
    name: String,
    formulation: Formulation,
    arithmetic: Arithmetic,
    wanted: Wanted,
    constants: Vec<(String, String)>,
    runs: u32,
    out: PathBuf,
    reads: PhantomData<fn(&I)>,
}

impl<I: Inputs, K: Kernel<I>> Check<I, K> {
    pub(super) fn new(kernel: K) -> Self {
        Self {
            kernel,
            name: type_name::<K>().trim_end_matches("::{{closure}}").to_owned(),
            formulation: Formulation::default(),
            arithmetic: Arithmetic::Cuda,
            wanted: Wanted::default(),
            constants: Vec::new(),
            runs: RUNS,
            out: PathBuf::from("splatcheck-out"),
            reads: PhantomData,
        }
    }

    /// The kernel's name in reports and the folder of its reproducers, in place of its type's.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The expression that it computes alpha's gradient by, at level raster: `"gsplat-1.5".parse()`, a
    /// project's name or fields, as `splatcheck --formulation` has them. That of 3D Gaussian Splatting
    /// where nothing is said.
    pub fn formulation(self, formulation: Formulation) -> Self {
        Self { formulation, ..self }
    }

    /// How often it rounds a term on its way into an intermediate of that expression, counted in its
    /// source, where that is not as the formulation states.
    pub fn extra_roundings(self, extra: ExtraRoundings) -> Self {
        Self { formulation: self.formulation.with_extra_roundings(extra), ..self }
    }

    /// The arithmetic that it promises. CUDA's where nothing is said, which holds for Rust on a processor
    /// too: its `exp` is 1 or 2 ulp off, no other operation is.
    pub fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Self { arithmetic, ..self }
    }

    /// How many cases are drawn and judged besides the corpus; 100 where nothing is said. Each has the channels
    /// that the kernel is for, and a number to compare.
    pub fn cases(mut self, count: u64) -> Self {
        self.wanted.drawn = count;
        self
    }

    /// The seed of the cases that are drawn.
    pub fn seed(mut self, seed: u64) -> Self {
        self.wanted.seed = seed;
        self
    }

    /// Draws from this generator; from several in turn where it is called again. Where none is named
    /// scenes are random, as those of `splatcheck check`.
    pub fn generator(mut self, name: impl Into<String>) -> Self {
        self.wanted.generators.push(name.into());
        self
    }

    /// A folder of named cases, in place of splatcheck's own corpus, which is that of the source tree or the
    /// one that is built in.
    pub fn corpus(mut self, folder: impl AsRef<Path>) -> Self {
        self.wanted.corpus = Corpus::Folder(folder.as_ref().to_owned());
        self
    }

    /// Without named cases.
    pub fn without_corpus(mut self) -> Self {
        self.wanted.corpus = Corpus::Without;
        self
    }

    /// One case alone, as a finding's reproducer.
    pub fn case(mut self, file: impl AsRef<Path>) -> Self {
        self.wanted.file = Some(file.as_ref().to_owned());
        self
    }

    /// The convention of the cases that are drawn; both in turn if nothing is said.
    pub fn convention(mut self, profile: Profile) -> Self {
        self.wanted.convention = Some(profile);
        self
    }

    /// What is built into the kernel, for one that does not read `constants`: every case takes it on.
    pub fn built_in(mut self, rules: KernelRules) -> Self {
        self.wanted.rules = rules;
        self
    }

    /// The only number of channels that the kernel is for: all drawn cases have it; cases in files with another
    /// one are left out and counted.
    pub fn channels(mut self, channels: u32) -> Self {
        self.wanted.channels = Some(channels);
        self
    }

    /// A size or field that is built into the kernel of another workload than splats, as `("d", "3")` or
    /// `("interpolation", "linear")`: every case that is drawn has it, and cases in files with another value are
    /// left out and counted.
    pub fn constant(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.constants.push((name.into(), value.into()));
        self
    }

    /// Every run is made so often, in a row with others, and must give equal bits; twice where nothing is
    /// said. 1 is for a kernel that adds up in no fixed order, such as one with threads: it is then not
    /// seen that it keeps values of the run before.
    pub fn runs(self, runs: u32) -> Self {
        Self { runs: runs.max(1), ..self }
    }

    /// The folder of reproducers, `splatcheck-out` where nothing is said; a folder below it is the kernel's.
    pub fn out(self, folder: impl AsRef<Path>) -> Self {
        Self { out: folder.as_ref().to_owned(), ..self }
    }

    /// Judges the kernel and writes a reproducer of every finding.
    ///
    /// # Errors
    /// [`CheckError`]: what was asked for cannot be done. Whatever the kernel does is in the report.
    pub fn run(self) -> Result<Report, CheckError> {
        let Self { kernel, name, formulation, arithmetic, wanted, constants, runs, out, .. } = self;
        let out = out.join(folder_name(&name));
        let constants = constants.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let contract = Contract::new(I::LEVEL, formulation)?.made_for(constants)?;
        let cases = Cases::new(&wanted, contract.clone())?;
        // A run that reads files may read those that are there.
        if wanted.file.is_none() && !matches!(wanted.corpus, Corpus::Folder(_)) {
            reproducer::set_aside(&out, FOUND_BY)?;
        }
        let engine = InProcess::<I, K>::new(kernel, &name, contract.stage(), arithmetic);
        let left_out = engine.left_out();
        let engine: Box<dyn Engine + Send + '_> = match runs {
            1 => Box::new(engine),
            runs => Box::new(Repeated::device(Box::new(engine), &Repeats::new(runs))),
        };
        let contender = Contender {
            id: CommandId(arithmetic).to_string(),
            emulation: None,
            engine,
            stages: vec![contract.stage()],
            settings: contract.setting().into_iter().collect(),
        };
        let minimize =
            |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| cases.smaller(item, fails);
        let hooks = Hooks { policy: &cases.draws, ..Hooks::new(&minimize) };
        let mut reports = run_campaign(cases.iter(), vec![contender], hooks)?;
        let mut report = reports.pop().ok_or(CampaignError::Panicked)?;
        let files = write(&out, &mut report)?;
        let mut without = cases.without.clone();
        without.extend(left_out.names().into_iter().map(|name| format!("{name}: it returns none")));
        let (promise, unread) = (promise(contract, arithmetic, runs), cases.unread.clone());
        Ok(Report { promise, name, counted: cases.count(), report, files, without, unread })
    }

    /// Judges the kernel and panics with what is wrong with it.
    ///
    /// # Panics
    /// As [`Report::assert`]; where the check cannot be carried out.
    #[track_caller]
    pub fn assert(self) {
        match self.run() {
            Ok(report) => report.assert(),
            Err(error) => panic!("splatcheck: {error}"),
        }
    }
}

/// As what it was judged, in words.
fn promise(contract: Contract, arithmetic: Arithmetic, runs: u32) -> String {
    let mut words = format!("level {}, arithmetic {}", contract.level(), arithmetic.name());
    match contract.level() {
        Level::Raster => words += &format!(", formulation {}", contract.formulation()),
        Level::Project | Level::ProjectBackward | Level::Full | Level::Of(_) => {}
    }
    if runs > 1 {
        words += &format!(", equal bits in {runs} runs");
    }
    words
}

/// Writes the reproducers; the paths. One that cannot be written has none, and its finding says why.
fn write(folder: &Path, report: &mut EngineReport) -> Result<Vec<PathBuf>, CheckError> {
    let cannot = |source| CheckError::Folder { folder: folder.display().to_string(), source };
    if !report.findings.is_empty() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    let one = |finding: &mut Finding| {
        let file = reproducer_path(folder, finding);
        match finding.case.write(&file, &reproducer::notes(finding, FOUND_BY)) {
            Ok(()) => file,
            Err(error) => {
                finding.notes.push(format!("NO REPRODUCER: {error}"));
                PathBuf::new()
            }
        }
    };
    Ok(report.findings.iter_mut().map(one).collect())
}
