//! `splatcheck gallery`: systems of the field, judged by their own mathematics.

use std::fmt::Write as _;
use std::io::Write;

use clap::Args;
use rayon::prelude::*;
use splatcheck_judge::table::table;
use splatcheck_judge::words::count;

use super::exit::{CliError, Outcome};
use crate::gallery::{BASELINE, Judgement, System, systems};

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
    let judged: Vec<_> = systems
        .par_iter()
        .map(|system| system.judge(typed.cases, typed.seed).map_err(CliError::of))
        .collect::<Result<_, _>>()?;
    let all: Vec<(&System, &Judgement)> = systems.iter().zip(&judged).collect();
    let problems: Vec<Vec<String>> = judged.iter().map(problems).collect();
    let failed = problems.iter().filter(|problems| !problems.is_empty()).count();
    let counted = count(all.len() as u64, "system");
    let mut text = match failed {
        0 => format!("agree: {counted}\n\n"),
        _ => format!("disagree: {failed} of {counted}\n\n"),
    };
    for (system, problems) in systems.iter().zip(&problems) {
        for line in problems {
            let _ = writeln!(text, "DISAGREE {}: {line}", system.name);
        }
    }
    text += &table(&rows(&all));
    text.push('\n');
    for (system, judgement) in &all {
        for (bug, (first_line, _)) in &judgement.bugs {
            let _ = writeln!(text, "{}, {bug}: {first_line}", system.name);
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(if failed == 0 { Outcome::Agree } else { Outcome::Disagree })
}

/// What is wrong: nothing where the right kernels are right and each planted bug's report names its line.
fn problems(judgement: &Judgement) -> Vec<String> {
    let mut all = judgement.wrong.clone();
    all.truncate(3);
    for (bug, (first_line, named)) in &judgement.bugs {
        if !named {
            all.push(format!("the planted {bug} is not named by its line: {first_line}"));
        }
    }
    all
}

fn rows(all: &[(&System, &Judgement)]) -> Vec<Vec<String>> {
    let head = [
        "system",
        "runs",
        "compared",
        "reductions",
        "lanes per atomic",
        "additions per word",
        "fewest atomics",
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
        rows.push(vec![
            system.name.clone(),
            judgement.runs.to_string(),
            judgement.compared.to_string(),
            judgement.reductions.len().to_string(),
            mean(baseline.operations, baseline.issued),
            mean(baseline.operations, baseline.words),
            fewest,
            format!("{named} of {}", judgement.bugs.len()),
        ]);
    }
    rows
}
