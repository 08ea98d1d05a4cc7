//! What a finding says: lanes, views, elements, lines, and departures on purpose.

use super::{copies, elementwise, manifest_of_wgsl};
use splatcheck_tests::{Said, again, change, say};
use std::fs;
use std::path::Path;

/// A pair whose lines are those of `copy.cu`: the manifest, and the text of the kernels, which is `copy.ptx`.
fn copies_of_cuda(folder: &Path, forward: &str) -> [String; 2] {
    let (manifest, ptx) = (copies(folder, forward), folder.join("copy.ptx"));
    let text = fs::read_to_string(&ptx).expect("written") + ".file 1 \"/home/me/copy.cu\"\n";
    fs::write(&ptx, &text).expect("written");
    [manifest, text]
}

/// A clamp whose gradient the backward kernel lets pass, as 3DGS does with alpha.
#[test]
fn a_departure_on_purpose_is_proposed_and_then_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let clamp = ".loc 1 7 1\nmin.f32 %f2, %f1, 0fBF800000;\n.loc 1 8 1";
    let [manifest, _] = copies_of_cuda(folder.path(), clamp);
    let run = || say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "3"]);
    let said = run();
    assert_eq!(said.code, Some(1), "the derivative of a clamp is zero: {said:?}");
    let line = "or on purpose: it agrees if copy.cu:7 lets the derivative pass: [conventions] \
                straight_through = [\"copy.cu:7\"]\n";
    said.prints(line);
    let text = fs::read_to_string(&manifest).expect("there");
    let with = |table: &str| fs::write(&manifest, format!("{text}{table}\n")).expect("written");
    with("[conventions]\nstraight_through = [\"copy.cu:7\"]");
    let said = run().exits(0);
    assert!(said.out.contains("straight_through at copy.cu:7"), "said aloud: {said:?}");
    with("[conventions]\nstraight_through = [\"copy.cu:8\"]");
    let said = run();
    assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{said:?}");
    assert!(
        said.err.contains("copy.cu:8 is no line") && said.err.contains("copy.cu:7"),
        "{said:?}"
    );
}

/// A ticket of which only the first thread makes the output: who does not put it back has none in the next run.
#[test]
fn a_counter_that_is_not_reset_shows_in_a_second_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = |reset: &str| {
        let manifest = copies(
            folder.path(),
            &format!(
                ".reg .pred %p<2>;\n.reg .b64 %c<2>;\nmov.u64 %c1, counter;\n\
                 atom.global.add.u32 %r1, [%c1], 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n{reset}\n\
                 mov.f32 %f2, %f1;"
            ),
        );
        let ptx = folder.path().join("copy.ptx");
        let entry = ".visible .entry forward";
        let counter = format!(".global .align 4 .u32 counter = 0;\n{entry}");
        change(&ptx, &ptx, &[[entry, &counter]]);
        say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "3"])
    };
    ran("atom.global.exch.b32 %r2, [%c1], 0;").exits(0);
    let wrong = ran("").exits(1);
    wrong.prints("in a second run alone");
    say(folder.path(), &again(&wrong.out)).exits(1);
}

/// A sum in a variable of the module that nobody clears: a second run with the same inputs is twice the first.
#[test]
fn what_a_run_before_left_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = copies(folder.path(), "mul.f32 %f2, %f1, 0f3F800000;");
    let ptx = folder.path().join("copy.ptx");
    let entry = ".visible .entry forward";
    let kept = format!(".global .align 4 .f32 kept = 0f00000000;\n{entry}");
    let adds = ".reg .b64 %c<2>;\nmov.u64 %c1, kept;\nld.global.f32 %f3, [%c1];\nadd.f32 %f2, %f3, %f1;\n\
                st.global.f32 [%c1], %f2;";
    change(&ptx, &ptx, &[[entry, &kept], ["mov.f32 %f2, %f1;", adds]]);
    let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "3"]).exits(1);
    said.prints("in a second run alone");
    said.prints("looks like: v_x holds what the run before left, and adds its own");
}

/// A number that is quantized forward, whose gradient the backward kernel lets pass (a straight-through estimator):
/// rounded to a float, to an integer and back, or to a number in fixed point whose fraction is used.
#[test]
fn a_rounding_may_hand_the_gradient_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let fraction = "mul.f32 %f2, %f1, 0f47800000;\ncvt.rzi.s32.f32 %r1, %f2;\nand.b32 %r1, %r1, 65535;\n\
                    cvt.rn.f32.s32 %f2, %r1;\nmul.f32 %f2, %f2, 0f37800000;";
    for rounding in [
        "cvt.rni.f32.f32 %f2, %f1;",
        "cvt.rni.s32.f32 %r1, %f1;\ncvt.rn.f32.s32 %f2, %r1;",
        fraction,
    ] {
        let quantized = format!(".loc 1 7 1\n{rounding}\n.loc 1 8 1");
        let [manifest, _] = copies_of_cuda(folder.path(), &quantized);
        let run = || say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "3"]);
        let said = run();
        assert_eq!(said.code, Some(1), "the derivative of a rounding is zero: {said:?}");
        assert!(said.out.contains("straight_through = [\"copy.cu:7\"]"), "proposed: {said:?}");
        let text = fs::read_to_string(&manifest).expect("there");
        let table = "[conventions]\nstraight_through = [\"copy.cu:7\"]\n";
        fs::write(&manifest, format!("{text}{table}")).expect("written");
        let said = run();
        assert_eq!(said.code, Some(0), "{rounding}: {said:?}");
        assert!(said.out.contains("straight_through at copy.cu:7"), "said aloud: {said:?}");
    }
}

/// `y = sum of x w` over 64 threads of two views; the backward kernel leaves out a lane, or a view.
#[test]
fn a_lane_and_a_view_that_are_left_out_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = |name: &str, by: &str, to: &str, guard: &str| {
        format!(
            ".visible .entry {name}(.param .u64 by, .param .u64 w, .param .u64 to)\n{{\n.reg .b32 %r<9>;\n\
             .reg .f32 %f<9>;\n.reg .b64 %d<9>;\n.reg .pred %p<2>;\nld.param.u64 %d1, [by];\n\
             ld.param.u64 %d2, [w];\nld.param.u64 %d3, [to];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
             mad.lo.s32 %r3, %r2, 64, %r1;\nmad.wide.u32 %d4, %r3, 4, %d2;\nmad.wide.u32 %d5, %r2, {by}, %d1;\n\
             mad.wide.u32 %d6, %r2, {to}, %d3;\nld.global.f32 %f1, [%d5];\nld.global.f32 %f2, [%d4];\n\
             mul.f32 %f3, %f1, %f2;\n{guard}red.global.add.f32 [%d6], %f3;\nret;\n}}\n"
        )
    };
    let manifest = |launch: &str, parameters: &str| {
        format!(
            "[{launch}]\nkernel = \"{launch}\"\nblock = [64]\ngrid = [2]\nparameters = {parameters}\n"
        )
    };
    let text = format!(
        "ptx = \"sum.ptx\"\n[inputs]\nx = {{ shape = [1] }}\nw = {{ shape = [2, 64] }}\n[outputs]\ny = {{ shape = [2], \
         begins = \"zeros\" }}\n[gradients]\ny = \"v_y\"\nx = \"v_x\"\n{}{}",
        manifest("forward", "[\"x\", \"w\", \"y\"]"),
        manifest("backward", "[\"v_y\", \"w\", \"v_x\"]"),
    );
    let file = folder.path().join("sum.toml");
    fs::write(&file, text).expect("written");
    let file = file.display().to_string();
    let run = |guard: &str| {
        let ptx = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n{}{}",
            kernel("forward", "0", "4", ""),
            kernel("backward", "4", "0", guard),
        );
        fs::write(folder.path().join("sum.ptx"), ptx).expect("written");
        say(folder.path(), &["gradcheck", "--manifest", &file])
    };
    assert_eq!(run("").code, Some(0), "the right one");
    let lane = "and.b32 %r4, %r1, 31;\nsetp.ne.u32 %p1, %r4, 31;\n@%p1 ";
    let view = "setp.ne.u32 %p1, %r2, 1;\n@%p1 ";
    let warp = "setp.lt.u32 %p1, %r1, 32;\n@%p1 ";
    for (guard, words) in [
        (lane, "v_x lacks what lane 31 of each warp contributes"),
        (view, "v_x lacks what the blocks with blockIdx.x = 1 contribute"),
        (warp, "v_x lacks what warp 1 of each block contributes"),
        (
            "setp.eq.u32 %p1, %r1, 0;\n@%p1 ",
            "v_x holds nothing but what thread 0 of each block contributes",
        ),
    ] {
        let said = run(guard);
        assert_eq!(said.code, Some(1), "{words}: {said:?}");
        assert!(said.out.contains(&format!("\n  looks like: {words}")), "{words}: {said:?}");
    }
}

/// A misuse is told in the words of the manifest: which array, which element, which line of CUDA.
#[test]
fn a_misuse_names_the_array_its_element_and_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = ".loc 1 7 1\nmov.f32 %f2, %f1;\n.loc 1 8 1";
    let ([manifest, right], ptx) =
        (copies_of_cuda(folder.path(), lines), folder.path().join("copy.ptx"));
    let text = fs::read_to_string(&manifest).expect("written");
    let run = |(from, to): (&str, &str), block: &str| {
        let (forward, backward) = right.split_once("backward(").expect("two kernels");
        assert!(from.is_empty() || forward.contains(from), "{from}");
        let forward = forward.replace(from, to);
        fs::write(&ptx, format!("{forward}backward({backward}")).expect("written");
        fs::write(&manifest, text.replacen("block = [1]", block, 1)).expect("written");
        say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "1"])
    };
    assert_eq!(run(("[%d2]", "[%d2]"), "block = [1]").code, Some(0), "the right one");
    for (change, block, says) in [
        (
            ("[%d2], %f2", "[%d2+4], %f2"),
            "block = [1]",
            "an access out of bounds to y (element 1 of 1) at copy.cu:8: ",
        ),
        (("[%d2], %f2", "[%d1], %f2"), "block = [1]", "a write to the input x[0] at copy.cu:8: "),
        (("[%d2], %f2", "[%d2], %f2"), "block = [64]", "a data race on y[0] at copy.cu:8: "),
        (
            ("[%d2], %f2", "[%d2], %f3"),
            "block = [1]",
            "a number that was never written goes to y[0] at copy.cu:8: ",
        ),
    ] {
        let said = run(change, block);
        assert_eq!(said.code, Some(1), "{says}: {said:?}");
        assert!(
            said.out.contains(&format!("\nDISAGREE no result (case 0): {says}")),
            "{says}: {said:?}"
        );
    }
}

/// `y = x^2 + x`, whose backward kernel leaves out the square: its two operands are one number.
#[test]
fn a_square_that_is_left_out_is_no_wrong_sign() {
    let folder = tempfile::tempdir().expect("a folder");
    let square = ".loc 1 7 1\nfma.rn.f32 %f2, %f1, %f1, %f1;\n.loc 1 0 0";
    let [manifest, _] = copies_of_cuda(folder.path(), square);
    let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "3"]);
    let words = "\n  looks like: v_x lacks what the first two operands contribute at copy.cu:7 ";
    said.prints(words);
}

/// A convention is proposed only if every case that failed agrees with it: `y = x^2 + x` without the square, and with
/// a gradient that is right at 1 alone.
#[test]
fn a_convention_must_hold_for_every_case_that_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let square = ".loc 1 7 1\nmul.f32 %f3, %f1, %f1;\n.loc 1 8 1\nadd.f32 %f2, %f3, %f1;";
    let [manifest, text] = copies_of_cuda(folder.path(), square);
    let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "5"]);
    assert!(
        said.out.contains("or on purpose: it agrees if copy.cu:7 is a constant"),
        "it does: {said:?}"
    );
    // The gradient is 3, which is 2 x + 1 where x is 1 as in the smallest case, and the square's alone nowhere else.
    let thrice = text.replace("mov.f32 %f2, %f1;\nst", "fma.rn.f32 %f2, %f1, 0f40000000, %f1;\nst");
    assert_ne!(thrice, text, "changed");
    fs::write(folder.path().join("copy.ptx"), thrice).expect("written");
    let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--cases", "5"]).exits(1);
    assert!(!said.out.contains("or on purpose"), "at 1 alone: {said:?}");
}

/// What the manifest never draws the kernels may not be made for: a case is not made simpler by it.
#[test]
fn a_case_stays_within_its_draw() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = copies(folder.path(), "mul.f32 %f2, %f1, %f1;");
    let run = |draw: &str| {
        let text = fs::read_to_string(&manifest).expect("there");
        let own = folder.path().join("own.toml");
        fs::write(&own, text.replace("[inputs.x]\n", &format!("[inputs.x]\ndraw = {draw}\n")))
            .expect("written");
        let said =
            say(folder.path(), &["gradcheck", "--manifest", "own.toml", "--cases", "3"]).exits(1);
        said.out
    };
    let one = ", the derivative is 2e0";
    let wide = run("{ uniform = [0.25, 2.0] }");
    assert!(wide.contains(one), "x is 1, as simple as it can be: {wide}");
    let narrow = run("{ uniform = [0.25, 0.75] }");
    assert!(!narrow.contains(one), "x is never 1: {narrow}");
}

/// A backward kernel that reads one of its two gradients only.
#[test]
fn a_given_gradient_that_is_not_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let buffers = [
        "read> x: array<f32>",
        "read_write> y: array<f32>",
        "read_write> z: array<f32>",
        "read> v_y: array<f32>",
        "read> v_z: array<f32>",
        "read_write> v_x: array<f32>",
    ];
    let bodies = [
        "y[i] = 3.0 * x[i]; z[i] = x[i] * x[i] + exp(x[i]);",
        "v_x[i] = 3.0 * v_y[i] + v_z[i] * (2.0 * x[i] + exp(x[i]));",
    ];
    let source = elementwise(&buffers, bodies);
    let tables = "[sizes]\nN = { from = 30, to = 64 }\n[inputs]\nx = { shape = [\"N\"] }\n\
                  [outputs]\ny = { shape = [\"N\"] }\nz = { shape = [\"N\"] }\n\
                  [gradients]\ny = \"v_y\"\nz = \"v_z\"\nx = \"v_x\"\n";
    let manifest = manifest_of_wgsl(tables, [&["x", "y", "z"], &["x", "v_y", "v_z", "v_x"]]);
    fs::write(here.join("pair.toml"), manifest).expect("written");
    let judged = |from: &str, to: &str| {
        fs::write(here.join("pair.wgsl"), source.replace(from, to)).expect("written");
        say(here, &["gradcheck", "--manifest", "pair.toml", "--cases", "2"])
    };
    judged("", "").exits(0);
    for (to, words) in [
        ("0.0 * v_z[i]", "v_x lacks what v_z contributes"),
        ("-v_z[i]", "v_x has with the wrong sign what v_z contributes"),
    ] {
        let wrong = judged("+ v_z[i]", &format!("+ {to}"));
        wrong.prints(words);
    }
}

/// What a pair of kernels in WGSL says of itself that multiplies x by something of `a` and of the sweep's `m`.
fn said_of_product(folder: &Path, [forward, backward]: [&str; 2]) -> Said {
    let buffers = ["read> x: array<f32>", "read> a: array<f32>", "read> m: array<u32>"];
    let results =
        ["read_write> y: array<f32>", "read> v_y: array<f32>", "read_write> v_x: array<f32>"];
    // A buffer that a kernel does not use is none of its parameters.
    let used = [forward, backward].map(|body| format!("_ = a[0]; _ = m[0]; {body}"));
    let text = elementwise(&[&buffers[..], &results].concat(), [&used[0], &used[1]]);
    fs::write(folder.join("pair.wgsl"), text).expect("written");
    let tables = "[sizes]\nN = { from = 8, to = 40 }\n[sweep]\nM = [1, 2, 3]\n[inputs]\nx = { shape = [\"N\"] }\n\
                  a = { shape = [4] }\nm = { shape = [1], dtype = \"u32\", draw = { value = \"M\" } }\n[outputs]\n\
                  y = { shape = [\"N\"] }\n[gradients]\ny = \"v_y\"\nx = \"v_x\"\n";
    let parameters = [&["x", "a", "m", "y"][..], &["x", "a", "m", "v_y", "v_x"]];
    fs::write(folder.join("pair.toml"), manifest_of_wgsl(tables, parameters)).expect("written");
    say(folder, &["gradcheck", "--manifest", "pair.toml", "--cases", "4"])
}

/// In one case of three the gradient is zero, and in each its factor is another one.
#[test]
fn what_one_case_looks_like_is_said_if_others_bear_it_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let two = "let k = m[0]; let p = a[i % k]; let q = a[(i + 1) % k];";
    let forward = format!("{two} y[i] = x[i] * (p - q * a[3]);");
    let right = format!("{two} v_x[i] = v_y[i] * (p - q * a[3]);");
    said_of_product(folder.path(), [&forward, &right]).exits(0);
    let wrong = format!("{two} v_x[i] = v_y[i] * (p - q);");
    let said = said_of_product(folder.path(), [&forward, &wrong]).exits(1);
    assert!(!said.out.contains("throughout"), "of M = 1 alone: {said:?}");
    let wrong = "v_x[i] = v_y[i] * 2.0;";
    let said = said_of_product(folder.path(), ["y[i] = x[i] * a[0];", wrong]).exits(1);
    said.prints("looks like: v_x is the derivative times another factor in each case: a factor of x's gradient is");
}

/// Ones in place of all numbers are simpler, and here a distance of 0, whose gradient is another fault.
#[test]
fn a_wrong_number_is_not_made_smaller_to_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let backward = "let d = x[i] - a[i % 4]; v_x[i] = 2.0 * v_y[i] * d / abs(d);";
    let said = said_of_product(folder.path(), ["y[i] = abs(x[i] - a[i % 4]);", backward]).exits(1);
    said.prints("looks like: v_x is 2 times the derivative throughout");
    assert!(!said.out.contains("NaN"), "{said:?}");
}
