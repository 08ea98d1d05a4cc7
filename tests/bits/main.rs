//! Prints the oracle's results as hashes. `tests/determinism` compares what other builds and
//! processors print; to accept other bits, on purpose only:
//! `cargo run --release -p splatcheck-bits >tests/bits/expected.txt`.

fn main() {
    for line in splatcheck_bits::lines() {
        println!("{line}");
    }
}
