//! `splatcheck doctor`: a page on this machine's drivers.

use std::path::Path;

use splatcheck_tests::say;

/// Software drivers, of which a machine of tests has some.
const DRIVER: &str = "lavapipe-8";

#[test]
fn a_page_says_what_the_drivers_make_of_the_kernels() {
    let devices = say(Path::new("."), &["devices"]).out;
    if !devices.contains(&format!("\n{DRIVER} ")) {
        println!("NOT EXERCISED: doctor: there is no {DRIVER}\n{devices}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let said = say(folder.path(), &["doctor", "--engine", DRIVER, "--runs", "3"]).exits(0);
    let head = format!("splatcheck {} on {}, ", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
    assert!(said.out.starts_with(&head), "{said:?}");
    assert!(said.out.contains(&devices), "every device, and why others are missing: {said:?}");
    let without =
        "NOT EXERCISED: a GPU: none was judged. What follows is of what runs on the processor: ";
    said.prints(&format!("{without}{DRIVER}\n"));
    let rows: Vec<_> = said.out.lines().filter(|line| line.starts_with(DRIVER)).collect();
    let [_, row, _] = rows[..] else { panic!("of devices, of runs, of the report: {said:?}") };
    let cells: Vec<_> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let [_, kernels, first, others, unwritten] = cells[..] else { panic!("{row}") };
    let number = |text: &str| text.trim_end_matches(" agree").parse::<u64>().expect(text);
    assert!(number(kernels) > 20, "{row}");
    assert_eq!((2 * number(first), unwritten), (number(others), "none"), "{row}");
    said.prints("\nagree: 1 engine, ");
    assert!(said.out.lines().count() < 60, "a page: {said:?}");
    assert!(!folder.path().join("splatcheck-out").exists(), "there is nothing to reproduce");
}

#[test]
fn what_cannot_be_followed_is_said() {
    for (words, expected) in [
        (&["doctor", "--engine", "voodoo2"][..], "unknown engine 'voodoo2'"),
        (&["doctor", "--runs", "1"], "1 is not in 2..=1000"),
    ] {
        say(Path::new("."), words).exits(2).complains(expected);
    }
}
