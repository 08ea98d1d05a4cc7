//! `splatcheck sweep` as its users meet it: tables, files of every setting, a picture, or one clear line.

use serde_json::Value;
use splatcheck_tests::{Said, root, say, trained_scenes};
use std::fs;
use std::path::Path;

fn sweep(folder: &Path, options: &[&str]) -> Said {
    say(folder, &[&["sweep"], options].concat())
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).expect("written")).expect("JSON")
}

fn corpus(name: &str) -> String {
    root().join(format!("corpora/splat/{name}.toml")).to_string_lossy().into_owned()
}

#[test]
fn the_scenes_that_are_always_there_have_a_best_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["--json", "all.json", "--csv", "all.csv", "-o", "all.svg"];
    let said = sweep(folder.path(), &[&["--engine", "none"], &files[..]].concat()).exits(0);
    for words in ["random-1000-128x128", "list-of-513", "the paper, on its GPUs", "2.44", "5.70"] {
        said.prints(words);
    }
    let all = json(&folder.path().join("all.json"));
    let sweeps = all["sweeps"].as_array().expect("sweeps");
    assert_eq!(sweeps.len(), 7, "{said:?}");
    let mut points = 0;
    for sweep in sweeps {
        assert_eq!(sweep["lane_width"], 32);
        let settings = sweep["points"].as_array().expect("points");
        points += settings.len();
        let of = |reduction: &str, threshold: u64| {
            let is = |point: &&Value| {
                point["reduction"] == reduction && point["threshold"].as_u64() == Some(threshold)
            };
            settings.iter().find(is).expect("counted")
        };
        assert_eq!(of("sw-b", 33)["operations"], of("atomic", 0)["operations"], "never reducing");
        assert_eq!(of("sw-b", 3)["milliseconds"], Value::Null, "nothing was run");
    }
    let lines = fs::read_to_string(folder.path().join("all.csv")).expect("written");
    assert_eq!(lines.lines().count(), 1 + points, "a head, and a line for each setting");
    let picture = fs::read_to_string(folder.path().join("all.svg")).expect("written");
    assert!(picture.starts_with("<svg") && picture.contains("list-of-513, 32 lanes"), "{picture}");
}

#[test]
fn what_an_engine_makes_of_a_case_lies_within_bounds_and_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = corpus("one-to-sixteen-lanes");
    let options = [&case, "--engine", "emulator", "--reduction", "sw-b", "--json", "all.json"];
    let said = sweep(folder.path(), &options).exits(0);
    said.prints("NOT EXERCISED: times on emulator: it lacks a clock");
    said.prints("emulator runs on the processor");
    let all = json(&folder.path().join("all.json"));
    let sweep = &all["sweeps"][0];
    assert_eq!(
        (&sweep["device"]["engine"], &sweep["device"]["software"]),
        (&"emulator".into(), &true.into())
    );
    let points = sweep["points"].as_array().expect("points");
    let worst = |point: &Value| point["worst"].as_str().and_then(|worst| worst.parse::<f64>().ok());
    let judged: Vec<_> = points.iter().filter_map(worst).collect();
    // atomic, and sw-b at 0, 1, 2, 8, 16, 31, 32 and 33.
    assert_eq!(judged.len(), 9, "{sweep}");
    assert!(judged.iter().all(|worst| (0.0..=1.0).contains(worst)), "{judged:?}");
}

#[test]
fn a_device_is_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = corpus("list-of-257");
    let options = [&case, "--reduction", "sw-s", "--repeats", "3", "--json", "all.json"];
    let said = sweep(folder.path(), &options);
    if said.out.contains("it lacks a clock") {
        eprintln!("NOT EXERCISED: times: no engine of this machine has a clock");
        return;
    }
    assert_eq!(said.code, Some(0), "{said:?}");
    let all = json(&folder.path().join("all.json"));
    let sweeps = all["sweeps"].as_array().expect("sweeps");
    let ran = sweeps.iter().find(|sweep| sweep["device"] != Value::Null).expect("an engine");
    let points = ran["points"].as_array().expect("points");
    let times = points.iter().filter_map(|point| point["milliseconds"].as_f64());
    let times: Vec<_> = times.collect();
    assert!(times.len() >= 6 && times.iter().all(|time| *time > 0.0), "{times:?}");
    said.prints("measured, ");
}

#[test]
fn a_trained_scene_is_swept_by_camera() {
    let Some(scenes) = trained_scenes("sweep of a scene") else { return };
    let path = |name: &str| scenes.join(name).to_string_lossy().into_owned();
    let (ply, cameras) = (path("skull-crop-5000.ply"), path("skull-crop-5000.cameras.json"));
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--ply", &ply, "--cameras", &cameras, "--engine", "none", "--json", "all.json"];
    sweep(folder.path(), &options).exits(0);
    let all = json(&folder.path().join("all.json"));
    for sweep in all["sweeps"].as_array().expect("sweeps") {
        let best = &sweep["best_modelled"];
        assert!(best["to_atomic"].as_f64().is_some_and(|gain| gain > 2.0), "{best}");
    }
    let said = sweep(folder.path(), &[&ply, "--engine", "none"]).exits(2);
    said.complains("needs its cameras: --ply");
}

#[test]
fn what_cannot_be_swept_is_one_line_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("no.toml"), "not a case").expect("written");
    let empty = corpus("empty");
    for (options, reason) in [
        (&["no.toml"][..], "no.toml"),
        (&["nowhere.toml"][..], "error: nowhere.toml: cannot open"),
        (&["scene.txt"][..], "ends in .safetensors or .toml"),
        (&["--repeats", "0"][..], "--repeats 0: expected 1 to 1000"),
        (&["--price", "-1"][..], "--price -1: expected a finite number from 0 on"),
        (&["--lane-width", "12"][..], "warp size 12: expected a power of two"),
        (&["--reduction", "segmented"][..], "--reduction segmented: rasterize_backward has no"),
        (&["--csv", "all.txt"][..], "--csv all.txt"),
        (&["-o", "no/all.svg"][..], "there is no folder no"),
        (&["--ply", "a.ply"][..], "--cameras"),
    ] {
        let said = sweep(folder.path(), &[&["--engine", "none"], options].concat());
        assert_eq!(said.code, Some(2), "{options:?}: {said:?}");
        assert!(said.err.contains(reason), "{options:?}: {said:?}");
    }
    sweep(folder.path(), &["--engine", "voodoo"]).exits(2).complains("unknown engine 'voodoo'");
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1, "no file is left");
    // Nothing is added to anything: there is no ratio.
    let said = sweep(folder.path(), &[&empty, "--engine", "none", "-o", "empty.svg"]).exits(2);
    said.complains("NOT EXERCISED: no camera of empty sees a Gaussian");
}
