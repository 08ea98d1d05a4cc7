//! `--command`: a user's own program in the place of engines.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use splatcheck_gpu::stages::splat::NAME;
use splatcheck_gpu::{Engine, EngineError, Setting, Stage};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;

use super::exit::CliError;
use super::formulation::described;
use crate::campaign::{Contender, EngineReport, Fault, Policy};
use crate::engines::command::{CommandEngine, CommandId, CommandLine, Form, Grants, LeftOut};
use crate::engines::repeated::{Repeated, Repeats};
use crate::fuzz::Plan;
use crate::judge::Arithmetic;
use crate::report::shell_word;
use crate::workload::{AnyCase, Case, Workload};
use crate::workloads::splat::contract::{Contract, Level};

/// The arithmetic that a program promises, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ModelName {
    /// IEEE 754: every operation correctly rounded, exp and log too, subnormals kept
    Ieee,
    /// WGSL as specified
    Wgsl,
    /// WGSL on a device on which exp(0) is exactly 1
    WgslExp0,
    /// CUDA C++ as compiled by default
    #[default]
    Cuda,
    /// CUDA C++ with fast math
    CudaFast,
}

impl ModelName {
    /// Whose bounds hold.
    #[must_use]
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            Self::Ieee => Arithmetic::Ieee,
            Self::Wgsl => Arithmetic::Wgsl,
            Self::WgslExp0 => Arithmetic::WgslExpZero,
            Self::Cuda => Arithmetic::Cuda,
            Self::CudaFast => Arithmetic::CudaFast,
        }
    }
}

/// As what a program is judged, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ContractArgs {
    /// The part of the way that your program does: raster (the gradients of what is rasterized), project,
    /// project-backward, or full (a scene's images and gradients) [default: raster]
    #[arg(long, value_name = "LEVEL", value_parser = |name: &str| name.parse::<Level>())]
    pub level: Option<Level>,
    /// The arithmetic that your program promises: of CUDA C++ (also for programs on the processor, whose
    /// exp is 1 or 2 ulp off), with fast math, of WGSL, or IEEE 754 throughout [default: cuda]
    #[arg(long, value_name = "NAME")]
    pub model: Option<ModelName>,
    /// The expression that your program computes alpha's gradient by: a project (3dgs, gsplat-1.5,
    /// gsplat-main, brush, fastgs, taichi, slang) or fields as in 'buffer,final_t=one-minus-alpha'
    /// [default: 3dgs]
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Formulation>())]
    pub formulation: Option<Formulation>,
    /// How often your program rounds a term on its way into an intermediate of that expression: 0 to 64
    /// [default: as the formulation states]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
}

impl ContractArgs {
    fn is_given(&self) -> bool {
        let Self { level, model, formulation, extra_roundings } = self;
        level.is_some() || model.is_some() || formulation.is_some() || extra_roundings.is_some()
    }

    /// What was promised.
    ///
    /// # Errors
    /// A formulation of a level that has none.
    pub fn resolve(&self) -> Result<(Contract, Arithmetic), CliError> {
        let formulation = self.formulation.unwrap_or_default();
        let formulation = match self.extra_roundings {
            Some(extra) => formulation.with_extra_roundings(extra),
            None => formulation,
        };
        let contract = Contract::new(self.level.unwrap_or_default(), formulation);
        let model = self.model.unwrap_or_default();
        Ok((contract.map_err(CliError::of)?, model.arithmetic()))
    }
}

/// A program and what it is granted, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// Judge your own program in the place of engines. This command, which no shell reads, starts it; a
    /// line of JSON on its standard input names the files of each case, and it answers with a line. The
    /// README's section on your own program has an example
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<CommandLine>,
    /// Time in which your program must answer, seconds; then it is killed and started again [default: 60]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Option<Duration>,
}

/// A time that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected seconds above 0 and below a million, as in 60 or 0.5")]
pub(super) struct NotSeconds;

pub(super) fn seconds(text: &str) -> Result<Duration, NotSeconds> {
    let number: f64 = text.parse().map_err(|_| NotSeconds)?;
    if number > 0.0 && number < 1e6 { Ok(Duration::from_secs_f64(number)) } else { Err(NotSeconds) }
}

impl ProgramArgs {
    /// What a program is granted.
    #[must_use]
    pub fn grants(&self) -> Grants {
        let usual = Grants::default();
        Grants { answer: self.timeout.unwrap_or(usual.answer), ..usual }
    }
}

/// A program in the place of engines, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct CommandArgs {
    /// The program.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// As what it is judged.
    #[command(flatten)]
    pub contract: ContractArgs,
}

/// A program to judge.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandPlan {
    /// What starts it.
    pub line: CommandLine,
    /// What it is judged as.
    pub contract: Contract,
    /// The arithmetic that it promises.
    pub arithmetic: Arithmetic,
    /// What it is granted.
    pub grants: Grants,
    /// How many processes of it run.
    pub processes: usize,
}

impl CommandArgs {
    /// Whether a program was named.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.program.command.is_some()
    }

    /// The program, if one was named. `engines` are options, with whether they were typed, that only
    /// engines have.
    ///
    /// # Errors
    /// Options of programs without one, or of engines beside one; another workload than splats.
    pub fn resolve(
        self,
        processes: usize,
        workload: &dyn Workload,
        engines: &[(&str, bool)],
    ) -> Result<Option<CommandPlan>, CliError> {
        let Some(line) = self.program.command.clone() else {
            if self.contract.is_given() || self.program.timeout.is_some() {
                return Err(CliError::new(
                    "--level, --model, --formulation, --extra-roundings and --timeout are a program's: \
                     name it with --command",
                ));
            }
            return Ok(None);
        };
        if let Some((option, _)) = engines.iter().find(|(_, typed)| *typed) {
            let what = "is an option of engines, and --command names a program in their place: leave \
                        one of them out";
            return Err(CliError::new(format!("{option}: {what}")));
        }
        if workload.name() != NAME {
            let name = workload.name();
            return Err(CliError::new(format!(
                "--workload {name}: programs are judged on splats, leave the option out"
            )));
        }
        let (contract, arithmetic) = self.contract.resolve()?;
        let grants = self.program.grants();
        Ok(Some(CommandPlan { line, contract, arithmetic, grants, processes: processes.max(1) }))
    }
}

impl CommandPlan {
    /// Starts the program, with every run made so often where that is demanded.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn contender(
        &self,
        repeats: Option<&Repeats>,
    ) -> Result<(Contender<'static>, LeftOut), CliError> {
        let promised = (self.arithmetic, self.grants);
        let form = Arc::new(self.contract);
        let engine = CommandEngine::start(&self.line, form, promised, self.processes);
        let engine = engine.map_err(CliError::of)?;
        let left_out = engine.left_out();
        let mut engine: Box<dyn Engine + Send> = Box::new(engine);
        if let Some(repeats) = repeats {
            engine = Box::new(Repeated::device(engine, repeats));
        }
        let contender = Contender {
            id: CommandId(self.arithmetic).to_string(),
            emulation: None,
            engine,
            stages: vec![self.contract.stage()],
            settings: self.contract.setting().into_iter().collect(),
        };
        Ok((contender, left_out))
    }

    /// A case with the program's jobs. Those that are drawn are splats, and those of files were looked at.
    #[must_use]
    pub fn case(&self, case: &AnyCase) -> AnyCase {
        self.contract.case(case).unwrap_or_else(|_| Arc::clone(case))
    }

    /// Makes a failing case of the program smaller by `smaller`, which knows nothing of programs.
    pub fn smaller(
        &self,
        smaller: impl FnOnce(&mut dyn FnMut(&AnyCase) -> bool) -> AnyCase,
        fails: &mut dyn FnMut(&AnyCase) -> bool,
    ) -> AnyCase {
        self.case(&smaller(&mut |case| fails(&self.case(case))))
    }

    /// What every finding's reader is told.
    pub fn tell(&self, reports: &mut [EngineReport]) {
        let line = shell_word(&self.line.to_string());
        let note = format!("with your program: append --command {line} to the last line");
        for finding in reports.iter_mut().flat_map(|report| &mut report.findings) {
            finding.notes.push(note.clone());
        }
    }

    /// Says in the reports what the program left out.
    ///
    /// # Errors
    /// The program never ran, and why.
    pub fn ran(&self, reports: &mut [EngineReport], left_out: &LeftOut) -> Result<(), CliError> {
        for finding in reports.iter().flat_map(|report| &report.findings) {
            if let Fault::Engine(EngineError::NoDevice(reason)) = &finding.fault {
                return Err(CliError::new(reason.clone()));
            }
        }
        let names = left_out.names();
        if !names.is_empty() {
            let what = format!("{}: the program's outputs have none", names.join(", "));
            for report in reports {
                report.unsupported.insert((self.contract.stage(), None), what.clone());
            }
        }
        Ok(())
    }
}

/// Which program is judged, and by which bounds.
impl fmt::Display for CommandPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, contract, arithmetic, .. } = self;
        write!(f, "{} is '{line}', arithmetic {}", contract.stage(), arithmetic.name())?;
        if contract.level() == Level::Raster {
            write!(f, "; formulation {}", described(contract.formulation()))?;
        }
        f.write_str("; bounds for sums in any order, the widest")
    }
}

/// Decides as a campaign's plan does, but that every case is the program's, whatever its formulation.
#[derive(Debug)]
pub struct OfProgram<'a>(pub &'a Plan);

impl Policy for OfProgram<'_> {
    fn class(&self, case: &dyn Case) -> String {
        self.0.class(case)
    }

    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        self.0.promises(stage, case)
    }

    fn settings(&self, case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        self.0.settings(case, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("60"), Ok(Duration::from_secs(60)), "whole");
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)), "parts");
        for text in ["", "0", "-1", "nan", "inf", "1e9", "1m"] {
            assert_eq!(seconds(text), Err(NotSeconds), "{text}");
        }
    }
}
