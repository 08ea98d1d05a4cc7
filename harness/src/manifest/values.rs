//! The values of a manifest's expressions on a case: counts, the arrays that are its own, and its outputs
//! in gsplat's layout; the same for every language.

use splatcheck_gpu::{Data, EngineError, ShapeError, Tensors};
use splatcheck_reference::splat::Formulation;

use super::views::Views;
use crate::manifest::types::{Manifest, Number};
use splatcheck_workloads::layout::held::beside;
use splatcheck_workloads::layout::packed::{NoRows, rows};
use splatcheck_workloads::layout::{
    Array, Expression, ExpressionError, KernelKind, Symbols, Tensor,
};

/// The largest array that a manifest may ask for, bytes.
pub(super) const LARGEST: u64 = 1 << 30;

impl Manifest {
    /// What names stand for on a case with these inputs, or without a case, where there are none.
    ///
    /// # Errors
    /// An array that is not there, and a size that has no value.
    pub fn symbols(&self, inputs: &Tensors) -> Result<Symbols, EngineError> {
        self.with_sizes(Views::of(self, inputs)?.symbols())
    }

    /// The same of what names of a case stand for.
    pub(super) fn with_sizes(&self, mut symbols: Symbols) -> Result<Symbols, EngineError> {
        for (name, size) in &self.sizes {
            let no = |error| EngineError::NotLaunched(format!("manifest, sizes.{name}: {error}"));
            // The case's own numbers go before those that take their place without one.
            if symbols.integer(name).is_err() {
                let value = whole(size, &symbols).map_err(no)?;
                symbols.integers.insert(name.clone(), value);
            }
        }
        Ok(symbols)
    }
}

/// What is wrong with a manifest on a case, with its place.
pub(super) fn wrong(line: usize, place: &str, error: impl std::fmt::Display) -> EngineError {
    EngineError::NotLaunched(format!("manifest, line {line}, {place}: {error}"))
}

/// What is wrong with a key of a kernel's launch on a case.
pub(super) fn of_kernel(line: usize, key: &str, error: impl std::fmt::Display) -> EngineError {
    EngineError::NotLaunched(format!("manifest, kernel of line {line}, {key}: {error}"))
}

/// Why an expression's value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ValueError {
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    #[error("{value} does not fit in {number}")]
    Range { value: i64, number: &'static str },
    #[error("an array of {0} bytes is larger than {LARGEST}, the largest there may be")]
    TooLarge(u64),
}

pub(super) fn whole(expression: &Expression, symbols: &Symbols) -> Result<i64, ExpressionError> {
    expression.integer(&|name| symbols.integer(name))
}

pub(super) fn count(expression: &Expression, symbols: &Symbols) -> Result<u32, ValueError> {
    let value = whole(expression, symbols)?;
    u32::try_from(value)
        .map_err(|_| ValueError::Range { value, number: "an unsigned 32-bit number" })
}

/// The bytes of a number.
pub(super) fn number_bytes(
    number: Number,
    value: &Expression,
    symbols: &Symbols,
) -> Result<Vec<u8>, ValueError> {
    let float = || value.float(&|name| symbols.float(name));
    Ok(match number {
        #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is asked for")]
        Number::F32 => (float()? as f32).to_le_bytes().to_vec(),
        Number::F64 => float()?.to_le_bytes().to_vec(),
        Number::U8 | Number::U32 | Number::I32 | Number::U64 | Number::I64 => {
            integer(number, whole(value, symbols)?)?
        }
    })
}

/// The bytes of a whole number.
fn integer(number: Number, value: i64) -> Result<Vec<u8>, ValueError> {
    let range = |number| ValueError::Range { value, number };
    Ok(match number {
        Number::U8 => u8::try_from(value).map_err(|_| range("u8"))?.to_le_bytes().to_vec(),
        Number::U32 => u32::try_from(value).map_err(|_| range("u32"))?.to_le_bytes().to_vec(),
        Number::I32 => i32::try_from(value).map_err(|_| range("i32"))?.to_le_bytes().to_vec(),
        Number::U64 => u64::try_from(value).map_err(|_| range("u64"))?.to_le_bytes().to_vec(),
        Number::I64 | Number::F32 | Number::F64 => value.to_le_bytes().to_vec(),
    })
}

impl From<ValueError> for EngineError {
    fn from(error: ValueError) -> Self {
        Self::NotLaunched(error.to_string())
    }
}

/// The words of an input, and zeros behind them up to this number.
pub(super) fn words_of(
    array: &Array,
    count: usize,
    inputs: &Tensors,
    symbols: &Symbols,
) -> Result<Vec<u32>, EngineError> {
    // Without a case there are no inputs.
    let mut words = if inputs.is_empty() { Vec::new() } else { array.pack(inputs, symbols)? };
    if words.len() > count {
        let (name, found) = (array.name(), words.len());
        let what = format!("{name} has {found} numbers, and the kernel's structure takes {count}");
        return Err(EngineError::TooLarge(what));
    }
    words.resize(count, 0);
    Ok(words)
}

/// The outputs in gsplat's layout and units, from the words of the arrays that hold them; those that no
/// array holds are not among them.
pub(super) fn outputs(
    kind: KernelKind,
    held: &[(&Array, Vec<u32>)],
    symbols: &Symbols,
    inputs: &Tensors,
) -> Result<Tensors, EngineError> {
    // The stages of all formulations have the same outputs.
    let stage = kind.stage(Formulation::STANDARD);
    let tensors = || held.iter().flat_map(|(array, _)| &array.fields).filter_map(|f| f.tensor());
    let is_held =
        |name: &str| tensors().any(|tensor| tensor.port(kind).is_some_and(|port| port.0 == name));
    let by_radii = tensors().any(|tensor| [Tensor::Radii, Tensor::Radius].contains(&tensor));
    let ports = || stage.spec().outputs.iter().filter(|port| is_held(port.name));
    let shape = |name: &str| {
        // What is visible follows from radii, also where no array holds it.
        let visible = (name == Tensor::Visible.name()).then_some(Tensor::Visible);
        let tensor = Tensor::of_port(name, kind).or(visible);
        tensor.map(|tensor| tensor.sides(symbols)).unwrap_or_default()
    };
    let no = |error: NoRows| EngineError::Device(error.to_string());
    let rows = rows(held, symbols).map_err(no)?;
    // Of packed rows what is listed is there.
    let begin = |name: &str| u32::from(by_radii && rows.is_none() && name == "visible");
    let words = |name: &str| vec![begin(name); shape(name).iter().product()];
    let mut numbers: Vec<_> = ports().map(|port| (port.name, words(port.name))).collect();
    let beside = beside(tensors(), kind);
    let own = |tensor: &Tensor| vec![0; tensor.sides(symbols).iter().product()];
    numbers.extend(beside.iter().map(|tensor| (tensor.name(), own(tensor))));
    // Of an output in two forms a case has one: the array of the other says nothing.
    let has = |wanted: &[Tensor]| tensors().any(|tensor| wanted.contains(&tensor));
    let in_both = has(&[Tensor::VColors]) && has(&Tensor::HARMONIC_GRADIENTS);
    let packed = rows.map(|packed| Symbols { packed, ..symbols.clone() });
    if let Some(listed) = &packed {
        for (_, visible) in numbers.iter_mut().filter(|(name, _)| *name == "visible") {
            listed.packed.iter().for_each(|&place| visible[place] = 1);
        }
    }
    let symbols = packed.as_ref().unwrap_or(symbols);
    for (array, words) in held {
        if in_both && array.is_of_other_form(symbols) {
            continue;
        }
        array.unpack(words, symbols, &mut numbers);
    }
    places_of_last(held, &mut numbers, symbols, inputs)?;
    let mut outputs = Tensors::new();
    let held = |error: ShapeError| EngineError::Device(error.to_string());
    for (tensor, (name, words)) in beside.into_iter().zip(numbers.split_off(ports().count())) {
        let data = Data::from_words(tensor.dtype(), &words);
        outputs.array(name, &tensor.sides(symbols), data).map_err(held)?;
    }
    for (port, (name, numbers)) in ports().zip(numbers) {
        let data = Data::from_words(port.dtype, &numbers);
        outputs.array(name, &shape(name), data).map_err(held)?;
    }
    Ok(outputs)
}

/// The places in `flatten_ids` of the last contributors, where a kernel counts them in the tile's list, or
/// says otherwise that there is none.
fn places_of_last(
    held: &[(&Array, Vec<u32>)],
    numbers: &mut [(&'static str, Vec<u32>)],
    symbols: &Symbols,
    inputs: &Tensors,
) -> Result<(), EngineError> {
    let of = |tensor| held.iter().map(|(array, _)| *array).find(|array| array.holds(tensor));
    let column = |numbers: &[(&'static str, Vec<u32>)], name: &str| {
        numbers.iter().find(|(known, _)| *known == name).map(|(_, words)| words.clone())
    };
    let alphas = column(numbers, "render_alphas");
    let transmittance = column(numbers, "render_transmittance");
    let empty = |pixel: usize| match (&alphas, &transmittance) {
        (Some(alphas), _) => f32::from_bits(alphas[pixel]) == 0.0,
        (None, Some(all)) => f32::from_bits(all[pixel]) == 1.0,
        (None, None) => false,
    };
    let Some((_, last)) = numbers.iter_mut().find(|(name, _)| *name == "last_ids") else {
        return Ok(());
    };
    const NONE: u32 = (-1_i32).cast_unsigned();
    if of(Tensor::NContrib).is_some() {
        let offsets = inputs.u32("tile_offsets")?;
        for (pixel, count) in last.iter_mut().enumerate() {
            let begin = offsets[symbols.tile_of(pixel)];
            *count = if *count == 0 { NONE } else { begin.wrapping_add(*count).wrapping_sub(1) };
        }
    } else if let Some(array) = of(Tensor::LastIds) {
        let none = array.meaning.none.cast_unsigned();
        for (pixel, last) in last.iter_mut().enumerate() {
            if none != NONE && *last == none && empty(pixel) {
                *last = NONE;
            }
        }
    }
    Ok(())
}
