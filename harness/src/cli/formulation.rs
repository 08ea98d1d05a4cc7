//! `--formulation`: which expression a kernel is judged as, and which others it would agree under.

use std::str::FromStr;

use splatcheck_gpu::EngineError;
use splatcheck_gpu::emulator::Interface;
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::formulation::{FormulationError, NAMED, TermFormat};
use splatcheck_reference::splat::spelled::{PRACTISED_PAIRS, PairSpelling, PowerAs};

use super::exit::CliError;
use crate::manifest::Manifest;
use crate::user_kernel::UserKernel;
use splatcheck_judge::campaign::{EngineReport, Fault};
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::interrupt;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::contract::{Contract, Level};
use splatcheck_workloads::splat::formulated::{candidates, described, stage_of};

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This one.
    One(Formulation),
    /// Any, the same for every element of the run.
    Any,
}

impl Default for Asked {
    fn default() -> Self {
        Self::One(Formulation::STANDARD)
    }
}

/// On what a formulation is tried.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trial<'a> {
    /// On all cases; what fails is made small.
    Asked,
    /// On all cases, as they are.
    Other,
    /// On these alone, as they are.
    Cases(&'a [(AnyCase, usize)]),
}

/// What a kernel's bounds hold for, in a line of the report. A sum of a few terms, such as alpha's gradient,
/// has other roundings where they are grouped otherwise; a sum over pixels is bounded in any order.
pub(super) fn grouping(has_formulations: bool) -> &'static str {
    match has_formulations {
        true => {
            "bounds assume the formulation's expressions as they are written, and sums over pixels in any \
             order; if your code rearranges them, add --extra-roundings K"
        }
        false => {
            "bounds assume the reference's expressions as they are written, and its sums in any order"
        }
    }
}

/// Reads `--formulation`.
///
/// # Errors
/// A formulation that does not exist.
pub fn asked(text: &str) -> Result<Asked, FormulationError> {
    if text == "any" {
        return Ok(Asked::Any);
    }
    Formulation::from_str(text).map(Asked::One)
}

impl Asked {
    /// The one that is tried first, as far as that is known before the kernel.
    pub(super) fn first(self) -> Formulation {
        match self {
            Self::One(formulation) => formulation,
            Self::Any => Formulation::STANDARD,
        }
    }

    /// The parameters that a kernel may have for it to be judged so, the likeliest first.
    pub(super) fn interfaces(self) -> Vec<Interface> {
        match self {
            Self::One(formulation) => interface_of(formulation).into_iter().collect(),
            Self::Any => Interface::ALL.to_vec(),
        }
    }
}

/// The parameters of a kernel that is judged in a formulation.
fn interface_of(formulation: Formulation) -> Option<Interface> {
    Interface::of(stage_of(formulation))
}

/// The projects whose kernels have these parameters, as `--formulation` names them.
pub(super) fn named_by(interface: Interface) -> String {
    let fits = NAMED.iter().filter(|named| interface_of(named.formulation) == Some(interface));
    fits.map(|named| named.name).collect::<Vec<_>>().join(", ")
}

/// Whose kernel is judged.
#[derive(Clone, Copy)]
pub(super) enum Judging<'k> {
    /// One on the emulator.
    User(&'k UserKernel),
    /// One that takes what its manifest says.
    Manifest(&'k Manifest),
    /// A program, which is given everything by name.
    Program(&'k Contract),
}

impl Judging<'_> {
    fn fits(self, formulation: Formulation) -> bool {
        match self {
            Self::User(kernel) => kernel.fits(formulation),
            Self::Manifest(manifest) => manifest.not_of(formulation).is_none(),
            Self::Program(contract) => contract.with(Some(formulation), None).is_ok(),
        }
    }

    /// Whether it is given other arrays in the one formulation than in the other.
    fn is_given_others(self, first: Formulation, other: Formulation) -> bool {
        match self {
            Self::User(_) | Self::Manifest(_) => interface_of(other) != interface_of(first),
            Self::Program(contract) => !contract.given_only_in(other, first).is_empty(),
        }
    }

    /// Whether a run failed in a way that arrays which another formulation gives may explain.
    fn may_lack_arrays(self, report: &EngineReport) -> bool {
        let failed = |failed: fn(&EngineError) -> bool| {
            let mut faults = report.findings.iter().map(|finding| &finding.fault);
            faults.any(|fault| matches!(fault, Fault::Engine(error) if failed(error)))
        };
        match self {
            // It names its arrays: a misuse is not explained by others.
            Self::User(kernel) if kernel.manifest().is_some() => false,
            Self::Manifest(_) => false,
            // It may have taken its arrays for others of equal number.
            Self::User(_) => failed(|error| matches!(error, EngineError::Device(_))),
            // It looked for one that is not there, which it would do every time.
            Self::Program(_) => {
                let gave = [Verdict::Agree, Verdict::Inconclusive];
                let mut rows = report.named_rows();
                rows.all(|(.., row)| gave.iter().all(|one| row.count(*one) == 0))
                    && failed(|error| {
                        matches!(error, EngineError::Refused(_) | EngineError::Ended(_))
                    })
            }
        }
    }

    /// What a failing kernel was given besides, where that made no difference; nothing of those that are
    /// given as many arrays in every formulation: their misuse speaks for itself.
    fn given_besides(self, first: Formulation, tried: &[Formulation]) -> Option<String> {
        let Self::Program(contract) = self else { return None };
        let more = tried.iter().map(|other| contract.given_only_in(*other, first));
        let more = more.max_by_key(Vec::len).filter(|more| !more.is_empty())?.join(" and ");
        let under: Vec<_> = tried.iter().map(|other| described(*other)).collect();
        let under = under.join(" and ");
        Some(format!("formulation: the program does not agree under {under} either, given {more}"))
    }

    /// The projects in whose formulations it was not tried, since they are given other arrays.
    fn not_tried(self) -> Option<String> {
        let left_out = NAMED.iter().filter(|named| !self.fits(named.formulation));
        let names: Vec<_> = left_out.map(|named| named.name).collect();
        let why = "which need other inputs";
        (!names.is_empty()).then(|| format!("; not tried: {}, {why}", names.join(", ")))
    }

    fn has_formulations(self) -> bool {
        match self {
            Self::User(kernel) => kernel.has_formulations(),
            Self::Manifest(manifest) => manifest.kind.has_formulations(),
            Self::Program(contract) => contract.level() == Level::Raster,
        }
    }

    /// Whether its bounds widen by roundings that are counted in its source.
    fn counts_roundings(self) -> bool {
        match self {
            Self::User(kernel) => {
                kernel.manifest().is_none_or(|manifest| manifest.kind.counts_roundings())
            }
            Self::Manifest(manifest) => manifest.kind.counts_roundings(),
            Self::Program(_) => self.has_formulations(),
        }
    }
}

/// What came of a run.
pub(super) struct Judged {
    /// What it was judged as.
    pub(super) formulation: Formulation,
    /// The reports under that formulation.
    pub(super) reports: Vec<EngineReport>,
    /// Where it disagrees: one line that says under which others it agrees.
    pub(super) others: Option<String>,
    /// The other formulations that the results agree under.
    agreeing: Vec<String>,
}

impl Judged {
    /// The same with a line that says what of others.
    fn saying(self, others: String) -> Self {
        Self { others: Some(others), ..self }
    }

    /// Puts the other formulations that a kernel agrees under on all cases in front of what was found out
    /// on one of them.
    pub(super) fn diagnose(&mut self) {
        if self.agreeing.is_empty() {
            return;
        }
        let under = self.agreeing.join("; under ");
        for finding in self.reports.iter_mut().flat_map(|report| &mut report.findings) {
            let agrees =
                format!("looks like: another formulation: agrees on all cases under {under}");
            let told = Diagnosis::told(agrees);
            finding.diagnosis = Some(match finding.diagnosis.take() {
                Some(of_one) => told.beside(&of_one),
                None => told,
            });
        }
    }
}

/// Whether an element lies outside its bound, which another formulation might explain.
fn differs(report: &EngineReport) -> bool {
    report.findings.iter().any(|finding| matches!(finding.fault, Fault::Difference(_)))
}

/// Whether anything disagrees; where nothing does, there may have been nothing to compare.
fn disagrees(reports: &[EngineReport]) -> bool {
    let mut rows = reports.iter().flat_map(EngineReport::named_rows);
    reports.iter().any(|report| !report.findings.is_empty())
        || rows.any(|(.., row)| row.count(Verdict::Disagree) > 0)
}

/// Whether everything agrees that was compared.
fn agrees(reports: &[EngineReport]) -> bool {
    let rows = || reports.iter().flat_map(EngineReport::named_rows);
    !disagrees(reports) && rows().any(|(.., row)| row.count(Verdict::Agree) > 0)
}

/// Roundings of a kernel's intermediates beside those of the expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// So many, in place of the formulation's own.
    pub extra: Option<ExtraRoundings>,
    /// Whether somebody counted them in the kernel's source: then no others are tried.
    pub stated: bool,
}

impl Counted {
    /// A formulation with them.
    pub(super) fn on(self, formulation: Formulation) -> Formulation {
        self.extra.map_or(formulation, |extra| formulation.with_extra_roundings(extra))
    }
}

/// Judges a user's kernel as was asked, with the roundings that were counted; `judge` runs all of it in one
/// formulation, with the inputs that a kernel of that formulation is given, and is told on which cases. Where
/// it disagrees, the other formulations are tried, and where none of them agrees and nobody counted, the
/// roundings that public spellings of a pair have. They are told of, and accepted by nobody who did not state
/// them: they also leave open what a fault of a threshold decides.
///
/// # Errors
/// The errors of `judge`.
pub(super) fn judge_in(
    kernel: Judging<'_>,
    asked: &Asked,
    counted: Counted,
    mut judge: impl FnMut(Formulation, Trial<'_>) -> Result<Vec<EngineReport>, CliError>,
) -> Result<Judged, CliError> {
    let groups = candidates(&|formulation| kernel.fits(formulation));
    let first = counted.on(match *asked {
        Asked::One(formulation) => formulation,
        Asked::Any => groups[0].first().copied().unwrap_or_default(),
    });
    let reports = judge(first, Trial::Asked)?;
    let findings = reports.iter().flat_map(|report| &report.findings);
    let failing: Vec<_> = findings.map(|f| (AnyCase::clone(&f.case), f.view)).collect();
    let alone = Judged { formulation: first, reports, others: None, agreeing: Vec::new() };
    let judged = match kernel.has_formulations() {
        true => in_others(kernel, (asked, counted), alone, (groups, &failing), &mut judge)?,
        false => alone,
    };
    let unexplained = judged.agreeing.is_empty() && judged.reports.iter().any(differs);
    if !unexplained || counted.stated || !kernel.counts_roundings() || interrupt::is_asked() {
        return Ok(judged);
    }
    // An image has no gradients to spell.
    let written =
        |spelling: &&PairSpelling| kernel.has_formulations() || spelling.power != PowerAs::Conic;
    let mut spellings: Vec<_> = PRACTISED_PAIRS.iter().filter(written).collect();
    spellings.sort_by_key(|spelling| spelling.extra_roundings.count());
    let spelled = as_spelled(first, &spellings, &failing, &mut judge)?;
    let others = judged.others.into_iter().chain(spelled).collect::<Vec<_>>().join("\n");
    Ok(Judged { others: (!others.is_empty()).then_some(others), ..judged })
}

/// What a run comes to that was judged in its `first` formulation, with the others tried where it disagrees: the
/// unusual ones where no usual one agrees, and then those with terms of f16.
fn in_others(
    kernel: Judging<'_>,
    (asked, counted): (&Asked, Counted),
    first: Judged,
    (groups, failing): ([Vec<Formulation>; 3], &[(AnyCase, usize)]),
    judge: &mut impl FnMut(Formulation, Trial<'_>) -> Result<Vec<EngineReport>, CliError>,
) -> Result<Judged, CliError> {
    let differs = first.reports.iter().any(differs);
    let others_explain = first.reports.iter().any(|report| kernel.may_lack_arrays(report));
    if !differs && !others_explain {
        return Ok(first);
    }
    let cut_short = "formulation: not all others were tried: interrupted";
    if interrupt::is_asked() {
        return Ok(first.saying(cut_short.to_owned()));
    }
    let own = first.formulation;
    let may_explain =
        |other: &Formulation| *other != own && (differs || kernel.is_given_others(own, *other));
    // Terms of less precision are told of, and accepted by nobody who did not ask for them; what a program
    // looks for in vain does not depend on them.
    let program = matches!(kernel, Judging::Program(_));
    let [usual, unusual, half] = groups;
    let half = match *asked {
        Asked::One(_) if differs || !program => half,
        Asked::One(_) | Asked::Any => Vec::new(),
    };
    let groups = [usual, unusual, half]
        .map(|group| group.into_iter().map(|one| counted.on(one)).filter(may_explain).collect());
    let any = *asked == Asked::Any;
    let (agreeing, tried) = try_others(groups, any, failing, judge)?;
    // A trial that Ctrl-C cut short has no finding, and agrees with nothing.
    if interrupt::is_asked() {
        return Ok(first.saying(cut_short.to_owned()));
    }
    let names: Vec<_> =
        agreeing.iter().map(|(formulation, _)| with_caution(*formulation)).collect();
    if let Some((formulation, reports)) = agreeing.into_iter().next().filter(|_| any) {
        return Ok(Judged { formulation, reports, others: None, agreeing: Vec::new() });
    }
    let others = match (names.is_empty(), differs) {
        (false, _) => Some(format!("formulation: agrees under {}", names.join("; under "))),
        (true, true) => Some(format!(
            "formulation: none of the {} others that a kernel with these parameters may have agrees \
             either{}",
            tried.len(),
            kernel.not_tried().unwrap_or_default()
        )),
        (true, false) => kernel.given_besides(own, &tried),
    };
    Ok(Judged { others, agreeing: names, ..first })
}

/// A formulation in words, and that terms of less precision excuse much else.
fn with_caution(formulation: Formulation) -> String {
    let described = described(formulation);
    match formulation.terms() {
        TermFormat::F32 => described,
        TermFormat::F16 => format!(
            "{described}, whose wide bounds hold many faults too: state it only if your kernel adds up terms of f16"
        ),
    }
}

/// Which of these spellings of a pair has as many roundings as a kernel that disagrees, in a line; `None` where it
/// disagrees under all of them.
fn as_spelled(
    first: Formulation,
    spellings: &[&PairSpelling],
    failing: &[(AnyCase, usize)],
    judge: &mut impl FnMut(Formulation, Trial<'_>) -> Result<Vec<EngineReport>, CliError>,
) -> Result<Option<String>, CliError> {
    for PairSpelling { name, extra_roundings: more, .. } in spellings {
        let sum = first.extra_roundings().count().saturating_add(more.count());
        let Some(sum) = ExtraRoundings::new(sum) else { continue };
        let formulation = first.with_extra_roundings(sum);
        let holds = holding(formulation, failing, judge)?.is_some();
        if interrupt::is_asked() {
            return Ok(None);
        }
        if holds {
            return Ok(Some(format!(
                "roundings: agrees with --extra-roundings {more}; code that uses {name} for a pair needs this; \
                 if yours does, pass it"
            )));
        }
    }
    Ok(None)
}

/// The reports of all cases in a formulation, if they agree under it.
fn holding(
    formulation: Formulation,
    failing: &[(AnyCase, usize)],
    judge: &mut impl FnMut(Formulation, Trial<'_>) -> Result<Vec<EngineReport>, CliError>,
) -> Result<Option<Vec<EngineReport>>, CliError> {
    // What fails first: it is little, and tells most of them.
    if disagrees(&judge(formulation, Trial::Cases(failing))?) {
        return Ok(None);
    }
    let reports = judge(formulation, Trial::Other)?;
    Ok(agrees(&reports).then_some(reports))
}

/// A formulation that all of a run agrees under, with the reports.
type Agreeing = (Formulation, Vec<EngineReport>);

/// Tries the formulations of one group after another, until one of a group holds everything: those of the group
/// that do, or only the `first`, and all that were tried.
fn try_others(
    groups: [Vec<Formulation>; 3],
    first: bool,
    failing: &[(AnyCase, usize)],
    judge: &mut impl FnMut(Formulation, Trial<'_>) -> Result<Vec<EngineReport>, CliError>,
) -> Result<(Vec<Agreeing>, Vec<Formulation>), CliError> {
    let (mut agreeing, mut tried) = (Vec::new(), Vec::new());
    for group in groups {
        for formulation in group {
            tried.push(formulation);
            let Some(other) = holding(formulation, failing, judge)? else { continue };
            agreeing.push((formulation, other));
            if first {
                return Ok((agreeing, tried));
            }
        }
        if !agreeing.is_empty() {
            break;
        }
    }
    Ok((agreeing, tried))
}
