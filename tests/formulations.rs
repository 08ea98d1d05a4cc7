//! `splatcheck ptx --formulation`: kernels of other people's expressions, each judged by its own bounds
//! and given its own arrays; and `splatcheck formulations`.

use splatcheck_tests::{Said, again, compiled, own_kernel, path, reproducer, say};
use std::fs;
use std::path::Path;

/// Judges an entry point of a file on a scene of the corpus.
fn judge_entry(folder: &Path, file: &str, entry: &str, scene: &str, more: &[&str]) -> Said {
    let case = path(&format!("corpora/splat/{scene}.toml"));
    say(folder, &[&["ptx", file, "--kernel", entry, "--case", &case][..], more].concat())
}

/// Judges a kernel of `gpu/tests/kernels`.
fn judge(folder: &Path, kernel: &str, scene: &str, more: &[&str]) -> Said {
    let file = own_kernel(&format!("{kernel}.ptx"));
    judge_entry(folder, &file, "own_backward", scene, more)
}

/// Judges one of this project's kernels for three channels as if it were somebody's own.
fn judge_ours(folder: &Path, entry: &str, scene: &str, more: &[&str]) -> Said {
    let file = format!("{entry}.d3.compute_75.ptx");
    fs::write(folder.join(&file), compiled(&format!("splat/{file}"))).expect("written");
    judge_entry(folder, &file, entry, scene, more)
}

/// Replays a reproducer and expects the recorded failure to the bit.
fn replays(folder: &Path, file: &Path) {
    let said = say(folder, &["replay", file.to_str().expect("a plain name")]).exits(1);
    said.prints("exactly the recorded failure");
    assert!(!said.out.contains("CHANGED"), "{said:?}");
}

const IMAGE: &str = "rasterize_backward_image_subgroup";
const REPLAY: &str = "rasterize_backward_replay_replay";
const STANDARD: &str = "rasterize_backward_subgroup";

/// Kernels that walk from the front again get the rendered image, and checkpoints where the
/// transmittance is a stored one.
#[test]
fn a_formulation_gives_the_kernel_its_own_arrays() {
    let folder = tempfile::tempdir().expect("a folder");
    for (entry, formulation, more) in [
        (IMAGE, "brush", &["--reduction", "subgroup"][..]),
        (IMAGE, "image,final_t=one-minus-alpha", &["--schedule", "random:3"]),
        ("rasterize_backward_image_direct_subgroup", "taichi", &[]),
        (REPLAY, "fastgs", &["--reduction", "replay"]),
        (REPLAY, "remainder=image, walk=front", &["--schedule", "adversarial:1"]),
        (IMAGE, "any", &[]),
        (REPLAY, "any", &[]),
    ] {
        for scene in ["tile-corner", "checkerboard"] {
            let words = [&["--formulation", formulation][..], more].concat();
            let said = judge_ours(folder.path(), entry, scene, &words);
            assert_eq!(said.code, Some(0), "{entry} as {formulation} on {scene}: {said:?}");
            said.prints("formulation image");
        }
    }
    let said = judge_ours(folder.path(), IMAGE, "tile-corner", &["--formulation", "brush"]);
    let heading = "rasterize_backward_image is rasterize_backward_image_subgroup of ";
    assert!(said.out.lines().nth(1).is_some_and(|line| line.starts_with(heading)), "{said:?}");
    assert!(said.out.contains("bounds for sums in any order"), "by no reduction of ours: {said:?}");
    assert!(!folder.path().join("splatcheck-out").exists(), "nothing failed");
}

/// Where the parameters are as many, the right formulation is found by trying; where they are not,
/// they say themselves which it may be.
#[test]
fn a_kernel_that_takes_its_arrays_for_others_is_told_the_right_formulation() {
    let folder = tempfile::tempdir().expect("a folder");
    let judge = |entry, formulation| {
        judge_ours(folder.path(), entry, "tile-corner", &["--formulation", formulation])
    };
    for (entry, formulation, told) in [
        (STANDARD, "fastgs", "formulation: agrees under behind (3dgs)"),
        (REPLAY, "3dgs", "formulation: agrees under image (fastgs)"),
    ] {
        let said = judge(entry, formulation).exits(1);
        said.prints(told);
        replays(folder.path(), &reproducer(folder.path(), &said));
    }
    for (entry, formulation, told) in [
        (STANDARD, "brush", "--formulation 3dgs, gsplat-1.5, gsplat-main, slang"),
        (IMAGE, "3dgs", "--formulation brush, taichi"),
        (IMAGE, "fastgs", "--formulation brush, taichi"),
    ] {
        let said = judge(entry, formulation).exits(2);
        let told = format!("Its parameters are those of a kernel under {told}");
        said.complains(&told);
    }
}

/// A bug of a kernel that is given the image is found, and its reproducer has the image.
#[test]
fn a_broken_kernel_that_reads_the_image_disagrees_and_is_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = compiled(&format!("splat/{IMAGE}.d3.compute_75.ptx"));
    let broken = text.replace("0fBF000000", "0fBE800000");
    assert_ne!(text, broken, "the conic's gradient has a factor of -0.5");
    let file = folder.path().join("broken.ptx");
    fs::write(&file, broken).expect("written");
    let file = file.to_str().expect("a plain name");
    let words = ["--formulation", "brush", "--schedule", "adversarial:2"];
    let said = judge_entry(folder.path(), file, IMAGE, "checkerboard", &words).exits(1);
    said.prints("DISAGREE emulator adversarial:2: rasterize_backward_image");
    said.prints("formulation: none of the ");
    let not_tried = "; not tried: 3dgs, gsplat-1.5, gsplat-main, fastgs, slang, which need other \
                     inputs";
    said.prints(not_tried);
    replays(folder.path(), &reproducer(folder.path(), &said));
}

/// gsplat's expression, which is given rendered opacities: right under its own formulation, and where
/// it is judged as another, the right one is named.
#[test]
fn a_kernel_in_another_formulation_is_told_the_right_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = "own_backward_buffer";
    for formulation in ["gsplat-1.5", "gsplat-main", "buffer, final_t = one-minus-alpha"] {
        for scene in ["tile-corner", "checkerboard"] {
            let said = judge(folder.path(), kernel, scene, &["--formulation", formulation]);
            assert_eq!(said.code, Some(0), "{formulation}: {said:?}");
        }
    }
    let said = judge(folder.path(), kernel, "tile-corner", &["--formulation", "gsplat-1.5"]);
    let named = "formulation buffer, final_t = one-minus-alpha (gsplat-1.5)";
    said.prints(named);
    assert!(!folder.path().join("splatcheck-out").exists(), "nothing failed");
    // Given transmittances, it takes one from them: that is no rounding.
    let said = judge(folder.path(), kernel, "tile-corner", &[]).exits(1);
    let told = "formulation: agrees under buffer, final_t = one-minus-alpha (gsplat-1.5)";
    said.prints(told);
    let said = judge(folder.path(), kernel, "tile-corner", &["--formulation", "any"]).exits(0);
    said.prints("; formulation ");
    // A finding is replayed under the formulation that it was judged in.
    let words = ["--formulation", "buffer"];
    let said = judge(folder.path(), kernel, "tile-corner", &words).exits(1);
    replays(folder.path(), &reproducer(folder.path(), &said));
    let words = ["--formulation", "any"];
    let said = judge(folder.path(), "own_backward_broken", "tile-corner", &words);
    assert_eq!(said.code, Some(1), "a bug is no formulation: {said:?}");
    said.prints("formulation: none of the ");
}

/// Mixed precision has a promise of its own, and passes for f32 nowhere.
#[test]
fn a_kernel_that_adds_terms_of_f16_is_caught_and_told_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = "own_backward_half";
    let said = judge(folder.path(), kernel, "tile-corner", &["--formulation", "behind,terms=f16"])
        .exits(0);
    said.prints("formulation behind, terms = f16 (3dgs)");
    let said = judge(folder.path(), kernel, "tile-corner", &[]).exits(1);
    let told = "formulation: agrees under behind, terms = f16 (3dgs)";
    said.prints(told);
    replays(folder.path(), &reproducer(folder.path(), &said));
    let said = judge(folder.path(), kernel, "tile-corner", &["--formulation", "any"]);
    assert_eq!(said.code, Some(1), "nobody asked for f16: {said:?}");
    let words = ["--formulation", "behind,terms=f16"];
    let said = judge(folder.path(), "own_backward_broken", "tile-corner", &words);
    assert_eq!(said.code, Some(1), "a bug is no rounding: {said:?}");
}

#[test]
fn a_formulation_that_is_not_or_has_other_parameters_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (formulation, reason) in [
        ("brush", "expected 7: Params params (176 bytes)"),
        (
            "taichi",
            "are those of a kernel under --formulation 3dgs, gsplat-1.5, gsplat-main, slang",
        ),
        ("splax", "unknown formulation 'splax': expected one of 3dgs, gsplat-1.5"),
        ("buffer,walk=front", "remainder = buffer is known on a walk from back to front only"),
        ("behind,terms=bf16", "formulation: terms = 'bf16' does not exist: expected f32 or f16"),
    ] {
        let words = ["--formulation", formulation];
        judge(folder.path(), "own_backward", "tile-corner", &words).exits(2).complains(reason);
    }
}

/// On the project's own corpus and, where they are, on the trained scenes.
#[test]
fn the_accuracy_of_every_formulation_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = say(folder.path(), &["formulations", "--corpus", &path("corpora/splat")]).exits(0);
    for formulation in
        ["behind (3dgs)", "buffer, final_t = one-minus-alpha (gsplat-1.5)", "state (slang)"]
    {
        assert!(said.out.lines().any(|line| line.starts_with(formulation)), "{said:?}");
    }
    assert_eq!(
        said.out.lines().filter(|line| line.contains("one-minus-alpha")).count(),
        4,
        "{said:?}"
    );
    for spelling in ["gsplat", "completed squares", "Cholesky factor", "base two", "mean by parts"]
    {
        let row = said.out.lines().find(|line| line.starts_with(&format!("{spelling}  ")));
        let cells: Vec<_> = row.expect(spelling)[spelling.len()..].split_whitespace().collect();
        let elements: usize = cells[1].parse().expect("a number of elements");
        let worst: f64 = cells[4].parse().expect("error / bound");
        assert!(elements > 10_000 && worst > 0.0 && worst <= 1.0, "{row:?}");
    }
    say(folder.path(), &["formulations", "--corpus", "nowhere"]).exits(2).complains("nowhere");
}

/// A kernel of ours is right, whatever the formulation and the outputs of the kernel that the finding is of.
#[test]
fn our_kernel_agrees_on_what_a_users_kernel_was_found_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let agrees = |kernel: &str, manifest: &str, more: &[&str]| {
        let [kernel, manifest] = [kernel, manifest].map(own_kernel);
        let args = ["ptx", &kernel, "--manifest", &manifest, "--cases", "20"];
        let said = say(folder.path(), &[&args[..], more].concat()).exits(1);
        let again = [&again(&said.out)[..], &["--engine", "emulator"]].concat();
        let ours = say(folder.path(), &again).exits(0);
        assert!(ours.out.starts_with("agree: "), "{more:?}: {ours:?}");
    };
    for formulation in ["gsplat-1.5", "gsplat-main", "behind,final_t=one-minus-alpha"] {
        let more = ["--formulation", formulation];
        agrees("gsplat_backward_broken.ptx", "gsplat_backward.toml", &more);
    }
    agrees("gsplat_project_image_broken.ptx", "gsplat_project_image.toml", &[]);
}
