//! The options that say how the PTX emulator runs, shared by the commands that use it.

use std::num::NonZeroU32;

use clap::Args;

use super::exit::CliError;
use super::number::positive;
use splatcheck_judge::engines::{Emulation, Found, Order};

/// In which orders the emulator runs, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ScheduleArgs {
    /// Order of execution on the emulator: lockstep, random, random:SEED, adversarial or adversarial:SEED
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<Order>,
    /// Run this many seeds, from the schedule's on
    #[arg(long, value_name = "N", requires = "schedule", allow_negative_numbers = true)]
    #[arg(value_parser = positive::<NonZeroU32>)]
    pub schedules: Option<NonZeroU32>,
}

impl ScheduleArgs {
    /// The orders of execution asked for: lockstep where nothing was typed.
    ///
    /// # Errors
    /// More than one seed of a schedule that has none, or seeds beyond the last.
    pub fn orders(&self) -> Result<Vec<Order>, CliError> {
        let order = self.schedule.unwrap_or_default();
        let Some(count) = self.schedules else { return Ok(vec![order]) };
        let Some(first) = order.seed() else {
            return Err(CliError::new(
                "--schedules: lockstep has no seeds, give --schedule random or adversarial",
            ));
        };
        let last = first.checked_add(u64::from(count.get()) - 1).ok_or_else(|| {
            CliError::new(format!("--schedules {count}: there are no such seeds after {first}"))
        })?;
        Ok((first..=last).map(|seed| order.with_seed(seed)).collect())
    }

    /// The engines with the emulator running as typed: every seed is an engine of its own.
    ///
    /// # Errors
    /// As [`Self::orders`], and an engine that is not the emulator where anything was typed.
    pub fn resolve(&self, engines: Vec<Found>) -> Result<Vec<Found>, CliError> {
        if self.schedule.is_none() {
            return Ok(engines);
        }
        let orders = self.orders()?;
        let mut resolved = Vec::new();
        for found in engines {
            let Some(emulation) = found.emulation() else {
                return Err(CliError::new(format!(
                    "--schedule: only the emulator follows it, not {}: choose with --engine emulator",
                    found.spec.id()
                )));
            };
            let emulations = orders.iter().map(|&order| Emulation { order, ..emulation });
            resolved.extend(emulations.map(|emulation| found.emulating(emulation)));
        }
        Ok(resolved)
    }
}

#[cfg(test)]
mod tests {
    use super::super::exit::one_line;
    use super::*;
    use splatcheck_gpu::{Arithmetic, DeviceInfo, EngineKind, FloatAtomics};
    use splatcheck_judge::engines::EngineSpec;

    fn found(id: &str) -> Found {
        Found {
            spec: EngineSpec::new(id.parse().expect("an engine's id"), Vec::new()),
            info: DeviceInfo {
                adapter: String::new(),
                driver: String::new(),
                backend: String::new(),
                kind: EngineKind::Emulator,
                arithmetic: Arithmetic::Cuda,
                lane_width: 32,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: true,
                loop_limit: splatcheck_gpu::LoopLimit::NotMeasured,
            },
        }
    }

    fn typed(schedule: Option<&str>, schedules: Option<u32>) -> ScheduleArgs {
        ScheduleArgs {
            schedule: schedule.map(|text| text.parse().unwrap()),
            schedules: schedules.map(|n| NonZeroU32::new(n).unwrap()),
        }
    }

    #[test]
    fn every_seed_is_an_engine() {
        let engines = vec![found("emulator"), found("emulator-fast")];
        let args = typed(Some("random:7"), Some(2));
        let ids: Vec<_> = args
            .resolve(engines.clone())
            .unwrap()
            .into_iter()
            .map(|f| f.spec.id().to_owned())
            .collect();
        let expected = [
            "emulator random:7",
            "emulator random:8",
            "emulator-fast random:7",
            "emulator-fast random:8",
        ];
        assert_eq!(ids, expected, "two seeds of two engines");
        let untouched = typed(None, None).resolve(engines.clone()).unwrap();
        assert_eq!(untouched, engines, "nothing was typed");
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        let error = |args: ScheduleArgs, engine: &str| {
            one_line(&args.resolve(vec![found(engine)]).expect_err("it cannot be followed"))
        };
        let text = error(typed(Some("random"), None), "lavapipe-8");
        assert!(text.contains("--schedule") && text.contains("not lavapipe-8"), "{text}");
        let text = error(typed(Some("lockstep"), Some(3)), "emulator");
        assert!(text.contains("lockstep has no seeds"), "{text}");
        let last = format!("random:{}", u64::MAX);
        let text = error(typed(Some(&last), Some(2)), "emulator");
        assert!(text.contains("no such seeds"), "{text}");
    }
}
