//! Every operation of the table: partial derivatives against differences, radii against evaluations in
//! f32 that are rounded in any direction and perturbed as far as PTX lets them.

use super::super::super::float::approximate::{ApproximationMode, nearest, perturbed, power};
use super::super::super::float::wave::wave;
use super::super::super::float::{directed_fma, integral};
use super::super::super::ir::{Approximation, FloatFlags, Rounding, Wave};
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
            L::Hypot | L::ReciprocalHypot | L::Fmod | L::Remainder => draw.any(),
            L::ErfInverse => draw.between(-0.9, 0.9),
            L::ErfcInverse => draw.between(0.1, 1.9),
            L::NormalInverse => draw.between(0.1, 0.9),
            L::Erfcx => draw.between(-3.0, 20.0),
            L::I0 | L::I1 => draw.between(-20.0, 20.0),
            L::J0 | L::J1 => draw.between(-40.0, 40.0),
            L::Y0 | L::Y1 => draw.between(0.1, 40.0),
        },
        _ => draw.any(),
    };
    let second = match function {
        Function::Library(L::Power) => draw.between(-4.0, 4.0),
        Function::Library(L::Atan2) => draw.between(0.5, 8.0),
        // Away from where the whole number is another one.
        Function::Library(L::Fmod | L::Remainder) => {
            first / (draw.between(0.0, 6.0).floor() + draw.between(0.1, 0.4))
        }
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
    /// By the largest magnitude of the first operand.
    accuracy: Box<dyn Fn(f64) -> Accuracy>,
    /// What a conforming execution may give; the second argument chooses.
    execute: Box<dyn Fn([f32; 3], u64) -> f32>,
}

impl Instruction {
    fn new(
        name: &'static str,
        function: Function,
        accuracy: Accuracy,
        execute: impl Fn([f32; 3], u64) -> f32 + 'static,
    ) -> Self {
        Self { name, function, accuracy: Box::new(move |_| accuracy), execute: Box::new(execute) }
    }

    /// That of a function which PTX or WGSL gives up to a bound.
    fn approximate(op: Approximation) -> Self {
        let function = super::super::plan::approximated(op);
        let execute = move |[a, b, _]: [f32; 3], choice| match choice {
            0 => nearest(op, a, b),
            choice => perturbed(op, a, b, choice),
        };
        Self::new("approx", function, Accuracy::approximate(op), execute)
    }

    fn wave(function: Function, op: Wave) -> Self {
        let execute = move |[a, ..]: [f32; 3], choice| match choice {
            0 => wave(op, a, ApproximationMode::Nearest),
            choice => wave(op, a, ApproximationMode::Perturbed(choice)),
        };
        let accuracy = Box::new(Accuracy::wave);
        Self { name: "approx", function, accuracy, execute: Box::new(execute) }
    }
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

/// Arithmetic that is rounded once to nearest, in any direction, or with subnormals taken for zeros.
fn rounded() -> Vec<Instruction> {
    let nearest = Accuracy::rounded(Rounding::Nearest);
    let directed = Accuracy::rounded(Rounding::Up);
    let flushing = nearest.flushing(true);
    vec![
        Instruction::new("exact", Function::Negate, Accuracy::EXACT, |[a, ..], _| -a),
        Instruction::new("exact", Function::Absolute, Accuracy::EXACT, |[a, ..], _| a.abs()),
        Instruction::new("sat", Function::Clamped, Accuracy::EXACT, |[a, ..], _| a.clamp(0.0, 1.0)),
        Instruction::new("rn", Function::Sum, nearest, |[a, b, _], _| a + b),
        Instruction::new("rn", Function::Difference, nearest, |[a, b, _], _| a - b),
        Instruction::new("rn", Function::Product, nearest, |[a, b, _], _| a * b),
        Instruction::new("rn", Function::Quotient, nearest, |[a, b, _], _| a / b),
        Instruction::new("rn", Function::Reciprocal, nearest, |[a, ..], _| 1.0 / a),
        Instruction::new("rn", Function::Root, nearest, |[a, ..], _| a.sqrt()),
        Instruction::new("rn", Function::Fused, nearest, |[a, b, c], _| a.mul_add(b, c)),
        Instruction::new("directed", Function::Fused, directed, |[a, b, c], choice| {
            directed_fma(a, b, c, direction(choice))
        }),
        Instruction::new("directed", Function::Sum, directed, |[a, b, _], choice| {
            directed_fma(a, 1.0, b, direction(choice))
        }),
        Instruction::new("directed", Function::Product, directed, |[a, b, _], choice| {
            directed_fma(a, b, -0.0, direction(choice))
        }),
        Instruction::new("ftz", Function::Product, flushing, |[a, b, _], _| {
            flushed(flushed(a) * flushed(b))
        }),
        Instruction::new("ftz", Function::Fused, flushing, |[a, b, c], _| {
            flushed(flushed(a).mul_add(flushed(b), flushed(c)))
        }),
        // Normal numbers of f16 begin at 2^-14, of bf16 where those of f32 do.
        Instruction::new(
            "f16",
            Function::Identity,
            Accuracy::narrow(11, 2.0_f64.powi(-24)),
            |[a, ..], _| half::f16::from_f32(a).to_f32(),
        ),
        Instruction::new(
            "bf16",
            Function::Identity,
            Accuracy::narrow(8, 2.0_f64.powi(-133)),
            |[a, ..], _| half::bf16::from_f32(a).to_f32(),
        ),
    ]
}

fn instructions() -> Vec<Instruction> {
    let approximations = [
        Approximation::Ex2,
        Approximation::Ex2Wgsl,
        Approximation::Lg2,
        Approximation::Lg2Wgsl,
        Approximation::Rcp,
        Approximation::Sqrt,
        Approximation::Rsqrt,
        Approximation::RsqrtWgsl,
        Approximation::Div,
        Approximation::DivFull,
        Approximation::Atan2Wgsl,
        Approximation::Tanh,
    ];
    let approximate = approximations.into_iter().map(Instruction::approximate);
    let waves = [(Function::Sine, Wave::Sin), (Function::Cosine, Wave::Cos)];
    let waves = waves.into_iter().map(|(function, op)| Instruction::wave(function, op));
    rounded().into_iter().chain(approximate).chain(waves).collect()
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

/// A million evaluations of each instruction, none outside its radius.
#[test]
fn no_conforming_execution_is_outside_the_radius() {
    let draw = &mut Draw(5);
    for instruction in instructions() {
        let judged = (0..1_000_000).filter(|_| has_finite_radius(&instruction, draw)).count();
        let (name, function) = (instruction.name, instruction.function);
        assert!(judged > 300_000, "{function:?} {name}: {judged} had a finite radius");
    }
}

/// One evaluation, on operands that are somewhere within radii of their own.
fn has_finite_radius(instruction: &Instruction, draw: &mut Draw) -> bool {
    let drawn = operands(instruction.function, draw);
    let scale = match draw.bits().is_multiple_of(4) {
        true => 2.0_f64.powi(-((draw.bits() % 110) as i32)),
        false => 1.0,
    };
    let scaled = instruction.function != Function::Exp2;
    let operands = drawn.map(|x| {
        let exact = draw.bits().is_multiple_of(3);
        within(if scaled { x * scale } else { x }, draw, exact)
    });
    let (x, r) = (operands.map(|o| o.0), operands.map(|o| o.1));
    let singles = operands.map(|o| o.2);
    let accuracy = (instruction.accuracy)(x[0].abs() + r[0]);
    let reach = [0, 1, 2].map(|k| accuracy.reach(x[k], r[k]));
    let result = f64::from((instruction.execute)(singles, draw.bits() % 5));
    let y = value(instruction.function, x);
    if !result.is_finite() || !y.is_finite() {
        return false;
    }
    let known = number(instruction.function, accuracy, (x, reach, [0.0; 3]), result);
    let (name, function) = (instruction.name, instruction.function);
    assert!(
        !known.failed,
        "{function:?} {name} {x:?} by {r:?}, executed on {singles:?}: {result:e}, not {y:e} by {:e}",
        known.r
    );
    known.r < f32::INFINITY
}

/// A radius that is never reached says nothing: of each instruction on exact operands the largest error
/// is near it.
#[test]
fn radii_are_not_wider_than_the_model() {
    let mut draw = Draw(6);
    for instruction in instructions() {
        // An execution strays by 4 units in the last place at most: of WGSL's 4096 that is nothing.
        let relative = (instruction.accuracy)(0.0).relative;
        let is_near = relative > 0.0 && relative <= 2.0_f64.powi(-20);
        let mut most: f64 = 0.0;
        for _ in 0..20_000 {
            let x = operands(instruction.function, &mut draw).map(|x| f64::from(narrowed(x)));
            let singles = x.map(narrowed);
            let result = f64::from((instruction.execute)(singles, draw.bits() % 5));
            // Beyond what a narrow format holds.
            if !result.is_finite() {
                continue;
            }
            let y = value(instruction.function, x);
            let bound = (instruction.accuracy)(x[0].abs()).bound(y.abs());
            most = most.max(if bound > 0.0 { (result - y).abs() / bound } else { 0.0 });
        }
        let (name, function) = (instruction.name, instruction.function);
        assert!(!is_near || most > 0.45, "{function:?} {name}: {most} of its bound");
        assert!(most <= 1.0 + 1e-6, "{function:?} {name}: {most} of its bound");
    }
}

/// WGSL's pow on numbers that are somewhere within radii of their own, and of which WGSL's bound is no more than needed:
/// the emulator perturbs its exponential by less than WGSL lets it.
#[test]
fn powers_are_within_what_they_inherit() {
    let mut draw = Draw(7);
    let (mut judged, mut most) = (0, 0.0_f64);
    for _ in 0..300_000 {
        let drawn = [draw.any().abs(), draw.between(-4.0, 4.0), 0.0];
        let exact = draw.bits().is_multiple_of(2);
        let operands = drawn.map(|x| within(x, &mut draw, exact));
        let (x, r) = (operands.map(|o| o.0), operands.map(|o| o.1));
        let flags = FloatFlags { flush: false, saturate: false };
        let mode = match draw.bits() % 5 {
            0 => ApproximationMode::Nearest,
            seed => ApproximationMode::Perturbed(seed),
        };
        let result = f64::from(f32::from_bits(power(operands[0].2, operands[1].2, flags, mode)));
        let kind = Function::Library(Library::Power);
        let y = value(kind, x);
        // Subnormal results keep fewer bits than the model of normal ones says.
        if !result.is_finite() || !y.is_finite() || y.abs() < 1e-37 {
            continue;
        }
        let accuracy = Accuracy::power([x[0], x[1]], [r[0], r[1]]);
        let known = number(kind, accuracy, (x, r, [0.0; 3]), result);
        assert!(!known.failed, "{x:?} by {r:?}: {result:e}, not {y:e} by {:e}", known.r);
        judged += u32::from(known.r < f32::INFINITY);
        if exact && known.r > 0.0 {
            most = most.max((result - y).abs() / f64::from(known.r));
        }
    }
    assert!(judged > 200_000, "{judged} had a finite radius");
    assert!(most > 0.25 && most <= 1.0, "{most} of the bound");
    let none = Accuracy::power([0.0, 2.0], [0.0; 2]);
    assert_eq!(none, Accuracy::EXACT, "of 0");
    assert_eq!(Accuracy::power([1.0, 2.0], [1.0, 0.0]).relative, f64::INFINITY, "at the edge");
}

#[test]
fn functions_of_rounding_are_whole() {
    // What the tests above take for a direction is one.
    assert_eq!(integral(1.5, direction(2)), 1.0, "down");
    assert_eq!(integral(1.5, direction(3)), 2.0, "up");
}
