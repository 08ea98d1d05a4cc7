//! `splatcheck gallery`: systems of the field, judged by their own mathematics.

use std::fmt::Write as _;
use std::io::Write;

use clap::Args;
use rayon::prelude::*;
use splatcheck_judge::interrupt::{until_interrupted, until_then};
use splatcheck_judge::table::table;
use splatcheck_judge::words::count;

use super::exit::{CliError, Outcome};
use super::output::Progress;
use crate::gallery::{BASELINE, Best, Judgement, System, WGSL, systems};

/// Options of `gallery`, as typed.
#[derive(Clone, Debug, Args)]
pub struct GalleryArgs {
    /// Systems [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Number of cases of each system
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub cases: u64,
    /// Seed of the cases
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
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
    let problems: Vec<Vec<String>> = all.iter().map(|(_, judgement)| problems(judgement)).collect();
    let failed = problems.iter().filter(|problems| !problems.is_empty()).count();
    let counted = count(all.len() as u64, "system");
    let verdict = if failed == 0 { "agree" } else { "disagree" };
    let interrupted = all.len() < systems.len();
    let verdict = if interrupted { until_then(verdict) } else { verdict.to_owned() };
    let mut text = match failed {
        0 => format!("{verdict}: {counted}\n\n"),
        _ => format!("{verdict}: {failed} of {counted}\n\n"),
    };
    for ((system, _), problems) in all.iter().zip(&problems) {
        for line in problems {
            let _ = writeln!(text, "DISAGREE {}: {line}", system.name());
        }
    }
    text += &table(&rows(&all));
    text.push('\n');
    for (system, judgement) in &all {
        for (bug, (first_line, _)) in &judgement.bugs {
            let _ = writeln!(text, "{}, {bug}: {first_line}", system.name());
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(match failed {
        _ if interrupted => Outcome::Interrupted,
        0 => Outcome::Agree,
        _ => Outcome::Disagree,
    })
}

/// What is wrong: nothing where the right kernels are right and each planted bug's report names its line.
fn problems(judgement: &Judgement) -> Vec<String> {
    let mut all = judgement.wrong.clone();
    all.truncate(3);
    for (bug, (first_line, named)) in &judgement.bugs {
        if !named {
            all.push(format!("the planted {bug} is not named: {first_line}"));
        }
    }
    all
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
        let named = judgement.bugs.values().filter(|(_, named)| *named).count();
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
