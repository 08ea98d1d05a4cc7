//! A campaign whose cases are dealt: one engine runs each, and none waits for another.

use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::campaign::{
    Contender, EngineReport, Exercised, Hooks, Observer, Share, as_it_is, run_in_chunks,
};
use splatcheck_judge::workload::generator;
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{Defect, Mirror};
use splatcheck_workloads::fuzz::{Plan, Shard};
use splatcheck_workloads::splat::Splat;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

const CHUNK: usize = 4;
const CASES: usize = 48;

/// Which engine ran which cases. The slow one is held up until the other has done all that the slow
/// one has not taken.
#[derive(Default)]
struct Held {
    ran: Mutex<BTreeMap<String, Vec<String>>>,
    changed: Condvar,
}

impl Observer for Held {
    fn done(&self, _: u64) {}

    fn exercised(&self, engine: &str, _: u32, run: Exercised<'_>) {
        let mut ran = self.ran.lock().expect("no panic");
        ran.entry(engine.to_owned()).or_default().push(run.case.name().to_owned());
        self.changed.notify_all();
        // The slow one has the chunk that it runs and one that waits.
        let left = CASES - 2 * CHUNK;
        let busy = |ran: &mut BTreeMap<String, Vec<String>>| {
            engine == "slow" && ran.get("quick").is_none_or(|cases| cases.len() < left)
        };
        drop(self.changed.wait_while(ran, busy).expect("no panic"));
    }
}

fn contender(name: &str, defect: Defect) -> Contender<'static> {
    let config = Setting { reduction: Reduction::Atomic, threshold: 0 };
    Contender {
        id: name.to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, defect)),
        stages: vec![RASTERIZE_BACKWARD],
        settings: vec![config],
    }
}

/// Deals the cases to these engines; returns the cases' names, the reports and who ran what.
fn deal(
    engines: Vec<Contender<'_>>,
) -> (Vec<String>, Vec<EngineReport>, BTreeMap<String, Vec<String>>) {
    let splat = Splat(Some(Profile::Inria));
    let finish = generator(&splat, "finish").expect("a generator");
    let plan = Plan::new(Arc::new(splat), 2, &[finish]);
    let cases: Vec<_> = plan.cases(Shard::WHOLE).take(CASES).collect();
    let names = cases.iter().map(|(case, _)| case.name().to_owned()).collect();
    let watch = Held::default();
    let hooks = Hooks::new(&as_it_is).observed(&watch);
    let reports = run_in_chunks((CHUNK, Share::Dealt), cases.into_iter(), engines, hooks);
    (names, reports.expect("the cases are legal"), watch.ran.into_inner().expect("no panic"))
}

#[test]
fn every_case_is_run_once_and_the_quick_engine_does_not_wait_for_the_slow_one() {
    let engines = ["slow", "quick"].map(|name| contender(name, Defect::None));
    let (names, reports, ran) = deal(engines.into());
    assert!(reports.iter().all(|report| report.findings.is_empty()), "the mirror agrees");
    assert_eq!(ran["quick"].len(), CASES - 2 * CHUNK, "it did what the other had not taken");
    let mut all: Vec<_> = ran.into_values().flatten().collect();
    all.sort_by_key(|name| names.iter().position(|n| n == name));
    assert_eq!(all, names, "every case was run, and once");
}

#[test]
fn an_engine_that_was_given_up_gets_no_more_cases() {
    let broken = || contender("broken", Defect::Broken);
    let (_, reports, ran) = deal(vec![broken(), contender("whole", Defect::None)]);
    assert!(reports[0].given_up.is_some(), "it fails every time");
    assert!(ran["whole"].len() >= CASES - 2 * CHUNK, "the other has what it had not taken");
    let (_, reports, ran) = deal(vec![broken()]);
    assert!(reports[0].given_up.is_some() && ran.is_empty(), "it ends, and nothing was run");
}
