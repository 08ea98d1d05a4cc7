//! Kernels made wrong on purpose die, and the right ones go through the same procedure without being accused.

use splatcheck::mutants::class::{Class, classes, named};
use splatcheck::mutants::emulated::Emulated;
use splatcheck::mutants::matrix::{Budget, emulated};
use splatcheck::mutants::table::{conclusion, summary};
use splatcheck::mutants::{Language, Mutant, read_mutants};
use splatcheck_emulator::Schedule;
use splatcheck_gpu::Reduction;
use splatcheck_gpu::artifact::{self, Artifact};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::workload::{AnyCase, Draw, Workload};
use splatcheck_reference::splat::convention::Profile;
use splatcheck_tests::{corpus, root};
use splatcheck_workloads::grid::Grids;
use splatcheck_workloads::scatter::Scatter;
use splatcheck_workloads::splat::Splat;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Those of a workload.
fn mutants(workload: &dyn Workload) -> Vec<Mutant> {
    let read = read_mutants(&root().join("tests/mutants"), &|named, _| named == workload.name());
    let (all, unread) = read.expect("the mutants are there");
    assert_eq!(unread.gap("mutants"), None, "all can be run");
    assert!(!all.is_empty(), "{} has no mutants", workload.name());
    all
}

#[test]
fn every_hazard_has_its_mutant() {
    let mutants = mutants(&Splat(None));
    let of = |language| mutants.iter().filter(move |mutant| mutant.language == language);
    for language in [Language::Cuda, Language::Wgsl] {
        assert!(of(language).count() >= 30, "too few mutants in {language:?}");
    }
    let aimed: BTreeSet<Hazard> = mutants.iter().flat_map(|m| m.mutation.hazards.clone()).collect();
    for hazard in Hazard::ALL {
        assert!(aimed.contains(&hazard), "no mutant stands for {hazard}");
    }
    for stage in ["project", "project_backward", "rasterize", "rasterize_backward"] {
        let of = |m: &Mutant| m.mutation.kernels.iter().any(|kernel| kernel.stage == stage);
        assert!(mutants.iter().any(of), "no mutant of {stage}");
    }
}

/// The rates over 20 seeds and all cases stand in tests/mutants/splat/README.md; this is the same
/// procedure, cut short.
#[test]
fn cuda_mutants_die_on_the_emulator_and_right_kernels_do_not() {
    let mutants = mutants(&Splat(None));
    let budget = Budget { seeds: 1, cases: 2, limit: 12 };
    let corpus = corpus().into_iter().map(|case| Arc::new(case) as AnyCase).collect();
    let mut classes = classes(&Splat(Some(Profile::Inria)), corpus, budget.cases)
        .expect("the corpus can be rasterized");
    // What these do not show, no mutant needs: the command runs the other generators.
    classes.retain(|class| ["corpus", "nan", "typical", "poison"].contains(&class.name));
    die(&mutants, &classes, budget);
}

/// Likewise: tests/mutants/scatter/README.md.
#[test]
fn cuda_mutants_of_sums_by_key_die_on_the_emulator_and_right_kernels_do_not() {
    let corpus =
        Scatter.read_corpus(&root().join("corpora/scatter")).expect("the cases are legal").cases;
    let budget = Budget { seeds: 1, cases: 6, limit: 30 };
    let classes = classes(&Scatter, corpus, budget.cases).expect("sums can be made");
    die(&mutants(&Scatter), &classes, budget);
}

/// Likewise: tests/mutants/grid/README.md.
#[test]
fn cuda_mutants_of_grid_encodings_die_on_the_emulator_and_right_kernels_do_not() {
    let corpus =
        Grids.read_corpus(&root().join("corpora/grid")).expect("the cases are legal").cases;
    let budget = Budget { seeds: 1, cases: 2, limit: 60 };
    let mut classes = classes(&Grids, corpus, budget.cases).expect("the cases have jobs");
    // What these do not show, no mutant needs.
    classes.retain(|class| ["corpus", "fields"].contains(&class.name));
    die(&mutants(&Grids), &classes, budget);
}

/// A case on which the right kernel executes more than a mutant may at first: nobody dies of that.
#[test]
fn a_right_kernel_that_needs_many_instructions_is_not_killed() {
    let sizes = Scatter.generators().into_iter().find(|generator| generator.name == "sizes");
    let draw = Draw { lane_width: 32, turn: 59 };
    let drawn = Scatter.draw(sizes.expect("it is there"), draw, 0, 59).expect("it needs no files");
    let class = named(vec![drawn.current()]).expect("sums can be made");
    let block = |kernel: &Artifact| {
        let is_block = kernel.stage == "scatter" && kernel.reduction == Some(Reduction::Block);
        is_block && !kernel.fast_math
    };
    let kernels = artifact::all().into_iter().filter(block);
    let opened = kernels.map(|kernel| Emulated::new(kernel, None).expect("it is built in"));
    let trial = class.trials.first().expect("one case");
    let mut right = opened.into_iter().find(|kernel| kernel.takes(trial)).expect("one takes it");
    let caught = right.run_in_turn(trial, &Schedule::lockstep(), 0).expect("it runs");
    assert!(caught.is_none(), "{}: {caught:?}", trial.name());
}

/// Runs them: all die but the equivalent ones, and no right kernel does.
fn die(mutants: &[Mutant], classes: &[Class], budget: Budget) {
    let (cells, unread) = emulated(mutants, classes, budget, &|| ());
    assert_eq!(unread.gap("mutants"), None, "the mutants are PTX");
    let summary = summary(mutants, &cells);
    println!("{}", conclusion(&summary));
    assert!(summary.survivors.is_empty(), "survivors: {:?}", summary.survivors);
    assert!(summary.luck.is_empty(), "a seed in which no schedule shows: {:?}", summary.luck);
    assert!(summary.false_alarms.is_empty(), "false alarms: {:?}", summary.false_alarms);
    let equivalent = mutants.iter().filter(|mutant| mutant.mutation.equivalent.is_some());
    for mutant in equivalent {
        let name = &mutant.mutation.name;
        let killed: u32 = cells.iter().filter(|c| c.mutant == *name).map(|c| c.killed).sum();
        assert_eq!(killed, 0, "{name} is said to be equivalent, but it was killed");
    }
}
