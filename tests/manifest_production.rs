//! Kernels that are passed what production passes: several cameras, a depth in arrays of its own, sums of magnitudes,
//! rows with gaps, masks, no maximum of alpha, antialiasing's compensations, and gradients that only Adam's moments
//! have.

use std::fs;

use splatcheck_tests::{again, path, say};

use crate::manifest::kernel;

#[test]
fn what_production_passes_is_judged_and_its_faults_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let manifest = kernel("production_backward.toml");
    let scene = path("corpora/splat/backgrounds-of-each-camera.toml");
    let on = |variant: &str, manifest: &str, cases: &[&str]| {
        let program = kernel(&format!("production_backward{variant}.ptx"));
        let words = ["ptx", &program, "--manifest", manifest, "--jobs", "2"];
        say(here, &[&words[..], cases].concat())
    };
    for cases in [["--cases", "40", "--seed", "1"], ["--cases", "4", "--generator", "cameras"]] {
        on("", &manifest, &cases).exits(0);
    }
    let said = on("", &manifest, &["--case", &scene]);
    assert_eq!(said.code, Some(2), "it has three channels: {}\n{}", said.out, said.err);
    for (variant, words) in [
        ("_broken", "elements of v_means2d_abs are wrong; all of v_colors is right"),
        ("_signed", "elements of v_means2d_abs are wrong; all of v_means2d, v_conics"),
    ] {
        let said = on(variant, &manifest, &["--cases", "2"]);
        assert_eq!(said.code, Some(1), "{variant}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(words), "{variant}: {}", said.out);
        say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
    }
    // A maximum of 1 is none.
    let text = fs::read_to_string(&manifest).expect("readable");
    let unclamped = text.replace("channels = 4", "channels = 4\nconstants = { alpha_max = 1.0 }");
    fs::write(here.join("unclamped.toml"), unclamped).expect("written");
    let cases = ["--generator", "clamp", "--cases", "20"];
    on("_unclamped", "unclamped.toml", &cases).exits(0);
    let said = on("_unclamped", &manifest, &cases);
    assert_eq!(said.code, Some(1), "it is found out: {}\n{}", said.out, said.err);
}

/// Rasterizers that blend the Gaussian that takes T below its minimum, and stop then: the image, and gradients by a
/// walk from the front.
#[test]
fn kernels_that_stop_after_blending_are_judged_by_that_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let judged = |name: &str, rule: &str, replaced: &[[&str; 2]]| {
        let [program, manifest] = ["wgsl", "toml"].map(|ending| {
            fs::read_to_string(kernel(&format!("{name}.{ending}"))).expect("readable")
        });
        let program = replaced.iter().fold(program, |text, [from, to]| {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text.replace(from, to)
        });
        let rule = format!("constants = {{ stop_rule = \"{rule}\" }}\nchannels = 3");
        fs::write(here.join("k.wgsl"), program).expect("written");
        fs::write(here.join("k.toml"), manifest.replace("channels = 3", &rule)).expect("written");
        let words = ["wgsl", "k.wgsl", "--manifest", "k.toml", "--engine", "wgsl-emulator-32"];
        say(here, &[&words[..], &["--generator", "stop", "--cases", "12", "--seed", "1"]].concat())
    };
    let below = ["(uniforms.stop_when_equal != 0u && ", "(uniforms.stop_when_equal == 1u && "];
    let at = ["(uniforms.stop_when_equal != 0u && ", "("];
    let stop = "        if stops {\n            break;\n        }\n";
    let count = "        last = i + 1u - range.x;\n";
    let counted_and_stopped = [count, stop].concat();
    let late = [[stop, ""], [count, &counted_and_stopped]];
    let goes_on = ["            contributes = false;\n", ""];
    for (name, blends) in [("packed_rasterize", &late[..]), ("packed_backward", &[goes_on])] {
        let with = |equal| [&[equal][..], blends].concat();
        let (less, equal) = ("less-after-blending", "less-or-equal-after-blending");
        judged(name, less, &with(below)).exits(0);
        judged(name, equal, &with(at)).exits(0);
        for (built_in, said_to_be, replaced) in
            [(less, "less", with(below)), (equal, less, with(at)), (less, equal, with(below))]
        {
            let said = judged(name, said_to_be, &replaced).exits(1);
            let found = format!("field stop_rule (how T stops a pixel) is {built_in}");
            // Of gradients, other limits of T give the same numbers.
            let named = name == "packed_backward" || said.out.contains(&found);
            assert!(named, "{built_in}: {}", said.out);
            say(here, &again(&said.out)).exits(1);
        }
        for (said_to_be, replaced) in [(less, below), (equal, at)] {
            let said = judged(name, said_to_be, &[replaced]);
            assert_eq!(said.code, Some(1), "{name} leaves it out: {}", said.out);
        }
    }
    // It stops after blending, and the pixel's last contributor is the one before.
    let uncounted = [
        "        transmittance = next;\n",
        "        transmittance = next;\n        if stops {\n            break;\n        }\n",
    ];
    let said = judged("packed_rasterize", "less-after-blending", &[below, [stop, ""], uncounted]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.prints("last_ids[");
}

/// gsplat's projection with `calc_compensations`, forward and backward.
#[test]
fn compensations_and_their_gradients_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = path("corpora/splat");
    let on = |variant: &str, manifest: &str, cases: &[&str]| {
        let program = kernel(&format!("gsplat_project_image{variant}.ptx"));
        let manifest = kernel(&format!("gsplat_project_{manifest}.toml"));
        let words = ["ptx", &program, "--manifest", &manifest, "--jobs", "2"];
        say(here, &[&words[..], cases].concat())
    };
    let (forward, backward) = ("antialiased", "antialiased_backward");
    let drawn = ["--cases", "60", "--seed", "3"];
    for manifest in [forward, backward] {
        let said = on("", manifest, &[&["--corpus", &corpus][..], &drawn].concat());
        assert_eq!(said.code, Some(0), "{manifest}: {}\n{}", said.out, said.err);
        assert!(!said.out.contains("compensations: no parameter"), "{}", said.out);
    }
    let scene = path("corpora/splat/two-cameras.toml");
    let scene = ["--case", &scene];
    for (variant, manifest, words) in [
        ("_no_blur", forward, "compensations"),
        ("_missing", backward, "v_compensations is left out"),
        ("_negated", backward, "v_compensations is taken with the other sign"),
        ("_doubled", backward, "v_compensations is taken twice"),
        ("_no_blur", backward, "v_scales"),
    ] {
        let said = on(variant, manifest, &scene);
        assert_eq!(said.code, Some(1), "{variant}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(words), "{variant}: {}", said.out);
        say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
        // Without the arrays the faults in them are none.
        let plain = if manifest == forward { "image" } else { "image_backward" };
        let said = on(variant, plain, &scene);
        assert_eq!(said.code, Some(0), "{variant}: {}\n{}", said.out, said.err);
    }
    // Radii of the opacities alone.
    let harmonics = path("corpora/splat/harmonics.toml");
    on("_unscaled", forward, &["--case", &harmonics]).exits(1).prints("radii");
}

/// gsplat's backward projection with `packed=True`: rows of what is visible alone, and gradients that are sums, or
/// with `sparse_grad` rows of their own.
#[test]
fn packed_rows_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = path("corpora/splat");
    let dense = fs::read_to_string(kernel("gsplat_project_packed_backward.toml")).expect("there");
    let sparse = dense.replace("{ u8 = 0 }", "{ u8 = 1 }");
    let sparse = sparse.replace("role = \"accumulate\"", "layout = \"packed\"");
    fs::write(here.join("dense.toml"), &dense).expect("written");
    fs::write(here.join("sparse.toml"), &sparse).expect("written");
    let on = |variant: &str, manifest: &str, cases: &[&str]| {
        let program = kernel(&format!("gsplat_project_image{variant}.ptx"));
        let words = ["ptx", &program, "--manifest", manifest, "--jobs", "2"];
        say(here, &[&words[..], cases].concat())
    };
    for manifest in ["dense.toml", "sparse.toml"] {
        let said = on("", manifest, &["--corpus", &corpus, "--cases", "20", "--seed", "3"]);
        assert_eq!(said.code, Some(0), "{manifest}: {}\n{}", said.out, said.err);
    }
    for (variant, found) in [
        // A row beyond the last Gaussian, or gradients of another.
        ("_by_row", "v_"),
        ("_unlabelled", "v_"),
    ] {
        let said = on(variant, "dense.toml", &["--cases", "20"]);
        assert_eq!(said.code, Some(1), "{variant}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(found), "{variant}: {}", said.out);
        say(here, &again(&said.out)).exits(1);
        // Rows of their own are neither numbered nor added.
        let said = on(variant, "sparse.toml", &["--cases", "20"]);
        assert_eq!(said.code, Some(0), "{variant}: {}\n{}", said.out, said.err);
    }
    for ([old, new], words) in [
        (["project_on_image_backward", "project_backward"], "grid is not known: 'nnz'"),
        (["\"viewmats\" }", "\"viewmats\", layout = \"packed\" }"], "'packed' for viewmats"),
    ] {
        fs::write(here.join("m.toml"), dense.replacen(old, new, 1)).expect("written");
        let said = on("", "m.toml", &["--cases", "1"]);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{new}: {said:?}");
        assert!(said.err.contains(words), "{new}: {}", said.err);
    }
}

/// gsplat's projection with `packed=True`: how many rows there are is known when it has ended.
#[test]
fn packed_rows_that_a_projection_writes_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = path("corpora/splat");
    let text = fs::read_to_string(kernel("gsplat_project_packed.toml")).expect("there");
    let on = |variant: &str, manifest: &str, cases: &[&str]| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        let program = kernel(&format!("gsplat_project_image{variant}.ptx"));
        let words = ["ptx", &program, "--manifest", "m.toml", "--jobs", "2"];
        say(here, &[&words[..], cases].concat())
    };
    let said = on("", &text, &["--corpus", &corpus, "--cases", "20", "--seed", "3"]).exits(0);
    let listed = said.out.contains("NOT EXERCISED: opacities, colors, covars2d: no parameter");
    assert!(listed && !said.out.contains("NOT EXERCISED: visible"), "{}", said.out);
    let cases = ["--cases", "20", "--seed", "3"];
    for (variant, found) in [
        // Blocks write over each other's rows, and leave others.
        ("_unshifted", "a data race on "),
        ("_unlabelled", "camera_ids["),
        ("_by_row", "gaussian_ids"),
        // What reaches less than a radius into the image has no row.
        ("_broken", "visible"),
    ] {
        let said = on(variant, &text, &cases);
        assert_eq!(said.code, Some(1), "{variant}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(found), "{variant}: {}", said.out);
        say(here, &again(&said.out)).exits(1);
    }
    for ([old, new], words) in [
        (["{ tensor = \"indptr\" }", "{ null = true }"], "indptr is held by no parameter: packed"),
        (
            ["\"depths\", layout = \"packed\"", "\"depths\""],
            "layout is missing for depths: a projection",
        ),
        (["\"means\" }", "\"means\", layout = \"packed\" }"], "'packed' for means"),
        (["\"radii\", layout", "\"radii\", as = \"i64\", layout"], "'i64' for radii"),
        (
            ["cumsum = \"block_cnts\"", "cumsum = \"counts\""],
            "'counts': expected the name of another",
        ),
        (
            ["cumsum = \"block_cnts\"", "cumsum = \"block_accum\""],
            "a buffer of i32 or u32 that launches",
        ),
        (
            ["{ f32 = 0.0 }, { null = true }", "{ f32 = 0.0 }, { buffer = \"block_accum\" }"],
            "a launch before the first",
        ),
    ] {
        let said = on("", &text.replacen(old, new, 1), &["--cases", "1"]);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{new}: {said:?}");
        assert!(said.err.contains(words), "{new}: {}", said.err);
    }
}

#[test]
fn gradients_are_read_from_adams_first_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = kernel("harmonics_adam.toml");
    for (program, code) in [("harmonics", 0), ("harmonics_broken", 1)] {
        let program = kernel(&format!("{program}.ptx"));
        let words = ["ptx", &program, "--manifest", &manifest, "--cases", "20", "--jobs", "2"];
        say(folder.path(), &words).exits(code).prints("NOT EXERCISED: v_dirs: no parameter");
    }
}

#[test]
fn parts_that_cannot_be_judged_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let program = kernel("production_backward.ptx");
    let text = fs::read_to_string(kernel("production_backward.toml")).expect("readable");
    for ([old, new], words) in [
        (["channels = 4", "channels = 3"], "fields is colors.3: a component is numbered from 0"),
        (["channels = 4\n", ""], "fields is colors.1: a component is numbered from 0, below"),
        (["channels = 4", "channels = 5"], "v_colors is held by no parameter"),
        (["colors.3\"] },", "colors.32\"] },"], "numbered from 0, below 32"),
        (["\"v_means2d_abs\"", "\"v_means2d_abs\", dtype = \"f16\""], "judged in f32 alone"),
        (
            ["{ tensor = \"v_means2d_abs\" }", "{ fields = [\"v_means2d_abs.0\"] }"],
            "v_means2d_abs is held by no parameter",
        ),
    ] {
        let changed = text.replacen(old, new, 1);
        assert_ne!(changed, text, "{old} is there");
        fs::write(here.join("m.toml"), changed).expect("written");
        let said = say(here, &["ptx", &program, "--manifest", "m.toml", "--cases", "1"]);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{new}: {said:?}");
        let all = said.err.replace('\n', " ");
        assert!(all.contains(words), "{new}: no '{words}': {all}");
    }
}
