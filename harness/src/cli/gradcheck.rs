//! `splatcheck gradcheck`, `compare` and `accuracy`: kernels that no oracle of ours knows, judged by their own
//! mathematics.

mod options;
mod report;
mod swept;

use std::io::Write;

use super::exit::{CliError, Outcome};
use crate::gradcheck::{
    Case, Checked, Manifest, Program, ProgramError, accuracy, check, compare, on_purpose, smaller,
};
pub use options::{AccuracyArgs, CompareArgs, GradcheckArgs, Plan, Question};
use report::Found;
use splatcheck_emulator::Schedule;
use swept::Swept;

/// What came of all cases.
struct Ran {
    /// Case by case: its index and what came of it.
    all: Vec<(u64, Checked)>,
    /// The first case with something wrong, made smaller.
    found: Option<Found>,
    /// For each combination of what is swept whether it ever failed.
    swept: Swept,
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]: also where nothing was judged.
pub fn run(plan: &Plan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let programs: Vec<Program> = plan.programs()?;
    let ran = all_cases(plan, &programs)?;
    if let (Some(file), Some((index, _))) = (&plan.save, ran.all.first())
        && let Some(case) = cases_of(plan, *index)?.first()
    {
        report::save(plan, &programs, case, file)?;
    }
    if let Some(file) = &plan.json {
        report::write_json(plan, &ran.all, file)?;
    }
    let arrays = report::summed(&ran.all);
    let text = report::text(plan, &ran.all, &arrays, (ran.found.as_ref(), &ran.swept));
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if ran.all.iter().any(|(_, checked)| checked.is_wrong()) {
        return Ok(Outcome::Disagree);
    }
    match report::not_judged(plan, &arrays) {
        Some(why) => Err(CliError::new(why)),
        None => Ok(Outcome::Agree),
    }
}

/// The case of an index, or the one that a file holds: one for each combination of what is swept.
fn cases_of(plan: &Plan, index: u64) -> Result<Vec<Case>, CliError> {
    if let Some(file) = &plan.inputs {
        return Case::read(&plan.manifest, file)
            .map_err(|error| CliError::caused("--inputs: cannot read the case", error));
    }
    let settings = plan.manifest.settings();
    let drawn = settings.iter().map(|s| Case::drawn(&plan.manifest, (plan.seed, index), s));
    drawn.collect::<Result<_, _>>().map_err(CliError::of)
}

fn all_cases(plan: &Plan, programs: &[Program]) -> Result<Ran, CliError> {
    let count = if plan.inputs.is_some() { 1 } else { plan.cases };
    let mut ran = Ran { all: Vec::new(), found: None, swept: Swept::default() };
    for index in 0..count {
        for case in cases_of(plan, index)? {
            for schedule in &plan.schedules {
                let checked = ask(plan, programs, &case, schedule).map_err(CliError::of)?;
                let wrong = checked.is_wrong();
                ran.swept.count(&plan.manifest, &case, wrong);
                if wrong && ran.found.is_none() {
                    let explained = checked.explained.clone();
                    let mut found = found(plan, programs, (index, &case), schedule)?;
                    // A small case of simple numbers fits more than one explanation.
                    found.explained_by(explained);
                    ran.found = Some(found);
                }
                ran.all.push((index, checked));
            }
        }
    }
    Ok(ran)
}

/// Makes a failing case smaller and writes it.
fn found(
    plan: &Plan,
    programs: &[Program],
    (index, case): (u64, &Case),
    schedule: &Schedule,
) -> Result<Found, CliError> {
    let mut fails =
        |case: &Case| ask(plan, programs, case, schedule).is_ok_and(|checked| checked.is_wrong());
    let small = match plan.inputs {
        Some(_) => case.clone(),
        None => {
            smaller(&plan.manifest, case, (plan.seed, index), &mut fails).map_err(CliError::of)?
        }
    };
    let checked = ask(plan, programs, &small, schedule).map_err(CliError::of)?;
    let purpose = match (plan.question, programs) {
        (Question::Gradient, [program, ..]) if checked.fault.is_none() => {
            on_purpose(&plan.manifest, program, &small, schedule).map_err(CliError::of)?
        }
        (Question::Gradient | Question::Equal | Question::Accuracy, _) => None,
    };
    Found::new(plan, (index, small), checked, purpose)
}

fn ask(
    plan: &Plan,
    programs: &[Program],
    case: &Case,
    schedule: &Schedule,
) -> Result<Checked, ProgramError> {
    let manifest: &Manifest = &plan.manifest;
    match (plan.question, programs) {
        (Question::Gradient, [program, ..]) => check(manifest, program, case, schedule),
        (Question::Equal, [one, other, ..]) => compare(manifest, [one, other], case, schedule),
        (Question::Accuracy, [program, ..]) => accuracy(manifest, program, case, schedule),
        (Question::Gradient | Question::Equal | Question::Accuracy, _) => Ok(Checked::default()),
    }
}
