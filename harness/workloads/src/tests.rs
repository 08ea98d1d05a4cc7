//! What every workload must be for campaigns to draw from it.

mod coverage;
mod parts;
pub(crate) mod traffic;

use super::*;
use splatcheck_gpu::{Stage, Tensors};
use splatcheck_judge::case_space::{CaseSpace, Run};
use splatcheck_judge::io::{built_in, source_tree};
use splatcheck_judge::workload::{
    AnyCase, Case, Draw, Frequency, Notes, Promise, Workload, generator, views,
};
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_those_of_stages() {
    let names: BTreeSet<_> = all().iter().map(|workload| workload.name()).collect();
    assert_eq!(names.len(), all().len(), "a name is used twice");
    for workload in all() {
        let name = workload.name();
        assert!(Stage::all().any(|stage| stage.workload == name), "{name} has no stage");
        assert_eq!(find(name).map(|found| found.name()), Ok(name), "{name} is not found");
    }
    let error = find("splats").expect_err("there is none").to_string();
    assert_eq!(
        error, "there is no workload 'splats': expected splat or scatter or grid",
        "what to do"
    );
}

/// Of a copy of the program that lies in no source tree.
#[test]
fn every_corpus_is_built_in_as_it_is_in_the_tree() {
    for workload in all() {
        let within = format!("corpora/{}", workload.name());
        let tree = source_tree::root().expect("this test was built in the tree").join(&within);
        let inside = built_in::folder(&within).expect("built in");
        let [inside, tree] = [inside, tree].map(|folder| -> Vec<String> {
            let cases = workload.read_corpus(&folder).expect("readable");
            cases.cases.iter().map(|case| case.name().to_owned()).collect()
        });
        assert!(!inside.is_empty(), "{within} has no case");
        assert_eq!(inside, tree, "{within}");
    }
}

#[test]
fn generators_can_take_turns() {
    for workload in all() {
        let (name, rows) = (workload.name(), workload.generators());
        let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), rows.len(), "{name}: a generator's name is used twice");
        let promised = |turns| {
            let rows = rows.iter().filter(|row| row.promise != Promise::Nothing);
            rows.filter(|row| row.turns == turns).count()
        };
        assert!(promised(Frequency::Steering) <= 1, "{name}: two generators steer");
        assert!(promised(Frequency::Often) > 0, "{name}: no generator has a turn often");
        for row in rows {
            assert!(!row.purpose.is_empty(), "{name}, {}: no purpose", row.name);
        }
    }
}

#[test]
fn cases_are_repeatable_and_named_by_what_they_were_drawn_with() {
    for workload in all() {
        for row in workload.generators() {
            let draw = Draw { lane_width: 32, turn: 3 };
            let Some(tree) = workload.draw(row, draw, 5, 7) else {
                assert!(!row.needs.is_empty(), "{} is made from nothing", row.name);
                println!("NOT EXERCISED: {}: there is no {}", row.name, row.needs.join(", "));
                continue;
            };
            let case = tree.current();
            assert_eq!(case.name(), format!("{}-5-7", row.name), "its name");
            let id = case.id().expect("it was drawn");
            assert_eq!((id.workload, id.generator), (workload.name(), row.name), "its identity");
            let again = workload.draw(row, draw, 5, 7).expect("as before").current();
            assert_eq!(format!("{case:?}"), format!("{again:?}"), "{} is repeatable", row.name);
            let other = case.renamed("other".to_owned(), None);
            assert_eq!((other.name(), other.id()), ("other", None), "renamed");
        }
        assert!(generator(workload.as_ref(), "no such").is_none(), "a name that is none");
        assert_ne!(
            workload.random(1, 2).current().name(),
            workload.random(1, 3).current().name(),
            "random cases have numbers"
        );
    }
}

#[test]
fn conventions_are_found_by_name_and_draw_other_cases() {
    for workload in all() {
        let name = workload.name();
        assert_eq!(workload.convention(), None, "{name}: none is named");
        assert!(workload.under("no such").is_none(), "{name}: a name that is none");
    }
    let splat = find("splat").expect("there");
    let case = |workload: &dyn Workload| format!("{:?}", workload.random(1, 1).current());
    let [inria, gsplat] = ["inria", "gsplat"].map(|name| {
        let under = splat.under(name).expect("a published convention");
        assert_eq!(under.convention(), Some(name), "as it was named");
        case(under.as_ref())
    });
    assert_ne!(inria, gsplat, "other cases");
    assert!([inria, gsplat].contains(&case(splat.as_ref())), "one of them where none is named");
    assert!(find("scatter").expect("there").under("inria").is_none(), "sums have no convention");
}

#[test]
fn files_say_whose_cases_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    for workload in all() {
        let case = workload.random(3, 1).current();
        let file = folder.path().join(format!("{}.safetensors", workload.name()));
        let notes = Notes::from([("splatcheck.engine".to_owned(), "emulator".to_owned())]);
        case.write(&file, &notes).expect("a legal case");
        let read = read_case(&file).expect("it was just written");
        assert_eq!((read.case.name(), read.notes), (case.name(), notes), "{}", workload.name());
        let jobs = |case: &dyn Case| -> Vec<_> {
            let jobs = case.jobs(0).expect("a legal case");
            // Their bits: a NaN is not equal to itself.
            let words = |inputs: &Tensors| -> Vec<_> {
                inputs.iter().map(|(name, x)| (name.to_owned(), x.words().to_vec())).collect()
            };
            jobs.into_iter().map(|job| (job.stage, words(&job.inputs))).collect()
        };
        assert_eq!(jobs(read.case.as_ref()), jobs(case.as_ref()), "{}", workload.name());
    }
    for workload in all() {
        let corpus = workload.read_corpus(folder.path()).expect("its own case is good");
        let names: Vec<_> = corpus.cases.iter().map(|case| case.name().to_owned()).collect();
        assert_eq!(names, [workload.name()], "another workload's case is not taken");
        let others = all().len() - 1;
        assert_eq!(corpus.unread.lines().len(), others, "and named: {:?}", corpus.unread);
    }
    let file = folder.path().join("meshes.safetensors");
    let metadata = [(WORKLOAD_KEY.to_owned(), "mesh".to_owned())].into();
    let bytes = container::encode_parts(&metadata, &[]).expect("metadata alone");
    std::fs::write(&file, bytes).expect("written");
    let error = read_case(&file).expect_err("no such workload").to_string();
    assert!(error.ends_with("workload is 'mesh': expected splat or scatter or grid"), "{error}");
}

/// The main job's cases of a workload have every value of every axis among them; with those of each kind of its
/// generators, and these, every pair.
pub(super) fn assert_complete(workload: &dyn Workload, more: Vec<AnyCase>) {
    let axes = workload.axes();
    let mut space = CaseSpace::default();
    let mut add = |cases: Vec<_>| {
        for (case, view) in views(cases) {
            space.add(case.traits(view).expect("a case"));
        }
        space.clone()
    };
    let corpus = source_tree::folder(&format!("corpora/{}", workload.name()));
    let corpus = corpus.expect("the corpus is in the source tree");
    let corpus = workload.read_corpus(&corpus).expect("it is readable");
    let drawn = (0..25).map(|index| workload.random(0, index).current());
    let main = add(corpus.cases.into_iter().chain(drawn).collect());
    let holes = main.holes(&axes, Run::MainJob);
    assert!(holes.is_empty(), "of the main job: {holes:?}");
    let all = add(workload.of_each_kind(0).into_iter().chain(more).collect());
    let holes = all.holes(&axes, Run::Campaign);
    assert!(holes.is_empty(), "of a campaign: {holes:?}");
    let holes = all.pair_holes(&axes, Run::Campaign);
    assert!(holes.is_empty(), "pairs of a campaign: {holes:?}");
}

#[test]
fn a_smaller_case_may_lose_a_view() {
    let workload = find("splat").expect("there");
    let cameras = generator(workload.as_ref(), "cameras").expect("a generator");
    let lost = (0..20).any(|index| {
        let draw = Draw { lane_width: 32, turn: index };
        let mut tree = workload.draw(cameras, draw, 1, index).expect("no data needed");
        let views = tree.current().views();
        (0..200).any(|_| tree.simplify() && tree.current().views() < views)
    });
    assert!(lost, "no case has lost a camera");
}
