//! `splatcheck judge`: judges a file of results that a program wrote by itself.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use splatcheck_gpu::Tensors;

use super::case::read_case;
use super::contract::{ContractArgs, Promise};
use super::exit::{CliError, Outcome, conclude};
use super::paths;
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::engines::command::{Form, Need, read_written};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::{Problem, read};
use splatcheck_judge::report::{IN_PART, and_zeros};
use splatcheck_judge::verdict::{Tally, Verdict};
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{AnyCase, Job};
use splatcheck_workloads::splat::contract::{Level, diagnose_job, judge_job};
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;
use splatcheck_workloads::splat::formulated::described;

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
    /// What the program promises.
    pub promise: Promise,
}

impl JudgeArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<JudgePlan, CliError> {
        let promise = self.contract.resolve()?;
        paths::expect_extension("judge", &self.case, &EXTENSIONS)?;
        paths::expect_extension("judge", &self.result, &["safetensors"])?;
        Ok(JudgePlan {
            case: paths::readable_file("judge", &self.case)?,
            result: paths::readable_file("judge", &self.result)?,
            camera: self.camera,
            promise,
        })
    }
}

/// A result judged in one formulation.
struct Tried {
    promise: Promise,
    job: Job,
    outputs: Tensors,
    tally: Tally,
    /// Outputs that are asked for and not there.
    missing: Vec<String>,
}

impl JudgePlan {
    /// The result by what a program promises; a problem with it is the program's.
    fn tried(
        &self,
        promise: &Promise,
        case: &AnyCase,
        bytes: &[u8],
    ) -> Result<Result<Tried, Problem>, CliError> {
        let Promise { contract, arithmetic, .. } = promise;
        let job = contract.job(case, self.camera).map_err(CliError::of)?;
        let written = match read_written(contract, &job.sizes, bytes) {
            Ok(written) => written,
            Err(problem) => return Ok(Err(problem)),
        };
        let asked = contract.written(&job.sizes).into_iter();
        let asked = asked
            .filter(|one| !matches!(one.need, Need::Welcome | Need::Never))
            .map(|one| one.name);
        let missing = asked.filter(|name| written.find(name).is_none()).collect();
        let outputs = match contract.gathered(&job.sizes, written) {
            Ok(outputs) => outputs,
            Err(problem) => return Ok(Err(problem)),
        };
        let tally = judge_job(contract, *arithmetic, &job, &outputs).map_err(CliError::of)?;
        Ok(Ok(Tried { promise: promise.clone(), job, outputs, tally, missing }))
    }

    /// The same in the other formulations that it agrees under.
    fn others(&self, case: &AnyCase, bytes: &[u8]) -> Result<Vec<Tried>, CliError> {
        for group in self.promise.others() {
            let mut agreeing = Vec::new();
            for promise in &group {
                let other = self.tried(promise, case, bytes)?;
                agreeing.extend(other.ok().filter(|one| one.tally.verdict() == Verdict::Agree));
            }
            if !agreeing.is_empty() {
                return Ok(agreeing);
            }
        }
        Ok(Vec::new())
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]. A result that does not fit its case is none: the program is at fault.
pub fn run(plan: &JudgePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let case = read_case(&plan.case)?.case;
    if let Some(why) = plan.promise.contract.not_for(&case) {
        let name = case.name();
        return Err(CliError::new(format!("case {name} is one of those {why}: name another")));
    }
    let bytes = read::bytes(&plan.result);
    let bytes = bytes.map_err(|error| CliError::caused("cannot read the result", error))?;
    let mut tried = plan.tried(&plan.promise, &case, &bytes)?;
    let mut others = Vec::new();
    if let Ok(first) = &tried
        && first.tally.verdict() == Verdict::Disagree
    {
        others = plan.others(&case, &bytes)?;
    }
    if plan.promise.is_any() && !others.is_empty() {
        tried = Ok(others.swap_remove(0));
        others.clear();
    }
    let promise = tried.as_ref().map_or(&plan.promise, |tried| &tried.promise);
    let mut about = vec![plan.heading(case.name(), promise)];
    let tried = match tried {
        Ok(tried) => tried,
        Err(problem) => {
            writeln!(out, "disagree: {problem}\n{}", about.join("\n"))?;
            return conclude(&Evidence::of_failures(vec![problem.to_string()]));
        }
    };
    let unused = tried.promise.contract.not_compared().into_iter();
    about.extend(unused.map(|what| format!("NOT COMPARED: {what}")));
    let missing = tried.missing.iter();
    about.extend(missing.map(|name| format!("NOT COMPARED: {name}: the result has none")));
    let named = others.iter().map(|one| described(one.promise.contract.formulation()));
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        about.push(format!("formulation: agrees under {}", named.join("; under ")));
    }
    let Promise { contract, arithmetic, .. } = &tried.promise;
    let diagnosis = diagnose_job(contract, *arithmetic, &tried.job, (None, &tried.outputs));
    conclude_tally(&tried.tally, diagnosis.map_err(CliError::of)?.as_ref(), &about, out)
}

impl JudgePlan {
    /// What is judged, and by what.
    fn heading(&self, case: &str, promise: &Promise) -> String {
        let Promise { contract, arithmetic, .. } = promise;
        let mut words = format!("{} of {case}: level {}", self.result.display(), contract.level());
        if contract.level() == Level::Raster {
            let formulation = described(contract.formulation());
            words = format!("{words}, camera {}, formulation {formulation}", self.camera);
        }
        format!("{words}, arithmetic {}", arithmetic.name())
    }
}

/// Shows the verdict, what was judged, what may be wrong, and the worst element.
fn conclude_tally(
    tally: &Tally,
    diagnosis: Option<&Diagnosis>,
    about: &[String],
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let verdict = tally.verdict();
    let unseen = tally.not_judged();
    let in_part = if verdict == Verdict::Agree && !unseen.is_empty() { IN_PART } else { "" };
    writeln!(
        out,
        "{verdict}{in_part}: {}{}, {} outside their bounds, {} without a finite one",
        count(tally.elements(), "element"),
        and_zeros(tally.zeros),
        tally.disagree,
        tally.inconclusive
    )?;
    for line in about {
        writeln!(out, "{line}")?;
    }
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
    for (output, why) in &unseen {
        writeln!(out, "NOT EXERCISED: {output}: {why}")?;
    }
    out.flush()?;
    match verdict {
        Verdict::NotExercised => conclude(&Evidence::default()),
        Verdict::Agree | Verdict::Inconclusive => {
            let gaps = tally.gap().into_iter().collect();
            conclude(&Evidence { gaps, ..Evidence::of_failures(Vec::new()) })
        }
        Verdict::Disagree => {
            let worst = tally.worst.iter().map(ToString::to_string).collect();
            conclude(&Evidence::of_failures(worst))
        }
    }
}
