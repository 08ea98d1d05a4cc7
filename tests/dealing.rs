//! A campaign whose cases are dealt: one engine runs each, and none waits for another.

use splat_gpu::BackwardConfig;
use splat_gpu::Reduction;
use splat_harness::campaign::{Contender, Item, Share, Watch, run_in_chunks};
use splat_harness::case::Case;
use splat_harness::fuzz::{Plan, Shard};
use splat_harness::stage::StageName;
use splat_reference::convention::Profile;
use splat_tests::{Defect, Mirror};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};

const CHUNK: usize = 4;
const CASES: usize = 48;

/// Which engine ran which cases. The slow one is held up until the other has done all that the slow
/// one has not taken.
#[derive(Default)]
struct Held {
    ran: Mutex<BTreeMap<String, Vec<String>>>,
    changed: Condvar,
}

impl Watch for Held {
    fn done(&self, _: u64) {}

    fn exercised(&self, engine: &str, _: u32, item: &Item, _: &[BackwardConfig]) {
        let mut ran = self.ran.lock().expect("no panic");
        ran.entry(engine.to_owned()).or_default().push(item.case.name.clone());
        self.changed.notify_all();
        // The slow one has the chunk that it runs and one that waits.
        let left = CASES - 2 * CHUNK;
        let busy = |ran: &mut BTreeMap<String, Vec<String>>| {
            engine == "slow" && ran.get("quick").is_none_or(|cases| cases.len() < left)
        };
        drop(self.changed.wait_while(ran, busy).expect("no panic"));
    }
}

fn contender(name: &str) -> Contender<'static> {
    let config = BackwardConfig { reduction: Reduction::Atomic, threshold: 0 };
    Contender {
        id: name.to_owned(),
        engine: Box::new(Mirror::new(8, Defect::None)),
        stages: vec![StageName::RasterizeBackward],
        settings: vec![config],
    }
}

#[test]
fn every_case_is_run_once_and_the_quick_engine_does_not_wait_for_the_slow_one() {
    let lanes = splat_harness::generators::find("finish").expect("a generator");
    let plan = Plan::new(Profile::Inria, 2, &[lanes]);
    let cases: Vec<_> = plan.cases(Shard::WHOLE).take(CASES).collect();
    let names: Vec<String> = cases.iter().map(|(case, _)| case.name.clone()).collect();
    let watch = Held::default();
    let keep = |item: &Item, _: &mut dyn FnMut(&Case) -> bool| item.case.clone();
    let engines = vec![contender("slow"), contender("quick")];
    let cases = cases.into_iter().map(Ok);
    let reports = run_in_chunks((CHUNK, Share::Dealt), cases, engines, &keep, &watch);
    let reports = reports.expect("the cases are legal");
    assert!(reports.iter().all(|report| report.findings.is_empty()), "the mirror agrees");
    let ran = watch.ran.into_inner().expect("no panic");
    assert_eq!(ran["quick"].len(), CASES - 2 * CHUNK, "it did what the other had not taken");
    let mut all: Vec<_> = ran.into_values().flatten().collect();
    all.sort_by_key(|name| names.iter().position(|n| n == name));
    assert_eq!(all, names, "every case was run, and once");
}
