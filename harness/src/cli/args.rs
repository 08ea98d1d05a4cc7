//! The command line as it is typed: the subcommands, each with its options.

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::acceptance::AcceptanceArgs;
use super::check::{CheckArgs, SelfCheckArgs};
use super::engine::EngineArgs;
use super::mutants::MutantsArgs;
use super::oracle::OracleArgs;
use super::ptx::PtxArgs;
use super::render::RenderArgs;
use super::schedules::SchedulesArgs;

/// Compares the gradients of GPU kernels with a float64 reference, within bounds derived from rounding.
#[derive(Clone, Debug, Parser)]
#[command(name = "splatcheck", version)]
#[command(
    after_help = "Exit code: 0 agree, 1 disagree (or what --fail-on names), 2 error or nothing judged, 130 Ctrl-C."
)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub command: Command,
}

/// A subcommand.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Judge your own program, in any language, which --command starts
    Check(Box<CheckArgs>),
    /// Judge splatcheck's own kernels on every engine of this machine
    SelfCheck(Box<SelfCheckArgs>),
    /// Do everything that this machine allows and write one report folder
    #[command(hide = true)]
    Acceptance(AcceptanceArgs),
    /// Write cases as files, for a program that cannot run as a server
    Cases(super::cases::CasesArgs),
    /// Show which instructions and branches of the CUDA kernels the cases do not reach
    #[command(hide = true)]
    Coverage(super::coverage::CoverageArgs),
    /// Show the engines of this machine and why others are missing
    Devices,
    /// Judge every driver of this machine, run after run: a page to paste into an issue
    Doctor(super::doctor::DoctorArgs),
    /// Print how accurate each expression of the backward stage is, bound and f32 error
    #[command(hide = true)]
    Formulations(super::formulations::FormulationsArgs),
    /// Judge a file of results that a program made of a case
    Judge(super::judge::JudgeArgs),
    /// Write the oracle's images and gradients of a case
    Oracle(OracleArgs),
    /// Write the oracle's image of a trained scene
    Render(RenderArgs),
    /// Run a reproducer again
    Replay(super::replay::ReplayArgs),
    /// Write a run as one HTML file: verdict, findings with pictures, maps and charts
    Report(super::report::ReportArgs),
    /// Judge your own CUDA kernel, as PTX or a .cu file, on the emulator
    Ptx(Box<PtxArgs>),
    /// Judge a backward kernel by its forward kernel, in CUDA or WGSL, without an oracle
    Gradcheck(Box<super::gradcheck::GradcheckArgs>),
    /// Judge a kernel by another that is right, in CUDA or WGSL
    Compare(Box<super::gradcheck::CompareArgs>),
    /// Measure how far a kernel is from its own exact values, in CUDA or WGSL
    Accuracy(Box<super::gradcheck::AccuracyArgs>),
    /// Judge systems of the field, each a pair of kernels on a page, with planted bugs
    Gallery(super::gallery::GalleryArgs),
    /// Judge your own WGSL kernel on every engine of wgpu
    Wgsl(Box<super::wgsl::WgslArgs>),
    /// Count what the reductions send to memory, of splats and of grid encodings
    Traffic(super::traffic::TrafficArgs),
    /// Show which threshold is best: atomics, modelled and measured time, error / bound
    Sweep(super::sweep::SweepArgs),
    /// Fit Gaussians to a picture or a scene with each kernel's gradients, PSNR by step
    Train(super::train::TrainArgs),
    /// Judge every CUDA kernel on the emulator under many schedules
    #[command(hide = true)]
    Schedules(SchedulesArgs),
    /// Run kernels that are broken on purpose and say which are caught
    Mutants(Box<MutantsArgs>),
    /// Judge generated cases until time is up
    Fuzz(Box<super::fuzz::FuzzArgs>),
    /// Join the parts of a campaign that ran on many machines (fuzz --shard)
    Merge(super::merge::MergeArgs),
    /// Fetch what your kernel needs and this machine lacks: nvcc
    Setup(super::setup::SetupArgs),
    /// Write the completions of a shell
    Completions(CompletionsArgs),
    /// Write the man page, in roff
    Man,
    /// Serve one engine on standard input and output
    #[command(hide = true)]
    Engine(EngineArgs),
}

#[cfg(test)]
mod tests;

/// Options of `completions`.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that is to complete
    pub shell: Shell,
}
