//! `splatcheck gradcheck`, `compare` and `accuracy`: pairs of kernels that no oracle of ours knows.

mod chains;
mod explained;
mod half;
mod kinks;
mod open;
mod signs;
mod unjudged;
mod wgsl;

use splatcheck_tests::{root, say};
use std::fs;
use std::path::Path;

fn example(file: &str) -> String {
    root().join("harness/examples/gradcheck").join(file).display().to_string()
}

/// A pair of kernels in WGSL whose thread `i` does this for each `i < arrayLength(&x)`. The buffers are as in
/// `read> x: array<f32>`, bound in their order.
fn elementwise(buffers: &[&str], [forward, backward]: [&str; 2]) -> String {
    let bound = |(at, of)| format!("@group(0) @binding({at}) var<storage, {of};\n");
    let kernel = |name: &str, body: &str| {
        format!(
            "@compute @workgroup_size(32) fn {name}(@builtin(global_invocation_id) g: vec3u) {{\n\
             let i = g.x;\nif (i < arrayLength(&x)) {{ {body} }}\n}}\n"
        )
    };
    let bound: String = buffers.iter().enumerate().map(bound).collect();
    bound + &kernel("forward", forward) + &kernel("backward", backward)
}

/// The manifest of such a pair in `pair.wgsl`: its tables of arrays, and the parameters of both kernels.
fn manifest_of_wgsl(tables: &str, [forward, backward]: [&[&str]; 2]) -> String {
    let launch = |name: &str, parameters: &[&str]| {
        format!(
            "[{name}]\nkernel = \"{name}\"\nblock = [32]\ngrid = [2]\nparameters = {parameters:?}\n"
        )
    };
    let launches = launch("forward", forward) + &launch("backward", backward);
    format!("wgsl = \"pair.wgsl\"\n{tables}{launches}")
}

#[test]
fn a_right_pair_agrees_in_every_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = example("pair.toml");
    for order in ["lockstep", "random:3", "adversarial:5"] {
        let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--schedule", order]);
        assert_eq!(said.code, Some(0), "{order}: {said:?}");
        assert!(said.out.starts_with("agree: 20 runs, 2414 derivatives compared"), "{said:?}");
        for gradient in ["\nv_w ", "\nv_x "] {
            assert!(said.out.contains(gradient), "{order}: {said:?}");
        }
    }
    assert!(fs::read_dir(folder.path()).expect("a folder").next().is_none(), "nothing is written");
}

/// The backward kernel of `pair_broken.ptx` forgets a part of the gradient, which one line of the forward
/// kernel makes.
#[test]
fn a_missing_part_is_named_with_its_line_and_can_be_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, broken) = (example("pair.toml"), example("pair_broken.ptx"));
    let json = folder.path().join("run.json").display().to_string();
    let (junit, sarif) = (folder.path().join("run.xml"), folder.path().join("run.sarif"));
    let (xml, results) = (junit.display().to_string(), sarif.display().to_string());
    let files = ["--json", &json, "--junit", &xml, "--sarif", &results];
    let words = [&["gradcheck", &broken, "--manifest", &manifest][..], &files].concat();
    let said = say(folder.path(), &words).exits(1);
    assert!(said.out.starts_with("disagree: 20 of 20 runs"), "{said:?}");
    let source =
        fs::read_to_string(root().join("harness/examples/gradcheck/pair.cu")).expect("there");
    let line = 1 + source.lines().position(|line| line.contains("value += ")).expect("the part");
    let first =
        format!("\n  looks like: v_w lacks what the third operand contributes at pair.cu:{line} ");
    said.prints(&first);
    assert!(said.out.contains("\nDISAGREE v_w: 1 of 1 (case 0, N = 1"), "made smaller: {said:?}");
    assert!(!said.out.contains("DISAGREE v_x"), "the other is right: {said:?}");
    let text = fs::read_to_string(&json).expect("written");
    let run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(run["cases"].as_array().map(Vec::len), Some(20), "every case");
    let file = folder.path().join("splatcheck-out/gradcheck-pair-0-0.safetensors");
    let file = file.display().to_string();
    for (ptx, code) in [(&broken, 1), (&example("pair.ptx"), 0)] {
        let said =
            say(folder.path(), &["gradcheck", ptx, "--manifest", &manifest, "--inputs", &file]);
        assert_eq!(said.code, Some(code), "{ptx}: {said:?}");
    }
    assert!(said.out.contains(&format!("  run it again: splatcheck replay {}", "splatcheck-out/")));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let moved = elsewhere.path().join("moved.safetensors");
    fs::copy(&file, &moved).expect("copied");
    let said = say(elsewhere.path(), &["replay", "moved.safetensors"]);
    assert_eq!(said.code, Some(1), "it has its kernels and its manifest: {said:?}");
    said.prints("\nDISAGREE v_w: 1 of 1 (case 0, N = 1");
    let xml = fs::read_to_string(&junit).expect("written");
    for part in
        ["name=\"gradcheck pair of ", "tests=\"2\"", "failures=\"1\"", "looks like: v_w lacks"]
    {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    let text = fs::read_to_string(&sarif).expect("written");
    let log: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().expect("a file");
    assert!(uri.ends_with("harness/examples/gradcheck/pair.cu"), "beside the manifest: {uri}");
    assert_eq!(place["region"]["startLine"], line, "{place}");
}

#[test]
fn a_case_is_saved_with_its_exact_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("case.safetensors");
    let (manifest, name) = (example("pair.toml"), file.display().to_string());
    let said = say(
        folder.path(),
        &["gradcheck", "--manifest", &manifest, "--save", &name, "--cases", "1"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let bytes = fs::read(&file).expect("written");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("safetensors");
    let floats = |name: &str| -> Vec<f64> {
        let tensor = tensors.tensor(name).expect(name);
        let eight = tensor.data().as_chunks::<8>().0.iter();
        eight.map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    let (exact, single, radius) = (floats("exact_y"), floats("f32_y"), floats("radius_y"));
    assert_eq!(exact.len(), 8, "the cells");
    for ((exact, single), radius) in exact.iter().zip(&single).zip(&radius) {
        assert!((exact - single).abs() <= *radius, "{single} is not within {radius} of {exact}");
    }
    let x = tensors.tensor("x").expect("the input").shape()[0];
    assert_eq!(floats("gradient_x").len(), x, "a derivative for each number");
}

#[test]
fn programs_are_compared_and_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, pair) = (example("pair.toml"), example("pair.ptx"));
    let said = say(
        folder.path(),
        &["compare", &pair, &example("pair_broken.ptx"), "--manifest", &manifest],
    );
    assert_eq!(said.code, Some(1), "their gradients differ: {said:?}");
    said.prints("\nDISAGREE v_w: ");
    let line = "\n  looks like: v_w lacks what the second operand contributes at pair.cu:24 (";
    assert!(said.out.contains(line), "what the right one adds: {said:?}");
    assert!(!said.out.contains("\nDISAGREE y: "), "their forward kernels are the same: {said:?}");
    let said = say(folder.path(), &["compare", &pair, &pair, "--manifest", &manifest]);
    assert_eq!(said.code, Some(0), "a program is itself: {said:?}");
    assert!(said.out.starts_with("agree: 20 runs, 2574 elements compared"), "{said:?}");
    // The half of the square, a quarter of it.
    let text = fs::read_to_string(&pair).expect("there");
    let half = "0f3F000000";
    assert!(text.contains(half), "the literal is there");
    let other = folder.path().join("other.ptx").display().to_string();
    fs::write(&other, text.replace(half, "0f3E800000")).expect("written");
    let said = say(folder.path(), &["compare", &pair, &other, "--manifest", &manifest]).exits(1);
    said.prints("\nDISAGREE y: ");
    let said = say(folder.path(), &["accuracy", "--manifest", &manifest]).exits(0);
    assert!(said.out.starts_with("measured 20 runs, 2574 elements"), "{said:?}");
}

/// A number that is added and taken away takes digits with it: the sum's rounding, and not the difference's.
#[test]
fn accuracy_names_the_line_that_loses_digits() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let forward = "let shifted = x[i] + 4096.0;\nlet back = shifted - 4096.0;\ny[i] = back * back;";
    let text = elementwise(
        &["read> x: array<f32>", "read_write> y: array<f32>"],
        [forward, "y[i] = x[i];"],
    );
    let line = 1 + text.lines().position(|line| line.contains("shifted = ")).expect("it is there");
    fs::write(here.join("pair.wgsl"), text).expect("written");
    let manifest = "wgsl = \"pair.wgsl\"\n[inputs.x]\nshape = [\"N\"]\n[outputs.y]\nshape = [\"N\"]\n[sizes]\n\
                    N = { from = 30, to = 64 }\n[forward]\nkernel = \"forward\"\nblock = [32]\ngrid = [2]\n\
                    parameters = [\"x\", \"y\"]\n";
    fs::write(here.join("k.toml"), manifest).expect("written");
    let said = say(here, &["accuracy", "--manifest", "k.toml", "--json", "out.json"]).exits(0);
    said.prints(" of 24 bits are right in case ");
    let words = format!("\n  the roundings that may take it there: 100 % pair.wgsl:{line}:");
    said.prints(&words);
    let json = fs::read_to_string(here.join("out.json")).expect("written");
    assert!(json.contains("\"right_bits\":"), "{json}");
}

/// A pair in PTX: the forward kernel does `forward` to a number, the backward kernel hands the gradient on.
fn copies(folder: &Path, forward: &str) -> String {
    let kernel = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 a, .param .u64 b)\n{{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n\
             .reg .b64 %d<9>;\nld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nld.global.f32 %f1, [%d1];\n\
             {body}\nst.global.f32 [%d2], %f2;\nret;\n}}\n"
        )
    };
    let ptx = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{}{}",
        kernel("forward", forward),
        kernel("backward", "mov.f32 %f2, %f1;")
    );
    fs::write(folder.join("copy.ptx"), ptx).expect("written");
    let manifest = "ptx = \"copy.ptx\"\n[inputs.x]\nshape = [1]\n[outputs.y]\nshape = [1]\n[gradients]\ny = \
                    \"v_y\"\nx = \"v_x\"\n[forward]\nkernel = \"forward\"\nblock = [1]\ngrid = [1]\nparameters = \
                    [\"x\", \"y\"]\n[backward]\nkernel = \"backward\"\nblock = [1]\ngrid = [1]\nparameters = \
                    [\"v_y\", \"v_x\"]\n";
    let file = folder.join("copy.toml");
    fs::write(&file, manifest).expect("written");
    file.display().to_string()
}

/// A backward kernel that is wrong at some thresholds, and what it was given: the first of two parameters.
fn swept(folder: &Path) -> String {
    let manifest = copies(folder, "mov.f32 %f2, %f1;");
    let text = fs::read_to_string(folder.join("copy.ptx")).expect("written");
    let (forward, backward) = text.split_once(".visible .entry backward").expect("two kernels");
    let backward = backward.replace(".param .u64 b)", ".param .u64 b, .param .u32 t)").replace(
        "mov.f32 %f2, %f1;",
        ".reg .pred %p<3>;\nld.param.u32 %r1, [t];\nsetp.gt.u32 %p1, %r1, 5;\nmov.f32 %f2, %f1;\n\
         @%p1 add.f32 %f2, %f1, %f1;\n",
    );
    fs::write(folder.join("copy.ptx"), format!("{forward}.visible .entry backward{backward}"))
        .expect("written");
    let text = fs::read_to_string(&manifest).expect("written");
    let given =
        "[\"v_y\", \"v_x\", { u32 = \"threshold\" }]\n[sweep]\nthreshold = { from = 0, to = 33 }\n";
    fs::write(&manifest, text.replace("[\"v_y\", \"v_x\"]\n", given)).expect("written");
    manifest
}

#[test]
fn every_value_of_what_is_swept_is_run_and_the_wrong_ones_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = swept(folder.path());
    let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "2"]).exits(1);
    assert!(said.out.starts_with("disagree: 56 of 68 runs"), "{said:?}");
    assert!(said.out.contains("(case 0, threshold = 6)"), "the first of them: {said:?}");
    said.prints("  wrong at threshold = 6 to 33, not at 0 to 5\n");
    let file = folder.path().join("splatcheck-out/gradcheck-copy-0-0.safetensors");
    let file = file.display().to_string();
    let again = ["gradcheck", "--manifest", &manifest, "--inputs", &file];
    let said = say(folder.path(), &again);
    assert!(said.out.starts_with("disagree: 1 of 1 run"), "its own threshold alone: {said:?}");
    let text = fs::read_to_string(&manifest).expect("there");
    for (sweep, says) in [
        ("threshold = { from = 3, to = 2 }", "no value"),
        ("threshold = []", "no value"),
        ("threshold = { from = 0, to = 20000 }", "20001 combinations"),
        ("threshold = 3", "expected a list, or { from = 0, to = 33 }"),
    ] {
        fs::write(&manifest, text.replace("threshold = { from = 0, to = 33 }", sweep))
            .expect("written");
        let said = say(folder.path(), &["gradcheck", "--manifest", &manifest]);
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{sweep}: {said:?}");
        assert!(said.err.contains(says), "{sweep}: {said:?}");
    }
}

/// What is named is judged: a file that no launch uses is an error, and what it lacks is the manifest's.
#[test]
fn a_named_file_is_used_and_the_manifest_has_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = copies(folder.path(), "mov.f32 %f2, %f1;");
    let text = fs::read_to_string(folder.path().join("copy.ptx")).expect("written");
    let own = folder.path().join("own.ptx");
    let run = || {
        let own = own.display().to_string();
        say(folder.path(), &["gradcheck", &own, "--manifest", &manifest, "--cases", "3"])
    };
    let (head, kernels) = text.split_once(".visible").expect("kernels");
    let (forward, backward) = kernels.split_once(".visible").expect("two");
    let twice = backward.replace("mov.f32 %f2, %f1;", "add.f32 %f2, %f1, %f1;");
    fs::write(&own, format!("{head}.visible{twice}")).expect("written");
    assert_eq!(run().code, Some(1), "its backward kernel, the manifest's forward kernel");
    fs::write(&own, format!("{head}.visible{}", forward.replace("forward", "other")))
        .expect("written");
    let said = run();
    assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{said:?}");
    said.complains("own.ptx has no kernel that the manifest launches");
}

#[test]
fn what_cannot_be_followed_is_one_line_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = copies(folder.path(), "mov.f32 %f2, %f1;");
    let text = fs::read_to_string(&manifest).expect("there");
    let refused = |text: &str, words: &[&str], says: &str| {
        fs::write(&manifest, text).expect("written");
        let said = say(folder.path(), &[&["gradcheck", "--manifest", &manifest], words].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{says}: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{says}: {said:?}");
        said.complains(says);
    };
    refused(&text, &["--cases", "0"], "nothing would be judged");
    refused(&text, &["no.ptx"], "no.ptx");
    refused(&text, &["--inputs", "no.safetensors"], "no.safetensors");
    refused(&text.replace("[1]\ngrid", "[0]\ngrid"), &[], "kernel 'forward'");
    refused(&text.replace("\"forward\"", "\"foreward\""), &[], "foreward");
    refused(
        &text.replace("parameters = [\"x\", \"y\"]", "parameters = [\"x\", \"y\", { u32 = 1 }]"),
        &[],
        "[8, 8, 4]",
    );
    refused(&text.replace("ptx = \"copy.ptx\"\n", ""), &[], "name the kernels' PTX files");
    refused(text.split("[backward]").next().expect("a part"), &[], "there is no [backward]");
    refused("ptx = 3", &[], "ptx is 3: expected a text or a table, or a list of such");
}

/// A file with `x` of these numbers, as a program of a user's would write it.
fn write_x(file: &Path, x: &[f32]) {
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let tensor =
        safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![x.len()], &bytes);
    safetensors::serialize_to_file([("x", tensor.expect("a tensor"))], None, file)
        .expect("written");
}

/// What a program writes is the case: its arrays, the sizes of their shapes, and what it leaves out is drawn.
#[test]
fn a_program_makes_the_cases() {
    let folder = tempfile::tempdir().expect("a folder");
    for (index, x) in [&[1.0, 2.0, 3.0][..], &[0.5; 5]].into_iter().enumerate() {
        write_x(&folder.path().join(format!("case{index}.safetensors")), x);
    }
    let program = folder.path().join("make.sh");
    let make = |text: &str| fs::write(&program, text).expect("written");
    let run = |manifest: &str, words: &[&str]| {
        let command = format!("sh {}", program.display());
        let from = ["gradcheck", "--manifest", manifest, "--cases", "2", "--cases-from", &command];
        say(folder.path(), &[&from[..], words].concat())
    };
    make("test \"$1\" = 7 && cp case$2.safetensors \"$3\"");
    let said = run(&example("pair.toml"), &["--seed", "7"]).exits(0);
    assert!(said.out.starts_with("agree: 2 runs, 16 derivatives"), "x and w, 3 and 5: {said:?}");
    let broken = example("pair_broken.ptx");
    let page = folder.path().join("page.html").display().to_string();
    let said = run(&example("pair.toml"), &["--seed", "7", "--html", &page, &broken]).exits(1);
    assert!(said.out.contains("(case 0, N = 3, blocks = 1)"), "as it was made: {said:?}");
    let file = folder.path().join("splatcheck-out/gradcheck-pair-7-0.safetensors");
    assert_eq!(say(folder.path(), &["replay", &file.display().to_string()]).code, Some(1), "again");
    let html = fs::read_to_string(&page).expect("written");
    for part in ["<h1 class=\"disagree\">", "v_w lacks what", "<strong>    9  ", "v_w[0]", "replay"]
    {
        assert!(html.contains(part), "{part}: {html}");
    }
    // A later case that cannot be made takes no finding away, and is an error where there is none.
    let first_alone = "test \"$2\" = 0 && cp case0.safetensors \"$3\"";
    make(first_alone);
    run(&example("pair.toml"), &["--seed", "7", &broken])
        .exits(1)
        .prints("v_w lacks what")
        .prints("NOT EXERCISED: case 1: ");
    run(&example("pair.toml"), &["--seed", "7"]).exits(2).complains("case 1");
    for (text, says) in [
        ("echo no mesh >&2; exit 3", "exit code 3"),
        ("exit 0", "wrote no file"),
        ("echo nothing > \"$3\"", "wrote what is no case"),
    ] {
        make(text);
        let said = run(&example("pair.toml"), &[]);
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{says}: {said:?}");
        assert!(said.err.contains("case 0") && said.err.contains(says), "{says}: {said:?}");
    }
}

/// Indices of 64 bits and a mask of bytes, as `PyTorch` has them: `y = mask ? x[index] : 0`.
#[test]
fn indices_and_masks_of_pytorch_are_drawn_and_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = |name: &str, from: &str, to: &str, at: [&str; 2]| {
        let [from_offset, to_offset] = at;
        format!(
            ".visible .entry {name}(.param .u64 {from}, .param .u64 index, .param .u64 mask, .param .u64 {to})\n{{\n\
             .reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %d<9>;\n.reg .pred %p<2>;\nld.param.u64 %d1, [{from}];\n\
             ld.param.u64 %d2, [index];\nld.param.u64 %d3, [mask];\nld.param.u64 %d4, [{to}];\n\
             ld.global.u64 %d5, [%d2];\nshl.b64 %d5, %d5, 2;\nadd.s64 %d1, %d1, {from_offset};\n\
             add.s64 %d4, %d4, {to_offset};\nld.global.u8 %r1, [%d3];\nsetp.eq.s32 %p1, %r1, 0;\n\
             mov.f32 %f1, 0f00000000;\n@!%p1 ld.global.f32 %f1, [%d1];\nst.global.f32 [%d4], %f1;\nret;\n}}\n"
        )
    };
    let ptx = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{}{}",
        kernel("forward", "x", "y", ["%d5", "0"]),
        kernel("backward", "v_y", "v_x", ["0", "%d5"]),
    );
    fs::write(folder.path().join("gather.ptx"), ptx).expect("written");
    let launch = |name: &str, from: &str, to: &str| {
        format!(
            "[{name}]\nkernel = \"{name}\"\nblock = [1]\ngrid = [1]\nparameters = [\"{from}\", \"index\", \"mask\", \
             \"{to}\"]\n"
        )
    };
    let manifest = format!(
        "ptx = \"gather.ptx\"\n[inputs]\nx = {{ shape = [5] }}\nindex = {{ shape = [1], dtype = \"i64\", draw = {{ \
         below = 5 }} }}\nmask = {{ shape = [3], dtype = \"u8\", draw = {{ below = 2 }} }}\n[outputs]\ny = {{ shape \
         = [1] }}\n[gradients]\ny = \"v_y\"\nx = \"v_x\"\n{}{}",
        launch("forward", "x", "y"),
        launch("backward", "v_y", "v_x"),
    );
    let file = folder.path().join("gather.toml");
    fs::write(&file, &manifest).expect("written");
    let file = file.display().to_string();
    let case = folder.path().join("case.safetensors").display().to_string();
    let said = say(folder.path(), &["gradcheck", "--manifest", &file, "--save", &case]).exits(0);
    assert!(said.out.starts_with("agree: 20 runs, 100 derivatives"), "{said:?}");
    let said = say(folder.path(), &["gradcheck", "--manifest", &file, "--inputs", &case]);
    assert_ne!(said.code, Some(1), "read as it was written: {said:?}");
    fs::write(&file, manifest.replace("below = 2", "below = 257")).expect("written");
    let said = say(folder.path(), &["gradcheck", "--manifest", &file, "--cases", "999"]);
    assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "256 is no byte: {said:?}");
    said.complains("a number that the array's type can hold");
}

/// A race on equal numbers may be meant: with `races=off` the numbers are judged, also by `replay`.
#[test]
fn what_ends_a_run_is_an_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = copies(folder.path(), "add.f32 %f2, %f1, %f1;");
    let text = fs::read_to_string(&manifest).expect("written");
    fs::write(&manifest, text.replacen("block = [1]", "block = [64]", 1)).expect("written");
    let run = |more: &[&str]| {
        let own = ["gradcheck", "--manifest", &manifest, "--cases", "1"];
        say(folder.path(), &[&own[..], more].concat())
    };
    assert!(run(&[]).out.contains("a data race on y[0]"), "it ends the run");
    let said = run(&["--observe", "races=off"]);
    assert_eq!(said.code, Some(1), "the derivative is 2: {said:?}");
    said.prints("\nDISAGREE v_x: 1 of 1");
    assert!(said.out.contains(" --observe races=off\n"), "how it is run again: {said:?}");
    let file = folder.path().join("splatcheck-out/gradcheck-copy-0-0.safetensors");
    let said = say(folder.path(), &["replay", &file.display().to_string()]);
    assert!(said.out.contains("\nDISAGREE v_x: 1 of 1"), "the reproducer notes it: {said:?}");
    let verdict = said.out.lines().next().expect("a verdict");
    assert!(verdict.ends_with("; not looked for: data races"), "{said:?}");
    let said = run(&["--observe", "barriers=off"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
}
