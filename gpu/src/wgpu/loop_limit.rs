//! Measures after how many steps the driver leaves a kernel's loops, if it does.

use super::device::Gpu;
use super::pipeline::Kernels;
use super::submission::{Arenas, Submission};
use crate::engine::{EngineError, FloatAtomics, LoopLimit};
use crate::stages::probe::{LOOP_ARGUMENTS, LOOP_STEPS, LOOPS};
use crate::wgsl::Variant;

/// Steps up to which a limit is looked for.
const LOOKED_FOR: u32 = 1 << 22;
/// Steps of the loop that follows the long one: few, but more than the one that every loop makes.
const FOLLOWING: u32 = 4;

/// Runs the kernel of [`LOOPS`] twice: one long loop and a short one after it, then the same number of
/// steps in loops within a loop.
pub(super) fn measure(
    gpu: &Gpu,
    kernels: &mut Kernels,
    arenas: &mut Arenas,
) -> Result<LoopLimit, EngineError> {
    let side = 1 << (LOOKED_FOR.ilog2() / 2);
    let plans = [[LOOKED_FOR, FOLLOWING, 0], [0, side, LOOKED_FOR / side]];
    let variant = Variant { size: 1, reduction: None, atomics: FloatAtomics::CompareExchange };
    let mut submission = Submission::new(gpu);
    for plan in &plans {
        let kernel = kernels.get(gpu, &LOOPS, variant)?;
        let spans =
            vec![submission.input("arguments", plan)?, submission.output("steps", LOOP_STEPS)?];
        submission.dispatch(kernel, [1, 1], spans);
    }
    let mut made: Vec<Vec<u32>> = Vec::new();
    arenas.run(gpu, submission, |dispatch, bytes| {
        made.extend(dispatch.outputs().map(|span| span.read(bytes)));
    })?;
    tracing::debug!(?made, "loop steps");
    limit(&made[0], &made[1])
}

/// What the steps mean that were made: of the long loop and the one after it, and of the loops within
/// a loop.
fn limit(apart: &[u32], nested: &[u32]) -> Result<LoopLimit, EngineError> {
    let (&[alone, following, ..], &[_, _, within, ..]) = (apart, nested) else {
        return Err(EngineError::Device(format!("the loop probe gave {apart:?} and {nested:?}")));
    };
    let steps = u64::from(alone);
    Ok(match (alone == LOOKED_FOR, following == FOLLOWING, within == LOOKED_FOR) {
        (true, true, true) if mixed(alone) == apart[LOOP_STEPS - 1] => {
            LoopLimit::NoneUpTo(u64::from(LOOKED_FOR))
        }
        (true, true, true) => {
            return Err(EngineError::Device(format!(
                "a loop of {LOOKED_FOR} steps ended with the state {:#x}, expected {:#x}",
                apart[LOOP_STEPS - 1],
                mixed(alone)
            )));
        }
        (false, true, _) => LoopLimit::OfEach(steps),
        (false, false, _) => LoopLimit::InAll(steps),
        // A loop alone is not cut, but loops after or within another are: what they made together.
        (true, false, _) => LoopLimit::InAll(steps),
        (true, true, false) => LoopLimit::InAll(u64::from(within)),
    })
}

/// The state after so many steps of `mixed` in `loops.wgsl`.
fn mixed(steps: u32) -> u32 {
    (0..steps).fold(1_u32, |state, _| {
        let a = state ^ (state << 13);
        let b = a ^ (a >> 17);
        b ^ (b << 5)
    })
}

const _: () = assert!(LOOP_ARGUMENTS == 3, "the plans have as many");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_were_made_tell_the_limit() {
        let all = LOOKED_FOR;
        let end = mixed(all);
        for (apart, nested, expected) in [
            ([all, FOLLOWING, 0, end], [0, 2048, all, 7], LoopLimit::NoneUpTo(u64::from(all))),
            ([65_535, 1, 0, 3], [0, 32, 65_471, 7], LoopLimit::InAll(65_535)),
            ([65_535, FOLLOWING, 0, 3], [0, 2048, all, 7], LoopLimit::OfEach(65_535)),
            ([all, FOLLOWING, 0, end], [0, 1, 99, 7], LoopLimit::InAll(99)),
        ] {
            assert_eq!(limit(&apart, &nested), Ok(expected), "{apart:?}, {nested:?}");
        }
        let error = limit(&[all, FOLLOWING, 0, 5], &[0, 2048, all, 7]).expect_err("another state");
        assert!(error.to_string().contains("ended with the state 0x5"), "{error}");
    }
}
