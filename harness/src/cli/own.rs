//! A kernel of the user's own, as `mutants --generate` takes it.

use std::path::PathBuf;

use clap::Args;
use splatcheck_gpu::emulator::Interface;
use splatcheck_reference::splat::Formulation;

use super::compiler::{Compiler, CompilerArgs};
use super::exit::CliError;
use super::formulation::Asked;
use super::ptx::{JudgedAs, adds_up, manifest_fits, read_kernel, read_manifest, roundings};
use super::{paths, wgsl};
use crate::manifest::Manifest;
use crate::mutants::generated::{Own, OwnProgram};
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;

/// Options for a kernel of the user's own, as typed.
#[derive(Clone, Debug, Args)]
pub struct OwnArgs {
    /// Change a kernel of your own in this PTX or .cu file, in place of splatcheck's: the one that --kernel names,
    /// with the interface that `splatcheck ptx --help` describes, or that of --manifest
    #[arg(long, value_name = "FILE", requires = "generate", group = "program")]
    pub ptx: Option<PathBuf>,
    /// Change a kernel of your own in this WGSL, that of --manifest, in subgroups of 32 lanes or, with '--engine
    /// wgsl-emulator-8', of 8
    #[arg(long, value_name = "FILE", requires_all = ["generate", "manifest"], group = "program")]
    pub wgsl: Option<PathBuf>,
    /// How to launch your own kernel, with parameters of its own and in a single launch (.toml)
    #[arg(long, value_name = "FILE", requires = "program", conflicts_with = "kernel")]
    pub manifest: Option<PathBuf>,
    /// As what it is judged.
    #[command(flatten)]
    pub judged: JudgedAs,
    /// Run your own kernel on cases with this number of channels only [default: any]
    #[arg(long, value_name = "D", requires = "program")]
    pub channels: Option<u32>,
    /// Run your own kernel on this case only (.safetensors or .toml); repeatable
    #[arg(long, value_name = "CASE", requires = "program", conflicts_with_all = ["corpus", "cases"])]
    pub case: Vec<PathBuf>,
    /// Folder of named cases to run your own kernel on, beside those of the generators [default: those
    /// of splatcheck, as with 'built-in']
    #[arg(long, value_name = "DIR", requires = "program")]
    pub corpus: Option<PathBuf>,
}

impl OwnArgs {
    /// Refuses what is for a user's kernel where there is none.
    ///
    /// # Errors
    /// Names the options.
    pub(in crate::cli) fn refuse(&self) -> Result<(), CliError> {
        if self.ptx.is_none() && self.wgsl.is_none() && self.judged.is_given() {
            let what = "--reduction, --threshold and --fast-math say as what your own kernel is \
                        judged: --generate N --ptx FILE with --kernel NAME or --manifest FILE, or --wgsl \
                        FILE with --manifest FILE, names it";
            return Err(CliError::new(what));
        }
        Ok(())
    }

    /// The file and the program, if there is one.
    fn program(
        &self,
        kernels: &[String],
        lanes: u32,
    ) -> Result<Option<(PathBuf, OwnProgram)>, CliError> {
        if let (Some(file), Some(manifest)) = (&self.wgsl, &self.manifest) {
            if self.judged.fast_math {
                return Err(CliError::new("--fast-math is CUDA's, and --wgsl is no CUDA"));
            }
            let kernel = wgsl::read(file, manifest)?;
            return Ok(Some((file.clone(), OwnProgram::Wgsl { kernel, lanes })));
        }
        let Some(file) = &self.ptx else { return Ok(None) };
        let fast_math = self.judged.fast_math;
        let kernel = match (&self.manifest, kernels) {
            (Some(manifest), _) => {
                read_manifest(file, manifest, (CompilerArgs::default(), fast_math))?
            }
            (None, [entry]) => {
                let compiler = Compiler::plain(fast_math);
                let own = ("--ptx", &**file);
                read_kernel(own, &compiler, entry.clone(), &[Interface::Standard])?.into()
            }
            (None, []) => {
                let what = "--ptx: say which kernel it is with --kernel NAME, or how yours is launched \
                            with --manifest FILE";
                return Err(CliError::new(what));
            }
            (None, [_, ..]) => {
                let what =
                    format!("--kernel: {} names, expected one kernel of --ptx", kernels.len());
                return Err(CliError::new(what));
            }
        };
        let unfilled = |error| CliError::new(format!("{}: {error}", file.display()));
        kernel.filled().map_err(unfilled)?;
        Ok(Some((file.clone(), OwnProgram::Ptx(kernel))))
    }

    /// The user's kernel, if there is one, which must be the only one; in WGSL for subgroups of so many lanes.
    pub(in crate::cli) fn resolve(
        self,
        kernels: &[String],
        lanes: u32,
    ) -> Result<Option<OwnPlan>, CliError> {
        self.refuse()?;
        let Some((file, program)) = self.program(kernels, lanes)? else { return Ok(None) };
        let flushes = matches!(&program, OwnProgram::Ptx(kernel) if kernel.flushes());
        let (formulation, written) = formulation_of(program.manifest())?;
        let named = self.judged.reduced.reduction.is_some();
        if let (Some(manifest), true) = (program.manifest(), named) {
            adds_up(manifest)?;
        }
        for case in &self.case {
            paths::expect_extension("--case", case, &EXTENSIONS)?;
            paths::readable_file("--case", case)?;
        }
        let workload = program.stage(formulation).spec().workload;
        let corpus = self.corpus.map(|folder| paths::corpus(Some(&folder), workload));
        let setting = self.judged.reduced.setting(lanes)?;
        let stage = program.stage(formulation);
        let own = Own::new(program, stage, setting).map_err(|error| {
            let manifest = self.manifest.as_deref().map(|file| file.display().to_string());
            CliError::new(format!("{}: {error}", manifest.unwrap_or_default()))
        })?;
        Ok(Some(OwnPlan {
            file,
            manifest: self.manifest,
            formulation,
            own: own.made(self.judged.fast_math || flushes, self.channels.or(written)),
            named,
            cases: self.case,
            corpus: corpus.transpose()?,
        }))
    }
}

/// The formulation of a manifest's kernel and its number of channels; the standard one, and any number, where
/// there is no manifest.
fn formulation_of(manifest: Option<&Manifest>) -> Result<(Formulation, Option<u32>), CliError> {
    let Some(manifest) = manifest else { return Ok((Formulation::STANDARD, None)) };
    let formulation = manifest.formulation.unwrap_or_default();
    manifest_fits(manifest, Asked::One(formulation))?;
    let formulation = roundings(Some(manifest), None)?.on(formulation);
    Ok((formulation, manifest.channels))
}

/// A user's own kernel, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPlan {
    /// The program's file, for messages.
    pub file: PathBuf,
    /// The manifest's file.
    pub manifest: Option<PathBuf>,
    /// By which expression it computes, where its stage has several.
    pub formulation: Formulation,
    /// The kernel, and as what it is judged.
    pub own: Own,
    /// Whether the reduction was named.
    pub named: bool,
    /// The only cases; none means the corpus and the generators.
    pub cases: Vec<PathBuf>,
    /// Folder of named cases; `None` means the default.
    pub corpus: Option<PathBuf>,
}
