//! `--formulation`: which expression a kernel is judged as, and which others it would agree under.

use std::str::FromStr;

use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::formulation::{Floor, TermFormat};

use super::exit::CliError;
use crate::campaign::{EngineReport, Fault, Minimizer, as_it_is, smaller};
use crate::verdict::Verdict;
use crate::workloads::splat::formulated::{FormulationUse, check};

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This one.
    One(Formulation),
    /// Any, the same for every element of the run.
    Any,
}

/// Reads `--formulation`.
///
/// # Errors
/// A formulation that does not exist, or that the stage's interface has not.
pub fn asked(text: &str) -> Result<Asked, FormulationUse> {
    if text == "any" {
        return Ok(Asked::Any);
    }
    let formulation = Formulation::from_str(text)?;
    check(formulation)?;
    Ok(Asked::One(formulation))
}

/// Those that a kernel with the stage's interface may have, in the order of trial: the usual ones, those
/// of named projects first, and those that divide otherwise. The floor changes nothing where `alpha_max`
/// is below 1 - 1e-6, so it is not tried.
fn candidates() -> [Vec<Formulation>; 2] {
    let (mut usual, unusual): (Vec<_>, Vec<_>) = Formulation::all()
        .filter(|formulation| formulation.floor() == Floor::None && check(*formulation).is_ok())
        .partition(|formulation| Formulation::practised().any(|usual| usual == *formulation));
    usual.sort_by_key(|formulation| formulation.named().next().is_none());
    [usual, unusual]
}

/// What came of a run.
pub(super) struct Judged {
    /// What it was judged as.
    pub(super) formulation: Formulation,
    /// The reports under that formulation.
    pub(super) reports: Vec<EngineReport>,
    /// Where it disagrees: one line that says under which others it agrees.
    pub(super) others: Option<String>,
}

/// A formulation with the projects that use it.
pub(super) fn described(formulation: Formulation) -> String {
    let names: Vec<_> = formulation.named().map(|named| named.name).collect();
    if names.is_empty() {
        formulation.to_string()
    } else {
        format!("{formulation} ({})", names.join(", "))
    }
}

/// Whether an element lies outside its bound, which another formulation might explain.
fn differs(report: &EngineReport) -> bool {
    report.findings.iter().any(|finding| matches!(finding.fault, Fault::Difference(_)))
}

/// Whether everything agrees that was compared.
fn agrees(reports: &[EngineReport]) -> bool {
    let rows = || reports.iter().flat_map(EngineReport::named_rows);
    let none = |verdict| rows().all(|(.., row)| row.count(verdict) == 0);
    reports.iter().all(|report| report.findings.is_empty())
        && none(Verdict::Disagree)
        && rows().any(|(.., row)| row.count(Verdict::Agree) > 0)
}

/// Judges a kernel as was asked, with so many extra roundings where a number is given, in place of the
/// formulation's own; `judge` runs all of it in one formulation, with the inputs that a
/// kernel of that formulation is given, and is told how to make a failing case small. Where it
/// disagrees, the other formulations are tried, the unusual ones where no usual one agrees, and
/// then those with terms of f16.
///
/// # Errors
/// Those of `judge`.
pub(super) fn judge_in(
    asked: &Asked,
    extra: Option<ExtraRoundings>,
    judge: impl Fn(Formulation, &Minimizer<'_>) -> Result<Vec<EngineReport>, CliError>,
) -> Result<Judged, CliError> {
    let first = match *asked {
        Asked::One(formulation) => formulation,
        Asked::Any => Formulation::STANDARD,
    };
    let rounded = |formulation: Formulation| {
        extra.map_or(formulation, |extra| formulation.with_extra_roundings(extra))
    };
    let first = rounded(first);
    let reports = judge(first, &smaller)?;
    if !reports.iter().any(differs) {
        return Ok(Judged { formulation: first, reports, others: None });
    }
    let (mut agreeing, mut tried) = (Vec::new(), 0);
    let [usual, unusual] = candidates();
    // Terms of less precision are told of, and accepted by nobody who did not ask for them.
    let half = match *asked {
        Asked::Any => Vec::new(),
        Asked::One(_) => usual.iter().map(|one| one.with_terms(TermFormat::F16)).collect(),
    };
    for group in [usual, unusual, half] {
        for formulation in group.into_iter().map(rounded).filter(|&other| other != first) {
            let other = judge(formulation, &as_it_is)?;
            tried += 1;
            if agrees(&other) {
                if *asked == Asked::Any {
                    return Ok(Judged { formulation, reports: other, others: None });
                }
                agreeing.push(described(formulation));
            }
        }
        if !agreeing.is_empty() {
            break;
        }
    }
    let others = if agreeing.is_empty() {
        format!("formulation: agrees under none of the {tried} others either")
    } else {
        format!("formulation: agrees under {}", agreeing.join("; under "))
    };
    Ok(Judged { formulation: first, reports, others: Some(others) })
}
