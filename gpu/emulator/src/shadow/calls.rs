//! Calls of functions of CUDA's library, between the markers that [`MARKERS`] puts around them.
//!
//! A compiler replaces a function by a polynomial, whose derivative is not the function's: that of
//! tanhf is off by up to 8e-6. A marker is a maximum with what is not a number, which is the other
//! operand (PTX ISA, "max") and stays where it is. Its payload names the function. Behind the first
//! marker the operand is a constant, so that nothing inside is followed; at the last one the result has
//! the function's value at the operand as it was before, and its derivative.

use super::super::ir::Rounding;
use super::super::lanes::Bits;
use super::super::registers::Registers;
use super::journal::{Journal, Loss};
use super::marker::Marker;
use super::number::{Shadow, Wide, Word};
use super::registers::{Beside, Call};
use super::table::accuracy::Accuracy;
use super::table::{Function, Library};
use super::wides::DOUBLE;

/// A header for CUDA sources: compile with `-include`. Every call of a function of CUDA's library then tells
/// where it begins and ends.
pub const MARKERS: &str = include_str!("functions/markers.cuh");

/// How far CUDA lets a function of single precision be at an operand: a part of the value, and what comes on top.
fn documented(function: Library, x: f64) -> [f64; 2] {
    match function {
        // From 8 on the table gives the absolute error alone.
        Library::J0 | Library::J1 | Library::Y0 | Library::Y1 if x.abs() >= 8.0 => [0.0, 2.2e-6],
        _ => [units(function) / 8_388_608.0, 0.0],
    }
}

/// Units in the last place that CUDA allows (CUDA C++ Programming Guide 12.4, "Mathematical Functions",
/// table of single precision).
fn units(function: Library) -> f64 {
    match function {
        Library::Log1p
        | Library::Expm1
        | Library::Ln
        | Library::Log2
        | Library::Cbrt
        | Library::ReciprocalCbrt
        | Library::SinPi
        | Library::CosPi => 1.0,
        Library::Exp
        | Library::Exp2
        | Library::Exp10
        | Library::Log10
        | Library::Sin
        | Library::Cos
        | Library::Asin
        | Library::Acos
        | Library::Atan
        | Library::Cosh
        | Library::Tanh
        | Library::Erf
        | Library::ErfInverse
        | Library::ReciprocalHypot => 2.0,
        Library::Atan2 | Library::Sinh | Library::Asinh | Library::Atanh | Library::Hypot => 3.0,
        Library::Tan
        | Library::Acosh
        | Library::Power
        | Library::Erfc
        | Library::ErfcInverse
        | Library::Erfcx => 4.0,
        Library::NormCdf | Library::NormalInverse => 5.0,
        // Outside an interval around its zeros, where the absolute error counts.
        Library::LnGamma => 6.0,
        Library::I0 | Library::I1 => 6.0,
        // Below 8.
        Library::J0 | Library::J1 | Library::Y0 | Library::Y1 => 9.0,
        Library::Gamma => 11.0,
        Library::Fmod | Library::Remainder => 0.0,
    }
}

/// The same of double precision (the guide's table of it), of the functions that are marked there.
fn documented_of_doubles(function: Library) -> f64 {
    match function {
        Library::Asinh | Library::Acosh => 3.0,
        _ => 2.0,
    }
}

impl Journal {
    /// A marker, which all lanes have.
    pub(super) fn marker(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        active: u32,
        (marker, d, a): (Marker, u16, u16),
    ) {
        for lane in Bits(active) {
            let operand = self.float(self.word(beside, a, lane), self.words[0][lane]);
            let word = match marker {
                Marker::Begin { function, operand: number } => {
                    begin(beside, lane, (function, number), operand);
                    Word::None
                }
                Marker::End { function } => {
                    let result = f64::from(f32::from_bits(r.words.get(d)[lane]));
                    let model = Accuracy::rounded(Rounding::Nearest);
                    let of = (operand, result);
                    let end = self.end(beside, lane, function, of, (model, &documented));
                    end.map_or(Word::None, Word::Float)
                }
            };
            beside.set_word(d, lane, word);
        }
    }

    /// A marker of f64 in one lane; `result` is what the maximum gives.
    pub(super) fn marker_of_doubles(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        (marker, operand, result): (Marker, Shadow, f64),
    ) -> Wide {
        match marker {
            Marker::Begin { function, operand: number } => {
                begin(beside, lane, (function, number), operand);
                Wide::None
            }
            Marker::End { function } => {
                let units = |library, _| [documented_of_doubles(library) * f64::EPSILON, 0.0];
                let end = self.end(beside, lane, function, (operand, result), (DOUBLE, &units));
                end.map_or(Wide::None, Wide::Double)
            }
        }
    }

    /// The end of a call. One that has not begun is reported, and its result begins anew.
    fn end(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        function: u8,
        (polynomial, result): (Shadow, f64),
        (model, documented): (Accuracy, &dyn Fn(Library, f64) -> [f64; 2]),
    ) -> Option<Shadow> {
        let call = beside.calls.get_mut(lane).and_then(Vec::pop);
        let known = Library::ALL.get(usize::from(function)).copied();
        let (Some(call), Some(library)) = (call.filter(|call| call.function == function), known)
        else {
            return Some(self.begin_anew(result, &[Some(polynomial)], Loss::Unknown));
        };
        beside.open = beside.open & !(1 << lane) | u32::from(call.was_open) << lane;
        let operands = &call.operands[..library.operands()];
        let function = Function::Library(library);
        // Half of the units at most of the function's value; what fast versions are off by besides is
        // taken as it comes, since it is theirs.
        let at = |k: usize| operands.get(k).map_or(0.0, |shadow| shadow.x);
        let x = [at(0), at(1), 0.0];
        let y = super::table::value(function, x);
        let off = (result - y).abs();
        let [relative, more] = documented(library, x[0]);
        let absolute = model.absolute + off + more;
        let accuracy = Accuracy { relative, absolute, correct: false, ..model };
        self.scalar((function, accuracy), operands, call.was_open, result)
    }
}

/// The begin of a call: inside, the operand is a constant.
fn begin(beside: &mut Beside, lane: usize, (function, number): (u8, u8), operand: Shadow) {
    if beside.calls.len() <= lane {
        beside.calls.resize_with(lane + 1, Vec::new);
    }
    let was_open = beside.open >> lane & 1 == 1;
    let calls = &mut beside.calls[lane];
    match calls.last_mut() {
        Some(call) if number > 0 && call.function == function => call.operands[1] = operand,
        _ => calls.push(Call { function, operands: [operand; 2], was_open }),
    }
}
