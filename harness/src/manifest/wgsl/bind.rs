//! Whether a program in WGSL uses the bindings that a manifest gives it, each as what it is.

use std::fmt;

use splatcheck_gpu::Dtype;
use splatcheck_gpu::wgsl::program::{
    Entry, Layout, Override, Program, ProgramError, Use, Variable, Word,
};

use crate::manifest::types::{Argument, Bits, Launch, Manifest, Number, Parameter, Scalar, Slot};
use splatcheck_workloads::layout::{Array, Field, Layout as Order, Symbols, Tensor, Width};

/// Why a manifest does not fit a program in WGSL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WgslBindError(String);

impl From<ProgramError> for WgslBindError {
    fn from(error: ProgramError) -> Self {
        Self(error.to_string())
    }
}

/// Why a binding is not what its variable is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Arrays are storage.
    #[error("a uniform holds numbers: give it a struct, u32, i32 or f32")]
    Uniform,
    /// Outputs are written.
    #[error("an output must be var<storage, read_write>")]
    ReadOnly,
    /// By value into an array that has no end.
    #[error(
        "its size is not fixed, and numbers by value have no buffer of their own: give an array"
    )]
    NoEnd,
    /// More or fewer numbers.
    #[error("it has {found} numbers, the manifest gives {given}")]
    Count {
        /// The program's.
        found: usize,
        /// The manifest's.
        given: usize,
    },
    /// Another type.
    #[error("number {number} is {found}, the manifest gives {given}")]
    Kind {
        /// The number, from 1.
        number: usize,
        /// The program's.
        found: Word,
        /// The manifest's.
        given: Given,
    },
    /// Numbers in front of the array.
    #[error("the array of {0} begins behind other numbers: bind zeros, or an array by itself")]
    Head(String),
    /// A row and an element of other sizes.
    #[error(
        "a row of {name} has {row} words, an element of the array {element}: vec3 has the place of four \
         (fields = [\"...\", \"pad\"] fills it), or declare single numbers"
    )]
    Row {
        /// The array.
        name: String,
        /// Its words a row.
        row: usize,
        /// Words of an element.
        element: usize,
    },
    /// One buffer, two variables.
    #[error(
        "the same buffer is bound in line {0}, and one of both writes it: WebGPU allows no such thing"
    )]
    Twice(usize),
    /// Planes cannot be elements of several numbers.
    #[error("{0} lies in planes: declare an array of single numbers")]
    Planar(String),
}

/// What a manifest has at a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Nothing.
    Pad,
    /// An index, whatever its sign.
    Integer,
    /// A number of that type.
    Exactly(Word),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pad => f.write_str("pad"),
            Self::Integer => f.write_str("an index (u32 or i32)"),
            Self::Exactly(Word::F32) => f.write_str("f32 (as = \"u32\" hands over its bits)"),
            Self::Exactly(word) => word.fmt(f),
        }
    }
}

impl Given {
    fn fits(self, found: Word) -> bool {
        match (self, found) {
            (Self::Pad, _) => true,
            (Self::Integer, Word::I32 | Word::U32) => true,
            (Self::Exactly(given), found) => given == found,
            (Self::Integer, Word::F32 | Word::Other | Word::Padding) => false,
        }
    }
}

fn listed<S: AsRef<str>>(names: impl Iterator<Item = S>) -> String {
    let names: Vec<String> = names.map(|name| name.as_ref().to_owned()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The slot of a variable.
pub(super) fn slot(variable: &Variable) -> Slot {
    Slot { group: variable.group, binding: variable.binding }
}

/// Checks every launch against its entry point.
pub(super) fn check(manifest: &Manifest, program: &Program) -> Result<(), WgslBindError> {
    for launch in &manifest.launches {
        let missing = || {
            let (line, kernel, names) = (launch.line, &launch.kernel, listed(program.names()));
            WgslBindError(format!(
                "manifest, line {line}: no compute entry point is named '{kernel}': there are {names}"
            ))
        };
        if let Some(refusal) = program.refusal(&launch.kernel) {
            return Err(refusal.clone().into());
        }
        let entry = program.entry(&launch.kernel).ok_or_else(missing)?;
        bindings(launch, entry)?;
        overrides(launch, entry, &program.overrides)?;
    }
    Ok(())
}

fn bindings(launch: &Launch, entry: &Entry) -> Result<(), WgslBindError> {
    for parameter in &launch.parameters {
        let Some(own) = parameter.slot else { continue };
        let unused = || {
            let one = |variable: &Variable| format!("{} at {}", variable.name, slot(variable));
            let known = listed(entry.variables.iter().map(one));
            WgslBindError(format!(
                "manifest, line {}: entry point '{}' uses nothing at {own}, it has {known}: leave the binding out, or \
                 correct its number",
                parameter.line, entry.name
            ))
        };
        let found = |wanted: Slot| entry.variables.iter().find(|one| slot(one) == wanted);
        let variable = found(own).ok_or_else(unused)?;
        fixed(parameter, variable).map_err(|unfit| unfit_at(parameter, variable, &unfit))?;
        let writes = |other: &&Parameter| {
            let other = other.slot.and_then(found);
            [Some(variable), other].into_iter().flatten().any(|one| one.access == Use::ReadWrite)
        };
        let before = launch.parameters.iter().take_while(|other| other.slot != Some(own));
        if let Some(twice) = before.filter(|other| shared(other, parameter)).find(writes) {
            return Err(unfit_at(parameter, variable, &Unfit::Twice(twice.line)));
        }
    }
    let bound = |variable: &&Variable| {
        launch.parameters.iter().any(|parameter| parameter.slot == Some(slot(variable)))
    };
    match entry.variables.iter().find(|variable| !bound(variable)) {
        None => Ok(()),
        Some(variable) => {
            let (Variable { name, access, .. }, slot) = (variable, slot(variable));
            Err(WgslBindError(format!(
                "entry point '{}' uses {access} {name} at {slot}, which the manifest does not bind: add [[binding]] \
                 group = {}, binding = {}",
                entry.name, slot.group, slot.binding
            )))
        }
    }
}

/// Whether two bindings are one buffer.
fn shared(a: &Parameter, b: &Parameter) -> bool {
    match (&a.argument, &b.argument) {
        (Argument::Input(a), Argument::Input(b)) => a == b,
        (Argument::Output(a, _), Argument::Output(b, _)) => a == b,
        (Argument::Named(a), Argument::Named(b)) => a == b,
        (
            Argument::Input(_)
            | Argument::Output(..)
            | Argument::Named(_)
            | Argument::Struct(_)
            | Argument::Own(_)
            | Argument::Null,
            _,
        ) => false,
    }
}

/// What is wrong with a binding, with its place.
pub(super) fn unfit_at(parameter: &Parameter, variable: &Variable, unfit: &Unfit) -> WgslBindError {
    let (Parameter { line, place, .. }, Variable { name, access, .. }) = (parameter, variable);
    WgslBindError(format!("manifest, line {line}, {place}, which is {access} {name}: {unfit}"))
}

/// Whether a launch's constants are the program's, and each that its entry point needs is there.
fn overrides(launch: &Launch, entry: &Entry, all: &[Override]) -> Result<(), WgslBindError> {
    let called = |name: &str| all.iter().find(|one| one.is_called(name));
    for (name, _) in &launch.overrides {
        if called(name).is_none() {
            let known = listed(all.iter().map(|one| &one.name));
            return Err(WgslBindError(format!(
                "manifest, overrides: the program has no override {name}: there are {known}"
            )));
        }
    }
    let given = |needed: &&String| {
        let mut given = launch.overrides.iter().filter_map(|(name, _)| called(name));
        given.any(|one| one.name == **needed)
    };
    match entry.needs.iter().find(|needed| !given(needed)) {
        None => Ok(()),
        Some(name) => Err(WgslBindError(format!(
            "entry point '{}' uses the override {name}, which has no value in the program: give it in overrides",
            entry.name
        ))),
    }
}

/// What can be said without a case.
fn fixed(parameter: &Parameter, variable: &Variable) -> Result<(), Unfit> {
    let uniform = variable.access == Use::Uniform;
    match &parameter.argument {
        Argument::Struct(scalars) => numbers(scalars, &variable.layout).map(drop),
        Argument::Output(..) | Argument::Input(_) | Argument::Own(_) | Argument::Named(_)
            if uniform =>
        {
            Err(Unfit::Uniform)
        }
        Argument::Output(..) if variable.access == Use::Read => Err(Unfit::ReadOnly),
        Argument::Output(..)
        | Argument::Input(_)
        | Argument::Own(_)
        | Argument::Named(_)
        | Argument::Null => Ok(()),
    }
}

/// The places of the numbers of a structure, where WGSL has them; each is checked.
pub(super) fn numbers(scalars: &[Scalar], layout: &Layout) -> Result<Vec<usize>, Unfit> {
    let words = layout.fixed().ok_or(Unfit::NoEnd)?;
    let places = words.iter().enumerate().filter(|(_, word)| **word != Word::Padding);
    let places: Vec<(usize, Word)> = places.map(|(place, word)| (place, *word)).collect();
    let given: Vec<Word> = scalars.iter().flat_map(of_scalar).collect();
    if given.len() != places.len() {
        return Err(Unfit::Count { found: places.len(), given: given.len() });
    }
    for ((number, &(_, found)), given) in (1..).zip(&places).zip(given) {
        if found != given {
            return Err(Unfit::Kind { number, found, given: Given::Exactly(given) });
        }
    }
    Ok(places.into_iter().map(|(place, _)| place).collect())
}

fn of_scalar(scalar: &Scalar) -> Vec<Word> {
    match scalar {
        Scalar::Words(array, count) => match array.dtype() {
            Dtype::F32 => vec![Word::F32; *count],
            Dtype::I32 | Dtype::U32 => vec![Word::U32; *count],
        },
        Scalar::Number(Number::F32, _) => vec![Word::F32],
        Scalar::Number(Number::I32, _) => vec![Word::I32],
        Scalar::Number(Number::U32, _) => vec![Word::U32],
        // The manifest's check leaves none of them.
        Scalar::Number(Number::U8 | Number::U64 | Number::I64 | Number::F64, _)
        | Scalar::Pointer(_)
        | Scalar::Struct(_) => {
            vec![Word::Other]
        }
    }
}

/// Whether the rows of an array lie as the program declares them, on a case.
pub(super) fn rows(
    array: &Array,
    bits: Option<Bits>,
    layout: &Layout,
    symbols: &Symbols,
) -> Result<(), Unfit> {
    let row: Vec<Given> =
        array.fields.iter().flat_map(|field| given(*field, bits, symbols)).collect();
    let element = match (&layout.head[..], &layout.array) {
        ([], Some(array)) => &array.element[..],
        (head, None) => head,
        (_, Some(_)) => return Err(Unfit::Head(array.name())),
    };
    if array.layout == Order::Planar && element.len() > 1 {
        return Err(Unfit::Planar(array.name()));
    }
    // An element holds several numbers of a row, or all of them.
    if element.is_empty() || !row.len().is_multiple_of(element.len()) {
        let (name, row) = (array.name(), row.len());
        return Err(Unfit::Row { name, row, element: element.len() });
    }
    for ((number, given), &found) in (1..).zip(row).zip(element.iter().cycle()) {
        if !given.fits(found) {
            return Err(Unfit::Kind { number, found, given });
        }
    }
    Ok(())
}

/// What a field has in the words of a row.
fn given(field: Field, bits: Option<Bits>, symbols: &Symbols) -> Vec<Given> {
    let of = |tensor: Tensor| match bits {
        Some(Bits::F32) => Given::Exactly(Word::F32),
        Some(Bits::I32) => Given::Exactly(Word::I32),
        Some(Bits::U32) => Given::Exactly(Word::U32),
        None if tensor.dtype() != Dtype::F32 => Given::Integer,
        None => Given::Exactly(Word::F32),
    };
    match field {
        Field::Pad => vec![Given::Pad],
        Field::Component(tensor, _) => vec![of(tensor)],
        Field::Whole(tensor) => {
            let width: Width = tensor.width();
            vec![of(tensor); width.count(symbols)]
        }
    }
}
