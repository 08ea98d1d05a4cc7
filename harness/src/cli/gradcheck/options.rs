//! The options of `gradcheck`, `compare` and `accuracy`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::asked::{Asked, Cases};
use super::question::Question;
use crate::cli::command::seconds;
use crate::cli::compiler::{Compiler, CompilerArgs};
use crate::cli::exit::CliError;
use crate::cli::paths;
use crate::cli::provenance;
use crate::cli::schedule::ScheduleArgs;
use crate::gradcheck::{Case, Manifest, Program};
use crate::user_kernel::Observe;
use clap::Args;
use splatcheck_judge::engines::Order;
use splatcheck_judge::engines::command::CommandLine;
use splatcheck_judge::gate::Provenance;
use splatcheck_judge::io::date;

/// The options that the three share.
#[derive(Clone, Debug, Args)]
pub struct DrawnArgs {
    /// What the arrays are, how they are drawn and how the kernels are launched (.toml): docs/src/gradcheck.md
    #[arg(long, value_name = "FILE")]
    pub manifest: PathBuf,
    /// Number of cases that are drawn
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub cases: u64,
    /// Seed of the cases
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// In which orders the machine runs.
    #[command(flatten)]
    pub order: ScheduleArgs,
    /// Continue after misuse: with 'races=off' after a data race, with 'inputs=off' after a write to an input, with
    /// 'bounds=off' after an access of global memory out of bounds
    #[arg(long, value_name = "WHAT=off")]
    pub observe: Option<Observe>,
    /// Give a launch up as one that never ends after this time, in seconds of the processor's time
    #[arg(long, value_name = "SECONDS", default_value = "60", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Duration,
    /// Run this case alone: sizes, inputs and given gradients (.safetensors as a reproducer, or .npz)
    #[arg(long, value_name = "FILE", conflicts_with = "cases")]
    pub inputs: Option<PathBuf>,
    /// Let a program make each case: it is run as COMMAND SEED CASE FILE and writes arrays and sizes into FILE
    /// (.npz or .safetensors); what it leaves out is drawn
    #[arg(long, value_name = "COMMAND", conflicts_with = "inputs")]
    pub cases_from: Option<CommandLine>,
    /// Write the first case: inputs, f32 outputs, exact outputs and gradients in f64 (.safetensors)
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Write the result of every case as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the result of every array as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the finding as SARIF, with its line of the source
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write a page with the finding, its lines of the source and all arrays (HTML)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Folder for a reproducer of what disagrees
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// How a .cu file is compiled.
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// The words of the command line, which reports name.
    #[arg(skip)]
    pub command: Vec<String>,
}

/// Options of `gradcheck`, as typed.
#[derive(Clone, Debug, Args)]
pub struct GradcheckArgs {
    /// The kernels in PTX, WGSL or a .cu file [default: those that the manifest names]
    #[arg(value_name = "FILE")]
    pub ptx: Vec<PathBuf>,
    /// The rest.
    #[command(flatten)]
    pub drawn: DrawnArgs,
}

/// Options of `compare`, as typed.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// The program that is right, in PTX, WGSL or a .cu file
    #[arg(value_name = "RIGHT")]
    pub right: PathBuf,
    /// The program that must compute the same, in PTX, WGSL or a .cu file
    #[arg(value_name = "OTHER")]
    pub other: PathBuf,
    /// The rest.
    #[command(flatten)]
    pub drawn: DrawnArgs,
}

/// Options of `accuracy`, as typed.
#[derive(Clone, Debug, Args)]
pub struct AccuracyArgs {
    /// The kernels in PTX, WGSL or a .cu file [default: those that the manifest names]
    #[arg(value_name = "FILE")]
    pub ptx: Vec<PathBuf>,
    /// The rest.
    #[command(flatten)]
    pub drawn: DrawnArgs,
}

/// A checked command.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is asked.
    pub asked: Asked,
    /// The manifest's file.
    pub manifest_file: PathBuf,
    /// Its text.
    pub manifest_text: String,
    /// The programs, each of some files in PTX with their texts.
    pub programs: Vec<Vec<(String, String)>>,
    /// The manifest's own files, which have the kernels that those lack.
    pub others: Vec<(String, String)>,
    /// The orders of execution.
    pub orders: Vec<Order>,
    /// What ends a run.
    pub observe: Observe,
    /// How long a launch may take, in processor time.
    pub timeout: Duration,
    /// The seed of the cases that are drawn.
    pub seed: u64,
    /// The only case's file.
    pub inputs: Option<PathBuf>,
    /// Where the first case goes.
    pub save: Option<PathBuf>,
    /// Where all results go.
    pub json: Option<PathBuf>,
    /// Where they go as JUnit XML.
    pub junit: Option<PathBuf>,
    /// Where the finding goes as SARIF.
    pub sarif: Option<PathBuf>,
    /// Where the page goes.
    pub html: Option<PathBuf>,
    /// Folder for a reproducer: writable, perhaps still to be made.
    pub out: PathBuf,
    /// What is judged, for the files that name it.
    pub run: Provenance,
}

impl Plan {
    /// What is judged, now.
    #[must_use]
    pub fn dated(&self) -> Provenance {
        Provenance { date: Some(date::now()), ..self.run.clone() }
    }

    /// Parses the programs.
    ///
    /// # Errors
    /// The first file that is no PTX, or has no kernel that is launched.
    pub fn programs(&self) -> Result<Vec<Program>, CliError> {
        let mut programs = Vec::new();
        for (files, other) in self.programs.iter().zip([false, true]) {
            let watched = (self.observe, &self.asked.manifest.overrides);
            let program = Program::watched(named(files), named(&self.others), watched);
            let program = program.map_err(CliError::of)?.limited(self.timeout);
            let launches = self.asked.manifest.launches(other);
            program.serves(launches.into_iter()).map_err(CliError::of)?;
            programs.push(program);
        }
        Ok(programs)
    }
}

/// Files with their texts, those in CUDA with their PTX.
fn texts(files: &[PathBuf], compiler: &Compiler) -> Result<Vec<(String, String)>, CliError> {
    let text = |file: &PathBuf| Ok((file.display().to_string(), compiler.text("", file)?));
    files.iter().map(text).collect()
}

fn named(texts: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    texts.iter().map(|(file, text)| (file.as_str(), text.as_str()))
}

impl DrawnArgs {
    fn resolve(self, question: Question, given: Vec<Vec<PathBuf>>) -> Result<Plan, CliError> {
        let manifest_file = paths::readable_file("--manifest", &self.manifest)?;
        let written = paths::program("--manifest", &manifest_file, "a manifest")?;
        let manifest = Manifest::parse(&written)
            .map_err(|problem| CliError::caused("--manifest", problem.in_file(&manifest_file)))?;
        if question == Question::Gradient && manifest.backward.is_empty() {
            let what = format!(
                "--manifest {}: there is no [backward], which gradcheck compares with [forward]",
                manifest_file.display()
            );
            return Err(CliError::new(what));
        }
        let beside = manifest_file.parent().unwrap_or_else(|| Path::new("."));
        let mut others: Vec<_> = manifest.ptx.iter().map(|file| beside.join(file)).collect();
        let files = files(&others, given)?;
        others.retain(|file| file.is_file() && !files.iter().any(|files| files.contains(file)));
        let all = files.iter().flatten().chain(&others).map(PathBuf::as_path);
        let compiler = self.compiler.of(all, None)?;
        let orders = self.order.orders()?;
        let schedules = orders.iter().map(|order| order.schedule()).collect();
        let inputs = self.inputs.map(|file| paths::readable_file("--inputs", &file)).transpose()?;
        let save = self.save.map(|file| paths::writable_file("--save", &file, "safetensors"));
        let json = self.json.map(|file| paths::writable_file("--json", &file, "json"));
        let junit = self.junit.map(|file| paths::writable_file("--junit", &file, "xml"));
        let sarif = self.sarif.map(|file| paths::writable_file("--sarif", &file, "sarif"));
        let html = self.html.map(|file| paths::writable_file("--html", &file, "html"));
        if self.cases == 0 && inputs.is_none() {
            return Err(CliError::new("--cases 0: nothing would be judged, give 1 or more"));
        }
        let (count, seed) = (self.cases, self.seed);
        let cases = match (&inputs, self.cases_from) {
            (None, None) => Cases::Drawn { count, seed },
            (None, Some(by)) => Cases::Made { count, seed, by },
            (Some(file), _) => Cases::Own(
                Case::read(&manifest, file)
                    .map_err(|error| CliError::caused("--inputs: cannot read the case", error))?,
            ),
        };
        let programs = files.iter().map(|files| texts(files, &compiler));
        let programs: Vec<_> = programs.collect::<Result<_, _>>()?;
        let observe = self.observe.unwrap_or_default();
        // The manifest's files are for kernels that the named ones lack: a compiler is not asked for without need.
        let is_whole = |(files, other): (&Vec<(String, String)>, bool)| {
            let watched = (observe, &manifest.overrides);
            let alone = Program::watched(named(files), named(&[]), watched);
            alone.is_ok_and(|alone| alone.serves(manifest.launches(other).into_iter()).is_ok())
        };
        if !others.is_empty() && programs.iter().zip([false, true]).all(is_whole) {
            others.clear();
        }
        let others = texts(&others, &compiler)?;
        let run = provenance::of_launches(
            question.name(),
            (&manifest_file, &written),
            (&programs, &others),
        );
        let run = Provenance { seed: Some(seed), command: self.command, ..run };
        Ok(Plan {
            asked: Asked { question, manifest, cases, schedules },
            manifest_file,
            manifest_text: written,
            programs,
            others,
            orders,
            observe,
            timeout: self.timeout,
            seed: self.seed,
            inputs,
            save: save.transpose()?,
            json: json.transpose()?,
            junit: junit.transpose()?,
            sarif: sarif.transpose()?,
            html: html.transpose()?,
            out: paths::folder_to_name("--out", &self.out)?,
            run,
        })
    }
}

/// The files that were named, or those of the manifest.
fn files(of_manifest: &[PathBuf], named: Vec<Vec<PathBuf>>) -> Result<Vec<Vec<PathBuf>>, CliError> {
    let mut all = Vec::new();
    for program in named {
        let program = if program.is_empty() { of_manifest.to_vec() } else { program };
        if program.is_empty() {
            let what = "name the kernels' PTX files, here or in the manifest: ptx = \"pair.ptx\"";
            return Err(CliError::new(what));
        }
        let readable = program.iter().map(|file| paths::readable_file("", file));
        all.push(readable.collect::<Result<_, _>>()?);
    }
    Ok(all)
}

impl GradcheckArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self) -> Result<Plan, CliError> {
        self.drawn.resolve(Question::Gradient, vec![self.ptx])
    }
}

impl CompareArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self) -> Result<Plan, CliError> {
        self.drawn.resolve(Question::Equal, vec![vec![self.right], vec![self.other]])
    }
}

impl AccuracyArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self) -> Result<Plan, CliError> {
        self.drawn.resolve(Question::Accuracy, vec![self.ptx])
    }
}
