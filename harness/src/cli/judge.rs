//! `splatcheck judge`: judges a file of results that a program wrote by itself.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::case::read_case;
use super::command::ContractArgs;
use super::exit::{CliError, Outcome, conclude};
use super::formulation::described;
use super::paths;
use crate::diagnosis::Diagnosis;
use crate::engines::command::{Form, read_written};
use crate::gate::Evidence;
use crate::io::{Problem, read};
use crate::judge::Arithmetic;
use crate::verdict::{Tally, Verdict};
use crate::workloads::splat::contract::{Contract, Level, diagnose_job, judge_job};
use crate::workloads::splat::files::corpus::EXTENSIONS;

/// Options of `judge`, as typed.
#[derive(Clone, Debug, Args)]
pub struct JudgeArgs {
    /// The case, as 'splatcheck cases' wrote it into its folder cases (.safetensors or .toml)
    #[arg(value_name = "CASE")]
    pub case: PathBuf,
    /// What your program made of it: the outputs of the level, as f32 (.safetensors)
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// The camera whose input it read; 0 where the level takes all cameras at once
    #[arg(long, value_name = "K", default_value_t = 0, allow_negative_numbers = true)]
    pub camera: usize,
    /// As what it is judged.
    #[command(flatten)]
    pub contract: ContractArgs,
}

/// A checked `judge`.
#[derive(Clone, Debug)]
pub struct JudgePlan {
    /// A case that can be opened.
    pub case: PathBuf,
    /// A result that can be opened.
    pub result: PathBuf,
    /// The camera.
    pub camera: usize,
    /// What it is judged as.
    pub contract: Contract,
    /// The arithmetic that the program promises.
    pub arithmetic: Arithmetic,
}

impl JudgeArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<JudgePlan, CliError> {
        let (contract, arithmetic) = self.contract.resolve()?;
        paths::expect_extension("judge", &self.case, &EXTENSIONS)?;
        paths::expect_extension("judge", &self.result, &["safetensors"])?;
        Ok(JudgePlan {
            case: paths::readable_file("judge", &self.case)?,
            result: paths::readable_file("judge", &self.result)?,
            camera: self.camera,
            contract,
            arithmetic,
        })
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]. A result that does not fit its case is none: the program is at fault.
pub fn run(plan: &JudgePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let JudgePlan { contract, arithmetic, camera, .. } = plan;
    let (arithmetic, camera) = (*arithmetic, *camera);
    let case = read_case(&plan.case)?.case;
    if let Some(why) = contract.not_for(&case) {
        let name = case.name();
        return Err(CliError::new(format!("case {name} is one of those {why}: name another")));
    }
    let job = contract.job(&case, camera).map_err(CliError::of)?;
    let bytes = read::bytes(&plan.result);
    let bytes = bytes.map_err(|error| CliError::caused("cannot read the result", error))?;
    write!(out, "{} of {}: level {}", plan.result.display(), case.name(), contract.level())?;
    if contract.level() == Level::Raster {
        write!(out, ", camera {camera}, formulation {}", described(contract.formulation()))?;
    }
    writeln!(out, ", arithmetic {}", arithmetic.name())?;
    let wrong = |problem: Problem, out: &mut dyn Write| {
        writeln!(out, "disagree: {problem}")?;
        conclude(&Evidence::of_failures(vec![problem.to_string()]))
    };
    let written = match read_written(contract, &job.sizes, &bytes) {
        Ok(written) => written,
        Err(problem) => return wrong(problem, out),
    };
    for one in contract.written(&job.sizes) {
        if written.find(&one.name).is_none() {
            writeln!(out, "NOT COMPARED: {}: the result has none", one.name)?;
        }
    }
    let outputs = match contract.gathered(&job.sizes, written) {
        Ok(outputs) => outputs,
        Err(problem) => return wrong(problem, out),
    };
    let tally = judge_job(contract, arithmetic, &job, &outputs).map_err(CliError::of)?;
    let diagnosis = diagnose_job(contract, arithmetic, &job, &outputs).map_err(CliError::of)?;
    conclude_tally(&tally, diagnosis.as_ref(), out)
}

/// Shows what was counted, what may be wrong, and the worst element.
fn conclude_tally(
    tally: &Tally,
    diagnosis: Option<&Diagnosis>,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let verdict = tally.verdict();
    writeln!(
        out,
        "{verdict}: {} elements, {} outside their bounds, {} without a finite one",
        tally.elements(),
        tally.disagree,
        tally.inconclusive
    )?;
    for line in diagnosis.into_iter().flat_map(Diagnosis::lines) {
        writeln!(out, "  {line}")?;
    }
    if let Some(worst) = &tally.worst {
        writeln!(out, "  {worst}")?;
    }
    if let Some(element) = &tally.without_bound {
        writeln!(out, "  without a bound: {}", element.place())?;
    }
    writeln!(out, "  largest error / bound of the others: {:.3e}", tally.sharpness.max)?;
    out.flush()?;
    match verdict {
        Verdict::NotExercised => conclude(&Evidence::default()),
        Verdict::Agree | Verdict::Inconclusive => conclude(&Evidence::of_failures(Vec::new())),
        Verdict::Disagree => {
            let worst = tally.worst.iter().map(ToString::to_string).collect();
            conclude(&Evidence::of_failures(worst))
        }
    }
}
