//! `--command`: a user's own program in place of engines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use splatcheck_gpu::{Engine, EngineError, Setting, Stage};

use super::contract::{ContractArgs, Promise};
use super::exit::CliError;
use super::paths;
use splatcheck_judge::campaign::{Contender, EngineReport, Fault, Policy};
use splatcheck_judge::engines::command::{CommandEngine, CommandId, CommandLine, Form, Grants};
use splatcheck_judge::engines::repeated::{Repeated, Repeats};
pub use splatcheck_judge::engines::{Lent, Limits};
use splatcheck_judge::words::{count, folder_name, shell_word};
use splatcheck_judge::workload::{AnyCase, Case, Workload};
use splatcheck_workloads::fuzz::Plan;
use splatcheck_workloads::splat::contract::{Level, NotFor};
use splatcheck_workloads::splat::formulated::described;

/// A program and what it is granted, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Your program")]
pub struct ProgramArgs {
    /// Judge your own program instead of engines. This command starts it, without a shell. A line of JSON on
    /// its standard input names the files of each case, and it answers with a line: docs/src/program.md has
    /// an example
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<CommandLine>,
    /// Time in which your program, or an engine, must answer, seconds; then it is killed and started again
    /// [default: 60 for a program; for an engine 120, and 10 for every MiB of its inputs]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Option<Duration>,
}

/// A time that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected seconds above 0 and below a million, as in 60 or 0.5")]
pub(super) struct NotSeconds;

/// A time as it is typed.
///
/// # Errors
/// It is none.
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

    /// What an engine's process is granted.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.timeout.map_or_else(Limits::default, Limits::of_requests)
    }
}

/// A program in place of engines, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct CommandArgs {
    /// The program.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// As what it is judged.
    #[command(flatten)]
    pub contract: ContractArgs,
}

/// Cases that are not for a program, by why: their names, so that each counts once. A copy is the same.
#[derive(Clone, Debug, Default)]
pub struct CasesLeftOut(Arc<Mutex<BTreeMap<NotFor, BTreeSet<String>>>>);

impl CasesLeftOut {
    /// Notes a case.
    pub fn note(&self, why: NotFor, case: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(why).or_default().insert(case.to_owned());
    }

    /// A line for each reason.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(why, cases): (&NotFor, &BTreeSet<String>)| {
            format!("NOT EXERCISED: {} {why}", count(cases.len(), "case"))
        };
        all.iter().map(line).collect()
    }
}

/// A program to judge.
#[derive(Clone, Debug)]
pub struct CommandPlan {
    /// What starts it.
    pub line: CommandLine,
    /// What it promises.
    pub promise: Promise,
    /// What it is granted.
    pub grants: Grants,
    /// How many processes of it run.
    pub processes: usize,
    /// The cases that were left out.
    pub not_for: CasesLeftOut,
}

impl CommandArgs {
    /// Whether a program was named.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.program.command.is_some()
    }

    /// The workload of the program's cases, if one was named.
    ///
    /// # Errors
    /// As [`ContractArgs::resolve`].
    pub(super) fn workload(&self) -> Result<Option<Arc<dyn Workload>>, CliError> {
        let workload = || Ok(self.contract.resolve()?.contract.workload());
        self.is_given().then(workload).transpose()
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
            if self.contract.is_given() {
                return Err(CliError::new(
                    "--preset, --level, --model, --formulation, --extra-roundings and --constant describe your \
                     own program: add --command 'COMMAND'",
                ));
            }
            return Ok(None);
        };
        if let Some((option, _)) = engines.iter().find(|(_, typed)| *typed) {
            let what = "is an option of engines, and --command judges your program instead: leave one of \
                        them out";
            return Err(CliError::new(format!("{option}: {what}")));
        }
        let promise = self.contract.resolve()?;
        let level = promise.contract.level();
        if workload.name() != level.workload() {
            let (name, own) = (workload.name(), level.workload());
            return Err(CliError::new(format!(
                "--workload {name}: a program of level {level} is judged on cases of {own}; --level names \
                 another"
            )));
        }
        let grants = self.program.grants();
        let (processes, not_for) = (processes.max(1), CasesLeftOut::default());
        Ok(Some(CommandPlan { line, promise, grants, processes, not_for }))
    }
}

impl CommandPlan {
    /// The program's own folder for reproducers, below one that was named.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub(super) fn folder(&self, out: &Path) -> Result<PathBuf, CliError> {
        let out = paths::folder_to_name("--out", out)?;
        Ok(out.join(folder_name(&self.line.to_string())))
    }

    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self) -> Result<Started, CliError> {
        let promised = (self.promise.arithmetic, self.grants);
        let form = Arc::new(self.promise.contract.clone());
        let engine = CommandEngine::start(&self.line, form, promised, self.processes);
        Ok(Started { engine: engine.map_err(CliError::of)? })
    }

    /// The program as it is judged by what it promises there.
    #[must_use]
    pub fn that_promises(&self, promise: &Promise) -> Self {
        Self { promise: promise.clone(), ..self.clone() }
    }

    /// A drawn case as one that the program is for, with the program's jobs; `None` where it cannot be made one.
    #[must_use]
    pub fn drawn(&self, case: &AnyCase) -> Option<AnyCase> {
        let fitted = self.promise.contract.fitted(case)?;
        // A projection's tensors may have no place for what this case has, as a principal point.
        let is_for_it = self.promise.contract.not_for(&fitted).is_none();
        is_for_it.then(|| self.case(&fitted))
    }

    /// Whether a case in a file is for the program; one that is not is noted.
    #[must_use]
    pub fn takes(&self, case: &AnyCase) -> bool {
        match self.promise.contract.not_for(case) {
            None => true,
            Some(why) => {
                self.not_for.note(why, case.name());
                false
            }
        }
    }

    /// A case with the program's jobs. Those that are drawn are of its workload, and those of files were looked
    /// at.
    #[must_use]
    pub fn case(&self, case: &AnyCase) -> AnyCase {
        self.promise.contract.case(case).unwrap_or_else(|_| Arc::clone(case))
    }

    /// Makes a failing case of the program smaller by `smaller`, which knows nothing of programs: what it tries
    /// is fitted to the program, as what was drawn is.
    pub fn smaller(
        &self,
        smaller: impl FnOnce(&mut dyn FnMut(&AnyCase) -> bool) -> AnyCase,
        fails: &mut dyn FnMut(&AnyCase) -> bool,
    ) -> AnyCase {
        let fails = &mut |case: &AnyCase| self.drawn(case).is_some_and(|case| fails(&case));
        let small = smaller(fails);
        self.drawn(&small).unwrap_or(small)
    }

    /// What every finding's reader is told.
    pub fn tell(&self, reports: &mut [EngineReport]) {
        let line = shell_word(&self.line.to_string());
        let note = format!("to run it again with your program, add --command {line}");
        for finding in reports.iter_mut().flat_map(|report| &mut report.findings) {
            if let Fault::Difference(difference) = &finding.fault {
                finding.notes.extend(self.promise.contract.read_from(&difference.output));
            }
            finding.notes.push(note.clone());
        }
    }

    /// Says in the reports what the program left out.
    ///
    /// # Errors
    /// The program never ran, and why.
    pub fn ran(&self, reports: &mut [EngineReport], started: &Started) -> Result<(), CliError> {
        for finding in reports.iter().flat_map(|report| &report.findings) {
            if let Fault::Engine(EngineError::NoDevice(reason)) = &finding.fault {
                return Err(CliError::new(reason.clone()));
            }
        }
        let names = started.engine.left_out().names();
        if !names.is_empty() {
            let what = format!("{}: the program's outputs have none", names.join(", "));
            for report in reports {
                let stage = self.promise.contract.stage();
                report.unsupported.insert((stage, None), what.clone());
            }
        }
        Ok(())
    }
}

/// Which program is judged, and by which bounds.
impl fmt::Display for CommandPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Promise { contract, arithmetic, .. } = &self.promise;
        let line = &self.line;
        write!(f, "{} is '{line}', arithmetic {}", contract.stage(), arithmetic.name())?;
        if let Some(preset) = contract.preset() {
            write!(f, "; preset {preset}, level {}", contract.level())?;
        }
        if contract.level() == Level::Raster {
            write!(f, "; formulation {}", described(contract.formulation()))?;
        }
        f.write_str("; bounds for sums in any order")
    }
}

/// A program that was started, and is judged in one campaign after another.
#[derive(Debug)]
pub struct Started {
    engine: CommandEngine,
}

impl Started {
    /// The program in a campaign, by what it promises there, with every run made so often where that is
    /// demanded.
    pub fn contender(&mut self, promise: &Promise, repeats: Option<&Repeats>) -> Contender<'_> {
        let Promise { contract, arithmetic, .. } = promise;
        let form: Arc<dyn Form> = Arc::new(contract.clone());
        self.engine.judged_as(&form);
        let mut engine: Box<dyn Engine + Send> = Box::new(Lent(&mut self.engine));
        if let Some(repeats) = repeats {
            engine = Box::new(Repeated::device(engine, repeats));
        }
        Contender {
            id: CommandId(*arithmetic).to_string(),
            emulation: None,
            engine,
            stages: vec![contract.stage()],
            settings: contract.setting().into_iter().collect(),
        }
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
