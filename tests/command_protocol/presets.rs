//! `--preset`: programs in the layouts of public projects.

use std::fs;

use splatcheck_tests::{python, root, say};

use super::{command, counts, reproducer};

/// A kernel of `harness/python/examples/presets`.
fn preset(python: &str, kernel: &str, bug: &str) -> String {
    command(python, "preset.py", &format!("{kernel} {bug}"))
}

#[test]
fn kernels_of_public_projects_are_judged_in_their_own_layouts() {
    let test = "kernels_of_public_projects_are_judged_in_their_own_layouts";
    let Some(python) = python(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().join("corpora/splat");
    let corpus = corpus.to_str().expect("a plain name");
    let (raster, forward, backward) = ("raster", "project", "project-backward");
    let [project, project_bwd] = [
        "gsplat_projection fully_fused_projection_fwd",
        "gsplat_projection_bwd fully_fused_projection_bwd",
    ];
    for (name, level, kernel, bug) in [
        ("gsplat-1.5", raster, "gsplat_1_5 rasterize_to_pixels_bwd", "'clamp passes'"),
        ("gsplat-main", raster, "gsplat_main rasterize_to_pixels_bwd", "'alpha of 1.5'"),
        ("inria", raster, "inria render_backward", "'full off-diagonal'"),
        ("brush", raster, "brush rasterize_bwd", "'by opacity'"),
        ("gswarp", raster, "gswarp backward_render_tiles", "'no opacity'"),
        ("fvdb", raster, "fvdb rasterize_gaussians_backward", "'no opacity'"),
        ("gsplat-1.5", forward, project, "'nothing is beside'"),
        ("gsplat-main", backward, project_bwd, "'off-diagonal twice'"),
    ] {
        let words = ["check", "--preset", name, "--level", level, "--cases", "15"];
        let words = [&words[..], &["-v", "--corpus", corpus, "--command"]].concat();
        let right = preset(&python, kernel, "");
        let said = say(folder.path(), &[&words[..], &[&right]].concat());
        assert_eq!(said.code, Some(0), "{name}: {said:?}");
        said.prints(&format!("preset {name} ("));
        said.prints(" with another value of a constant that is built");
        assert!(counts(&said)[1] >= 65, "{name}: {said:?}");
        let wrong = preset(&python, kernel, bug);
        let said = say(folder.path(), &[&words[..], &[&wrong]].concat());
        assert_eq!(said.code, Some(1), "{name}, {bug}: {said:?}");
        if name == "inria" {
            let note = "v_conics is read from the preset's array dL_dconic2D";
            said.prints(note);
        }
        // The reproducer says which preset it is of.
        let file = reproducer(folder.path(), &said);
        let file = file.to_str().expect("a plain name");
        let again = say(folder.path(), &["replay", file, "--command", &wrong]);
        assert_eq!(again.code, Some(1), "{name}, {bug} once more: {again:?}");
        let mended = say(folder.path(), &["replay", file, "--command", &right]);
        assert_eq!(mended.code, Some(0), "{name}: {mended:?}");
    }
}

/// Sums of magnitudes are compared where a preset does not say that they are unused.
#[test]
fn a_preset_may_return_the_sums_of_magnitudes() {
    let Some(python) = python("a_preset_may_return_the_sums_of_magnitudes") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let ours = root().join("harness/workloads/src/presets/gsplat-1.5.toml");
    let text = fs::read_to_string(ours).expect("readable");
    let unused = "name = \"v_means2d_abs\", unused = true,";
    assert_eq!(text.matches(unused).count(), 1, "it is not compared by default");
    fs::write(here.join("own.toml"), text.replace(unused, "name = \"v_means2d_abs\","))
        .expect("written");
    fs::write(here.join("ours.toml"), text).expect("written");
    let case = root().join("corpora/splat/list-of-257.toml");
    let case = case.to_str().expect("a plain name");
    let on = |preset_file: &str, bug: &str| {
        let kernel = preset(&python, "gsplat_1_5 rasterize_to_pixels_bwd", bug);
        let words = ["check", "--preset", preset_file, "--case", case, "--command", &kernel];
        say(here, &words)
    };
    on("own.toml", "").exits(0);
    let said = on("own.toml", "'magnitudes cancel'").exits(1);
    said.prints("of v_means2d_abs ");
    assert!(said.out.contains("; all of v_means2d, v_conics, v_opacities and v_colors is right"));
    let said = on("ours.toml", "'magnitudes cancel'");
    assert_eq!(said.code, Some(0), "not compared: {said:?}");
    assert!(said.out.contains("NOT COMPARED: v_means2d_abs"), "and said to be: {said:?}");
}

#[test]
fn presets_that_cannot_be_followed_are_refused_and_cases_are_written_in_their_layouts() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own.toml");
    fs::write(&own, "[raster]\ninputs = [{ name = \"xys\" }]\noutputs = []\n").expect("written");
    for (words, expected) in [
        (
            &["--preset", "3dgs"][..],
            "there is no preset '3dgs': expected gsplat-1.5, gsplat-main, inria",
        ),
        (
            &["--preset", "brush", "--level", "full"],
            "preset brush has no level full: it has raster",
        ),
        (&["--preset", "fastgs", "--level", "raster"], "preset fastgs has no level raster (its"),
        (&["--preset", "own.toml"], "own.toml:2: raster.inputs 'xys'.tensor is 'xys': there are"),
        (
            &["--preset", "inria", "--extra-roundings", "63"],
            "2 more for units = \"ndc\" or a folded background of preset inria",
        ),
    ] {
        let said = say(folder.path(), &[&["cases", "--out", "x", "--count", "1"], words].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words:?}: {said:?}");
        assert!(said.err.contains(expected), "{words:?}: {said:?}");
    }
    let said = say(folder.path(), &["check", "--preset", "brush"]).exits(2);
    said.complains("which --command starts");
    for (level, array) in [("raster", "conic_opacity"), ("full", "projmatrix")] {
        let words =
            ["cases", "--out", level, "--count", "12", "--preset", "inria", "--level", level];
        let said = say(folder.path(), &words).exits(0);
        said.prints(&format!("inputs of level {level} in {level}/inputs"));
        assert!(
            said.out.starts_with("12 cases in ") && !said.out.contains("NOT EXERCISED"),
            "{said:?}"
        );
        let inputs = fs::read_dir(folder.path().join(level).join("inputs")).expect("a folder");
        let files: Vec<_> = inputs.map(|file| fs::read(file.expect("one").path())).collect();
        assert!(!files.is_empty(), "{level}");
        for bytes in files {
            let text = String::from_utf8_lossy(&bytes.expect("readable")).into_owned();
            assert!(text.contains(array) && text.contains("\"preset\":\"inria\""), "{level}");
        }
    }
}
