//! `splatcheck gallery`: systems of the field, judged by their own mathematics.

use std::fmt::Write as _;
use std::io::Write;

use clap::Args;
use rayon::prelude::*;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::interrupt::{until_interrupted, until_then};
use splatcheck_judge::table::table;
use splatcheck_judge::words::count;

use super::exit::{CliError, Outcome, conclude};
use super::output::Progress;
use crate::gallery::{BASELINE, Best, Judgement, Named, System, WGSL, systems};

/// Options of `gallery`, as typed.
#[derive(Clone, Debug, Args)]
pub struct GalleryArgs {
    /// Systems [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Number of cases of each system
    #[arg(long, value_name = "N", default_value_t = ENOUGH)]
    pub cases: u64,
    /// Seed of the cases
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
}

/// Cases in which every planted bug shows. In fewer, a bug that does not is no fault of anyone's.
const ENOUGH: u64 = 20;

/// What a system comes to beside its numbers, each a sentence.
#[derive(Default)]
struct Found {
    /// What is wrong.
    problems: Vec<String>,
    /// What was not judged.
    gaps: Vec<String>,
}

/// Carries out the command.
///
/// # Errors
/// See [`CliError`].
pub fn run(typed: &GalleryArgs, out: &mut dyn Write) -> Result<Outcome, CliError> {
    if typed.cases == 0 {
        return Err(CliError::new("--cases 0: nothing would be judged, give 1 or more"));
    }
    let systems = systems(&typed.names).map_err(CliError::of)?;
    let bar = Progress::new("gallery", "systems", systems.len() as u64);
    let judged = systems.par_iter().map(|system| {
        let judge = || system.judge(typed.cases, typed.seed).map_err(CliError::of);
        let judged = until_interrupted(judge)?;
        bar.inc(1);
        Ok(judged.map(|judgement| (system, judgement)))
    });
    let judged: Vec<_> = judged.collect::<Result<_, CliError>>()?;
    bar.finish_and_clear();
    let judged: Vec<(&System, Judgement)> = judged.into_iter().flatten().collect();
    let all: Vec<(&System, &Judgement)> = judged.iter().map(|(system, of)| (*system, of)).collect();
    let found: Vec<Found> = all.iter().map(|(_, of)| found(of, typed.cases)).collect();
    let interrupted = all.len() < systems.len();
    let mut text = heading(&found, interrupted);
    let (mut problems, mut gaps) = (Vec::new(), Vec::new());
    for ((system, _), found) in all.iter().zip(found) {
        let named = |line: String| format!("{}: {line}", system.name());
        problems.extend(found.problems.into_iter().map(named));
        gaps.extend(found.gaps.into_iter().map(named));
    }
    problems.iter().for_each(|line| text += &format!("DISAGREE {line}\n"));
    gaps.iter().for_each(|line| text += &format!("NOT EXERCISED: {line}\n"));
    text += &table(&rows(&all));
    text.push('\n');
    for (system, judgement) in &all {
        for (bug, (first_line, _)) in &judgement.bugs {
            let _ = writeln!(text, "{}, {bug}: {first_line}", system.name());
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if interrupted {
        return Ok(Outcome::Interrupted);
    }
    conclude(&Evidence { gaps, ..Evidence::of_failures(problems) })
}

/// The verdict on all systems.
fn heading(found: &[Found], interrupted: bool) -> String {
    let failed = found.iter().filter(|found| !found.problems.is_empty()).count();
    let open = found.iter().filter(|found| !found.gaps.is_empty()).count();
    let (verdict, of) = match (failed, open) {
        (0, 0) => ("agree", String::new()),
        (0, open) => ("not exercised", format!("{open} of ")),
        (failed, _) => ("disagree", format!("{failed} of ")),
    };
    let verdict = if interrupted { until_then(verdict) } else { verdict.to_owned() };
    format!("{verdict}: {of}{}\n\n", count(found.len() as u64, "system"))
}

/// What is wrong or was not judged: nothing where the right kernels are right and each planted bug's report names
/// its line.
fn found(judgement: &Judgement, cases: u64) -> Found {
    let (mut problems, mut gaps) = (judgement.wrong.clone(), judgement.idle.clone());
    problems.truncate(3);
    for (bug, (first_line, named)) in &judgement.bugs {
        let within = count(cases, "case");
        match named {
            Named::Rightly => {}
            Named::Wrongly => problems.push(format!("the planted {bug} is not named: {first_line}")),
            Named::NotYet if cases < ENOUGH => gaps.push(format!(
                "the planted {bug} is not named in {within}, which are few (give --cases {ENOUGH}): {first_line}"
            )),
            Named::NotYet => {
                problems.push(format!("the planted {bug} is not named in {within}: {first_line}"));
            }
        }
    }
    Found { problems, gaps }
}

/// How many reductions, and whether there is a variant in WGSL.
fn reductions(judgement: &Judgement) -> String {
    match (judgement.reductions.contains_key(WGSL), judgement.reductions.len()) {
        (true, all) => format!("{}, WGSL", all - 1),
        (false, 0) => "-".to_owned(),
        (false, all) => all.to_string(),
    }
}

fn rows(all: &[(&System, &Judgement)]) -> Vec<Vec<String>> {
    let head = [
        "system",
        "kernels",
        "runs",
        "compared",
        "with atomic",
        "reductions",
        "lanes per atomic",
        "additions per word",
        "fewest atomics",
        "best threshold",
        "times cheaper",
        "bugs named",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (system, judgement) in all {
        let named = |(_, named): &&(String, Named)| *named == Named::Rightly;
        let named = judgement.bugs.values().filter(named).count();
        let baseline = judgement.reductions.get(BASELINE).copied().unwrap_or_default();
        let mean = |count: u64, of: u64| match of {
            0 => "-".to_owned(),
            #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
            of => format!("{:.1}", count as f64 / of as f64),
        };
        let fewest = judgement.reductions.iter().min_by_key(|(_, sent)| sent.operations);
        let fewest = fewest.filter(|_| baseline.operations > 0).map_or_else(
            || "-".to_owned(),
            |(reduction, sent)| {
                format!("{reduction}, {} %", 100 * sent.operations / baseline.operations)
            },
        );
        let [best, times] = match &judgement.best {
            None => ["-".to_owned(), "-".to_owned()],
            Some(Best { reduction, threshold, times }) => {
                [format!("{reduction}, {threshold}"), format!("{times:.1}")]
            }
        };
        rows.push(vec![
            system.name().to_owned(),
            judgement.kernels.to_string(),
            judgement.runs.to_string(),
            judgement.compared.to_string(),
            judgement.with_baseline.to_string(),
            reductions(judgement),
            mean(baseline.operations, baseline.issued),
            mean(baseline.operations, baseline.words),
            fewest,
            best,
            times,
            format!("{named} of {}", judgement.bugs.len()),
        ]);
    }
    rows
}
