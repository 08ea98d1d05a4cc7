//! `splatcheck gallery`: right kernels of thirty-one systems agree with every reduction, and the report of each
//! planted bug names its line, or what is wrong with a map.

use splatcheck_tests::{root, say};
use std::fs;

/// The page shows what the command says.
#[test]
fn every_system_is_right_and_every_planted_bug_is_named_as_the_page_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = say(folder.path(), &["gallery"]).exits(0);
    assert!(said.out.starts_with("agree: 31 systems\n"), "{said:?}");
    assert_eq!(said.out.matches("2 of 2").count(), 19, "two bugs each: {said:?}");
    assert_eq!(said.out.matches("3 of 3").count(), 5, "or three: {said:?}");
    assert_eq!(said.out.matches("4 of 4").count(), 4, "two more in WGSL, or of a camera: {said:?}");
    assert_eq!(said.out.matches("7 of 7").count(), 1, "wrong all-reduces besides: {said:?}");
    assert_eq!(said.out.matches("14 of 14").count(), 1, "kernel maps have fourteen: {said:?}");
    assert_eq!(said.out.matches("8 of 8").count(), 1, "their products have eight: {said:?}");
    let page = root().join("docs/src/internals/gallery-output.md");
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains(&format!("```text\n{}```", said.out)), "the page is not:\n{}", said.out);
}

#[test]
fn other_cases_agree_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = say(
        folder.path(),
        &[
            "gallery",
            "--cases",
            "40",
            "--seed",
            "7",
            "gather-scatter",
            "kernel-map",
            "spheres",
            "ssim",
        ],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("agree: 4 systems\n"), "{said:?}");
}

/// In one case not every planted bug shows, which is the fault of no kernel.
#[test]
fn few_cases_are_a_gap_and_no_disagreement() {
    let folder = tempfile::tempdir().expect("a folder");
    let said =
        say(folder.path(), &["gallery", "--cases", "1", "kernel-map", "gather-scatter"]).exits(2);
    assert!(said.out.starts_with("not exercised: 2 of 2 systems\n"), "{said:?}");
    assert!(!said.out.contains("DISAGREE"), "{said:?}");
    let gap = "NOT EXERCISED: kernel-map: the planted bug";
    assert!(said.out.contains(gap) && said.err.contains("--cases 20"), "{said:?}");
}

#[test]
fn what_cannot_be_followed_is_one_line_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, says) in [
        (&["gallery", "sphere"][..], "'sphere'"),
        (&["gallery", "--cases", "0"], "nothing would be judged"),
    ] {
        let said = say(folder.path(), words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
        said.complains(says);
    }
    let said = say(folder.path(), &["gallery", "sphere"]);
    assert!(said.err.contains("spheres, spherical-harmonics"), "the names: {said:?}");
}
