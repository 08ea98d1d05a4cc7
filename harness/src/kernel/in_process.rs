//! A kernel in this process as an engine: what it does wrong is an answer that is refused, not a panic of
//! the judge.

use std::any::Any;
use std::error::Error;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::{DeviceInfo, Engine, EngineError, Reduction, Stage, Support, Tensors, Work};

use super::inputs::Inputs;
use splatcheck_judge::engines::command::{LeftOut, info_of};
use splatcheck_judge::judge::Arithmetic;

/// Why a kernel gave no result, in its own words.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A kernel that reads `I`. Functions and closures `Fn(&I) -> Result<O, BoxError>` are kernels, where `O` is
/// `I::Outputs` or becomes that: at level raster gradients alone do.
pub trait Kernel<I: Inputs>: Send {
    /// Computes the outputs; see the fields of both types for shapes and units.
    ///
    /// # Errors
    /// The kernel's own; each is a finding.
    fn run(&mut self, inputs: &I) -> Result<I::Outputs, BoxError>;
}

impl<I, O, F> Kernel<I> for F
where
    I: Inputs,
    O: Into<I::Outputs>,
    F: FnMut(&I) -> Result<O, BoxError> + Send,
{
    fn run(&mut self, inputs: &I) -> Result<I::Outputs, BoxError> {
        Ok(self(inputs)?.into())
    }
}

/// A function in Rust as an engine.
pub(super) struct InProcess<I, K> {
    kernel: K,
    stage: Stage,
    info: DeviceInfo,
    left_out: LeftOut,
    reads: PhantomData<fn(&I)>,
}

impl<I: Inputs, K: Kernel<I>> InProcess<I, K> {
    /// A kernel of a stage, which promises an arithmetic.
    pub(super) fn new(kernel: K, name: &str, stage: Stage, arithmetic: Arithmetic) -> Self {
        let info = info_of([name, "in this process", "rust"], arithmetic);
        Self { kernel, stage, info, left_out: LeftOut::default(), reads: PhantomData }
    }

    /// The outputs that may be left out and are, as they become known.
    pub(super) fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    /// One call; whatever becomes of it.
    fn call(&mut self, job: &Tensors, sizes: &Sizes) -> Result<Tensors, EngineError> {
        let inputs = I::of_job(job)?;
        // The kernel is called again after a panic: what that leaves behind is the kernel's own.
        let called = catch_unwind(AssertUnwindSafe(|| self.kernel.run(&inputs)));
        let outputs = match called {
            Ok(Ok(outputs)) => outputs,
            Ok(Err(error)) => return Err(refused("returned an error", &in_words(&error))),
            Err(panic) => return Err(refused("panicked", message(panic.as_ref()))),
        };
        let named = inputs.named(&outputs);
        let named = named.map_err(|error| refused("returned other arrays", &error.to_string()))?;
        // The image that a kernel may return beside a stage's outputs has the shape that it was given.
        let of_stage =
            named.clone().only(|name| self.stage.outputs.iter().any(|port| port.name == name));
        let checked = self.stage.check_outputs(sizes, &of_stage);
        checked.map_err(|error| refused("returned other arrays", &error.to_string()))?;
        for port in self.stage.outputs {
            // Of the two forms of the colours' gradients one is there.
            if named.find(port.name).is_none() && !["v_colors", "v_sh"].contains(&port.name) {
                self.left_out.note(port.name);
            }
        }
        Ok(named)
    }
}

fn refused(what: &str, words: &str) -> EngineError {
    EngineError::Refused(format!("the kernel {what}: {words}"))
}

/// An error with its causes.
fn in_words(error: &BoxError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

impl<I: Inputs, K: Kernel<I>> Engine for InProcess<I, K> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn supports(&self, stage: Stage, _: Option<Reduction>) -> Support {
        if stage == self.stage {
            return Support::Yes;
        }
        Support::No(format!("the kernel does {}", self.stage))
    }

    /// However it adds up: its sums are bounded in any order.
    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        stage == self.stage && stage.accumulates() && reduction == Reduction::BASELINE
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        if stage != self.stage {
            return Err(EngineError::Input(format!("the kernel does not do {stage}")));
        }
        let mut all = Vec::with_capacity(work.len());
        for Work { inputs, settings } in work {
            let sizes = stage.sizes(inputs)?;
            let one = |_| self.call(inputs, &sizes);
            all.push(settings.iter().map(one).collect::<Result<_, _>>()?);
        }
        Ok(all)
    }
}
