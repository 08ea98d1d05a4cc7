//! Arrays of numbers of 16 bits.

use super::example;
use splatcheck_tests::say;
use std::fs;

/// `half.ptx` reads and adds up numbers of 16 bits, two in a word. Its input `x` is a float of 32 bits.
#[test]
fn arrays_in_half_precision_agree_and_a_wrong_factor_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = example("half.toml");
    for order in ["lockstep", "adversarial:5"] {
        let said = say(folder.path(), &["gradcheck", "--manifest", &manifest, "--schedule", order]);
        assert_eq!(said.code, Some(0), "{order}: {said:?}");
        assert!(said.out.starts_with("agree: 20 runs, 1527 derivatives compared"), "{said:?}");
        assert!(said.out.contains("\nv_table  table  320       "), "f16: {said:?}");
    }
    let right = fs::read_to_string(example("half.ptx")).expect("there");
    // The sum gets what is given in the place of its part.
    let wrong = right.replacen("[%rd7],%r7;", "[%rd7],%r9;", 1);
    assert_ne!(right, wrong, "the kernel was changed");
    fs::write(folder.path().join("wrong.ptx"), wrong).expect("written");
    let said = say(folder.path(), &["gradcheck", "wrong.ptx", "--manifest", &manifest]).exits(1);
    said.prints("\nDISAGREE v_table: 2 of 16 (case 0, N = 1");
    said.prints("v_table[3, 0] is 1e0 in real arithmetic (1e0 in f16)");
    let again = ["replay", "splatcheck-out/gradcheck-half-0-0.safetensors"];
    assert_eq!(say(folder.path(), &again).code, Some(1), "its reproducer");
    let text = fs::read_to_string(&manifest).expect("there");
    let whole = text.replace("dtype = \"f32\" }", "dtype = \"i32\" }");
    fs::write(folder.path().join("half.ptx"), &right).expect("written");
    fs::write(folder.path().join("whole.toml"), whole).expect("written");
    let said = say(folder.path(), &["gradcheck", "--manifest", "whole.toml"]).exits(2);
    said.complains("[gradients], x is a gradient of whole numbers");
}

/// The sums of `half.ptx` by atomics on one number of 16 bits after the other.
#[test]
fn sums_of_single_numbers_in_half_precision_are_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = example("half.toml");
    let right = fs::read_to_string(example("half.ptx")).expect("there");
    let pairs = ["atom.add.noftz.f16x2 %r13,[%rd6],%r10;", "atom.add.noftz.f16x2 %r15,[%rd7],%r7;"];
    let single = |lines: [&str; 2]| {
        let mut text = right.clone();
        for (pair, address_and_word) in pairs.into_iter().zip(lines) {
            let [low, high, word]: [&str; 3] =
                address_and_word.split(' ').collect::<Vec<_>>().try_into().expect("three");
            let halves = format!(
                ".reg .b16 one, two; mov.b32 {{one, two}}, {word}; \
                 red.global.add.noftz.f16 [{low}], one; red.global.add.noftz.f16 [{high}], two;"
            );
            assert!(text.contains(pair), "the kernel has {pair}");
            text = text.replacen(pair, &halves, 1);
        }
        text
    };
    let right = single(["%rd6 %rd6+2 %r10", "%rd7 %rd7+2 %r7"]);
    fs::write(folder.path().join("single.ptx"), right).expect("written");
    for order in ["lockstep", "adversarial:5"] {
        let words = ["gradcheck", "single.ptx", "--manifest", &manifest, "--schedule", order];
        let said = say(folder.path(), &words);
        assert_eq!(said.code, Some(0), "{order}: {said:?}");
        assert!(said.out.starts_with("agree: 20 runs, 1527 derivatives compared"), "{said:?}");
    }
    let wrong = single(["%rd6 %rd6+2 %r10", "%rd7+2 %rd7 %r7"]);
    fs::write(folder.path().join("wrong.ptx"), wrong).expect("written");
    let said = say(folder.path(), &["gradcheck", "wrong.ptx", "--manifest", &manifest]);
    assert_eq!(said.code, Some(1), "the halves are the wrong way round: {said:?}");
    said.prints("\nDISAGREE v_table: ");
}
