//! What a manifest says that cannot be followed.

use std::fs;

use splatcheck_tests::{path, say};

use super::{case, kernel};

#[test]
fn what_cannot_be_followed_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let gsplat = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let file = kernel("gsplat_backward.ptx");
    let case = case("tile-corner");
    let refused = |manifest: &str, more: &[&str], words: &[&str]| {
        fs::write(here.join("m.toml"), manifest).expect("written");
        let args = [&["ptx", &file, "--manifest", "m.toml"][..], more].concat();
        let said = say(here, &args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}: {said:?}");
        words.iter().for_each(|word| assert!(said.err.contains(word), "no '{word}': {said:?}"));
    };
    let on_case = [case[0].as_str(), &case[1]];
    refused(&gsplat.replace("means2d\" }, {", "xys\" }, {"), &on_case, &["m.toml:9: ", "'xys'"]);
    refused("kernel = 3", &on_case, &["m.toml:1: kernel is 3: expected a string"]);
    refused("\0", &on_case, &["m.toml:1: "]);
    let pair = fs::read_to_string(path("harness/examples/gradcheck/pair.toml")).expect("readable");
    refused(&pair, &on_case, &["is of 'splatcheck gradcheck'", "'kernel' and 'parameter'"]);
    let said = say(here, &["gradcheck", "--manifest", &kernel("gsplat_backward.toml")]).exits(2);
    said.complains("is of one kernel, for 'splatcheck ptx' or 'wgsl'").complains("has [forward]");
    let bytes = gsplat.replace("{ u8 = 0 }", "{ u32 = 0 }");
    refused(
        &bytes,
        &on_case,
        &["takes 26 parameters of", "parameter 4 has 1 byte, and number has 4"],
    );
    let float = gsplat.replace("{ u32 = \"tile_size\" }", "{ f32 = \"tile_size\" }");
    refused(&float, &on_case, &["is a whole number in the program, and a float here"]);
    let said = say(here, &["ptx", &file]).exits(2);
    assert!(said.err.contains("--manifest FILE.toml") && said.err.contains("--kernel"), "{said:?}");
    let other = gsplat.replace("rasterize_to_pixels_bwd", "rasterize_to_pixels_fwd");
    refused(&other, &on_case, &["'rasterize_to_pixels_fwd'", "void own::rasterize_to_pixels_bwd<"]);
    refused(
        &gsplat.replace("gsplat-1.5", "inria"),
        &on_case,
        &["render_alphas", "such as gsplat-1.5"],
    );
    refused(&gsplat, &[], &["no case: name one with --case"]);
    let channels = path("corpora/splat/channels-5.toml");
    refused(&gsplat, &["--case", &channels], &["no case has the kernel's 3 channels"]);
    refused(&gsplat, &["--cases", "0"], &["--cases"]);
    refused(&gsplat, &["--generator", "mine"], &["--generator mine", "expected one of typical"]);
    refused(&gsplat, &[&on_case[..], &["--kernel", "k"]].concat(), &["--kernel", "--manifest"]);
    refused(&gsplat, &[&on_case[..], &["--cases", "3"]].concat(), &["--cases"]);
    let division = gsplat.replace("\"tiles_y\", \"tiles_x\"]", "\"tiles_y / (N - N)\"]");
    refused(&division, &on_case, &["kernel of line 1, grid: a division by 0"]);
    let huge = gsplat.replace(
        "{ null = true },  ",
        "{ zeros = { dtype = \"u8\", shape = [\"W * 1000000000\"] } },",
    );
    assert_ne!(huge, gsplat, "the masks are another array");
    refused(&huge, &on_case, &["does not fit in an unsigned 32-bit number"]);
    let said =
        say(here, &["ptx", &file, "--manifest", "nowhere.toml", on_case[0], on_case[1]]).exits(2);
    said.complains("--manifest nowhere.toml: cannot open");
    fs::write(here.join("m.toml"), b"\xff\xfe").expect("written");
    let said = say(here, &["ptx", &file, "--manifest", "m.toml", on_case[0], on_case[1]]);
    said.complains("m.toml: not a manifest: not a text");
}
