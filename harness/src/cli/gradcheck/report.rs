//! What `gradcheck`, `compare` and `accuracy` say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use splatcheck_emulator::{Conventions, Schedule, UNKNOWN_FUNCTION};

use super::options::Plan;
use super::question::Question;
use super::ran::{Found, Ran};
use super::replayed::notes_of;
use crate::cli::exit::CliError;
use crate::gradcheck::{
    Case, Checked, Convention, Element, Furthest, Judged, Program, Purpose, exact_arrays,
};
use crate::misuse::element_of;
use crate::user_kernel::Observe;
use splatcheck_judge::engines::Order;
use splatcheck_judge::interrupt::until_then;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::table::table;
use splatcheck_judge::words::count;

/// Wrong elements that are shown of an array.
const SHOWN: usize = 3;

/// What the commands are for that [`keep`] names.
pub(super) const AGAIN: [&str; 2] = ["run it again", "after a change"];

/// Places of lost numbers that are shown.
const PLACES: usize = 5;

/// Writes a case with something wrong, and says how it is run again: as it is, and after a change of the kernel.
pub(super) fn keep(plan: &Plan, found: &Found) -> Result<Vec<String>, CliError> {
    let name = plan.asked.question.name();
    let file = match &plan.inputs {
        Some(file) => file.clone(),
        None => {
            let stem = plan.manifest_file.file_stem().unwrap_or_default().to_string_lossy();
            let file = format!("{name}-{stem}-{}-{}.safetensors", plan.seed, found.index);
            fs::create_dir_all(&plan.out).map_err(|error| {
                CliError::caused(format!("cannot make {}", plan.out.display()), error)
            })?;
            let file = plan.out.join(file);
            found.case.write(&file, notes_of(plan, found), Vec::new()).map_err(CliError::of)?;
            file
        }
    };
    let (manifest, file) = (plan.manifest_file.display(), file.display());
    let files: Vec<_> = plan.programs.iter().flatten().map(|(file, _)| file.as_str()).collect();
    let files = files.join(" ");
    let order = match plan.orders.get(found.order) {
        None | Some(Order::Lockstep) => String::new(),
        Some(order) => format!(" --schedule {order}"),
    };
    let observe = match plan.observe == Observe::default() {
        true => String::new(),
        false => format!(" --observe {}", plan.observe),
    };
    let changed =
        format!("splatcheck {name} {files} --manifest {manifest} --inputs {file}{order}{observe}");
    // Arrays of your own say nothing of kernels.
    let again = plan.inputs.is_none().then(|| format!("splatcheck replay {file}"));
    Ok(again.into_iter().chain([changed]).collect())
}

/// The whole report; `again` says how a finding is run again, as it is and after a change.
#[must_use]
pub fn text(ran: &Ran, again: &[String]) -> String {
    let Ran { question, all, found, swept, conventions, .. } = ran;
    let arrays = ran.arrays();
    let wrong = all.iter().filter(|(_, checked)| checked.is_wrong()).count();
    let compared: usize = arrays.values().map(|judged| judged.compared).sum();
    let zeros: usize = arrays.values().map(|judged| judged.zeros).sum();
    let verdict = match ran.interrupted {
        true => until_then(ran.verdict()),
        false => ran.verdict().to_owned(),
    };
    let head = match (ran.verdict(), wrong) {
        ("measured", _) => verdict,
        (_, 0) => format!("{verdict}:"),
        (_, _) => format!("{verdict}: {wrong} of"),
    };
    let runs = count(all.len() as u64, "run");
    let compared = count(compared, question.element());
    let mut text =
        format!("{head} {runs}, {compared} compared, {zeros} of them zero on both sides");
    text += &match arrays.values().map(|judged| judged.by_value).sum::<usize>() {
        0 => String::new(),
        whole => format!(", {whole} whole numbers by value, the others by their mathematics"),
    };
    text += &ran.not_sought.as_ref().map_or_else(String::new, |what| format!("; {what}"));
    text.push('\n');
    if let Some(found) = found {
        text += &finding(*question, found, again);
        for line in swept.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    if ran.left_out > 0 {
        let cases = count(ran.left_out, "more case");
        let _ = writeln!(text, "NOT EXERCISED: {cases}, since a kernel did not end in one");
    }
    if let Some((index, why)) = &ran.refused {
        let _ = writeln!(text, "NOT EXERCISED: case {index}: {why}");
    }
    text.push('\n');
    text += &table(&rows(*question, arrays));
    text += &digits(ran);
    text += &notes(ran);
    if *question == Question::Gradient {
        text += &departures(conventions);
    }
    text
}

pub(super) fn rows(question: Question, arrays: &BTreeMap<String, Judged>) -> Vec<Vec<String>> {
    let with_distance = question != Question::Accuracy;
    let mut head = vec!["array", "of", "compared", "zero", "wrong", "not judged"];
    if with_distance {
        head.push("distance / uncertainty");
    }
    head.push("f32 error / radius");
    if !with_distance {
        head.push("right bits");
    }
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for judged in arrays.values() {
        let mut row = vec![judged.name.clone(), judged.of.clone()];
        let counts = [judged.compared, judged.zeros, judged.wrong.len(), judged.unknown];
        row.extend(counts.map(|count| count.to_string()));
        if with_distance {
            row.push(format!("{:.2e}", judged.worst));
        }
        row.push(format!("{:.2}", judged.rounding));
        if !with_distance {
            let bits = judged.furthest.map(|furthest| furthest.right_bits().to_string());
            row.push(bits.unwrap_or_default());
        }
        rows.push(row);
    }
    rows
}

/// The finding: what is wrong, what it looks like, how to run it again.
fn finding(question: Question, found: &Found, again: &[String]) -> String {
    let (mut text, place) = (String::new(), setting(found));
    if let Some(why) = &found.checked.fault {
        let _ = writeln!(text, "DISAGREE no result ({place}): {why}");
    }
    if found.checked.again {
        text += "  in a second run alone, which finds a variable of the module as the first has left it: a counter \
                 that is not reset?\n";
    }
    if let Some(explained) = &found.checked.explained {
        let _ = writeln!(text, "  looks like: {}", explained.words);
    }
    if let Some(purpose) = &found.purpose {
        let _ = writeln!(text, "  {}", on_purpose(purpose));
    }
    for judged in found.checked.arrays.iter().filter(|judged| !judged.wrong.is_empty()) {
        let (wrong, compared) = (judged.wrong.len(), judged.compared);
        let _ = writeln!(text, "DISAGREE {}: {wrong} of {compared} ({place})", judged.name);
        for element in worst(judged, SHOWN) {
            text += &line(question, judged, element);
        }
    }
    if found.checked.open[0] > 0 {
        let _ = writeln!(
            text,
            "  open in this case: {}: a conforming execution may decide otherwise",
            count(found.checked.open[0], "comparison")
        );
    }
    for (when, again) in AGAIN.iter().zip(again) {
        let _ = writeln!(text, "  {when}: {again}");
    }
    text
}

/// The case of a finding, and its sizes.
pub(super) fn setting(found: &Found) -> String {
    let sizes = found.case.sizes.iter().map(|(name, size)| format!(", {name} = {size}"));
    format!("case {}{}", found.index, sizes.collect::<String>())
}

/// The convention that would make a finding right.
pub(super) fn on_purpose(Purpose { convention, line }: &Purpose) -> String {
    let does = match convention {
        Convention::StraightThrough => "lets the derivative pass",
        Convention::Detach => "is a constant of the derivative",
    };
    let name = convention.name();
    format!("or on purpose: it agrees if {line} {does}: [conventions] {name} = [\"{line}\"]")
}

/// So many wrong elements, those first that are furthest off.
pub(super) fn worst(judged: &Judged, most: usize) -> Vec<&Element> {
    let mut all: Vec<&Element> = judged.wrong.iter().collect();
    all.sort_by(|a, b| (b.found - b.expected).abs().total_cmp(&(a.found - a.expected).abs()));
    all.truncate(most);
    all
}

fn line(question: Question, judged: &Judged, element: &Element) -> String {
    let Element { index, found, expected, uncertainty, float } = *element;
    let place = element_of(&judged.name, &judged.shape, index);
    let expected_words = match question {
        Question::Gradient => "the derivative is",
        Question::Equal | Question::Accuracy => "it must be",
    };
    if !float.is_finite() {
        return format!(
            "  {place} is {float} in {}, {expected_words} {expected:e}\n",
            judged.dtype
        );
    }
    let distance = (found - expected).abs();
    let times = if uncertainty > 0.0 {
        format!(", {:.1e} times their uncertainty {uncertainty:.1e}", distance / uncertainty)
    } else {
        String::new()
    };
    format!(
        "  {place} is {found:e} in real arithmetic ({float:e} in {}), {expected_words} {expected:e}: \
         the distance is {distance:.3e}{times}\n",
        judged.dtype
    )
}

/// Lines that are named of an array.
const LINES: usize = 3;

/// The arrays that lose the most digits, and the lines that lose them.
fn digits(ran: &Ran) -> String {
    let mut text = String::new();
    for (name, one) in &ran.furthest {
        let Furthest { index, error, largest, bits: of } = one.furthest;
        let element = element_of(name, &one.shape, index);
        let (bits, case) = (one.furthest.right_bits(), one.index);
        let _ = writeln!(
            text,
            "{element}: {bits} of {of} bits are right in case {case}: it is {error:.1e} off, and the array's largest is \
             {largest:.1e}"
        );
        let share = |(line, part): &(String, f64)| format!("{:.0} % {line}", 100.0 * part);
        let lines = one.lines.iter().take(LINES).filter(|(_, part)| *part >= 0.01).map(share);
        let lines: Vec<_> = lines.collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "  the roundings that may take it there: {}", lines.join(", "));
        }
    }
    text
}

/// Where the derivative is another on purpose.
pub(super) fn departures(conventions: &Conventions) -> String {
    let mut text = String::new();
    let Conventions { straight_through, detach } = conventions;
    for (name, lines) in [("straight_through", straight_through), ("detach", detach)] {
        if !lines.is_empty() {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let _ =
                writeln!(text, "not the derivative, on purpose: {name} at {}", lines.join(", "));
        }
    }
    text
}

pub(super) fn notes(ran: &Ran) -> String {
    let (question, all, arrays) = (ran.question, &ran.all, ran.arrays());
    let mut text = String::new();
    for (name, used) in &ran.unused {
        let _ = writeln!(text, "NOT EXERCISED: {name}: no kernel {used} it in any case");
    }
    let open: u64 = all.iter().map(|(_, checked)| checked.open[0]).sum();
    let decided: u64 = all.iter().map(|(_, checked)| checked.open[1]).sum();
    if open > 0 {
        let _ = writeln!(
            text,
            "{open} of {decided} comparisons of floats are open: rounding may decide them otherwise"
        );
    }
    for judged in arrays.values().filter(|judged| judged.unknown > 0) {
        let _ = writeln!(
            text,
            "NOT EXERCISED: {}: {}: {}",
            judged.name,
            count(judged.unknown as u64, "element"),
            match (all.iter().all(|(_, checked)| checked.lost.is_empty()), open > 0) {
                (false, _) => "a number was lost on the way",
                (true, false) => {
                    "they are uncertain as a whole: a divisor or radicand may be zero, equal numbers are compared, \
                     nearly all of a number cancels, or a long chain of steps has made the uncertainty grow: try \
                     fewer steps"
                }
                (true, true) => {
                    "an open comparison may have left something out, a divisor may be zero, or a long chain of \
                     steps has made the uncertainty grow: try fewer steps"
                }
            }
        );
    }
    for judged in arrays.values().filter(|judged| question.is_constant(judged)) {
        let _ = writeln!(
            text,
            "NOT EXERCISED: {}: all {} derivatives are zero, no output depends on {}",
            judged.name, judged.compared, judged.of
        );
    }
    let functions = all.iter().flat_map(|(_, checked)| &checked.polynomials);
    let functions: BTreeSet<&str> = functions.copied().collect();
    let (known, others): (Vec<_>, Vec<_>) =
        functions.into_iter().partition(|name| *name != UNKNOWN_FUNCTION);
    let exact = "(a .cu file, or PTX that is compiled with markers.cuh, makes them exact)";
    if !known.is_empty() {
        let names = known.join(", ");
        let _ = writeln!(
            text,
            "followed as polynomials: {names}: their derivatives are uncertain by some 1e-6 {exact}"
        );
    }
    if !others.is_empty() {
        let _ = writeln!(
            text,
            "followed as polynomials: functions that are not known: their coefficients are uncertain by 4e-5 of \
             the largest, and derivatives by more behind an exponential (a .cu file, or PTX that is compiled \
             with markers.cuh, makes those exact that are listed there)"
        );
    }
    let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
    for place in all.iter().flat_map(|(_, checked)| &checked.lost) {
        *lost.entry(place).or_default() += 1;
    }
    for (place, cases) in lost.iter().take(PLACES) {
        let _ = writeln!(text, "LOST in {}: {place}", count(*cases, "run"));
    }
    if lost.len() > PLACES {
        let _ = writeln!(text, "LOST at {}", count((lost.len() - PLACES) as u64, "more place"));
    }
    text
}

/// Writes a case with all that is known of it.
pub(super) fn save(
    plan: &Plan,
    programs: &[Program],
    case: &Case,
    file: &Path,
) -> Result<(), CliError> {
    let Some(program) = programs.first() else { return Ok(()) };
    let more = exact_arrays(&plan.asked.manifest, program, case, &Schedule::lockstep());
    case.write(file, BTreeMap::new(), more.map_err(CliError::of)?).map_err(CliError::of)
}

/// Writes what came of every case.
pub(super) fn write_json(plan: &Plan, all: &[(u64, Checked)], file: &Path) -> Result<(), CliError> {
    let judged = |judged: &Judged| -> Value {
        json!({
            "name": judged.name,
            "of": judged.of,
            "shape": judged.shape,
            "compared": judged.compared,
            "zero": judged.zeros,
            "by_value": judged.by_value,
            "not_judged": judged.unknown,
            "distance_to_uncertainty": judged.worst,
            "f32_error_to_radius": judged.rounding,
            "right_bits": judged.furthest.map(Furthest::right_bits),
            "wrong": judged.wrong.iter().map(|element| json!({
                "element": element_of("", &judged.shape, element.index),
                "found": element.found,
                "expected": element.expected,
                "uncertainty": element.uncertainty,
                "f32": element.float,
            })).collect::<Vec<_>>(),
        })
    };
    let cases = all.iter().map(|(index, checked)| {
        json!({
            "case": index,
            "arrays": checked.arrays.iter().map(judged).collect::<Vec<_>>(),
            "lost": checked.lost,
            "open_comparisons": checked.open[0],
            "comparisons": checked.open[1],
            "looks_like": checked.explained.as_ref().map(|explained| &explained.words),
            "no_result": checked.fault,
        })
    });
    let document = json!({
        "splatcheck": env!("CARGO_PKG_VERSION"),
        "question": plan.asked.question.name(),
        "manifest": plan.manifest_file.display().to_string(),
        "seed": plan.seed,
        "run": plan.dated(),
        "cases": cases.collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&document).map_err(CliError::of)?;
    write_file(file, (text + "\n").as_bytes()).map_err(CliError::of)
}
