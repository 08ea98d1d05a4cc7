//! An engine that makes every run of a stage that adds gradients up in parts, as several GPUs train: each part has
//! the given gradients of some pixels, points, elements or Gaussians, and the sums of all parts are added up as an
//! all-reduce does.
//!
//! A gradient is linear in what is given. So a right kernel's parts add up to the undivided gradient, within the
//! bound of a sum in any order: a part adds exact zeros for what it has not.

mod arrival;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use splatcheck_gpu::reduction::InMemory;
use splatcheck_gpu::stage::{Port, Role};
use splatcheck_gpu::{
    Data, DeviceInfo, Dtype, Engine, EngineError, Reduction, Stage, Support, Tensor, Tensors, Work,
};

/// Into how many parts every run is cut: 1 to 64, of which 1 leaves it whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Parts(u32);

/// A number of parts that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} parts: expected 1 to 64")]
pub struct NotParts(u32);

impl Parts {
    /// Whether runs are left whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0 == 1
    }

    /// What a report says of it; nothing of whole runs.
    #[must_use]
    pub fn described(self) -> Option<String> {
        let parts = (!self.is_whole()).then_some(self.0)?;
        Some(format!("gradients added up from {parts} parts; bounds for sums in any order"))
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self(1)
    }
}

impl TryFrom<u32> for Parts {
    type Error = NotParts;

    fn try_from(parts: u32) -> Result<Self, NotParts> {
        if (1..=64).contains(&parts) { Ok(Self(parts)) } else { Err(NotParts(parts)) }
    }
}

impl From<Parts> for u32 {
    fn from(parts: Parts) -> Self {
        parts.0
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An engine that makes runs in parts.
pub struct Parted<'a> {
    engine: Box<dyn Engine + Send + 'a>,
    parts: Parts,
}

impl<'a> Parted<'a> {
    /// So many parts.
    #[must_use]
    pub fn new(engine: Box<dyn Engine + Send + 'a>, parts: Parts) -> Self {
        Self { engine, parts }
    }
}

impl Engine for Parted<'_> {
    fn info(&self) -> &DeviceInfo {
        self.engine.info()
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        let fixed = |reduction: Reduction| reduction.row().in_memory == InMemory::FixedPoint;
        match reduction {
            Some(reduction) if fixed(reduction) => {
                Support::No("each part's sums in fixed point are rounded by themselves".to_owned())
            }
            _ => self.engine.supports(stage, reduction),
        }
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.engine.reduces_by(stage, reduction)
    }

    fn deaths(&self) -> u64 {
        self.engine.deaths()
    }

    fn parts(&self, stage: Stage) -> u32 {
        if stage.accumulates() { self.parts.0 } else { 1 }
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let parts = self.parts(stage);
        if parts == 1 {
            return self.engine.run(stage, work);
        }
        let mut all = Vec::new();
        for part in 0..parts {
            let inputs = work.iter().map(|work| of_part(stage, work.inputs, [part, parts]));
            let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
            let own = work.iter().zip(&inputs);
            let own = own.map(|(work, inputs)| Work { inputs, settings: work.settings });
            all.push(self.engine.run(stage, &own.collect::<Vec<_>>())?);
        }
        let Some((first, others)) = all.split_first() else { return Ok(Vec::new()) };
        let sum = |job: usize, setting: usize| {
            let others = others.iter().map(|part| part.get(job)?.get(setting));
            let others: Option<Vec<&Tensors>> = others.collect();
            added(&first[job][setting], &others.ok_or_else(no_result)?)
        };
        let jobs = first.iter().enumerate();
        let of_job = |(job, settings): (usize, &Vec<Tensors>)| {
            (0..settings.len()).map(|setting| sum(job, setting)).collect()
        };
        jobs.map(of_job).collect()
    }
}

fn no_result() -> EngineError {
    EngineError::Device("a part has no result".to_owned())
}

/// Whether the stage's sums are linear in an input: the gradients that it is given, or the values of a sum by key.
fn is_given(port: &Port) -> bool {
    port.dtype == Dtype::F32 && (port.name.starts_with("v_") || port.name == "values")
}

/// The inputs of one part of so many.
fn of_part(
    stage: Stage,
    inputs: &Tensors,
    [part, parts]: [u32; 2],
) -> Result<Tensors, EngineError> {
    let given = || stage.inputs.iter().filter(|port| is_given(port));
    let given: Vec<_> =
        given().filter_map(|port| Some((port.name, inputs.find(port.name)?))).collect();
    let own = range(items(given.iter().map(|(_, tensor)| tensor.shape())), [part, parts]);
    let mut masked = inputs.clone();
    let mut replace =
        |name: &'static str, keep: &dyn Fn(usize) -> bool| -> Result<(), EngineError> {
            let tensor = inputs.get(name).map_err(EngineError::output)?;
            let Data::F32(all) = tensor.data() else { return Ok(()) };
            let kept = |(place, &value): (usize, &f32)| if keep(place) { value } else { 0.0 };
            let data = Data::F32(all.iter().enumerate().map(kept).collect());
            let tensor = Tensor::new(name, tensor.shape().to_vec(), data);
            masked.insert(name, tensor.map_err(|error| EngineError::Input(error.to_string()))?);
            Ok(())
        };
    for (name, tensor) in &given {
        let width = tensor.words().len() / own.of.max(1);
        replace(name, &|place| own.items.contains(&(place / width.max(1))))?;
    }
    for port in stage.outputs {
        if let Role::AccumulateOnto(initial) = port.role {
            // What rows hold before is one part's.
            replace(initial, &|_| part == 0)?;
        }
    }
    Ok(masked)
}

/// Items of a part.
struct Own {
    items: Range<usize>,
    of: usize,
}

/// How many items the given arrays have: what their shapes begin with alike, but not the numbers of an item.
fn items<'s>(shapes: impl Iterator<Item = &'s [usize]> + Clone) -> usize {
    let Some(first) = shapes.clone().next() else { return 0 };
    let least = shapes.clone().map(<[usize]>::len).min().unwrap_or(0);
    let most = shapes.clone().map(<[usize]>::len).max().unwrap_or(0);
    // Where all have a last dimension, it is that of an item's numbers.
    let least = if least == most { least.saturating_sub(1).max(1) } else { least };
    let alike = |&place: &usize| shapes.clone().all(|shape| shape.get(place) == first.get(place));
    let prefix = (0..least).take_while(alike).count();
    first.iter().take(prefix).product()
}

/// The items of a part: engines are unequal, so part j of them has j + 1 times as many as the first.
fn range(items: usize, [part, parts]: [u32; 2]) -> Own {
    let before = |part: u32| {
        let share = |parts: u32| u128::from(parts) * (u128::from(parts) + 1);
        let begin = items as u128 * share(part) / share(parts);
        usize::try_from(begin).unwrap_or(items)
    };
    Own { items: before(part)..before(part + 1), of: items }
}

/// The outputs of all parts added up; what is no float, or was left out by one, is the first part's.
fn added(first: &Tensors, others: &[&Tensors]) -> Result<Tensors, EngineError> {
    let mut sums = first.clone();
    for (name, tensor) in first.iter() {
        let Data::F32(own) = tensor.data() else { continue };
        let parts = others.iter().map(|part| part.f32(name)).collect::<Result<Vec<_>, _>>();
        let mut parts = parts.map_err(EngineError::output)?;
        parts.insert(0, own);
        if parts.iter().any(|part| part.len() != own.len()) {
            return Err(no_result());
        }
        let sum = Tensor::new(name, tensor.shape().to_vec(), Data::F32(arrival::added(&parts)));
        let sum = sum.map_err(|error| EngineError::Input(error.to_string()))?;
        sums.insert(name.to_owned(), sum);
    }
    Ok(sums)
}
