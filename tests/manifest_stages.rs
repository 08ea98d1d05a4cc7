//! Manifests of the stages beside the backward rasterization: kernels with another project's parameter lists
//! or bindings agree, planted bugs are found and replayed, and what is not returned is not compared.

use std::fs;
use std::path::Path;

use splatcheck_tests::{
    Said, again, changed_manifest, has_engine, own_kernel as kernel, path, say,
};

/// A stage's kernel, and what its report says.
struct Stage {
    name: &'static str,
    /// The program, of which a variant is broken.
    program: &'static str,
    manifest: &'static str,
    /// What the stage has and the kernel does not return.
    left_out: &'static str,
    /// What the broken one gets wrong.
    looks_like: &'static str,
}

const STAGES: [Stage; 7] = [
    Stage {
        name: "rasterize",
        program: "gsplat_rasterize",
        manifest: "gsplat_rasterize.toml",
        left_out: "NOT EXERCISED: render_transmittance: ",
        looks_like: "render_colors",
    },
    Stage {
        name: "project",
        program: "gsplat_project",
        manifest: "gsplat_project.toml",
        left_out: "NOT EXERCISED: opacities, colors, covars2d: ",
        looks_like: "conics",
    },
    Stage {
        name: "project_backward",
        program: "gsplat_project",
        manifest: "gsplat_project_backward.toml",
        left_out: "NOT EXERCISED: v_colors: ",
        looks_like: "v_",
    },
    // It knows the image's size.
    Stage {
        name: "project",
        program: "gsplat_project_image",
        manifest: "gsplat_project_image.toml",
        left_out: "NOT EXERCISED: opacities, colors, covars2d: ",
        looks_like: "visible",
    },
    // It is given a camera's numbers and matrices.
    Stage {
        name: "project",
        program: "camera_project",
        manifest: "camera_project.toml",
        left_out: "NOT EXERCISED: opacities, colors, covars2d: ",
        looks_like: "means2d",
    },
    // It is given the camera's position, radii, and what was clamped.
    Stage {
        name: "project_backward",
        program: "camera_project",
        manifest: "camera_project_backward.toml",
        left_out: "NOT EXERCISED: v_opacities, v_viewmats: ",
        looks_like: "v_",
    },
    // It returns what was clamped.
    Stage {
        name: "project",
        program: "camera_project",
        manifest: "camera_project_colors.toml",
        left_out: "NOT EXERCISED: means2d, conics, opacities, covars2d, depths: ",
        looks_like: "clamped",
    },
];

fn judged(folder: &Path, (program, manifest): (&str, &str), more: &[&str]) -> Said {
    let program = kernel(&format!("{program}.ptx"));
    say(folder, &[&["ptx", &program, "--manifest", manifest][..], more].concat())
}

#[test]
fn kernels_of_every_stage_agree_and_broken_ones_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = path("corpora/splat");
    for Stage { name, program, manifest, left_out, looks_like } in STAGES {
        let manifest = kernel(manifest);
        let on = |program: &str, more: &[&str]| {
            let cases = ["--corpus", &corpus, "--cases", "20", "--seed", "3", "--jobs", "2"];
            judged(folder.path(), (program, &manifest), &[&cases[..], more].concat())
        };
        let said = on(program, &[]);
        assert_eq!(said.code, Some(0), "{name}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(&format!("\n{name} is ")), "{name}: {}", said.out);
        assert!(!said.out.contains("formulation"), "it has none: {}", said.out);
        assert!(said.out.lines().any(|line| line.starts_with(left_out)), "{name}: {}", said.out);
        let said = on(&format!("{program}_broken"), &["--json", "r.json"]);
        assert_eq!(said.code, Some(1), "{name}: {}\n{}", said.out, said.err);
        let heading = format!("DISAGREE emulator: {name}");
        assert!(said.out.contains(&heading) && said.out.contains(looks_like), "{}", said.out);
        let again = say(folder.path(), &again(&said.out));
        assert_eq!(again.code, Some(1), "{name}: {}\n{}", again.out, again.err);
        assert!(again.out.contains("exactly the recorded failure"), "{name}: {}", again.out);
    }
}

#[test]
fn other_orders_of_execution_give_the_same_projection() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = path("corpora/splat/two-cameras.toml");
    for stage in &STAGES[..2] {
        let more = ["--case", &case, "--expect", "deterministic", "--repeats", "3"];
        let said = judged(folder.path(), (stage.program, &kernel(stage.manifest)), &more);
        assert_eq!(said.code, Some(0), "{}: {}\n{}", stage.name, said.out, said.err);
    }
    // Atomics of several cameras give other bits in another order.
    let stage = &STAGES[2];
    let more = ["--case", &case, "--schedule", "random:3", "--schedules", "2"];
    judged(folder.path(), (stage.program, &kernel(stage.manifest)), &more).exits(0);
}

/// Which colours the maximum with 0 cut off, as 3D Gaussian Splatting's forward pass leaves it for its backward pass:
/// asked for when the maximum is taken, nothing is.
#[test]
fn flags_of_clamped_colours_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let manifest = fs::read_to_string(kernel("camera_project_colors.toml")).expect("readable");
    let on = |program: &str, manifest: &str| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        judged(here, (program, "m.toml"), &["--generator", "colors", "--cases", "20"])
    };
    on("camera_project", &manifest).exits(0);
    // A kernel that keeps the flags alone.
    let alone = "{ tensor = \"colors\", role = \"accumulate\" }";
    let zeros = "{ zeros = { dtype = \"f32\", shape = [\"cameras\", \"N\", 3] } }";
    assert!(manifest.contains(alone), "{manifest}");
    let alone = manifest.replace(alone, zeros);
    on("camera_project", &alone)
        .exits(0)
        .prints("NOT EXERCISED: means2d, conics, opacities, colors");
    for (program, manifest) in [
        ("camera_project_late", &manifest),
        ("camera_project_broken", &manifest),
        ("camera_project_late", &alone),
    ] {
        let said = on(program, manifest).exits(1);
        assert!(said.out.contains("  clamped["), "{program}: {}", said.out);
        say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
    }
}

/// 3D Gaussian Splatting's projection leaves out what no tile lists, by one radius for both axes.
#[test]
fn projections_that_leave_out_what_no_tile_lists_are_judged_by_that_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = path("corpora/splat");
    let tiles = fs::read_to_string(kernel("camera_project_tiles.toml")).expect("readable");
    let pixels = tiles.replace("tile_size = 16\n", "");
    assert_ne!(tiles, pixels, "it says so");
    let on = |program: &str, manifest: &str| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        let cases = ["--corpus", &corpus, "--cases", "80", "--seed", "3", "--jobs", "2"];
        judged(here, (program, "m.toml"), &cases)
    };
    on("camera_project_tiles", &tiles).exits(0);
    on("camera_project_pixels", &pixels).exits(0);
    for (program, manifest, words) in [
        ("camera_project_pixels", &tiles, "looks like: "),
        ("camera_project_tiles", &pixels, "looks like: what no tile lists is left out, where"),
    ] {
        let said = on(program, manifest).exits(1);
        assert!(said.out.contains("  visible["), "{program}: {}", said.out);
        said.prints(words);
        say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
    }
}

/// A kernel that projects and evaluates harmonics in one launch, as 3D Gaussian Splatting's preprocessing does, and the
/// gradients of both: it is judged whole, and a fault of either part is found.
#[test]
fn a_projection_with_its_colours_is_judged_as_one_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = |name: &str| fs::read_to_string(kernel(name)).expect("readable");
    let (forward, backward) =
        (text("camera_preprocess.toml"), text("camera_preprocess_backward.toml"));
    let on = |program: &str, manifest: &str, generator: &str| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        let cases = ["--generator", generator, "--cases", "20", "--jobs", "2"];
        judged(here, (program, "m.toml"), &cases)
    };
    for generator in ["colors", "typical"] {
        on("camera_preprocess", &forward, generator)
            .exits(0)
            .prints("NOT EXERCISED: covars2d: no parameter");
        on("camera_preprocess", &backward, generator)
            .exits(0)
            .prints("NOT EXERCISED: v_opacities, v_viewmats: no parameter");
    }
    let from_origin = "looks like: the direction of view is taken from the origin";
    let passed_on = "looks like: the gradient of a colour that was raised to 0 is passed on";
    let lost = "looks like: the path through the direction of view is missing";
    for (program, manifest, generator, wrong) in [
        ("camera_preprocess_broken", &forward, "typical", from_origin),
        ("camera_preprocess_late", &forward, "colors", "  clamped["),
        ("camera_preprocess_broken", &backward, "colors", passed_on),
        ("camera_preprocess_late", &backward, "colors", lost),
    ] {
        let said = on(program, manifest, generator).exits(1);
        assert!(said.out.contains(wrong), "{program}: {}", said.out);
        say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
    }
    // Rows that are read in another order.
    let turned = forward.replace(
        "{ fields = [\"conics\", \"opacities\"], role",
        "{ fields = [\"opacities\", \"conics\"], role",
    );
    assert_ne!(turned, forward, "the fields have changed");
    on("camera_preprocess", &turned, "colors").exits(1);
}

/// The gradients of means that its backward pass starts from, by normalized device coordinates: a kernel that takes
/// them for pixels is found, and its reproducer knows the units.
#[test]
fn gradients_by_normalized_device_coordinates_are_an_input_of_a_projection() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(kernel("camera_preprocess_backward.toml")).expect("readable");
    let pixels = "{ tensor = \"v_means2d\" }";
    let ndc = "{ tensor = \"v_means2d\", units = \"ndc\" }";
    assert!(text.contains(pixels), "{text}");
    let sides = format!("{{ i32 = \"W\" }}, {{ i32 = \"H\" }}, {ndc}");
    let on = |program: &str, means: &str, more: &[&str]| {
        fs::write(here.join("m.toml"), text.replace(pixels, means)).expect("written");
        let cases = ["--generator", "typical", "--cases", "20", "--jobs", "2"];
        judged(here, (program, "m.toml"), &[&cases[..], more].concat())
    };
    on("camera_preprocess_ndc", &sides, &[]).exits(0);
    on("camera_preprocess_ndc", &sides, &["--fast-math"]).exits(0);
    let said = on("camera_preprocess", ndc, &[]).exits(1);
    let pixels =
        "looks like: the gradients of the means, by normalized device coordinates, are taken";
    assert!(said.out.contains(pixels), "{}", said.out);
    say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
}

/// Harmonics in two arrays, as programs train them.
#[test]
fn harmonics_in_two_arrays_are_those_in_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = |name: &str| fs::read_to_string(kernel(name)).expect("readable");
    let two = |text: &str| {
        let read = "{ tensor = \"sh_dc\" }, { tensor = \"sh_rest\" }";
        let role = "role = \"accumulate\" }";
        let written = format!("{{ tensor = \"v_sh_dc\", {role}, {{ tensor = \"v_sh_rest\", {role}");
        let own = text.replace("{ tensor = \"sh\" }", read);
        assert_ne!(own, text, "it names them");
        own.replace("{ tensor = \"v_sh\", role = \"accumulate\" }", &written)
    };
    let forward = two(&text("camera_preprocess.toml"));
    let backward = two(&text("camera_preprocess_backward.toml"));
    let on = |program: &str, manifest: &str| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        let cases = ["--generator", "colors", "--cases", "20", "--jobs", "2"];
        judged(here, (program, "m.toml"), &cases)
    };
    for (manifest, wrong) in [(&forward, " of colors "), (&backward, "  v_")] {
        on("camera_preprocess_split", manifest).exits(0);
        let said = on("camera_preprocess_split_broken", manifest).exits(1);
        assert!(said.out.contains(wrong), "{}", said.out);
        say(here, &again(&said.out)).exits(1).prints("exactly the recorded failure");
    }
    let part =
        backward.replace("{ tensor = \"v_sh_rest\", role = \"accumulate\" }", "{ null = true }");
    assert_ne!(part, backward, "one of both");
    on("camera_preprocess_split", &part).exits(2).complains("v_sh_rest is held by no parameter");
    let twice = backward.replace("{ tensor = \"v_sh_rest\"", "{ tensor = \"v_sh\"");
    on("camera_preprocess_split", &twice).exits(2).complains("v_sh beside v_sh_dc");
}

/// Without radii nobody says what the kernel culled; without an array of the colours it takes direct ones.
#[test]
fn a_manifest_decides_what_is_compared_and_on_which_cases() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = path("corpora/splat");
    let text = |name: &str| fs::read_to_string(kernel(name)).expect("readable");
    let on = |program: &str, manifest: &str, more: &[&str]| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        judged(here, (program, "m.toml"), more)
    };
    let project = text("gsplat_project.toml");
    let radii = "{ zeros = { dtype = \"i32\", shape = [\"cameras\", \"N\", 2] } }";
    let without = project.replace("{ tensor = \"radii\" }", radii);
    assert_ne!(without, project, "the radii are another array");
    let said = on("gsplat_project", &without, &["--corpus", &corpus]).exits(0);
    said.prints("NOT EXERCISED: opacities, colors, covars2d, visible: ");
    // What is culled is not written.
    let poison = project
        .replace("{ tensor = \"depths\", role = \"accumulate\" }", "{ tensor = \"depths\" }");
    let said = on("gsplat_project", &poison, &["--corpus", &corpus]).exits(1);
    assert!(said.out.contains("depths") && said.out.contains("never written"), "{}", said.out);
    let backward = text("gsplat_project_backward.toml");
    let said = on("gsplat_project", &backward, &["--corpus", &corpus]);
    said.prints("cases with colours by harmonics (sh)");
    let harmonics = path("corpora/splat/harmonics.toml");
    let said = on("gsplat_project", &backward, &["--case", &harmonics]).exits(2);
    said.complains("no case is for the manifest's kernel");
    let said = on("gsplat_project", &backward, &["--case", &harmonics, "--observe-only"]);
    assert_eq!(said.code, Some(2), "the same without an oracle: {}", said.err);
    let one = path("corpora/splat/two-cameras.toml");
    on("gsplat_project", &backward, &["--case", &one, "--observe-only"]).exits(0);
}

#[test]
fn what_a_stage_has_not_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let case = path("corpora/splat/tile-corner.toml");
    let refused = |(name, old, new): (&str, &str, &str), more: &[&str], expected: &str| {
        changed_manifest(here, &format!("{name}.toml"), &[[old, new]]);
        let program = name.trim_end_matches("_backward");
        let said = judged(here, (program, "m.toml"), &[&["--case", &case], more].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{new}: {said:?}");
        assert!(said.err.contains(expected), "{new}: expected '{expected}': {}", said.err);
    };
    let rasterize = |old, new| ("gsplat_rasterize", old, new);
    let project = |old, new| ("gsplat_project", old, new);
    refused(
        rasterize("\"rasterize\"", "\"render\""),
        &[],
        "m.toml:1: stage is 'render': expected one of project, rasterize, rasterize_backward",
    );
    refused(
        rasterize("channels = 3", "formulation = \"3dgs\""),
        &[],
        "formulation is given for stage rasterize",
    );
    refused(rasterize("\"M\"", "\"near\""), &[], "not known: 'near'");
    refused(
        rasterize(
            "{ tensor = \"render_alphas\" }",
            "{ zeros = { dtype = \"f32\", shape = [\"W\"] } }",
        ),
        &[],
        "it is told from a place by the pixel's opacity",
    );
    refused(
        rasterize("{ tensor = \"last_ids\", none = 0 }", "{ tensor = \"v_means2d\" }"),
        &[],
        "'v_means2d'",
    );
    refused(
        project("{ tensor = \"conics\", role", "{ fields = [\"conics.0\"], role"),
        &[],
        "conics is held in part",
    );
    refused(project("\"cameras\" }", "\"W\" }"), &[], "not known: 'W'");
    refused(
        project("block = [256]", "block = [256]\nconstants = { alpha_max = 0.9 }"),
        &[],
        "constants is given",
    );
    let same = project("stage", "stage");
    refused(same, &["--formulation", "any"], "only rasterize_backward has formulations");
    refused(
        same,
        &["--extra-roundings", "2"],
        "--extra-roundings: the manifest is of stage project",
    );
    refused(same, &["--reduction", "sw-b"], "which adds nothing up");
    let none = fs::read_to_string(kernel("gsplat_project.toml")).expect("readable");
    let outputs = none.find("    { tensor = \"radii\" }").expect("the outputs");
    let zeros = "{ zeros = { dtype = \"f32\", shape = [\"N * cameras * 3\"] } },\n".repeat(4);
    fs::write(here.join("m.toml"), format!("{}{zeros}]\n", &none[..outputs])).expect("written");
    let said = judged(here, ("gsplat_project", "m.toml"), &["--case", &case]).exits(2);
    said.complains("held by no parameter, none of means2d, conics");
}

/// In WGSL: pixels of colour and opacity, and the last contributor as a count of the tile's list.
#[test]
fn an_image_in_wgsl_agrees_and_a_broken_one_is_found() {
    if !has_engine("an image in WGSL") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let corpus = path("corpora/splat");
    let [program, manifest] = ["packed_rasterize.wgsl", "packed_rasterize.toml"]
        .map(|name| fs::read_to_string(kernel(name)).expect("a text"));
    fs::write(here.join("k.toml"), manifest).expect("written");
    let judged = |program: &str| {
        fs::write(here.join("k.wgsl"), program).expect("written");
        say(here, &["wgsl", "k.wgsl", "--manifest", "k.toml", "--corpus", &corpus, "--cases", "8"])
    };
    let said = judged(&program);
    if said.err.contains("no engine of wgpu on this machine") {
        println!("NOT EXERCISED: an image in WGSL: {}", said.err);
        return;
    }
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    said.prints("NOT EXERCISED: render_transmittance: ");
    for (right, wrong, output) in [
        ("last = i + 1u - range.x;", "last = i - range.x;", "last_ids["),
        ("transmittance * uniforms.background, 1.0", "uniforms.background, 1.0", "render_colors["),
    ] {
        assert_eq!(program.matches(right).count(), 1, "{right}");
        let said = judged(&program.replace(right, wrong));
        assert_eq!(said.code, Some(1), "{wrong}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(output), "{wrong}: {}", said.out);
        let again = say(here, &again(&said.out));
        assert_eq!(again.code, Some(1), "{wrong}: {}\n{}", again.out, again.err);
    }
}

/// An image whose power is written otherwise is right if its count is stated, and the report tells who did not. Who
/// states a count is judged by it, and a fault is found by all of them.
#[test]
fn an_image_of_another_spelling_agrees_by_its_count_of_roundings() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let [program, manifest] = ["packed_rasterize.wgsl", "packed_rasterize.toml"]
        .map(|name| fs::read_to_string(kernel(name)).expect("a text"));
    fs::write(here.join("k.toml"), manifest).expect("written");
    let judged = |replaced: &[[&str; 2]], more: &[&str]| {
        let text = replaced.iter().fold(program.clone(), |text, [from, to]| {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text.replace(from, to)
        });
        fs::write(here.join("k.wgsl"), text).expect("written");
        let words = ["wgsl", "k.wgsl", "--manifest", "k.toml", "--engine", "wgsl-emulator-32"];
        say(here, &[&words[..], &["--cases", "40"], more].concat())
    };
    let power = "-(0.5 * ((splat.conic_xx * d.x) * d.x + (splat.conic_yy * d.y) * d.y)\n            \
                 + (splat.conic_xy * d.x) * d.y)";
    let squares = [
        power,
        "-0.5 * (splat.conic_xx * pow2(d.x + splat.conic_xy / splat.conic_xx * d.y) + (splat.conic_yy \
         - splat.conic_xy / splat.conic_xx * splat.conic_xy) * d.y * d.y)",
    ];
    let pow2 = ["@compute", "fn pow2(x: f32) -> f32 { return x * x; }\n\n@compute"];
    let two = ["exp(power)", "exp2(1.44269504 * power)"];
    let conic = "-1.44269504 * (0.5 * ((splat.conic_xx * d.x) * d.x + (splat.conic_yy * d.y) * d.y) \
                 + (splat.conic_xy * d.x) * d.y)";
    let base_two = [[power, conic], ["exp(power)", "exp2(power)"]];
    for (name, right) in [("completed squares", &[squares, pow2][..]), ("base two", &base_two)] {
        let said = judged(right, &["--extra-roundings", "26"]);
        assert_eq!(said.code, Some(0), "{name}: {said:?}");
        assert!(!said.out.contains("roundings: "), "{name}: {said:?}");
    }
    judged(&[squares, pow2], &[]).exits(1).prints("roundings: agrees with --extra-roundings ");
    let none = judged(&[squares, pow2], &["--extra-roundings", "0"]).exits(1);
    say(here, &again(&none.out)).exits(1);
    judged(&[["exp(power)", "exp(1.0001 * power)"]], &[]).exits(1).prints("render_colors[");
    judged(&[two], &["--extra-roundings", "65"]).exits(2);
}
