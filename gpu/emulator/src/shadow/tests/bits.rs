//! Floats through integers: what is followed, and what is reported.

use super::run::{check, elementwise, execute, execute_into, launch, numbers, positive, schedules};
use crate::{Derivative, DeviceMemory, Loss, Module, Schedule, Seed};

const SHARP: f64 = 1e-14;

#[test]
fn bit_tricks_that_are_followed() {
    let magnitude = "mov.b32 %r2, %f1;\nand.b32 %r3, %r2, 2147483647;\nmov.b32 %f2, %r3;";
    check(magnitude, &numbers(), f64::abs, f64::signum, SHARP);
    let sign = "mov.b32 %r2, %f1;\nxor.b32 %r3, %r2, -2147483648;\nmov.b32 %f2, %r3;";
    check(sign, &numbers(), |x| -x, |_| -1.0, SHARP);
    let eighth = "mov.b32 %r2, %f1;\nadd.s32 %r3, %r2, -25165824;\nmov.b32 %f2, %r3;";
    check(eighth, &numbers(), |x| x / 8.0, |_| 0.125, SHARP);
    // frexpf: the exponent is taken away, and another put in its place.
    let fraction = "mov.b32 %r2, %f1;\nand.b32 %r3, %r2, -2139095041;\nor.b32 %r4, %r3, 1056964608;\nmov.b32 %f2, %r4;";
    let power = |x: f64| (x.abs().log2().floor() + 1.0).exp2();
    check(
        fraction,
        &numbers(),
        |x| x / (x.abs().log2().floor() + 1.0).exp2(),
        move |x| 1.0 / (x.abs().log2().floor() + 1.0).exp2(),
        SHARP,
    );
    assert_eq!(power(3.0), 4.0, "the test's own power");
    // logf: the exponent as a number, which is a constant, and what is left.
    let exponent = "mov.b32 %r2, %f1;\nadd.s32 %r3, %r2, -1060439283;\nand.b32 %r4, %r3, -8388608;\n\
                    sub.s32 %r5, %r2, %r4;\nmov.b32 %f3, %r5;\ncvt.rn.f32.s32 %f4, %r4;\n\
                    fma.rn.f32 %f5, %f4, 0f34000000, 0f00000000;\nadd.f32 %f2, %f3, %f5;";
    let reduced = |x: f64| {
        let e = (x / 0.666_666_6).log2().floor();
        x / e.exp2() + e
    };
    check(exponent, &positive(), reduced, |x| 1.0 / (x / 0.666_666_6).log2().floor().exp2(), 1e-13);
    let copied = "mov.f32 %f3, 0fC0000000;\ncopysign.f32 %f2, %f3, %f1;";
    check(copied, &numbers(), |x| -x.abs(), |x| -x.signum(), SHARP);
    let halves = "mov.b32 {%h1, %h2}, %f1;\nmov.b32 %r2, {%h1, %h2};\nmov.b32 %f2, %r2;";
    check(halves, &numbers(), |x| x, |_| 1.0, SHARP);
    // The exponent of an f64, by its upper word.
    let double = "cvt.f64.f32 %g1, %f1;\nmov.b64 {%r2, %r3}, %g1;\nadd.s32 %r4, %r3, 2097152;\n\
                  mov.b64 %g2, {%r2, %r4};\ncvt.rn.f32.f64 %f2, %g2;";
    check(double, &numbers(), |x| 4.0 * x, |_| 4.0, SHARP);
}

/// A bf16 is the upper half of an f32: by moves, shifts and masks as headers and hand-written code have them.
#[test]
fn numbers_of_16_bits_are_followed_through_words() {
    /// Of the numbers that a bf16 holds.
    fn bodies() -> [String; 9] {
        let rounded = "cvt.rn.bf16.f32 %h1, %f1;";
        // As code rounds that has no instruction for it.
        let by_hand = "mov.b32 %r2, %f1;\nshr.u32 %r3, %r2, 16;\nand.b32 %r4, %r3, 1;\nadd.s32 %r5, %r4, 32767;\n\
                       add.s32 %r6, %r5, %r2;\nshr.u32 %r7, %r6, 16;";
        let masked = "and.b32 %r8, %r6, -65536;";
        let pair = "cvt.rn.bf16.f32 %h1, %f1;\nmov.f32 %f3, 0f00000000;\ncvt.rn.bf16.f32 %h2, %f3;";
        [
            format!("{rounded}\nmov.b32 %f2, {{0, %h1}};"),
            format!("{rounded}\ncvt.u32.u16 %r2, %h1;\nshl.b32 %r3, %r2, 16;\nmov.b32 %f2, %r3;"),
            format!("{by_hand}\nshl.b32 %r8, %r7, 16;\nmov.b32 %f2, %r8;"),
            format!("{by_hand}\n{masked}\nmov.b32 %f2, %r8;"),
            // Packed beside itself.
            format!(
                "{by_hand}\n{masked}\nor.b32 %r9, %r7, %r8;\nshl.b32 %r9, %r9, 16;\nmov.b32 %f2, %r9;"
            ),
            format!(
                "{by_hand}\nprmt.b32 %r9, %r6, %r6, 30258;\nshl.b32 %r9, %r9, 16;\nmov.b32 %f2, %r9;"
            ),
            // Packed beside another one, of value 0, by bits, and taken out again.
            format!(
                "{pair}\ncvt.u32.u16 %r2, %h1;\ncvt.u32.u16 %r3, %h2;\nshl.b32 %r4, %r2, 16;\nor.b32 %r5, %r4, %r3;\n\
                 and.b32 %r6, %r5, -65536;\nmov.b32 %f2, %r6;"
            ),
            format!(
                "{pair}\nmov.b32 %r5, {{%h2, %h1}};\nshr.u32 %r6, %r5, 16;\nshl.b32 %r7, %r6, 16;\nmov.b32 %f2, %r7;"
            ),
            format!("{pair}\nmov.b32 %r5, {{%h1, %h2}};\nshl.b32 %r6, %r5, 16;\nmov.b32 %f2, %r6;"),
        ]
    }
    let x: Vec<f32> = (0..32_u8).map(|i| f32::from(i) - 12.0).collect();
    for body in bodies() {
        check(&body, &x, |x| x, |_| 1.0, SHARP);
    }
    // Rounded, they are as far off as that may take them.
    for body in bodies() {
        check(&body, &numbers(), |x| x, |_| 1.0, SHARP);
    }
}

#[test]
fn keys_of_words_and_of_64_bits_give_their_floats_back() {
    // Order-preserving: all bits of negative numbers are turned, and the sign of others.
    let key = "mov.b32 %r2, %f1;\nshr.s32 %r3, %r2, 31;\nor.b32 %r4, %r3, -2147483648;\nxor.b32 %r5, %r2, %r4;\n\
               max.u32 %r6, %r5, 0;\nshr.s32 %r7, %r6, 31;\nnot.b32 %r8, %r7;\nor.b32 %r9, %r8, -2147483648;\n\
               xor.b32 %r10, %r6, %r9;\nmov.b32 %f2, %r10;";
    check(key, &numbers(), |x| x, |_| 1.0, SHARP);
    let wide = "mov.b32 %r2, %f1;\ncvt.u64.u32 %d5, %r2;\nshl.b64 %d6, %d5, 32;\ncvt.u64.u32 %d7, %r1;\n\
                or.b64 %d8, %d6, %d7;\nshr.u64 %d9, %d8, 32;\ncvt.u32.u64 %r3, %d9;\nmov.b32 %f2, %r3;";
    check(wide, &positive(), |x| x, |_| 1.0, SHARP);
    let inserted = "mov.b32 %r2, %f1;\ncvt.u64.u32 %d5, %r2;\ncvt.u64.u32 %d7, %r1;\nbfi.b64 %d8, %d5, %d7, 32, 32;\n\
                    mov.b64 {%r4, %r5}, %d8;\nmov.b32 %f2, %r5;";
    check(inserted, &positive(), |x| x, |_| 1.0, SHARP);
}

/// A radix sort turns a key back by its sign, and asks for that as for what is below 0.
#[test]
fn the_sign_of_a_key_is_asked_with_a_sign() {
    let key = "mov.b32 %r2, %f1;\nshr.s32 %r3, %r2, 31;\nor.b32 %r4, %r3, -2147483648;\nxor.b32 %r5, %r2, %r4;";
    for asked in
        ["setp.lt.s32 %p1, %r5, 0;", "setp.le.s32 %p1, %r5, -1;", "setp.gt.s32 %p1, 0, %r5;"]
    {
        let back = "selp.b32 %r6, -2147483648, -1, %p1;\nxor.b32 %r7, %r5, %r6;\nmov.b32 %f2, %r7;";
        // Rounded, so that the bits do not say all.
        let rounded = "mul.f32 %f1, %f1, 0f3DCCCCCD;";
        let body = format!("{rounded}\n{key}\n{asked}\n{back}");
        check(&body, &numbers(), |x| x * f64::from(0.1_f32), |_| f64::from(0.1_f32), 1e-7);
    }
}

/// A logarithm of an f64 takes its exponent from the upper word, compares that word, and makes the exponent a number.
#[test]
fn the_exponent_of_an_f64_is_a_number() {
    let body = "cvt.f64.f32 %g1, %f1;\nmul.f64 %g1, %g1, 0d4008000000000000;\nmov.b64 {%r2, %r3}, %g1;\n\
                add.s32 %r4, %r3, -1;\nsetp.lt.u32 %p1, %r4, 2146435071;\n@!%p1 bra DONE;\nshr.u32 %r5, %r3, 20;\n\
                add.s32 %r5, %r5, -1023;\nand.b32 %r6, %r3, -2146435073;\nor.b32 %r7, %r6, 1072693248;\n\
                mov.b64 %g2, {%r2, %r7};\nsetp.lt.s32 %p2, %r7, 1073127583;\nxor.b32 %r8, %r5, -2147483648;\n\
                mov.b32 %r9, 1127219200;\nmov.b64 %g3, {%r8, %r9};\n\
                sub.f64 %g4, %g3, 0d4330000080000000;\nadd.f64 %g1, %g4, %g2;\n@%p2 bra DONE;\nDONE:\n\
                cvt.rn.f32.f64 %f2, %g1;";
    let f = |x: f64| {
        let e = (3.0 * x).log2().floor();
        e + 3.0 * x / e.exp2()
    };
    check(body, &positive(), f, |x| 3.0 / (3.0 * x).log2().floor().exp2(), 1e-13);
}

/// The largest of all by an atomic on keys of 64 bits, as argmax does it.
#[test]
fn an_atomic_on_keys_has_the_derivative_of_the_largest() {
    let body = "mov.b32 %r2, %f1;\nmov.b64 %d5, {%r1, %r2};\nmov.u32 %r3, shared;\nsetp.eq.u32 %p1, %r1, 0;\n\
                mov.u64 %d6, 0;\n@%p1 st.shared.u64 [%r3], %d6;\nbar.sync 0;\natom.shared.max.u64 %d9, [%r3], %d5;\n\
                bar.sync 0;\nld.shared.u64 %d7, [%r3];\nmov.b64 {%r4, %r5}, %d7;\nmov.b32 %f2, %r5;";
    let x = positive();
    for schedule in schedules() {
        let outcome = execute(&elementwise(body), &x, &schedule);
        let slopes: Vec<f64> = outcome.slopes().iter().map(|slope| slope.value).collect();
        let mut expected = vec![0.0; 32];
        expected[31] = 32.0;
        assert_eq!(slopes, expected, "all lanes read the largest");
        assert_eq!(outcome.memory.losses(), [], "nothing is lost");
    }
}

/// What no rule follows is reported by its line, and no gradient that goes through it is judged.
#[test]
fn what_is_lost_is_reported_and_judges_nothing() {
    let lost = [
        // The fast inverse square root.
        "mov.b32 %r2, %f1;\nshr.s32 %r3, %r2, 1;\nsub.s32 %r4, 1597463007, %r3;\nmov.b32 %f2, %r4;",
        // The fast logarithm: the bits as a number.
        "mov.b32 %r2, %f1;\ncvt.rn.f32.s32 %f2, %r2;",
        // A part of the mantissa.
        "mov.b32 %r2, %f1;\nand.b32 %r3, %r2, -16711936;\nmov.b32 %f2, %r3;",
        // Products of bits in 64.
        "mov.b32 %r2, %f1;\nand.b32 %r3, %r2, 8388607;\nmul.wide.u32 %d5, %r3, 12345;\ncvt.rn.f32.u64 %f2, %d5;",
        // The bits of two.
        "mul.f32 %f3, %f1, %f1;\nmov.b32 %r2, %f1;\nmov.b32 %r3, %f3;\nand.b32 %r4, %r2, %r3;\nmov.b32 %f2, %r4;",
        "mov.b32 %r2, %f1;\nbrev.b32 %r3, %r2;\ncvt.rn.f32.u32 %f2, %r3;",
        "mov.b32 %r2, %f1;\nadd.cc.u32 %r3, %r2, 3;\nmov.b32 %f2, %r3;",
        // The carry alone, of numbers whose bits are not 0.
        "mov.b32 %r2, %f1;\nadd.cc.u32 %r3, %r2, -1;\naddc.u32 %r4, 7, 1056964608;\nmov.b32 %f2, %r4;",
        "mov.b32 %r2, %f1;\nmov.b32 %r3, 12;\nprmt.b32 %r4, %r2, %r3, 8450;\nmov.b32 %f2, %r4;",
        "cvt.f64.f32 %g1, %f1;\nmov.b64 {%r2, %r3}, %g1;\nmov.b32 %f2, %r3;",
        "st.local.f32 [own], %f1;\nld.local.u8 %r2, [own+2];\ncvt.rn.f32.u32 %f2, %r2;",
    ];
    for body in lost {
        let body = &body.replace("%f2", "%f9");
        let used = format!("{body}\nmul.f32 %f2, %f9, 0f3F800000;");
        let outcome = execute(&elementwise(&used), &positive(), &Schedule::lockstep());
        let losses = outcome.memory.losses();
        assert_eq!(losses.len(), 1, "{body}: {losses:?}");
        assert_eq!((losses[0].loss, losses[0].count), (Loss::Bits, 32), "{body}");
        assert!(
            outcome.values().iter().all(|v| v.uncertainty == f64::INFINITY),
            "{body}: no value is judged"
        );
        let ones = [1.0; 32];
        let seeds = [Seed { output: outcome.output, gradient: &ones }];
        let gradient = outcome.memory.gradient(&seeds).expect("there is a tape");
        assert_eq!(gradient.lost, [losses[0].place.clone()], "{body}: the sweep comes to it");
        let slopes = gradient.of(outcome.input).expect("an input");
        assert!(
            slopes.iter().all(|s| s.uncertainty == f64::INFINITY),
            "{body}: no slope is judged"
        );
    }
}

/// An output that is no float any more, which a host would read as one.
#[test]
fn an_output_that_only_refers_to_floats_is_unknown() {
    let body = "mov.b32 %r2, %f1;\nmul.lo.u32 %r3, %r2, 3;\nst.global.u32 [%d2], %r3;\nexit;";
    let outcome = execute(&elementwise(body), &numbers(), &Schedule::lockstep());
    let ones = [1.0; 32];
    let seeds = [Seed { output: outcome.output, gradient: &ones }];
    let gradient = outcome.memory.gradient(&seeds).expect("there is a tape");
    assert_eq!(gradient.unknown.len(), 32, "all of them");
}

/// Integers that never met a float are no loss, whatever is done to them: hashes and random numbers.
#[test]
fn integers_alone_lose_nothing() {
    let body = "mad.lo.u32 %r2, %r1, 1664525, 1013904223;\nxor.b32 %r3, %r2, -1640531527;\nmov.b32 %r9, 1065353217;\n\
                add.u32 %r4, %r3, %r9;\nshr.u32 %r5, %r4, 9;\nor.b32 %r6, %r5, 1065353216;\nmov.b32 %f3, %r6;\n\
                cvt.rn.f32.u32 %f4, %r4;\nmul.wide.u32 %d5, %r4, %r9;\ncvt.rn.f32.u64 %f5, %d5;\n\
                add.f32 %f6, %f3, %f4;\nadd.f32 %f7, %f6, %f5;\nmul.f32 %f2, %f1, %f7;";
    let outcome = execute(&elementwise(body), &numbers(), &Schedule::lockstep());
    assert_eq!(outcome.memory.losses(), [], "nothing is lost");
    let (values, slopes) = (outcome.values(), outcome.slopes());
    for (lane, x) in numbers().into_iter().enumerate() {
        let expected = values[lane].value / f64::from(x);
        assert!((slopes[lane].value / expected - 1.0).abs() < 1e-14, "the slope is the factor");
    }
}

/// Fixed point: floats are rounded to units, added up as integers by atomics, and converted back.
#[test]
fn sums_in_fixed_point_are_those_of_the_floats() {
    let body = "mul.f32 %f3, %f1, 0f49800000;\ncvt.rni.s64.f32 %d5, %f3;\nred.global.add.u64 [%d4], %d5;\nexit;";
    let back = Module::parse(&elementwise(
        "ld.global.u64 %d5, [%d3];\ncvt.rn.f32.s64 %f3, %d5;\nmul.f32 %f2, %f3, 0f35800000;",
    ))
    .expect("the test's kernel");
    let x = numbers();
    for schedule in schedules() {
        let mut outcome = execute_into(&elementwise(body), (&x, &[0.0; 64]), &schedule);
        let result = outcome.memory.upload(&[0; 128]);
        launch(&back, &mut outcome.memory, [outcome.output, result], &schedule);
        let expected: f64 = x.iter().map(|&x| f64::from(x)).sum();
        let found = outcome.memory.exact(result)[0];
        assert!(
            (found.value - expected).abs() <= found.uncertainty,
            "{} not {expected}",
            found.value
        );
        assert!(found.uncertainty < 1e-12, "{found:?} is sharp");
        assert!(
            found.radius > 32.0 * 0.25 / 1_048_576.0,
            "{found:?}: the roundings to units are in it"
        );
        let mut first = [0.0; 32];
        first[0] = 1.0;
        let seeds = [Seed { output: result, gradient: &first }];
        let slopes =
            outcome.memory.gradient(&seeds).expect("a tape").of(outcome.input).expect("an input");
        assert!(slopes.iter().all(|s| s.value == 1.0 && s.uncertainty < 1e-12), "each has slope 1");
        assert_eq!(outcome.memory.losses(), [], "nothing is lost");
    }
}

/// The same with one instruction that adds the units of a warp, of all its lanes or of some.
#[test]
fn a_reduction_of_units_over_lanes_is_their_sum() {
    for (lanes, mask) in [(32, "-1"), (5, "31")] {
        let body = format!(
            "mov.f32 %f2, 0f00000000;\nsetp.ge.u32 %p1, %r1, {lanes};\n@%p1 bra DONE;\n\
             mul.f32 %f3, %f1, 0f49800000;\ncvt.rni.s32.f32 %r2, %f3;\nredux.sync.add.s32 %r3, %r2, {mask};\n\
             cvt.rn.f32.s32 %f4, %r3;\nmul.f32 %f2, %f4, 0f35800000;\nDONE:"
        );
        let x = numbers();
        for schedule in schedules() {
            let outcome = execute(&elementwise(&body), &x, &schedule);
            let expected: f64 = x[..lanes].iter().map(|&x| f64::from(x)).sum();
            for found in &outcome.values()[..lanes] {
                let distance = (found.value - expected).abs();
                assert!(distance <= found.uncertainty, "{} not {expected}", found.value);
                assert!(found.uncertainty < 1e-12, "{found:?} is sharp");
            }
            // Each lane has the sum: every number has as many slopes of 1.
            let sharp = |s: &Derivative| s.value == f64::from(u8::try_from(lanes).unwrap_or(0));
            assert!(outcome.slopes()[..lanes].iter().all(sharp), "{:?}", outcome.slopes());
            assert_eq!(outcome.memory.losses(), [], "nothing is lost");
        }
    }
}

/// The same in two words of 32 bits, the fraction with a carry, where the lower word wraps around and some terms
/// are a few units.
#[test]
fn a_carry_between_two_words_keeps_the_sum() {
    let body = "mul.f32 %f3, %f1, 0f4F800000;\ncvt.rzi.u32.f32 %r2, %f3;\natom.global.add.u32 %r3, [%d4], %r2;\n\
                add.s32 %r4, %r3, %r2;\nsetp.lt.u32 %p1, %r4, %r3;\nselp.u32 %r5, 1, 0, %p1;\n\
                red.global.add.u32 [%d4+4], %r5;\nexit;";
    let back = Module::parse(&elementwise(
        "ld.global.u32 %r2, [%d3];\nld.global.u32 %r3, [%d3+4];\ncvt.rn.f32.u32 %f3, %r2;\n\
         mul.f32 %f3, %f3, 0f2F800000;\ncvt.rn.f32.u32 %f4, %r3;\nadd.f32 %f2, %f3, %f4;",
    ))
    .expect("the test's kernel");
    let x: Vec<f32> =
        (0..32_u8).map(|i| if i < 4 { 1.3e-9 } else { (f32::from(i) + 0.37) / 33.0 }).collect();
    for schedule in schedules() {
        let mut outcome = execute_into(&elementwise(body), (&x, &[0.0; 64]), &schedule);
        let result = outcome.memory.upload(&[0; 128]);
        launch(&back, &mut outcome.memory, [outcome.output, result], &schedule);
        let expected: f64 = x.iter().map(|&x| f64::from(x)).sum();
        let found = outcome.memory.exact(result)[0];
        let distance = (found.value - expected).abs();
        assert!(distance <= found.uncertainty, "{} not {expected}", found.value);
        assert!(found.uncertainty < 1e-12, "{found:?} is sharp");
        let mut first = [0.0; 32];
        first[0] = 1.0;
        let seeds = [Seed { output: result, gradient: &first }];
        let gradient = outcome.memory.gradient(&seeds).expect("a tape");
        let slopes = gradient.of(outcome.input).expect("an input");
        assert!(slopes.iter().all(|s| s.value == 1.0 && s.uncertainty < 1e-12), "each has slope 1");
        assert_eq!(outcome.memory.losses(), [], "nothing is lost");
    }
}

/// A sum in fixed point of numbers beyond its range: what the conversion saturated at says nothing of the sum, which
/// is lost and said to be.
#[test]
fn a_number_beyond_fixed_point_is_lost_aloud() {
    let body = "mul.f32 %f3, %f1, 0f49800000;\ncvt.rni.s32.f32 %r2, %f3;\n\
                red.global.add.u32 [%d4], %r2;\nexit;";
    let back = "ld.global.u32 %r2, [%d3];\ncvt.rn.f32.s32 %f3, %r2;\nmul.f32 %f2, %f3, 0f35800000;";
    let back = Module::parse(&elementwise(back)).expect("the test's kernel");
    let mut x = vec![0.5; 32];
    x[7] = 1e20;
    for schedule in schedules() {
        let mut outcome = execute_into(&elementwise(body), (&x, &[0.0; 32]), &schedule);
        let result = outcome.memory.upload(&[0; 128]);
        launch(&back, &mut outcome.memory, [outcome.output, result], &schedule);
        let found = outcome.memory.exact(result)[0];
        assert!(found.uncertainty.is_infinite(), "{found:?} says something");
        let losses = outcome.memory.losses();
        assert!(losses.iter().any(|lost| lost.loss == Loss::Range), "{losses:?}");
    }
}

/// A cell of a large grid is a decision, though its number is as large as one in fixed point.
#[test]
fn cells_of_large_grids_are_whole_numbers() {
    let body = "mul.f32 %f3, %f1, 0f43E10000;\ncvt.rmi.f32.f32 %f4, %f3;\ncvt.rzi.s32.f32 %r2, %f4;\n\
                cvt.rn.f32.s32 %f5, %r2;\nsub.f32 %f2, %f3, %f5;";
    check(body, &positive(), |x| (450.0 * x).fract(), |_| 450.0, 1e-9);
    let magic = "mul.f32 %f3, %f1, 0f43E10000;\nadd.f32 %f4, %f3, 0f4B400000;\nsub.f32 %f5, %f4, 0f4B400000;\n\
                 sub.f32 %f2, %f3, %f5;";
    let rest = |x: f64| 450.0 * x - (450.0 * x).round_ties_even();
    check(magic, &numbers(), rest, |_| 450.0, 1e-9);
}

/// A literal of the size of those that round is a number, as the earth's radius in metres is.
#[test]
fn a_large_literal_rounds_nothing() {
    let above = "add.f32 %f3, %f1, 0f4AC2A532;\nmul.f32 %f2, %f3, 0f3A800000;";
    check(above, &numbers(), |x| (x + 6_378_137.0) / 1024.0, |_| 1.0 / 1024.0, SHARP);
    let linear = "fma.rn.f32 %f3, %f1, 0f41200000, 0f4B189680;\nmul.f32 %f2, %f3, 0f3A800000;";
    check(linear, &numbers(), |x| (10.0 * x + 1e7) / 1024.0, |_| 10.0 / 1024.0, SHARP);
}

/// What a kernel makes of a number in fixed point that no rule follows is lost aloud. Shifted down it is a cell's.
#[test]
fn a_product_in_fixed_point_is_lost_aloud() {
    let units = "mul.f32 %f3, %f1, 0f47800000;\ncvt.rni.s32.f32 %r2, %f3;";
    let wide = "cvt.s64.s32 %d5, %r2;\nshl.b64 %d6, %d5, 1;\ncvt.rn.f32.s64 %f2, %d6;";
    for (rest, is_lost) in [
        ("mul.lo.s32 %r3, %r2, 3;\ncvt.rn.f32.s32 %f2, %r3;", true),
        ("shl.b32 %r3, %r2, 1;\ncvt.rn.f32.s32 %f2, %r3;", true),
        ("mad.lo.s32 %r3, %r2, 5, 7;\ncvt.rn.f32.s32 %f2, %r3;", true),
        (wide, true),
        ("add.s32 %r3, %r2, %r2;\ncvt.rn.f32.s32 %f2, %r3;", false),
        ("shr.s32 %r3, %r2, 16;\ncvt.rn.f32.s32 %f2, %r3;", false),
    ] {
        for schedule in schedules() {
            let outcome = execute(&elementwise(&format!("{units}\n{rest}")), &numbers(), &schedule);
            assert_eq!(!outcome.memory.losses().is_empty(), is_lost, "{rest}");
        }
    }
}

/// A cell of a large grid is a decision, however large its number: rounding may leave it open.
#[test]
fn a_large_cell_may_be_open() {
    let body = "mul.f32 %f3, %f1, 0f447A0000;\ncvt.rzi.s32.f32 %r2, %f3;\ncvt.rn.f32.s32 %f2, %r2;";
    let mut x = numbers();
    // Times 1000 an f32 is 700, and 0.7f is a little less than 0.7.
    x[0] = 0.7;
    for schedule in schedules() {
        let outcome = execute(&elementwise(body), &x, &schedule);
        let open: u64 = outcome.memory.decisions().iter().map(|(_, decided)| decided.open).sum();
        assert!(open >= 1, "{:?}", outcome.memory.decisions());
    }
}

/// The host has written over a buffer that a kernel had written.
#[test]
fn memory_that_was_written_past_begins_anew() {
    let mut memory = DeviceMemory::new();
    let module = Module::parse(&elementwise("mul.f32 %f2, %f1, %f1;")).expect("the test's kernel");
    let x = super::run::bytes(&numbers());
    let [a, b] = [memory.upload(&x), memory.upload(&x)];
    memory.follow(Some(1 << 20));
    memory.differentiate(a).expect("there is a tape");
    // Without shadows: the input is written past them.
    let launch_plain = crate::Launch {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared: 0,
        arguments: [a, a].map(crate::Argument::from).to_vec(),
    };
    let plain = crate::Observers::default();
    crate::run(&module, "k", &launch_plain, &mut memory, &Schedule::lockstep(), plain)
        .expect("it runs");
    launch(&module, &mut memory, [a, b], &Schedule::lockstep());
    let losses = memory.losses();
    let counts: Vec<_> = losses.iter().map(|lost| (lost.loss, lost.count)).collect();
    assert_eq!(counts, [(Loss::Overwritten, 32), (Loss::Bits, 32)], "{losses:?}");
    // Nobody knows what was written, and from what.
    let seeds = [Seed { output: b, gradient: &[1.0; 32] }];
    let gradient = memory.gradient(&seeds).expect("there is a tape");
    let slopes = gradient.of(a).expect("an input");
    assert!(slopes.iter().all(|slope| slope.uncertainty == f64::INFINITY), "{slopes:?}");
}

/// Fixed point that is rounded and clamped as a float before it is an integer, and added up by an atomic: the derivative
/// of the sum, also of numbers that are few units.
#[test]
fn units_that_were_rounded_and_clamped_are_followed() {
    let before = "mov.u32 %r3, shared;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r4, 0;\n@%p1 st.shared.u32 [%r3], %r4;\n\
                  bar.sync 0;\nmul.f32 %f3, %f1, 0f49800000;\n";
    let after = "atom.shared.add.u32 %r5, [%r3], %r2;\nbar.sync 0;\nld.shared.u32 %r6, [%r3];\n\
                 cvt.rn.f32.s32 %f6, %r6;\nmul.f32 %f2, %f6, 0f35800000;";
    let clamp =
        "max.f32 %f5, %f4, 0fCF000000;\nmin.f32 %f5, %f5, 0f4EFFFFFF;\ncvt.rzi.s32.f32 %r2, %f5;\n";
    for rounding in
        ["cvt.rni.f32.f32 %f4, %f3;\n", "cvt.rmi.f32.f32 %f4, %f3;\n", "mov.f32 %f4, %f3;\n"]
    {
        let body = format!("{before}{rounding}{clamp}{after}");
        for scale in [1.0, 1e-6_f32] {
            let x: Vec<f32> = positive().iter().map(|x| x * scale).collect();
            let outcome = execute(&elementwise(&body), &x, &Schedule::lockstep());
            let slopes: Vec<f64> = outcome.slopes().iter().map(|slope| slope.value).collect();
            assert_eq!(slopes, [32.0; 32], "{rounding}: every lane reads the sum");
            let total: f64 = x.iter().map(|&x| f64::from(x)).sum();
            let value = outcome.values()[0];
            assert!(
                (value.value - total).abs() <= 1e-9 * total,
                "{rounding}: {value:?}, not {total}"
            );
            assert!((f64::from(outcome.singles()[0]) - total).abs() <= value.radius, "{rounding}");
        }
    }
}

/// The lesser of float bits and a literal's: where the literal is taken it is a constant, and no loss.
#[test]
fn an_extreme_of_bits_is_one_of_both() {
    let body = "mov.b32 %r2, %f1;\nmin.s32 %r3, %r2, 1073741825;\nmov.b32 %f3, %r3;\nadd.f32 %f2, %f3, %f3;";
    let limit = f64::from(f32::from_bits(1_073_741_825));
    assert!(limit > 2.0 && limit < 2.001, "the test's own literal");
    let twice =
        |x: f64| if x > 2.0 { 2.0 * f64::from(f32::from_bits(1_073_741_825)) } else { 2.0 * x };
    check(body, &positive(), twice, |x| if x > 2.0 { 0.0 } else { 2.0 }, SHARP);
}
