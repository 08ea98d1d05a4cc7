//! The options of `fuzz`.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::cli::chain::{ChainArgs, ChainName};
use crate::cli::command::{CommandArgs, CommandPlan};
use crate::cli::exit::CliError;
use crate::cli::gate::{GateArgs, GatePlan};
use crate::cli::number::positive;
use crate::cli::options::{ConventionName, Workloads, parse_workloads, under};
use crate::cli::output::OutputArgs;
use crate::cli::parts::PartsArgs;
use crate::cli::paths;
use splatcheck_judge::campaign::Share;
use splatcheck_judge::engines::{Discovery, Found, Limits, Missing};
use splatcheck_judge::report::Detail;
use splatcheck_judge::threads::cores;
use splatcheck_judge::workload::{Generator, Workload, generator};
use splatcheck_workloads::fuzz::{LANE_WIDTHS, Plan, Shard};

/// Options of `fuzz`, as typed.
#[derive(Clone, Debug, Args)]
pub struct FuzzArgs {
    /// Use this engine only, by its id or its family ('lavapipe'); repeatable
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Whose cases are drawn: splat, scatter, grid or all, which is a campaign of each, one after another
    /// [default: splat, or the workload of the program's level]
    #[arg(long, value_name = "NAME", value_parser = parse_workloads)]
    pub workload: Option<Workloads>,
    /// Draw from this generator only; repeatable [default: all whose expected outputs are well-defined]
    #[arg(long, value_name = "NAME")]
    pub generator: Vec<String>,
    /// Aim at warps of this many lanes; repeatable [default: 32, 8, 4 and 16]
    #[arg(long, value_name = "LANES", allow_negative_numbers = true)]
    pub lane_width: Vec<u32>,
    /// Settings (reduction and threshold) to run each case with, in turn
    #[arg(long, value_name = "N", default_value = "2", allow_negative_numbers = true)]
    #[arg(value_parser = positive::<NonZeroUsize>)]
    pub settings: NonZeroUsize,
    /// Stop after this time, which the campaigns share: a number with s, m or h
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "cases")]
    #[arg(default_value = "10m")]
    pub time: Duration,
    /// Stop after this many cases instead, each campaign
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub cases: Option<u64>,
    /// Give each case to one engine, the next that is free, instead of to all; always with --time
    #[arg(long)]
    pub deal: bool,
    /// Run part K of N only, K from 1: 'splatcheck merge' joins the parts' folders
    #[arg(long, value_name = "K/N", default_value_t = Shard::WHOLE)]
    #[arg(hide_default_value = true)]
    pub shard: Shard,
    /// Seed of the cases
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// In how many parts kernels run.
    #[command(flatten)]
    pub parts: PartsArgs,
    /// A program in place of engines.
    #[command(flatten)]
    pub command: CommandArgs,
    /// Whose forward pass backward stages go on from
    #[command(flatten)]
    pub chain: ChainArgs,
    /// Threads for the oracle, and processes for an emulator or your program [default: one for each core,
    /// and one process of your program]
    #[arg(long, value_name = "J", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(hide_default_value = true)]
    pub jobs: u16,
    /// Folder for findings; with --cases and without --deal also for the result: result.json and report.txt. With
    /// '--workload all' each workload has its own folder there
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
    /// Convention of splats where a generator does not choose one [default: each in turn]
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
    /// What stops a build, and the files for CI
    #[command(flatten)]
    pub gate: GateArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// A generator of a workload by its name.
pub(in crate::cli) fn find_generator(
    workload: &dyn Workload,
    name: &str,
) -> Result<&'static Generator, CliError> {
    generator(workload, name).ok_or_else(|| {
        let names: Vec<_> = workload.generators().iter().map(|g| g.name).collect();
        CliError::new(format!(
            "--generator {name}: workload {} has none of that name, expected one of {}",
            workload.name(),
            names.join(", ")
        ))
    })
}

/// Nothing can be drawn from the generators that were named.
fn no_case(names: &[String], named: &[&Generator]) -> CliError {
    let needs: BTreeSet<_> = named.iter().flat_map(|generator| generator.needs).copied().collect();
    let needs: Vec<_> = needs.into_iter().collect();
    CliError::new(format!(
        "--generator {}: what its cases are made from is not on this machine: there is no {}",
        names.join(", "),
        needs.join(", ")
    ))
}

/// A text that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number with s, m or h, as in 10m")]
struct NotATime;

/// A time as in `90s`, `10m` or `2h`.
fn parse_time(text: &str) -> Result<Duration, NotATime> {
    let unit = text.chars().last().ok_or(NotATime)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(NotATime),
    };
    let number: u64 = text.trim_end_matches(unit).parse().map_err(|_| NotATime)?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or(NotATime)
}

/// When a campaign stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After so long.
    Time(Duration),
    /// After so many cases, of all parts together.
    Cases(u64),
}

/// A checked `fuzz`.
#[derive(Clone, Debug)]
pub struct FuzzPlan {
    /// The engines to judge.
    pub engines: Vec<Found>,
    /// The engines that were looked for and not found. It is empty where the user named engines.
    pub missing: Vec<Missing>,
    /// What is drawn.
    pub plan: Plan,
    /// When it stops.
    pub limit: Limit,
    /// Who runs a case.
    pub share: Share,
    /// The part to run.
    pub shard: Shard,
    /// Threads, and processes for an emulator.
    pub jobs: usize,
    /// Folder for findings: writable, perhaps still to be made.
    pub out: PathBuf,
    /// What stops a build, and the files to write.
    pub gate: GatePlan,
    /// How much is printed.
    pub detail: Detail,
    /// The program that is judged in place of engines.
    pub command: Option<CommandPlan>,
    /// What each engine's process is granted.
    pub limits: Limits,
}

impl FuzzArgs {
    /// Checks every option, against the engines of this machine; a plan for each workload.
    ///
    /// # Errors
    /// The first option that cannot be followed, and what would do instead.
    pub fn resolve(self, discovery: &Discovery) -> Result<Vec<FuzzPlan>, CliError> {
        let workloads = match (&self.workload, self.command.workload()?) {
            (Some(named), _) => named.list().to_vec(),
            (None, Some(of_program)) => vec![of_program],
            (None, None) => splatcheck_workloads::all().into_iter().take(1).collect(),
        };
        let several = u32::try_from(workloads.len()).unwrap_or(u32::MAX);
        let plan = |workload: &Arc<dyn Workload>| {
            let mut one = Self { time: self.time / several, ..self.clone() };
            if several > 1 {
                one.out.push(workload.name());
            }
            one.of_workload(Arc::clone(workload), discovery)
        };
        workloads.iter().map(plan).collect()
    }

    /// The plan for one workload.
    fn of_workload(
        self,
        workload: Arc<dyn Workload>,
        discovery: &Discovery,
    ) -> Result<FuzzPlan, CliError> {
        let refused = match (self.cases, self.deal) {
            (None, _) => Some("where time decides the parts cannot be joined, add --cases N"),
            (Some(_), true) => Some("dealt parts cannot be joined, leave out --deal"),
            (Some(_), false) => None,
        };
        if self.shard != Shard::WHOLE
            && let Some(why) = refused
        {
            return Err(CliError::new(format!("--shard: {why}")));
        }
        let engines = [
            ("--engine", !self.engine.is_empty()),
            ("--chain", self.chain.chain != ChainName::Oracle),
        ];
        let limits = self.command.program.limits();
        let command = self.command.resolve(self.jobs.into(), workload.as_ref(), &engines)?;
        let workload = under(workload, self.convention)?;
        let named = self.generator.iter().map(|name| find_generator(workload.as_ref(), name));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let plan = Plan::new(workload, self.seed, &named);
        let lane_widths = match self.lane_width.is_empty() {
            true => LANE_WIDTHS.to_vec(),
            false => self.lane_width,
        };
        let plan = plan
            .chained(self.chain.resolve())
            .in_parts(self.parts.resolve())
            .aimed(lane_widths, self.settings.get());
        let plan = plan.map_err(|error| CliError::new(format!("--lane-width: {error}")))?;
        if plan.has_no_case() {
            return Err(no_case(&self.generator, &named));
        }
        let engines = discovery.select(&self.engine).map_err(CliError::of)?;
        if engines.is_empty() && command.is_none() {
            return Err(CliError::new("no engine on this machine: 'splatcheck devices' says why"));
        }
        let named = !self.engine.is_empty() || command.is_some();
        Ok(FuzzPlan {
            missing: discovery.missing_requested(named, engines.iter()),
            engines,
            plan,
            limit: self.cases.map_or(Limit::Time(self.time), Limit::Cases),
            share: match self.cases {
                Some(_) if !self.deal => Share::Everyone,
                _ => Share::Dealt,
            },
            shard: self.shard,
            jobs: match usize::from(self.jobs) {
                0 => cores(),
                jobs => jobs,
            },
            out: paths::folder_to_name("--out", &self.out)?,
            gate: self.gate.resolve()?,
            detail: self.shown.detail(),
            command,
            limits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("90s"), Ok(Duration::from_secs(90)), "seconds");
        assert_eq!(parse_time("10m"), Ok(Duration::from_secs(600)), "minutes");
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)), "hours");
        for text in ["", "10", "m", "1.5h", "-1s", "1\u{b5}", "18446744073709551615h"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
