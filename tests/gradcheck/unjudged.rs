//! What `gradcheck`, `compare` and `accuracy` cannot judge is never green: they say why, and exit with 2.

use super::copies;
use splatcheck_tests::{Said, change, say};
use std::fs;
use std::path::Path;

/// `gradcheck` of a forward kernel that does this to a number, and a backward kernel that hands the gradient on.
fn judged(folder: &Path, forward: &str) -> Said {
    let manifest = copies(folder, forward);
    say(folder, &["gradcheck", "--manifest", &manifest, "--cases", "3"])
}

/// A pair that copies, with changes to its manifest.
fn pair(folder: &Path, changes: &[[&str; 2]]) {
    let manifest = copies(folder, "mov.f32 %f2, %f1;");
    change(Path::new(&manifest), Path::new(&manifest), changes);
}

/// What a command says of the pair that lies in a folder.
fn asked(folder: &Path, command: &str) -> Said {
    let programs: &[&str] = if command == "compare" { &["copy.ptx"; 2] } else { &[] };
    let more = ["--manifest", "copy.toml", "--cases", "3", "--junit", "run.xml"];
    say(folder, &[&[command], programs, &more].concat())
}

#[test]
fn a_derivative_that_is_lost_or_zero_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |forward: &str| judged(folder.path(), forward);
    run("mov.f32 %f2, %f1;").exits(0);
    run("add.f32 %f2, %f1, %f1;").exits(1);
    let bits = run("mov.b32 %r1, %f1;\nadd.s32 %r2, %r1, 3;\nmov.b32 %f2, %r2;").exits(2);
    bits.prints("NOT EXERCISED: v_x: 3 elements");
    assert!(bits.out.starts_with("not judged: 3 runs, 0 derivatives"), "{bits:?}");
    bits.prints("LOST in 3 runs: no exact number in elements of y");
    // Where a float goes on from there, the line is known.
    let bits =
        run("mov.b32 %r1, %f1;\nadd.s32 %r2, %r1, 3;\nmov.b32 %f2, %r2;\nadd.f32 %f2, %f2, %f1;");
    let why =
        "LOST in 3 runs: a float's bits are changed by integers in a way that no rule follows at ";
    let line = bits.out.lines().find(|line| line.starts_with(why)).expect("the reason");
    assert!(line.contains("PTX line "), "where: {line}, {bits:?}");
    bits.complains("not judged: v_x");
}

/// Where most of an array is lost, a fault among it would be missed: that is not green.
#[test]
fn an_array_of_which_less_than_half_is_judged_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    // Above the threshold the number is lost.
    let lost_above = |threshold: &str| {
        let forward = format!(
            ".reg .pred %p<2>;\nmov.f32 %f2, %f1;\nsetp.gt.f32 %p1, %f1, {threshold};\n\
             mov.b32 %r1, %f1;\nadd.s32 %r2, %r1, 3;\n@%p1 mov.b32 %f2, %r2;"
        );
        let manifest = copies(here, &forward);
        say(here, &["gradcheck", "--manifest", &manifest, "--cases", "20"])
    };
    let some = lost_above("0f3F000000");
    assert_eq!(some.code, Some(0), "above 0.5: {some:?}");
    some.prints("NOT EXERCISED: v_x: ");
    let most = lost_above("0fBF000000");
    assert_eq!(most.code, Some(2), "above -0.5: {most:?}");
    assert!(most.out.starts_with("not judged: 20 runs, "), "{most:?}");
    most.complains("v_x: of all cases fewer than half of the derivatives");
}

/// A mask is a large negative number or -infinity, of which an exponential makes 0 whatever its roundings.
#[test]
fn what_is_masked_before_an_exponential_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    for (mask, bits) in
        [("-1e9", "0fCE6E6B28"), ("-FLT_MAX", "0fFF7FFFFF"), ("-INFINITY", "0fFF800000")]
    {
        let with = |last: &str| {
            let forward = format!(
                "sub.f32 %f3, {bits}, %f1;\nmul.f32 %f3, %f3, 0f3FB8AA3B;\n\
                 ex2.approx.ftz.f32 %f3, %f3;\nfma.rn.f32 %f3, %f3, %f1, {last};\n\
                 mul.f32 %f2, %f3, %f1;"
            );
            judged(folder.path(), &forward)
        };
        let right = with("0f3F800000");
        assert_eq!(right.code, Some(0), "{mask}: {right:?}");
        assert!(!right.out.contains("NOT EXERCISED"), "{mask}: {right:?}");
        let wrong = with("0f40000000");
        assert_eq!(wrong.code, Some(1), "{mask}: {wrong:?}");
    }
}

/// Rounding decides in every case whether a tenth of a number, taken ten times, is that number.
#[test]
fn a_derivative_that_rounding_decides_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = judged(
        folder.path(),
        ".reg .pred %p<2>;\nmul.f32 %f3, %f1, 0f3DCCCCCD;\nmul.f32 %f3, %f3, 0f41200000;\n\
         setp.eq.f32 %p1, %f3, %f1;\n@%p1 add.f32 %f2, %f1, %f1;\n@!%p1 add.f32 %f2, %f1, %f1;",
    );
    assert_eq!(said.code, Some(2), "{said:?}");
    said.prints("3 of 3 comparisons of floats are open: rounding may");
    said.prints("NOT EXERCISED: v_x: 3 elements: an open comparison");
}

/// The manifest names an array that the kernels never use: it says nothing of the one that they do use.
#[test]
fn an_array_that_no_kernel_uses_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = ["[outputs.y]", "[inputs.z]\nshape = [1]\n[outputs.y]"];
    let output = ["[outputs.y]", "[outputs.z]\nshape = [1]\nbegins = \"zeros\"\n[outputs.y]"];
    let parameter = ["[\"x\", \"y\"]", "[\"x\", \"y\", \"z\"]"];
    let kernel = [".param .u64 b)", ".param .u64 b, .param .u64 c)"];
    let (here, ptx) = (folder.path(), folder.path().join("copy.ptx"));
    for (array, kind, used) in [(input, "inputs", "read"), (output, "outputs", "wrote")] {
        for command in ["gradcheck", "compare", "accuracy"] {
            pair(here, &[array]);
            let said = asked(here, command);
            assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{said:?}");
            let says = format!("[{kind}.z] is an array that no kernel has: name it among");
            assert!(said.err.contains(&says), "{command}: {said:?}");
            pair(here, &[array, parameter]);
            change(&ptx, &ptx, &[kernel]);
            let said = asked(here, command);
            assert_eq!(said.code, Some(2), "{command}: {said:?}");
            assert!(said.out.starts_with("not judged: 3 runs, "), "{command}: {said:?}");
            let says = format!("NOT EXERCISED: z: no kernel {used} it in any case\n");
            assert!(said.out.contains(&says), "{command}: {said:?}");
            assert!(said.err.contains("not judged: z: no kernel used it"), "{command}: {said:?}");
            let xml = fs::read_to_string(here.join("run.xml")).expect("written");
            assert!(xml.contains("<skipped message=\"no kernel "), "{command}: {xml}");
        }
    }
}

/// Where no array has an element, nothing was compared.
#[test]
fn a_manifest_that_leaves_nothing_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = [
        ["[inputs.x]\nshape = [1]", "[inputs.x]\nshape = [0]"],
        ["[outputs.y]\nshape = [1]", "[outputs.y]\nshape = [0]"],
        ["grid = [1]", "grid = [0]"],
    ];
    for command in ["gradcheck", "compare", "accuracy"] {
        pair(folder.path(), &empty);
        let said = asked(folder.path(), command);
        assert_eq!(said.code, Some(2), "{command}: {said:?}");
        assert!(!said.out.contains("agree"), "{command}: {said:?}");
    }
    let detached = "[conventions]\ndetach = [\"PTX line 12\"]\n[inputs.x]";
    pair(folder.path(), &[["[inputs.x]", detached]]);
    let said = asked(folder.path(), "gradcheck");
    assert_eq!(said.code, Some(2), "nothing is left of the derivative: {said:?}");
}

/// Whole numbers have no rounding: a run says how many of its elements were compared by value.
#[test]
fn whole_numbers_are_counted_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = copies(folder.path(), "mov.f32 %f2, %f1;");
    let text = fs::read_to_string(&manifest).expect("written");
    let forward = text.split("[backward]").next().expect("a part");
    let forward = forward.replace("[gradients]\ny = \"v_y\"\nx = \"v_x\"\n", "");
    let whole = forward.replace("[outputs.y]\n", "[outputs.y]\ndtype = \"i32\"\n");
    assert_ne!(whole, forward, "it has an output");
    fs::write(&manifest, whole).expect("written");
    let said = asked(folder.path(), "compare").exits(0);
    let first = "agree: 3 runs, 3 elements compared, 0 of them zero on both sides, 3 whole numbers by value, the \
                 others by their mathematics\n";
    assert!(said.out.starts_with(first), "{said:?}");
}

/// Where the derivative is a number, a gradient that is infinite or no number at all is wrong; of a forward kernel that
/// gives no number nobody knows a derivative.
#[test]
fn a_gradient_that_is_no_number_is_a_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let right = "add.f32 %f2, %f1, 0f00000000;";
    assert_eq!(judged(here, right).code, Some(0), "with numbers it agrees");
    fs::copy(here.join("copy.ptx"), here.join("right.ptx")).expect("copied");
    for (bits, is) in [("7FC00000", "NaN"), ("7F800000", "inf"), ("FF800000", "-inf")] {
        let none = format!("mov.f32 %f2, 0f{bits};");
        let manifest = copies(here, right);
        let ptx = here.join("copy.ptx");
        change(&ptx, &ptx, &[["mov.f32 %f2, %f1;", &none]]);
        for words in [
            &["gradcheck"][..],
            // All arrays of both, the gradient among them.
            &["compare", "right.ptx", "copy.ptx"],
        ] {
            let said = say(here, &[words, &["--manifest", &manifest, "--cases", "3"]].concat());
            assert_eq!(said.code, Some(1), "{is}: {said:?}");
            assert!(said.out.contains(&format!("v_x[0] is {is} in f32, ")), "{is}: {said:?}");
        }
        let said = judged(here, &none);
        let expected = if is == "NaN" { Some(2) } else { Some(1) };
        assert_eq!(said.code, expected, "a constant has no derivative: {is}: {said:?}");
        assert_eq!(said.out.contains("no exact number in elements of y"), is == "NaN", "{said:?}");
    }
}
