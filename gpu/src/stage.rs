//! What a stage is: one row of a table that every engine, judge and file format reads.
//!
//! A [`StageSpec`] names the arrays that go in and come out ([`Port`]), how they lie in the buffers
//! of each kernel language ([`Buffer`]), the record of settings that a launch gets ([`Param`]), the
//! size of the launch, the reductions it has kernels for, and the kernels. The tables stand in
//! [`crate::stages`], a file a workload; this module knows none of them.

mod buffer;
mod check;
mod launches;
mod record;
mod shape;
mod steps;
mod work;

pub use buffer::{Buffer, Buffers};
pub use launches::{ExactArrays, Exactly, ExtraLaunches};
pub use record::{Language, Param, Value};
pub use shape::{Dim, Sizes};
pub use steps::LoopRun;
pub(crate) use steps::over;
pub use work::Work;

use crate::error::EngineError;
use crate::reduction::{Ending, OfWorkgroup, Reduction, Setting};
use crate::tensor::{Dtype, TensorError, Tensors};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// What a stage does with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An unsigned integer by itself, the value of the size with this symbol.
    Size(&'static str),
    /// Reads it.
    Read,
    /// A user's kernel may read it; those of ours are not given it.
    MayRead,
    /// An unsigned integer by itself that a user's kernel reads; ours have this value built in.
    BuiltIn(u32),
    /// Writes all of it; it holds poison before.
    Write,
    /// May leave it out. Only of stages that have no kernels of ours.
    MayWrite,
    /// Adds to it; it holds zeros before.
    Accumulate,
    /// Adds to it; before, it holds the input of this name, which has the same shape.
    AccumulateOnto(&'static str),
}

impl Role {
    /// Whether the stage adds to the array by atomics.
    #[must_use]
    pub fn accumulates(self) -> bool {
        match self {
            Self::Accumulate | Self::AccumulateOnto(_) => true,
            Self::Size(_)
            | Self::Read
            | Self::MayRead
            | Self::BuiltIn(_)
            | Self::Write
            | Self::MayWrite => false,
        }
    }
}

/// An array of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name in requests, answers, reports and files.
    pub name: &'static str,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its dimensions.
    pub shape: &'static [Dim],
    /// What the stage does with it.
    pub role: Role,
}

impl Port {
    /// The size with this symbol, as a number by itself.
    #[must_use]
    pub const fn size(name: &'static str, symbol: &'static str) -> Self {
        Self { name, dtype: Dtype::U32, shape: &[], role: Role::Size(symbol) }
    }

    /// A constant of the stage's formula.
    #[must_use]
    pub const fn constant(name: &'static str, dtype: Dtype) -> Self {
        Self { name, dtype, shape: &[], role: Role::Read }
    }

    /// The same of kernels of users alone.
    #[must_use]
    pub const fn may_read(name: &'static str, dtype: Dtype) -> Self {
        Self { name, dtype, shape: &[], role: Role::MayRead }
    }

    /// An unsigned integer of kernels of users, in place of which ours have a value of their own.
    #[must_use]
    pub const fn built_in(name: &'static str, value: u32) -> Self {
        Self { name, dtype: Dtype::U32, shape: &[], role: Role::BuiltIn(value) }
    }

    /// An array that is read.
    #[must_use]
    pub const fn read(name: &'static str, dtype: Dtype, shape: &'static [Dim]) -> Self {
        Self { name, dtype, shape, role: Role::Read }
    }

    /// An array that is written.
    #[must_use]
    pub const fn write(name: &'static str, dtype: Dtype, shape: &'static [Dim]) -> Self {
        Self { name, dtype, shape, role: Role::Write }
    }

    /// An array of floats that may be left out.
    #[must_use]
    pub const fn may_write(name: &'static str, shape: &'static [Dim]) -> Self {
        Self { name, dtype: Dtype::F32, shape, role: Role::MayWrite }
    }

    /// An array of floats that is added to, from zero.
    #[must_use]
    pub const fn accumulate(name: &'static str, shape: &'static [Dim]) -> Self {
        Self { name, dtype: Dtype::F32, shape, role: Role::Accumulate }
    }
}

/// Which reductions a stage has kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reductions {
    /// None: the stage adds nothing to memory.
    None,
    /// All that are the end of any kernel, and no kernel of their own.
    Endings,
    /// These.
    Only(&'static [Reduction]),
    /// Those of lanes that each have a destination of their own, the row that their key names: the lanes
    /// of a warp that share one must be found first.
    Keyed(Keyed),
}

/// The reductions of a keyed stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// All of them.
    pub reductions: &'static [Reduction],
    /// The size that counts the destinations: its symbol.
    pub rows: &'static str,
    /// Destinations that a workgroup can keep sums of.
    pub rows_of_workgroup: usize,
}

/// The size of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Lanes of a workgroup, where each has one contributor ([`StageSpec::workgroup_size`]).
    pub workgroup_size: u32,
    /// Workgroups in x and y; at least one, because none cannot be launched.
    pub workgroups: fn(&Sizes) -> [usize; 2],
}

/// The kernels in WGSL.
#[derive(Clone, Copy, Debug)]
pub struct Wgsl {
    /// Storage buffers after the record of settings, in the order of their bindings.
    pub buffers: Buffers,
    /// Texts in front of the kernel's.
    pub shared: &'static [&'static str],
    /// The kernel's text.
    pub kernel: &'static str,
    /// Texts of the reductions that are kernels of their own.
    pub own: &'static [(Reduction, &'static str)],
    /// The constants that the texts need beside `WORKGROUP_SIZE`, from the size that the kernel is
    /// compiled for ([`StageSpec::compiled_for`]; 1 where there is none) and the rows of sums that a
    /// workgroup of the reduction works on at a time.
    pub constants: fn(u32, u32) -> Vec<(&'static str, u32)>,
    /// A bound of the steps that the loops of one subgroup make.
    pub loop_steps: fn(&LoopRun<'_>) -> Result<u64, TensorError>,
}

/// The kernels in PTX.
#[derive(Clone, Copy, Debug)]
pub struct Ptx {
    /// Arrays after the record of settings, in the order of the kernel's parameters.
    pub buffers: Buffers,
}

/// The text of a stage's kernels: stages that compute the same numbers by other expressions share one.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The name of its files, and of the entry point in WGSL.
    pub name: &'static str,
    /// Constants that it is compiled with, in CUDA and in WGSL.
    pub constants: &'static [(&'static str, &'static str)],
    /// The stage whose numbers these are in another formulation; `None` where there is no other, and
    /// for the standard one.
    pub formulation_of: Option<&'static str>,
}

impl Text {
    /// That of one stage alone.
    #[must_use]
    pub const fn of(name: &'static str) -> Self {
        Self { name, constants: &[], formulation_of: None }
    }

    /// The fields of its formulation, as the oracle names them; `None` where there is but one.
    #[must_use]
    pub fn formulation(&self) -> Option<String> {
        let field = |(name, value): &(&str, &str)| {
            let value = match *value {
                "0.0f" => "none".to_owned(),
                "1e-6f" => "1e-6".to_owned(),
                value => value.to_lowercase().replace('_', "-"),
            };
            format!("{} = {value}", name.to_lowercase())
        };
        let fields: Vec<_> = self.constants.iter().map(field).collect();
        (!fields.is_empty()).then(|| fields.join(", "))
    }
}

/// A stage.
#[derive(Debug)]
pub struct StageSpec {
    /// Its name, which is also that of its entry points in PTX.
    pub name: &'static str,
    /// The workload it belongs to.
    pub workload: &'static str,
    /// The text of its kernels.
    pub text: Text,
    /// What goes in. Sizes stand before the arrays whose optional dimensions they are.
    pub inputs: &'static [Port],
    /// What comes out.
    pub outputs: &'static [Port],
    /// How lanes add to the same number.
    pub reductions: Reductions,
    /// Its launch.
    pub launch: Launch,
    /// The record of settings.
    pub params: &'static [Param],
    /// The size that a kernel is compiled for, if there is one: its symbol.
    pub compiled_for: Option<&'static str>,
    /// The kernels in WGSL.
    pub wgsl: Wgsl,
    /// The kernels in PTX.
    pub ptx: Ptx,
    /// Its reductions that have launches of their own.
    pub extra_launches: &'static [ExtraLaunches],
    /// What shapes do not say: whether the values would lead a kernel outside of an array, or are
    /// more than it is written for. Other values are not judged; NaN and infinities are inputs.
    pub check: fn(&Tensors, &Sizes) -> Result<(), EngineError>,
}

impl StageSpec {
    /// How its arrays lie in the buffers of a language's kernels.
    #[must_use]
    pub fn buffers(&self, language: Language) -> Buffers {
        match language {
            Language::Wgsl => self.wgsl.buffers,
            Language::Ptx => self.ptx.buffers,
        }
    }

    /// Whether the stage adds up what its lanes have, so that its kernel depends on the reduction.
    #[must_use]
    pub fn accumulates(&self) -> bool {
        match self.reductions {
            Reductions::None => false,
            Reductions::Endings | Reductions::Only(_) | Reductions::Keyed(_) => true,
        }
    }

    /// The reductions that it has kernels for, in the order of reports.
    pub fn reductions(&self) -> impl Iterator<Item = Reduction> {
        let has = |reduction: &Reduction| match self.reductions {
            Reductions::None => false,
            Reductions::Endings => reduction.ends_any_kernel(),
            Reductions::Only(these) => these.contains(reduction),
            Reductions::Keyed(keyed) => keyed.reductions.contains(reduction),
        };
        Reduction::ALL.into_iter().filter(has)
    }

    /// How the stage's kernels with a reduction end, where that is a text which kernels share.
    #[must_use]
    pub fn ending(&self, reduction: Reduction) -> Option<Ending> {
        let row = reduction.row();
        match self.reductions {
            Reductions::None => None,
            Reductions::Endings | Reductions::Only(_) => row.kernel.ending(),
            Reductions::Keyed(_) => row.keyed,
        }
    }

    /// Why a reduction is not for a job of these sizes; `None` where it is.
    #[must_use]
    pub fn is_beyond(&self, reduction: Reduction, sizes: &Sizes) -> Option<String> {
        let Reductions::Keyed(Keyed { rows, rows_of_workgroup: most, .. }) = self.reductions else {
            return None;
        };
        let rows = sizes.get(rows);
        match reduction.row().of_workgroup {
            OfWorkgroup::InMemory if rows > most => {
                Some(format!("{rows} rows, a workgroup of {reduction} keeps sums of up to {most}"))
            }
            OfWorkgroup::InMemory
            | OfWorkgroup::Nothing
            | OfWorkgroup::InRegisters
            | OfWorkgroup::InOrder => None,
        }
    }

    /// Whether every lane of the kernels that accumulate has a destination of its own.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        matches!(self.reductions, Reductions::Keyed(_))
    }

    /// The standard formulation of its numbers: its own name, where it is none of another stage.
    #[must_use]
    pub fn standard(&self) -> &'static str {
        self.text.formulation_of.unwrap_or(self.name)
    }

    /// Whether an array is among its inputs.
    #[must_use]
    pub fn reads(&self, name: &str) -> bool {
        self.inputs.iter().any(|port| port.name == name)
    }

    /// Whether it has kernels for a reduction.
    #[must_use]
    pub fn reduces_by(&self, reduction: Reduction) -> bool {
        self.reductions().any(|known| known == reduction)
    }

    /// Those of `settings` that it has kernels for; one run without a setting where nothing is
    /// reduced.
    #[must_use]
    pub fn settings(&self, settings: &[Setting]) -> Vec<Option<Setting>> {
        self.settings_by(settings, &|reduction| self.reduces_by(reduction))
    }

    /// The same for an engine that `has` kernels for these reductions.
    #[must_use]
    pub fn settings_by(
        &self,
        settings: &[Setting],
        has: &dyn Fn(Reduction) -> bool,
    ) -> Vec<Option<Setting>> {
        if !self.accumulates() {
            return vec![None];
        }
        settings.iter().filter(|setting| has(setting.reduction)).copied().map(Some).collect()
    }

    /// The size that a kernel is compiled for; 1 where one kernel serves all.
    #[must_use]
    pub fn compiled_size(&self, sizes: &Sizes) -> u32 {
        self.compiled_for.map_or(1, |symbol| u32::try_from(sizes.get(symbol)).unwrap_or(u32::MAX))
    }

    /// Lanes of a workgroup of the kernel with a reduction.
    #[must_use]
    pub fn workgroup_size(&self, reduction: Option<Reduction>) -> u32 {
        let lanes = self.launch.workgroup_size;
        reduction.map_or(lanes, |reduction| reduction.lanes(lanes))
    }

    /// Workgroups of the launch in x and y.
    ///
    /// # Errors
    /// [`EngineError::Input`] where they are more than 32 bits count.
    pub fn workgroups(&self, sizes: &Sizes) -> Result<[u32; 2], EngineError> {
        let [x, y] = (self.launch.workgroups)(sizes);
        match (u32::try_from(x), u32::try_from(y)) {
            (Ok(x), Ok(y)) => Ok([x, y]),
            _ => Err(EngineError::Input(format!("{} takes {x}x{y} workgroups", self.name))),
        }
    }
}

/// A judged stage: the row of its table. It travels and is written by its name.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Stage(pub(crate) &'static StageSpec);

impl Stage {
    /// The stage of a row.
    #[must_use]
    pub const fn of(spec: &'static StageSpec) -> Self {
        Self(spec)
    }

    /// Its row.
    #[must_use]
    pub fn spec(self) -> &'static StageSpec {
        self.0
    }
}

impl Deref for Stage {
    type Target = StageSpec;

    fn deref(&self) -> &StageSpec {
        self.0
    }
}

/// Names are unique over all workloads (a test sees to it).
impl PartialEq for Stage {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Stage {}

impl Hash for Stage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

#[cfg(test)]
pub(crate) mod tests;
