//! `splatcheck gradcheck`, `compare` and `accuracy`: kernels that no oracle of ours knows, judged by their own
//! mathematics.

mod asked;
mod gate;
mod made;
mod options;
mod page;
mod question;
mod ran;
mod replayed;
mod report;
mod swept;

use std::io::Write;

use super::exit::{CliError, Outcome};
use super::output::Progress;
use super::stale;
pub use asked::{Asked, Cases};
pub use options::{AccuracyArgs, CompareArgs, DrawnArgs, GradcheckArgs, Plan};
pub use question::Question;
pub use ran::{Found, Ran};
pub use replayed::replayed;
pub use report::text;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]: also where nothing was judged.
pub fn run(plan: &Plan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let programs = plan.programs()?;
    let bar = Progress::new(plan.asked.question.name(), "cases", plan.asked.count());
    let ran = plan.asked.run(&programs, &|| bar.inc(1)).map_err(CliError::of)?;
    bar.finish_and_clear();
    let again = ran.found.as_ref().map(|found| report::keep(plan, found)).transpose()?;
    let again = again.as_ref().map_or(&[][..], |again| &again[..]);
    if ran.interrupted {
        // The other files would look as if all cases were in them.
        out.write_all(text(&ran, again).as_bytes())?;
        out.flush()?;
        return Ok(Outcome::Interrupted);
    }
    if let Some(file) = &plan.save
        && let Some(case) = plan.asked.cases(0).map_err(CliError::of)?.first()
    {
        report::save(plan, &programs, case, file)?;
    }
    let told = tell(plan, &ran, again, out);
    if told.is_err() {
        stale::remove_own([&plan.json, &plan.junit, &plan.sarif, &plan.html]);
    }
    told?;
    if ran.is_wrong() {
        return Ok(Outcome::Disagree);
    }
    match ran.not_judged() {
        Some(why) => Err(CliError::new(why)),
        None => Ok(Outcome::Agree),
    }
}

/// Writes the files that were asked for, and prints the report.
fn tell(plan: &Plan, ran: &Ran, again: &[String], out: &mut dyn Write) -> Result<(), CliError> {
    if let Some(file) = &plan.json {
        report::write_json(plan, &ran.all, file)?;
    }
    gate::write(plan, ran)?;
    if let Some(file) = &plan.html {
        page::write(plan, ran, again, file)?;
    }
    out.write_all(text(ran, again).as_bytes())?;
    Ok(out.flush()?)
}
