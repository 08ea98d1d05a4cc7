//! `--expect deterministic`: every run is made more than once and must give equal bits.

use clap::{Args, ValueEnum};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{Engine, EngineError, EngineKind, Setting, Stage};

use super::exit::CliError;
use super::schedule::ScheduleArgs;
use crate::user_kernel::UserKernel;
use splatcheck_judge::campaign::{Contender, Fault, Finding};
use splatcheck_judge::engines::repeated::{Repeated, Repeats};
use splatcheck_judge::engines::{Emulation, Found, Limits, Order, Program};
use splatcheck_judge::workload::{NOTE_PREFIX, Notes};

/// Runs where none are named.
const USUAL: u32 = 8;

/// What may be demanded besides the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Expected {
    /// Equal bits in every run
    Deterministic,
}

/// What is demanded besides the bounds, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ExpectArgs {
    /// Demand that every run gives equal bits: on the emulator in different orders of execution, on a
    /// device again and again. True of kernels in which one lane alone adds to each number
    #[arg(long, value_name = "WHAT")]
    pub expect: Option<Expected>,
    /// Runs of each kernel for --expect: on the emulator in lockstep, then in random and adversarial
    /// orders in turn, or with --schedule in that order [default: 8]
    #[arg(long, value_name = "N", requires = "expect", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub repeats: Option<u32>,
}

impl ExpectArgs {
    /// How often runs are made, if equal bits are demanded.
    ///
    /// # Errors
    /// Orders of execution of which there is only one.
    pub fn resolve(self, order: ScheduleArgs) -> Result<Option<Repeats>, CliError> {
        let Some(Expected::Deterministic) = self.expect else { return Ok(None) };
        let runs = self.repeats.unwrap_or(USUAL);
        if order.schedule.is_none() {
            return Ok(Some(Repeats::new(runs)));
        }
        let orders = match order.schedule.filter(|order| order.seed().is_some()) {
            Some(first) if order.schedules.is_none() => {
                let seed = first.seed().unwrap_or(0);
                let seeds = (0..u64::from(runs) - 1).map_while(|i| seed.checked_add(i));
                seeds.map(|seed| first.with_seed(seed)).collect()
            }
            _ => order.orders()?,
        };
        let repeats = Repeats::in_orders(orders, runs);
        if repeats.orders.len() < 2 {
            return Err(CliError::new(
                "--expect deterministic: lockstep is one order of execution, give --schedule random \
                 or adversarial, or leave it out",
            ));
        }
        Ok(Some(repeats))
    }
}

/// What a report says of it.
pub(super) fn described(repeats: &Repeats) -> String {
    let orders: Vec<_> = repeats.orders.iter().map(Order::to_string).collect();
    let Repeats { runs, .. } = repeats;
    format!(
        "expecting equal bits of {runs} runs, on the emulator in the orders {}",
        orders.join(", ")
    )
}

/// The emulator in all orders, perhaps with a user's kernel, as `open` opens it.
pub(super) fn emulator(
    emulation: Emulation,
    repeats: &Repeats,
    open: impl FnOnce(Emulation) -> Result<EmulatorEngine, EngineError>,
) -> Result<Repeated<'static>, CliError> {
    let engine = open(Emulation { order: Order::Lockstep, ..emulation });
    let engine = engine.map_err(|e| CliError::caused(format!("engine {emulation}"), e))?;
    Ok(Repeated::emulator(engine, repeats))
}

/// As [`super::contender::contender`], with every run made so often. The emulator needs no process of
/// its own: it touches nothing but its own memory.
///
/// # Errors
/// Why the engine does not start.
pub(super) fn contender(
    found: &Found,
    granted: (&Program, Limits),
    settings: Vec<Setting>,
    repeats: &Repeats,
) -> Result<Contender<'static>, CliError> {
    let Some(emulation) = found.emulation() else {
        let contender = super::contender::contender(found, granted, settings)?;
        let engine = Box::new(Repeated::device(contender.engine, repeats));
        return Ok(Contender { engine, ..contender });
    };
    let open = |emulation: Emulation| EmulatorEngine::open(emulation.options());
    let engine = emulator(emulation, repeats, open)?;
    debug_assert_eq!(engine.info().kind, EngineKind::Emulator, "the emulator says what it is");
    Ok(Contender {
        id: found.spec.id().to_owned(),
        emulation: Some(emulation),
        engine: Box::new(engine),
        stages: Stage::all().collect(),
        settings,
    })
}

const EXPECT: &str = "expect";
const ORDERS: &str = "orders";
const RUNS: &str = "runs";
/// What the keys of a user's kernel begin with.
const KERNEL: &str = "expect_";

/// The notes by which `replay` makes the two runs of a finding again; `None` where it is another kind.
pub(super) fn notes(finding: &Finding, kernel: Option<&UserKernel>) -> Option<Notes> {
    let Fault::Engine(EngineError::NotDeterministic(other)) = &finding.fault else { return None };
    let mut notes = vec![(EXPECT, "deterministic".to_owned())];
    // The emulator's runs have the names of their orders, those of a device have numbers.
    if other.runs.iter().all(|run| run.parse::<Order>().is_ok()) {
        notes.push((ORDERS, other.runs.join(", ")));
    } else {
        notes.push((RUNS, USUAL.to_string()));
    }
    let notes = notes.into_iter().map(|(key, text)| (format!("{NOTE_PREFIX}{key}"), text));
    Some(notes.chain(kernel.into_iter().flat_map(|kernel| kernel.notes(KERNEL))).collect())
}

/// What a reproducer of other bits says: how often to run, and a user's kernel.
#[derive(Debug)]
pub(super) struct Noted {
    pub(super) repeats: Repeats,
    pub(super) kernel: Option<UserKernel>,
}

impl Noted {
    /// Reads [`notes`]; `None` where there are none.
    ///
    /// # Errors
    /// The note that says nothing of its kind.
    pub(super) fn new(notes: &Notes) -> Result<Option<Self>, CliError> {
        let text = |key: &str| notes.get(&format!("{NOTE_PREFIX}{key}")).map(String::as_str);
        let bad = |key: &str, text: &str, error: &dyn std::fmt::Display| {
            CliError::new(format!("metadata {NOTE_PREFIX}{key} = '{text}': {error}"))
        };
        match text(EXPECT) {
            None => return Ok(None),
            Some("deterministic") => {}
            Some(other) => return Err(bad(EXPECT, other, &"expected deterministic")),
        }
        let mut repeats = Repeats::new(USUAL);
        if let Some(orders) = text(ORDERS) {
            let read = orders.split(", ").map(str::parse).collect::<Result<_, _>>();
            repeats.orders = read.map_err(|error| bad(ORDERS, orders, &error))?;
        }
        if let Some(runs) = text(RUNS) {
            repeats.runs = runs.parse().map_err(|error| bad(RUNS, runs, &error))?;
        }
        let kernel = UserKernel::of_notes(notes, KERNEL).map_err(CliError::of)?;
        Ok(Some(Self { repeats, kernel }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::exit::one_line;
    use super::*;

    fn resolved(schedule: Option<&str>, repeats: Option<u32>) -> Result<Vec<String>, String> {
        let schedule = schedule.map(|text| text.parse().expect("an order"));
        let order = ScheduleArgs { schedule, schedules: None };
        let args = ExpectArgs { expect: Some(Expected::Deterministic), repeats };
        let repeats = args.resolve(order).map_err(|error| one_line(&error))?;
        Ok(repeats.expect("it is demanded").orders.iter().map(Order::to_string).collect())
    }

    #[test]
    fn there_are_always_two_orders_to_compare() {
        let usual = resolved(None, None).expect("the usual ones");
        assert_eq!(usual[..4], ["lockstep", "random:0", "adversarial:0", "random:1"], "in turn");
        assert_eq!(usual.len(), 8, "as many as are usual");
        assert_eq!(resolved(None, Some(2)).expect("two"), ["lockstep", "random:0"], "two");
        let named = resolved(Some("adversarial:5"), Some(3)).expect("named");
        assert_eq!(named, ["lockstep", "adversarial:5", "adversarial:6"], "the seeds from 5 on");
        let error = resolved(Some("lockstep"), None).expect_err("nothing to compare");
        assert!(error.contains("lockstep is one order"), "{error}");
        let none = ExpectArgs::default().resolve(ScheduleArgs::default()).expect("nothing typed");
        assert_eq!(none, None, "nothing is demanded");
    }
}
