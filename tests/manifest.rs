//! `splatcheck ptx --manifest`, as its users meet it: a kernel with another project's parameter list.

mod accessors;
pub(crate) mod logits;
mod refusals;

pub(crate) use splatcheck_tests::own_kernel as kernel;
use splatcheck_tests::{Said, path, reproducer, say};
use std::fs;
use std::path::Path;

/// Runs a variant of the kernel with gsplat's parameter list under its manifest.
fn run(folder: &Path, variant: &str, more: &[&str]) -> Said {
    let (file, manifest) = (kernel(&format!("{variant}.ptx")), kernel("gsplat_backward.toml"));
    say(folder, &[&["ptx", &file, "--manifest", &manifest][..], more].concat())
}

pub(crate) fn case(name: &str) -> [String; 2] {
    ["--case".to_owned(), path(&format!("corpora/splat/{name}.toml"))]
}

/// As [`run`], on a scene of the corpus.
fn on(folder: &Path, variant: &str, scene: &str, more: &[&str]) -> Said {
    let case = case(scene);
    run(folder, variant, &[&case.each_ref().map(String::as_str)[..], more].concat())
}

#[test]
fn a_kernel_with_gsplats_parameter_list_agrees_under_every_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    for order in ["lockstep", "random:3", "adversarial:5"] {
        let said = on(folder.path(), "gsplat_backward", "list-of-257", &["--schedule", order]);
        assert_eq!(said.code, Some(0), "{order}: {said:?}");
        said.prints("rasterize_backward is rasterize_to_pixels_bwd of ");
        said.prints("final_t = one-minus-alpha (gsplat-1.5)");
    }
    let corpus = path("corpora/splat");
    let words = ["--corpus", &corpus, "--cases", "40", "--seed", "3", "--jobs", "2"];
    let said = run(folder.path(), "gsplat_backward", &words).exits(0);
    said.prints("cases with another number of channels than 3");
    assert!(!folder.path().join("splatcheck-out").exists(), "nothing failed");
}

#[test]
fn a_preset_of_ones_own_lies_beside_the_manifest_and_in_reproducers() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::create_dir(here.join("mine")).expect("made");
    let manifest = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let manifest = manifest.replace("preset = \"gsplat-1.5\"", "preset = \"own.toml\"");
    fs::write(here.join("mine/m.toml"), manifest).expect("written");
    let [racy, case] = [kernel("gsplat_backward_racy.ptx"), case("tile-corner")[1].clone()];
    let words =
        ["ptx", &racy, "--manifest", "mine/m.toml", "--case", &case, "--observe", "races=off"];
    say(here, &words).exits(2).complains("m.toml:2: preset is 'own.toml': mine/own.toml: cannot");
    let preset = "harness/workloads/src/presets/gsplat-1.5.toml";
    fs::copy(path(preset), here.join("mine/own.toml")).expect("copied");
    let said = say(here, &words).exits(1);
    assert!(said.out.contains("final_t = one-minus-alpha (gsplat-1.5)"), "as it says: {said:?}");
    let again = reproducer(here, &said);
    fs::remove_dir_all(here.join("mine")).expect("removed");
    let again = say(here, &["replay", again.to_str().expect("a plain name")]);
    again.prints("exactly the recorded failure");
}

/// The pages of `corpora/published`: what is seen under which schedules, and that the cure is one.
#[test]
fn the_published_kernels_show_what_their_pages_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let observe = |kernel: &str, page: &str, order: &str| {
        let file = path(&format!("corpora/published/{kernel}.ptx"));
        let manifest = path(&format!("corpora/published/{page}.toml"));
        let mut words = vec!["ptx", &file, "--manifest", &manifest, "--observe-only"];
        words.extend(["--schedule", order]);
        words.extend(if order == "lockstep" { &[][..] } else { &["--schedules", "20"] });
        say(folder.path(), &words)
    };
    for (page, in_lockstep, words) in [
        ("active_mask_count", false, "have exited: what it gives is undefined"),
        ("staging_overwritten", true, "data race in shared memory"),
        ("reads_beyond", true, "of shared memory are out of bounds"),
    ] {
        for order in ["lockstep", "random", "adversarial"] {
            let said = observe(page, page, order);
            if order == "lockstep" && !in_lockstep {
                assert_eq!(said.code, Some(0), "{page}, {order}: {said:?}");
            } else {
                assert_eq!(said.code, Some(1), "{page}, {order}: {said:?}");
                let line = format!("compiled from {page}.cu:");
                assert!(said.out.contains(words) && said.out.contains(&line), "{page}: {said:?}");
            }
            let cured = observe(&format!("{page}_fixed"), page, order);
            assert_eq!(cured.code, Some(0), "{page}, {order}: {cured:?}");
        }
    }
    let judge = |kernel: &str, page: &str| {
        let file = path(&format!("corpora/published/{kernel}.ptx"));
        let manifest = path(&format!("corpora/published/{page}.toml"));
        say(folder.path(), &["gradcheck", &file, "--manifest", &manifest])
    };
    for (page, wrong) in [
        ("halved_off_diagonal", "v_off_diagonals is 0.5 times the derivative"),
        ("two_clamps", "DISAGREE v_colors: "),
    ] {
        let said = judge(page, page);
        assert_eq!(said.code, Some(1), "{page}: {said:?}");
        assert!(said.out.contains(wrong), "{page}: {said:?}");
        let cured = judge(&format!("{page}_fixed"), page);
        assert_eq!(cured.code, Some(0), "{page}: {cured:?}");
    }
}

#[test]
fn a_planted_bug_is_found_and_its_reproducer_repeats_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--json", "r.json", "--sarif", "r.sarif"];
    let said = on(folder.path(), "gsplat_backward_broken", "tile-corner", &words).exits(1);
    said.prints("DISAGREE emulator: rasterize_backward");
    let again = reproducer(folder.path(), &said);
    let again = say(folder.path(), &["replay", again.to_str().expect("a plain name")]).exits(1);
    again.prints("exactly the recorded failure");
    let json = fs::read_to_string(folder.path().join("r.json")).expect("written");
    assert!(json.contains("\"pass\": false"), "{json}");
    let sarif = fs::read_to_string(folder.path().join("r.sarif")).expect("written");
    let log: serde_json::Value = serde_json::from_str(&sarif).expect("it is JSON");
    let result = &log["runs"][0]["results"][0];
    assert!(
        result["ruleId"].as_str().is_some_and(|id| id.ends_with("outside its bound")),
        "{sarif}"
    );
    let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(
        place.as_str().is_some_and(|uri| uri.ends_with("gsplat_backward_broken.ptx")),
        "{sarif}"
    );
}

/// The line of CUDA is told, and that of the other access.
#[test]
fn a_race_is_found_with_its_line_and_can_be_left_to_the_judge() {
    let folder = tempfile::tempdir().expect("a folder");
    let said =
        on(folder.path(), "gsplat_backward_racy", "tile-corner", &["--sarif", "r.sarif"]).exits(1);
    let source = fs::read_to_string(kernel("gsplat_backward.cu")).expect("readable");
    let line = source.lines().position(|line| line.contains("*place += value")).expect("it") + 1;
    let compiled = format!("compiled from gsplat_backward.cu:{line}");
    assert!(
        said.out.contains("data race in global memory") && said.out.contains(&compiled),
        "{said:?}"
    );
    let first = format!("a data race on v_colors[0, 0] at gsplat_backward.cu:{line}: kernel");
    let name = "kernel 'own::rasterize_to_pixels_bwd<3>' line ";
    assert!(said.out.contains(&first) && said.out.contains(name), "array and line: {said:?}");
    let sarif = fs::read_to_string(folder.path().join("r.sarif")).expect("written");
    assert!(sarif.contains("\"uri\": \"gsplat_backward.cu\""), "{sarif}");
    assert!(sarif.contains(&format!("\"startLine\": {line}")), "{sarif}");
    let said =
        on(folder.path(), "gsplat_backward_racy", "tile-corner", &["--observe", "races=off"])
            .exits(1);
    assert!(
        said.out.contains("is worth") && !said.out.contains("data race in"),
        "a value: {said:?}"
    );
    let verdict = said.out.lines().next().expect("a verdict");
    assert!(verdict.ends_with("; not looked for: data races"), "{said:?}");
    let again = reproducer(folder.path(), &said);
    let again = say(folder.path(), &["replay", again.to_str().expect("a plain name")]);
    again.prints("exactly the recorded failure");
    again.prints("\n  not looked for: data races\n");
    let said = on(folder.path(), "gsplat_backward_racy", "tile-corner", &["--observe", "bars=off"])
        .exits(2);
    said.complains("expected races=off, inputs=off");
}

/// The kernel with our own parameters twice: at first on an image without pixels, then as it is meant.
fn two_launches() -> String {
    let one = fs::read_to_string(kernel("own_backward.toml")).expect("readable");
    let (terms, rest) = one.split_once("block = ").expect("a block");
    let terms = terms.replace("kernel = \"own_backward\"\n", "");
    let launch = format!("[[launch]]\nkernel = \"own_backward\"\nblock = {rest}");
    let launch = launch.replace("[[parameter]]", "[[launch.parameter]]");
    let sides = "{ u32 = \"W\" }, { u32 = \"H\" }";
    assert!(launch.contains(sides), "the image's sides are parameters");
    format!("{terms}{}{launch}", launch.replace(sides, "{ u32 = 0 }, { u32 = 0 }"))
}

/// Of a schedule those decisions are kept that the failure needs, in each launch.
#[test]
fn decisions_of_several_launches_are_made_few_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("m.toml"), two_launches()).expect("written");
    // It takes for granted that warps go in step.
    let file = kernel("own_backward_converged.ptx");
    let scene = case("tile-corner");
    let on = |order: &str| {
        let words = ["--manifest", "m.toml", &scene[0], &scene[1], "--schedule", order];
        say(here, &[&["ptx", &file][..], &words].concat())
    };
    assert_eq!(on("lockstep").code, Some(0), "in step it is right");
    for order in ["random:0", "adversarial:1"] {
        let said = on(order).exits(1);
        let line = said.out.lines().find(|line| line.contains("choices are needed to fail"));
        let line = line.expect("what is kept is told");
        assert!(line.contains(" (0, ") && line.contains(" of 2 launches)"), "one is idle: {line}");
        let words: Vec<_> = line.split_whitespace().collect();
        let [kept, all] = [words[2], words[5]].map(|n| n.parse::<usize>().expect("a number"));
        assert!(kept > 0 && kept < all / 4, "few are needed: {line}");
        let again = reproducer(here, &said);
        let again = say(here, &["replay", again.to_str().expect("a plain name")]).exits(1);
        again.prints(&format!(", {kept} recorded decision"));
        again.prints("exactly the recorded failure");
    }
}

#[test]
fn observing_alone_finds_a_missing_barrier_without_an_oracle() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--observe-only", "--schedule", "random:0", "--schedules", "4"];
    let said = on(folder.path(), "gsplat_backward_no_barrier", "list-of-513", &words).exits(1);
    said.prints("data race in shared memory");
    said.prints("compiled from gsplat_backward.cu:");
    said.prints("run it again with --schedule random:");
    let said = on(folder.path(), "gsplat_backward", "list-of-513", &words).exits(0);
    said.prints("no misuse seen, no values compared: 4 runs, 0 kinds of misuse");
    let off = [&words[..], &["--observe", "races=off"]].concat();
    let said = on(folder.path(), "gsplat_backward_no_barrier", "list-of-513", &off);
    assert_eq!(said.code, Some(0), "nothing else is wrong with it: {said:?}");
}

/// Any kernel at all: no case, nothing of splats.
#[test]
fn a_kernel_of_anything_is_observed_without_a_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let ptx = "\
.version 8.4
.target sm_75
.address_size 64
.visible .entry _Z4histPiS_(.param .u64 keys, .param .u64 counts)
{
.reg .b32 %r<6>;
.reg .b64 %rd<6>;
ld.param.u64 %rd1, [keys];
ld.param.u64 %rd2, [counts];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd3, %rd1, %rd3;
ld.global.u32 %r2, [%rd3];
ld.global.u32 %r3, [%rd2];
add.s32 %r3, %r3, %r2;
st.global.u32 [%rd2], %r3;
ret;
}
";
    let manifest = "\
kernel = \"hist(int*, int*)\"
block = [64]
grid = [1]
parameter = [
    { zeros = { dtype = \"i32\", shape = [64] } },
    { zeros = { dtype = \"i32\", shape = [1] } },
]
";
    fs::write(here.join("k.ptx"), ptx).expect("written");
    fs::write(here.join("k.toml"), manifest).expect("written");
    let words = ["ptx", "k.ptx", "--manifest", "k.toml", "--observe-only", "--sarif", "r.sarif"];
    let said = say(here, &words).exits(1);
    assert!(
        said.out.contains("data race in global memory") && said.out.contains("line 16"),
        "{said:?}"
    );
    let sarif = fs::read_to_string(here.join("r.sarif")).expect("written");
    assert!(
        sarif.contains("\"ruleId\": \"race\"") && sarif.contains("\"uri\": \"k.ptx\""),
        "{sarif}"
    );
    fs::write(here.join("k.ptx"), ptx.replace("st.global.u32 [%rd2], %r3;\n", ""))
        .expect("written");
    say(here, &words).exits(0);
    let said = say(here, &words[..4]);
    assert_eq!(said.code, Some(2), "its outputs are nobody's: {said:?}");
    said.complains("v_means2d is held by no parameter");
    said.complains("--observe-only");
}

/// The parameters that `ptx` knows without a manifest, as a manifest: the report is the same.
#[test]
fn a_manifest_of_our_own_parameters_gives_the_same_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = kernel("own_backward.ptx");
    let manifest = kernel("own_backward.toml");
    let cases = ["--cases", "30", "--seed", "1", "--channels", "3", "--schedule", "random:2"];
    let with = |how: &[&str]| {
        let said = say(folder.path(), &[&["ptx", &file][..], how, &cases].concat()).exits(0);
        // All but the engine's time.
        let untimed = |line: &str| match line.strip_suffix(" s").and_then(|l| l.rsplit_once("  ")) {
            Some((rest, _)) => rest.to_owned(),
            None => line.to_owned(),
        };
        said.out.lines().map(untimed).collect::<Vec<_>>()
    };
    assert_eq!(with(&["--manifest", &manifest]), with(&["--kernel", "own_backward"]), "one judge");
}

/// The outputs of 3D Gaussian Splatting: by normalized device coordinates, half of the off-diagonal,
/// padded and planar.
#[test]
fn outputs_in_other_layouts_and_units_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = kernel("gsplat_backward_planar.ptx");
    let gsplat = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let planar = gsplat
        .replace("{ tensor = \"v_means2d\" }", "{ fields = [\"v_means2d\", \"pad\"], units = \"ndc\" }")
        .replace(
            "{ tensor = \"v_conics\" }",
            "{ fields = [\"v_conics.0\", \"v_conics.1\", \"pad\", \"v_conics.2\"], off_diagonal = \"half\" }",
        )
        .replace("{ tensor = \"v_colors\" }", "{ tensor = \"v_colors\", layout = \"planar\" }");
    let judged = |manifest: &str| {
        fs::write(folder.path().join("m.toml"), manifest).expect("written");
        let corpus = path("corpora/splat");
        say(folder.path(), &["ptx", &file, "--manifest", "m.toml", "--corpus", &corpus])
    };
    let said = judged(&planar).exits(0);
    assert!(said.out.contains("extra_roundings = 2"), "those of the units: {said:?}");
    for part in [", units = \"ndc\"", ", off_diagonal = \"half\"", ", layout = \"planar\""] {
        let other = planar.replacen(part, "", 1);
        assert_ne!(other, planar, "it is there: {part}");
        assert_eq!(judged(&other).code, Some(1), "without{part} the numbers mean others");
    }
}

/// A loss of the colours alone: kernel and oracle are given zeros.
#[test]
fn a_kernel_without_a_gradient_of_alpha_is_judged_by_losses_without_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = kernel("gsplat_backward.ptx");
    let gsplat = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    // The parameter is there, and holds zeros whatever the loss is.
    let none = gsplat.replace(
        "{ tensor = \"v_render_alphas\" }",
        "{ zeros = { dtype = \"f32\", shape = [\"H\", \"W\"] } }",
    );
    let judged = |manifest: &str| {
        fs::write(folder.path().join("m.toml"), manifest).expect("written");
        let case = case("tile-corner");
        say(folder.path(), &["ptx", &file, "--manifest", "m.toml", &case[0], &case[1]])
    };
    assert_eq!(judged(&none).code, Some(1), "the oracle's loss has a gradient of alpha");
    judged(&format!("alpha_gradient = \"none\"\n{none}")).exits(0);
}
