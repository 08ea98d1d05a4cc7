//! `splatcheck train` as its users meet it: curves as a table, a file and a picture, or one clear line.

use serde_json::Value;
use splatcheck_tests::{Said, root, say};
use splatcheck_workloads::splat::files::image::write_png;
use std::fs;
use std::path::Path;

fn train(folder: &Path, options: &[&str]) -> Said {
    say(folder, &[&["train"], options].concat())
}

/// A bright square on dark ground.
fn picture(folder: &Path) {
    let pixel = |i: usize| {
        let [x, y] = [i % 24, i / 24];
        let inside = (6..18).contains(&x) && (6..18).contains(&y);
        if inside { [0.9, 0.6, 0.2] } else { [0.1, 0.1, 0.2] }
    };
    let colors: Vec<f64> = (0..24 * 24).flat_map(pixel).collect();
    write_png(&folder.join("square.png"), 24, 24, &colors).expect("a picture");
}

fn runs(folder: &Path, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(file)).expect("written");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all["runs"].as_array().expect("runs").clone()
}

fn numbers(run: &Value, field: &str) -> Vec<f64> {
    run[field].as_array().expect(field).iter().map(|x| x.as_f64().expect("a number")).collect()
}

#[test]
fn a_picture_is_learnt_as_the_oracle_learns_it() {
    let folder = tempfile::tempdir().expect("a folder");
    picture(folder.path());
    let small = ["square.png", "--gaussians", "30", "--steps", "40", "--engine", "emulator"];
    let files = ["--json", "curves.json", "-o", "curves.svg"];
    let said = train(folder.path(), &[&small[..], &files[..]].concat()).exits(0);
    assert!(said.out.starts_with("square.png, 24x24: 30 Gaussians, 40 steps, seed 0"), "{said:?}");
    let runs = runs(folder.path(), "curves.json");
    let names: Vec<_> = runs.iter().map(|run| (&run["engine"], &run["reduction"])).collect();
    assert_eq!(names.len(), 5, "the oracle, atomic and sw-b of both emulators: {names:?}");
    let at: Vec<f64> = (0..=40).map(f64::from).collect();
    for run in &runs {
        assert_eq!(numbers(run, "at"), at, "before each step and after the last");
        let psnr = numbers(run, "psnr");
        assert!(psnr[40] > psnr[0] + 1.0, "it learns: {psnr:?}");
        let far = run["largest_difference"].as_f64();
        assert!(far.is_none_or(|far| far < 0.1 * (psnr[40] - psnr[0])), "{far:?}");
        assert_eq!(run["stopped"], Value::Null, "{said:?}");
    }
    let svg = fs::read_to_string(folder.path().join("curves.svg")).expect("written");
    assert!(svg.contains("emulator sw-b threshold 8") && svg.contains("PSNR, dB"), "{svg}");
}

#[test]
fn the_cameras_of_a_case_take_turns() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/two-cameras.toml");
    let case = case.to_str().expect("a plain name");
    let options =
        [case, "--gaussians", "5", "--steps", "5", "--engine", "oracle", "--json", "c.json"];
    train(folder.path(), &options).exits(0);
    let runs = runs(folder.path(), "c.json");
    assert_eq!(runs.len(), 1, "the oracle alone");
    assert_eq!(numbers(&runs[0], "at"), [0.0, 2.0, 4.0, 5.0], "once a turn, and at the end");
}

#[test]
fn what_cannot_be_trained_is_one_line_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    picture(folder.path());
    fs::write(folder.path().join("text.png"), "no picture").expect("written");
    for (options, reason) in [
        (&["text.png"][..], "error: TARGET text.png: cannot be read as PNG"),
        (&["nowhere.png"][..], "error: nowhere.png: cannot open"),
        (&["square.jpg"][..], "ends in .png or .safetensors or .toml"),
        (&["square.png", "--steps", "0"][..], "--steps 0: expected 1 to 100000"),
        (&["square.png", "--gaussians", "0"][..], "--gaussians 0: expected 1 to 20000"),
        (&["square.png", "--reduction", "segmented"][..], "rasterize_backward has no such kernel"),
        (&["square.png", "--plot", "curves.png"][..], "--plot curves.png"),
        (&["--steps", "5"][..], "TARGET"),
    ] {
        let said = train(folder.path(), &[&["--engine", "oracle"], options].concat());
        assert_eq!(said.code, Some(2), "{options:?}: {said:?}");
        assert!(said.err.contains(reason), "{options:?}: {said:?}");
    }
    let beyond = ["square.png", "--engine", "emulator", "--threshold", "40"];
    train(folder.path(), &beyond).exits(2).complains("expected 0..=33");
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 2, "no file is left");
}
