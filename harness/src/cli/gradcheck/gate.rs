//! What CI systems read of `gradcheck`, `compare` and `accuracy`: JUnit XML and SARIF.

use std::path::PathBuf;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::options::Plan;
use super::question::Question;
use super::ran::{Found, Ran};
use crate::cli::exit::CliError;
use crate::gradcheck::{Judged, file_and_line};
use splatcheck_judge::gate::{Provenance, sarif, xml};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::words::count;

/// Writes the files that were asked for.
pub(super) fn write(plan: &Plan, ran: &Ran) -> Result<(), CliError> {
    if let Some(file) = &plan.junit {
        write_file(file, junit(plan, ran).as_bytes()).map_err(CliError::of)?;
    }
    if let Some(file) = &plan.sarif {
        let run = Provenance { about: ran.not_sought.iter().cloned().collect(), ..plan.dated() };
        let failures: Vec<_> = ran.not_judged().into_iter().collect();
        let text = sarif::text(&findings(plan, ran), &failures, &run, &sarif::Base::find());
        write_file(file, text.as_bytes()).map_err(CliError::of)?;
    }
    Ok(())
}

/// A suite with a test case for each array.
fn junit(plan: &Plan, ran: &Ran) -> String {
    let (run, subject) = (plan.dated(), || plan.run.subject.clone());
    let mut suite = TestSuite::new(subject());
    for (name, value) in run.facts(env!("CARGO_PKG_VERSION")) {
        suite.add_property(Property::new(name, value));
    }
    if let Some(what) = &ran.not_sought {
        suite.set_system_out(what);
    }
    for judged in ran.arrays().values() {
        let mut case = TestCase::new(judged.name.clone(), status(ran, judged));
        case.set_classname(subject());
        suite.add_test_case(case);
    }
    for (name, used) in &ran.unused {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("no kernel {used} it in any case"));
        let mut case = TestCase::new(name.clone(), status);
        case.set_classname(subject());
        suite.add_test_case(case);
    }
    for (index, why) in ran.all.iter().filter_map(|(index, one)| Some((index, one.fault.clone()?)))
    {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(why);
        suite.add_test_case(TestCase::new(format!("case {index}"), status));
    }
    if let Some(why) = ran.not_judged().filter(|_| !ran.is_wrong()) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(why);
        let mut case = TestCase::new("gate", status);
        case.set_classname(subject());
        suite.add_test_case(case);
    }
    let mut report = Report::new("splatcheck");
    report.add_test_suite(suite);
    xml(&report)
}

/// How many elements of an array are wrong.
pub(super) fn how_many(judged: &Judged) -> String {
    format!("{}, of {} compared", count(judged.wrong.len(), "wrong element"), judged.compared)
}

fn status(ran: &Ran, judged: &Judged) -> TestCaseStatus {
    if !judged.wrong.is_empty() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(how_many(judged));
        status.set_type("disagree");
        if let Some(explained) =
            ran.found.as_ref().and_then(|found| found.checked.explained.as_ref())
        {
            status.set_description(format!("looks like: {}", explained.words));
        }
        return status;
    }
    if judged.compared == 0 || ran.question.is_constant(judged) {
        let mut status = TestCaseStatus::skipped();
        status.set_message("not exercised: nothing was compared, or all is zero");
        return status;
    }
    if judged.is_mostly_unknown() {
        let mut status = TestCaseStatus::skipped();
        status.set_message("not judged: fewer than half of the elements could be compared");
        return status;
    }
    TestCaseStatus::success()
}

/// The finding, beside the line of the source that it names, or else beside the manifest.
fn findings(plan: &Plan, ran: &Ran) -> Vec<sarif::Finding> {
    let Some(found) = &ran.found else { return Vec::new() };
    let rule = match plan.asked.question {
        Question::Gradient => "not the derivative",
        Question::Equal | Question::Accuracy => "not the other program's",
    };
    let wrong = found.checked.arrays.iter().filter(|judged| !judged.wrong.is_empty());
    let wrong: Vec<_> = wrong.map(|judged| judged.name.as_str()).collect();
    let message = match (&found.checked.fault, &found.checked.explained) {
        (Some(fault), _) => format!("no result: {fault}"),
        (None, Some(explained)) => explained.words.clone(),
        (None, None) => format!("{} disagrees", wrong.join(", ")),
    };
    let place = explained_at(plan, found).map(|(beside, line)| {
        // Where it lies elsewhere, its name is what is known.
        let name = || beside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = if beside.is_file() { beside.display().to_string() } else { name() };
        (file, line)
    });
    let place = place.unwrap_or_else(|| (plan.manifest_file.display().to_string(), 1));
    vec![sarif::Finding { rule: rule.to_owned(), message, places: vec![place] }]
}

/// The file and the line of the source that explain a finding. Compilers note the file's name; it mostly lies beside
/// the manifest.
pub(super) fn explained_at(plan: &Plan, found: &Found) -> Option<(PathBuf, u32)> {
    let (file, line) = file_and_line(found.checked.explained.as_ref()?.line.as_ref()?)?;
    Some((plan.manifest_file.with_file_name(file), line))
}
