//! Every operation of the table: partial derivatives against differences, radii against evaluations in
//! f32 that are rounded in any direction and perturbed as far as PTX lets them.

use super::super::super::float::approximate::{nearest, perturbed};
use super::super::super::float::{directed_fma, integral};
use super::super::super::ir::{Approximation, Rounding};
use super::super::super::mix::mix;
use super::super::floats::number;
use super::accuracy::Accuracy;
use super::*;

/// Numbers by a fixed generator.
struct Draw(u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 += 1;
        mix(self.0)
    }

    /// In 0..1.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * UNIT
    }

    /// Between two, evenly.
    fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.unit()
    }

    /// Of either sign, with magnitudes from 2^-20 to 2^20.
    fn any(&mut self) -> f64 {
        let size = 2.0_f64.powi((self.bits() % 40) as i32 - 20) * (1.0 + self.unit());
        if self.bits() & 1 == 0 { size } else { -size }
    }
}

fn all() -> impl Iterator<Item = Function> {
    let library = Library::ALL.into_iter().map(Function::Library);
    Function::OWN.into_iter().chain(library)
}

/// Operands within the domain, away from poles and kinks.
fn operands(function: Function, draw: &mut Draw) -> [f64; 3] {
    use Library as L;
    let first = match function {
        Function::Root | Function::ReciprocalRoot | Function::Log2 => draw.any().abs(),
        Function::Exp2 => draw.between(-60.0, 60.0),
        Function::Sine | Function::Cosine => draw.between(-20.0, 20.0),
        Function::Clamped => draw.between(0.01, 0.99),
        Function::Library(library) => match library {
            L::Ln | L::Log10 | L::Log2 | L::Cbrt | L::ReciprocalCbrt => draw.any().abs(),
            L::Log1p => draw.between(-0.9, 20.0),
            L::Exp | L::Expm1 | L::Exp2 | L::Sinh | L::Cosh => draw.between(-10.0, 10.0),
            L::Exp10 => draw.between(-5.0, 5.0),
            L::Tan => draw.between(-1.4, 1.4),
            L::Asin | L::Acos | L::Atanh => draw.between(-0.95, 0.95),
            L::Acosh => draw.between(1.1, 30.0),
            L::LnGamma | L::Gamma => draw.between(0.2, 9.0),
            L::Power => draw.between(0.1, 9.0),
            L::Sin | L::Cos | L::SinPi | L::CosPi | L::Atan | L::Asinh | L::Atan2 => {
                draw.between(-8.0, 8.0)
            }
            L::Tanh | L::Erf | L::Erfc | L::NormCdf => draw.between(-4.0, 4.0),
            L::Hypot | L::ReciprocalHypot => draw.any(),
        },
        _ => draw.any(),
    };
    let second = match function {
        Function::Library(L::Power) => draw.between(-4.0, 4.0),
        Function::Library(L::Atan2) => draw.between(0.5, 8.0),
        Function::Exchanged => first * draw.between(0.9, 1.1),
        _ => draw.any(),
    };
    let third =
        if function == Function::Exchanged { second * draw.between(0.9, 1.1) } else { draw.any() };
    [first, second, third]
}

#[test]
fn partial_derivatives_are_central_differences() {
    let mut draw = Draw(1);
    for function in all() {
        for _ in 0..2000 {
            let x = operands(function, &mut draw);
            let y = value(function, x);
            let d = partials(function, x, y);
            for k in 0..function.operands() {
                // Of order 4: the error is step^4 times the fifth derivative, and rounding over step.
                let step = x[k].abs().min(1.0) * 2.0_f64.powi(-11);
                let at = |times: f64| {
                    let mut x = x;
                    x[k] += times * step;
                    value(function, x)
                };
                let difference =
                    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * step);
                let rounding =
                    40.0 * own_error(function).max(UNIT) * (y.abs() + d[k].abs() * x[k].abs())
                        / step
                        + 4.0 * UNIT * x.iter().map(|x| x.abs()).sum::<f64>() * d[k].abs().max(1.0)
                            / step;
                let allowed = 1e-8 * d[k].abs() + rounding;
                let error = (difference - d[k]).abs();
                assert!(error <= allowed, "{function:?}{x:?} by {k}: {} not {difference}", d[k]);
            }
        }
    }
}

#[test]
fn values_are_within_the_own_error_of_the_platforms() {
    let mut draw = Draw(2);
    for _ in 0..200_000 {
        let x = draw.between(-120.0, 120.0);
        let error = (value(Function::Exp2, [x, 0.0, 0.0]) / x.exp2() - 1.0).abs();
        // A unit in the last place is the platform's.
        assert!(
            error <= own_error(Function::Exp2) + 2.0 * UNIT,
            "exp2({x}): {:.1} units",
            error / UNIT
        );
        let x = 2.0_f64.powi((draw.bits() % 80) as i32 - 40) * (1.0 + draw.unit());
        let error = (value(Function::Log2, [x, 0.0, 0.0]) / x.log2() - 1.0).abs();
        assert!(
            error <= own_error(Function::Log2) + 2.0 * UNIT,
            "log2({x}): {:.1} units",
            error / UNIT
        );
        let near = 1.0 + draw.between(-1.0, 1.0) * 2.0_f64.powi(-((draw.bits() % 40) as i32));
        let error = (value(Function::Log2, [near, 0.0, 0.0]) / near.log2() - 1.0).abs();
        assert!(
            error <= own_error(Function::Log2) + 2.0 * UNIT,
            "log2({near}): {:.1} units",
            error / UNIT
        );
    }
}

#[test]
fn no_operand_within_its_radius_leads_outside_the_spread() {
    let mut draw = Draw(3);
    for function in all() {
        let mut tight: f64 = 0.0;
        for _ in 0..4000 {
            let x = operands(function, &mut draw);
            let y = value(function, x);
            let r = x.map(|x| x.abs() * 2.0_f64.powi(-((draw.bits() % 30) as i32) - 1));
            let bound = spread(function, x, y, r);
            for corner in 0..12_u32 {
                let mut at = x;
                for k in 0..3 {
                    at[k] += r[k]
                        * match corner {
                            0..8 => {
                                if corner >> k & 1 == 1 {
                                    1.0
                                } else {
                                    -1.0
                                }
                            }
                            _ => draw.between(-1.0, 1.0),
                        };
                }
                let moved = (value(function, at) - y).abs();
                if moved.is_nan() {
                    continue;
                }
                let noise: f64 = x.iter().map(|x| x.abs()).sum();
                let allowed = bound * (1.0 + 1e-9)
                    + 4.0 * error(function, y.abs() + moved)
                    + 4.0 * UNIT * (y.abs() + moved + noise);
                assert!(moved <= allowed, "{function:?}{x:?} by {r:?}: {moved:e} above {bound:e}");
                if bound.is_finite() && bound > 1e-6 * y.abs() {
                    tight = tight.max(moved / bound);
                }
            }
        }
        assert!(tight > 0.5, "{function:?}: never more than {tight} of the bound");
    }
}

#[test]
fn no_operand_within_its_uncertainty_leads_to_a_slope_outside_the_doubts() {
    let mut draw = Draw(4);
    for function in all() {
        for _ in 0..4000 {
            let x = operands(function, &mut draw);
            let d = partials(function, x, value(function, x));
            let c = x.map(|x| x.abs() * 2.0_f64.powi(-((draw.bits() % 44) as i32) - 6));
            let bound = doubts(function, x, d, c);
            for corner in 0..12_u32 {
                let mut at = x;
                for k in 0..3 {
                    at[k] += c[k]
                        * match corner {
                            0..8 => {
                                if corner >> k & 1 == 1 {
                                    1.0
                                } else {
                                    -1.0
                                }
                            }
                            _ => draw.between(-1.0, 1.0),
                        };
                }
                let there = partials(function, at, value(function, at));
                for k in 0..function.operands() {
                    let moved = (there[k] - d[k]).abs();
                    // The test's own operands are rounded too.
                    let rounded: f64 = (0..3).map(|k| 2.0 * UNIT * x[k].abs() / c[k]).sum();
                    let allowed = bound[k] * (1.0 + 1e-2 + rounded)
                        + 16.0 * UNIT.max(own_error(function)) * d[k].abs();
                    let edge = function == Function::Clamped && !(0.0..=1.0).contains(&at[0]);
                    assert!(
                        moved <= allowed || edge || moved.is_nan(),
                        "{function:?}{x:?} by {k}: {moved:e} above {:e}",
                        bound[k]
                    );
                }
            }
        }
    }
}

/// An instruction on f32 with its model.
struct Instruction {
    name: &'static str,
    function: Function,
    accuracy: Accuracy,
    /// What a conforming execution may give; the second argument chooses.
    execute: fn([f32; 3], u64) -> f32,
}

fn direction(choice: u64) -> Rounding {
    match choice % 4 {
        0 => Rounding::Nearest,
        1 => Rounding::Zero,
        2 => Rounding::Down,
        _ => Rounding::Up,
    }
}

fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

fn instructions() -> Vec<Instruction> {
    let rounded = Accuracy::rounded(Rounding::Nearest);
    let directed = Accuracy::rounded(Rounding::Up);
    let exact = |function, execute| Instruction {
        name: "exact",
        function,
        accuracy: Accuracy::EXACT,
        execute,
    };
    let nearest_one =
        |function, execute| Instruction { name: "rn", function, accuracy: rounded, execute };
    let approximate = |op, function, execute| Instruction {
        name: "approx",
        function,
        accuracy: Accuracy::approximate(op),
        execute,
    };
    vec![
        exact(Function::Negate, |[a, ..], _| -a),
        exact(Function::Absolute, |[a, ..], _| a.abs()),
        nearest_one(Function::Sum, |[a, b, _], _| a + b),
        nearest_one(Function::Difference, |[a, b, _], _| a - b),
        nearest_one(Function::Product, |[a, b, _], _| a * b),
        nearest_one(Function::Quotient, |[a, b, _], _| a / b),
        nearest_one(Function::Reciprocal, |[a, ..], _| 1.0 / a),
        nearest_one(Function::Root, |[a, ..], _| a.sqrt()),
        nearest_one(Function::Fused, |[a, b, c], _| a.mul_add(b, c)),
        // A product that a compiler contracts with the sum, or does not.
        Instruction {
            name: "directed",
            function: Function::Fused,
            accuracy: directed,
            execute: |[a, b, c], choice| directed_fma(a, b, c, direction(choice)),
        },
        Instruction {
            name: "directed sum",
            function: Function::Sum,
            accuracy: directed,
            execute: |[a, b, _], choice| directed_fma(a, 1.0, b, direction(choice)),
        },
        Instruction {
            name: "ftz product",
            function: Function::Product,
            accuracy: rounded.flushing(true),
            execute: |[a, b, _], _| flushed(flushed(a) * flushed(b)),
        },
        Instruction {
            name: "ftz fma",
            function: Function::Fused,
            accuracy: rounded.flushing(true),
            execute: |[a, b, c], _| flushed(flushed(a).mul_add(flushed(b), flushed(c))),
        },
        approximate(Approximation::Ex2, Function::Exp2, |[a, ..], s| {
            approximated(Approximation::Ex2, a, 0.0, s)
        }),
        approximate(Approximation::Lg2, Function::Log2, |[a, ..], s| {
            approximated(Approximation::Lg2, a, 0.0, s)
        }),
        approximate(Approximation::Rcp, Function::Reciprocal, |[a, ..], s| {
            approximated(Approximation::Rcp, a, 0.0, s)
        }),
        approximate(Approximation::Sqrt, Function::Root, |[a, ..], s| {
            approximated(Approximation::Sqrt, a, 0.0, s)
        }),
        approximate(Approximation::Rsqrt, Function::ReciprocalRoot, |[a, ..], s| {
            approximated(Approximation::Rsqrt, a, 0.0, s)
        }),
        approximate(Approximation::Div, Function::Quotient, |[a, b, _], s| {
            approximated(Approximation::Div, a, b, s)
        }),
        approximate(Approximation::DivFull, Function::Quotient, |[a, b, _], s| {
            approximated(Approximation::DivFull, a, b, s)
        }),
    ]
}

fn approximated(op: Approximation, a: f32, b: f32, choice: u64) -> f32 {
    if choice == 0 { nearest(op, a, b) } else { perturbed(op, a, b, choice) }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
fn narrowed(x: f64) -> f32 {
    x as f32
}

/// An operand whose f32 is somewhere within its radius of it.
fn within(x: f64, draw: &mut Draw, exact: bool) -> (f64, f64, f32) {
    let single = narrowed(x);
    if exact {
        return (f64::from(single), 0.0, single);
    }
    let r = x.abs() * 2.0_f64.powi(-((draw.bits() % 24) as i32)) + f64::from(f32::from_bits(1));
    // At an end, or anywhere; then moved inwards by what rounding to f32 takes.
    let place = match draw.bits() % 3 {
        0 => -1.0,
        1 => 1.0,
        _ => draw.between(-1.0, 1.0),
    };
    let single = narrowed(x + place * r);
    let distance = (f64::from(single) - x).abs();
    (x, r.max(distance), single)
}

/// A million evaluations in all, none outside its radius.
#[test]
fn no_conforming_execution_is_outside_the_radius() {
    let mut draw = Draw(5);
    let all = instructions();
    let (mut done, mut judged) = (0, 0);
    while done < 1_000_000 {
        for instruction in &all {
            let drawn = operands(instruction.function, &mut draw);
            let scale = if draw.bits().is_multiple_of(4) {
                2.0_f64.powi(-((draw.bits() % 110) as i32))
            } else {
                1.0
            };
            let scaled = instruction.function != Function::Exp2;
            let operands = drawn.map(|x| {
                let exact = draw.bits().is_multiple_of(3);
                within(if scaled { x * scale } else { x }, &mut draw, exact)
            });
            let (x, r) = (operands.map(|o| o.0), operands.map(|o| o.1));
            let singles = operands.map(|o| o.2);
            let reach = [0, 1, 2].map(|k| instruction.accuracy.reach(x[k], r[k]));
            let result = f64::from((instruction.execute)(singles, draw.bits() % 5));
            done += 1;
            let y = value(instruction.function, x);
            if !result.is_finite() || !y.is_finite() {
                continue;
            }
            let known =
                number(instruction.function, instruction.accuracy, (x, reach, [0.0; 3]), result);
            let (name, function) = (instruction.name, instruction.function);
            assert!(
                !known.failed,
                "{function:?} {name} {x:?} by {r:?}, executed on {singles:?}: {result:e}, not {y:e} by {:e}",
                known.r
            );
            judged += u32::from(known.r < f32::INFINITY);
        }
    }
    assert!(judged > 600_000, "{judged} had a finite radius");
}

/// A radius that is never reached says nothing: of each instruction on exact operands the largest error
/// is near it.
#[test]
fn radii_are_not_wider_than_the_model() {
    let mut draw = Draw(6);
    for instruction in instructions() {
        let exact = instruction.accuracy.relative == 0.0;
        let mut most: f64 = 0.0;
        for _ in 0..20_000 {
            let x = operands(instruction.function, &mut draw).map(|x| f64::from(narrowed(x)));
            let singles = x.map(narrowed);
            let result = f64::from((instruction.execute)(singles, draw.bits() % 5));
            let y = value(instruction.function, x);
            let bound = instruction.accuracy.bound(y.abs());
            most = most.max(if bound > 0.0 { (result - y).abs() / bound } else { 0.0 });
        }
        let (name, function) = (instruction.name, instruction.function);
        assert!(exact || most > 0.45, "{function:?} {name}: {most} of its bound");
        assert!(most <= 1.0 + 1e-6, "{function:?} {name}: {most} of its bound");
    }
}

#[test]
fn functions_of_rounding_are_whole() {
    // What the tests above take for a direction is one.
    assert_eq!(integral(1.5, direction(2)), 1.0, "down");
    assert_eq!(integral(1.5, direction(3)), 2.0, "up");
}
