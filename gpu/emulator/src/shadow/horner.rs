//! Polynomials that stand for functions of which no table says so: as a compiler of another version has them, or
//! rarer functions.
//!
//! A minimax polynomial is near to its function and its derivative near to the function's, but not as near as the
//! literals say. A chain of multiply-adds by one register, whose addends are literals (Horner's rule), with four
//! coefficients or more of which three are not numbers that stand for themselves, may be one. Its
//! coefficients are taken to be uncertain by [`UNCERTAINTY`] of the largest of them, as those of known polynomials are
//! ([`polynomials`](super::polynomials)). Who wrote such a chain on purpose is judged less sharply by that, and no
//! less rightly.

use std::collections::HashMap;

use super::super::ir::{Arithmetic, File, FloatBinary, Kernel, Op, Slot};
use super::constants::{constant, half_unit, moved};

/// How far a coefficient may be from one of an exact function, of the largest coefficient: among the known polynomials
/// atanf's need most, 8e-6 of 0.33, and asinf's 1.05e-5 of 0.17 is twice what its derivative is off by.
const UNCERTAINTY: f32 = 3.6e-5;

/// Coefficients of a polynomial, at least.
const COEFFICIENTS: usize = 4;

/// Of these, those that are rounded, at least.
const ROUNDED: usize = 3;

/// A polynomial: its literals, and by how much each of those that are rounded is uncertain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    pub(super) literals: Vec<u32>,
    pub(super) uncertainty: f32,
}

/// What a register holds.
#[derive(Clone, Debug)]
enum Held {
    /// One of these literals.
    Literals(Vec<u32>),
    /// A polynomial by a register so far: how many coefficients, and their literals.
    Partial { by: Slot, count: usize, literals: Vec<u32> },
    /// Such a polynomial times the register.
    Product { by: Slot, count: usize, literals: Vec<u32> },
}

/// All in a kernel, but for parts of longer ones.
pub(super) fn chains(kernel: &Kernel) -> Vec<Chain> {
    let moved = moved(kernel);
    let mut held: HashMap<Slot, Held> = HashMap::new();
    // A longer one takes the place of the one it continues.
    let mut all: Vec<Vec<u32>> = Vec::new();
    for instruction in &kernel.code {
        let literals = |slot: Slot| match (constant(kernel, &moved, slot), held.get(&slot)) {
            (Some(bits), _) => Some(vec![bits]),
            (None, Some(Held::Literals(all))) => Some(all.clone()),
            (None, _) => None,
        };
        // A polynomial that goes on, or a first coefficient, with the register that multiplies it.
        let begun = |slot: Slot, by: Slot| match held.get(&slot) {
            Some(Held::Partial { by: of, count, literals }) if *of == by => {
                Some((*count, literals.clone()))
            }
            _ => literals(slot).map(|literals| (1, literals)),
        };
        let either = |a: Slot, b: Slot| {
            let one = begun(a, b).map(|begun| (b, begun));
            one.or_else(|| begun(b, a).map(|begun| (a, begun)))
        };
        let now = match instruction.op {
            Op::Arithmetic(Arithmetic::Fma(_, _, _, a, b, c)) => {
                either(a, b).zip(literals(c)).map(|((by, (count, so_far)), more)| Held::Partial {
                    by,
                    count: count + 1,
                    literals: [so_far, more].concat(),
                })
            }
            Op::Arithmetic(Arithmetic::FloatBinary(FloatBinary::Mul, _, _, a, b)) => {
                either(a, b).map(|(by, (count, literals))| Held::Product { by, count, literals })
            }
            Op::Arithmetic(Arithmetic::FloatBinary(FloatBinary::Add, _, _, a, b)) => {
                let sum = |a: Slot, b: Slot| match (held.get(&a), literals(b)) {
                    (Some(Held::Product { by, count, literals }), Some(more)) => {
                        let literals = [&literals[..], &more].concat();
                        Some(Held::Partial { by: *by, count: count + 1, literals })
                    }
                    _ => None,
                };
                sum(a, b).or_else(|| sum(b, a))
            }
            Op::Arithmetic(Arithmetic::SelectWord { a, b, .. }) => literals(a)
                .zip(literals(b))
                .map(|(one, other)| Held::Literals([one, other].concat())),
            _ => None,
        };
        if let Some(Held::Partial { count, literals, .. }) = &now
            && *count >= COEFFICIENTS
        {
            all.retain(|shorter| !literals.starts_with(shorter));
            all.push(literals.clone());
        }
        for place in instruction.op.writes().into_iter().filter(|place| place.file == File::Word) {
            match &now {
                Some(now) => drop(held.insert(place.slot, now.clone())),
                None => drop(held.remove(&place.slot)),
            }
        }
    }
    all.into_iter().filter_map(chain).collect()
}

/// The polynomial of these literals, if enough of them are rounded.
fn chain(literals: Vec<u32>) -> Option<Chain> {
    let rounded = literals.iter().filter(|&&bits| half_unit(bits) > 0.0).count();
    let size = |&bits: &u32| f32::from_bits(bits).abs();
    let largest = literals.iter().map(size).filter(|size| size.is_finite()).fold(0.0, f32::max);
    (rounded >= ROUNDED).then_some(Chain { literals, uncertainty: UNCERTAINTY * largest })
}

#[cfg(test)]
mod tests {
    use super::super::super::ir::Module;
    use super::*;

    fn of(body: &str) -> Vec<Vec<u32>> {
        let text = format!(
            ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<30>;\n\
             .reg .pred %p<2>;\nsetp.gt.f32 %p1, %f1, 0f3F800000;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("the test's kernel");
        chains(&module.kernels["k"]).into_iter().map(|chain| chain.literals).collect()
    }

    /// Rounded numbers near 0.1, 0.2 and so on, and such that stand for themselves.
    const ROUNDED: [u32; 4] = [0x3dcc_cccd, 0x3e4c_cccd, 0x3e99_999a, 0x3ecc_cccd];
    const OWN: [u32; 4] = [0x3f80_0000, 0x4000_0000, 0x3f00_0000, 0x4040_0000];

    fn horner(literals: &[u32]) -> String {
        let mut text = format!("mov.f32 %f2, 0f{:08X};\n", literals[0]);
        for (at, literal) in literals.iter().enumerate().skip(1) {
            text += &format!("fma.rn.f32 %f{}, %f{}, %f1, 0f{literal:08X};\n", at + 2, at + 1);
        }
        text
    }

    #[test]
    fn chains_of_rounded_coefficients_are_polynomials() {
        assert_eq!(of(&horner(&ROUNDED)), [ROUNDED], "by one register, of four");
        assert_eq!(
            of(&horner(&ROUNDED[..3])),
            [[0_u32; 0]; 0],
            "three are what a kernel is full of"
        );
        assert_eq!(of(&horner(&OWN)), [[0_u32; 0]; 0], "a polynomial that is meant as it is");
        let longer = [&ROUNDED[..], &OWN[..1]].concat();
        assert_eq!(of(&horner(&longer)), [longer], "the whole of it, once");
        let other = horner(&ROUNDED).replace("%f3, %f1", "%f3, %f9");
        assert_eq!(of(&other), [[0_u32; 0]; 0], "by another register it is none");
        let apart = horner(&ROUNDED).replacen(
            "fma.rn.f32 %f4, %f3, %f1, ",
            "mul.f32 %f20, %f3, %f1;\nadd.f32 %f4, %f20, ",
            1,
        );
        assert_eq!(of(&apart), [ROUNDED], "without fused operations");
        let chosen = horner(&ROUNDED).replacen("mov.f32 %f2, ", "selp.f32 %f2, 0f3F19999A, ", 1);
        let chosen = chosen.replacen("0f3DCCCCCD;", "0f3DCCCCCD, %p1;", 1);
        let with = [&[0x3f19_999a], &ROUNDED[..]].concat();
        assert_eq!(of(&chosen), [with], "one of two coefficients");
    }
}
