//! Buffers of f16 and bf16.

use super::run::schedules;
use crate::{
    Argument, Derivative, DeviceMemory, Exact, FloatType, Launch, Module, Observers, Seed,
    Shadowing, run,
};

/// Thread i has the square of element i written as a product of two numbers, and its triple added to a pair of sums.
fn kernel(kind: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 input, .param .u64 output, .param .u64 sums)\n{{\n\
         .reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %d<9>;\n\
         ld.param.u64 %d1, [input];\nld.param.u64 %d2, [output];\nld.param.u64 %d3, [sums];\n\
         mov.u32 %r1, %tid.x;\nmad.wide.u32 %d4, %r1, 2, %d1;\nmad.wide.u32 %d5, %r1, 2, %d2;\n\
         ld.global.b16 %h1, [%d4];\nmul.{kind} %h2, %h1, %h1;\nst.global.b16 [%d5], %h2;\n\
         add.{kind} %h3, %h1, %h1;\nadd.{kind} %h4, %h3, %h1;\nmov.b32 %r2, {{%h4, %h1}};\n\
         red.global.add.noftz.{kind}x2 [%d3], %r2;\nret;\n}}\n"
    )
}

/// Numbers that both types hold, whose squares neither does.
const NUMBERS: [f32; 7] = [1.2109375, -0.73828125, 2.609375, 0.12207031, -1.5078125, 3.015625, 0.0];

#[expect(clippy::cast_possible_truncation, reason = "the upper half, and 10 bits of the mantissa")]
fn bits(floats: FloatType, x: f32) -> u16 {
    let upper = (x.to_bits() >> 16) as u16;
    match floats {
        FloatType::F32 => panic!("no number of 16 bits"),
        FloatType::Bf16 => upper,
        FloatType::F16 if x == 0.0 => 0,
        // Sign, exponent less 112, and 10 bits of the mantissa: these numbers have no more.
        FloatType::F16 => {
            let number = (x.to_bits() & 0x7fff_ffff) - (112 << 23);
            (upper & 0x8000) | (number >> 13) as u16
        }
    }
}

#[test]
fn arrays_of_16_bits_have_values_and_derivatives() {
    for (floats, kind) in [(FloatType::F16, "f16"), (FloatType::Bf16, "bf16")] {
        let module = Module::parse(&kernel(kind)).expect("the test's kernel");
        for schedule in schedules() {
            for tape in [true, false] {
                let mut memory = DeviceMemory::new();
                let bytes: Vec<u8> =
                    NUMBERS.iter().flat_map(|&x| bits(floats, x).to_le_bytes()).collect();
                let input = memory.upload(&bytes);
                let output = memory.allocate(bytes.len());
                let sums = memory.upload(&[0; 4]);
                for buffer in [input, output, sums] {
                    memory.set_floats(buffer, floats);
                }
                memory.follow(Some(1 << 26));
                if tape {
                    memory.differentiate(input).expect("there is a tape");
                }
                let launch = Launch {
                    grid: [1, 1, 1],
                    block: [7, 1, 1],
                    dynamic_shared: 0,
                    arguments: [input, output, sums].map(Argument::from).to_vec(),
                };
                let shadow = if tape { Shadowing::TAPE } else { Shadowing::Values };
                let observers = Observers { shadow, ..Observers::default() };
                run(&module, "k", &launch, &mut memory, &schedule, observers).expect("it runs");
                let what = format!("{kind} {:?}, tape: {tape}", schedule.policy);
                let squares: Vec<f64> = NUMBERS.iter().map(|&x| f64::from(x).powi(2)).collect();
                let values = memory.exact(output);
                assert_eq!(values.len(), NUMBERS.len(), "{what}: an odd number of halves");
                for (Exact { value, radius, uncertainty }, square) in
                    values.into_iter().zip(squares)
                {
                    assert!((value - square).abs() <= uncertainty, "{what}: {value} not {square}");
                    let unit = if floats == FloatType::F16 { 5e-4 } else { 4e-3 };
                    assert!(radius <= unit * square + 1e-7, "{what}: {radius:e} of {square}");
                    assert!(radius > 0.0 || square == 0.0, "{what}: {square} is rounded");
                }
                let whole: f64 = NUMBERS.iter().copied().map(f64::from).sum();
                for (sum, expected) in memory.exact(sums).into_iter().zip([3.0 * whole, whole]) {
                    let distance = (sum.value - expected).abs();
                    assert!(distance <= sum.uncertainty, "{what}: {sum:?} not {expected}");
                }
                if tape {
                    let seeds = [
                        Seed { output, gradient: &[1.0; 7] },
                        Seed { output: sums, gradient: &[1.0, 0.5] },
                    ];
                    let gradient = memory.gradient(&seeds).expect("there is a tape");
                    let slopes = gradient.of(input).expect("it is an input");
                    for (Derivative { value, uncertainty }, x) in slopes.into_iter().zip(NUMBERS) {
                        let expected = 2.0 * f64::from(x) + 3.5;
                        assert!((value - expected).abs() <= uncertainty, "{what}: {value} at {x}");
                    }
                }
            }
        }
    }
}

#[test]
fn rounded_values_of_16_bits_are_within_half_a_unit() {
    let mut memory = DeviceMemory::new();
    let one_and_two = [0x00, 0x3c, 0x00, 0x40];
    let buffer = memory.upload(&one_and_two);
    memory.set_floats(buffer, FloatType::F16);
    memory.follow(None);
    memory.set_rounded(buffer);
    let Exact { value, radius, uncertainty } = memory.exact(buffer)[1];
    assert!(value.to_bits() == 2.0_f64.to_bits() && radius >= 2.0_f64.powi(-10), "{radius}");
    assert!(uncertainty >= 2.0_f64.powi(-10), "{uncertainty}");
}
