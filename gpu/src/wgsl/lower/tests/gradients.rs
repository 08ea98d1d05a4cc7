//! What gradcheck knows of WGSL's functions: exact values and derivatives.

use std::collections::HashMap;

use splatcheck_emulator::{
    Derivative, DeviceMemory, Exact, Launch, Module, Observers, Schedule, Seed, Shadowing, run,
};

use super::super::{arguments, lower};
use super::{MACHINE, files};

/// What is known of an expression of `x`.
struct Followed {
    single: f32,
    value: Exact,
    slope: Derivative,
}

/// An expression of `x` at numbers.
fn followed(expression: &str, x: &[f32]) -> Vec<Followed> {
    let source = format!(
        "@group(0) @binding(0) var<storage, read> input: array<f32>;\n\
         @group(0) @binding(1) var<storage, read_write> output: array<f32>;\n\
         @compute @workgroup_size({}) fn main(@builtin(local_invocation_index) lane: u32) {{\n\
         let x = input[lane];\noutput[lane] = {expression};\n}}",
        x.len()
    );
    let kernel = lower(&source, &files(), "main", &HashMap::new(), MACHINE).expect("it is WGSL");
    let module = Module::parse(&kernel.ptx).expect("it is lowered");
    let mut memory = DeviceMemory::new();
    let buffers = [x, &vec![0.0; x.len()]].map(|all| memory.upload(bytemuck::cast_slice(all)));
    memory.follow(Some(1 << 26));
    memory.differentiate(buffers[0]).expect("there is a tape");
    let arguments = arguments(&kernel.buffers, &buffers, &memory);
    let launch = Launch { grid: [1, 1, 1], block: kernel.workgroup, dynamic_shared: 0, arguments };
    let observers = Observers { shadow: Shadowing::TAPE, races: false, ..Observers::default() };
    let schedule = Schedule::adversarial(1);
    run(&module, "main", &launch, &mut memory, &schedule, observers).expect("it runs");
    let ones = vec![1.0; x.len()];
    let seeds = [Seed { output: buffers[1], gradient: &ones }];
    let gradient = memory.gradient(&seeds).expect("there is a tape");
    let slopes = gradient.of(buffers[0]).expect("it is an input");
    let singles = memory.read(buffers[1]).expect("it was written");
    let singles: Vec<f32> = bytemuck::pod_collect_to_vec(&singles);
    let all = singles.into_iter().zip(memory.exact(buffers[1])).zip(slopes);
    all.map(|((single, value), slope)| Followed { single, value, slope }).collect()
}

/// Checks an expression's values and derivatives against functions. Both are uncertain by no more than so many units
/// of f64 in 1, or in themselves where they are larger.
fn check(expression: &str, x: &[f32], units: f64, f: fn(f64) -> f64, slope: fn(f64) -> f64) {
    for (&x, followed) in x.iter().zip(followed(expression, x)) {
        let Followed { single, value: Exact { value, radius, uncertainty }, slope: own } = followed;
        let (y, d) = (f(x.into()), slope(x.into()));
        let sharp = |size: f64| units * f64::EPSILON * size.abs().max(1.0);
        let what = format!("{expression} at {x}");
        assert!((f64::from(single) - value).abs() <= radius, "{what}: {single}, not {value:e}");
        for (said, own, expected) in [(value, uncertainty, y), (own.value, own.uncertainty, d)] {
            // What the platform's own functions are rounded by.
            let off = (said - expected).abs() - 8.0 * f64::EPSILON * expected.abs();
            assert!(off <= own, "{what}: {said:e}, not {expected:e}, and sure within {own:e}");
            assert!(own <= sharp(expected), "{what}: {expected:e} is uncertain by {own:e}");
        }
    }
}

/// log2(e) and ln(2) are known to the last bit of f64, though literals are f32.
#[test]
fn exponentials_and_logarithms_are_known_as_exactly_as_their_constants() {
    let x = [0.25, 0.75, 1.5, 5.0, 12.0];
    check("exp(x)", &x, 1000.0, f64::exp, f64::exp);
    check("exp(-x)", &x, 1000.0, |x| (-x).exp(), |x| -(-x).exp());
    check("log(x)", &x, 1000.0, f64::ln, |x| 1.0 / x);
    check("sinh(x)", &x, 1000.0, f64::sinh, f64::cosh);
    check("cosh(x)", &x, 1000.0, f64::cosh, f64::sinh);
    check("asinh(x)", &x, 1000.0, f64::asinh, |x| 1.0 / x.hypot(1.0));
    // One literal alone is what somebody rounded.
    let [rounded] = &followed("exp2(x * 1.4426950408889634)", &[1.0])[..] else { panic!("one") };
    assert!(rounded.value.uncertainty > f64::from(f32::EPSILON) / 8.0, "{:?}", rounded.value);
}

/// The derivative of tanh goes on where tanh is 1 in f32, and what a program computes of it is its own.
#[test]
fn tanh_has_a_derivative_where_it_is_one() {
    let square = |x: f64| x.cosh().powi(-2);
    let x = [-40.0, -12.0, -5.0, -0.5, 0.5, 5.0, 8.9, 9.5, 10.0, 11.0, 12.0, 18.0, 30.0, 44.0];
    check("tanh(x)", &x, 10_000.0, f64::tanh, square);
    // Both ways to write the derivative in a backward kernel.
    check("1.0 - tanh(x) * tanh(x)", &x, 20_000.0, square, |x| -2.0 * x.tanh() * x.cosh().powi(-2));
    check("1.0 / (cosh(x) * cosh(x))", &x[1..13], 10_000.0, square, |x| {
        -2.0 * x.tanh() * x.cosh().powi(-2)
    });
    // Half a percent too much of it is found.
    let [five, twelve] = &followed("tanh(x)", &[5.0, 12.0])[..] else { panic!("two") };
    let wrong = 1.005 * square(5.0);
    assert!((wrong - five.slope.value).abs() > five.slope.uncertainty, "{:?}", five.slope);
    assert!(twelve.slope.value > twelve.slope.uncertainty, "not 0: {:?}", twelve.slope);
    for far in followed("tanh(x)", &[-1e30, -88.0, 46.0, 1e4, 3e38]) {
        let off = (f64::from(far.single.abs()) - 1.0).abs();
        assert!(off <= far.value.radius, "without an infinity: {}", far.single);
        assert_eq!(far.slope.value, 0.0, "beyond f32");
    }
}

/// A power of 0 is 0, and its derivative by the base that of the mathematics: 0 above 1, and 1 at 1. Below 1 it is
/// infinite, and of an exponent of 0 or less there is no power: these judge nothing.
#[test]
fn a_power_of_zero_has_its_derivative() {
    let x = [0.0, 0.25, 1.0, 3.0];
    check("pow(x, 2.5)", &x, 1000.0, |x| x.powf(2.5), |x| 2.5 * x.powf(1.5));
    check("pow(x, 2.0)", &x, 1000.0, |x| x * x, |x| 2.0 * x);
    check("pow(x, 1.0)", &x, 1000.0, |x| x, |_| 1.0);
    check(
        "pow(x * 3.0, 1.5) + x",
        &x,
        1000.0,
        |x| (3.0 * x).powf(1.5) + x,
        |x| 4.5 * (3.0 * x).sqrt() + 1.0,
    );
    check(
        "pow(max(x - 1.0, 0.0), 3.0)",
        &[0.5, 2.0],
        1000.0,
        |x| (x - 1.0).max(0.0).powi(3),
        |x| 3.0 * (x - 1.0).max(0.0).powi(2),
    );
    // By the exponent.
    check("pow(2.0, x)", &x, 1000.0, f64::exp2, |x| x.exp2() * std::f64::consts::LN_2);
    check(
        "pow(x, x + 1.0)",
        &x,
        1000.0,
        |x| x.powf(x + 1.0),
        |x| {
            let by_exponent = if x == 0.0 { 0.0 } else { x.powf(x + 1.0) * x.ln() };
            (x + 1.0) * x.powf(x) + by_exponent
        },
    );
    for expression in ["pow(x, 0.5)", "pow(x, 0.875)"] {
        let [zero, one] = &followed(expression, &[0.0, 1.0])[..] else { panic!("two") };
        assert_eq!((zero.single, zero.value.value), (0.0, 0.0), "{expression}");
        assert_eq!(zero.value.uncertainty, 0.0, "{expression}");
        let known = zero.slope.value.is_finite() && zero.slope.uncertainty.is_finite();
        assert!(!known, "{expression}: {:?}", zero.slope);
        assert!(one.slope.uncertainty < 1e-12, "{expression}: {:?}", one.slope);
    }
    for expression in ["pow(x, 0.0)", "pow(x, -1.0)", "pow(x - 1.0, 2.0)"] {
        let [zero] = &followed(expression, &[0.0])[..] else { panic!("one") };
        let known = zero.value.value.is_finite() && zero.value.uncertainty.is_finite();
        assert!(!known, "{expression}: {:?}", zero.value);
    }
    // A rounded exponent is uncertain, and a part of a thousandth is seen all the same.
    let [two] = &followed("pow(x, 2.2)", &[2.0])[..] else { panic!("one") };
    let right = 2.2 * 2.0_f64.powf(1.2);
    assert!((two.slope.value - right).abs() <= two.slope.uncertainty, "{:?}", two.slope);
    assert!(two.slope.uncertainty < 1e-4 * right, "{:?}", two.slope);
}
