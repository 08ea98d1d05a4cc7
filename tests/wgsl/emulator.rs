//! `splatcheck wgsl` on the emulator, which is there without a driver.

use super::Kernel;
use splatcheck_tests::{again, own_kernel, root, say};
use std::fs;

/// No driver is needed, and what one hides is seen.
#[test]
fn the_emulator_agrees_at_every_width_and_sees_what_drivers_hide() {
    let on_emulator = ["--engine", "wgsl-emulator"];
    let said = Kernel::packed().on("two-cameras", &on_emulator).exits(0);
    for lanes in [4, 8, 16, 32, 64, 128] {
        let row = format!("\nwgsl-emulator-{lanes} ");
        assert!(said.out.contains(&row), "{lanes} lanes: {}", said.out);
    }
    let add = "            let sum = subgroupAdd(values[k]);";
    for (old, new, words) in [
        (add, format!("_ = values[k + 1u];\n{add}"), "index 9 is beyond an array of 9 elements"),
        (
            "        let splat = global_from_isect[i];",
            "        let splat = global_from_isect[i];\n        if local == 5u { return; }"
                .to_owned(),
            "an operation that every lane must reach: lanes ",
        ),
        (
            "    let range =",
            "    _ = tile_ranges[1000000u + tile.x];\n    let range =".to_owned(),
            " of 'tile_ranges', which has ",
        ),
    ] {
        let said = Kernel::packed().program(old, &new).on("two-cameras", &on_emulator);
        assert_eq!(said.code, Some(1), "{new}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(words) && said.out.contains("' at k.wgsl:"), "{}", said.out);
    }
}

/// What a run ends at may be meant, or be what WGSL allows: the values are judged all the same, and the verdict
/// says what nobody looked for.
#[test]
fn what_ends_a_run_is_an_option() {
    let judged = |kernel: Kernel, observe: &[&str]| {
        kernel.on("two-cameras", &[&["--engine", "wgsl-emulator-32"], observe].concat())
    };
    // All invocations write the same.
    let racy = || {
        let kernel = Kernel::packed().program("fn total(", "var<workgroup> same: u32;\nfn total(");
        kernel.program("    var done = true;", "    same = range.x;\n    var done = true;")
    };
    let beyond = || {
        let add = "            let sum = subgroupAdd(values[k]);";
        let read = "    _ = tile_ranges[1000000u + tile.x];\n    let range =";
        let kernel = Kernel::packed().program("    let range =", read);
        kernel.program(add, &format!("            _ = values[k + 1u];\n{add}"))
    };
    let changes = || {
        let range = "    let range = tile_ranges[tile.y * uniforms.tiles_x + tile.x];";
        let last = "    workgroupBarrier();\n    if local == 0u { \
                    tile_ranges[tile.y * uniforms.tiles_x + tile.x] = vec2u(); }";
        Kernel::packed()
            .program("var<storage, read> tile_ranges", "var<storage, read_write> tile_ranges")
            .program(range, &format!("{range}\n{last}"))
    };
    let kernels: [(&dyn Fn() -> Kernel, _, _, _); 3] = [
        (&racy, "data race in", "races=off", "data races"),
        (&beyond, "out of bounds", "bounds=off", "accesses out of bounds"),
        (&changes, "the kernel changed its input", "inputs=off", "writes to inputs"),
    ];
    for (kernel, fault, off, what) in kernels {
        let said = judged(kernel(), &[]);
        assert_eq!(said.code, Some(1), "{off}: {}\n{}", said.out, said.err);
        assert!(said.out.contains(fault), "{off}: {}", said.out);
        assert!(!said.out.contains("not looked for"), "all is: {}", said.out);
        let said = judged(kernel(), &["--observe", off, "--quiet"]);
        assert_eq!(said.code, Some(0), "{off}: {}\n{}", said.out, said.err);
        let verdict = format!("; not looked for: {what}");
        assert!(said.out.lines().next().is_some_and(|l| l.ends_with(&verdict)), "{}", said.out);
    }
    let half = racy().program("values[3] = -v_power", "values[3] = -0.5 * v_power");
    let said = half.on(
        "two-cameras",
        &["--engine", "wgsl-emulator-32", "--observe", "races=off", "--json", "run.json"],
    );
    assert_eq!(said.code, Some(1), "{}\n{}", said.out, said.err);
    assert!(said.out.contains("v_conics") && !said.out.contains("data race in"), "{}", said.out);
    let json = fs::read_to_string(half.folder().join("run.json")).expect("written");
    assert!(json.contains("not looked for: data races"), "{json}");
    let again = say(half.folder(), &again(&said.out)).exits(1);
    again.prints("; not looked for: data races\n");
    assert!(!again.out.contains("data race in"), "it judges the values: {}", again.out);
    let said = judged(Kernel::packed(), &["--observe", "bars=off"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    said.complains("expected races=off, inputs=off, bounds=off");
}

/// What another entry point needs is asked of nobody who does not name it.
#[test]
fn only_what_the_entry_point_reaches_is_demanded() {
    let mut kernel = Kernel::packed();
    kernel.program += "override SIDE: u32;\n@group(2) @binding(0) var picture: texture_2d<f32>;\n\
        fn texel(at: u32) -> u32 { return u32(textureLoad(picture, vec2u(at, SIDE), 0).x); }\n\
        @compute @workgroup_size(SIDE) fn other() { add(texel(1u), 1.0); }\n";
    kernel.on("two-cameras", &["--engine", "wgsl-emulator-8"]).exits(0);
    let kernel = kernel.manifest("kernel = \"rasterize_backward\"", "kernel = \"other\"");
    let said = kernel.on("two-cameras", &["--engine", "wgsl-emulator-8"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    let words = "entry point 'other' uses 'picture', which is a texture or a sampler";
    said.complains(words);
}

/// The emulator runs in other orders for `--expect deterministic`, as it does for CUDA, and with `--schedule`, which
/// no driver follows.
#[test]
fn other_orders_show_what_one_order_hides() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let [program, manifest] = ["index_add.wgsl", "index_add_wgsl.toml"].map(own_kernel);
    let case = root().join("corpora/scatter/cancelling.toml").display().to_string();
    let of = |program: &str, more: &[&str]| {
        say(here, &[&["wgsl", program, "--manifest", &manifest], more].concat())
    };
    let on = ["--engine", "wgsl-emulator-32"];
    let said =
        of(&program, &[&on[..], &["--case", &case, "--expect", "deterministic"]].concat()).exits(1);
    said.prints("under lockstep and ");
    say(here, &again(&said.out)).exits(1);
    let said = of(&program, &["--cases", "4", "--schedule", "random", "--schedules", "2"]).exits(0);
    said.prints("\nwgsl-emulator-4 random:1 ");
    // Adding without an exchange loses what others add meanwhile.
    let text = fs::read_to_string(&program).expect("a text");
    let lost = here.join("lost.wgsl");
    let exchange = text.split_once("    loop {").and_then(|(_, rest)| rest.split_once("\n}\n"));
    let (exchange, _) = exchange.expect("the loop of the exchange");
    let store = "    atomicStore(&sums[place], bitcast<u32>(bitcast<f32>(old) + value));";
    let text = text.replace(&format!("    loop {{{exchange}"), store);
    fs::write(&lost, text).expect("written");
    let said = of(
        &lost.display().to_string(),
        &[&on[..], &["--cases", "4", "--schedule", "random"]].concat(),
    );
    assert_eq!(said.code, Some(1), "{said:?}");
}
