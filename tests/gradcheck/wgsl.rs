//! Pairs of kernels in WGSL.

use super::{elementwise, example, manifest_of_wgsl};
use splatcheck_tests::say;
use std::fs;

/// The same pair in WGSL: its bindings are the parameters, and findings name its line.
#[test]
fn a_pair_in_wgsl_is_judged_as_one_in_cuda() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = example("pair_wgsl.toml");
    for order in ["lockstep", "adversarial:5"] {
        let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--schedule", order]);
        assert_eq!(said.code, Some(0), "{order}: {said:?}");
        assert!(said.out.starts_with("agree: 20 runs, 2414 derivatives compared"), "{said:?}");
    }
    let source = fs::read_to_string(example("pair.wgsl")).expect("there");
    let broken = folder.path().join("broken.wgsl");
    let judged = |from: &str, to: &str| {
        let changed = source.replace(from, to);
        assert_ne!(changed, source, "{from}");
        fs::write(&broken, changed).expect("written");
        let broken = broken.display().to_string();
        let words = ["gradcheck", &broken, "--manifest", &manifest, "--sarif", "run.sarif"];
        say(folder.path(), &words)
    };
    let said = judged("(falloff + w[i]) * v", "falloff * v").exits(1);
    let line = 1 + source.lines().position(|line| line.contains("value += ")).expect("the part");
    said.prints(&format!(" contributes at broken.wgsl:{line}:"));
    said.prints("\n  looks like: v_w lacks what ");
    let text = fs::read_to_string(folder.path().join("run.sarif")).expect("written");
    let log: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().expect("a file");
    assert!(uri.ends_with("broken.wgsl"), "the file, without the line: {uri}");
    assert_eq!(place["region"]["startLine"], line, "not the column: {place}");
    let said = judged("v_x[i] = ", "v_x[i + 1u] = ");
    assert!(said.out.contains("\nDISAGREE no result "), "it is out of bounds: {said:?}");
    said.prints("broken.wgsl:");
    let broken = broken.display().to_string();
    let source =
        source.replace("v_x[i] = ", "let three = vec3f(0.0, 0.0, 0.0)[i];\n    v_x[i] = three + ");
    fs::write(&broken, source).expect("written");
    let words = ["gradcheck", &broken, "--manifest", &manifest, "--cases", "1", "--seed", "3"];
    let said = say(folder.path(), &words);
    said.prints(" is beyond an array of 3 elements");
    let said = say(folder.path(), &[&words[..], &["--observe", "bounds=off"]].concat());
    assert_eq!(said.code, Some(0), "it is the last one's zero: {said:?}");
    let verdict = said.out.lines().next().expect("a verdict");
    assert!(verdict.ends_with("; not looked for: accesses out of bounds"), "{said:?}");
    let text = fs::read_to_string(&manifest).expect("there");
    let own = folder.path().join("own.toml").display().to_string();
    let ptx = example("pair.wgsl");
    for (from, to, says) in [
        ("block = [32]", "block = [64]", "its @workgroup_size is [32, 1, 1]"),
        (
            "\"y\", { u32 = \"N\" }]",
            "\"y\"]",
            "uses the buffers x (0, 0), w (0, 1), cells (0, 2), y (0, 3), size",
        ),
        ("kernel = \"splat\"", "kernel = \"spat\"", "spat"),
    ] {
        fs::write(&own, text.replace(from, to)).expect("written");
        let said = say(folder.path(), &["gradcheck", &ptx, "--manifest", &own]);
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{says}: {said:?}");
        said.complains(says);
    }
    let said = judged("exp(-0.5 * x[i] * x[i])", "f32(exp(f64(x[i])))");
    assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{said:?}");
    assert!(
        said.err.contains("a number of 64 bits") && said.err.contains("broken.wgsl:"),
        "{said:?}"
    );
}

/// `y = ldexp(x x, e - BIAS)`: a power of two made of integers, and a constant that the manifest gives.
#[test]
fn powers_of_two_and_overridable_constants_are_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let buffers = [
        "read> x: array<f32>",
        "read> e: array<i32>",
        "read_write> y: array<f32>",
        "read> v_y: array<f32>",
        "read_write> v_x: array<f32>",
    ];
    let bodies = [
        "y[i] = ldexp(x[i] * x[i], e[i] - BIAS);",
        "v_x[i] = 2.0 * x[i] * ldexp(v_y[i], e[i] - BACK);",
    ];
    let source = format!("override BIAS: i32;\n{}", elementwise(&buffers, bodies));
    let tables = "[overrides]\nBIAS = 3\n[sizes]\nN = { from = 1, to = 64 }\n[inputs]\n\
                  x = { shape = [\"N\"] }\ne = { shape = [\"N\"], dtype = \"i32\", draw = { below = 8 } }\n\
                  [outputs]\ny = { shape = [\"N\"] }\n[gradients]\ny = \"v_y\"\nx = \"v_x\"\n";
    let manifest = manifest_of_wgsl(tables, [&["x", "e", "y"], &["x", "e", "v_y", "v_x"]]);
    let judged = |back: &str, from: &str, to: &str| {
        fs::write(here.join("pair.wgsl"), source.replace("BACK", back)).expect("written");
        fs::write(here.join("pair.toml"), manifest.replace(from, to)).expect("written");
        say(here, &["gradcheck", "--manifest", "pair.toml", "--cases", "3"])
    };
    let right = judged("BIAS", "", "").exits(0);
    assert!(right.out.starts_with("agree: 3 runs, "), "all of it is judged: {right:?}");
    let wrong = judged("BIAS + 1", "", "");
    wrong.prints("v_x is 2 times the derivative");
    // The constant has its value: where the backward kernel has another, it is wrong.
    assert_eq!(judged("3", "", "").code, Some(0), "BIAS is 3");
    assert_eq!(judged("3", "BIAS = 3", "BIAS = 2").code, Some(1), "BIAS is 2");
    let unknown = judged("BIAS", "BIAS = 3", "BIAS = 3\nTILE = 16").exits(2);
    unknown.complains("no program has the overridable constant 'TILE'; it has BIAS");
    judged("BIAS", "BIAS = 3", "").exits(2).complains("BIAS");
    // What a launch lacks is said at its own line.
    let missing = judged("BIAS", "block = [32]", "").exits(2);
    assert!(missing.err.contains("block") && !missing.err.contains("variant"), "{missing:?}");
}

/// Gamma correction, of which half of the numbers are 0: `pow(0, y)` leaves nothing unjudged.
#[test]
fn powers_of_zero_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let buffers = [
        "read> x: array<f32>",
        "read_write> y: array<f32>",
        "read> v_y: array<f32>",
        "read_write> v_x: array<f32>",
    ];
    let tables = "[sizes]\nN = { from = 40, to = 64 }\n[inputs]\nx = { shape = [\"N\"] }\n[outputs]\n\
                  y = { shape = [\"N\"] }\n[gradients]\ny = \"v_y\"\nx = \"v_x\"\n";
    let manifest = manifest_of_wgsl(tables, [&["x", "y"], &["x", "v_y", "v_x"]]);
    fs::write(here.join("pair.toml"), manifest).expect("written");
    let judged = |forward: &str, backward: &str| {
        let bodies = [format!("y[i] = {forward};"), format!("v_x[i] = v_y[i] * ({backward});")];
        let source = elementwise(&buffers, [&bodies[0], &bodies[1]]);
        fs::write(here.join("pair.wgsl"), source).expect("written");
        say(here, &["gradcheck", "--manifest", "pair.toml", "--cases", "3"])
    };
    let gamma = "pow(max(x[i], 0.0), 2.2)";
    for right in [
        "2.2 * pow(max(x[i], 0.0), 1.2)",
        "select(0.0, 2.2 * pow(x[i], 1.2), x[i] > 0.0)",
        "2.2 * pow(max(x[i], 0.0), 2.2) / max(x[i], 1e-30)",
        "select(0.0, 2.2 * exp2(1.2 * log2(x[i])), x[i] > 0.0)",
        "2.2 * max(x[i], 0.0) * pow(max(x[i], 0.0), 0.2)",
    ] {
        let said = judged(gamma, right);
        assert_eq!(said.code, Some(0), "{right}: {said:?}");
        assert!(!said.out.contains("NOT EXERCISED"), "{right}: {said:?}");
    }
    for wrong in [
        "pow(max(x[i], 0.0), 1.2)",
        "2.2 * pow(max(x[i], 0.0), 1.2) * 1.001",
        "select(1.0, 2.2 * pow(x[i], 1.2), x[i] > 0.0)",
        // 0/0.
        "2.2 * pow(max(x[i], 0.0), 2.2) / max(x[i], 0.0)",
    ] {
        let said = judged(gamma, wrong);
        assert_eq!(said.code, Some(1), "{wrong}: {said:?}");
    }
    // A root has no slope at 0, of which a right kernel may make what it likes.
    let root = "pow(abs(x[i] * f32(i & 1u)), 0.5)";
    let half = "f32(i & 1u) * sign(x[i]) * 0.5 / sqrt(abs(x[i]))";
    for right in [half.to_owned(), format!("select(7.0, {half}, (i & 1u) == 1u)")] {
        let said = judged(root, &right);
        assert_ne!(said.code, Some(1), "{right}: {said:?}");
        assert!(said.out.contains(" derivatives compared"), "it ran: {right}: {said:?}");
    }
    assert_eq!(judged(root, &format!("1.001 * {half}")).code, Some(1), "a root that is wrong");
}
