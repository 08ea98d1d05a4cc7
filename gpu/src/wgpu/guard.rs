//! What the engine does about a driver that leaves a kernel's loops after so many steps.
//!
//! Where the steps of all loops count together, every kernel is compiled with the loop guard
//! ([`crate::wgsl::guard`]), which tells after a run whether the driver may have left a loop. If the
//! stage's bound says that a right kernel may need so many steps, the run is no result of the kernel
//! ([`EngineError::LoopLimit`]); if not, the kernel itself made too many, and that is its failure: it
//! would never have ended. Where each loop counts by itself, no loop can tell of another, and a run
//! that may need too many steps is not made.

use super::submission::{Dispatch, Span, Submission};
use crate::engine::{DeviceInfo, EngineError, LoopLimit};
use crate::reduction::Setting;
use crate::stage::{Sizes, StageSpec};
use crate::tensor::Tensors;
use crate::wgsl::guard::{BINDING, WORDS};

/// Steps that the guard counts on. A loop makes one even if the driver will leave it at once.
const COUNTED: u32 = 2;

/// The loop guard of an engine.
#[derive(Debug)]
pub(super) struct Guard {
    /// Steps to count on after a kernel.
    pub(super) wanted: u32,
    /// The fewest that could be counted in any run so far.
    pub(super) fewest: u32,
}

impl Guard {
    /// For a device with that limit; none where there is nothing to guard from.
    pub(super) fn of(limit: LoopLimit) -> Option<Self> {
        match limit {
            LoopLimit::InAll(_) => Some(Self { wanted: COUNTED, fewest: COUNTED }),
            LoopLimit::NotMeasured | LoopLimit::NoneUpTo(_) | LoopLimit::OfEach(_) => None,
        }
    }

    /// Adds the guard's buffer of one dispatch.
    pub(super) fn span(&self, submission: &mut Submission) -> Result<Span, EngineError> {
        submission.sums(BINDING.name, WORDS, Some(&[self.wanted; WORDS]))
    }
}

/// One run of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) stage: &'static StageSpec,
    pub(super) inputs: &'a Tensors,
    pub(super) sizes: &'a Sizes,
    pub(super) setting: Option<Setting>,
}

impl Run<'_> {
    /// A bound of its loop steps.
    fn steps(&self, info: &DeviceInfo) -> Result<u64, EngineError> {
        self.stage.loop_steps(self.inputs, self.sizes, self.setting, info)
    }
}

/// Refuses a run of which nobody could say afterwards whether its loops were left.
pub(super) fn before(run: Run<'_>, info: &DeviceInfo) -> Result<(), EngineError> {
    match info.loop_limit {
        LoopLimit::OfEach(limit) => {
            let needs = run.steps(info)?;
            if info.loop_limit.may_cut(needs) {
                return Err(EngineError::LoopLimit { limit, needs });
            }
            Ok(())
        }
        LoopLimit::NotMeasured | LoopLimit::NoneUpTo(_) | LoopLimit::InAll(_) => Ok(()),
    }
}

/// Says whether the driver may have left a loop of a run.
pub(super) fn after(
    dispatch: &Dispatch,
    bytes: &[u8],
    run: Run<'_>,
    guard: &mut Option<Guard>,
    info: &DeviceInfo,
) -> Result<(), EngineError> {
    let (Some(span), Some(guard)) = (dispatch.guard(), guard) else { return Ok(()) };
    let counted = span.read::<u32>(bytes).last().copied().unwrap_or(0);
    guard.fewest = guard.fewest.min(counted);
    if counted >= guard.wanted.min(COUNTED) {
        return Ok(());
    }
    Err(left(info.loop_limit, run.steps(info)?))
}

/// What it means that the driver left the loops of a kernel which needs at most so many steps.
pub(super) fn left(limit: LoopLimit, needs: u64) -> EngineError {
    let steps = limit.steps().unwrap_or(0);
    if limit.may_cut(needs) {
        return EngineError::LoopLimit { limit: steps, needs };
    }
    EngineError::Device(format!(
        "the kernel made more loop steps than the {needs} that a right one makes at most here, and \
         the driver left its loops after {steps}: it would not have ended"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_never_ends_is_told_from_one_that_needs_many_steps() {
        let limit = LoopLimit::InAll(65_535);
        let needs = 65_536;
        let expected = EngineError::LoopLimit { limit: 65_535, needs };
        assert_eq!(left(limit, needs), expected, "a right kernel may need as many");
        let error = left(limit, 60_000);
        assert!(matches!(error, EngineError::Device(_)), "the kernel's failure: {error}");
        assert!(error.to_string().contains("it would not have ended"), "unhelpful: {error}");
        assert!(!error.is_of_the_machine(), "it is the kernel's");
    }

    #[test]
    fn only_a_limit_is_guarded_from() {
        for (limit, guarded) in [
            (LoopLimit::NotMeasured, false),
            (LoopLimit::NoneUpTo(1 << 20), false),
            (LoopLimit::InAll(65_535), true),
            (LoopLimit::OfEach(65_535), false),
        ] {
            assert_eq!(Guard::of(limit).is_some(), guarded, "{limit}");
        }
    }
}
