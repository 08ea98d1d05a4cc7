//! Mutants of every instruction: a fixed sample is drawn and run in seconds, and nobody notices
//! anything about the kernels as they are.

use splatcheck::mutants::class::{Class, classes};
use splatcheck::mutants::generated::equivalent::Argued;
use splatcheck::mutants::generated::hunt::hunt;
use splatcheck::mutants::generated::report::{score, survivors};
use splatcheck::mutants::generated::{sample, subjects};
use splatcheck::workload::AnyCase;
use splatcheck::workloads;
use splatcheck_tests::{corpus, root};
use std::sync::Arc;

/// The corpus and two cases of each generator. The trained scenes are left out, since not every
/// machine has them.
fn cases() -> Vec<Class> {
    let corpus: Vec<_> = corpus().into_iter().map(|case| Arc::new(case) as AnyCase).collect();
    let all = workloads::all().into_iter().map(|workload| {
        let corpus = if workload.name() == "splat" { corpus.clone() } else { Vec::new() };
        classes(workload.as_ref(), corpus, 2).expect("all cases have jobs")
    });
    all.flatten().filter(|class| class.name != "window").collect()
}

/// Who adds cases that kill one of these takes it out of the snapshot; none may be added.
#[test]
fn a_fixed_sample_has_these_survivors() {
    let subjects = subjects(&[]).expect("the artifacts are whole");
    let drawn = sample::draw(&subjects, 70, 1).expect("there are more");
    let argued = Argued::read(&root().join("tests/mutants/splat/equivalent.toml"))
        .expect("the arguments can be read");
    let hunted = hunt(&subjects, &drawn, &cases(), &argued, &|| ()).expect("the emulator works");
    assert!(hunted.false_alarms.is_empty(), "false alarms: {:?}", hunted.false_alarms);
    assert_eq!(argued.refuted(&hunted.records), Vec::<String>::new(), "killed, but argued");
    let score = score(&hunted.records);
    assert_eq!(score.mutants(), 70, "all were run: {score:?}");
    assert_eq!(score.refused, 0, "the emulator parses every mutant: {score:?}");
    let names: Vec<_> = survivors(&hunted.records)
        .map(|r| format!("{}:{}: {}: {}", r.kernel, r.line, r.instruction, r.change))
        .collect();
    insta::assert_snapshot!(names.join("\n"));
}
