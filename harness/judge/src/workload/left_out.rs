//! Faults of kernels whose lanes have an element each: lanes that add nothing, and other ways in which some
//! elements are left out.

use crate::diagnosis::Hypothesis;
use crate::judge::Expectation;
use std::rc::Rc;

/// Threads of a block, as kernels have them.
pub const BLOCKS: [usize; 4] = [64, 128, 256, 512];

/// What a kernel returns that leaves some of its elements out: `predict` is told of each, by its number, whether it
/// is left out.
pub fn left_out<'a>(
    (count, element): (usize, &str),
    lane_width: u32,
    predict: impl Fn(&dyn Fn(usize) -> bool) -> Option<Expectation> + 'a,
) -> Vec<Hypothesis<'a>> {
    let width = (lane_width as usize).max(1);
    let predict = Rc::new(predict);
    let one = |words: String, is_left_out: Box<dyn Fn(usize) -> bool>| {
        let predict = Rc::clone(&predict);
        Hypothesis::new(words, move || predict(&*is_left_out))
    };
    let mut all = vec![
        one(format!("the first {element} is left out"), Box::new(|at| at == 0)),
        one(format!("the last {element} is left out"), Box::new(move |at| at + 1 == count)),
    ];
    for threads in BLOCKS.into_iter().filter(|threads| count % threads != 0) {
        let words = format!("what is beyond the last full block of {threads} threads is left out");
        all.push(one(words, Box::new(move |at| at >= count - count % threads)));
    }
    for lane in 0..width {
        let place = match lane {
            0 => ", the first,",
            lane if lane + 1 == width => ", the last,",
            _ => "",
        };
        let words = format!("lane {lane} of each warp{place} is left out");
        let lost = one(words, Box::new(move |at| at % width == lane));
        // The first and the last are the likely ones.
        all.push(if lane == 0 || lane + 1 == width { lost } else { lost.of_many() });
    }
    let words = "all lanes of each warp but the first are left out".to_owned();
    all.push(one(words, Box::new(move |at| at % width != 0)));
    all
}

/// That each of the hypotheses of some jobs is one of some of them: none is dead. For tests of workloads.
///
/// # Panics
/// Where one explains nothing in any of the jobs, and names it.
pub fn assert_all_live(jobs: impl IntoIterator<Item = super::Job>) {
    let run = super::FailedRun {
        arithmetic: crate::judge::Arithmetic::Cuda,
        setting: None,
        lane_width: 32,
    };
    let mut live = std::collections::BTreeMap::new();
    for job in jobs {
        for hypothesis in job.hypotheses(run) {
            let seen: &mut bool = live.entry(hypothesis.words().to_owned()).or_default();
            *seen = *seen || hypothesis.predicted().is_some();
        }
    }
    let dead: Vec<_> = live.iter().filter(|(_, live)| !**live).map(|(words, _)| words).collect();
    assert!(!live.is_empty() && dead.is_empty(), "of no case: {dead:?}");
}
