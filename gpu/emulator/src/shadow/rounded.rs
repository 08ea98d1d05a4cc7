//! Which instructions' roundings reach a number.
//!
//! To first order a number is off by the sum, over all that it was computed from, of its derivative by that result
//! times the result's own rounding (Higham 2002, section 3.2). The derivatives are those of the sweep.

use std::collections::BTreeMap;

use super::super::ir::{
    Approximation, Arithmetic, AtomicOp, Convert, Double, FloatBinary, FloatUnary, Narrow,
    NarrowFormat, NarrowOp, Number, Op, RareOp,
};
use super::super::memory::{Buffer, DeviceMemory};
use super::ask::ShadowError;
use super::journal::Place;
use super::number::depends;
use super::table::Function;
use super::table::accuracy::Accuracy;
use super::tape::{Rule, Tape, name};

/// Half a unit in the last place of each format, in parts of the number.
const OF_F32: f64 = 1.0 / 16_777_216.0;
const OF_F64: f64 = f64::EPSILON / 2.0;
const OF_F16: f64 = 1.0 / 2048.0;
const OF_BF16: f64 = 1.0 / 256.0;

/// CUDA's functions in single precision are within one or two units of f32.
const OF_LIBRARY: f64 = 4.0 * OF_F32;

/// The part of its result that an instruction may round away; of a function whose error is given beside its values (a
/// sine) the part of 1.
pub(super) fn rounding(op: &Op) -> f64 {
    if let Some(atomic) = op.atomic() {
        return match atomic.op {
            AtomicOp::AddFloat if atomic.b64 => OF_F64,
            AtomicOp::AddFloat => OF_F32,
            AtomicOp::AddPair(format) | AtomicOp::AddHalf(format) => of_format(format),
            _ => 0.0,
        };
    }
    let Op::Arithmetic(arithmetic) = op else { return 0.0 };
    match arithmetic {
        Arithmetic::FloatUnary(FloatUnary::Reciprocal | FloatUnary::Sqrt, ..)
        | Arithmetic::Fma(..) => OF_F32,
        Arithmetic::FloatUnary(FloatUnary::Approximate(function), ..)
        | Arithmetic::FloatBinary(FloatBinary::Approximate(function), ..) => of_function(*function),
        Arithmetic::FloatBinary(
            FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul | FloatBinary::Div,
            ..,
        ) => OF_F32,
        Arithmetic::Rare(rare) => of_rare(rare.op),
        _ => 0.0,
    }
}

fn of_function(function: Approximation) -> f64 {
    Accuracy::approximate(function).relative
}

fn of_format(format: NarrowFormat) -> f64 {
    match format {
        NarrowFormat::F16 => OF_F16,
        NarrowFormat::Bf16 => OF_BF16,
    }
}

fn of_rare(op: RareOp) -> f64 {
    match op {
        RareOp::Convert(Convert { from, to, .. }) => match (from, to) {
            (Number::F32 | Number::F64 | Number::Bf16, Number::F16) => OF_F16,
            (Number::F32 | Number::F64 | Number::F16, Number::Bf16) => OF_BF16,
            (Number::F64, Number::F32) => OF_F32,
            _ => 0.0,
        },
        RareOp::ConvertPair { format, .. } => of_format(format),
        RareOp::Double(Double::Negate | Double::Abs | Double::Min | Double::Max) => 0.0,
        RareOp::Double(_) => OF_F64,
        RareOp::Narrow(Narrow { op, format, .. }) => match op {
            NarrowOp::Add | NarrowOp::Sub | NarrowOp::Mul | NarrowOp::Fma => of_format(format),
            NarrowOp::Negate | NarrowOp::Abs | NarrowOp::Min { .. } | NarrowOp::Max { .. } => 0.0,
        },
        // Of an operand below 2 pi.
        RareOp::Wave { .. } => Accuracy::wave(0.0).absolute,
        _ => 0.0,
    }
}

impl Tape {
    /// How far the roundings of each instruction may move a node, by the instruction's number.
    fn roundings(&self, of: u32, rounding: &dyn Fn(u32) -> f64) -> BTreeMap<u32, f64> {
        let adjoints = self.sweep(&[(of, 1.0)]);
        let mut all = BTreeMap::new();
        for row in self.rows() {
            let part = match row.rule {
                Rule::Real(Function::Library(_)) => OF_LIBRARY.max(rounding(row.place)),
                Rule::Real(_) => rounding(row.place),
                Rule::Input | Rule::Lost => 0.0,
            };
            if part == 0.0 {
                continue;
            }
            let own = row.first..row.first + row.count;
            let moved: f64 = own.map(|n| (self.number(name(n)).0 * adjoints.values[n]).abs()).sum();
            if moved > 0.0 {
                *all.entry(row.place).or_insert(0.0) += part * moved;
            }
        }
        all
    }
}

impl DeviceMemory {
    /// How far the roundings of each instruction may move an element of a buffer, to first order, the largest first.
    /// Nothing where the element was computed from no input ([`differentiate`](Self::differentiate)).
    ///
    /// # Errors
    /// There is no tape.
    pub fn roundings(
        &self,
        output: Buffer,
        element: usize,
    ) -> Result<Vec<(Place, f64)>, ShadowError> {
        let journal = self.journal.as_deref().ok_or(ShadowError::NoTape)?;
        let tape = journal.tape.as_ref().ok_or(ShadowError::NoTape)?;
        let segment = self.segment_at(output).filter(|all| element < all.elements());
        let node = segment.map(|segment| segment.factored(element).0.n);
        let Some(node) = node.filter(|&n| depends(n)) else { return Ok(Vec::new()) };
        let by_number = tape.roundings(node, &|number| journal.rounding_of(number));
        let named = by_number.into_iter().map(|(number, moved)| (journal.place_of(number), moved));
        let mut all: Vec<_> = named.collect();
        all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Ok(all)
    }
}
