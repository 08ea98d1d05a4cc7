//! The commands that know no workload do their work on each of them.

use safetensors::SafeTensors;
use splatcheck_gpu::Reduction;
use splatcheck_judge::workload::{Notes, Workload};
use splatcheck_tests::{Said, root, say};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The stages that a report has rows of.
fn stages_of(said: &Said) -> BTreeMap<&'static str, bool> {
    let stages = splatcheck_gpu::Stage::all().filter(|stage| stage.workload != "probe");
    let has_row =
        |name: &str| said.out.lines().any(|line| line.split_whitespace().nth(1) == Some(name));
    stages.map(|stage| (stage.name, has_row(stage.name))).collect()
}

/// That a report has rows of this workload's stages, of those that have kernels for the reduction where
/// one was asked for, and of no other's.
fn is_of(workload: &dyn Workload, by: Option<Reduction>, said: &Said) {
    for (name, there) in stages_of(said) {
        let stage: splatcheck_gpu::Stage = name.parse().expect("a stage");
        let asked = by.is_none_or(|by| !stage.accumulates() || stage.reduces_by(by));
        assert_eq!(there, asked && stage.workload == workload.name(), "{name}: {said:?}");
    }
}

/// That a report has rows of the stages of every workload.
fn is_of_all(said: &Said) {
    for (name, there) in stages_of(said) {
        assert!(there, "no row of {name}: {said:?}");
    }
}

#[test]
fn fuzz_draws_from_any_workload_and_its_parts_can_be_joined() {
    for workload in splatcheck_workloads::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = workload.name();
        let args =
            ["fuzz", "-v", "--workload", name, "--engine", "emulator", "--cases", "130", "--out"];
        let whole = say(folder.path(), &[&args[..], &["whole"]].concat()).exits(0);
        is_of(workload.as_ref(), None, &whole);
        for shard in ["1/2", "2/2"] {
            let part = shard.replace('/', "-");
            say(folder.path(), &[&args[..], &[&part, "--shard", shard]].concat()).exits(0);
        }
        let joined = say(folder.path(), &["merge", "-v", "1-2", "2-2", "-o", "joined"]);
        assert_eq!((joined.code, &joined.out), (whole.code, &whole.out), "{}", joined.err);
        let result = |name: &str| fs::read(folder.path().join(name).join("result.json"));
        assert_eq!(result("joined").expect("there"), result("whole").expect("there"), "{name}");
    }
}

#[test]
fn fuzz_draws_from_all_workloads() {
    let folder = tempfile::tempdir().expect("a folder");
    let (words, json) = (["fuzz", "-v", "--workload", "all", "--engine", "emulator"], "all.json");
    let said = say(
        folder.path(),
        &[&words[..], &["--cases", "40", "--out", "o", "--json", json]].concat(),
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let of_each: Vec<_> = said.out.split("workload ").skip(1).collect();
    assert_eq!(of_each.len(), splatcheck_workloads::all().len(), "{said:?}");
    for (workload, text) in splatcheck_workloads::all().iter().zip(of_each) {
        assert!(text.starts_with(&format!("{}:\n", workload.name())), "{said:?}");
        assert!(text.contains("\n40 cases, "), "so many each: {said:?}");
        let result = folder.path().join("o").join(workload.name()).join("result.json");
        assert!(result.is_file(), "{}", result.display());
    }
    is_of_all(&said);
    let summary = fs::read_to_string(folder.path().join(json)).expect("it was written");
    for stage in ["rasterize_backward", "scatter", "grid_backward"] {
        assert!(summary.contains(&format!("\"{stage}\"")), "no {stage}: {summary}");
    }
}

#[test]
fn check_judges_random_cases_of_any_workload() {
    let folder = tempfile::tempdir().expect("a folder");
    for workload in splatcheck_workloads::all() {
        let name = workload.name();
        let words =
            ["self-check", "-v", "--workload", name, "--engine", "emulator", "--cases", "6"];
        let said = say(folder.path(), &[&words[..], &["--reduction", "atomic"]].concat()).exits(0);
        is_of(workload.as_ref(), Some(Reduction::Atomic), &said);
    }
}

#[test]
fn check_and_replay_know_whose_case_a_file_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    for workload in splatcheck_workloads::all() {
        let file = format!("{}.safetensors", workload.name());
        let case = workload.random(4, 2).current();
        case.write(&folder.path().join(&file), &Notes::new()).expect("a legal case");
        // A workload may have cases of several kinds, each with stages of its own.
        let jobs = case.jobs_of(0, &|_| true).expect("a legal case");
        let own: Vec<_> = jobs.iter().map(|job| job.stage.name).collect();
        assert!(!own.is_empty(), "{name} has stages", name = workload.name());
        for command in [&["self-check", "-v", "--case"][..], &["replay", "-v"]] {
            let said =
                say(folder.path(), &[command, &[&file, "--engine", "emulator"]].concat()).exits(0);
            for (name, there) in stages_of(&said) {
                assert_eq!(there, own.contains(&name), "{name}: {said:?}");
            }
        }
    }
}

#[test]
fn a_name_that_a_workload_does_not_have_is_refused() {
    let here = Path::new(".");
    for (args, words) in [
        (
            &["fuzz", "--workload", "mesh"][..],
            "there is no workload 'mesh': expected splat or scatter or grid, or all",
        ),
        (
            &["fuzz", "--workload", "scatter", "--generator", "lanes"],
            "--generator lanes: workload scatter has none of that name, expected one of partitions, \
             groups, sizes, numbers",
        ),
        (&["fuzz", "--generator", "partitions"], "workload splat has none of that name"),
        (
            &["fuzz", "--workload", "scatter", "--convention", "gsplat"],
            "--convention gsplat: workload scatter has none of that name",
        ),
        (&["self-check", "--workload", "scatter", "--convention", "inria"], "--convention inria"),
    ] {
        let said = say(here, args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}: {said:?}");
        assert!(said.err.contains(words), "{args:?}: {}", said.err);
    }
}

/// The oracle takes a case of sums by key in either form.
#[test]
fn the_oracle_writes_sums_and_their_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/scatter/leader-is-not-lane-0.toml");
    let case = case.to_str().expect("UTF-8");
    let said = say(folder.path(), &["oracle", case, "-o", "out.safetensors", "--bounds"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(
        said.out.starts_with("out.safetensors: 32 elements of 1 value, 3 rows, f64"),
        "{said:?}"
    );
    let bytes = fs::read(folder.path().join("out.safetensors")).expect("the result");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let numbers = |name: &str| -> Vec<f64> {
        let tensor = file.tensor(name).expect("it is there");
        assert_eq!(tensor.shape(), [3, 1], "{name}");
        tensor.data().as_chunks().0.iter().map(|word| f64::from_le_bytes(*word)).collect()
    };
    assert_eq!(numbers("sums"), [0.0, 0.0, 27.0 / 8.0], "27 eighths in the last row");
    let bounds = numbers("bound_sums");
    assert_eq!(bounds[..2], [0.0, 0.0], "nothing is added");
    assert!(bounds[2] > 0.0 && bounds[2] < 1e-4, "26 additions: {bounds:?}");
    let said =
        say(folder.path(), &["oracle", case, "-o", "other.safetensors", "--stages"]).exits(2);
    said.complains("is one of sums by key: leave it out");
}
