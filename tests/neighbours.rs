//! Every input counts: each is replaced by a wrong neighbour of it (camera 0's for all cameras, the first row's,
//! the first channel's, zero, the absolute value, clipped, in another order), as wrong kernels read it, and some
//! case of the main job has to have bounds that exclude what follows.

mod grid;
mod scatter;
mod splat;

use rayon::prelude::*;
use splatcheck_gpu::{Data, Tensors};
use splatcheck_judge::judge::{Arithmetic, Expectation, OutputBound, judge};
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::{AnyCase, Job, Workload};
use splatcheck_tests::root;
use std::collections::BTreeSet;

/// An input read wrongly.
struct Wrong<C> {
    input: &'static str,
    by: &'static str,
    /// Leaves a case as it is where there is nothing to take for something else.
    change: Box<dyn Fn(&mut C) + Send + Sync>,
}

impl<C> Wrong<C> {
    fn new(
        input: &'static str,
        by: &'static str,
        change: impl Fn(&mut C) + Send + Sync + 'static,
    ) -> Self {
        Self { input, by, change: Box::new(change) }
    }
}

/// An array: in rows, those of a camera after those of another.
#[derive(Clone, Copy)]
struct Shape {
    cameras: usize,
    columns: usize,
}

/// The same array as a wrong kernel reads it.
type Reading = fn(&mut [f32], Shape);

const ZERO: (&str, Reading) = ("0", |all, _| all.fill(0.0));
const ABSOLUTE: (&str, Reading) = ("its absolute value", |all, _| {
    all.iter_mut().for_each(|x| *x = x.abs());
});
const CLIPPED: (&str, Reading) = ("itself clipped to 0..1", |all, _| {
    all.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
});
const FIRST_ROW: (&str, Reading) = ("the first row's", |all, shape| {
    let first: Vec<f32> = all.iter().copied().take(shape.columns).collect();
    all.chunks_mut(shape.columns).for_each(|row| row.copy_from_slice(&first));
});
const FIRST_COLUMN: (&str, Reading) = ("the first column's", |all, shape| {
    all.chunks_mut(shape.columns).for_each(|row| row.fill(row[0]));
});
const REVERSED: (&str, Reading) = ("the columns in reverse", |all, shape| {
    all.chunks_mut(shape.columns).for_each(<[f32]>::reverse);
});
const TRANSPOSED: (&str, Reading) = ("the array transposed", |all, shape| {
    let rows = all.len() / shape.columns;
    let moved: Vec<f32> =
        (0..all.len()).map(|i| all[i % rows * shape.columns + i / rows]).collect();
    all.copy_from_slice(&moved);
});
const CAMERA_0: (&str, Reading) = ("camera 0's", |all, shape| {
    let each = all.len() / shape.cameras;
    (1..shape.cameras).for_each(|camera| all.copy_within(0..each, camera * each));
});

/// What a kernel returns that is right for that case, in f32.
fn outputs(expectation: &Expectation) -> Tensors {
    let mut outputs = Tensors::new();
    let integers =
        |all: &[i64]| Data::U32(all.iter().map(|&x| u32::try_from(x).expect("32 bits")).collect());
    for output in expectation.outputs() {
        #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
        let single = |x: f64| x as f32;
        let data = match &output.bound {
            OutputBound::Interval(all) => Data::F32(all.iter().map(|x| single(x.0)).collect()),
            OutputBound::Sum(all) => Data::F32(all.iter().map(|x| single(x.value)).collect()),
            OutputBound::OneOf(all) => integers(&all.oracle),
            OutputBound::DerivedFrom(all) => integers(&all.oracle),
        };
        outputs.array(output.name, &output.shape, data).expect("its own shape");
    }
    outputs
}

/// Whether the bounds of a job exclude what is right for another.
fn excludes(right: &Job, wrong: &Job) -> bool {
    let expectation = right.expectation(Arithmetic::Cuda);
    let outputs = outputs(wrong.expectation(Arithmetic::Cuda));
    let tally = judge(&right.stage, &right.sizes, expectation, &outputs, (None, 32));
    tally.is_ok_and(|tally| tally.verdict() == Verdict::Disagree)
}

/// The jobs of all views; none of a case that is not legal, as one whose rotation is 0.
fn jobs(case: &AnyCase) -> Vec<Job> {
    let all: Result<Vec<_>, _> = (0..case.views()).map(|view| case.jobs(view)).collect();
    all.map(|jobs| jobs.into_iter().flatten().collect()).unwrap_or_default()
}

/// The main job's cases of a workload: the corpus, and so many random ones of seed 0.
fn main_job(workload: &dyn Workload, random: u64) -> Vec<AnyCase> {
    let corpus = root().join("corpora").join(workload.name());
    let corpus = workload.read_corpus(&corpus).expect("the corpus is readable");
    corpus
        .cases
        .into_iter()
        .chain((0..random).map(|index| workload.random(0, index).current()))
        .collect()
}

/// Asserts that each wrong reading is seen by a case, but for these, and that each input has one.
fn assert_seen<C: Clone + PartialEq + Send + Sync + 'static>(
    cases: &[C],
    all: &[Wrong<C>],
    (inputs, blind): (&[&str], &[&str]),
    whole: impl Fn(&C) -> AnyCase + Sync,
) {
    let read: BTreeSet<_> = all.iter().map(|wrong| wrong.input).collect();
    for input in inputs {
        assert!(read.contains(input), "{input} is read wrongly in no way");
    }
    let right: Vec<std::sync::OnceLock<Vec<Job>>> =
        cases.iter().map(|_| Default::default()).collect();
    let unseen = all.par_iter().filter(|wrong| {
        let sees = |(case, right): (&C, &std::sync::OnceLock<Vec<Job>>)| {
            let mut changed = case.clone();
            (wrong.change)(&mut changed);
            if changed == *case {
                return false;
            }
            let right = right.get_or_init(|| jobs(&whole(case)));
            let changed = jobs(&whole(&changed));
            right.iter().zip(&changed).any(|(right, wrong)| excludes(right, wrong))
        };
        !cases.iter().zip(&right).any(sees)
    });
    let unseen: Vec<_> = unseen.map(|wrong| format!("{}: {}", wrong.input, wrong.by)).collect();
    assert_eq!(unseen, blind, "what no case of the main job sees that it is taken for another");
}
