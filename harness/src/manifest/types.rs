//! What a checked manifest says.

use splatcheck_gpu::stage::Port;
use splatcheck_judge::workload::BuiltIn;
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::layout::{Array, Expression, KernelKind};
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::splat::CameraForms;
use splatcheck_workloads::splat::kernel_rules::KernelRules;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What the program of a manifest is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// PTX, on the emulator.
    Ptx,
    /// WGSL, on the engines of wgpu.
    Wgsl,
}

/// Gives the preset that a manifest names, or says what to do.
pub type Presets<'p> = &'p dyn Fn(&str) -> Result<Arc<Preset>, String>;

/// A checked manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    pub(super) text: String,
    /// The text of its preset, where that is a file of the user's.
    pub(super) preset: Option<String>,
    /// What the kernels do between them.
    pub kind: KernelKind,
    /// Whether a rasterization is given all views at once; otherwise each view is a run.
    pub all_views: bool,
    /// The kernels, in the order in which they run.
    pub launches: Vec<Launch>,
    /// What the named buffers hold at first.
    pub buffers: BTreeMap<String, Contents>,
    /// Its own names for sizes, each computed of those before it and of the case's.
    pub sizes: Vec<(String, Expression)>,
    /// What its outputs are judged as, where it says so.
    pub formulation: Option<Formulation>,
    /// Roundings of its intermediates, counted in its source.
    pub extra_roundings: Option<ExtraRoundings>,
    /// The same of a projection that is given the size of the image.
    pub projection_roundings: ExtraRoundings,
    /// The only number of channels that the kernels are for.
    pub channels: Option<u32>,
    /// What is built into the kernels of a convention of splats.
    pub rules: KernelRules,
    /// What is built into the kernels of another workload.
    pub built_in: BuiltIn,
    /// Which cameras its expressions and arrays are for.
    pub cameras: CameraForms,
}

/// One kernel and how it is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The file that has it, beside the manifest, where that is not the program's.
    pub file: Option<String>,
    /// Its entry point, as written.
    pub kernel: String,
    /// The line that names it.
    pub line: usize,
    /// Threads of a block in x, y, z; a program in WGSL says so itself.
    pub block: [Expression; 3],
    /// Blocks, or workgroups, in x, y, z.
    pub grid: [Expression; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: Expression,
    /// Values of overridable constants, in WGSL.
    pub overrides: Vec<(String, Expression)>,
    /// What its parameters are, or its bindings.
    pub parameters: Vec<Parameter>,
}

/// Where a program in WGSL has a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@group({}) @binding({})", self.group, self.binding)
    }
}

/// What a program takes the bits of a number for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of the types")]
pub enum Bits {
    F32,
    I32,
    U32,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The line that begins it.
    pub line: usize,
    /// Its name in messages.
    pub place: String,
    /// What it is.
    pub argument: Argument,
    /// Where it is bound, in WGSL.
    pub slot: Option<Slot>,
    /// What the program takes its words for, where they are declared as something else.
    pub bits: Option<Bits>,
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A pointer to inputs.
    Input(Array),
    /// A pointer to outputs, and what they begin as.
    Output(Array, Start),
    /// A number or several, by value.
    Struct(Vec<Scalar>),
    /// A pointer to an array of the launch's own.
    Own(Contents),
    /// A pointer to an array that launches share.
    Named(String),
    /// A null pointer.
    Null,
}

impl Argument {
    /// It, or the pointers in a structure.
    pub(super) fn pointers(&self) -> Vec<&Self> {
        match self {
            Self::Struct(members) => members.iter().flat_map(Scalar::pointers).collect(),
            pointer => vec![pointer],
        }
    }

    /// The array of tensors that it points to.
    pub(super) fn array(&self) -> Option<&Array> {
        match self {
            Self::Input(array) | Self::Output(array, _) => Some(array),
            Self::Struct(_) | Self::Own(_) | Self::Named(_) | Self::Null => None,
        }
    }
}

/// Types of numbers that are passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of the types")]
pub enum Number {
    U8,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Number {
    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

/// What is passed by value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A number.
    Number(Number, Expression),
    /// The words of an input, and zeros behind them up to this number.
    Words(Array, usize),
    /// A pointer to an array.
    Pointer(Box<Argument>),
    /// A structure in the structure.
    Struct(Vec<Scalar>),
}

impl Scalar {
    fn pointers(&self) -> Vec<&Argument> {
        match self {
            Self::Number(..) | Self::Words(..) => Vec::new(),
            Self::Pointer(pointer) => vec![pointer],
            Self::Struct(members) => members.iter().flat_map(Self::pointers).collect(),
        }
    }

    /// Whether numbers of a tensor are in it.
    pub(super) fn has_words(&self) -> bool {
        match self {
            Self::Number(..) | Self::Pointer(_) => false,
            Self::Words(..) => true,
            Self::Struct(members) => members.iter().any(Self::has_words),
        }
    }
}

/// What an array begins as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Zeros.
    Zeros,
    /// Nothing was ever written.
    Poison,
    /// What this input holds.
    Input(&'static Port),
}

/// An array of no tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// How large it is.
    pub shape: Shape,
    /// What it holds at first.
    pub fill: Fill,
}

/// What an array of no tensor holds at first.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// Nothing was ever written.
    Poison,
    /// Random floats.
    Random {
        /// The least.
        low: f32,
        /// The largest.
        high: f32,
        /// Which of all.
        seed: u64,
    },
    /// These numbers.
    Values(Number, Vec<Expression>),
    /// Whole numbers, each so much more than the one before it.
    Iota {
        /// Their type.
        number: Number,
        /// The first.
        first: Expression,
        /// The difference.
        step: Expression,
    },
    /// The sums of another array's numbers of 32 bits, each with its own, as they are when the first launch that takes
    /// these begins.
    Cumsum(String),
    /// The sums of an expression over the tiles, from the first tile on.
    Scan {
        /// Their type.
        number: Number,
        /// What is added up, in which `PER_TILE` names what a tile has.
        of: Expression,
        /// Whether a tile's own is in its sum.
        inclusive: bool,
    },
}

/// The (tile, Gaussian) pairs of one tile, in an expression that is added up over the tiles.
pub(super) const PER_TILE: &str = "pairs";

/// How large an array is.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The type of an element.
    pub number: Number,
    /// Its dimensions.
    pub sides: Vec<Expression>,
}
