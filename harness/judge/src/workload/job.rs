//! What a case asks of a kernel: a stage with its inputs, and what a conforming kernel may return for them.

use crate::diagnosis::{self, Diagnosis, Hypothesis, Weighing};
use crate::judge::{self, Arithmetic, Expectation};
use crate::scatter_step::Scatter;
use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::{DeviceInfo, EngineError, Setting, Stage, TensorError, Tensors};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

/// What a conforming kernel may return for one job, and which lanes add to which number.
pub trait Oracle: fmt::Debug + Send + Sync {
    /// The bounds under an arithmetic.
    fn expect(&self, arithmetic: Arithmetic) -> Expectation;

    /// The same of outputs beside the stage's, which a kernel may return; `None` where it may return no others.
    fn expect_beside(&self, _arithmetic: Arithmetic) -> Option<Expectation> {
        None
    }

    /// The steps of the kernel's warps that add to memory, with that many lanes to a warp; `None`
    /// where they are not known.
    ///
    /// # Errors
    /// [`EngineError::Input`] for a number of lanes that no warp has.
    fn scatter(&self, _lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        None
    }

    /// What an oracle of another view of the same case may take arrays from; `None` where none does.
    fn arrays(&self) -> Option<&dyn Any> {
        None
    }

    /// What a kernel returns that is given one array of another view's in place of its own; `None` where the
    /// arrays are alike, or are not known.
    fn expect_with(
        &self,
        _other: &dyn Any,
        _array: &str,
        _arithmetic: Arithmetic,
    ) -> Option<Expectation> {
        None
    }

    /// What a kernel whose outputs lie outside their bounds may have got wrong, beyond what any output
    /// may have wrong; the simplest first.
    fn hypotheses(&self, _run: FailedRun) -> Vec<Hypothesis<'_>> {
        Vec::new()
    }
}

/// A run that disagrees.
#[derive(Clone, Copy, Debug)]
pub struct FailedRun {
    /// What the kernel is promised.
    pub arithmetic: Arithmetic,
    /// The setting of a stage that reduces.
    pub setting: Option<Setting>,
    /// Lanes of a warp.
    pub lane_width: u32,
}

/// A stage with its inputs in f32, and its bounds once they are needed.
#[derive(Debug)]
pub struct Job {
    /// The stage.
    pub stage: Stage,
    /// What an engine gets.
    pub inputs: Tensors,
    /// The sizes of its arrays.
    pub sizes: Sizes,
    /// The lanes that do something in one run.
    pub lanes: usize,
    pub(super) oracle: Box<dyn Oracle>,
    pub(super) expectations: [OnceLock<Expectation>; Arithmetic::COUNT],
}

impl Job {
    /// A job of a stage.
    ///
    /// # Errors
    /// [`TensorError`] where the inputs are not those of the stage.
    pub fn new(
        stage: Stage,
        inputs: Tensors,
        lanes: usize,
        oracle: Box<dyn Oracle>,
    ) -> Result<Self, TensorError> {
        let sizes = stage.sizes(&inputs)?;
        Ok(Self { stage, inputs, sizes, lanes, oracle, expectations: Default::default() })
    }

    /// What a conforming kernel may return, computed once for each arithmetic.
    pub fn expectation(&self, arithmetic: Arithmetic) -> &Expectation {
        self.expectations[arithmetic as usize].get_or_init(|| self.oracle.expect(arithmetic))
    }

    /// What a conforming kernel may return that returned these outputs: the stage's, and where there are others,
    /// those that it may return beside them.
    #[must_use]
    pub fn expectation_of(
        &self,
        arithmetic: Arithmetic,
        outputs: &Tensors,
    ) -> Cow<'_, Expectation> {
        let of_stage = |name: &str| self.stage.outputs.iter().any(|port| port.name == name);
        match outputs.iter().all(|(name, _)| of_stage(name)) {
            true => Cow::Borrowed(self.expectation(arithmetic)),
            false => self.whole_expectation(arithmetic),
        }
    }

    /// What a conforming kernel may return, with what it may return beside the stage's outputs.
    #[must_use]
    pub fn whole_expectation(&self, arithmetic: Arithmetic) -> Cow<'_, Expectation> {
        let own = self.expectation(arithmetic);
        match self.oracle.expect_beside(arithmetic) {
            Some(beside) => Cow::Owned(own.clone().beside(beside)),
            None => Cow::Borrowed(own),
        }
    }

    /// Whether a device may leave the loops of a kernel that runs the job with a setting, because of
    /// the steps that it needs at most ([`splatcheck_gpu::LoopLimit`]). Inputs that are not those of
    /// the stage say nothing: the engine refuses them.
    #[must_use]
    pub fn may_be_cut(&self, device: &DeviceInfo, setting: Option<Setting>) -> bool {
        // What has no limit is not asked how many steps it needs, for which inputs are read.
        device.loop_limit.steps().is_some()
            && self.loop_steps(device, setting).is_ok_and(|steps| device.loop_limit.may_cut(steps))
    }

    /// The loop steps of all lanes together that a kernel makes at most which runs the job with a setting;
    /// 0 for inputs that are not those of the stage.
    #[must_use]
    pub fn steps(&self, device: &DeviceInfo, setting: Option<Setting>) -> u64 {
        self.loop_steps(device, setting).unwrap_or(0).saturating_mul(self.lanes as u64)
    }

    /// The loop steps of a lane.
    fn loop_steps(
        &self,
        device: &DeviceInfo,
        setting: Option<Setting>,
    ) -> Result<u64, EngineError> {
        self.stage.loop_steps(&self.inputs, &self.sizes, setting, device)
    }

    /// What a run costs, whatever the machine: the words of the inputs, lists of pairs among them, and a word
    /// for each lane.
    #[must_use]
    pub fn words(&self) -> usize {
        self.inputs.iter().fold(self.lanes, |all, (_, tensor)| all + tensor.words().len())
    }

    /// Why a setting's reduction is not for the job; `None` where it is.
    #[must_use]
    pub fn is_beyond(&self, setting: Option<Setting>) -> Option<String> {
        self.stage.is_beyond(setting?.reduction, &self.sizes)
    }

    /// What a kernel may have got wrong that returned these outputs; `None` where they agree.
    ///
    /// # Errors
    /// [`TensorError`] for an output that is missing, is not the stage's, or has another type or shape.
    pub fn diagnose(
        &self,
        run: FailedRun,
        outputs: &Tensors,
    ) -> Result<Option<Diagnosis>, TensorError> {
        self.diagnose_after(run, None, outputs)
    }

    /// As [`Self::diagnose`], of a kernel that returned other outputs when it ran the job just before.
    ///
    /// # Errors
    /// As there.
    pub fn diagnose_after(
        &self,
        run: FailedRun,
        before: Option<&Tensors>,
        outputs: &Tensors,
    ) -> Result<Option<Diagnosis>, TensorError> {
        let weighing = self.weigh((before, outputs), run, None)?;
        Ok(weighing.map(|weighing| weighing.conclude()))
    }

    /// What the outputs of a run say of the hypotheses, of all or of `only` those, where the kernel returned
    /// others when it ran the job just `before`; `None` where they agree.
    ///
    /// # Errors
    /// As [`Self::diagnose`].
    pub fn weigh(
        &self,
        (before, outputs): (Option<&Tensors>, &Tensors),
        run: FailedRun,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Option<Weighing>, TensorError> {
        let right = &*self.expectation_of(run.arithmetic, outputs);
        let check = |outputs| judge::check(&self.stage, &self.sizes, right, outputs);
        check(outputs)?;
        let before = before.filter(|before| check(before).is_ok());
        let mut hypotheses = self.oracle.hypotheses(run);
        hypotheses.extend(self.of_arithmetic(run.arithmetic, outputs));
        let hypotheses = (hypotheses, self.words());
        let run = (run.setting, run.lane_width);
        let weighing = diagnosis::weigh(right, (before, outputs), run, hypotheses, only)?;
        match (weighing, only) {
            (Some(weighing), None) => {
                let subject = (self.stage, &self.inputs);
                weighing.attributed(subject, (right, outputs), run).map(Some)
            }
            (weighing, _) => Ok(weighing),
        }
    }

    /// That the kernel is right under an arithmetic that promises less, of which nobody told splatcheck.
    fn of_arithmetic<'a>(
        &'a self,
        promised: Arithmetic,
        outputs: &'a Tensors,
    ) -> impl Iterator<Item = Hypothesis<'a>> {
        promised.lesser().iter().map(move |&(lesser, liberties)| {
            let words =
                format!("another arithmetic: agrees under --model {}, {liberties}", lesser.name());
            Hypothesis::of_roundings(words, move || {
                Some(self.expectation_of(lesser, outputs).into_owned())
            })
        })
    }

    /// See [`Oracle::hypotheses`].
    #[must_use]
    pub fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        self.oracle.hypotheses(run)
    }

    /// See [`Oracle::arrays`].
    #[must_use]
    pub fn arrays(&self) -> Option<&dyn Any> {
        self.oracle.arrays()
    }

    /// See [`Oracle::expect_with`].
    #[must_use]
    pub fn expect_with(
        &self,
        other: &dyn Any,
        array: &str,
        arithmetic: Arithmetic,
    ) -> Option<Expectation> {
        self.oracle.expect_with(other, array, arithmetic)
    }

    /// See [`Oracle::scatter`].
    ///
    /// # Errors
    /// As there.
    pub fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        self.oracle.scatter(lane_width)
    }
}
