//! The oracle gives the bits that are written down, from 1, 2, 3 and 8 threads. `tests/determinism`
//! compares other builds and processors.

/// See `main.rs` for how to change it.
const EXPECTED: &str = include_str!("expected.txt");

#[test]
fn results_have_the_bits_that_are_written_down() {
    for threads in [1, 2, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let found = pool.install(splatcheck_bits::lines);
        let expected: Vec<&str> = EXPECTED.lines().collect();
        assert_eq!(found.len(), expected.len(), "as many lines as tests/bits/expected.txt");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found, expected, "other bits with {threads} threads");
        }
    }
}
