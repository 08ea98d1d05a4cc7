//! What a checked manifest says.

use splatcheck_gpu::Stage;
use splatcheck_gpu::stage::Port;
use splatcheck_judge::io::Problem;
use splatcheck_judge::workload::{AnyCase, BuiltIn, Workload};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::halves::Halves;
use splatcheck_workloads::layout::array::{not_held, roundings_of_meaning};
use splatcheck_workloads::layout::{Array, Expression, KernelKind, Tensor};
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::splat::ColorForms;
use splatcheck_workloads::splat::comparing;
use splatcheck_workloads::splat::formulated::{FormulationUse, judged_on_foreign, judged_rounded};
use splatcheck_workloads::splat::kernel_rules::{KernelRules, Reach};
use splatcheck_workloads::splat::on_image::Kernel;
use splatcheck_workloads::splat::stage::RoundedInputs;
use std::collections::{BTreeMap, BTreeSet};
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
    fn pointers(&self) -> Vec<&Self> {
        let Self::Struct(members) = self else { return vec![self] };
        let pointers = members.iter().filter_map(|member| match member {
            Scalar::Pointer(pointer) => Some(&**pointer),
            Scalar::Number(..) | Scalar::Words(..) => None,
        });
        pointers.collect()
    }

    /// The array of tensors that it points to.
    fn array(&self) -> Option<&Array> {
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
    /// Bytes of an element.
    pub bytes: u32,
    /// Its dimensions.
    pub sides: Vec<Expression>,
}

impl Manifest {
    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of its preset, where that is a file of the user's.
    #[must_use]
    pub fn preset(&self) -> Option<&str> {
        self.preset.as_deref()
    }

    /// The files of launches that have their own, each once.
    #[must_use]
    pub fn files(&self) -> BTreeSet<&str> {
        self.launches.iter().filter_map(|launch| launch.file.as_deref()).collect()
    }

    /// The parameters of all launches.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.launches.iter().flat_map(|launch| &launch.parameters)
    }

    /// The arrays of tensors, each as often as it is named.
    pub fn arrays(&self) -> impl Iterator<Item = (&Parameter, &Array)> {
        self.parameters().flat_map(|parameter| {
            let pointers = parameter.argument.pointers().into_iter();
            pointers.filter_map(Argument::array).map(move |array| (parameter, array))
        })
    }

    /// See [`roundings_of_meaning`].
    #[must_use]
    pub fn roundings_of_units(&self) -> u8 {
        roundings_of_meaning(self.arrays().map(|(_, array)| array))
    }

    /// The stage that its kernels stand in for, in a formulation.
    #[must_use]
    pub fn stage(&self, formulation: Formulation) -> Stage {
        self.kind.stage(formulation)
    }

    /// The tensors of its outputs.
    fn written(&self) -> impl Iterator<Item = Tensor> {
        let fields = self.arrays().flat_map(|(_, array)| &array.fields);
        let tensors = fields.filter_map(|field| field.tensor());
        tensors.filter(|tensor| tensor.port(self.kind).is_some())
    }

    /// Whether its gradients are by the opacities' logits.
    fn is_by_logits(&self) -> bool {
        self.arrays().any(|(_, array)| array.holds(Tensor::VLogits))
    }

    /// Why its outputs cannot be judged: one that no parameter holds, or only in part. Of the backward
    /// rasterization all are needed; kernels of the other stages differ in what they return.
    #[must_use]
    pub fn not_judged(&self) -> Option<Problem> {
        let arrays = || self.arrays().map(|(_, array)| array);
        let advice = "name it (tensor or fields), or run with --observe-only, without an oracle";
        let missing = |tensor: Tensor| Problem::new(tensor.name(), "held by no parameter", advice);
        let always: &[Tensor] = match self.kind {
            KernelKind::ProjectOnImage => {
                &[Tensor::Radii, Tensor::ProjectedMeans2d, Tensor::ProjectedConics]
            }
            KernelKind::ProjectOnImageBackward => {
                &[Tensor::VMeans, Tensor::VQuats, Tensor::VScales]
            }
            _ => &[],
        };
        if let Some(tensor) = not_held(arrays(), always) {
            return Some(missing(tensor));
        }
        if self.kind == KernelKind::RasterizeBackward {
            let by = |tensor| match tensor {
                Tensor::VOpacities if self.is_by_logits() => Tensor::VLogits,
                other => other,
            };
            return not_held(arrays(), &Tensor::OUTPUTS.map(by)).map(missing);
        }
        if self.written().next().is_none() {
            let outputs = self.stage(Formulation::STANDARD).spec().outputs;
            let names: Vec<_> = outputs.iter().map(|port| port.name).collect();
            let value = format!("held by no parameter, none of {}", names.join(", "));
            return Some(Problem::new("an output", value, advice));
        }
        // One radius says of a Gaussian whether it is there.
        let whole = self.written().filter(|tensor| *tensor != Tensor::Radii).collect::<Vec<_>>();
        let part = not_held(arrays(), &whole)?;
        Some(Problem::new(part.name(), "held in part", "name its other numbers too"))
    }

    /// The outputs of the stage that no parameter holds, which are not compared.
    #[must_use]
    pub fn left_out(&self) -> Vec<&'static str> {
        let held: Vec<_> = self.written().filter_map(|t| Some(t.port(self.kind)?.0)).collect();
        let outputs = self.stage(Formulation::STANDARD).spec().outputs.iter();
        outputs.map(|port| port.name).filter(|name| !held.contains(name)).collect()
    }

    /// What is not compared, in words; nothing where all is.
    #[must_use]
    pub fn left_out_in_words(&self) -> Option<String> {
        let names = self.left_out();
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        Some(format!("NOT EXERCISED: {names}: no parameter of the manifest holds it"))
    }

    /// Its arrays that have 16 bits a number.
    #[must_use]
    pub fn halves(&self) -> Halves {
        let mut halves = Halves::default();
        for parameter in self.parameters() {
            for argument in parameter.argument.pointers() {
                let Some(array) =
                    argument.array().filter(|one| one.meaning.stored.half().is_some())
                else {
                    continue;
                };
                let stored = array.meaning.stored;
                for tensor in array.fields.iter().filter_map(|field| field.tensor()) {
                    match tensor.port(self.kind) {
                        Some((port, _)) => halves.outputs.push((port, stored)),
                        None => halves.inputs.push((tensor.name(), stored.float)),
                    }
                }
                // What an output is added to lies in the same buffer.
                if let Argument::Output(_, Start::Input(port)) = argument {
                    halves.inputs.push((port.name, stored.float));
                }
            }
        }
        halves.inputs.sort_unstable_by_key(|(name, float)| (*name, *float as u8));
        halves.inputs.dedup();
        halves.outputs.dedup();
        halves
    }

    /// A case as its kernels are judged on it: by what is built into them, in a formulation, and by the
    /// outputs that they have.
    ///
    /// # Errors
    /// [`FormulationUse`].
    pub fn judged(
        &self,
        case: &AnyCase,
        formulation: Formulation,
    ) -> Result<AnyCase, FormulationUse> {
        if let KernelKind::Of(stage) = self.kind {
            let fitted = self.workload().and_then(|all| all.fitted(case, stage, &self.built_in));
            let case = fitted.unwrap_or_else(|| AnyCase::clone(case));
            let case = comparing::in_halves(case, self.halves());
            return Ok(comparing::without(case, &self.left_out()));
        }
        let reach = if self.kind.projects() { Reach::All } else { Reach::Raster };
        let ruled = self.rules.applied_to(case, reach);
        if self.kind.knows_the_image() {
            let ports = self.written().filter_map(|tensor| Some(tensor.port(self.kind)?.0));
            let mut returns: Vec<_> = ports.collect();
            returns.push(Tensor::Radii.name());
            let kernel = Kernel { extra_roundings: self.projection_roundings, returns };
            return Ok(comparing::on_image(judged_on_foreign(ruled), kernel));
        }
        let halves = self.halves();
        let rounded = RoundedInputs::new(&halves.inputs);
        let judged = match self.kind.has_formulations() {
            true if self.is_by_logits() => {
                comparing::by_logits(judged_rounded(&ruled, formulation, rounded)?)
            }
            true => judged_rounded(&ruled, formulation, rounded)?,
            // Of the others the forward rasterization alone has inputs in 16 bits.
            false if rounded != RoundedInputs::default() => {
                let judged = judged_rounded(&ruled, Formulation::STANDARD, rounded)?;
                comparing::without(judged, &self.left_out())
            }
            false => comparing::without(judged_on_foreign(ruled), &self.left_out()),
        };
        let judged = comparing::in_halves(judged, halves);
        Ok(if self.all_views { comparing::all_views(judged) } else { judged })
    }

    /// The workload that its cases are of.
    fn workload(&self) -> Option<Arc<dyn Workload>> {
        splatcheck_workloads::find(self.kind.workload()).ok()
    }

    /// Whether its kernels are for a case: for its form of colours, or in another workload than splats with what
    /// is built into them.
    #[must_use]
    pub fn takes(&self, case: &AnyCase) -> bool {
        match self.kind {
            KernelKind::Of(stage) => {
                self.workload().is_some_and(|all| all.is_for(case, stage, &self.built_in))
            }
            _ => self.color_forms().has(case),
        }
    }

    /// Which forms of colours its kernels take. A kernel that has no part in them takes direct ones: by
    /// harmonics the gradients of a Gaussian's mean have a part that comes through its colour.
    #[must_use]
    pub fn color_forms(&self) -> ColorForms {
        let names = |wanted: &[Tensor]| {
            let mut fields = self.arrays().flat_map(|(_, array)| &array.fields);
            fields.any(|field| field.tensor().is_some_and(|tensor| wanted.contains(&tensor)))
        };
        let both = names(&[Tensor::ColorsOrSh]);
        let [direct, harmonics] =
            [Tensor::Colors, Tensor::Sh].map(|tensor| both || names(&[tensor]));
        match (self.kind, direct, harmonics) {
            (KernelKind::Project | KernelKind::ProjectBackward, false, true) => {
                ColorForms::Harmonics
            }
            (KernelKind::Project, true, false)
            | (KernelKind::ProjectBackward, true | false, false) => ColorForms::Direct,
            (KernelKind::Project, false, false)
            | (KernelKind::Project | KernelKind::ProjectBackward, true, true)
            | (
                KernelKind::Rasterize
                | KernelKind::RasterizeBackward
                | KernelKind::Full
                | KernelKind::ProjectOnImage
                | KernelKind::ProjectOnImageBackward
                | KernelKind::Of(_),
                _,
                _,
            ) => ColorForms::Both,
        }
    }

    /// Why a kernel that takes these arrays is not of a formulation.
    #[must_use]
    pub fn not_of(&self, formulation: Formulation) -> Option<Problem> {
        for (parameter, array) in self.arrays() {
            for tensor in array.fields.iter().filter_map(|field| field.tensor()) {
                if let Some(advice) = tensor.not_given_in(formulation) {
                    let value =
                        format!("{}, which formulation {formulation} is not given", tensor.name());
                    let problem = Problem::new(parameter.place.as_str(), value, advice);
                    return Some(problem.at_line(parameter.line));
                }
            }
        }
        None
    }
}
