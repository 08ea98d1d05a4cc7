//! Rasterizations with other tiles than 16 x 16 pixels, for which the case's lists are made.

use std::fs;
use std::path::Path;

use splatcheck_tests::{Said, again, changed_manifest, path, say};

use crate::manifest::kernel;

/// Says a manifest of the kernels with these changes, and runs `ptx` or `wgsl` with it.
fn judged(folder: &Path, file: &str, program: &str, changes: &[[&str; 2]], more: &[&str]) -> Said {
    changed_manifest(folder, file, changes);
    let command = if program.ends_with(".wgsl") { "wgsl" } else { "ptx" };
    say(folder, &[&[command, program, "--manifest", "m.toml"], more].concat())
}

fn agrees(said: &Said) {
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    assert!(said.out.starts_with("agree: "), "{}", said.out);
}

/// The lists are made for the tiles: a kernel that takes any block is right with each, and one that takes another
/// than it says is not.
#[test]
fn a_backward_kernel_agrees_with_each_tile_and_only_with_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = kernel("production_backward.ptx");
    let on = |tiles: &str, block: &str, across: &str, more: &[&str]| {
        let key = format!("channels = 4\n{tiles}");
        let block = format!("[{block}, 1]");
        let changes = [
            ["channels = 4", &*key],
            ["[\"tile_size\", \"tile_size\", 1]", &block],
            ["\"tiles_x\" }", across],
        ];
        judged(folder.path(), "production_backward.toml", &program, &changes, more)
    };
    let own = "\"tile_width\", \"tile_height\"";
    let few = ["--cases", "12", "--seed", "1", "--jobs", "2"];
    for tiles in ["8", "[16, 12]", "[32, 16]", "[5, 7]", "[64, 16]"] {
        agrees(&on(&format!("tile_size = {tiles}"), own, "\"tiles_x\" }", &few));
    }
    let more = ["--cases", "30", "--seed", "1", "--jobs", "2"];
    for (tiles, block, across) in [
        ("tile_size = [32, 16]", own, "\"ceil_div(W, tile_height)\" }"),
        ("tile_size = [16, 12]", "\"tile_height\", \"tile_width\"", "\"tiles_x\" }"),
        ("tile_size = [32, 16]", "16, 16", "\"tiles_x\" }"),
        ("", "\"tile_size\", \"tile_size\"", "\"tiles_y\" }"),
        // A kernel of 8 x 8, on the lists of 16 x 16.
        ("", "8, 8", "\"tiles_x\" }"),
    ] {
        let said = on(tiles, block, across, &more);
        assert_eq!(said.code, Some(1), "{tiles} {block}: {}\n{}", said.out, said.err);
        // The reproducer holds the tiles.
        say(folder.path(), &again(&said.out)).exits(1).prints("exactly the recorded failure");
    }
}

/// Kernels that are given the side of a tile, as gsplat's, forward and backward, on a case of a file.
#[test]
fn the_side_of_a_tile_is_a_number_of_the_manifest() {
    let folder = tempfile::tempdir().expect("a folder");
    let scene = path("corpora/splat/large-over-many-tiles.toml");
    for name in ["gsplat_rasterize", "gsplat_backward"] {
        let program = kernel(&format!("{name}.ptx"));
        let on = |side: &str, more: &[&str]| {
            let key = format!("channels = 3\ntile_size = {side}");
            let changes = [["channels = 3", &*key]];
            judged(folder.path(), &format!("{name}.toml"), &program, &changes, more)
        };
        for side in ["8", "12", "32"] {
            agrees(&on(side, &["--case", &scene]));
            agrees(&on(side, &["--cases", "6", "--seed", "3"]));
        }
        let changes = [
            ["channels = 3", "channels = 3\ntile_size = 8"],
            ["{ u32 = \"tile_size\" }", "{ u32 = 16 }"],
        ];
        let manifest = format!("{name}.toml");
        let said = judged(folder.path(), &manifest, &program, &changes, &["--case", &scene]);
        assert_eq!(said.code, Some(1), "it steps by 16: {}\n{}", said.out, said.err);
    }
}

#[test]
fn a_program_in_wgsl_has_its_tiles() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(kernel("packed_rasterize.wgsl")).expect("readable");
    let few = ["--engine", "wgsl-emulator-32", "--cases", "6", "--seed", "2"];
    for (size, tiles, code) in
        [("8, 8", "8", 0), ("16, 12", "[16, 12]", 0), ("16, 12", "[12, 16]", 1), ("8, 8", "16", 1)]
    {
        let changed = text.replace("@workgroup_size(16, 16)", &format!("@workgroup_size({size})"));
        assert_ne!(changed, text, "it has a size");
        fs::write(here.join("tiles.wgsl"), changed).expect("written");
        let key = format!("channels = 3\ntile_size = {tiles}");
        let changes = [["channels = 3", &*key]];
        let said = judged(here, "packed_rasterize.toml", "tiles.wgsl", &changes, &few);
        assert_eq!(said.code, Some(code), "{tiles}: {}\n{}", said.out, said.err);
    }
    let program = kernel("packed_backward.wgsl");
    let changes = [["channels = 3", "channels = 3\ntile_size = 8"]];
    agrees(&judged(here, "packed_backward.toml", &program, &changes, &few));
}

#[test]
fn what_is_no_tile_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = kernel("gsplat_backward.ptx");
    let sides = "each side is at least 1, and a tile has no more than 1,024 pixels";
    let numbers = "expected the side of a tile, such as 8, or its width and height";
    for (key, words) in [
        ("tile_size = 0", sides),
        ("tile_size = [16, 0]", sides),
        ("tile_size = 33", sides),
        ("tile_size = [64, 17]", sides),
        ("tile_size = [65536, 65536]", sides),
        ("tile_size = -8", numbers),
        ("tile_size = [8, -8]", numbers),
        ("tile_size = [8]", numbers),
        ("tile_size = [8, 8, 8]", numbers),
        ("tile_size = []", numbers),
        ("tile_size = 8.0", numbers),
        ("tile_size = \"8\"", numbers),
        ("tile_size = 9223372036854775807", numbers),
        (
            "tile_size = [32, 16]",
            "block is by tile_size, and tiles are 32 x 16: say tile_width or tile_height",
        ),
        ("tile_size = 8\nstage = \"project\"", "or of a projection that knows the image: leave"),
        ("tile_size = 8\ntile_size = 8", "duplicate key"),
    ] {
        let changes = [["channels = 3", &*format!("channels = 3\n{key}")]];
        let more = ["--cases", "1"];
        let said = judged(folder.path(), "gsplat_backward.toml", &program, &changes, &more);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{key}: {said:?}");
        let all = said.err.replace('\n', " ");
        assert!(all.contains("m.toml:") && all.contains(words), "{key}: no '{words}': {all}");
    }
}

/// A case's file may say its tiles: a program is told them, and the kernels of 16 x 16 are not given it.
#[test]
fn a_file_that_says_its_tiles_is_no_case_of_our_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(path("corpora/splat/tile-corner.toml")).expect("readable");
    let file = here.join("eight.toml");
    fs::write(&file, format!("tile_size = 8\n{text}")).expect("written");
    let file = file.to_str().expect("a plain name");
    let said = say(here, &["self-check", "--case", file]).exits(2);
    let all = format!("{}{}", said.out, said.err);
    assert!(
        all.contains("tile_size is another than 16, which the kernels of this repository have"),
        "{all}"
    );
}
