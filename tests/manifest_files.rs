//! Manifests whose launches have files of their own.

use std::fs;
use std::path::Path;

use splatcheck_judge::io::container;
use splatcheck_tests::{path, reproducer, root, say};

use crate::manifest::logits::{TO_LOGITS, by_logits};
use crate::manifest::{case, kernel};

const HEADER: &str = ".version 8.4\n.target sm_75\n.address_size 64\n";

/// The kernel with gsplat's parameter list, and one behind it in a file of its own; the program and the manifest,
/// in a folder of theirs.
fn two_files(folder: &Path, to_logits: &str) -> [String; 2] {
    let below = folder.join("kernels");
    fs::create_dir_all(&below).expect("made");
    let [_, manifest] = by_logits(&below, "");
    let text = fs::read_to_string(&manifest).expect("readable");
    let second = "[[launch]]\nkernel = \"to_logits\"";
    assert!(text.contains(second), "{text}");
    let text = text.replace(second, "[[launch]]\nfile = \"to_logits.ptx\"\nkernel = \"to_logits\"");
    fs::write(&manifest, text).expect("written");
    fs::write(below.join("to_logits.ptx"), format!("{HEADER}{to_logits}")).expect("written");
    [kernel("gsplat_backward.ptx"), manifest]
}

#[test]
fn a_launch_may_have_a_file_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let judge = |to_logits: &str, more: &[&str]| {
        let [program, manifest] = two_files(here, to_logits);
        say(here, &[&["ptx", &program, "--manifest", &manifest][..], more].concat())
    };
    let scene = case("tile-corner");
    let on_case = [&*scene[0], &*scene[1], "--json", "r.json"];
    judge(TO_LOGITS, &on_case).exits(0);
    let json = fs::read_to_string(here.join("r.json")).expect("written");
    assert!(json.contains("to_logits.ptx") && json.contains("gsplat_backward.ptx"), "both: {json}");
    // A fault in the second file, whose reproducer holds both.
    let wrong = TO_LOGITS.replace("mul.rn.f32 %f6, %f2, %f5;", "mul.rn.f32 %f6, %f2, %f1;");
    let said = judge(&wrong, &on_case).exits(1);
    let again = reproducer(here, &said);
    fs::remove_dir_all(here.join("kernels")).expect("removed");
    let again = say(here, &["replay", again.to_str().expect("a plain name")]).exits(1);
    again.prints("exactly the recorded failure");
    // Misuse is shown in the lines of the file that it is in.
    let beyond = TO_LOGITS.replace("[%rd7], %f6", "[%rd7+4194304], %f6");
    judge(&beyond, &on_case).exits(1).prints("st.global.f32 [%rd7+4194304], %f6;");
    let observed = judge(&beyond, &[&on_case[..2], &["--observe-only"]].concat());
    observed.prints("st.global.f32 [%rd7+4194304], %f6;");
}

#[test]
fn a_file_that_is_not_there_or_lacks_its_kernel_is_told_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let scene = case("tile-corner");
    let [program, manifest] = two_files(here, TO_LOGITS);
    let text = fs::read_to_string(&manifest).expect("readable");
    for (from, to, expected) in [
        ("\"to_logits.ptx\"", "\"nowhere.ptx\"", "nowhere.ptx: cannot open"),
        (
            "kernel = \"to_logits\"",
            "kernel = \"by_logits\"",
            "to_logits.ptx: no entry point is named 'by_logits': there are to_logits",
        ),
        (
            "{ u32 = \"N\" }, { tensor = \"opacities\" }, { buffer",
            "{ tensor = \"opacities\" }, { buffer",
            "to_logits.ptx: entry point 'to_logits' takes 4 parameters",
        ),
        ("\"to_logits.ptx\"", "\"\"", "launch 2, file is empty: name a file of PTX or CUDA"),
        (
            "[[launch]]\n",
            "[[launch]]\nfile = \"to_logits.ptx\"\n",
            "launch 1, file is given, as in every launch",
        ),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{to}");
        fs::write(&manifest, changed).expect("written");
        let said =
            say(here, &["ptx", &program, "--manifest", &manifest, &scene[0], &scene[1]]).exits(2);
        assert!(said.err.contains(expected), "no '{expected}': {said:?}");
    }
    fs::write(&manifest, &text).expect("written");
    fs::write(here.join("kernels/to_logits.ptx"), "no PTX").expect("written");
    let said =
        say(here, &["ptx", &program, "--manifest", &manifest, &scene[0], &scene[1]]).exits(2);
    said.complains("to_logits.ptx: PTX line 1");
}

/// Rows of three, of which the second number is doubled.
const DOUBLED: &str = "
.visible .entry doubled(.param .u32 count, .param .u64 from, .param .u64 to)
{
    .reg .pred %p<3>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<6>;
    .reg .f32 %f<3>;
    ld.param.u32 %r1, [count];
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 256, %r3;
    setp.ge.u32 %p1, %r4, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    rem.u32 %r5, %r4, 3;
    setp.ne.u32 %p2, %r5, 1;
    @%p2 bra STORE;
    add.rn.f32 %f1, %f1, %f1;
STORE:
    st.global.f32 [%rd5], %f1;
DONE:
    ret;
}
";

/// A projection's backward pass that knows the image, and is given conics' gradients with half of the off-diagonal
/// where a launch before it doubles that.
fn with_half(folder: &Path, off_diagonal: &str) -> [String; 2] {
    let text = fs::read_to_string(kernel("gsplat_project_image_backward.toml")).expect("readable");
    let (terms, launch) = text.split_once("block = ").expect("a block");
    let entry = "kernel = \"projection_image_bwd\"\n";
    assert!(terms.contains(entry) && launch.contains("{ tensor = \"v_conics\" }"), "{text}");
    let launch = launch.replace("{ tensor = \"v_conics\" }", "{ buffer = \"doubled\" }");
    let manifest = format!(
        "{}[buffer]\ndoubled = {{ poison = {{ dtype = \"f32\", shape = [\"cameras\", \"N\", 3] }} }}\n\
         [[launch]]\nfile = \"doubled.ptx\"\nkernel = \"doubled\"\nblock = [256]\n\
         grid = [\"max(1, ceil_div(3 * cameras * N, 256))\"]\nparameter = [{{ u32 = \"3 * cameras * N\" }}, \
         {{ tensor = \"v_conics\"{off_diagonal} }}, {{ buffer = \"doubled\" }}]\n\
         [[launch]]\n{entry}block = {launch}",
        terms.replace(entry, ""),
    );
    fs::write(folder.join("doubled.ptx"), format!("{HEADER}{DOUBLED}")).expect("written");
    let file = folder.join("half.toml");
    fs::write(&file, manifest).expect("written");
    [kernel("gsplat_project_image.ptx"), file.to_str().expect("a plain name").to_owned()]
}

#[test]
fn a_projection_that_knows_the_image_is_judged_backward_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let program = kernel("gsplat_project_image.ptx");
    let manifest = kernel("gsplat_project_image_backward.toml");
    let cases = ["--cases", "40", "--seed", "3", "--jobs", "2"];
    say(here, &[&["ptx", &program, "--manifest", &manifest][..], &cases].concat()).exits(0);
    let scene = case("two-cameras");
    let judge = |[program, manifest]: [String; 2]| {
        say(here, &["ptx", &program, "--manifest", &manifest, &scene[0], &scene[1]])
    };
    let said = judge(with_half(here, ", off_diagonal = \"half\""));
    assert_eq!(said.code, Some(0), "half of it is given, and doubled: {said:?}");
    let said = judge(with_half(here, ""));
    assert_eq!(said.code, Some(1), "all of it is given, and doubled: {said:?}");
    let again = reproducer(here, &said);
    let again = say(here, &["replay", again.to_str().expect("a plain name")]).exits(1);
    again.prints("exactly the recorded failure");
    let said = judge(with_half(here, ", units = \"ndc\"")).exits(2);
    said.complains("it says something of v_means2d alone");
}

#[test]
fn a_projection_onto_an_image_must_return_what_says_who_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(kernel("gsplat_project_image.toml")).expect("readable");
    let scene = case("two-cameras");
    let program = kernel("gsplat_project_image.ptx");
    for (from, to, expected) in [
        (
            "{ tensor = \"radii\" }",
            "{ zeros = { dtype = \"i32\", shape = [\"cameras\", \"N\", 2] } }",
            "radii is held by no parameter",
        ),
        ("stage = \"project_on_image\"", "stage = \"project\"", "not known: 'W'"),
        ("extra_roundings = 16", "extra_roundings = 99", "extra_roundings is 99"),
        (
            "extra_roundings = 16",
            "formulation = \"3dgs\"",
            "formulation is given for stage project_on_image",
        ),
        ("{ tensor = \"Ks\" }", "{ tensor = \"focals\" }", "'focals'"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        fs::write(here.join("m.toml"), changed).expect("written");
        let said = say(here, &["ptx", &program, "--manifest", "m.toml", &scene[0], &scene[1]]);
        assert_eq!(said.code, Some(2), "{to}: {said:?}");
        assert!(said.err.contains(expected), "no '{expected}': {said:?}");
    }
}

#[test]
fn the_first_case_is_saved_with_what_came_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let (program, manifest) = (kernel("gsplat_backward.ptx"), kernel("gsplat_backward.toml"));
    let scene = case("tile-corner");
    let words = ["ptx", &program, "--manifest", &manifest, "--save", "all.safetensors"];
    let saved = |more: &[&str]| {
        say(here, &[&words[..], more].concat()).exits(0);
        fs::read(here.join("all.safetensors")).expect("written")
    };
    let bytes = saved(&[&scene[0], &scene[1]]);
    let all = container::parse(&bytes).expect("a file");
    assert_eq!(all.text("stage"), Some("rasterize_backward"), "{:?}", all.metadata);
    for (name, dtype) in [("means2d", "F32"), ("f32_v_means2d", "F32"), ("exact_v_means2d", "F64")]
    {
        assert_eq!(all.tensors[name].type_name(), dtype, "{name}");
        assert_eq!(all.tensors[name].shape, all.tensors["means2d"].shape, "{name}");
    }
    let found = all.tensors["f32_v_means2d"].numbers(&[None, None]).expect("floats");
    assert!(found.iter().any(|&number| number != 0.0), "there is a gradient: {found:?}");
    let bytes = saved(&[&scene[0], &scene[1], "--observe-only"]);
    let all = container::parse(&bytes).expect("a file");
    assert!(all.tensors.contains_key("f32_v_colors"), "what it returned");
    assert!(!all.tensors.keys().any(|name| name.starts_with("exact_")), "without an oracle");
    let words =
        ["ptx", &program, "--manifest", &manifest, "--save", "all.txt", &scene[0], &scene[1]];
    say(here, &words).exits(2).complains("--save all.txt");
}

/// An empty case has no pairs, so no blocks.
#[test]
fn a_case_without_blocks_ends_no_watch_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("k.ptx"), PLACES).expect("written");
    let manifest = "stage = \"rasterize_backward\"\nkernel = \"nothing\"\nblock = [32]\ngrid = [\"ceil_div(M, 256)\"]\n\
                    parameter = []\n";
    fs::write(here.join("k.toml"), manifest).expect("written");
    fs::create_dir(here.join("cases")).expect("a folder");
    for name in ["empty", "one-pixel", "tile-corner"] {
        let file = format!("{name}.toml");
        fs::copy(path(&format!("corpora/splat/{file}")), here.join("cases").join(file))
            .expect("copied");
    }
    let words = ["ptx", "k.ptx", "--manifest", "k.toml", "--observe-only"];
    let watched = |more: &[&str]| say(here, &[&words[..], more].concat());
    let said =
        watched(&["--corpus", "cases", "--json", "run.json", "--save", "s.safetensors"]).exits(0);
    said.prints("no misuse seen, no values compared: 2 runs, 0 kinds of misuse");
    let line = "NOT EXERCISED: case empty, camera 0: not launched: ";
    said.prints(line);
    let json = fs::read_to_string(here.join("run.json")).expect("written");
    assert!(json.contains(line), "{json}");
    let saved = fs::read(here.join("s.safetensors")).expect("written");
    let saved = container::parse(&saved).expect("a file");
    assert_eq!(saved.text("case"), Some("case one-pixel, camera 0"), "the first that is launched");
    watched(&["--corpus", "cases", "--fail-on", "not-exercised"]).exits(1);
    let none = watched(&["--case", "cases/empty.toml"]).exits(2);
    none.complains("nothing ran");
    none.complains(line);
}

/// A kernel that is given no background, where host code takes its part out of the gradient of the opacity.
#[test]
fn a_folded_background_is_judged_as_one_that_the_kernel_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let without = text.replace("{ tensor = \"backgrounds\" }", "{ null = true }");
    assert_ne!(text, without, "it has one");
    let program = kernel("gsplat_backward.ptx");
    let judge = |alphas: &str, more: &[&str]| {
        let written = without.replace("{ tensor = \"v_render_alphas\" }", alphas);
        fs::write(here.join("m.toml"), written).expect("written");
        say(here, &[&["ptx", &program, "--manifest", "m.toml"][..], more].concat())
    };
    let folded = "{ tensor = \"v_render_alphas\", background = \"folded\" }";
    let corpus = root().join("corpora/splat").display().to_string();
    let cases = ["--corpus", &corpus, "--cases", "60", "--seed", "9", "--jobs", "2"];
    judge(folded, &cases).exits(0);
    let scene = case("backgrounds-of-each-camera");
    let scene = scene.each_ref().map(String::as_str);
    let said = judge("{ tensor = \"v_render_alphas\" }", &scene);
    assert_eq!(said.code, Some(1), "its part is missing: {said:?}");
    let said = judge(&folded.replace("folded", "white"), &scene).exits(2);
    said.complains("background is 'white': expected 'folded'");
}

/// A thread each writes its place into one array, and nothing into another.
const PLACES: &str = "\
.version 8.4
.target sm_75
.address_size 64
.visible .entry places(.param .u64 places, .param .u64 other)
{
.reg .b32 %r<2>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [places];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r1;
ret;
}
.visible .entry nothing()
{
ret;
}
";

#[test]
fn without_a_case_a_manifests_own_arrays_are_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("k.ptx"), PLACES).expect("written");
    let launch = "kernel = \"places\"\nblock = [6]\ngrid = [1]\n";
    let parameters = "parameter = [\n    { buffer = \"places\" },\n    { zeros = { dtype = \"i64\", shape = [1, 2] } },\n]\n";
    let buffer = "[buffer.places]\npoison = { dtype = \"i32\", shape = [2, 4] }\n";
    fs::write(here.join("k.toml"), format!("{launch}{parameters}{buffer}")).expect("written");
    let words = ["ptx", "k.ptx", "--manifest", "k.toml", "--observe-only"];
    let words = [&words[..], &["--save", "own.safetensors"]].concat();
    say(here, &words).exits(0).prints("no misuse seen");
    let bytes = fs::read(here.join("own.safetensors")).expect("written");
    let file = container::parse(&bytes).expect("a file");
    assert_eq!(file.text("never_written"), Some("8 of 32 bytes of places"), "{:?}", file.metadata);
    let (places, other) = (&file.tensors["places"], &file.tensors["parameter 2"]);
    assert_eq!((places.type_name().as_str(), &places.shape[..]), ("I32", &[2, 4][..]));
    let written = [0, 1, 2, 3, 4, 5, u32::MAX, u32::MAX].map(u32::to_le_bytes).concat();
    assert!(bytes.windows(written.len()).any(|part| part == written), "and 0xff where nothing is");
    assert_eq!((other.type_name().as_str(), &other.shape[..]), ("I64", &[1, 2][..]));
    // A kernel without arrays has nothing to save.
    let none = launch.replace("places", "nothing") + "parameter = []\n";
    fs::write(here.join("k.toml"), none).expect("written");
    say(here, &words).exits(2).complains("--save: the manifest has no array of its own");
}
