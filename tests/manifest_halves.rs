//! Kernels of a manifest that have some of their arrays in 16 bits a number.

use std::fs;

use splatcheck_tests::{reproducer, say};

use crate::manifest::kernel;

/// Inputs in bf16 or f16 and outputs in f16: sums and features that are rounded at every addition, and an image that
/// is stored once.
const KERNELS: [(&str, &str, &str); 5] = [
    ("index_add_half", "index_add_half.toml", "initial in f16, values in bf16, sums in f16"),
    ("gsplat_rasterize_half", "gsplat_rasterize_half.toml", "colors in bf16, render_colors in f16"),
    ("ngp_grid_half", "ngp_grid_half.toml", "table in f16, features in f16"),
    ("ngp_grid_half", "ngp_grid_half_backward.toml", "v_features in f16, v_table in f16"),
    ("half_backward", "half_backward.toml", "v_render_colors in f16, v_colors in f16"),
];

#[test]
fn arrays_of_16_bits_are_judged_with_what_their_stores_round() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    for (program, manifest, words) in KERNELS {
        let manifest = kernel(manifest);
        let run = |variant: &str, cases: &str| {
            let file = kernel(&format!("{program}{variant}.ptx"));
            say(here, &["ptx", &file, "--manifest", &manifest, "--cases", cases, "--jobs", "2"])
        };
        let said = run("", "30");
        assert_eq!(said.code, Some(0), "{program}: {}\n{}", said.out, said.err);
        let said = run("_broken", "2");
        assert_eq!(said.code, Some(1), "{program}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(words), "no '{words}': {}", said.out);
        let file = reproducer(here, &said);
        let again = say(here, &["replay", file.to_str().expect("a plain name")]).exits(1);
        again.prints("exactly the recorded failure");
    }
}

/// A bound of sums that are stored once is too close for a kernel that rounds each of them on the way.
#[test]
fn a_depth_that_the_kernel_does_not_keep_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    for (name, output) in [("index_add_half", "\"sums\""), ("ngp_grid_half", "\"features\"")] {
        let text = fs::read_to_string(kernel(&format!("{name}.toml"))).expect("readable");
        let line = text.lines().find(|line| line.contains(output)).expect("an output");
        let once = text.replace(line, &line.replace("\"f16\" }", "\"f16\", depth = 1 }"));
        assert_ne!(once, text, "the key is given");
        fs::write(here.join("m.toml"), once).expect("written");
        let program = kernel(&format!("{name}.ptx"));
        let said = say(here, &["ptx", &program, "--manifest", "m.toml", "--cases", "4"]);
        assert_eq!(said.code, Some(1), "{name}: {}\n{}", said.out, said.err);
    }
}

#[test]
fn what_has_no_bound_in_16_bits_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let wgsl = ["packed_backward.wgsl", "packed_backward.toml"];
    let [scatter, raster] =
        [["index_add.ptx", "index_add.toml"], ["gsplat_backward.ptx", "gsplat_backward.toml"]];
    let project = ["gsplat_project.ptx", "gsplat_project.toml"];
    for ([program, name], [old, new], words) in [
        (
            scatter,
            ["\"sums\"", "\"sums\", dtype = \"f8\""],
            "dtype is 'f8': expected 'f32', 'f16' or 'bf16'",
        ),
        (
            scatter,
            ["\"keys\"", "\"keys\", dtype = \"f16\""],
            "'f16' for keys: it holds whole numbers",
        ),
        (
            scatter,
            ["\"sums\"", "\"sums\", depth = 1"],
            "depth is given: it counts the roundings of an output",
        ),
        (scatter, ["\"values\"", "\"values\", dtype = \"f16\", depth = 1"], "depth is given"),
        (
            scatter,
            ["\"sums\"", "\"sums\", dtype = \"f16\", depth = 0"],
            "depth is 0: a number that is stored",
        ),
        (
            scatter,
            ["i32 = \"N\"", "i32 = \"N\", dtype = \"f16\""],
            "dtype is given: it says something of a tensor",
        ),
        (
            raster,
            ["\"render_alphas\"", "\"render_alphas\", dtype = \"f16\""],
            "its cases are not rounded: gradcheck judges",
        ),
        (
            raster,
            ["\"v_means2d\"", "\"v_means2d\", units = \"ndc\", dtype = \"f16\""],
            "not beside units",
        ),
        (
            raster,
            ["tensor = \"v_colors\"", "fields = [\"v_colors.0\"], dtype = \"f16\""],
            "name the whole tensor",
        ),
        (
            raster,
            [
                "{ tensor = \"means2d\" }",
                "{ fields = [\"means2d\", \"colors\"], dtype = \"bf16\" }",
            ],
            "colors is f16 and bf16: a case is rounded to one of them",
        ),
        (
            project,
            ["\"means\"", "\"means\", dtype = \"f16\""],
            "projections are judged in f32 alone",
        ),
        (
            wgsl,
            ["tensor = \"flatten_ids\"", "dtype = \"f16\"\ntensor = \"flatten_ids\""],
            "of kernels in WGSL every array has 32 bits",
        ),
    ] {
        let text = fs::read_to_string(kernel(name)).expect("readable");
        let text =
            text.replace("{ tensor = \"colors\" }", "{ tensor = \"colors\", dtype = \"f16\" }");
        assert!(text.contains(old), "{name} has {old}");
        fs::write(here.join("m.toml"), text.replacen(old, new, 1)).expect("written");
        let command = if program == wgsl[0] { "wgsl" } else { "ptx" };
        let said = say(here, &[command, &kernel(program), "--manifest", "m.toml", "--cases", "1"]);
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{new}: {said:?}");
        let text = said.err.replace('\n', " ");
        assert!(text.contains(words) && text.contains("m.toml"), "{new}: no '{words}': {text}");
    }
}
