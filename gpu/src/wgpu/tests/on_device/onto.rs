//! Sums that start at an input.

use super::both;
use crate::stage::tests::made_up::assert_adds_onto_the_start;

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn sums_start_at_the_input_that_the_table_names() {
    for mut engine in both() {
        assert_adds_onto_the_start(&mut engine);
    }
}
