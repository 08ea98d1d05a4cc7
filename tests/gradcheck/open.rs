//! A comparison that rounding leaves open excuses what depends on it, and nothing else.

use super::{elementwise, manifest_of_wgsl};
use splatcheck_tests::{Said, say};
use std::path::Path;

/// Whether `0.1 x 10 > x`, which rounding decides.
const OPEN: &str = "x[i] * 0.1 * 10.0 > x[i]";

/// `gradcheck` of a forward kernel of which y is at first w x, and of a backward kernel.
fn judged(folder: &Path, forward: &str, backward: &str) -> Said {
    let buffers = [
        "read> x: array<f32>",
        "read> w: array<f32>",
        "read_write> y: array<f32>",
        "read> v_y: array<f32>",
        "read_write> v_x: array<f32>",
    ];
    let forward = format!("y[i] = w[i] * x[i]; if ({OPEN}) {{ {forward} }}");
    let tables = "[sizes]\nN = { from = 40, to = 64 }\n[inputs]\nx = { shape = [\"N\"] }\nw = { shape = [\"N\"] }\n\
                  [outputs]\ny = { shape = [\"N\"] }\n[gradients]\ny = \"v_y\"\nx = \"v_x\"\n";
    let manifest = manifest_of_wgsl(tables, [&["x", "w", "y"], &["x", "w", "v_y", "v_x"]]);
    std::fs::write(folder.join("pair.toml"), manifest).expect("written");
    let source = elementwise(&buffers, [&forward, backward]);
    std::fs::write(folder.join("pair.wgsl"), source).expect("written");
    say(folder, &["gradcheck", "--manifest", "pair.toml", "--cases", "3"])
}

#[test]
fn an_open_comparison_excuses_nothing_that_it_does_not_reach() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |backward: &str| judged(folder.path(), "y[i] += 0.0;", backward);
    of("v_x[i] = w[i] * v_y[i];").exits(0);
    // Zeros and copies are rounded by nothing.
    for wrong in [
        "if (i + 1u < arrayLength(&x)) { v_x[i] = w[i] * v_y[i]; }",
        "v_x[i] = select(v_y[i], w[i] * v_y[i], (i & 3u) != 0u);",
    ] {
        let said = of(wrong);
        assert_eq!(said.code, Some(1), "{wrong}: {said:?}");
        assert!(said.out.contains("v_x"), "{wrong}: {said:?}");
    }
}

#[test]
fn what_an_open_comparison_leaves_out_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    // 0 or w x: a backward kernel whose comparison rounds otherwise leaves another part of the gradient out.
    let of = |backward: &str| judged(folder.path(), "y[i] = 0.0;", backward);
    for open in [OPEN, "x[i] * 0.3 * 3.3333333 > x[i]", "x[i] * 0.7 * 1.4285715 >= x[i]"] {
        let said = of(&format!("if (!({open})) {{ v_x[i] = w[i] * v_y[i]; }}"));
        assert_ne!(said.code, Some(1), "{open}: {said:?}");
        assert!(said.out.contains("derivatives compared"), "it ran: {open}: {said:?}");
    }
}
