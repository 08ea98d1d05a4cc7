//! Kernels of stages whose arrays are their ports: of grid encodings, sums by key and spherical harmonics, with other
//! projects' parameter lists, from PTX, WGSL, programs and Rust. Right ones agree, broken ones are found, named and
//! replayed.

use std::fs;
use std::path::Path;

use splatcheck::kernel::{
    BoxError, GridBackward, ScatterSums, SphericalHarmonics, StageInputs, check,
};
use splatcheck_judge::verdict::Verdict;
use splatcheck_tests::{
    Said, again, changed_manifest, has_engine, own_kernel as kernel, path, python, say,
};

/// A kernel of a stage.
struct Ported {
    stage: &'static str,
    /// The program, of which a variant is broken.
    program: &'static str,
    manifest: &'static str,
    corpus: &'static str,
    /// What the report says of the broken one; `None` for one that is right in this stage.
    looks_like: Option<&'static str>,
}

const PORTED: [Ported; 6] = [
    Ported {
        stage: "grid_forward",
        program: "ngp_grid",
        manifest: "ngp_grid.toml",
        corpus: "grid",
        looks_like: None,
    },
    Ported {
        stage: "grid_backward",
        program: "ngp_grid",
        manifest: "ngp_grid_backward.toml",
        corpus: "grid",
        looks_like: Some("v_features lie as [L,N,F] and are read as [N,L,F]"),
    },
    Ported {
        stage: "grid_backward",
        program: "tcnn_grid",
        manifest: "tcnn_grid.toml",
        corpus: "grid",
        looks_like: Some("v_table"),
    },
    Ported {
        stage: "scatter",
        program: "index_add",
        manifest: "index_add.toml",
        corpus: "scatter",
        looks_like: Some("lane 31 of each warp, the last, is left out"),
    },
    Ported {
        stage: "spherical_harmonics",
        program: "harmonics",
        manifest: "harmonics.toml",
        corpus: "splat",
        looks_like: None,
    },
    Ported {
        stage: "spherical_harmonics_backward",
        program: "harmonics",
        manifest: "harmonics_backward.toml",
        corpus: "splat",
        looks_like: Some("of v_dirs the part of blue is the only one"),
    },
];

/// Runs the line of a report that makes a finding again; what came of it.
fn replayed(here: &Path, said: &Said) -> Said {
    say(here, &again(&said.out))
}

#[test]
fn kernels_in_ptx_agree_and_broken_ones_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    for Ported { stage, program, manifest, corpus, looks_like } in PORTED {
        let (manifest, corpus) = (kernel(manifest), path(&format!("corpora/{corpus}")));
        let on = |program: &str, cases: &[&str]| {
            let program = kernel(&format!("{program}.ptx"));
            let args = ["ptx", &program, "--manifest", &manifest, "--jobs", "2"];
            say(here, &[&args[..], cases].concat())
        };
        let said = on(program, &["--corpus", &corpus, "--cases", "40", "--seed", "3"]);
        assert_eq!(said.code, Some(0), "{stage}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(&format!("\n{stage} is ")), "{stage}: {}", said.out);
        let orders = ["--schedule", "adversarial", "--schedules", "2", "--cases", "5"];
        let said = on(program, &orders);
        assert_eq!(said.code, Some(0), "{stage}: {}\n{}", said.out, said.err);
        let Some(looks_like) = looks_like else { continue };
        let said = on(&format!("{program}_broken"), &["--cases", "20"]);
        assert_eq!(said.code, Some(1), "{stage}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(looks_like), "{stage}: {}", said.out);
        let again = replayed(here, &said);
        assert_eq!(again.code, Some(1), "{stage}: {}\n{}", again.out, again.err);
        assert!(again.out.contains("exactly the recorded failure"), "{stage}: {}", again.out);
    }
}

#[test]
fn what_a_stage_has_not_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let refused =
        |(program, name): (&str, &str), [old, new]: [&str; 2], more: &[&str], words: &str| {
            changed_manifest(here, name, &[[old, new]]);
            let program = kernel(program);
            let args = ["ptx", &program, "--manifest", "m.toml", "--cases", "3"];
            let said = say(here, &[&args[..], more].concat());
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{new}: {said:?}");
            assert!(said.err.contains(words), "{new}: expected '{words}': {}", said.err);
        };
    let grid = ("ngp_grid.ptx", "ngp_grid.toml");
    let scatter = ("index_add.ptx", "index_add.toml");
    let axes = "[\"L\", \"N\", \"F\"]";
    for (change, words) in [
        ([axes, "[\"L\", \"N\"]"], "axes is 'L, N': name each of N, L, F once"),
        ([axes, "[\"L\", \"N\", \"N\"]"], "name each of N, L, F once"),
        (["axes = ", "layout = \"planar\", axes = "], "layout and axes: give one of them"),
        (["\"table\"", "\"tables\""], "parameter 2.tensor is 'tables': there are positions, table"),
        (["d = 3", "d = 5"], "constants.d is '5': expected 1 to 4"),
        (["d = 3", "q = 3"], "constants is 'q': there are lattice"),
        (["hash = \"prime\"", "hash = \"xor\""], "expected 'prime' or 'rolling'"),
        (["level_table = \"computed\"", "level_table = \"read\""], "kernels with a level_table"),
        (["block", "preset = \"gsplat-1.5\"\nblock"], "preset is given for stage grid_forward"),
        (["block", "channels = 3\nblock"], "channels is given for stage grid_forward"),
        (["u32 = \"L\"", "u32 = \"W\""], "not known: 'W': there are N, d"),
        (["lattice = \"cubic\"", "lattice = \"simplex\""], "no case has a run of stage"),
    ] {
        refused(grid, change, &[], words);
    }
    let same = ["stage", "stage"];
    refused(grid, same, &["--channels", "3"], "--channels: stage grid_forward is not of splats");
    refused(grid, same, &["--formulation", "any"], "the manifest is of stage grid_forward");
    refused(grid, same, &["--convention", "inria"], "workload grid has none of that name");
    refused(grid, same, &["--reduction", "sw-b"], "which adds nothing up");
    refused(grid, same, &["--generator", "lanes"], "workload grid has none of that name");
    refused(scatter, ["\"i64\"", "\"i16\""], &[], "expected 'i64'");
    refused(scatter, ["\"values\"", "\"values\", as = \"i64\""], &[], "'i64' for values");
}

/// A kernel with room for 128 levels is not judged on more.
#[test]
fn what_does_not_fit_a_structure_is_not_exercised() {
    let folder = tempfile::tempdir().expect("a folder");
    let [program, manifest] = ["tcnn_grid.ptx", "tcnn_grid.toml"].map(kernel);
    let args = ["ptx", &program, "--manifest", &manifest, "--generator", "wide", "--cases", "100"];
    let said = say(folder.path(), &args).exits(0);
    let words = "offsets has 301 numbers, and the kernel's structure takes 129";
    assert!(said.out.contains("NOT EXERCISED: ") && said.out.contains(words), "{}", said.out);
}

/// A launch that no device makes on a case says nothing of the kernel: an empty grid, a block of too many threads, more
/// shared memory than there is, and a number that its parameter cannot hold.
#[test]
fn what_cannot_be_launched_on_a_case_is_not_exercised() {
    let folder = tempfile::tempdir().expect("a folder");
    let (here, program, corpus) = (folder.path(), kernel("index_add.ptx"), path("corpora/scatter"));
    let args = ["ptx", &program, "--manifest", "m.toml", "--corpus", &corpus];
    for (change, words) in [
        (
            ["max(1, ceil_div(N, 128))", "ceil_div(N, 128)"],
            "no blocks, which CUDA refuses: write max(1, ...)",
        ),
        (["[128]", "[\"max(N, 128)\"]"], "threads a block, expected 1..=1024"),
        (
            ["grid", "dynamic_shared = \"232448 + N / 500\"\ngrid"],
            "no device has more than 232448 for a block",
        ),
        (["{ i32 = \"N\" }", "{ i32 = \"N + N / N - 1\" }"], "a division by 0"),
    ] {
        changed_manifest(here, "index_add.toml", &[change]);
        let said = say(here, &args).exits(0);
        assert!(said.out.starts_with("agree"), "{change:?}: {}", said.out);
        let told = said
            .out
            .lines()
            .any(|line| line.starts_with("NOT EXERCISED: ") && line.contains(words));
        assert!(told && !said.out.contains("DISAGREE"), "{change:?}: {}", said.out);
        let strict = say(here, &[&args[..], &["--fail-on", "not-exercised"]].concat());
        assert_eq!(strict.code, Some(1), "{change:?}: {}", strict.out);
    }
    changed_manifest(here, "index_add.toml", &[["[128]", "[2048]"]]);
    say(here, &args).exits(2).complains("2048 threads a block, expected 1..=1024");
}

#[test]
fn mutants_of_a_users_kernel_of_sums_die() {
    let folder = tempfile::tempdir().expect("a folder");
    let [program, manifest] = ["index_add.ptx", "index_add.toml"].map(kernel);
    let args = ["mutants", "--generate", "40", "--ptx", &program, "--manifest", &manifest];
    let said = say(folder.path(), &[&args[..], &["--cases", "6"]].concat());
    assert!(said.code == Some(0) || said.code == Some(1), "{}\n{}", said.out, said.err);
    assert!(said.out.contains("index_add") && said.out.contains("killed"), "{}", said.out);
}

#[test]
fn sums_in_wgsl_agree_and_broken_ones_are_found() {
    if !has_engine("sums in WGSL") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let [program, manifest] = ["index_add.wgsl", "index_add_wgsl.toml"]
        .map(|name| fs::read_to_string(kernel(name)).expect("a text"));
    fs::write(here.join("k.toml"), manifest).expect("written");
    let judged = |program: &str| {
        fs::write(here.join("k.wgsl"), program).expect("written");
        say(here, &["wgsl", "k.wgsl", "--manifest", "k.toml", "--cases", "12"])
    };
    let said = judged(&program);
    if said.err.contains("no engine of wgpu on this machine") {
        println!("NOT EXERCISED: sums in WGSL: {}", said.err);
        return;
    }
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    let (right, wrong) = ("element * sizes.values + v]", "v * sizes.elements + element]");
    assert_eq!(program.matches(right).count(), 1, "{right}");
    let said = judged(&program.replace(right, wrong)).exits(1);
    said.prints("values are read as [V,N]");
    assert_eq!(replayed(here, &said).code, Some(1), "the same again");
}

#[test]
fn programs_agree_and_wrong_ones_are_named() {
    let Some(python) = python("programs of other stages") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let program = path("tests/programs/stage.py");
    let on = |stage: &str, bug: &str, more: &[&str]| {
        let command = format!("'{python}' '{program}' {stage} {bug}");
        let args = ["check", "--command", &command, "--level", stage, "--cases", "12"];
        say(here, &[&args[..], more].concat())
    };
    for (stage, bug, more, looks_like) in [
        ("scatter", "initial", &[][..], "what the rows held before is lost"),
        ("spherical_harmonics", "length", &["--constant", "K=4"], "colors"),
    ] {
        let said = on(stage, "", more);
        assert_eq!(said.code, Some(0), "{stage}: {}\n{}", said.out, said.err);
        said.prints(&format!("{stage} is '"));
        let said = on(stage, bug, more);
        assert_eq!(said.code, Some(1), "{stage}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(looks_like), "{stage}: {}", said.out);
    }
    let said = on("scatter", "", &["--constant", "V=0"]).exits(2);
    said.complains("constants.V is '0': expected 1 to 1024");
    let said = on("scatter", "", &["--workload", "grid"]).exits(2);
    said.complains("a program of level scatter is judged on cases of scatter");
}

/// A result that a program made by itself, of inputs that it was given as files.
#[test]
fn results_of_a_stage_are_judged_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    say(here, &["cases", "--out", "c", "--count", "3", "--level", "scatter"]).exits(0);
    let inputs = fs::read_dir(here.join("c/inputs")).expect("a folder");
    let files = inputs.map(|file| file.expect("a file").path()).collect::<Vec<_>>();
    assert_eq!(files.len(), 3, "an input for each case");
    let case = fs::read_dir(here.join("c/cases")).expect("a folder").next().expect("one");
    let case = case.expect("a file").path();
    let said = say(
        here,
        &[
            "judge",
            case.to_str().expect("plain"),
            files[0].to_str().expect("plain"),
            "--level",
            "scatter",
        ],
    );
    assert_eq!(said.code, Some(1), "inputs are no outputs: {}\n{}", said.out, said.err);
    said.prints("there are sums");
}

type Sums = Vec<(&'static str, Vec<f32>)>;

fn scattered(inputs: &StageInputs<ScatterSums>, lost: Option<usize>) -> Sums {
    let (width, mut sums) = (inputs.size("V"), inputs.f32("initial").to_vec());
    let elements = inputs.u32("keys").iter().zip(inputs.f32("values").chunks_exact(width));
    for (at, (&key, values)) in elements.enumerate() {
        if key != u32::MAX && lost != Some(at % 32) {
            let row = &mut sums[key as usize * width..][..width];
            row.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
        }
    }
    vec![("sums", sums)]
}

#[test]
fn kernels_in_rust_agree_and_wrong_ones_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let right = |inputs: &StageInputs<ScatterSums>| Ok::<_, BoxError>(scattered(inputs, None));
    let report = check(right).cases(30).out(folder.path()).run().expect("it can be");
    assert_eq!(report.verdict(), Verdict::Agree, "{report}");
    let wrong = |inputs: &StageInputs<ScatterSums>| Ok::<_, BoxError>(scattered(inputs, Some(0)));
    let report = check(wrong).cases(30).without_corpus().out(folder.path()).run();
    let report = report.expect("it can be").to_string();
    assert!(report.starts_with("DISAGREE") && report.contains("lane 0 of each warp"), "{report}");
    let seen = |inputs: &StageInputs<GridBackward>| {
        assert_eq!((inputs.size("d"), inputs.size("F")), (3, 2), "as they are built in");
        let rows = inputs.size("E") * inputs.size("F");
        Ok::<_, BoxError>(vec![("v_table", vec![0.0_f32; rows])])
    };
    let report = check(seen).constant("d", "3").constant("F", "2").cases(10).out(folder.path());
    assert_eq!(report.run().expect("it can be").verdict(), Verdict::Disagree, "it adds nothing");
    let none = |_: &StageInputs<SphericalHarmonics>| Ok::<_, BoxError>(Vec::new());
    let error = check(none).constant("K", "5").run().expect_err("no degree has them").to_string();
    assert!(error.contains("constants.K is '5': expected 1 or 4 or 9 or 16"), "{error}");
}
