//! Values and derivatives of arithmetic.

use approx::assert_abs_diff_eq;

use super::run::{check, elementwise, execute, execute_into, launch, numbers, positive, schedules};
use crate::{
    Argument, DeviceMemory, Launch, LaunchError, Module, Observers, RunError, Schedule, Seed,
    ShadowError, Shadowing, run,
};

const SHARP: f64 = 1e-14;

#[test]
fn arithmetic_has_its_derivatives() {
    check("mul.f32 %f2, %f1, %f1;", &numbers(), |x| x * x, |x| 2.0 * x, SHARP);
    check("fma.rn.f32 %f2, %f1, %f1, %f1;", &numbers(), |x| x * x + x, |x| 2.0 * x + 1.0, SHARP);
    check(
        "add.f32 %f3, %f1, 0f3F800000;\nsub.f32 %f2, %f3, %f1;",
        &numbers(),
        |_| 1.0,
        |_| 0.0,
        1e-12,
    );
    check("neg.f32 %f3, %f1;\nabs.f32 %f2, %f3;", &numbers(), f64::abs, f64::signum, SHARP);
    check("rcp.rn.f32 %f2, %f1;", &numbers(), |x| 1.0 / x, |x| -1.0 / (x * x), SHARP);
    check("rcp.approx.ftz.f32 %f2, %f1;", &numbers(), |x| 1.0 / x, |x| -1.0 / (x * x), SHARP);
    check("div.rn.f32 %f2, 0f40400000, %f1;", &numbers(), |x| 3.0 / x, |x| -3.0 / (x * x), SHARP);
    check("div.full.f32 %f2, %f1, 0f40400000;", &numbers(), |x| x / 3.0, |_| 1.0 / 3.0, SHARP);
    check("sqrt.rn.f32 %f2, %f1;", &positive(), f64::sqrt, |x| 0.5 / x.sqrt(), SHARP);
    check("sqrt.approx.f32 %f2, %f1;", &positive(), f64::sqrt, |x| 0.5 / x.sqrt(), SHARP);
    check(
        "rsqrt.approx.f32 %f2, %f1;",
        &positive(),
        |x| 1.0 / x.sqrt(),
        |x| -0.5 * x.powf(-1.5),
        SHARP,
    );
    check("ex2.approx.f32 %f2, %f1;", &numbers(), f64::exp2, |x| x.exp2() * 2.0_f64.ln(), 2e-14);
    check("lg2.approx.f32 %f2, %f1;", &positive(), f64::log2, |x| 1.0 / (x * 2.0_f64.ln()), 2e-14);
    check("sin.approx.f32 %f2, %f1;", &numbers(), f64::sin, f64::cos, SHARP);
    check("cos.approx.f32 %f2, %f1;", &numbers(), f64::cos, |x| -x.sin(), SHARP);
    check(
        "mul.sat.f32 %f2, %f1, 0f3E800000;",
        &numbers(),
        |x| (x / 4.0).clamp(0.0, 1.0),
        |x| {
            if (0.0..4.0).contains(&x) { 0.25 } else { 0.0 }
        },
        SHARP,
    );
}

/// Each lane multiplies the first number by its own number and adds that up; all add the number itself to another sum,
/// the odd lanes twice.
#[test]
fn what_each_lane_contributes_is_known() {
    let body = "ld.global.f32 %f3, [%d3];\ncvt.rn.f32.u32 %f4, %r1;\nmul.f32 %f5, %f3, %f4;\nand.b32 %r2, %r1, 1;\n\
                setp.eq.u32 %p1, %r2, 1;\nred.global.add.f32 [%d4], %f5;\nred.global.add.f32 [%d4+4], %f3;\n\
                @%p1 red.global.add.f32 [%d4+4], %f3;\nadd.s64 %d2, %d2, 128;\nmov.f32 %f2, %f1;";
    for schedule in schedules() {
        let zeros = vec![0.0; 64];
        let ran = execute_into(&elementwise(body), (&numbers(), &zeros), &schedule);
        let mut seed = vec![0.0; 64];
        (seed[0], seed[1]) = (1.0, 1000.0);
        let seeds = [Seed { output: ran.output, gradient: &seed }];
        let gradient = ran.memory.gradient(&seeds).expect("there is a tape");
        let shares = ran.memory.shares(&gradient, ran.input, 0).expect("an input");
        let mut by_lane = [0.0; 32];
        for share in &shares {
            assert_eq!((share.kernel.as_str(), share.block, share.warp), ("k", [0; 3], 0));
            by_lane[share.lane.expect("known") as usize] += share.value;
        }
        for (lane, value) in by_lane.into_iter().enumerate() {
            let twice = if lane % 2 == 1 { 2000.0 } else { 1000.0 };
            assert_eq!(value, lane as f64 + twice, "lane {lane}, {schedule:?}");
        }
    }
}

/// Each lane adds `(x + x lane) 2`; where it is odd, it takes `x` away.
#[test]
fn a_sum_has_its_terms_by_place_and_by_thread() {
    let body = "ld.global.f32 %f3, [%d3];\ncvt.rn.f32.u32 %f4, %r1;\nfma.rn.f32 %f5, %f3, %f4, %f3;\n\
                mul.f32 %f5, %f5, 0f40000000;\nred.global.add.f32 [%d4], %f5;\nand.b32 %r2, %r1, 1;\n\
                setp.eq.u32 %p1, %r2, 1;\nneg.f32 %f6, %f3;\n@%p1 red.global.add.f32 [%d4], %f6;\n\
                add.s64 %d2, %d2, 128;\nmov.f32 %f2, %f1;";
    for schedule in schedules() {
        let (x, zeros) = (numbers(), vec![0.0; 64]);
        let ran = execute_into(&elementwise(body), (&x, &zeros), &schedule);
        let (places, shares) = ran.memory.terms(ran.output, 0).expect("there is a tape");
        let first = f64::from(x[0]);
        let of = |operand| {
            let parts = places.iter().filter(|part| part.operand == operand);
            let mut values: Vec<f64> = parts.map(|part| (part.value / first).round()).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        assert_eq!(of(None), [992.0], "twice the products of 0 to 31: {places:?}");
        assert_eq!(of(Some(2)), [64.0], "twice the number itself: {places:?}");
        assert_eq!(of(Some(0)), [-16.0], "what is taken away, as it is negated: {places:?}");
        let mut by_lane = [0.0; 32];
        for share in &shares {
            by_lane[share.lane.expect("known") as usize] += share.value / first;
        }
        for (lane, value) in by_lane.into_iter().enumerate() {
            let own = 2.0 * lane as f64 + if lane % 2 == 1 { 1.0 } else { 2.0 };
            assert!((value - own).abs() < 1e-12, "lane {lane}: {value}, {schedule:?}");
        }
        let whole: f64 = shares.iter().map(|share| share.value).sum();
        let sum = ran.values()[0];
        assert_abs_diff_eq!(whole, sum.value, epsilon = sum.uncertainty);
        let (none, _) = ran.memory.terms(ran.output, 5).expect("there is a tape");
        assert_eq!(none, [], "what no input went into has no terms");
    }
}

/// CUDA's exp of f64 rounds to a whole number by 1.5 * 2^52: that number is a constant.
#[test]
fn a_number_that_is_rounded_by_a_literal_is_a_constant() {
    let rounded = "cvt.f64.f32 %g1, %f1;\nadd.rn.f64 %g2, %g1, 0d4338000000000000;\n\
                   sub.rn.f64 %g2, %g2, 0d4338000000000000;\nsub.rn.f64 %g3, %g1, %g2;\ncvt.rn.f32.f64 %f2, %g3;";
    check(rounded, &numbers(), |x| x - x.round_ties_even(), |_| 1.0, 1e-15);
    let fused = "cvt.f64.f32 %g1, %f1;\nfma.rn.f64 %g2, %g1, 0d4000000000000000, 0d4338000000000000;\n\
                 sub.rn.f64 %g2, %g2, 0d4338000000000000;\nadd.rn.f64 %g3, %g1, %g2;\ncvt.rn.f32.f64 %f2, %g3;";
    check(fused, &numbers(), |x| x + (2.0 * x).round_ties_even(), |_| 1.0, 1e-15);
    // Of f32 too, also where a compiler without optimization keeps the literal in memory.
    let kept = "mov.f32 %f9, 0f4B400000;\nst.local.f32 [own], %f9;\nld.local.f32 %f8, [own];\n\
                add.f32 %f3, %f1, %f8;\nsub.f32 %f3, %f3, %f8;\nsub.f32 %f2, %f1, %f3;";
    check(kept, &numbers(), |x| x - x.round_ties_even(), |_| 1.0, 1e-15);
    // Beyond the half of it is a sum.
    let sum = "cvt.f64.f32 %g1, %f1;\nmul.f64 %g1, %g1, 0d43f0000000000000;\n\
               add.rn.f64 %g2, %g1, 0d4338000000000000;\nmul.f64 %g2, %g2, 0d3bf0000000000000;\n\
               cvt.rn.f32.f64 %f2, %g2;";
    let outcome = execute(&elementwise(sum), &positive(), &Schedule::lockstep());
    assert!(outcome.slopes().iter().all(|slope| slope.value == 1.0), "{:?}", outcome.slopes());
}

#[test]
fn f64_and_numbers_of_16_bits_are_followed() {
    let square = "cvt.f64.f32 %g1, %f1;\nmul.f64 %g2, %g1, %g1;\nsub.f64 %g3, %g2, %g1;\ncvt.rn.f32.f64 %f2, %g3;";
    check(square, &numbers(), |x| x * x - x, |x| 2.0 * x - 1.0, 1e-11);
    let root = "cvt.f64.f32 %g1, %f1;\nsqrt.rn.f64 %g2, %g1;\ncvt.rn.f32.f64 %f2, %g2;";
    check(root, &positive(), f64::sqrt, |x| 0.5 / x.sqrt(), SHARP);
    let half = "cvt.rn.f16.f32 %h1, %f1;\nmul.f16 %h2, %h1, %h1;\ncvt.f32.f16 %f2, %h2;";
    check(half, &numbers(), |x| x * x, |x| 2.0 * x, SHARP);
    let pair = "neg.f32 %f3, %f1;\ncvt.rn.f16x2.f32 %r2, %f3, %f1;\nmov.b32 %r3, %r2;\n\
                fma.rn.f16x2 %r4, %r3, %r2, %r2;\nmov.b32 {%h1, %h2}, %r4;\ncvt.f32.f16 %f2, %h2;";
    check(pair, &numbers(), |x| x * x - x, |x| 2.0 * x - 1.0, 1e-11);
}

/// expf as NVRTC 12.4 compiles it: a magic number, log2 e in two parts, and 2^n by its bits.
pub(super) const EXPF: &str = "fma.rn.sat.f32 %f10, %f1, 0f3BBB989D, 0f3F000000;\n\
     fma.rm.f32 %f12, %f10, 0f437C0000, 0f4B400001;\nadd.f32 %f13, %f12, 0fCB40007F;\nneg.f32 %f14, %f13;\n\
     fma.rn.f32 %f15, %f1, 0f3FB8AA3B, %f14;\nfma.rn.f32 %f16, %f1, 0f32A57060, %f15;\n\
     mov.b32 %r2, %f12;\nshl.b32 %r3, %r2, 23;\nmov.b32 %f17, %r3;\nex2.approx.ftz.f32 %f18, %f16;\n\
     mul.f32 %f2, %f18, %f17;";

#[test]
fn the_exponential_is_sharp() {
    // The low part of log2 e is what is left of it to 24 bits: 2^-24 of 2^-26 of it.
    check(EXPF, &numbers(), f64::exp, f64::exp, 4e-14);
}

/// The same with one literal: its half unit is in the result, and in the uncertainty.
#[test]
fn a_rounded_literal_is_uncertain() {
    check(
        "mul.f32 %f3, %f1, 0f3FB8AA3B;\nex2.approx.f32 %f2, %f3;",
        &numbers(),
        f64::exp,
        f64::exp,
        2e-6,
    );
}

#[test]
fn the_shadow_follows_the_word() {
    let double = |x: f64| 2.0 * x;
    let ways = [
        "mov.b32 %r2, %f1;\nmov.b32 %f3, %r2;",
        "st.shared.f32 [shared], %f1;\nbar.sync 0;\nmov.f32 %f3, %f1;",
        "st.local.f32 [own+8], %f1;\nld.local.f32 %f3, [own+8];",
        "st.local.v2.f32 [own+8], {%f1, %f1};\nld.local.b64 %d5, [own+8];\nmov.b64 {%r2, %r3}, %d5;\nmov.b32 %f3, %r3;",
        "setp.eq.u32 %p1, %r1, %r1;\nselp.f32 %f3, %f1, 0f00000000, %p1;",
        "shfl.sync.bfly.b32 %f4, %f1, 4, 31, -1;\nshfl.sync.bfly.b32 %f3, %f4, 4, 31, -1;",
        "shfl.sync.up.b32 %f4, %f1, 0, 0, -1;\nmov.f32 %f3, %f4;",
        "mov.b32 %r2, %f1;\nmov.b64 %d5, {%r1, %r2};\nshr.u64 %d6, %d5, 32;\ncvt.u32.u64 %r3, %d6;\nmov.b32 %f3, %r3;",
        "cvta.to.global.u64 %d5, %d2;\nst.global.f32 [%d5], %f1;\nld.global.f32 %f3, [%d2];",
        "st.f32 [%d2], %f1;\natom.global.exch.b32 %r2, [%d2], 7;\nmov.b32 %f3, %r2;",
        "cvt.u64.u32 %d5, %r1;\nshl.b64 %d6, %d5, 2;\nmov.u64 %d7, shared;\nadd.s64 %d8, %d7, %d6;\n\
         cvt.u32.u64 %r5, %d8;\ncp.async.ca.shared.global [%r5], [%d1], 4;\ncp.async.wait_all;\nld.shared.f32 %f3, [%r5];",
    ];
    for way in ways {
        let way = if way.contains("[shared]") { "mov.f32 %f3, %f1;" } else { way };
        check(&format!("{way}\nadd.f32 %f2, %f3, %f3;"), &numbers(), double, |_| 2.0, SHARP);
    }
}

/// Other lanes read what a lane stored, through shared memory and a barrier, under schedules that hold
/// stores back.
#[test]
fn a_block_exchanges_its_numbers() {
    let body = "shl.b32 %r2, %r1, 2;\nmov.u32 %r3, shared;\nadd.u32 %r4, %r3, %r2;\nmul.f32 %f3, %f1, %f1;\n\
                st.shared.f32 [%r4], %f3;\nbar.sync 0;\nxor.b32 %r5, %r2, 124;\nadd.u32 %r6, %r3, %r5;\n\
                ld.shared.f32 %f4, [%r6];\nmul.f32 %f2, %f4, %f1;";
    let x = numbers();
    for schedule in schedules() {
        let outcome = execute(&elementwise(body), &x, &schedule);
        let (values, slopes) = (outcome.values(), outcome.slopes());
        for lane in 0..32 {
            let (own, other) = (f64::from(x[lane]), f64::from(x[31 - lane]));
            let expected = other * other * own;
            assert!(
                (values[lane].value - expected).abs() <= values[lane].uncertainty,
                "value of {lane}"
            );
            // As the one that squares, and as the one that multiplies.
            let slope = other * other + 2.0 * own * other;
            let error = (slopes[lane].value - slope).abs();
            assert!(error <= slopes[lane].uncertainty, "slope of {lane}: off by {error:e}");
            assert!(slopes[lane].uncertainty < 1e-12, "slope of {lane} is sharp");
        }
    }
}

#[test]
fn contributions_are_what_would_be_missing() {
    // f = x^2 (line a) + 3 x (line b).
    let body = "mul.f32 %f3, %f1, %f1;\nmul.f32 %f4, %f1, 0f40400000;\nadd.f32 %f2, %f3, %f4;";
    let x = numbers();
    let outcome = execute(&elementwise(body), &x, &Schedule::lockstep());
    let ones = [1.0; 32];
    let seeds = [Seed { output: outcome.output, gradient: &ones }];
    let gradient = outcome.memory.gradient(&seeds).expect("there is a tape");
    let all = outcome.memory.contributions(&gradient, outcome.input, 5).expect("it is an input");
    let first = all.iter().map(|c| c.place.line).min().expect("there are some");
    let of = |line: u32, operand: u8| {
        let found = all.iter().find(|c| c.place.line == first + line && c.operand == Some(operand));
        found.map_or(0.0, |c| c.value)
    };
    let at = f64::from(x[5]);
    assert_eq!([of(0, 0), of(0, 1)], [at, at], "either factor of the square");
    assert_eq!(of(1, 0), 3.0, "the product with 3");
    assert_eq!([of(2, 0), of(2, 1)], [2.0 * at, 3.0], "the terms of the sum");
    let missing = outcome.memory.contributions(&gradient, outcome.output, 5);
    assert_eq!(missing, Err(ShadowError::NoInput), "an output is no input");
}

#[test]
fn a_tape_that_is_too_small_is_an_error_that_says_what_to_do() {
    let body = "mov.u32 %r2, 0;\nmov.f32 %f2, %f1;\nagain:\nmul.f32 %f2, %f2, 0f3F800000;\nadd.u32 %r2, %r2, 1;\n\
                setp.lt.u32 %p1, %r2, 3000;\n@%p1 bra again;";
    let module = Module::parse(&elementwise(body)).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let buffers = [memory.upload(&[0; 128]), memory.upload(&[0; 128])];
    memory.follow(Some(1 << 20));
    memory.differentiate(buffers[0]).expect("there is a tape");
    let launch = Launch {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared: 0,
        arguments: buffers.map(Argument::from).to_vec(),
    };
    let shadow = Shadowing::Tape { bytes: 1 << 20 };
    let observers = Observers { shadow, ..Observers::default() };
    let error = run(&module, "k", &launch, &mut memory, &Schedule::lockstep(), observers);
    let error = error.expect_err("96,000 nodes take more than a MiB");
    assert_eq!(
        error,
        RunError::Launch(LaunchError::Tape { bytes: 1 << 20 }),
        "the tape is too small"
    );
    assert!(
        error.to_string().contains("take fewer blocks, smaller inputs"),
        "'{error}' says what to do"
    );
}

#[test]
fn shadows_are_kept_across_launches() {
    let module =
        Module::parse(&elementwise("mul.f32 %f2, %f1, 0f3DCCCCCD;")).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let zeros = [0_u8; 128];
    let x: Vec<u8> = numbers().iter().flat_map(|x| x.to_le_bytes()).collect();
    let [first, second, third] = [memory.upload(&x), memory.upload(&zeros), memory.upload(&zeros)];
    memory.follow(Some(1 << 24));
    memory.differentiate(first).expect("there is a tape");
    launch(&module, &mut memory, [first, second], &Schedule::lockstep());
    launch(&module, &mut memory, [second, third], &Schedule::lockstep());
    let tenth = f64::from(0.1_f32);
    let expected = f64::from(numbers()[7]) * tenth * tenth;
    let found = memory.exact(third)[7];
    assert_abs_diff_eq!(found.value, expected, epsilon = found.uncertainty);
    let ones = [1.0; 32];
    let seeds = [Seed { output: third, gradient: &ones }];
    let slopes = memory.gradient(&seeds).expect("there is a tape").of(first).expect("an input");
    assert_abs_diff_eq!(slopes[7].value, 0.01, epsilon = slopes[7].uncertainty);
    assert!(slopes[7].uncertainty < 1e-9, "{:?}", slopes[7]);
}

#[test]
fn what_a_host_has_made_is_uncertain_by_half_a_unit() {
    let module = Module::parse(&elementwise("add.f32 %f2, %f1, %f1;")).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let input = memory.upload(&super::run::bytes(&[0.1; 32]));
    let output = memory.upload(&[0; 128]);
    memory.follow(None);
    memory.set_rounded(input);
    launch(&module, &mut memory, [input, output], &Schedule::lockstep());
    let found = memory.exact(output)[9];
    assert_abs_diff_eq!(found.value, 0.2, epsilon = found.uncertainty);
    assert!(found.uncertainty < 8e-9, "{found:?}: a unit in the last place of 0.1");
}
