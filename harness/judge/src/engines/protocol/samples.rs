//! Inputs, a device and an engine for the tests of this folder, made from the stages' tables.

use splatcheck_gpu::stage::{Dim, Port, Role};
use splatcheck_gpu::{
    Arithmetic, Data, DeviceInfo, Dtype, Engine, EngineError, EngineKind, FloatAtomics, LoopLimit,
    Reduction, Setting, Stage, Support, Tensor, Tensors, Work,
};

use super::response::{Description, Unsupported};

/// A device.
pub(crate) fn info() -> DeviceInfo {
    DeviceInfo {
        adapter: "fake (\"quoted\", 128 bits)".into(),
        driver: "none 1.0".into(),
        backend: "vulkan".into(),
        kind: EngineKind::Wgpu,
        arithmetic: Arithmetic::Wgsl,
        lane_width: 8,
        float_atomics: FloatAtomics::CompareExchange,
        exp_of_zero_is_one: false,
        loop_limit: LoopLimit::InAll(99),
    }
}

/// What [`FakeEngine`] says of itself.
pub(crate) fn description() -> Description {
    let lacks = |stage: &Stage| stage.reductions().any(|known| known == LACKING);
    let unsupported = Stage::all().filter(lacks).map(|stage| Unsupported {
        stage,
        reduction: Some(LACKING),
        reason: REASON.to_owned(),
    });
    Description { device: info(), unsupported: unsupported.collect() }
}

/// The reduction that [`FakeEngine`] has no kernels for.
pub(crate) const LACKING: Reduction = Reduction::PerGaussian;

/// Why.
pub(crate) const REASON: &str = "its \"kernel\" was not written";

/// Bits that do not survive arithmetic: signalling NaN, NaN payloads, -0, subnormals.
const ODD_BITS: [u32; 6] =
    [0x7f80_0001, 0xffc1_2345, 0x8000_0000, 0x0000_0001, 0x7f80_0000, 0x3f80_0000];

/// An array of odd bits.
fn odd(port: &Port, shape: Vec<usize>) -> Tensor {
    let count = shape.iter().product();
    let words: Vec<u32> = ODD_BITS.iter().cycle().take(count).copied().collect();
    Tensor::new(port.name, shape, Data::from_words(port.dtype, &words))
        .expect("as many as it takes")
}

/// Inputs of a stage: the size `N` is `n`, the others depend on it and are at most 3, optional
/// dimensions are left out where `n` is even.
pub(crate) fn inputs(stage: Stage, n: usize) -> Tensors {
    let mut symbols = Vec::new();
    let mut value = |symbol: &'static str, optional: bool| {
        if symbol == "N" {
            return n;
        }
        let place = symbols.iter().position(|&known| known == symbol).unwrap_or_else(|| {
            symbols.push(symbol);
            symbols.len() - 1
        });
        if optional && n.is_multiple_of(2) { 0 } else { 1 + (n + place) % 3 }
    };
    let optional = |symbol| {
        let dims = stage.inputs.iter().flat_map(|port| port.shape);
        dims.copied().any(|dim| dim == Dim::Optional(symbol))
    };
    let mut tensors = Tensors::new();
    for port in stage.inputs {
        let side = |&dim: &Dim| match dim {
            Dim::Const(side) => Some(side),
            Dim::Symbol(symbol) => Some(value(symbol, optional(symbol))),
            Dim::OneMore(symbol) => Some(value(symbol, optional(symbol)) + 1),
            Dim::Optional(symbol) => Some(value(symbol, true)).filter(|&side| side > 0),
        };
        let shape = port.shape.iter().filter_map(side).collect();
        let tensor = match port.role {
            Role::Size(symbol) => Tensor::scalar(
                u32::try_from(value(symbol, optional(symbol))).expect("sizes of tests are small"),
            ),
            Role::Read
            | Role::MayRead
            | Role::BuiltIn(_)
            | Role::Write
            | Role::MayWrite
            | Role::Accumulate
            | Role::AccumulateOnto(_) => odd(port, shape),
        };
        tensors.insert(port.name, tensor);
    }
    tensors
}

/// Every setting that a stage has.
pub(crate) fn settings(stage: Stage) -> Vec<Option<Setting>> {
    stage.settings(&Setting::sweep(8))
}

/// Outputs of the right types and shapes.
fn outputs(stage: Stage, inputs: &Tensors) -> Result<Tensors, EngineError> {
    let sizes = stage.sizes(inputs)?;
    let mut outputs = Tensors::new();
    for port in stage.outputs {
        outputs.insert(port.name, odd(port, port.shape_for(&sizes)));
    }
    Ok(outputs)
}

/// The same arrays, but the first has the opposite type.
pub(crate) fn of_other_type(tensors: &Tensors) -> Tensors {
    let mut changed = tensors.clone();
    let (name, tensor) = tensors.iter().next().expect("every stage has an output");
    let dtype = match tensor.dtype() {
        Dtype::F32 => Dtype::U32,
        Dtype::I32 | Dtype::U32 => Dtype::F32,
    };
    let data = Data::from_words(dtype, tensor.words());
    let tensor = Tensor::new(name, tensor.shape().to_vec(), data).expect("the same shape");
    changed.insert(name.to_owned(), tensor);
    changed
}

/// An engine that answers with odd bits of the right shapes, and refuses inputs with arrays of 5
/// rows.
#[derive(Debug)]
pub(crate) struct FakeEngine(DeviceInfo);

impl Default for FakeEngine {
    fn default() -> Self {
        Self(info())
    }
}

impl Engine for FakeEngine {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }

    fn supports(&self, _: Stage, reduction: Option<Reduction>) -> Support {
        if reduction == Some(LACKING) { Support::No(REASON.to_owned()) } else { Support::Yes }
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let of_job = |job: &Work<'_>| {
            if job.inputs.iter().any(|(_, tensor)| tensor.shape().first() == Some(&5)) {
                return Err(EngineError::Input("5 rows".into()));
            }
            job.settings.iter().map(|_| outputs(stage, job.inputs)).collect()
        };
        work.iter().map(of_job).collect()
    }
}
