//! Clamps that let the derivative pass, and numbers that are constants.

use std::collections::BTreeSet;

use super::run::{THREADS, bytes, elementwise, launch};
use crate::{Conventions, DeviceMemory, Module, Schedule, Seed};

/// The derivative of a kernel of one line, `k.cu:7`, at 2.
fn slope(body: &str, conventions: Conventions) -> f64 {
    let text = elementwise(&format!(".loc 1 7 3\n{body}\n.loc 1 8 3"));
    let text = format!("{text}.file 1 \"k.cu\"\n");
    let module = Module::parse(&text).expect("the test's kernel");
    assert!(module.departures("k").contains_key("k.cu:7"), "{:?}", module.departures("k"));
    let mut memory = DeviceMemory::new();
    let input = memory.upload(&bytes(&[2.0; THREADS as usize]));
    let output = memory.upload(&bytes(&[0.0; THREADS as usize]));
    memory.follow(Some(1 << 26));
    memory.set_conventions(conventions).expect("there is a tape");
    memory.differentiate(input).expect("there is a tape");
    launch(&module, &mut memory, [input, output], &Schedule::lockstep());
    let gradient = [1.0; THREADS as usize];
    let gradient = memory.gradient(&[Seed { output, gradient: &gradient }]).expect("a sweep");
    gradient.of(input).expect("an input")[0].value
}

fn lines(line: &str) -> BTreeSet<String> {
    BTreeSet::from([line.to_owned()])
}

#[test]
fn a_clamp_lets_the_derivative_pass_where_that_is_agreed() {
    let straight = || Conventions { straight_through: lines("k.cu:7"), ..Conventions::default() };
    let elsewhere = || Conventions { straight_through: lines("k.cu:8"), ..Conventions::default() };
    let clamps = [
        "min.f32 %f2, %f1, 0f3F800000;",
        "min.f32 %f2, 0f3F800000, %f1;",
        "setp.gt.f32 %p1, %f1, 0f3F800000;\nselp.f32 %f2, 0f3F800000, %f1, %p1;",
        "setp.gt.f32 %p1, %f1, 0f3F800000;\nselp.f32 %f1, 0f3F800000, %f1, %p1;\nmov.f32 %f2, %f1;",
        "cvt.sat.f32.f32 %f2, %f1;",
    ];
    for clamp in clamps {
        assert_eq!(slope(clamp, Conventions::default()), 0.0, "{clamp}: the derivative");
        assert_eq!(slope(clamp, elsewhere()), 0.0, "{clamp}: another line");
        assert_eq!(slope(clamp, straight()), 1.0, "{clamp}: it passes");
    }
    let not_clamped = "min.f32 %f3, %f1, 0f40800000;\nmul.f32 %f2, %f3, 0f40400000;";
    assert_eq!(slope(not_clamped, straight()), 3.0, "as it was");
}

#[test]
fn what_is_detached_is_a_constant() {
    let detach = Conventions { detach: lines("k.cu:7"), ..Conventions::default() };
    let twice = "mul.f32 %f3, %f1, %f1;\n.loc 1 8 3\nadd.f32 %f2, %f3, %f1;";
    assert_eq!(slope(twice, Conventions::default()), 5.0, "2 x + 1");
    assert_eq!(slope(twice, detach), 1.0, "the square is a constant");
}
