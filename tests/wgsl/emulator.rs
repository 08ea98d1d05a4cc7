//! `splatcheck wgsl` on the emulator, which is there without a driver.

use super::Kernel;

/// No driver is needed, and what one hides is seen.
#[test]
fn the_emulator_agrees_at_every_width_and_sees_what_drivers_hide() {
    let on_emulator = ["--engine", "wgsl-emulator"];
    let said = Kernel::packed().on("two-cameras", &on_emulator);
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    for lanes in [4, 8, 16, 32, 64] {
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
        assert!(said.out.contains(words) && said.out.contains("' at kernel.wgsl:"), "{}", said.out);
    }
}
