//! Times of stages by the device's timestamps.

use super::super::scene::{Plan, plans};
use super::open;
use crate::engine::{Engine, EngineError, Work};
use crate::reduction::{Reduction, Setting};
use crate::stages::splat::RASTERIZE_BACKWARD;
use crate::wgpu::WgpuEngine;

fn times(engine: &mut WgpuEngine, plan: &Plan, repeats: u32) -> Result<Vec<Vec<f32>>, EngineError> {
    let inputs = plan.backward().tensors().expect("a valid stage");
    // One launch, two launches, and a threshold.
    let settings = [(Reduction::Atomic, 0), (Reduction::Sorted, 0), (Reduction::SwB, 2)];
    let settings = settings.map(|(reduction, threshold)| Some(Setting { reduction, threshold }));
    let work = Work { inputs: &inputs, settings: &settings };
    Ok(engine.time(RASTERIZE_BACKWARD, work, repeats)?.milliseconds)
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn every_run_of_a_setting_has_a_time() {
    let Some(mut engine) = open(false) else { return };
    let longest = plans().into_iter().max_by_key(|plan| plan.length).expect("plans");
    let all = match times(&mut engine, &longest, 3) {
        Ok(all) => all,
        Err(EngineError::Missing { what, .. }) => {
            eprintln!("NOT EXERCISED: this driver lacks {what}");
            return;
        }
        Err(error) => panic!("timing failed: {error}"),
    };
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3], "{all:?}");
    for time in all.iter().flatten() {
        assert!(time.is_finite() && *time > 0.0, "the kernel takes some time: {all:?}");
    }
    // Cut into submissions of one run each.
    engine.submission_bytes = 1;
    let apart = times(&mut engine, &longest, 2).expect("it has a clock");
    assert_eq!(apart.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2], "{apart:?}");
    assert!(engine.arenas.times.is_none(), "what follows is not timed");
}
