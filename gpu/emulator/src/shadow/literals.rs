//! What a kernel's literals stand for.
//!
//! A literal is a real number that somebody rounded to f32, so that it is uncertain by half a unit in its
//! last place, but for:
//! - short dyadic numbers (at most 12 significant bits) and whole numbers, which stand for themselves;
//! - the high part of a constant whose low part is another literal, at most 2^-22 of it, that multiplies
//!   the same register, the one product added to the other: the two are exact together (log2 e in expf, pi/2 in
//!   sinf, after Cody and Waite, "Software Manual for the Elementary Functions"; CUDA adds the low product to the
//!   high one, and what WGSL is lowered to the high one to the low one);
//! - coefficients of a polynomial that stands for a function of CUDA's library: nobody rounded them, and
//!   they are uncertain by as much as covers the function's value and derivative.

use std::collections::{HashMap, HashSet};

use super::super::ir::{Arithmetic, File, FloatBinary, Kernel, Op, Slot};
use super::constants::{constant, half_unit, moved};
use super::horner::{Chain, chains};
use super::marker::Marker;
use super::number::{Shadow, up};
use super::polynomials::{POLYNOMIALS, Polynomial};

/// The low part of a constant is at most this part of the high one.
const LOW: f32 = 1.0 / 4_194_304.0;

/// log2(e) in h2exp of bf16 (`cuda_bf16.hpp` of CUDA 13): it is 1.6 halves of a unit away, not the nearest f32.
const LOG2_E_BESIDE: u32 = 0x3fb8_aa3c;

/// A literal of each constant of the kernel's words; `others` are its polynomials of which no function is known.
pub(super) fn literals(kernel: &Kernel, others: &[Chain]) -> Vec<Shadow> {
    let high = high_parts(kernel);
    let known: Vec<&Polynomial> = polynomials(kernel).collect();
    let literal = |&bits: &u32| {
        let shadow = Shadow::single(bits);
        if high.contains(&bits) {
            return shadow;
        }
        let known = known.iter().map(|known| (known.literals, known.uncertainty));
        let others = others.iter().map(|other| (&other.literals[..], other.uncertainty));
        let others = others.filter(|_| half_unit(bits) > 0.0);
        let own = known.chain(others).filter(|(literals, _)| literals.contains(&bits));
        // What the nearest f32 is off, or the one beside it.
        let units = if bits == LOG2_E_BESIDE { 2.0 } else { 1.0 };
        let c = own.fold(up(units * half_unit(bits)), |c, (_, uncertainty)| c.max(uncertainty));
        Shadow { c, ..shadow }
    };
    kernel.word_constants.iter().map(literal).collect()
}

/// Whether functions of CUDA's library are marked, so that none is followed as a polynomial.
fn is_marked(kernel: &Kernel) -> bool {
    kernel.word_constants.iter().any(|&bits| Marker::of(bits).is_some())
}

/// The functions that are followed as polynomials.
pub(super) fn followed(kernel: &Kernel, others: &[Chain]) -> impl Iterator<Item = &'static str> {
    let marked = is_marked(kernel);
    let other = (!others.is_empty()).then_some(UNKNOWN_FUNCTION);
    let known = polynomials(kernel).map(|polynomial| polynomial.function);
    known.chain(other).filter(move |_| !marked)
}

/// What polynomials are called that are not known.
pub const UNKNOWN_FUNCTION: &str = "a function that is not known";

/// The polynomials of which no function is known: fewer than three in five of their literals are a known one's.
pub(super) fn others(kernel: &Kernel) -> Vec<Chain> {
    let known: HashSet<u32> =
        polynomials(kernel).flat_map(|known| known.literals).copied().collect();
    let mut all = chains(kernel);
    all.retain(|chain| {
        let theirs = chain.literals.iter().filter(|&bits| known.contains(bits)).count();
        5 * theirs < 3 * chain.literals.len()
    });
    all
}

/// The polynomials in a kernel that stand for functions: of whose literals it has three in five. A compiler
/// leaves some out, where it knows more of the operand.
fn polynomials(kernel: &Kernel) -> impl Iterator<Item = &'static Polynomial> {
    POLYNOMIALS.iter().filter(|polynomial| {
        let known = |bits: &&u32| kernel.word_constants.contains(bits);
        5 * polynomial.literals.iter().filter(known).count() >= 3 * polynomial.literals.len()
    })
}

pub(super) fn set<T>(of: &mut HashMap<Slot, T>, slot: Slot, value: Option<T>) {
    match value {
        Some(value) => drop(of.insert(slot, value)),
        None => drop(of.remove(&slot)),
    }
}

/// Literals that have a low part: the one product is the addend of the other's.
fn high_parts(kernel: &Kernel) -> Vec<u32> {
    let moved = moved(kernel);
    let low_of = |high: u32, low: u32| {
        let (high, low) = (f32::from_bits(high), f32::from_bits(low));
        low != 0.0 && high.is_finite() && low.abs() <= high.abs() * LOW
    };
    // The register and the literal whose product a register holds, with what was added to it.
    let mut products: HashMap<Slot, (Slot, u32)> = HashMap::new();
    let mut all = Vec::new();
    for instruction in &kernel.code {
        let (factors, addend) = match instruction.op {
            Op::Arithmetic(Arithmetic::Fma(_, _, _, a, b, c)) => (Some([(a, b), (b, a)]), Some(c)),
            Op::Arithmetic(Arithmetic::FloatBinary(FloatBinary::Mul, _, _, a, b)) => {
                (Some([(a, b), (b, a)]), None)
            }
            _ => (None, None),
        };
        let by_literal = |(register, factor)| Some((register, constant(kernel, &moved, factor)?));
        let product = factors.and_then(|factors| factors.into_iter().find_map(by_literal));
        if let (Some((register, own)), Some(addend)) = (product, addend)
            && let Some(&(of, added)) = products.get(&addend)
            && of == register
        {
            let orders = [(added, own), (own, added)];
            all.extend(
                orders.into_iter().filter(|&(high, low)| low_of(high, low)).map(|both| both.0),
            );
        }
        for place in instruction.op.writes().into_iter().filter(|place| place.file == File::Word) {
            set(&mut products, place.slot, product);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::super::ir::Module;
    use super::*;

    fn of(body: &str) -> HashMap<u32, f32> {
        let text = format!(
            ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<9>;\n\
             mov.f32 %f1, 0f3F800000;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("the test's kernel");
        let kernel = &module.kernels["k"];
        let all = literals(kernel, &others(kernel));
        kernel.word_constants.iter().copied().zip(all.iter().map(|shadow| shadow.c)).collect()
    }

    #[test]
    fn literals_are_uncertain_by_half_a_unit() {
        let tenth = 0.1_f32.to_bits();
        let c = of("mul.f32 %f2, %f1, 0f3DCCCCCD;")[&tenth];
        let half_unit = 2.0_f32.powi(-28);
        assert!(c >= half_unit && c < 1.001 * half_unit, "0.1 has {c:e}, not {half_unit:e}");
    }

    #[test]
    fn numbers_that_stand_for_themselves_are_exact() {
        for value in
            [0.5_f32, 3.0, 0.375, 12_582_912.0, 1_234_567.0, 0.0, f32::INFINITY, 4095.0 / 8192.0]
        {
            let c = of(&format!("mul.f32 %f2, %f1, 0f{:08X};", value.to_bits()))[&value.to_bits()];
            assert_eq!(c, 0.0, "{value}");
        }
    }

    #[test]
    fn the_high_part_of_a_constant_is_exact_and_the_low_one_is_not() {
        // log2 e, as expf has it.
        let (high, low) = (0x3fb8_aa3b, 0x32a5_7060);
        let both =
            of("fma.rn.f32 %f2, %f1, 0f3FB8AA3B, %f1;\nfma.rn.f32 %f3, %f1, 0f32A57060, %f2;");
        assert_eq!(both[&high], 0.0, "the high part");
        assert!(both[&low] > 0.0, "the low part");
        // Of another register it is no low part.
        let apart =
            of("fma.rn.f32 %f2, %f1, 0f3FB8AA3B, %f1;\nfma.rn.f32 %f3, %f2, 0f32A57060, %f2;");
        assert!(apart[&high] > 0.0, "alone");
        let moved = of(
            "mov.f32 %f4, 0f3FB8AA3B;\nmul.f32 %f2, %f1, %f4;\nfma.rn.f32 %f3, %f1, 0f32A57060, %f2;",
        );
        assert_eq!(moved[&high], 0.0, "by way of a register");
        // The other order: the high product is added to the low one.
        let turned = of("mul.f32 %f2, %f1, 0f32A57060;\nfma.rn.f32 %f3, %f1, 0f3FB8AA3B, %f2;");
        assert_eq!(turned[&high], 0.0, "the low part first");
        assert!(turned[&low] > 0.0, "the low part, first");
        let apart = of("mul.f32 %f2, %f1, 0f32A57060;\nfma.rn.f32 %f3, %f2, 0f3FB8AA3B, %f2;");
        assert!(apart[&high] > 0.0, "the low part first, of another register");
        // What is no part of it: 0.7 is too large, and both stay uncertain.
        let large = of("mul.f32 %f2, %f1, 0f3F333333;\nfma.rn.f32 %f3, %f1, 0f3FB8AA3B, %f2;");
        assert!(large[&high] > 0.0 && large[&0x3f33_3333] > 0.0, "no low part");
        // A literal that multiplies the same register, and is not added to.
        let other =
            of("fma.rn.f32 %f2, %f1, 0f3FB8AA3B, %f1;\nfma.rn.f32 %f3, %f1, 0f32A57060, %f2;\n\
                        mul.f32 %f4, %f1, 0f3F333333;");
        assert!(other[&0x3f33_3333] > 0.0, "0.7 has no low part");
    }
}
