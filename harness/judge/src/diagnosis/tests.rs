use super::*;
use crate::judge::{Output, OutputBound, Rows};
use splatcheck_gpu::Data;
use splatcheck_reference::arithmetic::{ElementBound, Model, Wgsl};

/// Rows of a gradient: `v_a` `[3,2]` and `v_b` `[3]`, sums without a rounding of the sum itself.
const A: [f64; 6] = [1.0, -2.0, 3.0, 5.0, -7.0, 11.0];
const B: [f64; 3] = [0.5, 0.0, 4.0];

fn expectation(a: [f64; 6], b: [f64; 3], radius: f64) -> Expectation {
    let sum = |values: &[f64]| {
        let one = |&value: &f64| ElementBound { value, magnitude: value.abs(), radius };
        OutputBound::Sum(values.iter().map(one).collect())
    };
    let outputs = vec![
        Output { name: "v_a", shape: vec![3, 2], bound: sum(&a) },
        Output { name: "v_b", shape: vec![3], bound: sum(&b) },
    ];
    let rows = Rows { count: 3, outputs, ..Rows::default() };
    Expectation { model: Wgsl::TABLE, undecided: 0, rows: vec![rows] }
}

fn outputs(a: [f64; 6], b: [f64; 3]) -> Tensors {
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    let floats = |values: &[f64]| Data::F32(values.iter().map(|&x| x as f32).collect());
    let mut all = Tensors::new();
    all.array("v_a", &[3, 2], floats(&a)).expect("it fits");
    all.array("v_b", &[3], floats(&b)).expect("it fits");
    all
}

fn diagnosed(a: [f64; 6], b: [f64; 3], hypotheses: Vec<Hypothesis<'_>>) -> Option<Diagnosis> {
    let right = expectation(A, B, 1e-3);
    let returned = outputs(a, b);
    diagnose(&right, (None, &returned), (None, 32), (hypotheses, 1)).expect("all outputs are there")
}

fn headline(a: [f64; 6], b: [f64; 3]) -> String {
    diagnosed(a, b, Vec::new()).expect("it disagrees").headline
}

#[test]
fn what_agrees_is_not_diagnosed() {
    assert_eq!(diagnosed(A, B, Vec::new()), None, "the right numbers");
}

#[test]
fn what_the_previous_run_left_is_known_from_its_outputs() {
    let right = expectation(A, B, 1e-3);
    let told = |before: [f64; 6]| {
        let before = outputs(before, B);
        let after = outputs([4.0, -9.0, 3.5, 4.0, -7.5, 13.0], B.map(|x| 2.0 * x));
        let found = diagnose(&right, (Some(&before), &after), (None, 32), (Vec::new(), 1));
        found.expect("all outputs are there").expect("it disagrees").headline
    };
    let left = told([3.0, -7.0, 0.5, -1.0, -0.5, 2.0]);
    assert!(left.starts_with("looks like: the previous run's values are added: what it"), "{left}");
    assert!(
        left.ends_with("(explains all 8 elements outside their bounds, and the rest is right)")
    );
    let other = told([3.0, -7.0, 0.5, -1.0, -0.5, 4.0]);
    assert!(other.starts_with("no known fault: "), "one element is not so: {other}");
}

#[test]
fn changes_are_named_with_what_they_change() {
    let twice = A.map(|x| 2.0 * x);
    for (a, b, words) in [
        (A.map(|_| 0.0), B.map(|_| 0.0), "looks like: all outputs: 0, as if nothing"),
        (twice, B.map(|x| 2.0 * x), "looks like: all outputs: twice what it should be"),
        (twice, B, "looks like: v_a: twice"),
        (A.map(|x| 0.5 * x), B, "looks like: v_a: half"),
        (A, B.map(|x| -x), "looks like: v_b: the sign is flipped"),
        ([-2.0, 1.0, 5.0, 3.0, 11.0, -7.0], B, "looks like: v_a: columns 0 and 1 are exchanged"),
        ([1.0, 3.0, -7.0, -2.0, 5.0, 11.0], B, "looks like: v_a: column after column in memory"),
        ([1.0, -4.0, 3.0, 10.0, -7.0, 22.0], B, "looks like: v_a[:, 1]: twice"),
        ([-7.0, 11.0, 1.0, -2.0, 3.0, 5.0], [4.0, 0.5, 0.0], "all outputs: every row stands one"),
        ([1.0, -2.0, 0.0, 5.0, -7.0, 11.0], B, "looks like: 1 of the 6 elements of v_a: 0,"),
    ] {
        let found = headline(a, b);
        assert!(found.contains(words), "expected '{words}', found '{found}'");
    }
    let found = headline([f64::NAN, -2.0, 3.0, 5.0, -7.0, 11.0], B);
    assert!(found.contains("never written, a division by 0"), "{found}");
}

#[test]
fn garbage_is_not_explained() {
    let garbage = [0.37, -2.9, 4.4, 1.0, 0.2, -5.0];
    let wide = || {
        let predict = || Some(expectation(A.map(|x| x + 0.4), B, 1e6));
        vec![Hypothesis::new("anything goes", predict)]
    };
    let found = diagnosed(garbage, B, wide()).expect("it disagrees");
    assert!(!found.explained, "wide bounds hold the truth as well: {found:?}");
    assert!(found.headline.starts_with("no known fault: none of "), "{found:?}");
    let outputs = found.outputs.as_deref();
    assert_eq!(outputs, Some("all 6 elements of v_a are wrong; all of v_b is right"));
}

#[test]
fn a_workloads_hypothesis_is_tested_on_all_elements() {
    let faulty = [1.0, -2.0, 3.0, 5.0, -7.0, 8.0];
    let more = |a: [f64; 6]| move || Some(expectation(a, B, 1e-3));
    let found = diagnosed(
        faulty,
        B,
        vec![
            Hypothesis::new("too much is lost", more([1.0, -2.0, 3.0, 4.0, -7.0, 8.0])),
            Hypothesis::new("a lane is lost", more(faulty)),
            Hypothesis::new("nothing is other", more(A)),
            Hypothesis::new("not of this case", || None),
        ],
    );
    let found = found.expect("it disagrees");
    assert_eq!(
        found.headline,
        "looks like: a lane is lost (explains the one element outside its bound, and the rest is right)"
    );
    assert!(found.others.is_empty(), "the others do not reach as far: {found:?}");
}

#[test]
fn what_explains_part_of_it_is_said_to_be_the_closest() {
    let faulty = [10.0, -20.0, 30.0, 50.0, -70.0, 8.0];
    let most = [10.0, -20.0, 30.0, 50.0, -70.0, 11.0];
    let hypotheses =
        vec![Hypothesis::new("ten of a kind", move || Some(expectation(most, B, 1e-3)))];
    let found = diagnosed(faulty, B, hypotheses).expect("it disagrees");
    assert!(!found.explained, "{found:?}");
    let words = "the closest, 'ten of a kind', explains 5 of 6 elements outside their bounds";
    assert!(found.headline.contains(words), "{found:?}");
}

#[test]
fn two_faults_of_different_outputs_are_named_together() {
    let found = headline(A.map(|x| 2.0 * x), B.map(|x| -x));
    assert!(found.starts_with("looks like 2 faults together: (1) v_a: twice"), "{found}");
    assert!(found.contains("(2) v_b: the sign is flipped"), "{found}");
}

#[test]
fn roundings_explain_only_what_nothing_else_does() {
    let wider = || Some(expectation(A, B, 0.6));
    let near = [1.5, -2.0, 3.0, 5.0, -7.0, 11.0];
    let found = |a| {
        let hypotheses = vec![Hypothesis::of_roundings("it rounds to halves", wider)];
        diagnosed(a, B, hypotheses).expect("it disagrees").headline
    };
    assert!(
        found(near).starts_with("looks like: it rounds to halves (all elements lie"),
        "{}",
        found(near)
    );
    let half = A.map(|x| 0.5 * x);
    assert!(found(half).starts_with("looks like: v_a: half"), "{}", found(half));
}

/// What a run that returned these numbers says of hypotheses that predict numbers of `v_a`.
fn weighed(
    (a, b): ([f64; 6], [f64; 3]),
    hypotheses: &[(&str, [f64; 6], f64)],
    only: Option<&BTreeSet<String>>,
) -> Weighing {
    let one = |&(words, a, radius): &(&str, [f64; 6], f64)| {
        Hypothesis::new(words, move || Some(expectation(a, B, radius)))
    };
    let (right, returned) = (expectation(A, B, 1e-3), outputs(a, b));
    let hypotheses = (hypotheses.iter().map(one).collect(), 1);
    weigh(&right, (None, &returned), (None, 32), hypotheses, only)
        .expect("all outputs are there")
        .expect("it disagrees")
}

const FAULTY: [f64; 6] = [1.0, -2.0, 3.0, 5.0, -7.0, 8.0];

#[test]
fn another_failing_run_tells_hypotheses_apart() {
    let of = |all: &[&str], only: Option<BTreeSet<String>>| {
        let all: Vec<_> = all.iter().map(|words| (*words, FAULTY, 1e-3)).collect();
        weighed((FAULTY, B), &all, only.as_ref())
    };
    let mut both = of(&["lane 31 is lost", "the highest lane is lost"], None);
    let told = both.conclude();
    assert!(told.headline.contains("lane 31"), "the simplest first: {told:?}");
    assert_eq!(told.others, ["the same numbers would come of: the highest lane is lost"]);
    let alone = both.clone();
    // The other run has no such hypothesis as the first: it does not explain what is wrong there.
    both.merge(&of(&["the highest lane is lost"], Some(both.alive())));
    let told = both.conclude();
    assert!(told.headline.contains("the highest lane is lost ("), "{told:?}");
    assert!(told.headline.contains("all 2 elements outside their bounds in 2 failing runs"));
    let outputs = told.outputs.as_deref();
    let words =
        "in 2 failing runs together, 2 of the 12 elements of v_a are wrong; all of v_b is right";
    assert_eq!(outputs, Some(words));
    assert_eq!(told.others, [""; 0], "nothing else explains both");
    both.merge(&of(&["a warp is lost"], Some(both.alive())));
    assert!(!both.explains() && both.alive().is_empty(), "nothing explains all three");
    let told = alone.contradicted("small", "large");
    assert!(!told.explained, "{told:?}");
    let words = "what explains case small does not explain case large";
    assert!(told.headline.starts_with("no known fault: ") && told.headline.contains(words));
    assert!(told.others[0].starts_with("case small alone looks like: lane 31"), "{told:?}");
}

#[test]
fn what_lies_outside_a_hypothesis_in_any_run_refutes_it() {
    let fault = [("terms are rounded", FAULTY, 1e-3)];
    let mut all = weighed((FAULTY, B), &fault, None);
    assert!(all.conclude().explained, "one run alone");
    let far = [1.0, -2.0, 3.0, 5.0, -7.0, 8e6];
    all.merge(&weighed((far, B), &fault, Some(&all.alive())));
    let told = all.conclude();
    assert!(!told.explained, "another run is a million bounds off: {told:?}");
}

#[test]
fn elements_that_cannot_tell_do_not_speak_against_a_hypothesis() {
    let wrong = A.map(|x| x + 0.5);
    // Of the last two elements its bounds hold the right value too.
    let predicted = [1.5, -1.5, 3.5, 5.5, -6.8, 11.2];
    let right = expectation(A, B, 1e-3);
    let predict = || {
        let mut all = expectation(predicted, B, 1e-2);
        if let OutputBound::Sum(elements) = &mut all.rows[0].outputs[0].bound {
            elements[4..].iter_mut().for_each(|element| element.radius = 0.6);
        }
        Some(all)
    };
    let hypotheses = (vec![Hypothesis::new("another blur", predict)], 1);
    let returned = outputs(wrong, B);
    let found = diagnose(&right, (None, &returned), (None, 32), hypotheses);
    let found = found.expect("all are there").expect("it disagrees");
    assert_eq!(
        found.headline,
        "looks like: another blur (explains 4 of 6 elements outside their bounds; the other 2 cannot \
         tell, and the rest is right)"
    );
}

#[test]
fn most_of_what_is_wrong_must_speak_for_a_hypothesis() {
    let wrong = A.map(|x| x + 0.5);
    let predict = || {
        let mut all = expectation(A.map(|x| x + 0.3), B, 0.6);
        if let OutputBound::Sum(elements) = &mut all.rows[0].outputs[0].bound {
            elements[0] = ElementBound { value: 1.5, magnitude: 1.5, radius: 1e-3 };
        }
        Some(all)
    };
    let found = diagnosed(wrong, B, vec![Hypothesis::new("wide bounds", predict)]);
    let found = found.expect("it disagrees");
    assert!(!found.explained, "one element of six speaks for it: {found:?}");
}

#[test]
fn what_any_program_returns_again_is_not_taken_for_memory() {
    // 1/8 where the right value is 0, in both runs: the sum of 0 and what was there.
    let zeros = [1.0, 0.0, 3.0, 0.0, -7.0, 0.0];
    let right = expectation(zeros, B, 1e-3);
    let returned = outputs([1.0, 0.125, 3.0, 0.125, -7.0, 0.125], B);
    let found = diagnose(&right, (Some(&returned), &returned), (None, 32), (Vec::new(), 1));
    let found = found.expect("all are there").expect("it disagrees");
    assert!(!found.explained, "a program without memory: {found:?}");
}

#[test]
fn findings_of_one_stage_are_seen_in_the_light_of_each_other() {
    let all = [("lane 31", FAULTY, 1e-3), ("the highest lane", FAULTY, 1e-3)];
    let both = weighed((FAULTY, B), &all, None);
    let others = |fault: &str| if fault == "the highest lane" { 2 } else { 1 };
    let told = both.conclude_beside(&others);
    assert!(told.headline.starts_with("looks like: the highest lane ("), "{told:?}");
    assert_eq!(told.fault, "the highest lane", "the name of all findings of the fault");
    assert!(told.others.is_empty(), "what explains fewer is left out: {told:?}");
}

#[test]
fn many_of_a_kind_are_computed_only_where_nothing_else_explains_it() {
    let faulty = [1.0, -2.0, 3.0, 5.0, -7.0, 8.0];
    let asked = std::cell::Cell::new(0);
    let of = |first: [f64; 6]| {
        let many = || {
            asked.set(asked.get() + 1);
            Some(expectation(faulty, B, 1e-3))
        };
        vec![
            Hypothesis::new("first", move || Some(expectation(first, B, 1e-3))),
            Hypothesis::new("one of many", many).of_many(),
        ]
    };
    let found = diagnosed(faulty, B, of(faulty)).expect("it disagrees");
    assert_eq!((found.headline.contains("first"), asked.get()), (true, 0), "{found:?}");
    let found = diagnosed(faulty, B, of(A)).expect("it disagrees");
    assert_eq!((found.headline.contains("one of many"), asked.get()), (true, 1), "{found:?}");
}
