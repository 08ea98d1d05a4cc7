//! What a command concludes from what it found: the one place where findings become a verdict, the
//! reasons to fail and an exit code.

use super::{FailOn, Gate, MISUSE, Misuse, NO_MISUSE, Observation, place, reduction_of};
use crate::campaign::{EngineReport, Fault, Finding};
use crate::engines::Missing;
use crate::interrupt;
use crate::verdict::Verdict;
use crate::words::count;
use splatcheck_gpu::{Reduction, Stage};
use std::collections::BTreeSet;

/// What a command found.
#[derive(Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// What each engine's campaign came to.
    pub reports: &'a [EngineReport],
    /// The engines that were looked for and could not be run.
    pub missing: &'a [Missing],
    /// What was judged without a campaign, such as mutants: each failure as a sentence. `None` where
    /// nothing was.
    pub failures: Option<Vec<String>>,
    /// What went wrong with the machine outside the campaigns' findings, each as a sentence.
    pub faults: Vec<String>,
    /// What had to be exercised and was not, each as a sentence: no pass without it.
    pub gaps: Vec<String>,
    /// What was asked for beside engines and stages and did not run, each as a sentence.
    pub not_exercised: Vec<String>,
    /// Outputs that were read and not compared with anything, and why.
    pub not_compared: Vec<String>,
    /// Runs that were only watched: no value was compared.
    pub observed: Option<Observation>,
}

impl<'a> Evidence<'a> {
    /// Campaigns, and the engines that were missing in them.
    #[must_use]
    pub fn new(reports: &'a [EngineReport], missing: &'a [Missing]) -> Self {
        Self { reports, missing, ..Self::default() }
    }

    /// No campaign: something that was judged in another way, with these failures.
    #[must_use]
    pub fn of_failures(failures: Vec<String>) -> Self {
        Self { failures: Some(failures), ..Self::default() }
    }

    /// Runs that were watched and not judged.
    #[must_use]
    pub fn of_observation(observation: Observation) -> Self {
        let failure = |misuse: &Misuse| format!("{}: {}", misuse.engine, misuse.name());
        let failures = observation.misuse.iter().map(failure).collect();
        Self { observed: Some(observation), ..Self::of_failures(failures) }
    }

    /// The worst verdict of all that was judged.
    fn verdict(&self) -> Verdict {
        let others = match self.failures.as_deref() {
            None => Verdict::NotExercised,
            Some([]) => Verdict::Agree,
            Some(_) => Verdict::Disagree,
        };
        EngineReport::worst(self.reports).max(others)
    }
}

/// How a command that was carried out ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to fail on, or nothing that was to be judged.
    Agree,
    /// At least one reason to fail.
    Disagree,
    /// Ctrl-C, before everything was judged.
    Interrupted,
}

impl Outcome {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Agree => 0,
            Self::Disagree => 1,
            Self::Interrupted => interrupt::CODE,
        }
    }
}

/// Why a run is neither a pass nor a failure. The exit code is that of an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconclusive {
    /// The machine failed, and no kernel did.
    #[error("{0}")]
    Fault(String),
    /// There was nothing to judge.
    #[error("nothing was judged")]
    Nothing,
    /// Something that had to be exercised was not.
    #[error("{0}")]
    Gap(String),
}

/// What was concluded.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The worst verdict of all runs.
    pub verdict: Verdict,
    /// Every reason to fail, each a sentence; none passes.
    pub reasons: Vec<String>,
    /// What was the machine's fault: nothing was judged there. Errors, where nothing disagrees.
    pub faults: Vec<String>,
    /// Findings that are known failures: engine, stage and reduction, and why they are known.
    pub excused: Vec<String>,
    /// What had to be exercised and was not. Errors, where nothing else is wrong.
    pub gaps: Vec<String>,
    /// Whether runs were only watched.
    pub observed: bool,
    /// Whether Ctrl-C came before everything was judged.
    pub interrupted: bool,
}

impl Conclusion {
    /// The verdict in words: what was only watched agrees with nothing.
    #[must_use]
    pub fn words(&self) -> String {
        let words = match (self.observed, self.verdict) {
            (true, Verdict::Agree) => NO_MISUSE.to_owned(),
            (true, Verdict::Disagree) => MISUSE.to_owned(),
            (true | false, verdict) => verdict.to_string(),
        };
        if self.interrupted { interrupt::until_then(&words) } else { words }
    }

    /// The end of the command, and with it the exit code.
    ///
    /// # Errors
    /// That a machine failed where no kernel did, that nothing was judged, or that something is
    /// missing in what was: none of them must look like a pass, whatever the gate lets through.
    pub fn outcome(&self) -> Result<Outcome, Inconclusive> {
        if self.interrupted {
            return Ok(Outcome::Interrupted);
        }
        let passes = self.reasons.is_empty();
        match (self.faults.first(), self.gaps.first()) {
            (Some(fault), _) if passes => Err(Inconclusive::Fault(fault.clone())),
            (_, Some(gap)) if passes => Err(Inconclusive::Gap(gap.clone())),
            _ if self.verdict == Verdict::NotExercised => Err(Inconclusive::Nothing),
            _ if passes => Ok(Outcome::Agree),
            _ => Ok(Outcome::Disagree),
        }
    }
}

impl Gate {
    /// Weighs what a command found.
    #[must_use]
    pub fn conclude(&self, evidence: &Evidence<'_>) -> Conclusion {
        let Evidence { reports, missing, failures, faults, gaps, .. } = evidence;
        let mut conclusion = Conclusion {
            verdict: evidence.verdict(),
            reasons: failures.clone().unwrap_or_default(),
            faults: faults.clone(),
            excused: Vec::new(),
            gaps: gaps.iter().cloned().chain(EngineReport::gaps(reports)).collect(),
            observed: evidence.observed.is_some(),
            interrupted: interrupt::is_asked(),
        };
        for report in *reports {
            for finding in &report.findings {
                self.weigh(report, finding, &mut conclusion);
            }
        }
        keep_first(&mut conclusion.reasons);
        keep_first(&mut conclusion.excused);
        // What was not run does not pass again.
        if !conclusion.interrupted {
            conclusion.reasons.extend(self.known.passing_again(reports));
        }
        if self.fail_on.contains(&FailOn::Inconclusive) {
            conclusion.reasons.extend(inconclusive(reports));
        }
        if self.fail_on.contains(&FailOn::NotExercised) {
            conclusion.reasons.extend(not_exercised(reports, missing));
            conclusion.reasons.extend(evidence.not_exercised.iter().cloned());
            conclusion.reasons.extend(EngineReport::blind(reports));
        }
        conclusion
    }

    fn weigh(&self, report: &EngineReport, finding: &Finding, conclusion: &mut Conclusion) {
        let what = place(&report.id, finding.stage.name, reduction_of(finding));
        match self.known.excuse(report, finding) {
            Some(known) => conclusion.excused.push(format!("{what}: {}", known.reason)),
            None => match &finding.fault {
                Fault::Engine(error) if error.is_of_the_machine() => {
                    conclusion.faults.push(format!("{what}: {error}"));
                }
                Fault::Engine(_) | Fault::Difference(_) => {
                    conclusion.reasons.push(format!("{what} disagrees"));
                }
            },
        }
    }
}

/// Every sentence once, where it came first: findings of one place need not be next to each other.
fn keep_first(sentences: &mut Vec<String>) {
    let mut before = BTreeSet::new();
    sentences.retain(|sentence| before.insert(sentence.clone()));
}

fn inconclusive(reports: &[EngineReport]) -> Vec<String> {
    let rows = reports.iter().flat_map(|r| r.named_rows().map(move |row| (r, row)));
    rows.filter(|(_, (_, _, row))| row.count(Verdict::Inconclusive) > 0)
        .map(|(report, (stage, reduction, row))| {
            let runs = row.count(Verdict::Inconclusive);
            let place = place(&report.id, stage, reduction);
            format!("{place} is inconclusive in {}", count(runs, "run"))
        })
        .collect()
}

fn not_exercised(reports: &[EngineReport], missing: &[Missing]) -> Vec<String> {
    let mut reasons: Vec<_> = missing
        .iter()
        .filter(|missing| missing.is_asked_for())
        .map(|m| {
            let were = if m.promised { "were" } else { "was" };
            format!("{} {were} not exercised: {}", m.candidate, m.reason)
        })
        .collect();
    // Cases have jobs of their own workload only; where nothing was run, it is not known.
    let ran: BTreeSet<_> =
        reports.iter().flat_map(|r| r.rows.keys().map(|(stage, _)| stage.workload)).collect();
    let judged = |stage: &Stage| ran.is_empty() || ran.contains(stage.workload);
    for report in reports {
        if let Some(why) = &report.given_up {
            reasons.push(format!("{} was given up: {why}", report.id));
        }
        for (stage, reduction, row) in report.named_rows() {
            if row.tally.elements() == 0 && row.count(Verdict::Disagree) == 0 {
                let place = place(&report.id, stage, reduction);
                reasons.push(format!("{place} was not exercised: nothing was compared"));
            }
        }
        for ((stage, reduction), limited) in &report.limited {
            let place = place(&report.id, stage.name, reduction.map_or("-", Reduction::name));
            reasons.push(format!("{place} was not exercised in {limited}"));
        }
        // A stage without kernels for what was asked for has nothing to run.
        let asked: BTreeSet<_> = report.rows.keys().filter_map(|&(_, by)| by).collect();
        let has_kernels = |stage: &Stage| {
            !stage.accumulates()
                || asked.is_empty()
                || stage.reductions().any(|reduction| asked.contains(&reduction))
        };
        for stage in report.asked.iter().copied().filter(&judged).filter(has_kernels) {
            if report.rows.keys().all(|&(ran, _)| ran != stage) {
                reasons.push(format!("{}: {stage} was not exercised: it was not run", report.id));
            }
        }
        for (key, limited) in
            report.beyond.iter().filter(|(key, _)| !report.rows.contains_key(*key))
        {
            let place = place(&report.id, key.0.name, key.1.map_or("-", Reduction::name));
            reasons
                .push(format!("{place} was not exercised: no case is within its limit: {limited}"));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(evidence: &Evidence<'_>) -> Result<Outcome, Inconclusive> {
        Gate::default().conclude(evidence).outcome()
    }

    #[test]
    fn a_failure_outweighs_a_fault_and_a_fault_what_is_missing() {
        let [fault, gap] = ["no memory", "no cell"].map(str::to_owned);
        let mut all = Evidence {
            faults: vec![fault.clone()],
            gaps: vec![gap.clone()],
            ..Evidence::of_failures(vec!["a mutant survived".to_owned()])
        };
        assert_eq!(ends(&all), Ok(Outcome::Disagree), "a kernel is wrong, whatever else is");
        all.failures = Some(Vec::new());
        assert_eq!(ends(&all), Err(Inconclusive::Fault(fault)), "the machine's");
        all.faults.clear();
        assert_eq!(ends(&all), Err(Inconclusive::Gap(gap)), "no pass");
        all.gaps.clear();
        assert_eq!(ends(&all), Ok(Outcome::Agree), "all is well");
        assert_eq!(ends(&Evidence::default()), Err(Inconclusive::Nothing), "no pass either");
        let watched = Gate::default().conclude(&Evidence::of_observation(Observation::default()));
        assert_eq!(watched.words(), NO_MISUSE, "nothing agrees with anything");
        let codes = [Outcome::Agree, Outcome::Disagree].map(Outcome::code);
        assert_eq!(codes, [0, 1], "exit codes");
    }
}
