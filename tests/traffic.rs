//! `splatcheck traffic` as its users meet it: tables, a file of all counts, or one clear line.

use serde_json::Value;
use splatcheck_tests::{Said, say, trained_scenes};
use splatcheck_workloads::splat::files::image::write_png;
use std::fs;
use std::path::Path;

fn traffic(folder: &Path, options: &[&str]) -> Said {
    say(folder, &[&["traffic"], options].concat())
}

/// The cells of a table's rows, whose first cell is a level's number.
fn levels(said: &Said) -> Vec<Vec<String>> {
    let rows = said.out.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()));
    let rows = rows.map(|cells| cells.map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    rows.filter(|cells| cells.first().is_some_and(|cell| cell.parse::<usize>().is_ok())).collect()
}

#[test]
fn a_uniform_batch_has_nothing_to_save() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = traffic(folder.path(), &["--points", "4096", "--json", "all.json"]).exits(0);
    let levels = levels(&said);
    assert_eq!(levels.len(), 16, "{said:?}");
    for level in &levels {
        let rows: f64 = level[3].parse().expect("rows a step");
        assert!(rows > 31.0 && level[4] == "0.00 %", "{level:?}");
        // The butterfly never fires, so that it sends what atomic sends.
        assert_eq!(level[9], "1.00", "{level:?}");
    }
    let text = fs::read_to_string(folder.path().join("all.json")).expect("written");
    let parts: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(parts.len(), 16);
    for part in &parts {
        let settings = part["settings"].as_array().expect("settings");
        let of = |reduction: &str, threshold: u64| {
            let row = settings.iter().find(|row| {
                row["reduction"] == reduction && row["threshold"].as_u64() == Some(threshold)
            });
            row.expect(reduction)["operations"].as_u64().expect("a number")
        };
        // Eight corners and two features of each point.
        assert_eq!(of("atomic", 0), 4096 * 8 * 2);
        assert_eq!(of("sw-s", 33), of("atomic", 0), "no group has 33 lanes");
        assert!(of("sw-s", 0) <= of("segmented", 0), "runs are parts of groups");
    }
}

#[test]
fn neighbouring_pixels_share_the_entries_of_coarse_levels() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("image.png");
    write_png(&file, 300, 200, &[0.5; 3 * 300 * 200]).expect("a picture");
    let said = traffic(folder.path(), &["--image", "image.png", "--points", "20000"]).exits(0);
    said.prints("20000 points (pixels of 300x200, as drawn), 2 dimensions");
    let levels = levels(&said);
    assert_eq!(levels.len(), 3 * 16, "{said:?}");
    let rows = |order: usize, level: usize| levels[16 * order + level][3].parse::<f64>();
    let [drawn, morton, shuffled] = [0, 1, 2].map(|order| rows(order, 0).expect("a number"));
    assert!(drawn < 4.0 && morton < 4.0 && shuffled > 20.0, "{drawn}, {morton}, {shuffled}");
}

#[test]
fn splats_and_a_grid_of_a_trained_scene_side_by_side() {
    let Some(scenes) = trained_scenes("traffic of a scene") else { return };
    let path = |name: &str| scenes.join(name).to_string_lossy().into_owned();
    let (ply, cameras) = (path("skull-crop-5000.ply"), path("skull-crop-5000.cameras.json"));
    let folder = tempfile::tempdir().expect("a folder");
    let scene = ["--ply", &ply, "--cameras", &cameras, "--points", "16384"];
    let said = traffic(folder.path(), &scene).exits(0);
    let best: Vec<_> = said.out.lines().filter(|line| line.ends_with("best of all")).collect();
    assert!(!best.is_empty() && best.iter().all(|line| !line.starts_with("atomic")), "{said:?}");
    let levels = levels(&said);
    assert_eq!(levels.len(), 3 * 16, "{said:?}");
    let rows = |order: usize, level: usize| levels[16 * order + level][3].parse::<f64>();
    let [drawn, fine, shuffled] =
        [(0, 0), (0, 15), (2, 0)].map(|(order, level)| rows(order, level).expect("a number"));
    assert!(drawn < 12.0 && fine > 28.0 && shuffled > 25.0, "{drawn}, {fine}, {shuffled}");
}

#[test]
fn what_cannot_be_counted_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("text.png"), "no picture").expect("written");
    for (options, reason) in [
        (&["--points", "0"][..], "--points 0: expected 1 to 16777216"),
        (&["--price", "-1"][..], "--price -1: expected a finite number from 0 on"),
        (&["--price", "NaN"][..], "--price NaN: expected a finite number from 0 on"),
        (&["--lane-width", "12"][..], "warp size 12: expected a power of two"),
        (&["--image", "text.png"][..], "--image text.png: cannot be read as PNG"),
        (&["--image", "nowhere.png"][..], "--image nowhere.png: cannot open"),
        (&["--json", "all.txt"][..], "--json all.txt"),
        (&["--ply", "a.ply"][..], "--cameras"),
    ] {
        let said = traffic(folder.path(), options);
        assert_eq!(said.code, Some(2), "{options:?}: {said:?}");
        assert!(said.err.contains(reason), "{options:?}: {said:?}");
    }
}
