//! `splatcheck coverage`: known holes are shown, the text and the JSON agree, arguments count, and
//! what cannot be followed is refused.

use splatcheck_judge::kernel_coverage::holes::{Coverage, Kind, Share};
use splatcheck_tests::{Said, root, say};
use std::fs;
use std::path::Path;

/// A folder with a corpus of one scene.
fn with_corpus(scene: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = folder.path().join("corpus");
    fs::create_dir(&corpus).expect("it is made");
    let file = format!("{scene}.toml");
    fs::copy(root().join("corpora/splat").join(&file), corpus.join(&file)).expect("it is there");
    folder
}

/// Measures on the folder's corpus alone.
fn measure(folder: &Path, more: &[&str]) -> Said {
    let words = ["coverage", "--cases", "0", "--corpus", "corpus"];
    say(folder, &[&words[..], more].concat())
}

fn json(file: &Path) -> Coverage {
    let text = fs::read_to_string(file).expect("it was written");
    serde_json::from_str(&text).expect("it is the coverage")
}

#[test]
fn a_known_hole_is_shown_and_the_json_says_the_same() {
    // No Gaussian: the loop over a batch has no step.
    let folder = with_corpus("empty");
    let words = ["--kernel", "rasterize", "--json", "c.json", "--unreachable", "none.toml"];
    fs::write(folder.path().join("none.toml"), "").expect("written");
    let said = measure(folder.path(), &words);
    assert_eq!(said.code, Some(1), "there are holes: {said:?}");
    let coverage = json(&folder.path().join("c.json"));
    let weight = "const float weight = pair.alpha * transmittance;";
    assert!(said.out.contains(weight), "the line of CUDA: {said:?}");
    let ran =
        coverage.artifacts.iter().find(|a| a.artifact.contains("rasterize.d3.compute_75.ptx"));
    let ran = ran.expect("three channels ran");
    let is_weight = |hole: &&splatcheck_judge::kernel_coverage::holes::Hole| {
        hole.cuda.as_ref().is_some_and(|cuda| cuda.text == weight)
    };
    let hole = ran.holes.iter().find(is_weight).expect("the hole");
    assert_eq!(hole.kind, Kind::NeverExecuted, "{hole:?}");
    assert!(hole.ptx.starts_with("mul.f32"), "{hole:?}");
    let Share { seen, all } = ran.instructions;
    assert!(0 < seen && seen < all, "some of it ran: {seen} of {all}");

    assert!(!coverage.never_ran.is_empty(), "nothing has more channels");
    for artifact in &coverage.never_ran {
        assert!(said.out.contains(&format!("NEVER RAN: {artifact}\n")), "{artifact}: {said:?}");
    }
    for artifact in &coverage.artifacts {
        let row =
            said.out.lines().find(|line| line.starts_with(&format!("{} ", artifact.artifact)));
        let row: Vec<_> = row.expect("a row").split_whitespace().map(str::to_owned).collect();
        let shares =
            [artifact.instructions, artifact.branches, artifact.guards, artifact.predicates];
        let mut expected: Vec<_> = shares.iter().map(Share::to_string).collect();
        expected.extend([artifact.holes.len().to_string(), "0".to_owned()]);
        assert_eq!(row[1..], expected, "{}", artifact.artifact);
    }
    let holes = format!("; {} holes, and 0 more", coverage.unexplained());
    assert!(said.out.contains(&holes), "'{holes}': {said:?}");
}

#[test]
fn argued_holes_do_not_fail_and_refuted_arguments_are_told() {
    let folder = with_corpus("tile-corner");
    let file = folder.path().join("argued.toml");
    let words = ["--kernel", "rasterize.d3.compute_75.ptx", "--unreachable", "argued.toml"];
    // Every instruction ends in a semicolon.
    fs::write(&file, "[[unreachable]]\nkernel = \"*\"\nptx = [\";\"]\nreason = \"all of it\"\n")
        .expect("written");
    let said = measure(folder.path(), &words);
    assert_eq!(said.code, Some(0), "everything is argued: {said:?}");
    said.prints("; 0 holes, and ");

    let line = "const float weight = pair.alpha * transmittance;";
    let argument = format!("[[unreachable]]\nkernel = \"rasterize\"\ncuda = \"{line}\"\n");
    fs::write(&file, argument + "reason = \"nothing is blended\"\n").expect("written");
    let said = measure(folder.path(), &words);
    assert_eq!(said.code, Some(1), "the other holes: {said:?}");
    let refuted = format!("ARGUED UNREACHABLE BUT EXERCISED: rasterize: {line}");
    said.prints(&refuted);
}

#[test]
fn the_map_of_the_case_space_names_what_no_case_has() {
    let folder = with_corpus("tile-corner");
    let said = measure(folder.path(), &[]);
    assert_eq!(said.code, Some(1), "one scene has not everything: {said:?}");
    let (_, map) = said.out.split_once("\nartifact ").expect("the map comes after the kernels");
    let row = |axis: &str| map.lines().find(|line| line.trim_start().starts_with(axis));
    assert!(row("convention").expect("a row").ends_with("inria 1, gsplat 0"), "{map}");
    assert!(row("colours").expect("a row").contains("D = 3 1,"), "{map}");
    for hole in ["convention: gsplat", "depth, far plane: at", "tiles in x: above 2^8"] {
        assert!(map.contains(&format!("  EMPTY: {hole}\n")), "no '{hole}': {map}");
    }
    let reason = "not among these cases, such a case takes a second or more: ";
    assert!(map.contains(reason), "what is left to campaigns: {map}");
    assert!(
        !map.contains("EMPTY: places in all lists: to 2^16"),
        "the main job has no such: {map}"
    );
}

#[test]
fn the_main_jobs_cases_reach_all_of_the_kernels_of_sums_by_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().join("corpora/scatter");
    let corpus = corpus.to_str().expect("UTF-8");
    let said = say(folder.path(), &["coverage", "--workload", "scatter", "--corpus", corpus]);
    assert_eq!(said.code, Some(0), "no hole in the case space, nor in the kernels: {said:?}");
    said.prints("scatter/scatter_atomic.compute_75.fast.ptx ");
    said.prints("; 0 holes, and ");
}

/// The kernels in WGSL, at the width of a driver and at one that no driver has.
#[test]
fn kernels_in_wgsl_are_covered_by_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().join("corpora/scatter");
    let corpus = corpus.to_str().expect("UTF-8");
    for lanes in [8, 64] {
        let engine = format!("wgsl-emulator-{lanes}");
        let words = ["coverage", "--workload", "scatter", "--corpus", corpus, "--cases", "20"];
        let few = ["--kernel", "scatter_sw_b", "--engine", &engine, "--json", "c.json"];
        let said = say(folder.path(), &[&words[..], &few].concat());
        assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
        let coverage = json(&folder.path().join("c.json"));
        let [one] = coverage.artifacts.as_slice() else { panic!("one kernel: {coverage:?}") };
        assert_eq!(one.artifact, "scatter/scatter_sw_b.wgsl");
        assert!(one.instructions.seen * 10 > one.instructions.all * 9, "nearly all: {one:?}");
        let is_of_wgsl = |hole: &splatcheck_judge::kernel_coverage::holes::Hole| {
            hole.cuda.as_ref().is_some_and(|line| line.place.contains(".wgsl:"))
        };
        assert!(one.holes.iter().all(is_of_wgsl), "{:?}", one.holes);
        assert_eq!(coverage.never_ran, Vec::<String>::new(), "it ran");
    }
    let fast = ["--kernel", "scatter_sw_b.compute_75.fast.ptx", "--engine", "wgsl-emulator-8"];
    let said = say(folder.path(), &[&["coverage", "--workload", "scatter"][..], &fast].concat());
    assert_eq!(said.code, Some(2), "nothing would be measured: {said:?}");
    said.complains("the engine runs no such kernel");
    let said = say(folder.path(), &["coverage", "--engine", "lavapipe-8"]);
    assert_eq!((said.code, said.err.lines().count() > 0), (Some(2), true), "{said:?}");
}

#[test]
fn the_main_jobs_cases_reach_all_of_the_kernels_of_grid_encodings() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().join("corpora/grid");
    let corpus = corpus.to_str().expect("UTF-8");
    let said = say(folder.path(), &["coverage", "--workload", "grid", "--corpus", corpus]);
    assert_eq!(said.code, Some(0), "no hole in the case space, nor in the kernels: {said:?}");
    said.prints("grid/grid_backward_input.compute_75.fast.ptx ");
    said.prints("; 0 holes, and ");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let folder = with_corpus("empty");
    let file = folder.path().join("argued.toml");
    fs::write(&file, "[[unreachable]]\nkernel = \"*\"\nptx = [\"bra\"]\nreason = \"\"\n")
        .expect("written");
    for (more, words) in [
        (&["--kernel", "rasterise"][..], "expected probe, project, rasterize, "),
        (&["--unreachable", "argued.toml"], "unreachable 1: the reason is empty"),
        (&["--unreachable", "missing.toml"], "missing.toml"),
        (&["--json", "no/such/folder.json"], "there is no folder"),
        (&["--workload", "scatter", "--convention", "gsplat"], "scatter has none"),
    ] {
        let said = measure(folder.path(), more);
        assert_eq!(said.code, Some(2), "{more:?}: {said:?}");
        assert!(said.err.contains(words), "no '{words}': {said:?}");
        assert!(said.out.is_empty(), "nothing was run: {said:?}");
    }
}
