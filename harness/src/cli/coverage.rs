//! `splatcheck coverage`: what the cases have among them, and which instructions and branches of the
//! CUDA kernels they reach, or of those in WGSL.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rayon::prelude::*;
use splatcheck_gpu::artifact::{self, Artifact};
use splatcheck_reference::splat::convention::Convention;

use super::check::Cases;
use super::exit::{CliError, Outcome};
use super::options::{ConventionName, Subject, parse_workload, under};
use super::output::Progress;
use super::paths;
use splatcheck_judge::case_space::{CaseSpace, Run, Traits};
use splatcheck_judge::engines::Emulation;
use splatcheck_judge::io::OF_CORPUS;
use splatcheck_judge::io::source_tree;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::kernel_coverage::holes::Coverage;
use splatcheck_judge::kernel_coverage::text::text;
use splatcheck_judge::kernel_coverage::unreachable::Unreachable;
use splatcheck_judge::kernel_coverage::{Scope, measure};
use splatcheck_judge::workload::{AnyCase, CaseError, Workload};

/// The folder with the arguments for what cannot be reached, and the file.
const KERNELS: &str = "gpu/kernels";
const UNREACHABLE: &str = "unreachable.toml";

/// Options of `coverage`, as typed.
#[derive(Clone, Debug, Args)]
pub struct CoverageArgs {
    /// Whose cases and kernels: splat, scatter or grid
    #[arg(long, value_name = "NAME", default_value = "splat", value_parser = parse_workload)]
    pub workload: Arc<dyn Workload>,
    /// Number of random cases
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub cases: u32,
    /// Seed of the random cases
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Folder of named cases [default: those of splatcheck, as with 'built-in']
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Draw the cases under this convention [default: each in turn]
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
    /// Measure these kernels only: a stage, an entry point or a file of gpu/kernels/ptx.tar.zst; repeatable
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// The emulator that runs the kernels: emulator, emulator-fast, or wgsl-emulator-4 to -128 for those in WGSL
    /// [default: emulator and emulator-fast]
    #[arg(long, value_name = "ID")]
    pub engine: Option<Emulation>,
    /// Write everything to this file, also the holes that are argued
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Arguments why lines cannot be reached [default: gpu/kernels/unreachable.toml]
    #[arg(long, value_name = "FILE")]
    pub unreachable: Option<PathBuf>,
}

/// A checked `coverage`.
#[derive(Debug)]
pub struct CoveragePlan {
    /// What is run.
    subject: Subject,
    /// Whose.
    workload: Arc<dyn Workload>,
    /// What is measured.
    artifacts: Vec<Artifact>,
    /// On what.
    emulations: Vec<Emulation>,
    /// A .json in a folder that can be written to.
    json: Option<PathBuf>,
    /// What cannot be reached.
    unreachable: Unreachable,
    /// Whether the map of the case space is shown too: unless kernels are named.
    case_space: bool,
}

impl CoverageArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self) -> Result<CoveragePlan, CliError> {
        let workload = under(self.workload, self.convention)?;
        let mut artifacts = chosen(workload.name(), &self.kernel)?;
        let both = [false, true].map(|fast_math| Emulation { fast_math, ..Emulation::default() });
        let mut emulations = self.engine.map_or(both.to_vec(), |one| vec![one]);
        let of = |one: &Emulation, artifact: &Artifact| one.fast_math == artifact.fast_math;
        artifacts.retain(|artifact| emulations.iter().any(|one| of(one, artifact)));
        emulations.retain(|one| artifacts.iter().any(|artifact| of(one, artifact)));
        if emulations.is_empty() {
            let kernels = self.kernel.join(", ");
            let message = "the engine runs no such kernel: a file's name says how it was compiled";
            return Err(CliError::new(format!("--kernel {kernels}: {message}")));
        }
        let corpus = paths::corpus(self.corpus.as_deref(), workload.name())?;
        let json = self.json.map(|file| paths::writable_file("--json", &file, "json"));
        let unreachable = match &self.unreachable {
            Some(file) => read_unreachable(file)?,
            None => default_unreachable()?,
        };
        Ok(CoveragePlan {
            subject: Subject::Campaign { corpus, cases: self.cases, seed: self.seed },
            workload,
            artifacts,
            emulations,
            json: json.transpose()?,
            unreachable,
            case_space: self.kernel.is_empty(),
        })
    }
}

impl CoveragePlan {
    /// The emulator, if it runs WGSL.
    fn wgsl(&self) -> Option<Emulation> {
        self.emulations.iter().copied().find(|one| one.wgsl_lanes.is_some())
    }
}

/// The artifacts of a workload, and what all workloads share, that have one of these names.
fn chosen(workload: &str, names: &[String]) -> Result<Vec<Artifact>, CliError> {
    let mut all = artifact::all();
    all.retain(|artifact| ["", workload].contains(&artifact.workload()));
    let is = |artifact: &Artifact, name: &str| {
        [artifact.stage, &artifact.entry(), &artifact.file()].contains(&name)
    };
    for name in names {
        if !all.iter().any(|artifact| is(artifact, name)) {
            let mut entries: Vec<_> = all.iter().map(Artifact::entry).collect();
            entries.dedup();
            return Err(CliError::new(format!(
                "--kernel {name}: workload {workload} has no such kernel, expected {}",
                entries.join(", ")
            )));
        }
    }
    all.retain(|artifact| names.is_empty() || names.iter().any(|name| is(artifact, name)));
    Ok(all)
}

fn read_unreachable(file: &Path) -> Result<Unreachable, CliError> {
    let what = || format!("cannot read {}", file.display());
    let text = paths::text("", file)?;
    Unreachable::parse(&text).map_err(|e| CliError::caused(what(), e))
}

/// The arguments of the working folder, else of the source tree that this program lies in; none where
/// there is neither.
fn default_unreachable() -> Result<Unreachable, CliError> {
    let file = source_tree::folder(KERNELS).map(|folder| folder.join(UNREACHABLE));
    let file = file.filter(|file| file.is_file());
    file.map_or_else(|| Ok(Unreachable::default()), |file| read_unreachable(&file))
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; holes are an outcome.
pub fn run(plan: &CoveragePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let cases = Cases::new(&plan.subject, &plan.workload, &Convention::inria())?;
    // Those in WGSL are lowered for the sizes of each case.
    let is_wgsl = plan.wgsl().is_some();
    let wanted = |artifact: &Artifact| {
        let is = |one: &Artifact| one == artifact || is_wgsl && one.is_of_kernel(artifact);
        plan.artifacts.iter().any(is)
    };
    let views: Vec<_> = cases.iter().collect();
    let space = plan.case_space.then(|| case_space(&views)).transpose()?;
    let views_in_all = views.len() as u64;
    let bar = Progress::new("coverage", "views", views_in_all);
    let scope = Scope { emulations: &plan.emulations, wanted: &wanted };
    let measured = measure(views.into_iter(), scope, &|| bar.inc(1)).map_err(CliError::of)?;
    // A bar that is finished stands at its end.
    let done = bar.position();
    bar.finish_and_clear();
    let coverage = match plan.wgsl() {
        Some(one) => Coverage::of_wgsl(&plan.artifacts, &measured, one).map_err(CliError::of)?,
        None => {
            Coverage::new(&plan.artifacts, &measured, &plan.unreachable).map_err(CliError::of)?
        }
    };
    let axes = plan.workload.axes();
    cases.unread.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if done < views_in_all {
        writeln!(
            out,
            "interrupted after {done} of {views_in_all} views: the others may reach what is missing here"
        )?;
        out.write_all(text(&coverage).as_bytes())?;
        out.flush()?;
        return Ok(Outcome::Interrupted);
    }
    out.write_all(text(&coverage).as_bytes())?;
    if let Some(space) = &space {
        writeln!(out, "\n{}", space.text(&axes, Run::MainJob))?;
    }
    if let Some(file) = &plan.json {
        let cannot = |error| CliError::caused(format!("cannot write {}", file.display()), error);
        let json = serde_json::to_string_pretty(&coverage)
            .map_err(|error| CliError::caused("cannot write the coverage as JSON", error))?;
        write_file(file, (json + "\n").as_bytes()).map_err(cannot)?;
    }
    out.flush()?;
    let has_all = |space: CaseSpace| {
        space.holes(&axes, Run::MainJob).is_empty()
            && space.pair_holes(&axes, Run::MainJob).is_empty()
    };
    let no_hole = space.is_none_or(has_all);
    if let (true, Some(gap)) = (no_hole && coverage.unexplained() == 0, cases.unread.gap(OF_CORPUS))
    {
        return Err(CliError::new(gap));
    }
    Ok(if no_hole && coverage.unexplained() == 0 { Outcome::Agree } else { Outcome::Disagree })
}

/// What the cases have among them.
fn case_space(views: &[(AnyCase, usize)]) -> Result<CaseSpace, CliError> {
    let views = views.par_iter().map(|(case, view)| case.traits(*view));
    let add = |mut space: CaseSpace, traits: Result<Traits, CaseError>| {
        space.add(traits?);
        Ok(space)
    };
    let merge = |mut one: CaseSpace, other: CaseSpace| {
        one.merge(&other);
        Ok(one)
    };
    let space = views.try_fold(CaseSpace::default, add).try_reduce(CaseSpace::default, merge);
    space.map_err(|error: CaseError| CliError::of(error))
}
