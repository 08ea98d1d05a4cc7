//! `splatcheck check --checkout`: whether a project's kernels are still those of a preset.

use std::fs;

use splatcheck_tests::say;

/// A checkout with a kernel of our own, which a preset of our own names.
#[test]
fn a_checkout_is_compared_with_what_a_preset_was_read_at() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let write = |name: &str, text: &str| fs::write(here.join(name), text).expect("written");
    fs::create_dir(here.join("checkout")).expect("made");
    let kernel = "template <int N>\n__global__ void blend(const float *means, // [N, 2]\n int count) {\n\
                  float most = 0.999f;\n}\n";
    let preset = |sha256: &str| {
        let sha256 = sha256.replace(' ', "\"\nbody = \"");
        format!(
            "[[source]]\nrepository = \"own/own\"\ncommit = \"{}\"\nfile = \"blend.cu\"\nkernel = \"blend\"\n\
             parameters = [\"means\", \"count\"]\nsha256 = \"{sha256}\"\n[raster]\ninputs = []\noutputs = [\
             {{ name = \"v_means2d\" }}, {{ name = \"v_conics\" }}, {{ name = \"v_opacities\" }}, {{ name = \"v_colors\" }}]\n",
            "a".repeat(40)
        )
    };
    write("own.toml", &preset(&"0".repeat(64)));
    let look = || say(here, &["check", "--checkout", "checkout", "--preset", "own.toml"]);
    let said = look().exits(2);
    said.complains("nothing was compared");
    said.prints("file missing: blend.cu, of own/own, aaaa");
    write("checkout/blend.cu", kernel);
    let said = look();
    assert_eq!(said.code, Some(1), "another hash: {said:?}");
    assert!(
        said.out.contains("the names are the same: a type is another; it now has means and count")
    );
    let hash = said.out.trim().rsplit(' ').next().expect("the last word");
    write("own.toml", &preset(hash));
    let said = look().exits(0);
    said.prints("  same parameters: blend in blend.cu, as in own/own, aaaa");
    said.prints("; its body is not tied; body now has sha256 ");
    // Tied to the body too, of which a constant is changed.
    let body = said.out.trim().rsplit(' ').next().expect("the last word");
    write("own.toml", &preset(&format!("{hash} {body}")));
    look().exits(0).prints("  same: blend in blend.cu, as in own/own, aaaa");
    write("checkout/blend.cu", &kernel.replace("0.999f", "0.99f"));
    let said = look().exits(0);
    said.prints("  parameters same, body changed: blend in blend.cu, read in own/own, aaaa");
    said.prints("read it again; body now has sha256 ");
    write("checkout/blend.cu", &kernel.replace("0.999f;", "0.999f /* at most */ ;"));
    look().exits(0).prints("  same: blend in blend.cu");
    write("checkout/blend.cu", &kernel.replace("int count", "const float *colors, int count"));
    let said = look().exits(1);
    let told = "parameter 2 was count, is 'const float * colors'; parameter 3 is new: 'int count'";
    said.prints(told);
    write("checkout/blend.cu", "__global__ void blend(int \u{1b}[31m count) {}");
    let said = look().exits(1);
    assert!(!said.out.contains('\u{1b}'), "a terminal obeys nothing of a file: {said:?}");
    write("checkout/blend.cu", "__global__ void blend2(int count) {}");
    look().exits(1).prints("  kernel missing: blend in blend.cu");
    let all = say(here, &["check", "--checkout", "checkout"]);
    assert!(
        all.code == Some(2)
            && all.out.contains("inria (3D Gaussian Splatting, 2023)\n  file missing: "),
        "{all:?}"
    );
}
